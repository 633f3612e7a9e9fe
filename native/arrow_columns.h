/* JSON values as columns in Arrow's layout, added row by row; a row can be taken back. */
#ifndef LASTWORD_ARROW_COLUMNS_H
#define LASTWORD_ARROW_COLUMNS_H

#include "document_plan.h"
#include "json_text.h"

typedef struct {
    char *bytes;
    size_t size, room;
} buffer_t;

typedef struct arrow_column arrow_column_t;
struct arrow_column {
    int kind; /* one of those of document_plan.h; a real column also takes integers */
    size_t rows;
    buffer_t valid;   /* a byte for each row: 0 for null */
    buffer_t offsets; /* of strings and lists: where each ends, after a zero */
    buffer_t data;    /* text; numbers of eight bytes; a byte for each boolean */
    PyObject *name;
    Py_ssize_t child_count;
    arrow_column_t *children; /* the fields of an object, the items of an array; may have fewer rows */
    int *of_field;            /* for each field of the plan the child that takes it, or -1 */
};

/* Make a column of (kind, name, children) for values of this node; -1 with an error set. Free it in any case. */
int arrow_column_make(arrow_column_t *column, const plan_t *plan, int node, PyObject *described);
void arrow_column_free(arrow_column_t *column);

/* These add a row. 1 if done, 0 for a value of another kind or too much for a column, -1 with an error set. */
int arrow_column_add_null(arrow_column_t *column);
int arrow_column_add_boolean(arrow_column_t *column, int is_true);
int arrow_column_add_integer(arrow_column_t *column, int64_t number);
int arrow_column_add_real(arrow_column_t *column, double number);
int arrow_column_add_string(arrow_column_t *column, const json_string_t *string);
int arrow_column_add_nested(arrow_column_t *column); /* after its children have their rows */

/* The column of a field of an object, ready for the next row; NULL if there is none. ``found`` is as above. */
arrow_column_t *arrow_column_field(arrow_column_t *column, Py_ssize_t field, int *found);

/* Drop the rows from this one on, also one that was not ended. */
void arrow_column_drop(arrow_column_t *column, size_t rows);

/* (rows, nulls, validity or None, other buffers, children), the buffers as bytes. */
PyObject *arrow_column_layout(arrow_column_t *column);

#endif
