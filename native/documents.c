#include "documents.h"

#include <string.h>

#include "document_plan.h"
#include "document_walk.h"

typedef struct {
    PyObject_HEAD
    plan_t plan;
} Documents;

static PyObject *documents_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *described;
    if (kwargs && PyDict_Size(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "Documents(nodes)");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O", &described)) return NULL;
    Documents *self = PyObject_New(Documents, type);
    if (!self) return NULL;
    memset(&self->plan, 0, sizeof self->plan);
    if (!plan_make(&self->plan, described)) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void documents_dealloc(Documents *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    plan_free(&self->plan);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *value_of(Documents *self, PyObject *const *args, Py_ssize_t count) {
    char *data;
    Py_ssize_t size, start = count == 2 ? PyLong_AsSsize_t(args[1]) : -1;
    if (start < 0 || !PyBytes_Check(args[0])) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "value(bytes, start)");
        return NULL;
    }
    if (PyBytes_AsStringAndSize(args[0], &data, &size)) return NULL;
    PyObject *value = NULL;
    int found = start > size ? 0 : document_walk(&self->plan, data + start, (size_t)(size - start), &value);
    if (found == 1) return value;
    if (found < 0) return NULL;
    Py_RETURN_NONE;
}

/* 1, 0 or -1 as document_walk, for bytes that begin with ``prefix``. None is None, anything else unsure. */
static int walk_one(const plan_t *plan, PyObject *each, const char *prefix, Py_ssize_t prefix_size, PyObject **value) {
    char *data;
    Py_ssize_t size;
    if (each == Py_None) {
        if (value) Py_INCREF(*value = each);
        return 1;
    }
    if (!PyBytes_Check(each)) return 0;
    if (PyBytes_AsStringAndSize(each, &data, &size)) return -1;
    if (size < prefix_size || memcmp(data, prefix, (size_t)prefix_size)) return 0;
    return document_walk(plan, data + prefix_size, (size_t)(size - prefix_size), value);
}

static int add_number(PyObject *numbers, Py_ssize_t number) {
    PyObject *made = PyLong_FromSsize_t(number);
    int failed = !made || PyList_Append(numbers, made);
    Py_XDECREF(made);
    return failed ? -1 : 0;
}

/* The indexes of what is unsure, as a list; and the values, unless NULL, None for those. */
static PyObject *walk_all(const plan_t *plan, PyObject *data, PyObject *prefix, PyObject *values) {
    char *start;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(prefix, &start, &size)) return NULL;
    PyObject *unsure = PyList_New(0);
    for (Py_ssize_t i = 0; unsure && i < PyList_Size(data); i++) {
        PyObject *value = NULL;
        int found = walk_one(plan, PyList_GetItem(data, i), start, size, values ? &value : NULL);
        if (values && found == 0) {
            Py_INCREF(Py_None);
            value = Py_None;
        }
        if (found < 0 || (values && PyList_SetItem(values, i, value)) || (!found && add_number(unsure, i)))
            Py_CLEAR(unsure);
    }
    return unsure;
}

static int are_data(PyObject *const *args, Py_ssize_t count) {
    if (count == 2 && PyList_Check(args[0]) && PyBytes_Check(args[1])) return 1;
    PyErr_SetString(PyExc_TypeError, "expected a list, and the bytes with which each of it begins");
    return 0;
}

static PyObject *values_of(Documents *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_data(args, count)) return NULL;
    PyObject *values = PyList_New(PyList_Size(args[0]));
    if (!values) return NULL;
    PyObject *unsure = walk_all(&self->plan, args[0], args[1], values);
    if (unsure) return Py_BuildValue("NN", values, unsure);
    Py_DECREF(values);
    return NULL;
}

static PyObject *unsure_of(Documents *self, PyObject *const *args, Py_ssize_t count) {
    return are_data(args, count) ? walk_all(&self->plan, args[0], args[1], NULL) : NULL;
}

static PyMethodDef methods[] = {
    {"value", (PyCFunction)(void (*)(void))value_of, METH_FASTCALL,
     "(bytes, start) -> the value of the document that begins there; None if unsure"},
    {"values", (PyCFunction)(void (*)(void))values_of, METH_FASTCALL,
     "(list of bytes, prefix of each) -> (values, indexes of those that are None because it is unsure)"},
    {"unsure", (PyCFunction)(void (*)(void))unsure_of, METH_FASTCALL,
     "(list of bytes, prefix of each) -> indexes of the documents that may be invalid"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Documents(nodes): reads and checks JSON documents of one schema."},
    {Py_tp_new, documents_new},
    {Py_tp_dealloc, documents_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"lastword._native.Documents", sizeof(Documents), 0, Py_TPFLAGS_DEFAULT, slots};

int documents_register(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "Documents", type);
    Py_DECREF(type);
    return failed;
}
