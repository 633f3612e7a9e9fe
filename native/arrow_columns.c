#include "arrow_columns.h"

#include <string.h>

#define DEPTH_MAX 64

static int has_offsets(const arrow_column_t *column) { return (column->kind & (IS_STRING | IS_ARRAY)) != 0; }

/* How many bytes a row has in ``data``, for kinds where that is fixed. */
static size_t row_bytes(const arrow_column_t *column) {
    return column->kind & (IS_INTEGER | IS_REAL) ? 8 : column->kind == IS_BOOLEAN ? 1 : 0;
}

/* -- buffers ------------------------------------------------------------------------------ */

/* Room for more bytes at the end, or NULL with an error set. */
static char *buffer_more(buffer_t *buffer, size_t more) {
    if (!buffer->bytes || buffer->room - buffer->size < more) {
        size_t room = (buffer->size + more) * 2 + 64;
        char *bytes = PyMem_Realloc(buffer->bytes, room);
        if (!bytes) return (char *)PyErr_NoMemory();
        buffer->bytes = bytes;
        buffer->room = room;
    }
    return buffer->bytes + buffer->size;
}

static int buffer_add(buffer_t *buffer, const void *bytes, size_t size) {
    char *end = buffer_more(buffer, size);
    if (!end) return -1;
    memcpy(end, bytes, size);
    buffer->size += size;
    return 1;
}

/* -- making ------------------------------------------------------------------------------- */

static int refuse(const char *why) {
    PyErr_SetString(PyExc_ValueError, why);
    return -1;
}

/* Which child takes each field of the node. */
static int fields_match(arrow_column_t *column, const node_t *node) {
    column->of_field = PyMem_Calloc((size_t)node->field_count + 1, sizeof *column->of_field);
    if (!column->of_field) return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < node->field_count; i++) {
        column->of_field[i] = -1;
        for (Py_ssize_t child = 0; child < column->child_count; child++)
            if (!PyUnicode_Compare(column->children[child].name, node->fields[i].name))
                column->of_field[i] = (int)child;
    }
    return 0;
}

/* The node of the values of a child, or NO_NODE. */
static int node_of_child(const arrow_column_t *column, const node_t *node, Py_ssize_t child) {
    if (!node) return NO_NODE;
    if (column->kind == IS_ARRAY) return node->items;
    for (Py_ssize_t i = 0; i < node->field_count; i++)
        if (column->of_field[i] == child) return node->fields[i].node;
    return NO_NODE;
}

static int column_make(arrow_column_t *column, const plan_t *plan, int index, PyObject *described, int depth);

static int children_make(arrow_column_t *column, const plan_t *plan, int index, PyObject *described, int depth) {
    const node_t *node = plan_node(plan, index, column->kind);
    for (Py_ssize_t i = 0; i < column->child_count; i++) { /* matching needs the names of all */
        PyObject *each = PyTuple_GetItem(described, i);
        PyObject *name = PyTuple_Check(each) ? PyTuple_GetItem(each, 1) : NULL;
        if (!name || !PyUnicode_Check(name)) return refuse("a column is (kind, name, children)");
        Py_INCREF(name);
        column->children[i].name = name;
    }
    if (node && column->kind == IS_OBJECT && fields_match(column, node)) return -1;
    for (Py_ssize_t i = 0; i < column->child_count; i++) {
        int inner = node_of_child(column, node, i);
        if (column_make(&column->children[i], plan, inner, PyTuple_GetItem(described, i), depth + 1)) return -1;
    }
    return 0;
}

static int column_make(arrow_column_t *column, const plan_t *plan, int index, PyObject *described, int depth) {
    static const int32_t zero = 0;
    PyObject *name, *children;
    if (depth > DEPTH_MAX || !PyTuple_Check(described)) return refuse("columns are nested tuples, at most 64 deep");
    if (!PyArg_ParseTuple(described, "iUO!", &column->kind, &name, &PyTuple_Type, &children)) return -1;
    column->child_count = PyTuple_Size(children);
    int wanted = column->kind == IS_OBJECT || (column->kind == IS_ARRAY && column->child_count == 1);
    int is_scalar = column->kind == IS_STRING || row_bytes(column);
    if (!wanted && !(is_scalar && !column->child_count)) return refuse("there is no such column");
    if (has_offsets(column) && buffer_add(&column->offsets, &zero, sizeof zero) < 0) return -1;
    column->children = PyMem_Calloc((size_t)column->child_count + 1, sizeof *column->children);
    if (!column->children) return PyErr_NoMemory(), -1;
    return children_make(column, plan, index, children, depth);
}

int arrow_column_make(arrow_column_t *column, const plan_t *plan, int node, PyObject *described) {
    memset(column, 0, sizeof *column);
    return column_make(column, plan, node, described, 0);
}

void arrow_column_free(arrow_column_t *column) {
    for (Py_ssize_t i = 0; column->children && i < column->child_count; i++) arrow_column_free(&column->children[i]);
    PyMem_Free(column->children);
    PyMem_Free(column->of_field);
    PyMem_Free(column->valid.bytes);
    PyMem_Free(column->offsets.bytes);
    PyMem_Free(column->data.bytes);
    Py_CLEAR(column->name);
}

/* -- rows --------------------------------------------------------------------------------- */

/* Where a row of strings or lists begins; also where the next one would. */
static size_t offset_at(const arrow_column_t *column, size_t row) {
    int32_t offset;
    memcpy(&offset, column->offsets.bytes + row * sizeof offset, sizeof offset);
    return (size_t)offset;
}

