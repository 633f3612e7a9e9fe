/* The part of librdkafka's C interface that restore.c calls.
 *
 * The confluent-kafka wheel ships librdkafka without its header. This interface has been stable
 * since 1.0, so the few declarations are repeated here, and the benchmark needs a C compiler and
 * nothing else; and C and Python run the very same library.
 */
#ifndef LIBRDKAFKA_H
#define LIBRDKAFKA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RD_KAFKA_CONSUMER 1
#define RD_KAFKA_CONF_OK 0

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;

typedef struct {
    int err;
    void *topic;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *internal;
} rd_kafka_message_t;

typedef struct {
    char *topic;
    int32_t partition;
    int64_t offset;
    void *metadata;
    size_t metadata_size;
    void *opaque;
    int err;
    void *internal;
} rd_kafka_topic_partition_t;

typedef struct rd_kafka_topic_partition_list_s rd_kafka_topic_partition_list_t;

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *name, const char *value, char *error, size_t);
rd_kafka_t *rd_kafka_new(int type, rd_kafka_conf_t *, char *error, size_t);
const char *rd_kafka_err2str(int err);
int rd_kafka_query_watermark_offsets(rd_kafka_t *, const char *topic, int32_t partition,
                                     int64_t *low, int64_t *high, int timeout_ms);
rd_kafka_topic_partition_list_t *rd_kafka_topic_partition_list_new(int size);
rd_kafka_topic_partition_t *rd_kafka_topic_partition_list_add(rd_kafka_topic_partition_list_t *,
                                                              const char *topic, int32_t partition);
void rd_kafka_topic_partition_list_destroy(rd_kafka_topic_partition_list_t *);
int rd_kafka_assign(rd_kafka_t *, const rd_kafka_topic_partition_list_t *);
rd_kafka_queue_t *rd_kafka_queue_get_consumer(rd_kafka_t *);
void rd_kafka_queue_destroy(rd_kafka_queue_t *);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int timeout_ms, rd_kafka_message_t **,
                                     size_t);
void rd_kafka_message_destroy(rd_kafka_message_t *);
int rd_kafka_consumer_close(rd_kafka_t *);
void rd_kafka_destroy(rd_kafka_t *);

#endif
