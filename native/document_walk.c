#include "document_walk.h"

#include <math.h>
#include <string.h>

#include "json_text.h"

#define DEPTH_MAX 64
#define EXACT_INTEGER (1LL << 53)
#define SHORT_STRING 256

typedef struct {
    const plan_t *plan;
    json_text_t text;
    int depth;
    const char *kept; /* for each field of the document itself whether its value is wanted; NULL: all are */
} walk_t;

/* The value goes to ``value`` or to ``column``, unless they are NULL; never to both. */
static int walk(walk_t *self, int index, PyObject **value, arrow_column_t *column);

static int kind_at(const unsigned char *at) {
    switch (*at) {
    case '"': return IS_STRING;
    case '{': return IS_OBJECT;
    case '[': return IS_ARRAY;
    case 't':
    case 'f': return IS_BOOLEAN;
    case 'n': return IS_NULL_KIND;
    default: return IS_INTEGER | IS_REAL;
    }
}

static int give(PyObject *made, PyObject **value) {
    *value = made;
    return made ? 1 : -1;
}

static int give_known(PyObject *known, PyObject **value) {
    Py_INCREF(known);
    *value = known;
    return 1;
}

/* -- scalars ------------------------------------------------------------------------------ */

static int give_string(const json_string_t *string, PyObject **value) {
    if (!string->escaped)
        return give(PyUnicode_DecodeUTF8((const char *)string->start, (Py_ssize_t)string->size, "strict"), value);
    unsigned char few[SHORT_STRING], *buffer = string->size <= SHORT_STRING ? few : PyMem_Malloc(string->size);
    if (!buffer) return PyErr_NoMemory(), -1;
    size_t size = json_unescape(string, buffer);
    *value = PyUnicode_DecodeUTF8((const char *)buffer, (Py_ssize_t)size, "strict");
    if (buffer != few) PyMem_Free(buffer);
    return *value ? 1 : -1;
}

static int is_option(PyObject *options, const json_string_t *string) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(options); i++) {
        PyObject *option = PyTuple_GetItem(options, i);
        if ((size_t)PyBytes_Size(option) == string->size &&
            !memcmp(PyBytes_AsString(option), string->start, string->size))
            return 1;
    }
    return 0;
}

static int walk_string(walk_t *self, const node_t *node, PyObject **value, arrow_column_t *column) {
    json_string_t string;
    if (!json_string(&self->text, &string)) return 0;
    if (string.characters < node->min_length || string.characters > node->max_length) return 0;
    if (node->options != Py_None && (string.escaped || !is_option(node->options, &string))) return 0;
    if (column) return arrow_column_add_string(column, &string);
    return value ? give_string(&string, value) : 1;
}

static int is_within(const node_t *node, const json_number_t *number, double real) {
    if (number->is_integer && number->digits > EXACT_INTEGER) return 0;
    int above = node->low_is_open ? real > node->low : real >= node->low;
    int below = node->high_is_open ? real < node->high : real <= node->high;
    return above && below;
}

static int walk_number(walk_t *self, const node_t *node, PyObject **value, arrow_column_t *column) {
    json_number_t number;
    double real = 0;
    if (!json_number(&self->text, &number)) return 0;
    if (!number.is_integer && !(node->kinds & IS_REAL)) return 0; /* 1.0 may be an integer, too */
    int bounded = isfinite(node->low) || isfinite(node->high);
    int needed = bounded || number.digits < 0 || ((value || column) && !number.is_integer);
    if (needed && !json_real(&number, &real)) return 0;
    if (bounded && !is_within(node, &number, real)) return 0;
    int64_t whole = *number.start == '-' ? -number.digits : number.digits;
    if (column) return number.is_integer ? arrow_column_add_integer(column, whole) : arrow_column_add_real(column, real);
    if (!value) return 1;
    return give(number.is_integer ? PyLong_FromLongLong(whole) : PyFloat_FromDouble(real), value);
}

static int walk_boolean(walk_t *self, PyObject **value, arrow_column_t *column) {
    int is_true = *self->text.at == 't';
    if (!(is_true ? json_word(&self->text, "true", 4) : json_word(&self->text, "false", 5))) return 0;
    if (column) return arrow_column_add_boolean(column, is_true);
    return value ? give_known(is_true ? Py_True : Py_False, value) : 1;
}

static int walk_null(walk_t *self, PyObject **value, arrow_column_t *column) {
    if (!json_word(&self->text, "null", 4)) return 0;
    if (column) return arrow_column_add_null(column);
    return value ? give_known(Py_None, value) : 1;
}

/* -- arrays and objects ------------------------------------------------------------------- */

/* Whether the text goes on with this character, which is then behind it. */
static int take(walk_t *self, char wanted) {
    json_skip_space(&self->text);
    if (*self->text.at != (unsigned char)wanted) return 0;
    self->text.at++;
    return 1;
}

static int walk_items(walk_t *self, const node_t *node, PyObject *list, arrow_column_t *column) {
    size_t count = 0;
    if (take(self, ']')) return !node->min_items;
    do {
        PyObject *item = NULL;
        int found = walk(self, node->items, list ? &item : NULL, column ? &column->children[0] : NULL);
        if (found == 1 && list && PyList_Append(list, item)) found = -1;
        Py_XDECREF(item);
        if (found != 1) return found;
        count++;
    } while (take(self, ','));
    return take(self, ']') && count >= node->min_items && count <= node->max_items;
}

