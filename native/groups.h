/* Messages of one poll as columns, a batch for each partition. */
#ifndef LASTWORD_GROUPS_H
#define LASTWORD_GROUPS_H

#include "columns.h"
#include "rdkafka.h"

typedef struct {
    columns_t columns;
    columns_fill_t fill;
    int has_headers;
} group_t;

typedef struct {
    group_t *groups;
    size_t count;
} groups_t;

/* Copies the messages that are not errors; 0 when there is no memory. Needs no interpreter. */
int groups_make(groups_t *groups, const rdkafka_t *rk, rd_kafka_message_t **messages, size_t count);

/* Destroys the messages that are fully copied, and puts NULL in their places. */
void groups_free_plain(const rdkafka_t *rk, rd_kafka_message_t **messages, size_t count);

/* A list of Columns, in the order in which partitions first occur; takes the columns over. */
PyObject *groups_wrap(groups_t *groups, const rdkafka_t *rk, rd_kafka_message_t **messages, size_t count,
                      PyObject *columns_class);

void groups_free(groups_t *groups);

#endif
