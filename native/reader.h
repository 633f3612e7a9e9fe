/* Reads partitions of one topic with a consumer of librdkafka, into columns. */
#ifndef LASTWORD_READER_H
#define LASTWORD_READER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Register the type Reader. */
int reader_register(PyObject *module);

#endif
