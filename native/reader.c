#include "reader.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "groups.h"
#include "lines.h"
#include "rdkafka.h"

#define MESSAGES_MAX 1000000

/* One thread at a time uses a reader: whoever wraps it in Python has a lock.
 * `consumer` is NULL once it is closed. */
typedef struct {
    PyObject_HEAD
    const rdkafka_t *rk;
    rd_kafka_t *consumer;
    rd_kafka_queue_t *queue;
    rd_kafka_message_t **messages;
    size_t messages_max;
    lines_t *lines;
    char *topic;
    PyObject *columns_class;
    pid_t process; /* a forked child has none of librdkafka's threads, and must not free this */
} Reader;

/* -- what librdkafka says: called while it is polled or closed, without the interpreter ---- */

static const rdkafka_t *callbacks_rk; /* the one library of this process */

static void note_line(const rd_kafka_t *consumer, int level, const char *facility, const char *line) {
    lines_t *lines = callbacks_rk->rd_kafka_opaque(consumer);
    char text[LINE_MAX_BYTES];
    snprintf(text, sizeof text, "[%s] %s", callbacks_rk->rd_kafka_name(consumer), line ? line : "");
    if (lines) lines_add(lines, level < 0 ? 0 : level, facility, text);
}

static void note_error(rd_kafka_t *consumer, int err, const char *reason, void *opaque) {
    (void)consumer;
    (void)err;
    if (opaque) lines_add(opaque, -1, "", reason);
}

/* -- life --------------------------------------------------------------------------------- */

static int configure(const rdkafka_t *rk, rd_kafka_conf_t *conf, PyObject *settings) {
    char error[512];
    for (Py_ssize_t i = 0; i < PyList_Size(settings); i++) {
        const char *name, *value;
        PyObject *pair = PyList_GetItem(settings, i);
        if (!pair || !PyTuple_Check(pair)) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a setting is a name and a text");
            return -1;
        }
        if (!PyArg_ParseTuple(pair, "ss", &name, &value)) return -1;
        if (rk->rd_kafka_conf_set(conf, name, value, error, sizeof error) != RD_KAFKA_CONF_OK) {
            PyErr_SetString(PyExc_ValueError, error);
            return -1;
        }
    }
    return 0;
}

static int connect_consumer(Reader *self, PyObject *settings) {
    const rdkafka_t *rk = self->rk;
    char error[512];
    rd_kafka_conf_t *conf = rk->rd_kafka_conf_new();
    if (configure(rk, conf, settings) ||
        rk->rd_kafka_conf_set(conf, "log.queue", "true", error, sizeof error) != RD_KAFKA_CONF_OK) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, error);
        rk->rd_kafka_conf_destroy(conf);
        return -1;
    }
    callbacks_rk = rk;
    rk->rd_kafka_conf_set_opaque(conf, self->lines);
    rk->rd_kafka_conf_set_log_cb(conf, note_line);
    rk->rd_kafka_conf_set_error_cb(conf, note_error);
    Py_BEGIN_ALLOW_THREADS
    self->consumer = rk->rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
    Py_END_ALLOW_THREADS
    if (!self->consumer) {
        rk->rd_kafka_conf_destroy(conf); /* rd_kafka_new takes it over only when it succeeds */
        PyErr_SetString(PyExc_ValueError, error);
        return -1;
    }
    rk->rd_kafka_set_log_queue(self->consumer, NULL);
    rk->rd_kafka_poll_set_consumer(self->consumer);
    self->queue = rk->rd_kafka_queue_get_consumer(self->consumer);
    return 0;
}

