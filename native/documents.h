/* Reads and checks JSON documents of one schema. */
#ifndef LASTWORD_DOCUMENTS_H
#define LASTWORD_DOCUMENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Register the type Documents. */
int documents_register(PyObject *module);

#endif
