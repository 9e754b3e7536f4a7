/* A memory behind the interface of its opponents, by the public API alone. */
#include "baselines.h"

static bpcn_status write_rows(void *self, const float *x, size_t n)
{
    return bpcn_memory_write(self, x, NULL, n, NULL);
}

static bpcn_status read_rows(const void *self, const float *query, const unsigned char *known, size_t n, float *out)
{
    return bpcn_memory_read(self, query, known, n, NULL, out, NULL);
}

static size_t bytes(const void *self)
{
    bpcn_stats stats = {.size = sizeof stats};
    return bpcn_memory_get_stats(self, &stats) == BPCN_OK ? stats.bytes : 0;
}

static void free_self(void *self)
{
    bpcn_memory_free(self);
}

bpcn_model memory_model(bpcn_memory *memory)
{
    return (bpcn_model){memory, "bayespcn", write_rows, read_rows, bytes, free_self};
}
