#include "rows.h"

#include <stdint.h>

/* A row: one byte of format and flags, offset, timestamp, perhaps an expiry: lastword.rows says so. */
#define HAS_EXPIRY 0x01
#define PREFIX_BYTES (1 + 8 + 8)
#define EXPIRY_END (PREFIX_BYTES + 8)

static int row_at(PyObject *row, const unsigned char **data, Py_ssize_t *size) {
    char *start;
    if (PyBytes_AsStringAndSize(row, &start, size)) return -1;
    *data = (const unsigned char *)start;
    if (*size > 0) return 0;
    PyErr_SetString(PyExc_IndexError, "a row is empty");
    return -1;
}

static int is_due(const unsigned char *row, Py_ssize_t size, long long now_ms) {
    uint64_t expiry = 0;
    if (!(row[0] & HAS_EXPIRY) || now_ms < 0) return 0;
    for (Py_ssize_t i = PREFIX_BYTES; i < size && i < EXPIRY_END; i++) expiry = expiry << 8 | row[i];
    return (uint64_t)now_ms >= expiry;
}

/* Whether the row is there and not expired; -1 with an error set. */
static int is_live(PyObject *row, long long now_ms) {
    const unsigned char *data;
    Py_ssize_t size;
    if (row == Py_None) return 0;
    if (row_at(row, &data, &size)) return -1;
    return !is_due(data, size, now_ms);
}

static int keep_live(PyObject *keys, PyObject *rows, long long now_ms, PyObject *live_keys, PyObject *live) {
    for (Py_ssize_t i = 0; i < PyList_Size(rows); i++) {
        PyObject *row = PyList_GetItem(rows, i), *key = PyList_GetItem(keys, i);
        int kept = row && key ? is_live(row, now_ms) : -1;
        if (kept < 0 || (kept && (PyList_Append(live_keys, key) || PyList_Append(live, row)))) return -1;
    }
    return 0;
}

PyObject *live_rows(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 3 || !PyList_Check(args[0]) || !PyList_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "live_rows(list of keys, list of rows, now_ms)");
        return NULL;
    }
    long long now_ms = PyLong_AsLongLong(args[2]);
    if (now_ms == -1 && PyErr_Occurred()) return NULL;
    if (PyList_Size(args[0]) != PyList_Size(args[1])) {
        PyErr_SetString(PyExc_ValueError, "there are as many rows as keys");
        return NULL;
    }
    PyObject *keys = PyList_New(0), *rows = PyList_New(0), *both = NULL;
    if (keys && rows && !keep_live(args[0], args[1], now_ms, keys, rows)) both = PyTuple_Pack(2, keys, rows);
    Py_XDECREF(keys);
    Py_XDECREF(rows);
    return both;
}

/* The value of a plain row; NULL without an error for another row. */
static PyObject *value_of(PyObject *row, long format) {
    const unsigned char *data;
    Py_ssize_t size;
    if (row_at(row, &data, &size) || data[0] != format) return NULL;
    Py_ssize_t start = size < PREFIX_BYTES ? size : PREFIX_BYTES;
    return PyBytes_FromStringAndSize((const char *)data + start, size - start);
}

PyObject *plain_values(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 2 || !PyList_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "plain_values(list of rows, format)");
        return NULL;
    }
    long format = PyLong_AsLong(args[1]);
    if (format == -1 && PyErr_Occurred()) return NULL;
    Py_ssize_t size = PyList_Size(args[0]);
    PyObject *values = PyList_New(size);
    for (Py_ssize_t i = 0; values && i < size; i++) {
        PyObject *row = PyList_GetItem(args[0], i);
        PyObject *value = row ? value_of(row, format) : NULL;
        if (!value || PyList_SetItem(values, i, value)) Py_CLEAR(values);
    }
    if (values || PyErr_Occurred()) return values;
    Py_RETURN_NONE;
}

PyObject *size_of_rows(PyObject *module, PyObject *dict) {
    (void)module;
    PyObject *key, *row;
    Py_ssize_t position = 0;
    long long total = 0;
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "size_of takes a dict");
        return NULL;
    }
    while (PyDict_Next(dict, &position, &key, &row)) {
        Py_ssize_t key_size = PyBytes_Size(key), row_size = PyBytes_Size(row);
        if (key_size < 0 || row_size < 0) return NULL;
        total += key_size + row_size;
    }
    return PyLong_FromLongLong(total);
}
