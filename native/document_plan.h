/* What documents of a JSON Schema look like: the nodes of a plan, which Python makes of the schema. */
#ifndef LASTWORD_DOCUMENT_PLAN_H
#define LASTWORD_DOCUMENT_PLAN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

enum { IS_NULL_KIND = 1, IS_BOOLEAN = 2, IS_INTEGER = 4, IS_REAL = 8, IS_STRING = 16, IS_OBJECT = 32, IS_ARRAY = 64 };

#define NO_NODE (-1)
#define REQUIRED_MAX 64 /* bits that say which were seen */

typedef struct {
    PyObject *name;
    char *quoted; /* as it stands in a document without escapes */
    size_t quoted_size;
    int node;
} field_t;

typedef struct {
    int kinds; /* those that it accepts by itself */
    int then;  /* the node that decides about other kinds */
    size_t min_length, max_length;
    double low, high;
    int low_is_open, high_is_open;
    int others; /* the node of members that are not fields */
    int items;
    size_t min_items, max_items;
    PyObject *options; /* a tuple of bytes, or None: the only strings that it accepts */
    Py_ssize_t required; /* how many fields are: they come first */
    Py_ssize_t field_count;
    field_t *fields;
    int *order; /* which field came at each place in the last document */
} node_t;

typedef struct {
    Py_ssize_t count;
    node_t *nodes;
} plan_t;

/* Make a plan of a list of tuples; -1 with an error set. Node 0 is the root. Free it in any case. */
int plan_make(plan_t *plan, PyObject *described);
void plan_free(plan_t *plan);

/* The node that decides about values of these kinds, from this one on; or NULL. */
const node_t *plan_node(const plan_t *plan, int index, int kinds);

#endif
