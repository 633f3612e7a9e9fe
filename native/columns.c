#include "columns.h"

#include <stdlib.h>
#include <string.h>

#include "murmur2.h"

typedef struct {
    PyObject_HEAD
    columns_t columns;
    PyObject *headers;    /* a list of tuples and None, or None when no record has any */
    PyObject *unreadable; /* a list of offsets */
} Columns;

/* -- memory ------------------------------------------------------------------------------- */

int columns_make(columns_t *columns, size_t count, size_t data_size) {
    size_t room = count ? count : 1;
    columns->count = count;
    columns->data_size = data_size;
    columns->offsets = malloc(room * sizeof *columns->offsets);
    columns->timestamps = malloc(room * sizeof *columns->timestamps);
    columns->key_sizes = malloc(room * sizeof *columns->key_sizes);
    columns->value_sizes = malloc(room * sizeof *columns->value_sizes);
    columns->starts = malloc(room * sizeof *columns->starts);
    columns->requests = NULL;
    columns->data = malloc(data_size ? data_size : 1);
    if (columns->offsets && columns->timestamps && columns->key_sizes && columns->value_sizes && columns->starts &&
        columns->data)
        return 1;
    columns_free(columns);
    return 0;
}

void columns_free(columns_t *columns) {
    free(columns->offsets);
    free(columns->timestamps);
    free(columns->key_sizes);
    free(columns->value_sizes);
    free(columns->starts);
    free(columns->requests);
    free(columns->data);
    memset(columns, 0, sizeof *columns);
}

void columns_add(columns_t *columns, columns_fill_t *fill, int64_t offset, int64_t timestamp, const void *key,
                 size_t key_size, const void *value, size_t value_size) {
    size_t i = fill->next++;
    columns->offsets[i] = offset;
    columns->timestamps[i] = timestamp;
    columns->starts[i] = fill->used;
    columns->key_sizes[i] = key ? (int64_t)key_size : IS_NULL;
    columns->value_sizes[i] = value ? (int64_t)value_size : IS_NULL;
    if (key && key_size) {
        memcpy(columns->data + fill->used, key, key_size);
        fill->used += key_size;
    }
    if (value && value_size) {
        memcpy(columns->data + fill->used, value, value_size);
        fill->used += value_size;
    }
}

int columns_mark(columns_t *columns, size_t i, const void *request_id) {
    if (!columns->requests) columns->requests = calloc(columns->count, sizeof *columns->requests);
    if (!columns->requests) return 0;
    columns->requests[i].there = 1;
    memcpy(columns->requests[i].id, request_id, REQUEST_BYTES);
    return 1;
}

static const char *key_at(const columns_t *columns, size_t i) { return columns->data + columns->starts[i]; }

static const char *value_at(const columns_t *columns, size_t i) {
    int64_t key_size = columns->key_sizes[i];
    return columns->data + columns->starts[i] + (key_size > 0 ? (size_t)key_size : 0);
}

/* -- the object --------------------------------------------------------------------------- */

PyObject *columns_wrap(PyObject *type, columns_t *columns, PyObject *headers, PyObject *unreadable) {
    Columns *self = PyObject_New(Columns, (PyTypeObject *)type);
    if (!self) {
        columns_free(columns);
        Py_XDECREF(headers);
        Py_XDECREF(unreadable);
        return NULL;
    }
    self->columns = *columns;
    self->headers = headers;
    self->unreadable = unreadable;
    memset(columns, 0, sizeof *columns);
    return (PyObject *)self;
}

