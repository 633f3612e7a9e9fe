#include "sorting.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_PER_TURN 1024

typedef struct {
    const char *data;
    size_t size;
    PyObject *key;   /* a reference of its own: whoever is written to may change the dict */
    PyObject *value; /* likewise */
} item_t;

/* `rank` are the first eight bytes after what all keys begin with: it decides nearly every comparison. */
typedef struct {
    uint64_t rank;
    const item_t *item;
} place_t;

static uint64_t rank_of(const char *data, size_t size) {
    uint64_t rank = 0;
    for (size_t i = 0; i < 8; i++) rank = rank << 8 | (i < size ? (unsigned char)data[i] : 0);
    return rank;
}

static int compare_keys(const item_t *a, const item_t *b) {
    int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
    if (order) return order;
    return a->size < b->size ? -1 : a->size > b->size;
}

/* Of equal keys, the later item comes last. */
static int compare(const void *left, const void *right) {
    const place_t *first = left, *second = right;
    if (first->rank != second->rank) return first->rank < second->rank ? -1 : 1;
    int order = compare_keys(first->item, second->item);
    if (order) return order;
    return first->item < second->item ? -1 : first->item > second->item;
}

static size_t common_prefix(const item_t *items, size_t count) {
    size_t common = count ? items[0].size : 0;
    for (size_t i = 1; i < count; i++) {
        size_t same = 0, most = common < items[i].size ? common : items[i].size;
        while (same < most && items[0].data[same] == items[i].data[same]) same++;
        common = same;
    }
    return common;
}

/* 0 when a key is not bytes, with an error set. */
static int collect(PyObject *dict, item_t *items) {
    PyObject *key, *value;
    Py_ssize_t position = 0, size;
    for (item_t *item = items; PyDict_Next(dict, &position, &key, &value); item++) {
        char *data;
        if (PyBytes_AsStringAndSize(key, &data, &size)) return 0;
        Py_INCREF(key);
        Py_INCREF(value);
        *item = (item_t){data, (size_t)size, key, value};
    }
    return 1;
}

static int collect_all(PyObject *dicts, item_t *items, place_t *places, size_t count) {
    item_t *next = items;
    for (Py_ssize_t i = 0; i < PyList_Size(dicts); i++) {
        PyObject *dict = PyList_GetItem(dicts, i);
        if (!collect(dict, next)) return 0;
        next += PyDict_Size(dict);
    }
    size_t common = common_prefix(items, count);
    for (size_t i = 0; i < count; i++) {
        places[i].rank = rank_of(items[i].data + common, items[i].size - common);
        places[i].item = &items[i];
    }
    return 1;
}

/* Keep the last of equal keys; how many are left. */
static size_t without_replaced(place_t *places, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || places[i].rank != places[i + 1].rank || compare_keys(places[i].item, places[i + 1].item))
            places[kept++] = places[i];
    return kept;
}

/* Other threads get their turn, as they would between two lines of Python. */
static void let_others_run(void) {
    PyThreadState *state = PyEval_SaveThread();
    PyEval_RestoreThread(state);
}

static int write_all(const place_t *places, size_t count, PyObject *file) {
    for (size_t i = 0; i < count; i++) {
        if (i % ROWS_PER_TURN == ROWS_PER_TURN - 1) let_others_run();
        const item_t *item = places[i].item;
        int failed = item->value == Py_None ? PyObject_DelItem(file, item->key)
                                            : PyObject_SetItem(file, item->key, item->value);
        if (failed) return 0;
    }
    return 1;
}

static void release(item_t *items, size_t count) {
    for (size_t i = 0; items && i < count; i++) {
        Py_XDECREF(items[i].key);
        Py_XDECREF(items[i].value);
    }
    free(items);
}

/* How many items all dicts have; -1 with an error set. */
static Py_ssize_t count_items(PyObject *dicts) {
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; PyList_Check(dicts) && i < PyList_Size(dicts); i++) {
        PyObject *dict = PyList_GetItem(dicts, i);
        if (!PyDict_Check(dict)) {
            count = -1;
            break;
        }
        count += PyDict_Size(dict);
    }
    if (count >= 0 && PyList_Check(dicts)) return count;
    PyErr_SetString(PyExc_TypeError, "write_sorted(list of dicts, file)");
    return -1;
}

PyObject *write_sorted(PyObject *module, PyObject *const *args, Py_ssize_t arguments) {
    (void)module;
    Py_ssize_t counted = count_items(arguments == 2 ? args[0] : Py_None);
    if (counted < 0) return NULL;
    size_t count = (size_t)counted;
    item_t *items = calloc(count + 1, sizeof *items);
    place_t *places = malloc((count + 1) * sizeof *places);
    int written = 0;
    if (!items || !places)
        PyErr_NoMemory();
    else if (collect_all(args[0], items, places, count)) {
        Py_BEGIN_ALLOW_THREADS  /* bytes do not change, and each item has references of its own */
        qsort(places, count, sizeof *places, compare);
        Py_END_ALLOW_THREADS
        written = write_all(places, without_replaced(places, count), args[1]);
    }
    free(places);
    release(items, count);
    if (!written) return NULL;
    Py_RETURN_NONE;
}
