/* Not in the paper: equal memory, and shards. */
#include "plan_tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a memory of that width, from one that is made for the purpose. */
static size_t bytes_of(size_t width, size_t dim)
{
    struct method m;
    struct failure unused;
    struct method_spec s = network_of(METHOD_BAYESPCN, width, 3);
    size_t bytes = 0;
    if (method_create(&s, dim, &m, &unused) == 0)
        bytes = method_bytes(&m);
    method_free(&m);
    return bytes;
}

/* The latest images within the bytes of a memory of that width, as they are and as octets. The budget is of whole
   images: when the library keeps a few bytes more, its cells are still the same. */
static void add_nearest(struct table *t, size_t width, size_t dim)
{
    size_t bytes = bytes_of(width, dim);
    for (int octets = 0; octets < 2; octets++) {
        struct method_spec nearest = network_of(METHOD_NEAREST, 1, 1);
        size_t image = dim * (octets ? 1 : sizeof(float));
        char label[64];
        nearest.store_bytes = octets;
        nearest.budget = (bytes > image ? bytes / image : 1) * image;
        snprintf(label, sizeof label, "nearest, %s, %.1f MB", octets ? "uint8" : "float32", (double)bytes / 1e6);
        add_row(t, label, nearest, "", "");
    }
}

int plan_equal_memory(struct plan *p, const char *dataset)
{
    static const size_t widths[][6] = {[TIER_QUICK] = {16, 32, 48}, [TIER_PAPER] = {32, 64, 128, 256, 512, 1024}};
    const struct sizes *z = &sizes_of[p->tier];
    size_t count = p->tier == TIER_PAPER ? 6 : 3, dim = strcmp(dataset, "tiny-imagenet") == 0 ? 12288 : 3072;
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "equal-memory", dataset, moderate_tasks[k], 1, &z->sequence);
        if (t == NULL)
            return -1;
        for (size_t w = 0; w < count; w++) {
            char label[64];
            snprintf(label, sizeof label, "bayespcn, width %zu", widths[p->tier][w]);
            add_row(t, label, network_of(METHOD_BAYESPCN, widths[p->tier][w], 3), "", "");
            add_nearest(t, widths[p->tier][w], dim);
        }
    }
    return 0;
}

/* ---- shards: not in the paper */

static struct method_spec sharded(size_t width, size_t shards, size_t rows)
{
    struct method_spec s = network_of(METHOD_BAYESPCN, width, 3);
    s.shards = shards;
    s.shard_rows = rows;
    return s;
}

/* One row a unit, two, four: networks of every width, as many as it takes for all images, down to a single one. */
static void add_shards(struct table *t, enum tier tier, size_t length)
{
    static const size_t widths[][8] = {[TIER_QUICK] = {8, 16, 32}, [TIER_PAPER] = {16, 32, 64, 128, 256, 512, 1024}};
    for (size_t load = 1; load <= 4; load *= 2)
        for (size_t w = 0; widths[tier][w] > 0 && widths[tier][w] * load <= length; w++) {
            size_t width = widths[tier][w], shards = length / (width * load);
            char label[64];
            snprintf(label, sizeof label, "%zu x %zux3, %zu row%s a unit", shards, width, load, load > 1 ? "s" : "");
            if (shards != 2 || width != 512) /* between the two widest nothing new is to be seen */
                add_row(t, label, sharded(width, shards, width * load), "", "");
        }
}

static int plan_shards_by_width(struct plan *p, const char *dataset)
{
    static const char *const tasks[] = {"white0.2", "drop0.25", "mask0.25", "drop0.75", "mask0.75"};
    const struct sizes *z = &sizes_of[p->tier];
    for (size_t k = 0; k < 5; k++) {
        struct table *t = add_table(p, "shards", dataset, tasks[k], 1, &z->sequence);
        if (t == NULL)
            return -1;
        t->queries = COMPARED_QUERIES;
        t->twice = 1;
        add_row(t, "nearest", network_of(METHOD_NEAREST, 1, 1), "", "");
        if (k < 3) /* as in recall; what little is left of an image wants a slower rate, and hours at this length */
            add_row(t, "mhn", network_of(METHOD_MHN, 1, 1), "", "");
        /* as many bytes as one network of the widest that is full four times over */
        add_nearest(t, z->sequence / 4, strcmp(dataset, "tiny-imagenet") == 0 ? 12288 : 3072);
        add_shards(t, p->tier, z->sequence);
    }
    return 0;
}

/* Every picture of a collection, once, and a search through all of them by matrix products. */
static int plan_shards_many(struct plan *p, const char *dataset)
{
    static const char *const tasks[] = {"mask0.5", "drop0.75", "white0.2"};
    size_t length = p->tier == TIER_PAPER ? 60000 : 60, width = p->tier == TIER_PAPER ? 64 : 8;
    size_t shards = (length + width - 1) / width;
    for (size_t k = 0; k < 3; k++) {
        struct method_spec nearest = network_of(METHOD_NEAREST, 1, 1);
        char label[64];
        struct table *t = add_table(p, "shards", dataset, tasks[k], 1, &length);
        if (t == NULL)
            return -1;
        t->queries = 512;
        t->twice = 1;
        nearest.products = 1;
        snprintf(label, sizeof label, "%zu x %zux3", shards, width);
        add_row(t, label, sharded(width, shards, width), "", "");
        add_row(t, "nearest, by matrix products", nearest, "", "");
    }
    return 0;
}

/* The discount of `bpcn write --forget auto`. */
static struct method_spec discounting(struct method_spec s)
{
    s.discount = 1;
    s.forget_every = 8;
    s.beta = 1 - pow(1 - 5 / (double)s.hidden[0], (double)s.forget_every);
    return s;
}

/* A stream through a window, and what of the latest is left: twice as many as the window holds. */
static int plan_shards_stream(struct plan *p, const char *dataset)
{
    size_t length = p->tier == TIER_PAPER ? 70000 : 70, width = p->tier == TIER_PAPER ? 64 : 8;
    size_t shards = p->tier == TIER_PAPER ? 32 : 3, wide = p->tier == TIER_PAPER ? 256 : 16, open = length % width;
    struct method_spec window = sharded(width, shards, width);
    char label[64];
    struct table *t = add_table(p, "shards", dataset, "mask0.5", 1, &length);
    if (t == NULL)
        return -1;
    t->kind = CELL_STREAM;
    t->latest = 2 * ((shards - 1) * width + (open > 0 ? open : width));
    snprintf(t->title, sizeof t->title, "%s, a stream, the right half from the left", dataset);
    window.when_full = BPCN_RECYCLE;
    snprintf(label, sizeof label, "%zu x %zux3, the oldest recycled", shards, width);
    add_row(t, label, window, "", "");
    snprintf(label, sizeof label, "1 x %zux3, discounted", wide);
    add_row(t, label, discounting(network_of(METHOD_BAYESPCN, wide, 3)), "", "");
    return 0;
}

int plan_shards(struct plan *p, const char *dataset)
{
    if (strcmp(dataset, "fashion-mnist") != 0)
        return plan_shards_by_width(p, dataset);
    return plan_shards_many(p, dataset) == 0 ? plan_shards_stream(p, dataset) : -1;
}
