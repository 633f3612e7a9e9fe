/* The part of librdkafka's C interface that the reader calls, found at run time.
 *
 * The confluent-kafka wheel ships librdkafka without its header. What is declared here has been
 * stable since librdkafka 2.1, which leader epochs of messages need.
 */
#ifndef LASTWORD_RDKAFKA_H
#define LASTWORD_RDKAFKA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RD_KAFKA_CONSUMER 1
#define RD_KAFKA_CONF_OK 0
#define RD_KAFKA_VERSION_MIN 0x02010000
#define RD_KAFKA_RESP_ERR__FATAL (-150)
#define RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE 0x8

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_error_s rd_kafka_error_t;
typedef struct rd_kafka_headers_s rd_kafka_headers_t;

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

typedef struct {
    int cnt;
    int size;
    rd_kafka_topic_partition_t *elems;
} rd_kafka_topic_partition_list_t;

typedef void log_cb_t(const rd_kafka_t *, int level, const char *facility, const char *line);
typedef void error_cb_t(rd_kafka_t *, int err, const char *reason, void *opaque);

/* Every function by its name; X(what it returns, its name, its arguments). */
#define RD_KAFKA_FUNCTIONS(X)                                                                              \
    X(int, rd_kafka_version, (void))                                                                       \
    X(rd_kafka_conf_t *, rd_kafka_conf_new, (void))                                                        \
    X(void, rd_kafka_conf_destroy, (rd_kafka_conf_t *))                                                    \
    X(int, rd_kafka_conf_set, (rd_kafka_conf_t *, const char *, const char *, char *, size_t))             \
    X(void, rd_kafka_conf_set_opaque, (rd_kafka_conf_t *, void *))                                         \
    X(void, rd_kafka_conf_set_log_cb, (rd_kafka_conf_t *, log_cb_t *))                                     \
    X(void, rd_kafka_conf_set_error_cb, (rd_kafka_conf_t *, error_cb_t *))                                 \
    X(void *, rd_kafka_opaque, (const rd_kafka_t *))                                                       \
    X(const char *, rd_kafka_name, (const rd_kafka_t *))                                                   \
    X(rd_kafka_t *, rd_kafka_new, (int, rd_kafka_conf_t *, char *, size_t))                                \
    X(int, rd_kafka_poll_set_consumer, (rd_kafka_t *))                                                     \
    X(int, rd_kafka_set_log_queue, (rd_kafka_t *, rd_kafka_queue_t *))                                     \
    X(rd_kafka_queue_t *, rd_kafka_queue_get_consumer, (rd_kafka_t *))                                     \
    X(void, rd_kafka_queue_destroy, (rd_kafka_queue_t *))                                                  \
    X(rd_kafka_message_t *, rd_kafka_consumer_poll, (rd_kafka_t *, int))                                   \
    X(ssize_t, rd_kafka_consume_batch_queue, (rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t))     \
    X(void, rd_kafka_message_destroy, (rd_kafka_message_t *))                                              \
    X(int64_t, rd_kafka_message_timestamp, (const rd_kafka_message_t *, int *))                            \
    X(int32_t, rd_kafka_message_leader_epoch, (const rd_kafka_message_t *))                                \
    X(int, rd_kafka_message_headers, (const rd_kafka_message_t *, rd_kafka_headers_t **))                  \
    X(int, rd_kafka_header_get_all,                                                                        \
      (const rd_kafka_headers_t *, size_t, const char **, const void **, size_t *))                        \
    X(const char *, rd_kafka_message_errstr, (const rd_kafka_message_t *))                                 \
    X(const char *, rd_kafka_err2str, (int))                                                               \
    X(rd_kafka_topic_partition_list_t *, rd_kafka_topic_partition_list_new, (int))                         \
    X(rd_kafka_topic_partition_t *, rd_kafka_topic_partition_list_add,                                     \
      (rd_kafka_topic_partition_list_t *, const char *, int32_t))                                          \
    X(void, rd_kafka_topic_partition_list_destroy, (rd_kafka_topic_partition_list_t *))                    \
    X(void, rd_kafka_topic_partition_set_leader_epoch, (rd_kafka_topic_partition_t *, int32_t))            \
    X(int32_t, rd_kafka_topic_partition_get_leader_epoch, (const rd_kafka_topic_partition_t *))            \
    X(rd_kafka_error_t *, rd_kafka_incremental_assign,                                                     \
      (rd_kafka_t *, const rd_kafka_topic_partition_list_t *))                                             \
    X(rd_kafka_error_t *, rd_kafka_incremental_unassign,                                                   \
      (rd_kafka_t *, const rd_kafka_topic_partition_list_t *))                                             \
    X(int, rd_kafka_position, (rd_kafka_t *, rd_kafka_topic_partition_list_t *))                           \
    X(const char *, rd_kafka_error_string, (const rd_kafka_error_t *))                                     \
    X(void, rd_kafka_error_destroy, (rd_kafka_error_t *))                                                  \
    X(int, rd_kafka_consumer_close, (rd_kafka_t *))                                                        \
    X(void, rd_kafka_destroy, (rd_kafka_t *))                                                              \
    X(void, rd_kafka_destroy_flags, (rd_kafka_t *, int))

typedef struct {
#define DECLARE(returned, name, arguments) returned(*name) arguments;
    RD_KAFKA_FUNCTIONS(DECLARE)
#undef DECLARE
} rdkafka_t;

/* The functions, of the library that `path` is or is linked with; once, for the whole process.
 * NULL, and in *why what is missing, where there is no such library or it is too old. */
const rdkafka_t *rdkafka_load(const char *path, const char **why);

#endif