/* The field whose name, in quotes, comes next in the text, which is then behind it; else NULL. */
static const field_t *take_field(walk_t *self, const node_t *node, Py_ssize_t place) {
    size_t left = (size_t)(self->text.end - self->text.at);
    int guess = place < node->field_count ? node->order[place] : 0;
    for (Py_ssize_t i = 0; i < node->field_count; i++) {
        Py_ssize_t which = (guess + i) % node->field_count;
        const field_t *field = &node->fields[which];
        if (field->quoted_size > left || memcmp(field->quoted, self->text.at, field->quoted_size)) continue;
        if (place < node->field_count) node->order[place] = (int)which;
        self->text.at += field->quoted_size;
        return field;
    }
    return NULL;
}

/* The name of a member that is not a field, as far as is known: an escaped one may be. */
static int take_name(walk_t *self, PyObject **name) {
    json_string_t string;
    if (!json_string(&self->text, &string) || string.escaped) return 0;
    return name ? give_string(&string, name) : 1;
}

static int walk_member(walk_t *self, int index, PyObject *name, PyObject *dict, arrow_column_t *column) {
    PyObject *item = NULL;
    if (!take(self, ':')) return 0;
    int found = walk(self, index, dict ? &item : NULL, column);
    if (found == 1 && dict && PyDict_SetItem(dict, name, item)) found = -1;
    Py_XDECREF(item);
    return found;
}

/* Whether a member of the document itself is not wanted; ``which`` is -1 for one that is not a field. */
static int is_dropped(const walk_t *self, Py_ssize_t which) {
    return self->kept && self->depth == 1 && (which < 0 || !self->kept[which]);
}

static int walk_other(walk_t *self, const node_t *node, PyObject *dict) {
    PyObject *name = NULL;
    if (is_dropped(self, -1)) dict = NULL;
    int found = node->others == NO_NODE ? 0 : take_name(self, dict ? &name : NULL);
    if (found == 1) found = walk_member(self, node->others, name, dict, NULL);
    Py_XDECREF(name);
    return found;
}

static int walk_field(walk_t *self, const field_t *field, Py_ssize_t which, PyObject *dict, arrow_column_t *column) {
    int found = 1;
    if (is_dropped(self, which)) dict = NULL;
    arrow_column_t *own = column ? arrow_column_field(column, which, &found) : NULL;
    return found == 1 ? walk_member(self, field->node, field->name, dict, own) : found;
}

static int walk_members(walk_t *self, const node_t *node, PyObject *dict, arrow_column_t *column) {
    uint64_t missing = node->required ? UINT64_MAX >> (REQUIRED_MAX - node->required) : 0;
    Py_ssize_t place = 0;
    if (take(self, '}')) return !missing;
    do {
        json_skip_space(&self->text);
        const field_t *field = take_field(self, node, place++);
        Py_ssize_t which = field ? field - node->fields : -1;
        int found = field ? walk_field(self, field, which, dict, column) : walk_other(self, node, dict);
        if (found != 1) return found;
        if (field && which < node->required) missing &= ~(UINT64_C(1) << which);
    } while (take(self, ','));
    return take(self, '}') && !missing;
}

static int walk_nested(walk_t *self, const node_t *node, int kind, PyObject **value, arrow_column_t *column) {
    PyObject *made = NULL;
    if (self->depth == DEPTH_MAX || (column && column->kind != kind)) return 0;
    if (value && !(made = kind == IS_OBJECT ? PyDict_New() : PyList_New(0))) return -1;
    self->depth++;
    self->text.at++;
    int found = kind == IS_OBJECT ? walk_members(self, node, made, column) : walk_items(self, node, made, column);
    self->depth--;
    if (found == 1 && value)
        *value = made;
    else
        Py_XDECREF(made);
    return found == 1 && column ? arrow_column_add_nested(column) : found;
}

static int walk(walk_t *self, int index, PyObject **value, arrow_column_t *column) {
    json_skip_space(&self->text);
    int kinds = kind_at(self->text.at);
    const node_t *node = plan_node(self->plan, index, kinds);
    if (!node) return 0;
    switch (kinds) {
    case IS_STRING: return walk_string(self, node, value, column);
    case IS_OBJECT:
    case IS_ARRAY: return walk_nested(self, node, kinds, value, column);
    case IS_BOOLEAN: return walk_boolean(self, value, column);
    case IS_NULL_KIND: return walk_null(self, value, column);
    default: return walk_number(self, node, value, column);
    }
}

int document_walk(const plan_t *plan, const char *document, size_t size, const document_target_t *target) {
    const unsigned char *start = (const unsigned char *)document;
    PyObject **value = target->value;
    walk_t self = {plan, {start, start + size}, 0, target->kept};
    int found = walk(&self, 0, value, target->column);
    if (found != 1) return found;
    json_skip_space(&self.text);
    if (self.text.at == self.text.end) return 1;
    if (value) Py_CLEAR(*value);
    return 0;
}