static void columns_dealloc(Columns *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    columns_free(&self->columns);
    Py_CLEAR(self->headers);
    Py_CLEAR(self->unreadable);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Size of a bytes object or None in a list; -1 with an error set for anything else. */
static int bytes_in_list(PyObject *list, Py_ssize_t i, char **data, Py_ssize_t *size) {
    PyObject *item = PyList_GetItem(list, i);
    if (!item) return -1;
    *data = NULL;
    *size = 0;
    return item == Py_None ? 0 : PyBytes_AsStringAndSize(item, data, size);
}

static int numbers_in_list(PyObject *list, Py_ssize_t i, int64_t *number) {
    PyObject *item = PyList_GetItem(list, i);
    *number = item ? PyLong_AsLongLong(item) : -1;
    return PyErr_Occurred() ? -1 : 0;
}

static int fill_from_lists(columns_t *columns, PyObject *keys, PyObject *values, PyObject *offsets, PyObject *times) {
    columns_fill_t fill = {0, 0};
    for (Py_ssize_t i = 0; i < (Py_ssize_t)columns->count; i++) {
        char *key, *value;
        Py_ssize_t key_size, value_size;
        int64_t offset, timestamp;
        if (bytes_in_list(keys, i, &key, &key_size) || bytes_in_list(values, i, &value, &value_size) ||
            numbers_in_list(offsets, i, &offset) || numbers_in_list(times, i, &timestamp))
            return -1;
        columns_add(columns, &fill, offset, timestamp, key, (size_t)key_size, value, (size_t)value_size);
    }
    return 0;
}

static int mark_from_list(columns_t *columns, PyObject *requests) {
    for (Py_ssize_t i = 0; i < (Py_ssize_t)columns->count; i++) {
        char *id;
        Py_ssize_t size;
        if (bytes_in_list(requests, i, &id, &size)) return -1;
        if (!id) continue;
        if (size != REQUEST_BYTES) {
            PyErr_Format(PyExc_ValueError, "a request id has %d bytes", REQUEST_BYTES);
            return -1;
        }
        if (!columns_mark(columns, (size_t)i, id)) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

static int size_of_lists(PyObject *keys, PyObject *values, Py_ssize_t count, size_t *total) {
    char *data;
    Py_ssize_t size;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (bytes_in_list(keys, i, &data, &size)) return -1;
        *total += (size_t)size;
        if (bytes_in_list(values, i, &data, &size)) return -1;
        *total += (size_t)size;
    }
    return 0;
}

static PyObject *columns_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *keys, *values, *offsets, *times, *headers, *unreadable, *requests;
    columns_t columns;
    size_t total = 0;
    memset(&columns, 0, sizeof columns);
    if (keywords && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Columns takes no keywords");
        return NULL;
    }
    int partition, epoch;
    if (!PyArg_ParseTuple(args, "iiO!O!O!O!OO!O!", &partition, &epoch, &PyList_Type, &keys, &PyList_Type, &values,
                          &PyList_Type, &offsets, &PyList_Type, &times, &headers, &PyList_Type, &unreadable,
                          &PyList_Type, &requests))
        return NULL;
    Py_ssize_t count = PyList_Size(keys);
    if (PyList_Size(values) != count || PyList_Size(offsets) != count || PyList_Size(times) != count ||
        PyList_Size(requests) != count ||
        (headers != Py_None && (!PyList_Check(headers) || PyList_Size(headers) != count))) {
        PyErr_SetString(PyExc_ValueError, "columns of different lengths");
        return NULL;
    }
    if (size_of_lists(keys, values, count, &total)) return NULL;
    if (!columns_make(&columns, (size_t)count, total)) return PyErr_NoMemory();
    columns.partition = partition;
    columns.leader_epoch = epoch;
    if (fill_from_lists(&columns, keys, values, offsets, times) || mark_from_list(&columns, requests)) {
        columns_free(&columns);
        return NULL;
    }
    Py_INCREF(headers);
    Py_INCREF(unreadable);
    return columns_wrap((PyObject *)type, &columns, headers, unreadable);
}

/* -- columns as Python has them ----------------------------------------------------------- */

static PyObject *list_of(const columns_t *columns, const int64_t *sizes, const char *(*at)(const columns_t *, size_t)) {
    PyObject *list = PyList_New((Py_ssize_t)columns->count);
    if (!list) return NULL;
    for (size_t i = 0; i < columns->count; i++) {
        PyObject *item = Py_None;
        if (sizes[i] == IS_NULL)
            Py_INCREF(item);
        else
            item = PyBytes_FromStringAndSize(at(columns, i), (Py_ssize_t)sizes[i]);
        if (!item) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, item);
    }
    return list;
}

static PyObject *columns_keys(Columns *self, PyObject *nothing) {
    (void)nothing;
    return list_of(&self->columns, self->columns.key_sizes, key_at);
}

static PyObject *columns_values(Columns *self, PyObject *nothing) {
    (void)nothing;
    return list_of(&self->columns, self->columns.value_sizes, value_at);
}

static PyObject *numbers(const columns_t *columns, const int64_t *column) {
    return PyBytes_FromStringAndSize((const char *)column, (Py_ssize_t)(columns->count * sizeof *column));
}

static PyObject *columns_offsets(Columns *self, PyObject *nothing) {
    (void)nothing;
    return numbers(&self->columns, self->columns.offsets);
}

