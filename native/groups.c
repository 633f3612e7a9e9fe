#include "groups.h"

#include <stdlib.h>
#include <string.h>

static size_t size_of(const rd_kafka_message_t *message) {
    return (message->key ? message->key_len : 0) + (message->payload ? message->len : 0);
}

/* Messages come in runs of a partition, so the last group is tried first. */
static size_t find(const groups_t *groups, int32_t partition, size_t last) {
    if (last < groups->count && groups->groups[last].columns.partition == partition) return last;
    for (size_t i = 0; i < groups->count; i++)
        if (groups->groups[i].columns.partition == partition) return i;
    return groups->count;
}

/* The request id of a message whose only header it is, else NULL. */
static const void *request_of(const rdkafka_t *rk, const rd_kafka_headers_t *headers) {
    const char *name;
    const void *value, *other;
    size_t size, other_size;
    if (rk->rd_kafka_header_get_all(headers, 0, &name, &value, &size)) return NULL;
    if (!value || size != REQUEST_BYTES || strcmp(name, REQUEST_HEADER)) return NULL;
    return rk->rd_kafka_header_get_all(headers, 1, &name, &other, &other_size) ? value : NULL;
}

/* Whether it has headers that columns cannot hold. */
static int has_headers(const rdkafka_t *rk, const rd_kafka_message_t *message) {
    rd_kafka_headers_t *headers;
    return !rk->rd_kafka_message_headers(message, &headers) && !request_of(rk, headers);
}

/* Copy the header of record i, if it has just that of an owner; 0 when there is no memory. */
static int take_headers(group_t *group, const rdkafka_t *rk, const rd_kafka_message_t *message, size_t i) {
    rd_kafka_headers_t *headers;
    if (rk->rd_kafka_message_headers(message, &headers)) return 1;
    const void *request = request_of(rk, headers);
    group->has_headers |= !request;
    return !request || columns_mark(&group->columns, i, request);
}

static group_t *group_for(groups_t *groups, int32_t partition, size_t *last) {
    *last = find(groups, partition, *last);
    if (*last == groups->count) {
        group_t *more = realloc(groups->groups, (groups->count + 1) * sizeof *more);
        if (!more) return NULL;
        groups->groups = more;
        memset(&more[groups->count], 0, sizeof *more);
        more[groups->count].columns.partition = partition;
        groups->count++;
    }
    return &groups->groups[*last];
}

static int count_all(groups_t *groups, rd_kafka_message_t **messages, size_t count) {
    for (size_t i = 0, last = 0; i < count; i++) {
        if (messages[i]->err) continue;
        group_t *group = group_for(groups, messages[i]->partition, &last);
        if (!group) return 0;
        group->columns.count++;
        group->columns.data_size += size_of(messages[i]);
    }
    return 1;
}

int groups_make(groups_t *groups, const rdkafka_t *rk, rd_kafka_message_t **messages, size_t count) {
    if (!count_all(groups, messages, count)) return 0;
    for (size_t i = 0; i < groups->count; i++) {
        columns_t *columns = &groups->groups[i].columns;
        if (!columns_make(columns, columns->count, columns->data_size)) return 0;
    }
    for (size_t i = 0, last = 0; i < count; i++) {
        const rd_kafka_message_t *message = messages[i];
        if (message->err) continue;
        last = find(groups, message->partition, last);
        group_t *group = &groups->groups[last];
        int kind;
        columns_add(&group->columns, &group->fill, message->offset, rk->rd_kafka_message_timestamp(message, &kind),
                    message->key, message->key_len, message->payload, message->len);
        group->columns.leader_epoch = rk->rd_kafka_message_leader_epoch(message);
        if (!take_headers(group, rk, message, group->fill.next - 1)) return 0;
    }
    return 1;
}

void groups_free_plain(const rdkafka_t *rk, rd_kafka_message_t **messages, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (messages[i]->err || has_headers(rk, messages[i])) continue;
        rk->rd_kafka_message_destroy(messages[i]);
        messages[i] = NULL;
    }
}

