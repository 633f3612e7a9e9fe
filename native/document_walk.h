/* One document against a plan: checked, and turned into Python objects where they are wanted. */
#ifndef LASTWORD_DOCUMENT_WALK_H
#define LASTWORD_DOCUMENT_WALK_H

#include "document_plan.h"

/* 1 for a document that the plan accepts, 0 if unsure, -1 with an error set.
 * ``value``, unless NULL, then has a new reference to its value. A zero byte must follow the document. */
int document_walk(const plan_t *plan, const char *document, size_t size, PyObject **value);

#endif
