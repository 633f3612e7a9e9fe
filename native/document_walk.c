#include "document_walk.h"

#include <math.h>
#include <string.h>

#include "json_text.h"

#define DEPTH_MAX 64
#define HOPS_MAX 16 /* a schema may refer to itself and to nothing else */
#define EXACT_INTEGER (1LL << 53)
#define SHORT_STRING 256

typedef struct {
    const plan_t *plan;
    json_text_t text;
    int depth;
} walk_t;

static int walk(walk_t *self, int index, PyObject **value);

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

/* The node that decides about values of these kinds, or NULL. */
static const node_t *node_for(const plan_t *plan, int index, int kinds) {
    for (int hops = 0; index != NO_NODE && hops < HOPS_MAX; hops++) {
        const node_t *node = &plan->nodes[index];
        if (node->kinds & kinds) return node;
        index = node->then;
    }
    return NULL;
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

static int walk_string(walk_t *self, const node_t *node, PyObject **value) {
    json_string_t string;
    if (!json_string(&self->text, &string)) return 0;
    if (string.characters < node->min_length || string.characters > node->max_length) return 0;
    if (node->options != Py_None && (string.escaped || !is_option(node->options, &string))) return 0;
    return value ? give_string(&string, value) : 1;
}

static int is_within(const node_t *node, const json_number_t *number, double real) {
    if (number->is_integer && number->digits > EXACT_INTEGER) return 0;
    int above = node->low_is_open ? real > node->low : real >= node->low;
    int below = node->high_is_open ? real < node->high : real <= node->high;
    return above && below;
}

static int walk_number(walk_t *self, const node_t *node, PyObject **value) {
    json_number_t number;
    double real = 0;
    if (!json_number(&self->text, &number)) return 0;
    if (!number.is_integer && !(node->kinds & IS_REAL)) return 0; /* 1.0 may be an integer, too */
    int bounded = isfinite(node->low) || isfinite(node->high);
    int needed = bounded || number.digits < 0 || (value && !number.is_integer);
    if (needed && !json_real(&number, &real)) return 0;
    if (bounded && !is_within(node, &number, real)) return 0;
    if (!value) return 1;
    if (!number.is_integer) return give(PyFloat_FromDouble(real), value);
    return give(PyLong_FromLongLong(*number.start == '-' ? -number.digits : number.digits), value);
}

static int walk_boolean(walk_t *self, PyObject **value) {
    int is_true = *self->text.at == 't';
    if (!(is_true ? json_word(&self->text, "true", 4) : json_word(&self->text, "false", 5))) return 0;
    return value ? give_known(is_true ? Py_True : Py_False, value) : 1;
}

static int walk_null(walk_t *self, PyObject **value) {
    if (!json_word(&self->text, "null", 4)) return 0;
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

static int walk_items(walk_t *self, const node_t *node, PyObject *list) {
    size_t count = 0;
    if (take(self, ']')) return !node->min_items;
    do {
        PyObject *item = NULL;
        int found = walk(self, node->items, list ? &item : NULL);
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

static int walk_member(walk_t *self, int index, PyObject *name, PyObject *dict) {
    PyObject *item = NULL;
    if (!take(self, ':')) return 0;
    int found = walk(self, index, dict ? &item : NULL);
    if (found == 1 && dict && PyDict_SetItem(dict, name, item)) found = -1;
    Py_XDECREF(item);
    return found;
}

static int walk_other(walk_t *self, const node_t *node, PyObject *dict) {
    PyObject *name = NULL;
    int found = node->others == NO_NODE ? 0 : take_name(self, dict ? &name : NULL);
    if (found == 1) found = walk_member(self, node->others, name, dict);
    Py_XDECREF(name);
    return found;
}

static int walk_members(walk_t *self, const node_t *node, PyObject *dict) {
    uint64_t missing = node->required ? UINT64_MAX >> (REQUIRED_MAX - node->required) : 0;
    Py_ssize_t place = 0;
    if (take(self, '}')) return !missing;
    do {
        json_skip_space(&self->text);
        const field_t *field = take_field(self, node, place++);
        int found = field ? walk_member(self, field->node, field->name, dict) : walk_other(self, node, dict);
        if (found != 1) return found;
        if (field && field - node->fields < node->required) missing &= ~(UINT64_C(1) << (field - node->fields));
    } while (take(self, ','));
    return take(self, '}') && !missing;
}

static int walk_nested(walk_t *self, const node_t *node, int is_object, PyObject **value) {
    PyObject *made = NULL;
    if (self->depth == DEPTH_MAX) return 0;
    if (value && !(made = is_object ? PyDict_New() : PyList_New(0))) return -1;
    self->depth++;
    self->text.at++;
    int found = is_object ? walk_members(self, node, made) : walk_items(self, node, made);
    self->depth--;
    if (found == 1 && value)
        *value = made;
    else
        Py_XDECREF(made);
    return found;
}

static int walk(walk_t *self, int index, PyObject **value) {
    json_skip_space(&self->text);
    int kinds = kind_at(self->text.at);
    const node_t *node = node_for(self->plan, index, kinds);
    if (!node) return 0;
    switch (kinds) {
    case IS_STRING: return walk_string(self, node, value);
    case IS_OBJECT: return walk_nested(self, node, 1, value);
    case IS_ARRAY: return walk_nested(self, node, 0, value);
    case IS_BOOLEAN: return walk_boolean(self, value);
    case IS_NULL_KIND: return walk_null(self, value);
    default: return walk_number(self, node, value);
    }
}

int document_walk(const plan_t *plan, const char *document, size_t size, PyObject **value) {
    const unsigned char *start = (const unsigned char *)document;
    walk_t self = {plan, {start, start + size}, 0};
    int found = walk(&self, 0, value);
    if (found != 1) return found;
    json_skip_space(&self.text);
    if (self.text.at == self.text.end) return 1;
    if (value) Py_CLEAR(*value);
    return 0;
}