void groups_free(groups_t *groups) {
    for (size_t i = 0; i < groups->count; i++) columns_free(&groups->groups[i].columns);
    free(groups->groups);
    groups->groups = NULL;
    groups->count = 0;
}

/* -- with the interpreter ----------------------------------------------------------------- */

/* (name, value) of one header; NULL with an error set, a UnicodeDecodeError for a name that is not UTF-8. */
static PyObject *header_of(const char *name, const void *value, size_t size) {
    PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "strict");
    if (!text) return NULL;
    if (!value) return Py_BuildValue("NO", text, Py_None);
    PyObject *bytes = PyBytes_FromStringAndSize(value, (Py_ssize_t)size);
    if (bytes) return Py_BuildValue("NN", text, bytes);
    Py_DECREF(text);
    return NULL;
}

/* A tuple of headers, or None for none; NULL with an error set. */
static PyObject *headers_of(const rdkafka_t *rk, const rd_kafka_message_t *message) {
    rd_kafka_headers_t *headers;
    const char *name;
    const void *value;
    size_t size;
    if (!message || rk->rd_kafka_message_headers(message, &headers)) Py_RETURN_NONE;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && !rk->rd_kafka_header_get_all(headers, i, &name, &value, &size); i++) {
        PyObject *header = header_of(name, value, size);
        if (!header || PyList_Append(list, header)) Py_CLEAR(list);
        Py_XDECREF(header);
    }
    if (!list) return NULL;
    PyObject *answer = Py_None;
    if (PyList_Size(list) > 0)
        answer = PyList_AsTuple(list);
    else
        Py_INCREF(answer);
    Py_DECREF(list);
    return answer;
}

static int note_unreadable(PyObject *unreadable, int64_t offset) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) return -1;
    PyErr_Clear();
    PyObject *number = PyLong_FromLongLong(offset);
    int failed = !number || PyList_Append(unreadable, number);
    Py_XDECREF(number);
    return failed ? -1 : 0;
}

/* The messages of a partition come in the order of their records; those fully copied are gone already. */
static int fill_headers(const group_t *group, const rdkafka_t *rk, rd_kafka_message_t **messages, size_t count,
                        PyObject *headers, PyObject *unreadable) {
    size_t record = 0;
    for (size_t i = 0; i < count; i++) {
        const rd_kafka_message_t *message = messages[i];
        if (!message || message->err || message->partition != group->columns.partition) continue;
        while (group->columns.offsets[record] != message->offset) record++;
        PyObject *of_it = headers_of(rk, message);
        if (!of_it) {
            if (note_unreadable(unreadable, message->offset)) return -1;
            of_it = Py_None;
            Py_INCREF(of_it);
        }
        if (PyList_SetItem(headers, (Py_ssize_t)record, of_it)) return -1;
    }
    return 0;
}

static PyObject *list_of_none(size_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        Py_INCREF(Py_None);
        PyList_SetItem(list, (Py_ssize_t)i, Py_None);
    }
    return list;
}

static PyObject *wrap(group_t *group, const rdkafka_t *rk, rd_kafka_message_t **messages, size_t count,
                      PyObject *columns_class) {
    PyObject *unreadable = PyList_New(0);
    PyObject *headers = Py_None;
    if (group->has_headers)
        headers = list_of_none(group->columns.count);
    else
        Py_INCREF(headers);
    if (unreadable && headers &&
        (!group->has_headers || !fill_headers(group, rk, messages, count, headers, unreadable)))
        return columns_wrap(columns_class, &group->columns, headers, unreadable);
    Py_XDECREF(headers);
    Py_XDECREF(unreadable);
    return NULL;
}

PyObject *groups_wrap(groups_t *groups, const rdkafka_t *rk, rd_kafka_message_t **messages, size_t count,
                      PyObject *columns_class) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < groups->count; i++) {
        PyObject *columns = wrap(&groups->groups[i], rk, messages, count, columns_class);
        if (!columns || PyList_Append(list, columns)) Py_CLEAR(list);
        Py_XDECREF(columns);
    }
    return list;
}
