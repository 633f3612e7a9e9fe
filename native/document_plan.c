#include "document_plan.h"

#include <string.h>

#define HOPS_MAX 16 /* a schema may refer to itself and to nothing else */

static int refuse(const char *why) {
    PyErr_SetString(PyExc_ValueError, why);
    return -1;
}

static int is_node(const plan_t *plan, int node) { return node >= NO_NODE && node < plan->count; }

/* ``described`` is (name, name in quotes as bytes, node). */
static int field_make(const plan_t *plan, field_t *field, PyObject *described) {
    PyObject *name;
    const char *quoted;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(described, "Uy#i", &name, &quoted, &size, &field->node)) return -1;
    if (field->node == NO_NODE || !is_node(plan, field->node) || size < 2) return refuse("not a field");
    field->quoted = PyMem_Malloc((size_t)size);
    if (!field->quoted) return PyErr_NoMemory(), -1;
    memcpy(field->quoted, quoted, (size_t)size);
    field->quoted_size = (size_t)size;
    Py_INCREF(name);
    field->name = name;
    PyUnicode_InternInPlace(&field->name);
    return 0;
}

static int fields_make(const plan_t *plan, node_t *node, PyObject *described) {
    Py_ssize_t count = PyTuple_Size(described);
    if (node->required < 0 || node->required > count || node->required > REQUIRED_MAX)
        return refuse("more fields are required than there are");
    node->fields = PyMem_Calloc((size_t)count + 1, sizeof *node->fields);
    node->order = PyMem_Calloc((size_t)count + 1, sizeof *node->order);
    if (!node->fields || !node->order) return PyErr_NoMemory(), -1;
    node->field_count = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        node->order[i] = (int)i;
        if (field_make(plan, &node->fields[i], PyTuple_GetItem(described, i))) return -1;
    }
    return 0;
}

static int options_check(PyObject *options) {
    if (options == Py_None) return 0;
    if (!PyTuple_Check(options)) return refuse("options are a tuple of bytes");
    for (Py_ssize_t i = 0; i < PyTuple_Size(options); i++)
        if (!PyBytes_Check(PyTuple_GetItem(options, i))) return refuse("options are a tuple of bytes");
    return 0;
}

static int node_make(const plan_t *plan, node_t *node, PyObject *described) {
    PyObject *options, *fields;
    Py_ssize_t min_length, max_length, min_items, max_items;
    if (!PyTuple_Check(described)) return refuse("a node is a tuple");
    if (!PyArg_ParseTuple(described, "iinnOdpdpO!niinn", &node->kinds, &node->then, &min_length, &max_length, &options,
                          &node->low, &node->low_is_open, &node->high, &node->high_is_open, &PyTuple_Type, &fields,
                          &node->required, &node->others, &node->items, &min_items, &max_items))
        return -1;
    if (min_length < 0 || max_length < 0 || min_items < 0 || max_items < 0) return refuse("a size is negative");
    if (!is_node(plan, node->then) || !is_node(plan, node->others) || !is_node(plan, node->items))
        return refuse("there is no such node");
    node->min_length = (size_t)min_length, node->max_length = (size_t)max_length;
    node->min_items = (size_t)min_items, node->max_items = (size_t)max_items;
    if (options_check(options)) return -1;
    Py_INCREF(options);
    node->options = options;
    return fields_make(plan, node, fields);
}

int plan_make(plan_t *plan, PyObject *described) {
    Py_ssize_t count = PyList_Check(described) ? PyList_Size(described) : 0;
    if (count < 1 || count > INT32_MAX) return refuse("a plan is a list of at least one node");
    plan->nodes = PyMem_Calloc((size_t)count, sizeof *plan->nodes);
    if (!plan->nodes) return PyErr_NoMemory(), -1;
    plan->count = count;
    for (Py_ssize_t i = 0; i < count; i++)
        if (node_make(plan, &plan->nodes[i], PyList_GetItem(described, i))) return -1;
    return 0;
}

static void node_free(node_t *node) {
    for (Py_ssize_t i = 0; i < node->field_count; i++) {
        Py_CLEAR(node->fields[i].name);
        PyMem_Free(node->fields[i].quoted);
    }
    PyMem_Free(node->fields);
    PyMem_Free(node->order);
    Py_CLEAR(node->options);
}

void plan_free(plan_t *plan) {
    for (Py_ssize_t i = 0; i < plan->count; i++) node_free(&plan->nodes[i]);
    PyMem_Free(plan->nodes);
    plan->nodes = NULL;
    plan->count = 0;
}

const node_t *plan_node(const plan_t *plan, int index, int kinds) {
    for (int hops = 0; index != NO_NODE && hops < HOPS_MAX; hops++) {
        const node_t *node = &plan->nodes[index];
        if (node->kinds & kinds) return node;
        index = node->then;
    }
    return NULL;
}
