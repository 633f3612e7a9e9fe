/* Kafka's partitioner: murmur2 as org.apache.kafka.common.utils.Utils has it. */
#ifndef LASTWORD_MURMUR2_H
#define LASTWORD_MURMUR2_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t murmur2(const unsigned char *data, size_t length) {
    const uint32_t m = 0x5bd1e995;
    uint32_t h = 0x9747b28c ^ (uint32_t)length;
    for (; length >= 4; data += 4, length -= 4) {
        /* Byte by byte: a key may lie at any address, and compilers make one load of it. */
        uint32_t k = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
        k *= m;
        k ^= k >> 24;
        h = (h * m) ^ (k * m);
    }
    if (length == 3) h ^= (uint32_t)data[2] << 16;
    if (length >= 2) h ^= (uint32_t)data[1] << 8;
    if (length >= 1) h = (h ^ data[0]) * m;
    h = (h ^ (h >> 13)) * m;
    return h ^ (h >> 15);
}

/* The partition of a key, of which the last `suffix` bytes have no say if it is that long. */
static inline int32_t partition_of(const char *key, size_t length, size_t suffix, int32_t partitions) {
    if (length >= suffix) length -= suffix;
    return (int32_t)((murmur2((const unsigned char *)key, length) & 0x7fffffff) % (uint32_t)partitions);
}

#endif
