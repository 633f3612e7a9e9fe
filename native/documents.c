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
    document_target_t target = {.value = &value};
    int found = start > size ? 0 : document_walk(&self->plan, data + start, (size_t)(size - start), &target);
    if (found == 1) return value;
    if (found < 0) return NULL;
    Py_RETURN_NONE;
}

/* Where the values of a batch go, unless NULL; ``kept`` as in document_target_t. */
typedef struct {
    PyObject *values; /* a list that has their number of items */
    const char *kept;
    arrow_column_t *column;
} into_t;

/* 1, 0 or -1 as document_walk, for bytes that begin with ``prefix``. None is None, anything else unsure. */
static int walk_one(const plan_t *plan, PyObject *each, PyObject *prefix, const document_target_t *target) {
    char *data, *start;
    Py_ssize_t size, prefix_size;
    if (each == Py_None) {
        if (target->value) Py_INCREF(*target->value = each);
        return target->column ? arrow_column_add_null(target->column) : 1;
    }
    if (!PyBytes_Check(each)) return 0;
    if (PyBytes_AsStringAndSize(each, &data, &size) || PyBytes_AsStringAndSize(prefix, &start, &prefix_size)) return -1;
    if (size < prefix_size || memcmp(data, start, (size_t)prefix_size)) return 0;
    return document_walk(plan, data + prefix_size, (size_t)(size - prefix_size), target);
}

/* The same, with a null in the place of what is unsure. */
static int put_one(const plan_t *plan, PyObject *data, PyObject *prefix, Py_ssize_t i, const into_t *into) {
    PyObject *value = NULL;
    document_target_t target = {into->values ? &value : NULL, into->kept, into->column};
    int found = walk_one(plan, PyList_GetItem(data, i), prefix, &target);
    if (found == 0 && into->column) {
        arrow_column_drop(into->column, (size_t)i);
        if (arrow_column_add_null(into->column) < 0) return -1;
    }
    if (found < 0 || !into->values) return found;
    if (!value) Py_INCREF(value = Py_None);
    return PyList_SetItem(into->values, i, value) ? -1 : found;
}

static int add_number(PyObject *numbers, Py_ssize_t number) {
    PyObject *made = PyLong_FromSsize_t(number);
    int failed = !made || PyList_Append(numbers, made);
    Py_XDECREF(made);
    return failed ? -1 : 0;
}

/* The indexes of what is unsure, as a list. */
static PyObject *walk_all(const plan_t *plan, PyObject *data, PyObject *prefix, into_t into) {
    PyObject *unsure = PyList_New(0);
    for (Py_ssize_t i = 0; unsure && i < PyList_Size(data); i++) {
        int found = put_one(plan, data, prefix, i, &into);
        if (found < 0 || (!found && add_number(unsure, i))) Py_CLEAR(unsure);
    }
    return unsure;
}

static int are_data(PyObject *const *args, Py_ssize_t count, Py_ssize_t wanted) {
    if (count == wanted && PyList_Check(args[0]) && PyBytes_Check(args[1])) return 1;
    PyErr_SetString(PyExc_TypeError, "expected a list, and the bytes with which each of it begins");
    return 0;
}

/* For each field of an object whether it is among the names; NULL if a name is not that of a field. */
static char *kept_fields(const plan_t *plan, PyObject *names) {
    const node_t *node = plan_node(plan, 0, IS_OBJECT);
    char *kept = node ? PyMem_Calloc((size_t)node->field_count + 1, 1) : NULL;
    for (Py_ssize_t i = 0, at; kept && i < PyTuple_Size(names); i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        if (!PyUnicode_Check(name)) continue; /* no field has it */
        for (at = 0; at < node->field_count && PyUnicode_Compare(node->fields[at].name, name);) at++;
        if (at < node->field_count) {
            kept[at] = 1;
        } else {
            PyMem_Free(kept);
            kept = NULL;
        }
    }
    return kept;
}

static PyObject *values_of(Documents *self, PyObject *const *args, Py_ssize_t count) {
    int has_names = count == 3 && PyTuple_Check(args[2]);
    if (!are_data(args, count, has_names ? 3 : 2)) return NULL;
    PyObject *values = PyList_New(PyList_Size(args[0]));
    if (!values) return NULL;
    char *kept = has_names ? kept_fields(&self->plan, args[2]) : NULL;
    PyObject *unsure = walk_all(&self->plan, args[0], args[1], (into_t){values, kept, NULL});
    PyMem_Free(kept);
    if (unsure) return Py_BuildValue("NN", values, unsure);
    Py_DECREF(values);
    return NULL;
}

static PyObject *unsure_of(Documents *self, PyObject *const *args, Py_ssize_t count) {
    return are_data(args, count, 2) ? walk_all(&self->plan, args[0], args[1], (into_t){NULL, NULL, NULL}) : NULL;
}

static PyObject *columns_of(Documents *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_data(args, count, 3)) return NULL;
    arrow_column_t column;
    PyObject *unsure = NULL, *layout = NULL;
    if (!arrow_column_make(&column, &self->plan, 0, args[2]))
        unsure = walk_all(&self->plan, args[0], args[1], (into_t){NULL, NULL, &column});
    if (unsure) layout = arrow_column_layout(&column);
    arrow_column_free(&column);
    if (layout) return Py_BuildValue("NN", layout, unsure);
    Py_XDECREF(unsure);
    return NULL;
}

static PyMethodDef methods[] = {
    {"value", (PyCFunction)(void (*)(void))value_of, METH_FASTCALL,
     "(bytes, start) -> the value of the document that begins there; None if unsure"},
    {"values", (PyCFunction)(void (*)(void))values_of, METH_FASTCALL,
     "(list of bytes, prefix of each[, names of fields]) -> (values, indexes of those that are None because it is "
     "unsure); with names of fields, objects have at least these, if they have them at all"},
    {"columns", (PyCFunction)(void (*)(void))columns_of, METH_FASTCALL,
     "(list of bytes, prefix of each, (kind, name, children)) -> (the values in Arrow's layout, "
     "indexes of those that are null because it is unsure)"},
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
