/* The items of dicts in the order of their keys, as a sorted file takes them. */
#ifndef LASTWORD_SORTING_H
#define LASTWORD_SORTING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* write_sorted([dict with keys of bytes], file): file[key] = value in order, or del file[key] for None;
 * of equal keys, the one in the last dict. */
PyObject *write_sorted(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
