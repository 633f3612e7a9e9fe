/* lastword._native: the loops over records that are too slow in Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "columns.h"
#include "documents.h"
#include "murmur2.h"
#include "rdkafka.h"
#include "reader.h"
#include "rows.h"
#include "sorting.h"

static int numbers_of(PyObject *const *args, Py_ssize_t *suffix, long *partitions) {
    *suffix = PyLong_AsSsize_t(args[1]);
    *partitions = PyLong_AsLong(args[2]);
    if (PyErr_Occurred()) return -1;
    if (*suffix < 0 || *partitions < 1 || *partitions > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a topic has at least one partition, and no suffix is negative");
        return -1;
    }
    return 0;
}

static PyObject *partition_of_key(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    char *key;
    Py_ssize_t size, suffix;
    long partitions;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "partition_of(key, suffix, partitions)");
        return NULL;
    }
    if (PyBytes_AsStringAndSize(args[0], &key, &size) || numbers_of(args, &suffix, &partitions)) return NULL;
    return PyLong_FromLong(partition_of(key, (size_t)size, (size_t)suffix, (int32_t)partitions));
}

static int add_to(PyObject *groups, long partition, PyObject *key) {
    PyObject *number = PyLong_FromLong(partition);
    if (!number) return -1;
    PyObject *group = PyDict_GetItemWithError(groups, number); /* borrowed */
    int failed = !group && PyErr_Occurred();
    if (!group && !failed) {
        group = PyList_New(0);
        failed = !group || PyDict_SetItem(groups, number, group);
        Py_XDECREF(group); /* the dict has it */
    }
    failed = failed || PyList_Append(group, key);
    Py_DECREF(number);
    return failed ? -1 : 0;
}

static PyObject *by_partition(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    Py_ssize_t suffix;
    long partitions;
    if (count != 3 || !PyList_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "by_partition(list of keys, suffix, partitions)");
        return NULL;
    }
    if (numbers_of(args, &suffix, &partitions)) return NULL;
    PyObject *groups = PyDict_New();
    for (Py_ssize_t i = 0; groups && i < PyList_Size(args[0]); i++) {
        char *data;
        Py_ssize_t size;
        PyObject *key = PyList_GetItem(args[0], i);
        if (!key || PyBytes_AsStringAndSize(key, &data, &size) ||
            add_to(groups, partition_of(data, (size_t)size, (size_t)suffix, (int32_t)partitions), key))
            Py_CLEAR(groups);
    }
    return groups;
}

static PyObject *load_librdkafka(PyObject *module, PyObject *path) {
    (void)module;
    const char *why = "";
    PyObject *encoded = PyUnicode_EncodeFSDefault(path);
    if (!encoded) return NULL;
    const rdkafka_t *rk = rdkafka_load(PyBytes_AsString(encoded), &why);
    Py_DECREF(encoded);
    if (rk) return PyLong_FromLong(rk->rd_kafka_version());
    PyErr_SetString(PyExc_ImportError, why);
    return NULL;
}

static PyMethodDef functions[] = {
    {"write_sorted", (PyCFunction)(void (*)(void))write_sorted, METH_FASTCALL,
     "([dict with keys of bytes], file): file[key] = value in order, or del file[key]; the last of a key counts"},
    {"load_librdkafka", load_librdkafka, METH_O,
     "(path) -> version; finds librdkafka in a library that is linked with it, or raises ImportError"},
    {"partition_of", (PyCFunction)(void (*)(void))partition_of_key, METH_FASTCALL,
     "(key, suffix, partitions) -> the partition of a key"},
    {"by_partition", (PyCFunction)(void (*)(void))by_partition, METH_FASTCALL,
     "(keys, suffix, partitions) -> the keys of each partition, in their order"},
    {"live_rows", (PyCFunction)(void (*)(void))live_rows, METH_FASTCALL,
     "(keys, rows, now_ms) -> the keys and rows of those that are there and not expired"},
    {"plain_values", (PyCFunction)(void (*)(void))plain_values, METH_FASTCALL,
     "(rows, format) -> their values, or None if a row has another format"},
    {"size_of", size_of_rows, METH_O, "(dict of bytes) -> the bytes of its keys and values"},
    {NULL, NULL, 0, NULL},
};

/* What lastword.native expects: a module of other sources, in a checkout, is as good as none. */
#define INTERFACE 5

static int execute(PyObject *module) {
    if (PyModule_AddIntConstant(module, "INTERFACE", INTERFACE)) return -1;
    return columns_register(module) || reader_register(module) || documents_register(module) ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "lastword._native", "Loops over records, in C.", 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
