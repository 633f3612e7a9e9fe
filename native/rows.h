/* Many rows of a store at once: which of them are there, and the values of plain ones. */
#ifndef LASTWORD_ROWS_H
#define LASTWORD_ROWS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* live_rows([key], [row or None], now_ms) -> ([key], [row]) of the rows that are there and not expired */
PyObject *live_rows(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* plain_values([row], format) -> [value], or None if a row has another format byte */
PyObject *plain_values(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* size_of(dict from bytes to bytes) -> the bytes of its keys and rows */
PyObject *size_of_rows(PyObject *module, PyObject *dict);

#endif
