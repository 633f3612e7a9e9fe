#include "rdkafka.h"

#include <dlfcn.h>

static rdkafka_t functions;
static int loaded;

static int find(void *library, const char *name, void **function) { return (*function = dlsym(library, name)) != NULL; }

const rdkafka_t *rdkafka_load(const char *path, const char **why) {
    if (loaded) return &functions;
    /* Never closed: the process may have clients in it. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        *why = dlerror();
        return NULL;
    }
#define FIND(returned, name, arguments)                   \
    if (!find(library, #name, (void **)&functions.name)) { \
        *why = #name " is missing";                       \
        return NULL;                                      \
    }
    RD_KAFKA_FUNCTIONS(FIND)
#undef FIND
    if (functions.rd_kafka_version() < RD_KAFKA_VERSION_MIN) {
        *why = "librdkafka is older than 2.1";
        return NULL;
    }
    loaded = 1;
    return &functions;
}