static PyObject *columns_timestamps(Columns *self, PyObject *nothing) {
    (void)nothing;
    return numbers(&self->columns, self->columns.timestamps);
}

/* A list of request ids and None, or None where no record has one. */
static PyObject *columns_requests(Columns *self, PyObject *nothing) {
    (void)nothing;
    const columns_t *columns = &self->columns;
    if (!columns->requests) Py_RETURN_NONE;
    PyObject *list = PyList_New((Py_ssize_t)columns->count);
    for (size_t i = 0; list && i < columns->count; i++) {
        const request_t *request = &columns->requests[i];
        PyObject *item = Py_None;
        if (request->there)
            item = PyBytes_FromStringAndSize(request->id, REQUEST_BYTES);
        else
            Py_INCREF(item);
        if (!item)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, (Py_ssize_t)i, item);
    }
    return list;
}

/* How many records have no request id, those with the reserved key apart. */
static PyObject *columns_unrequested(Columns *self, PyObject *args) {
    const columns_t *columns = &self->columns;
    const char *reserved;
    Py_ssize_t size;
    long long count = 0;
    if (!PyArg_ParseTuple(args, "y#", &reserved, &size)) return NULL;
    for (size_t i = 0; i < columns->count; i++) {
        if (columns->requests && columns->requests[i].there) continue;
        count += columns->key_sizes[i] != size || memcmp(key_at(columns, i), reserved, (size_t)size);
    }
    return PyLong_FromLongLong(count);
}

/* -- rows --------------------------------------------------------------------------------- */

static void put_int64(char *at, int64_t number) {
    for (int byte = 7; byte >= 0; byte--, number >>= 8) at[byte] = (char)(number & 0xff);
}

/* One byte of format and flags, offset, timestamp, value: lastword.rows says so. */
static PyObject *plain_row(const columns_t *columns, size_t i, int format) {
    const Py_ssize_t prefix = 1 + 8 + 8;
    Py_ssize_t size = (Py_ssize_t)columns->value_sizes[i];
    PyObject *row = PyBytes_FromStringAndSize(NULL, prefix + size);
    if (!row) return NULL;
    char *data = PyBytes_AsString(row);
    data[0] = (char)format;
    put_int64(data + 1, columns->offsets[i]);
    put_int64(data + 9, columns->timestamps[i]);
    if (size) memcpy(data + prefix, value_at(columns, i), (size_t)size);
    return row;
}

typedef struct {
    PyObject *puts;
    PyObject *deletes; /* a dict, for keys in it are found and taken out again */
    long long keyless;
    long long misplaced;
} rows_t;

static int drop(PyObject *dict, PyObject *key) {
    int there = PyDict_Size(dict) > 0 ? PyDict_Contains(dict, key) : 0;
    return there > 0 ? PyDict_DelItem(dict, key) : there;
}

static int take_record(const columns_t *columns, size_t i, int format, rows_t *rows) {
    PyObject *key = PyBytes_FromStringAndSize(key_at(columns, i), (Py_ssize_t)columns->key_sizes[i]);
    if (!key) return -1;
    int failed;
    if (columns->value_sizes[i] == IS_NULL) {
        failed = drop(rows->puts, key) || PyDict_SetItem(rows->deletes, key, Py_None);
    } else {
        PyObject *row = plain_row(columns, i, format);
        failed = !row || drop(rows->deletes, key) || PyDict_SetItem(rows->puts, key, row);
        Py_XDECREF(row);
    }
    Py_DECREF(key);
    return failed ? -1 : 0;
}

/* lastword.records.TableRules, as far as plain records go. */
typedef struct {
    int format;
    int partitions;
    Py_ssize_t suffix;
    int empty_keys;
    const char *reserved; /* a key that is no row of any table */
    Py_ssize_t reserved_size;
} rules_t;

static int take_records(const columns_t *columns, const rules_t *rules, rows_t *rows) {
    for (size_t i = 0; i < columns->count; i++) {
        int64_t size = columns->key_sizes[i];
        const char *key = key_at(columns, i);
        if (size == IS_NULL || (size == 0 && !rules->empty_keys))
            rows->keyless++;
        else if (size == rules->reserved_size && !memcmp(key, rules->reserved, (size_t)size))
            continue;
        else if (rules->partitions > 1 &&
                 partition_of(key, (size_t)size, (size_t)rules->suffix, rules->partitions) != columns->partition)
            rows->misplaced++;
        else if (take_record(columns, i, rules->format, rows))
            return -1;
    }
    return 0;
}

