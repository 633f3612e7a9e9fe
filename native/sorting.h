/* The items of a dict in the order of their keys, as a sorted file wants them. */
#ifndef LASTWORD_SORTING_H
#define LASTWORD_SORTING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* sorted_items(dict with keys of bytes) -> ([key], [value]) */
PyObject *sorted_items(PyObject *module, PyObject *dict);

#endif
