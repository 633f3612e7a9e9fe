#include "sorting.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *data;
    size_t size;
    PyObject *key;   /* borrowed from the dict */
    PyObject *value; /* borrowed from the dict */
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

static int compare(const void *left, const void *right) {
    const place_t *first = left, *second = right;
    if (first->rank != second->rank) return first->rank < second->rank ? -1 : 1;
    const item_t *a = first->item, *b = second->item;
    int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
    if (order) return order;
    return a->size < b->size ? -1 : a->size > b->size;
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
static int collect(PyObject *dict, item_t *items, place_t *places, size_t count) {
    Py_ssize_t position = 0, size;
    for (size_t i = 0; i < count; i++) {
        char *data;
        if (!PyDict_Next(dict, &position, &items[i].key, &items[i].value)) return 0;
        if (PyBytes_AsStringAndSize(items[i].key, &data, &size)) return 0;
        items[i].data = data;
        items[i].size = (size_t)size;
    }
    size_t common = common_prefix(items, count);
    for (size_t i = 0; i < count; i++) {
        places[i].rank = rank_of(items[i].data + common, items[i].size - common);
        places[i].item = &items[i];
    }
    return 1;
}

/* Two lists and not one of pairs: as many tuples would keep the cyclic collector busy. */
static PyObject *as_lists(const place_t *places, size_t count) {
    PyObject *keys = PyList_New((Py_ssize_t)count), *values = PyList_New((Py_ssize_t)count), *both = NULL;
    for (size_t i = 0; keys && values && i < count; i++) {
        Py_INCREF(places[i].item->key);
        Py_INCREF(places[i].item->value);
        PyList_SetItem(keys, (Py_ssize_t)i, places[i].item->key);
        PyList_SetItem(values, (Py_ssize_t)i, places[i].item->value);
    }
    if (keys && values) both = PyTuple_Pack(2, keys, values);
    Py_XDECREF(keys);
    Py_XDECREF(values);
    return both;
}

PyObject *sorted_items(PyObject *module, PyObject *dict) {
    (void)module;
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "sorted_items takes a dict");
        return NULL;
    }
    size_t count = (size_t)PyDict_Size(dict);
    item_t *items = malloc((count ? count : 1) * sizeof *items);
    place_t *places = malloc((count ? count : 1) * sizeof *places);
    PyObject *lists = NULL;
    if (!items || !places)
        PyErr_NoMemory();
    else if (collect(dict, items, places, count)) {
        qsort(places, count, sizeof *places, compare);
        lists = as_lists(places, count);
    }
    free(items);
    free(places);
    return lists;
}