static PyObject *columns_rows(Columns *self, PyObject *args) {
    rules_t rules;
    if (!PyArg_ParseTuple(args, "iinpy#", &rules.format, &rules.partitions, &rules.suffix, &rules.empty_keys,
                          &rules.reserved, &rules.reserved_size))
        return NULL;
    if (rules.partitions < 1 || rules.suffix < 0) {
        PyErr_SetString(PyExc_ValueError, "a topic has at least one partition, and no suffix is negative");
        return NULL;
    }
    if (self->headers != Py_None) {
        PyErr_SetString(PyExc_ValueError, "records with headers have other rows");
        return NULL;
    }
    rows_t rows = {PyDict_New(), PyDict_New(), 0, 0};
    PyObject *answer = NULL;
    if (rows.puts && rows.deletes && !take_records(&self->columns, &rules, &rows)) {
        PyObject *deletes = PyDict_Keys(rows.deletes);
        if (deletes) answer = Py_BuildValue("ONLL", rows.puts, deletes, rows.keyless, rows.misplaced);
    }
    Py_XDECREF(rows.puts);
    Py_XDECREF(rows.deletes);
    return answer;
}

/* -- attributes --------------------------------------------------------------------------- */

static Py_ssize_t columns_length(Columns *self) { return (Py_ssize_t)self->columns.count; }

static PyObject *get_partition(Columns *self, void *closure) {
    (void)closure;
    return PyLong_FromLong(self->columns.partition);
}

static PyObject *get_leader_epoch(Columns *self, void *closure) {
    (void)closure;
    return PyLong_FromLong(self->columns.leader_epoch);
}

static PyObject *get_size_bytes(Columns *self, void *closure) {
    (void)closure;
    return PyLong_FromSize_t(self->columns.data_size);
}

static PyObject *get_last_offset(Columns *self, void *closure) {
    (void)closure;
    const columns_t *columns = &self->columns;
    return PyLong_FromLongLong(columns->count ? columns->offsets[columns->count - 1] : -1);
}

static PyObject *get_headers(Columns *self, void *closure) {
    (void)closure;
    Py_INCREF(self->headers);
    return self->headers;
}

static PyObject *get_unreadable(Columns *self, void *closure) {
    (void)closure;
    Py_INCREF(self->unreadable);
    return self->unreadable;
}

static PyMethodDef methods[] = {
    {"keys", (PyCFunction)columns_keys, METH_NOARGS, "The keys, None where there is none."},
    {"values", (PyCFunction)columns_values, METH_NOARGS, "The values, None for tombstones."},
    {"offsets", (PyCFunction)columns_offsets, METH_NOARGS, "The offsets, 8 bytes each, of this machine."},
    {"timestamps", (PyCFunction)columns_timestamps, METH_NOARGS, "The timestamps likewise."},
    {"requests", (PyCFunction)columns_requests, METH_NOARGS, "The request ids, or None when no record has one."},
    {"unrequested", (PyCFunction)columns_unrequested, METH_VARARGS, "(reserved key) -> records without a request id"},
    {"rows", (PyCFunction)columns_rows, METH_VARARGS,
     "(format, partitions, suffix, empty_keys, reserved key) -> puts, deletes, keyless, misplaced"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"partition", (getter)get_partition, NULL, "The partition of all records.", NULL},
    {"leader_epoch", (getter)get_leader_epoch, NULL, "That of the last record, or -1.", NULL},
    {"size_bytes", (getter)get_size_bytes, NULL, "The bytes of all keys and values.", NULL},
    {"last_offset", (getter)get_last_offset, NULL, "That of the last record, or -1.", NULL},
    {"headers", (getter)get_headers, NULL, "A list of tuples and None, without those of requests(); or None.", NULL},
    {"unreadable", (getter)get_unreadable, NULL, "Offsets of records whose headers were left out.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A batch of records as columns."},
    {Py_tp_new, columns_new},
    {Py_tp_dealloc, columns_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_sq_length, columns_length},
    {0, NULL},
};

static PyType_Spec spec = {"lastword._native.Columns", sizeof(Columns), 0, Py_TPFLAGS_DEFAULT, slots};

int columns_register(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "Columns", type);
    Py_DECREF(type);
    return failed;
}
