/* See shards_support.h. */
#include "shards_support.h"

#include <stdlib.h>
#include <string.h>

const size_t hidden[2] = {16, 12};

bpcn_options narrow(size_t shards, bpcn_when_full when_full)
{
    bpcn_options o = network(PICTURE, 2, hidden);
    o.sigma_x = 0.02;
    o.seed = 5;
    o.shards = shards;
    o.shard_rows = ROWS;
    o.when_full = when_full;
    return o;
}

bpcn_options shape(size_t i)
{
    bpcn_options o = narrow(MOST, BPCN_BLUR);
    o.precision = i == 1 || i == 3 ? BPCN_FLOAT64 : BPCN_FLOAT32;
    o.particles = i >= 2 ? 2 : 1;
    return o;
}

/* A memory of its own with the seed of shard k and its rows: x [ROWS x PICTURE]. */
bpcn_memory *alone(const bpcn_options *options, size_t k, const float *x)
{
    bpcn_options o = contents_shard_options(options, k);
    o.shards = 1;
    bpcn_memory *m = make_memory(o);
    assert_ok(bpcn_memory_write(m, x, NULL, ROWS, NULL));
    return m;
}

bpcn_stats stats_of(const bpcn_memory *m)
{
    bpcn_stats stats = {.size = sizeof stats};
    assert_ok(bpcn_memory_get_stats(m, &stats));
    return stats;
}

int same_layer(const bpcn_memory *a, size_t i, const bpcn_memory *b, size_t j, size_t particle, size_t l)
{
    const struct model *shape = a->contents.shard[0];
    size_t above = shape->width[l + 1], means = above * shape->width[l], all = means + above * above;
    double *p = room(2 * all, sizeof *p), *q = p + all;
    assert_ok(bpcn_memory_get_layer(a, i, particle, l, p, p + means));
    assert_ok(bpcn_memory_get_layer(b, j, particle, l, q, q + means));
    int same = memcmp(p, q, all * sizeof *p) == 0;
    free(p);
    return same;
}

int same_shard(const bpcn_memory *a, size_t i, const bpcn_memory *b, size_t j)
{
    const struct model *shape = a->contents.shard[0];
    size_t width = top_width(shape), particles = shape->options.particles;
    double *p = room(2 * (width + particles + 1), sizeof *p), *q = p + width + particles + 1;
    assert_ok(bpcn_memory_get_weights(a, i, p));
    assert_ok(bpcn_memory_get_weights(b, j, q));
    int same = memcmp(p, q, particles * sizeof *p) == 0;
    for (size_t k = 0; k < particles; k++) {
        assert_ok(bpcn_memory_get_top(a, i, k, p, p + width));
        assert_ok(bpcn_memory_get_top(b, j, k, q, q + width));
        same &= memcmp(p, q, (width + 1) * sizeof *p) == 0;
        for (size_t l = 0; l < shape->options.layers; l++)
            same &= same_layer(a, i, b, j, k, l);
    }
    free(p);
    return same;
}

struct answered answers_of(const bpcn_memory *m, const float *query, const unsigned char *known, size_t n,
                           const bpcn_read_options *options)
{
    struct answered r = {room(n * PICTURE, sizeof *r.out), room(n, sizeof *r.info)};
    assert_ok(bpcn_memory_read(m, query, known, n, options, r.out, r.info));
    return r;
}

void answered_free(struct answered r)
{
    free(r.out);
    free(r.info);
}
