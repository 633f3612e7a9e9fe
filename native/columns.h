/* A batch of records as columns, in memory of its own: nothing in it belongs to librdkafka. */
#ifndef LASTWORD_COLUMNS_H
#define LASTWORD_COLUMNS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#define IS_NULL (-1)

/* The header by which an owner marks its records, as lastword.records has it: it is in no row. */
#define REQUEST_HEADER "lastword-request"
#define REQUEST_BYTES 16

typedef struct {
    char there;
    char id[REQUEST_BYTES];
} request_t;

/* Keys and values lie one after the other in `data`: that of record i begins at starts[i]. */
typedef struct {
    int32_t partition;
    int32_t leader_epoch;
    size_t count;
    int64_t *offsets;
    int64_t *timestamps;
    int64_t *key_sizes;   /* IS_NULL for a null key */
    int64_t *value_sizes; /* IS_NULL for a tombstone */
    size_t *starts;
    request_t *requests; /* of records with that header and no other; NULL where there are none */
    char *data;
    size_t data_size;
} columns_t;

/* Room for so many records and bytes; 0 when there is no memory. Needs no interpreter. */
int columns_make(columns_t *columns, size_t count, size_t data_size);
void columns_free(columns_t *columns);

/* Append record i, whose bytes must fit. `key` and `value` are NULL for none. */
typedef struct {
    size_t next;
    size_t used;
} columns_fill_t;

void columns_add(columns_t *columns, columns_fill_t *fill, int64_t offset, int64_t timestamp, const void *key,
                 size_t key_size, const void *value, size_t value_size);

/* Note the request id, of REQUEST_BYTES, of record i; 0 when there is no memory. */
int columns_mark(columns_t *columns, size_t i, const void *request_id);

/* Register the type Columns, and wrap columns in an object that frees them.
 * `headers` and `unreadable` are lists; a reference to each is taken over, also on failure. */
int columns_register(PyObject *module);
PyObject *columns_wrap(PyObject *type, columns_t *columns, PyObject *headers, PyObject *unreadable);

#endif
