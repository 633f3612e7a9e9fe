/* What librdkafka says while it is polled, kept until Python asks. */
#ifndef LASTWORD_LINES_H
#define LASTWORD_LINES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define LINES_MAX 100 /* beyond that, a poll's lines are only counted */
#define FACILITY_MAX 32
#define LINE_MAX_BYTES 512

typedef struct {
    int level;
    char facility[FACILITY_MAX];
    char text[LINE_MAX_BYTES];
} line_t;

typedef struct {
    size_t count;
    size_t left_out;
    line_t lines[LINES_MAX];
} lines_t;

void lines_add(lines_t *lines, int level, const char *facility, const char *text);

/* A list of (level, facility, text), after which nothing is left. */
PyObject *lines_take(lines_t *lines);

#endif
