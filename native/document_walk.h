/* One document against a plan: checked, and turned into Python objects or rows of columns where they are wanted. */
#ifndef LASTWORD_DOCUMENT_WALK_H
#define LASTWORD_DOCUMENT_WALK_H

#include "arrow_columns.h"
#include "document_plan.h"

/* Where the value of a document goes: to a new reference, to a row of a column, or nowhere if both are NULL. */
typedef struct {
    PyObject **value;
    const char *kept; /* for each field of an object whether the value has it; NULL: it has all members */
    arrow_column_t *column;
} document_target_t;

/* 1 for a document that the plan accepts, 0 if unsure, -1 with an error set. Unless it is 1, there is no value, and
 * the column may have a part of a row. A zero byte must follow the document. */
int document_walk(const plan_t *plan, const char *document, size_t size, const document_target_t *target);

#endif
