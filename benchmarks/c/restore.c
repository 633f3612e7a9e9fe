/* Reads a topic to its end with plain librdkafka, at most into a hash table: the floor.
 *
 *   restore read|table TOPIC PARTITIONS KEYS_DRAWN SAMPLE_STEP name=value...
 *
 * The last arguments are librdkafka settings. Writes one line of JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "librdkafka.h"

#define BATCH 2000
#define STALL_MS 30000

typedef struct {
    uint64_t hash;
    char *row; /* key, then value */
    uint32_t key_len;
    uint32_t value_len;
} slot_t;

typedef struct {
    slot_t *slots;
    size_t capacity; /* a power of two */
    size_t count;
} table_t;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The most memory this process has held. */
static long peak_bytes(void) {
    char line[256];
    long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    if (!status) return 0;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kilobytes) == 1) break;
    fclose(status);
    return kilobytes * 1024;
}

static uint64_t fnv1a(const char *bytes, size_t length) {
    uint64_t hash = 14695981039346656037ULL;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211ULL;
    return hash;
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) fail("calloc", "out of memory");
    return memory;
}

/* The slot of the key, or the empty slot where it belongs. */
static slot_t *find(const table_t *table, uint64_t hash, const char *key, size_t key_len) {
    size_t i = hash & (table->capacity - 1);
    for (;; i = (i + 1) & (table->capacity - 1)) {
        slot_t *slot = &table->slots[i];
        if (!slot->row) return slot;
        if (slot->hash == hash && slot->key_len == key_len && !memcmp(slot->row, key, key_len))
            return slot;
    }
}

static void grow(table_t *table) {
    table_t larger = {allocate(table->capacity * 2, sizeof(slot_t)), table->capacity * 2, table->count};
    for (size_t i = 0; i < table->capacity; i++) {
        slot_t *slot = &table->slots[i];
        if (slot->row) *find(&larger, slot->hash, slot->row, slot->key_len) = *slot;
    }
    free(table->slots);
    *table = larger;
}

static void put(table_t *table, const rd_kafka_message_t *message) {
    if (table->count * 3 >= table->capacity * 2) grow(table);
    uint64_t hash = fnv1a(message->key, message->key_len);
    slot_t *slot = find(table, hash, message->key, message->key_len);
    if (!slot->row) table->count++;
    free(slot->row);
    slot->row = allocate(1, message->key_len + message->len);
    memcpy(slot->row, message->key, message->key_len);
    memcpy(slot->row + message->key_len, message->payload, message->len);
    slot->hash = hash;
    slot->key_len = (uint32_t)message->key_len;
    slot->value_len = (uint32_t)message->len;
}

static uint64_t sample_checksum(const table_t *table, int keys_drawn, int step) {
    uint64_t checksum = 0;
    char key[32];
    for (int id = 0; id < keys_drawn; id += step) {
        size_t key_len = (size_t)snprintf(key, sizeof key, "user-%07d", id);
        const slot_t *slot = find(table, fnv1a(key, key_len), key, key_len);
        if (slot->row) checksum ^= fnv1a(slot->row + slot->key_len, slot->value_len);
    }
    return checksum;
}

static rd_kafka_t *new_consumer(int count, char **settings) {
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (int i = 0; i < count; i++) {
        char *equals = strchr(settings[i], '=');
        if (!equals) fail(settings[i], "not name=value");
        *equals = '\0';
        if (rd_kafka_conf_set(conf, settings[i], equals + 1, error, sizeof error) != RD_KAFKA_CONF_OK)
            fail(settings[i], error);
    }
    rd_kafka_t *consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
    if (!consumer) fail("rd_kafka_new", error);
    return consumer;
}

/* Assigns every partition from its start; returns how many of them hold anything. */
static int assign_all(rd_kafka_t *consumer, const char *topic, int partitions, int64_t *ends) {
    rd_kafka_topic_partition_list_t *places = rd_kafka_topic_partition_list_new(partitions);
    int unfinished = 0;
    for (int p = 0; p < partitions; p++) {
        int64_t low;
        int err = rd_kafka_query_watermark_offsets(consumer, topic, p, &low, &ends[p], STALL_MS);
        if (err) fail("rd_kafka_query_watermark_offsets", rd_kafka_err2str(err));
        rd_kafka_topic_partition_list_add(places, topic, p)->offset = low;
        unfinished += low < ends[p];
    }
    int err = rd_kafka_assign(consumer, places);
    if (err) fail("rd_kafka_assign", rd_kafka_err2str(err));
    rd_kafka_topic_partition_list_destroy(places);
    return unfinished;
}

int main(int argc, char **argv) {
    if (argc < 7) fail(argv[0], "read|table TOPIC PARTITIONS KEYS_DRAWN SAMPLE_STEP name=value...");
    int into_table = !strcmp(argv[1], "table");
    int partitions = atoi(argv[3]);
    double started = seconds(CLOCK_MONOTONIC);
    rd_kafka_t *consumer = new_consumer(argc - 6, argv + 6);
    int64_t *ends = allocate((size_t)partitions, sizeof *ends);
    int unfinished = assign_all(consumer, argv[2], partitions, ends);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);
    table_t table = {allocate(1 << 16, sizeof(slot_t)), 1 << 16, 0};
    rd_kafka_message_t *messages[BATCH];
    uint64_t records = 0, bytes = 0;
    double heard = started;
    while (unfinished > 0) {
        ssize_t count = rd_kafka_consume_batch_queue(queue, 100, messages, BATCH);
        double now = seconds(CLOCK_MONOTONIC);
        if (count > 0) heard = now;
        if ((now - heard) * 1000 > STALL_MS) fail(argv[2], "nothing arrived for 30 s");
        for (ssize_t i = 0; i < count; i++) {
            rd_kafka_message_t *message = messages[i];
            if (message->err) fail("consume", rd_kafka_err2str(message->err));
            records++;
            bytes += message->key_len + message->len;
            if (into_table) put(&table, message);
            unfinished -= message->offset + 1 == ends[message->partition];
            rd_kafka_message_destroy(message);
        }
    }
    double ready = seconds(CLOCK_MONOTONIC);
    printf("{\"ready_s\": %.6f, \"ready_at\": %.6f, \"records\": %llu, \"bytes\": %llu, \"peak_rss_bytes\": %ld", ready - started,
           seconds(CLOCK_REALTIME), (unsigned long long)records, (unsigned long long)bytes, peak_bytes());
    if (into_table)
        printf(", \"keys\": %zu, \"checksum\": \"%016llx\"", table.count,
               (unsigned long long)sample_checksum(&table, atoi(argv[4]), atoi(argv[5])));
    printf("}\n");
    rd_kafka_queue_destroy(queue);
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
    return 0;
}