/* End a row whose data is there. */
static int add_row(arrow_column_t *column, char is_valid) {
    if (has_offsets(column)) {
        size_t end = column->kind == IS_STRING ? column->data.size : column->children[0].rows;
        int32_t offset = (int32_t)end;
        if (end > INT32_MAX) return 0;
        if (buffer_add(&column->offsets, &offset, sizeof offset) < 0) return -1;
    }
    if (buffer_add(&column->valid, &is_valid, 1) < 0) return -1;
    column->rows++;
    return 1;
}

int arrow_column_add_null(arrow_column_t *column) {
    static const char zeros[8];
    if (buffer_add(&column->data, zeros, row_bytes(column)) < 0) return -1;
    return add_row(column, 0);
}

void arrow_column_drop(arrow_column_t *column, size_t rows) {
    if (column->rows > rows) column->rows = rows;
    size_t children_rows = column->rows;
    column->valid.size = column->rows;
    if (has_offsets(column)) {
        column->offsets.size = (column->rows + 1) * sizeof(int32_t);
        children_rows = offset_at(column, column->rows);
    }
    column->data.size = column->kind == IS_STRING ? children_rows : column->rows * row_bytes(column);
    for (Py_ssize_t i = 0; i < column->child_count; i++) arrow_column_drop(&column->children[i], children_rows);
}

/* Bring a column to a number of rows: drop those beyond, or add nulls. */
static int at_row(arrow_column_t *column, size_t rows) {
    if (column->rows > rows) arrow_column_drop(column, rows);
    int found = 1;
    while (column->rows < rows && found == 1) found = arrow_column_add_null(column);
    return found;
}

int arrow_column_add_boolean(arrow_column_t *column, int is_true) {
    char byte = (char)is_true;
    if (column->kind != IS_BOOLEAN) return 0;
    return buffer_add(&column->data, &byte, 1) < 0 ? -1 : add_row(column, 1);
}

int arrow_column_add_real(arrow_column_t *column, double number) {
    if (column->kind != IS_REAL) return 0;
    return buffer_add(&column->data, &number, sizeof number) < 0 ? -1 : add_row(column, 1);
}

int arrow_column_add_integer(arrow_column_t *column, int64_t number) {
    if (column->kind == IS_REAL) return arrow_column_add_real(column, (double)number);
    if (column->kind != IS_INTEGER) return 0;
    return buffer_add(&column->data, &number, sizeof number) < 0 ? -1 : add_row(column, 1);
}

int arrow_column_add_string(arrow_column_t *column, const json_string_t *string) {
    if (column->kind != IS_STRING) return 0;
    char *end = buffer_more(&column->data, string->size);
    if (!end) return -1;
    if (string->escaped) {
        column->data.size += json_unescape(string, (unsigned char *)end);
    } else {
        memcpy(end, string->start, string->size);
        column->data.size += string->size;
    }
    return add_row(column, 1);
}

int arrow_column_add_nested(arrow_column_t *column) { return add_row(column, 1); }

arrow_column_t *arrow_column_field(arrow_column_t *column, Py_ssize_t field, int *found) {
    int child = column->of_field ? column->of_field[field] : -1;
    if (child < 0) return NULL;
    /* One that was missing before has null there; of several members with one name the last counts. */
    *found = at_row(&column->children[child], column->rows);
    return &column->children[child];
}

/* -- layout ------------------------------------------------------------------------------- */

/* A bit for each byte, as Arrow has them. */
static PyObject *packed(const buffer_t *bytes) {
    PyObject *bits = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(bytes->size + 7) / 8);
    if (!bits) return NULL;
    char *into = PyBytes_AsString(bits);
    memset(into, 0, (bytes->size + 7) / 8);
    for (size_t i = 0; i < bytes->size; i++) into[i / 8] |= (char)(bytes->bytes[i] << (i % 8));
    return bits;
}

static PyObject *copied(const buffer_t *buffer) {
    return PyBytes_FromStringAndSize(buffer->bytes, (Py_ssize_t)buffer->size);
}

/* Everything but the validity, or NULL with an error set. */
static PyObject *buffers_of(const arrow_column_t *column) {
    switch (column->kind) {
    case IS_STRING: return Py_BuildValue("(NN)", copied(&column->offsets), copied(&column->data));
    case IS_ARRAY: return Py_BuildValue("(N)", copied(&column->offsets));
    case IS_BOOLEAN: return Py_BuildValue("(N)", packed(&column->data));
    case IS_OBJECT: return PyTuple_New(0);
    default: return Py_BuildValue("(N)", copied(&column->data));
    }
}

static PyObject *children_of(arrow_column_t *column) {
    size_t rows = column->kind == IS_ARRAY ? offset_at(column, column->rows) : column->rows;
    PyObject *children = PyTuple_New(column->child_count);
    for (Py_ssize_t i = 0; children && i < column->child_count; i++) {
        int found = at_row(&column->children[i], rows);
        PyObject *layout = found == 1 ? arrow_column_layout(&column->children[i]) : NULL;
        if (!layout || PyTuple_SetItem(children, i, layout)) Py_CLEAR(children);
        if (!found) PyErr_SetString(PyExc_OverflowError, "a column is too large");
    }
    return children;
}

PyObject *arrow_column_layout(arrow_column_t *column) {
    size_t valid = 0;
    for (size_t i = 0; i < column->rows; i++) valid += (size_t)column->valid.bytes[i];
    PyObject *bits = valid == column->rows ? Py_NewRef(Py_None) : packed(&column->valid);
    return Py_BuildValue("nnNNN", (Py_ssize_t)column->rows, (Py_ssize_t)(column->rows - valid), bits,
                         buffers_of(column), children_of(column));
}
