#include "lines.h"

#include <stdio.h>
#include <string.h>

void lines_add(lines_t *lines, int level, const char *facility, const char *text) {
    if (lines->count == LINES_MAX) {
        lines->left_out++;
        return;
    }
    line_t *line = &lines->lines[lines->count++];
    line->level = level;
    snprintf(line->facility, sizeof line->facility, "%s", facility ? facility : "");
    snprintf(line->text, sizeof line->text, "%s", text ? text : "");
}

/* A line may be cut within a character, or hold a host name of any bytes. */
static PyObject *readable(const char *text) { return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"); }

PyObject *lines_take(lines_t *lines) {
    if (lines->left_out) {
        line_t *last = &lines->lines[LINES_MAX - 1];
        snprintf(last->text, sizeof last->text, "%zu more lines were left out", lines->left_out + 1);
    }
    PyObject *taken = PyList_New(0);
    for (size_t i = 0; taken && i < lines->count; i++) {
        const line_t *line = &lines->lines[i];
        PyObject *item = Py_BuildValue("iNN", line->level, readable(line->facility), readable(line->text));
        if (!item || PyList_Append(taken, item)) Py_CLEAR(taken);
        Py_XDECREF(item);
    }
    lines->count = lines->left_out = 0;
    return taken;
}