static PyObject *class_of_columns(PyTypeObject *type) {
    PyObject *module = PyType_GetModule(type);
    return module ? PyObject_GetAttrString(module, "Columns") : NULL;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    const char *library, *topic, *why = "";
    PyObject *settings;
    Py_ssize_t messages_max;
    if (keywords && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Reader takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "sO!sn", &library, &PyList_Type, &settings, &topic, &messages_max)) return NULL;
    if (messages_max < 1 || messages_max > MESSAGES_MAX) {
        PyErr_Format(PyExc_ValueError, "from 1 to %d messages at once", MESSAGES_MAX);
        return NULL;
    }
    const rdkafka_t *rk = rdkafka_load(library, &why);
    if (!rk) {
        PyErr_SetString(PyExc_ImportError, why);
        return NULL;
    }
    Reader *self = PyObject_New(Reader, type);
    if (!self) return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    self->rk = rk;
    self->process = getpid();
    self->messages_max = (size_t)messages_max;
    self->messages = calloc(self->messages_max, sizeof *self->messages);
    self->lines = calloc(1, sizeof *self->lines);
    self->topic = strdup(topic);
    self->columns_class = class_of_columns(type);
    if (!self->messages || !self->lines || !self->topic)
        PyErr_NoMemory();
    else if (self->columns_class && !connect_consumer(self, settings))
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void stop(Reader *self, int leave) {
    const rdkafka_t *rk = self->rk;
    rd_kafka_t *consumer = self->consumer;
    rd_kafka_queue_t *queue = self->queue;
    self->consumer = NULL;
    self->queue = NULL;
    if (!consumer || self->process != getpid()) return;
    Py_BEGIN_ALLOW_THREADS
    if (leave) rk->rd_kafka_consumer_close(consumer);
    if (queue) rk->rd_kafka_queue_destroy(queue);
    rk->rd_kafka_destroy_flags(consumer, leave ? 0 : RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    Py_END_ALLOW_THREADS
}

static void reader_dealloc(Reader *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    int ours = self->process == getpid();
    stop(self, 0);
    free(self->messages);
    if (ours) free(self->lines); /* a client that could not be freed still points to them */
    free(self->topic);
    Py_CLEAR(self->columns_class);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *reader_close(Reader *self, PyObject *nothing) {
    (void)nothing;
    stop(self, 1);
    Py_RETURN_NONE;
}

static int closed(const Reader *self) {
    if (self->consumer) return 0;
    PyErr_SetString(PyExc_RuntimeError, "the reader is closed");
    return 1;
}

/* -- places ------------------------------------------------------------------------------- */

typedef rd_kafka_error_t *change_t(rd_kafka_t *, const rd_kafka_topic_partition_list_t *);

static rd_kafka_topic_partition_list_t *one_place(const Reader *self, int32_t partition, int64_t offset, int32_t epoch) {
    rd_kafka_topic_partition_list_t *places = self->rk->rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *place = self->rk->rd_kafka_topic_partition_list_add(places, self->topic, partition);
    place->offset = offset;
    if (epoch >= 0) self->rk->rd_kafka_topic_partition_set_leader_epoch(place, epoch);
    return places;
}

static PyObject *change_assignment(Reader *self, change_t *change, rd_kafka_topic_partition_list_t *places) {
    const rdkafka_t *rk = self->rk;
    rd_kafka_error_t *error;
    Py_BEGIN_ALLOW_THREADS
    error = change(self->consumer, places);
    rk->rd_kafka_topic_partition_list_destroy(places);
    Py_END_ALLOW_THREADS
    if (!error) Py_RETURN_NONE;
    PyErr_SetString(PyExc_RuntimeError, rk->rd_kafka_error_string(error));
    rk->rd_kafka_error_destroy(error);
    return NULL;
}

static PyObject *reader_assign(Reader *self, PyObject *args) {
    int partition, epoch;
    long long offset;
    if (!PyArg_ParseTuple(args, "iLi", &partition, &offset, &epoch) || closed(self)) return NULL;
    return change_assignment(self, self->rk->rd_kafka_incremental_assign, one_place(self, partition, offset, epoch));
}

static PyObject *reader_release(Reader *self, PyObject *args) {
    int partition;
    if (!PyArg_ParseTuple(args, "i", &partition) || closed(self)) return NULL;
    return change_assignment(self, self->rk->rd_kafka_incremental_unassign, one_place(self, partition, 0, -1));
}

static PyObject *reader_position(Reader *self, PyObject *args) {
    int partition;
    if (!PyArg_ParseTuple(args, "i", &partition) || closed(self)) return NULL;
    const rdkafka_t *rk = self->rk;
    rd_kafka_topic_partition_list_t *places = one_place(self, partition, 0, -1);
    int err = rk->rd_kafka_position(self->consumer, places);
    const rd_kafka_topic_partition_t *place = &places->elems[0];
    if (!err) err = place->err;
    long long offset = place->offset;
    int epoch = rk->rd_kafka_topic_partition_get_leader_epoch(place);
    rk->rd_kafka_topic_partition_list_destroy(places);
    if (!err) return Py_BuildValue("Li", offset, epoch);
    PyErr_SetString(PyExc_RuntimeError, rk->rd_kafka_err2str(err));
    return NULL;
}

/* -- reading ------------------------------------------------------------------------------ */

/* One message, then those that are queued: a batch alone would wait until it is full. */
static size_t fetch(Reader *self, int timeout_ms) {
    const rdkafka_t *rk = self->rk;
    rd_kafka_message_t **messages = self->messages;
    messages[0] = rk->rd_kafka_consumer_poll(self->consumer, timeout_ms);
    if (!messages[0]) return 0;
    if (self->messages_max == 1) return 1;
    ssize_t more = rk->rd_kafka_consume_batch_queue(self->queue, 0, messages + 1, self->messages_max - 1);
    return more > 0 ? 1 + (size_t)more : 1;
}

static PyObject *text_of(const char *text) {
    return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : PyUnicode_FromString("");
}

static int add_failed(const Reader *self, const rd_kafka_message_t *message, PyObject *failed) {
    PyObject *item = Py_BuildValue("iLiN", (int)message->partition, (long long)message->offset, message->err,
                                   text_of(self->rk->rd_kafka_message_errstr(message)));
    int bad = !item || PyList_Append(failed, item);
    Py_XDECREF(item);
    return bad;
}

static PyObject *failures(const Reader *self, size_t count) {
    PyObject *failed = PyList_New(0);
    for (size_t i = 0; failed && i < count; i++)
        if (self->messages[i] && self->messages[i]->err && add_failed(self, self->messages[i], failed)) Py_CLEAR(failed);
    return failed;
}

static PyObject *reader_poll(Reader *self, PyObject *args) {
    int timeout_ms, enough_memory = 1;
    size_t count;
    groups_t groups = {NULL, 0};
    if (!PyArg_ParseTuple(args, "i", &timeout_ms) || closed(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    count = fetch(self, timeout_ms);
    if (count) {
        enough_memory = groups_make(&groups, self->rk, self->messages, count);
        groups_free_plain(self->rk, self->messages, count);
    }
    Py_END_ALLOW_THREADS
    PyObject *batches = NULL, *failed = NULL, *said = NULL, *answer = NULL;
    if (!enough_memory)
        PyErr_NoMemory();
    else if ((batches = groups_wrap(&groups, self->rk, self->messages, count, self->columns_class)) &&
             (failed = failures(self, count)) && (said = lines_take(self->lines)))
        answer = PyTuple_Pack(3, batches, failed, said);
    for (size_t i = 0; i < count; i++)
        if (self->messages[i]) self->rk->rd_kafka_message_destroy(self->messages[i]);
    groups_free(&groups);
    Py_XDECREF(batches);
    Py_XDECREF(failed);
    Py_XDECREF(said);
    return answer;
}

static PyMethodDef methods[] = {
    {"assign", (PyCFunction)reader_assign, METH_VARARGS, "(partition, offset, leader_epoch): start reading there"},
    {"release", (PyCFunction)reader_release, METH_VARARGS, "(partition): stop reading it"},
    {"position", (PyCFunction)reader_position, METH_VARARGS, "(partition) -> offset, leader_epoch; negative: unknown"},
    {"poll", (PyCFunction)reader_poll, METH_VARARGS,
     "(timeout_ms) -> [Columns], [(partition, offset, code, text)], [(level, facility, text)]"},
    {"close", (PyCFunction)reader_close, METH_NOARGS, "Leave and free everything; a second call does nothing."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Reader(library, settings, topic, messages_max): reads partitions into columns."},
    {Py_tp_new, reader_new},
    {Py_tp_dealloc, reader_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"lastword._native.Reader", sizeof(Reader), 0, Py_TPFLAGS_DEFAULT, slots};

int reader_register(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "Reader", type);
    Py_DECREF(type);
    return failed;
}
