/* The opponent that does nothing: how far a query is from its original to begin with. */
#include "baselines.h"

#include "error.h"

#include <stdlib.h>
#include <string.h>

struct identity {
    size_t dim;
};

static bpcn_status write_rows(void *self, const float *x, size_t n)
{
    (void)self;
    (void)x;
    (void)n;
    return BPCN_OK;
}

static bpcn_status read_rows(const void *self, const float *query, const unsigned char *known, size_t n, float *out)
{
    const struct identity *identity = self;
    (void)known;
    memmove(out, query, n * identity->dim * sizeof *out);
    return BPCN_OK;
}

static size_t bytes(const void *self)
{
    (void)self;
    return 0;
}

bpcn_status identity_create(size_t dim, bpcn_model *model)
{
    struct identity *self = calloc(1, sizeof *self);
    if (self == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    self->dim = dim;
    *model = (bpcn_model){self, "identity", write_rows, read_rows, bytes, free};
    return BPCN_OK;
}
