/* The bitmap index: see index.h. */
#include "index.h"

#include "alloc.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUP = 512,         /* items of a group */
    WORDS = GROUP / 64,  /* of a line */
    LEVELS = 4,
    FIRST_ROWS = 64,     /* rows that decide the thresholds */
    LEAST_DIM = 16,      /* entries of a row below which levels do not tell rows apart */
    MOST_ROWS = 16,      /* rows a unit of the first layer beyond which a shard's rows are too blurred to be found */
    QUERIES = 32,        /* queries that are asked together, group by group. More: a group is read less often */
    COUNTED = 256,       /* entries of a sum of distances. More: the right item comes earlier among noise, and later in time */
    COUNTED_AGAIN = 512, /* the same where the first does not stand out */
    NEAREST = 64,        /* items that are ranked by squares */
    RANKED = 16,         /* items whose order by squares is exact */
    NEARLY = 3,          /* levels that may differ */
    TELLING = 64,        /* known entries from which on equal levels are no accident, though the entries be noisy */
    SQUARES_TESTED = 64, /* entries between two tests whether a sum of squares is too large already */
    LEAST_PLANES = 6, MOST_PLANES = 16,
    HEAD_WORDS = 2       /* in a file: age, first_age */
};

/* Deviations from an entry's mean to the outer thresholds: four levels of a normal entry come equally often. */
static const double outer_threshold = 0.67;
/* The distance between thresholds, in units of the memory, of an entry that did not vary over the first rows. */
static const double least_deviation = 0.05;
/* Share of the first rows that have one value in an entry, from which on that value is a level of its own: the black of
   pictures, the zeros of counts. Smaller: more such levels, and fewer for the other values. */
static const double common_share = 0.25;
/* Values so close, as a share of an entry's range, are one value. */
static const double same_value = 1e-4;
/* The first item stands out if its squared distance is at most this share of that of the RANKED-th. Smaller: more queries
   are asked again by more entries. */
static const double stands_out = 0.5;
/* An item is ranked by squares if it is no more than so many deviations of the distance behind the first; a level that
   noise decides varies by about 1. Larger: more items ranked. */
static const double ranked_within = 6;

struct group {
    uint64_t *plane; /* [2 x dim] lines: the high bits of all entries, then the low ones */
    uint64_t alive[WORDS];
    double age; /* index.age when the latest item came */
};

struct index {
    size_t dim, shards, shard_rows;
    size_t room;          /* of groups */
    struct group **group; /* [room]: NULL where no item has come */
    size_t items;
    float *threshold;     /* [dim x 3] */
    float *middle;        /* [dim x 4]: mean of the first rows' values in each level */
    uint32_t *telling;    /* [dim]: entries, first those whose levels tell most items apart */
    uint32_t *varying;    /* [dim]: entries, first those that vary most, which noise drowns last */
    struct weighed_entry *scratch; /* [2 x dim] until the thresholds are decided */
    float *first;         /* [FIRST_ROWS x dim] until then; NULL afterwards */
    uint64_t first_item[FIRST_ROWS];
    size_t firsts;
    double first_age;     /* index.age when the latest of them came */
    float *row;           /* [dim]: of a change */
    double age;
    uint64_t *missing;    /* a bit for each shard with rows that are no items */
    size_t misses;
};

struct weighed_entry {
    double key;
    uint32_t entry;
};

int index_serves(const bpcn_options *o)
{
    size_t width = o->layers > 0 ? o->hidden[0] : 1;
    uint64_t items = (uint64_t)o->shards * o->shard_rows;
    return o->shards > 1 && o->dim >= LEAST_DIM && o->shard_rows / MOST_ROWS <= width &&
           items >= GROUP && items <= UINT32_MAX;
}

static size_t missing_words(const struct index *x)
{
    return (x->shards + 63) / 64;
}

struct index *index_create(size_t dim, size_t shards, size_t shard_rows)
{
    struct index *x = alloc_zeroed(1, sizeof *x);
    if (x == NULL)
        return NULL;
    *x = (struct index){.dim = dim, .shards = shards, .shard_rows = shard_rows};
    x->threshold = alloc_zeroed(dim, 3 * sizeof *x->threshold);
    x->middle = alloc_zeroed(dim, LEVELS * sizeof *x->middle);
    x->telling = alloc_zeroed(dim, sizeof *x->telling);
    x->varying = alloc_zeroed(dim, sizeof *x->varying);
    x->scratch = alloc_zeroed(2 * dim, sizeof *x->scratch);
    x->first = alloc_zeroed(FIRST_ROWS, dim * sizeof *x->first);
    x->row = alloc_zeroed(dim, sizeof *x->row);
    x->missing = alloc_zeroed(missing_words(x), sizeof *x->missing);
    if (x->threshold && x->middle && x->telling && x->varying && x->scratch && x->first && x->row && x->missing)
        return x;
    index_free(x);
    return NULL;
}

void index_free(struct index *x)
{
    if (x == NULL)
        return;
    for (size_t g = 0; g < x->room; g++)
        if (x->group[g] != NULL) {
            free(x->group[g]->plane);
            free(x->group[g]);
        }
    free(x->group);
    free(x->threshold);
    free(x->middle);
    free(x->telling);
    free(x->varying);
    free(x->scratch);
    free(x->first);
    free(x->row);
    free(x->missing);
    free(x);
}

static unsigned char level_of(const struct index *x, size_t j, float value)
{
    const float *t = x->threshold + 3 * j;
    return (unsigned char)((value > t[0]) + (value > t[1]) + (value > t[2]));
}

/* ---- the thresholds */

static int larger_key_first(const void *a, const void *b)
{
    const struct weighed_entry *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? 1 : -1) : (x->entry > y->entry) - (x->entry < y->entry);
}

static int smaller_first(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A number in (0, 1) for each entry, the same on every machine. */
static double scatter(uint32_t j)
{
    uint32_t h = j * 2654435761u + 12345u;
    h = (h ^ (h >> 15)) * 2246822519u;
    h = (h ^ (h >> 13)) * 3266489917u;
    return ((double)(h ^ (h >> 16)) + 0.5) / 4294967296.0;
}

struct entry_moments {
    double deviation, entropy; /* entropy: of the levels, in bits */
};

/* Halfway between the values before and after number i of n sorted ones. */
static double between(const float *value, size_t n, size_t i)
{
    return i == 0 || i >= n ? (double)value[i == 0 ? 0 : n - 1] : 0.5 * ((double)value[i - 1] + (double)value[i]);
}

/* Thresholds round a common value: it is a level of its own. `below` of the n sorted values are smaller, and those from
   `above` on larger. */
static void decide_round(float *t, const float *value, size_t n, size_t below, size_t above, double margin)
{
    double low = (double)value[below] - margin, high = (double)value[above - 1] + margin;
    size_t more = n - above;
    if (below == 0) {
        t[0] = (float)high;
        t[1] = (float)(more > 2 ? between(value, n, above + more / 3) : high + least_deviation);
        t[2] = (float)(more > 2 ? between(value, n, above + 2 * more / 3) : high + 2 * least_deviation);
    } else if (more == 0) {
        t[0] = (float)(below > 2 ? between(value, n, below / 3) : low - 2 * least_deviation);
        t[1] = (float)(below > 2 ? between(value, n, 2 * below / 3) : low - least_deviation);
        t[2] = (float)low;
    } else if (below > more) {
        t[0] = (float)between(value, n, below / 2);
        t[1] = (float)low;
        t[2] = (float)high;
    } else {
        t[0] = (float)low;
        t[1] = (float)high;
        t[2] = (float)between(value, n, above + more / 2);
    }
    for (size_t k = 1; k < 3; k++) /* of values that rounding makes equal */
        t[k] = t[k] > t[k - 1] ? t[k] : t[k - 1];
}

/* Sets the thresholds and middles of entry j by the first rows. */
static struct entry_moments decide_entry(struct index *x, size_t j)
{
    float value[FIRST_ROWS], *t = x->threshold + 3 * j;
    double mean = 0, square = 0, sum[LEVELS] = {0}, count[LEVELS] = {0}, n = FIRST_ROWS;
    for (size_t i = 0; i < FIRST_ROWS; i++) {
        value[i] = x->first[i * x->dim + j];
        mean += (double)value[i] / n;
    }
    for (size_t i = 0; i < FIRST_ROWS; i++)
        square += pow((double)value[i] - mean, 2) / n;
    qsort(value, FIRST_ROWS, sizeof *value, smaller_first);
    double range = (double)value[FIRST_ROWS - 1] - (double)value[0];
    double margin = same_value * (range > 0 ? range : 1 + fabs(mean));
    size_t below = 0, above = 0;
    for (size_t i = 0, end; i < FIRST_ROWS; i = end) {
        for (end = i + 1; end < FIRST_ROWS && (double)value[end] - (double)value[i] <= margin; end++)
            ;
        if (end - i > above - below) {
            below = i;
            above = end;
        }
    }
    struct entry_moments e = {.deviation = sqrt(square)};
    if ((double)(above - below) >= common_share * n) {
        decide_round(t, value, FIRST_ROWS, below, above, margin);
    } else {
        t[0] = (float)(mean - outer_threshold * e.deviation);
        t[1] = (float)mean;
        t[2] = (float)(mean + outer_threshold * e.deviation);
    }
    for (size_t i = 0; i < FIRST_ROWS; i++) {
        unsigned char level = level_of(x, j, value[i]);
        sum[level] += (double)value[i];
        count[level]++;
    }
    for (size_t k = 0; k < LEVELS; k++) {
        double empty = k == 0 ? (double)t[0] : k == 3 ? (double)t[2] : 0.5 * ((double)t[k - 1] + (double)t[k]);
        x->middle[LEVELS * j + k] = (float)(count[k] > 0 ? sum[k] / count[k] : empty);
        e.entropy -= count[k] > 0 ? count[k] / n * log2(count[k] / n) : 0;
    }
    return e;
}

/* The orders of entries are weighted draws without replacement, by the keys log(u) / weight in falling order (Efraimidis
   and Spirakis), so that neighbours, which mostly say the same, stand apart. */
static void decide(struct index *x)
{
    struct weighed_entry *telling = x->scratch, *varying = telling + x->dim;
    for (size_t j = 0; j < x->dim; j++) {
        struct entry_moments e = decide_entry(x, j);
        double key = log(scatter((uint32_t)j));
        telling[j] = (struct weighed_entry){key / (0.01 + pow(e.entropy, 3)), (uint32_t)j};
        varying[j] = (struct weighed_entry){key / (1e-12 + pow(e.deviation, 4)), (uint32_t)j};
    }
    qsort(telling, x->dim, sizeof *telling, larger_key_first);
    qsort(varying, x->dim, sizeof *varying, larger_key_first);
    for (size_t j = 0; j < x->dim; j++) {
        x->telling[j] = telling[j].entry;
        x->varying[j] = varying[j].entry;
    }
}

/* ---- items */

static int group_reserve(struct index *x, size_t number)
{
    if (number >= x->room) {
        size_t room = number + 1 > 2 * x->room ? number + 1 : 2 * x->room;
        struct group **grown = realloc(x->group, room * sizeof(struct group *));
        if (grown == NULL)
            return -1;
        memset(grown + x->room, 0, (room - x->room) * sizeof(struct group *));
        x->group = grown;
        x->room = room;
    }
    if (x->group[number] != NULL)
        return 0;
    struct group *g = alloc_zeroed(1, sizeof *g);
    if (g == NULL)
        return -1;
    g->plane = alloc_zeroed(2 * x->dim, WORDS * sizeof *g->plane);
    if (g->plane == NULL) {
        free(g);
        return -1;
    }
    x->group[number] = g;
    return 0;
}

static uint64_t item_of(const struct index *x, size_t shard, uint64_t place)
{
    return (uint64_t)shard * x->shard_rows + place % x->shard_rows;
}

bpcn_status index_reserve(struct index *x, size_t shard, uint64_t place, size_t n)
{
    int failed = 0;
    for (size_t i = 0; i < n && i < x->shard_rows; i++)
        failed |= group_reserve(x, (size_t)(item_of(x, shard, place + i) / GROUP)) != 0;
    for (size_t i = 0; x->first != NULL && i < x->firsts; i++)
        failed |= group_reserve(x, (size_t)(x->first_item[i] / GROUP)) != 0;
    return failed ? BPCN_NO_MEMORY : BPCN_OK;
}

void index_note_missing(struct index *x, size_t shard)
{
    x->misses += !index_misses(x, shard);
    x->missing[shard / 64] |= (uint64_t)1 << shard % 64;
}

int index_misses(const struct index *x, size_t shard)
{
    return shard < x->shards && (x->missing[shard / 64] >> shard % 64 & 1);
}

size_t index_missing(const struct index *x)
{
    return x->misses;
}

/* Where an item has its bits: of entry j in high[j x WORDS] and low[j x WORDS]. */
struct spot {
    struct group *group;
    uint64_t *high, *low, *alive, bit;
};

static struct spot spot_of(const struct index *x, uint64_t item)
{
    size_t at = (size_t)(item % GROUP);
    struct group *g = item / GROUP < x->room ? x->group[item / GROUP] : NULL;
    if (g == NULL)
        return (struct spot){.group = NULL};
    return (struct spot){g, g->plane + at / 64, g->plane + at / 64 + x->dim * WORDS, &g->alive[at / 64],
                         (uint64_t)1 << at % 64};
}

/* Nothing of the row stays. Returns whether there was one. */
static int drop(struct index *x, uint64_t item)
{
    struct spot s = spot_of(x, item);
    if (s.group == NULL || !(*s.alive & s.bit))
        return 0;
    for (size_t j = 0; j < x->dim; j++) {
        s.high[j * WORDS] &= ~s.bit;
        s.low[j * WORDS] &= ~s.bit;
    }
    *s.alive &= ~s.bit;
    x->items--;
    return 1;
}

static void insert(struct index *x, const float *row, uint64_t item)
{
    struct spot s = spot_of(x, item);
    for (size_t j = 0; j < x->dim; j++) {
        unsigned char level = level_of(x, j, row[j]);
        s.high[j * WORDS] |= level & 2 ? s.bit : 0;
        s.low[j * WORDS] |= level & 1 ? s.bit : 0;
    }
    *s.alive |= s.bit;
    s.group->age = x->age;
    x->items++;
}

static int drop_first(struct index *x, uint64_t item)
{
    size_t i = 0;
    while (i < x->firsts && x->first_item[i] != item)
        i++;
    if (i == x->firsts)
        return 0;
    x->firsts--;
    memmove(x->first + i * x->dim, x->first + (i + 1) * x->dim, (x->firsts - i) * x->dim * sizeof *x->first);
    memset(x->first + x->firsts * x->dim, 0, x->dim * sizeof *x->first);
    memmove(x->first_item + i, x->first_item + i + 1, (x->firsts - i) * sizeof *x->first_item);
    return 1;
}

static int drop_item(struct index *x, uint64_t item)
{
    return x->first != NULL ? drop_first(x, item) : drop(x, item);
}

static const float *as_floats(struct index *x, const void *row, size_t size)
{
    const double *wide = row;
    for (size_t j = 0; size == sizeof *wide && j < x->dim; j++)
        x->row[j] = (float)wide[j];
    return size == sizeof *wide ? x->row : row;
}

/* Number FIRST_ROWS has come: the thresholds are decided, and the rows become items. */
static void decide_and_insert(struct index *x)
{
    float *first = x->first;
    decide(x);
    x->first = NULL;
    for (size_t i = 0; i < x->firsts; i++)
        insert(x, first + i * x->dim, x->first_item[i]);
    x->firsts = 0;
    free(first);
    free(x->scratch);
    x->scratch = NULL;
}

void index_put(struct index *x, size_t shard, uint64_t place, const void *row, size_t size, const unsigned char *known)
{
    uint64_t item = item_of(x, shard, place);
    if (drop_item(x, item)) /* an overfull shard: the older row may still be recalled */
        index_note_missing(x, shard);
    if (known != NULL && memchr(known, 0, x->dim) != NULL) {
        index_note_missing(x, shard);
        return;
    }
    const float *values = as_floats(x, row, size);
    if (x->first == NULL) {
        insert(x, values, item);
        return;
    }
    memcpy(x->first + x->firsts * x->dim, values, x->dim * sizeof *values);
    x->first_item[x->firsts++] = item;
    x->first_age = x->age;
    if (x->firsts == FIRST_ROWS)
        decide_and_insert(x);
}

void index_drop_shard(struct index *x, size_t shard)
{
    uint64_t begin = item_of(x, shard, 0);
    for (uint64_t i = begin; i < begin + x->shard_rows; i++)
        drop_item(x, i);
    x->misses -= (size_t)index_misses(x, shard);
    x->missing[shard / 64] &= ~((uint64_t)1 << shard % 64);
}

static int has_levels(const struct index *x, uint64_t item, const float *row)
{
    struct spot s = spot_of(x, item);
    if (s.group == NULL || !(*s.alive & s.bit))
        return 0;
    for (size_t j = 0; j < x->dim; j++)
        if (((s.high[j * WORDS] & s.bit) != 0) * 2 + ((s.low[j * WORDS] & s.bit) != 0) != level_of(x, j, row[j]))
            return 0;
    return 1;
}

int index_drop_row(struct index *x, size_t shard, const void *row, size_t size)
{
    const float *values = as_floats(x, row, size);
    uint64_t begin = item_of(x, shard, 0);
    for (size_t i = x->firsts; i-- > 0;)
        if (x->first_item[i] / x->shard_rows == shard &&
            memcmp(x->first + i * x->dim, values, x->dim * sizeof *values) == 0)
            return drop_first(x, x->first_item[i]);
    for (uint64_t i = begin + x->shard_rows; x->first == NULL && i-- > begin;)
        if (has_levels(x, i, values))
            return drop(x, i);
    return 0;
}

int index_get_row(const struct index *x, size_t shard, uint64_t place, float *row)
{
    struct spot s = spot_of(x, item_of(x, shard, place));
    if (s.group == NULL || !(*s.alive & s.bit))
        return 0;
    for (size_t j = 0; j < x->dim; j++) {
        size_t level = (size_t)((s.high[j * WORDS] & s.bit) != 0) * 2 + ((s.low[j * WORDS] & s.bit) != 0);
        row[j] = x->middle[LEVELS * j + level];
    }
    return 1;
}

void index_age(struct index *x, double by)
{
    x->age += by;
    for (size_t i = 0; i < x->room; i++) {
        struct group *g = x->group[i];
        if (g == NULL || x->age - g->age < 1)
            continue;
        for (size_t w = 0; w < WORDS; w++)
            x->items -= (size_t)__builtin_popcountll(g->alive[w]);
        memset(g->alive, 0, sizeof g->alive);
        memset(g->plane, 0, 2 * x->dim * WORDS * sizeof *g->plane);
    }
    if (x->first != NULL && x->age - x->first_age >= 1) {
        memset(x->first, 0, FIRST_ROWS * x->dim * sizeof *x->first);
        x->firsts = 0;
    }
}

int index_ready(const struct index *x)
{
    return x->first == NULL;
}

size_t index_items(const struct index *x)
{
    return x->items + x->firsts;
}

size_t index_bytes(const struct index *x)
{
    size_t bytes = sizeof *x + x->dim * 10 * sizeof(float) + missing_words(x) * 8 + x->room * sizeof(struct group *);
    for (size_t i = 0; i < x->room; i++)
        bytes += x->group[i] != NULL ? sizeof(struct group) + 2 * x->dim * WORDS * 8 : 0;
    if (x->first != NULL)
        bytes += FIRST_ROWS * x->dim * sizeof *x->first + 2 * x->dim * sizeof *x->scratch;
    return bytes;
}

/* ---- queries */

/* A query as the kernels want it. */
struct asked {
    struct index_query *query;
    size_t known, room; /* entries; hits that there is room for */
    uint32_t *line;     /* [dim]: where the line of each known entry begins */
    unsigned char *level;
    /* of a search for the nearest: */
    size_t of[LEVELS], planes;
    uint32_t limit;
};

/* The first `most` known entries in an order: where the line of each begins, and the query's level there. */
static size_t ask(const struct index *x, const uint32_t *order, const struct index_query *q, size_t most, int by_middle,
                  uint32_t *line, unsigned char *level)
{
    size_t n = 0;
    for (size_t i = 0; i < x->dim && n < most; i++) {
        uint32_t j = order[i];
        if (q->known != NULL && !q->known[j])
            continue;
        line[n] = j * WORDS;
        level[n] = level_of(x, j, q->row[j]);
        for (unsigned char k = 0; by_middle && k < LEVELS; k++) /* noise moves a common value off its own level */
            if (fabsf(q->row[j] - x->middle[LEVELS * j + k]) < fabsf(q->row[j] - x->middle[LEVELS * j + level[n]]))
                level[n] = k;
        n++;
    }
    return n;
}

static int add_hit(struct asked *a, struct index_hit hit)
{
    struct index_query *q = a->query;
    if (q->found == a->room) {
        size_t room = a->room > 0 ? 2 * a->room : 8;
        struct index_hit *grown = realloc(q->hits, room * sizeof *grown);
        if (grown == NULL)
            return -1;
        q->hits = grown;
        a->room = room;
    }
    q->hits[q->found++] = hit;
    return 0;
}

static struct index_hit hit_of(const struct index *x, uint64_t item)
{
    return (struct index_hit){(size_t)(item / x->shard_rows), (size_t)(item % x->shard_rows), 0, 0};
}

static bpcn_status match(const struct index *x, size_t n, struct asked *asked, int mismatches)
{
    const struct kernels *k = kernels_chosen();
    int failed = 0;
    for (size_t i = 0; i < x->room; i++)
        for (size_t at = 0; x->group[i] != NULL && at < n; at++) {
            const struct group *g = x->group[i];
            struct asked *a = &asked[at];
            _Alignas(LINE_BYTES) uint64_t alive[WORDS];
            memcpy(alive, g->alive, sizeof alive);
            (mismatches > 0 ? k->bits_near : k->bits_match)(a->known, a->line, a->level, g->plane, x->dim * WORDS, alive);
            for (size_t w = 0; w < WORDS; w++)
                for (uint64_t bits = alive[w]; bits != 0; bits &= bits - 1)
                    failed |= add_hit(a, hit_of(x, i * GROUP + w * 64 + (size_t)__builtin_ctzll(bits))) != 0;
        }
    return failed ? BPCN_NO_MEMORY : BPCN_OK;
}

/* ---- by distance */

static size_t planes_for(size_t entries)
{
    size_t planes = LEAST_PLANES;
    while (planes < MOST_PLANES && ((size_t)1 << planes) <= 3 * entries)
        planes++;
    return planes;
}

/* Which items of a group count less than `limit`. */
static void count_below(size_t planes, const uint64_t *count, uint32_t limit, const uint64_t *alive, uint64_t *below)
{
    for (size_t w = 0; w < WORDS; w++) {
        uint64_t less = 0, equal = ~(uint64_t)0;
        for (size_t k = planes; k-- > 0;) {
            uint64_t bit = limit >> k & 1 ? ~(uint64_t)0 : 0, c = count[k * WORDS + w];
            less |= equal & bit & ~c;
            equal &= ~(bit ^ c);
        }
        below[w] = less & alive[w];
    }
}

static uint32_t count_at(size_t planes, const uint64_t *count, size_t at)
{
    uint32_t sum = 0;
    for (size_t k = 0; k < planes; k++)
        sum |= (uint32_t)(count[k * WORDS + at / 64] >> at % 64 & 1) << k;
    return sum;
}

/* hits [NEAREST] stay in rising order of distance; of equals the earlier comes first. */
static size_t keep(struct index_hit hit, size_t n, struct index_hit *hits)
{
    size_t at = n < NEAREST ? n : NEAREST - 1;
    if (n == NEAREST && hits[NEAREST - 1].distance <= hit.distance)
        return n;
    for (; at > 0 && hits[at - 1].distance > hit.distance; at--)
        hits[at] = hits[at - 1];
    hits[at] = hit;
    return n < NEAREST ? n + 1 : n;
}

/* For each known entry of a query its squared distance to the middle of each level. */
struct level_squares {
    size_t n;
    uint32_t *line; /* [dim] */
    float *square;  /* [dim x 4] */
};

static void level_squares_fill(const struct index *x, const struct index_query *q, struct level_squares *s)
{
    s->n = 0;
    for (size_t i = 0; i < x->dim; i++) {
        uint32_t j = x->varying[i];
        if (q->known != NULL && !q->known[j])
            continue;
        for (size_t k = 0; k < LEVELS; k++) {
            float d = q->row[j] - x->middle[LEVELS * j + k];
            s->square[LEVELS * s->n + k] = d * d;
        }
        s->line[s->n++] = j * WORDS;
    }
}

/* An item's sum of squares, or some number above `limit` if it is above. */
static float square_of(const struct index *x, const struct level_squares *s, const struct index_hit *hit, float limit)
{
    struct spot spot = spot_of(x, item_of(x, hit->shard, hit->place));
    float sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        size_t level =
            ((spot.high[s->line[i]] & spot.bit) != 0) * (size_t)2 + ((spot.low[s->line[i]] & spot.bit) != 0);
        sum += s->square[LEVELS * i + level];
        if (i % SQUARES_TESTED == SQUARES_TESTED - 1 && sum > limit)
            break;
    }
    return sum;
}

static int smaller_square_first(const void *a, const void *b)
{
    const struct index_hit *x = a, *y = b;
    if (x->square != y->square)
        return x->square < y->square ? -1 : 1;
    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Puts the hits into the order of their squares; the first RANKED squares are whole. */
static void rank(const struct index *x, struct index_query *q, struct level_squares *s)
{
    float limit[RANKED];
    level_squares_fill(x, q, s);
    for (size_t r = 0; r < RANKED; r++)
        limit[r] = INFINITY;
    for (size_t i = 0; i < q->found; i++) {
        float square = q->hits[i].square = square_of(x, s, &q->hits[i], limit[RANKED - 1]);
        size_t r = RANKED;
        for (; r > 0 && square < limit[r - 1]; r--)
            if (r < RANKED)
                limit[r] = limit[r - 1];
        if (r < RANKED)
            limit[r] = square;
    }
    if (q->found > 0)
        qsort(q->hits, q->found, sizeof *q->hits, smaller_square_first);
}

/* The entries that are counted, sorted by the query's level, and room for the hits. */
static int ask_nearest(const struct index *x, size_t entries, struct asked *a)
{
    uint32_t line[COUNTED_AGAIN];
    unsigned char level[COUNTED_AGAIN];
    size_t to = 0;
    a->known = ask(x, x->varying, a->query, entries, 1, line, level);
    a->query->found = 0;
    a->planes = planes_for(a->known);
    a->limit = ((uint32_t)1 << a->planes) - 1;
    for (size_t l = 0; l < LEVELS; l++) {
        size_t from = to;
        for (size_t i = 0; i < a->known; i++)
            if (level[i] == l)
                a->line[to++] = line[i];
        a->of[l] = to - from;
    }
    free(a->query->hits);
    a->query->hits = alloc_zeroed(NEAREST, sizeof *a->query->hits);
    return a->query->hits != NULL ? 0 : -1;
}

static void count_group(const struct index *x, size_t number, struct asked *a)
{
    const struct group *g = x->group[number];
    struct index_query *q = a->query;
    _Alignas(LINE_BYTES) uint64_t count[MOST_PLANES * WORDS];
    uint64_t below[WORDS];
    kernels_chosen()->bits_distance(a->of, a->line, g->plane, x->dim * WORDS, a->planes, count);
    count_below(a->planes, count, a->limit, g->alive, below);
    for (size_t w = 0; w < WORDS; w++)
        for (uint64_t bits = below[w]; bits != 0; bits &= bits - 1) {
            size_t at = w * 64 + (size_t)__builtin_ctzll(bits);
            struct index_hit hit = hit_of(x, number * GROUP + at);
            hit.distance = count_at(a->planes, count, at);
            q->found = keep(hit, q->found, q->hits);
            a->limit = q->found == NEAREST ? q->hits[NEAREST - 1].distance : a->limit;
        }
}

static bpcn_status nearest(const struct index *x, size_t n, struct asked *asked, size_t entries)
{
    int failed = 0;
    for (size_t at = 0; at < n; at++)
        failed |= ask_nearest(x, entries, &asked[at]) != 0;
    for (size_t i = 0; !failed && i < x->room; i++)
        for (size_t at = 0; x->group[i] != NULL && at < n; at++)
            count_group(x, i, &asked[at]);
    for (size_t at = 0; !failed && at < n; at++) {
        struct index_query *q = asked[at].query;
        double within = ranked_within * sqrt((double)asked[at].known);
        while (!q->ranked && q->found > 0 && q->hits[q->found - 1].distance > q->hits[0].distance + within)
            q->found--;
    }
    return failed ? BPCN_NO_MEMORY : BPCN_OK;
}

/* ---- all three */

/* Those of n queries that have found nothing yet, and may be asked so, to the front; returns how many. */
static size_t unanswered(size_t n, struct asked *asked, enum index_how how)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        struct asked a = asked[i];
        int telling = a.known >= TELLING;
        if (a.query->found > 0 || (how == INDEX_EQUAL && a.query->noisy && !telling) ||
            (how == INDEX_NEARLY && !telling) || (how != INDEX_NEAREST && a.query->ranked))
            continue;
        a.query->how = how;
        asked[i] = asked[left];
        asked[left++] = a;
    }
    return left;
}

static int first_stands_out(const struct index_query *q)
{
    size_t last = q->found < RANKED ? q->found : RANKED;
    return last < 2 || (double)q->hits[0].square <= stands_out * (double)q->hits[last - 1].square;
}

static bpcn_status find_together(const struct index *x, size_t n, struct asked *asked, struct level_squares *s)
{
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; i < n; i++)
        asked[i].known = ask(x, x->telling, asked[i].query, x->dim, 0, asked[i].line, asked[i].level);
    size_t left = unanswered(n, asked, INDEX_EQUAL);
    status = match(x, left, asked, 0);
    left = unanswered(n, asked, INDEX_NEARLY);
    if (status == BPCN_OK)
        status = match(x, left, asked, NEARLY);
    left = unanswered(n, asked, INDEX_NEAREST);
    if (status == BPCN_OK)
        status = nearest(x, left, asked, COUNTED);
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        if (asked[i].query->how != INDEX_EQUAL)
            rank(x, asked[i].query, s);
    size_t again = 0;
    for (size_t i = 0; status == BPCN_OK && i < left; i++)
        if (asked[i].known == COUNTED && !first_stands_out(asked[i].query)) {
            struct asked a = asked[i];
            asked[i] = asked[again];
            asked[again++] = a;
        }
    if (status == BPCN_OK && again > 0)
        status = nearest(x, again, asked, COUNTED_AGAIN);
    for (size_t i = 0; status == BPCN_OK && i < again; i++)
        rank(x, asked[i].query, s);
    return status;
}

bpcn_status index_find(const struct index *x, size_t n, struct index_query *query)
{
    size_t together = n < QUERIES ? n : QUERIES;
    struct asked asked[QUERIES] = {{.query = NULL}};
    struct level_squares squares = {.n = 0};
    uint32_t *line = alloc_uncleared((together + 1) * x->dim, sizeof *line);
    unsigned char *level = alloc_uncleared(together * x->dim, sizeof *level);
    squares.square = alloc_uncleared(LEVELS * x->dim, sizeof *squares.square);
    bpcn_status status = line && level && squares.square ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        query[i].hits = NULL;
        query[i].found = 0;
    }
    for (size_t first = 0; status == BPCN_OK && first < n; first += together) {
        size_t count = n - first < together ? n - first : together;
        for (size_t i = 0; i < count; i++)
            asked[i] = (struct asked){
                .query = &query[first + i], .line = line + i * x->dim, .level = level + i * x->dim};
        squares.line = line + together * x->dim;
        status = find_together(x, count, asked, &squares);
    }
    free(line);
    free(level);
    free(squares.square);
    return status;
}

/* ---- in a file */

enum index_form index_form(const struct index *x)
{
    if (x == NULL || (x->first != NULL && x->firsts == 0 && x->misses == 0))
        return INDEX_NONE;
    return x->first != NULL ? INDEX_UNDECIDED : INDEX_DECIDED;
}

size_t index_count(const struct index *x)
{
    size_t groups = x != NULL ? x->room : 0;
    while (groups > 0 && x->group[groups - 1] == NULL)
        groups--;
    return index_form(x) == INDEX_DECIDED ? groups : index_form(x) == INDEX_UNDECIDED ? x->firsts : 0;
}

size_t index_most_count(enum index_form form, size_t shards, size_t shard_rows)
{
    return form == INDEX_NONE ? 0 : form == INDEX_UNDECIDED ? FIRST_ROWS - 1 : (shards * shard_rows + GROUP - 1) / GROUP;
}

/* Words before those of rows or groups: head, missing shards, and what is known of entries, two numbers a word. */
static size_t words_of_entries(enum index_form form, size_t dim)
{
    return form == INDEX_DECIDED ? (9 * dim + 1) / 2 : 0;
}

static size_t words_of_each(enum index_form form, size_t dim)
{
    return form == INDEX_DECIDED ? 1 + WORDS + 2 * dim * WORDS : 1 + (dim + 1) / 2;
}

uint64_t index_file_bytes(enum index_form form, size_t count, size_t dim, size_t shards)
{
    if (form == INDEX_NONE)
        return 0;
    return 8 * (HEAD_WORDS + (uint64_t)(shards + 63) / 64 + words_of_entries(form, dim) +
                (uint64_t)count * words_of_each(form, dim));
}

int index_announce(struct index *x, enum index_form form, size_t count)
{
    int failed = 0;
    if (form == INDEX_UNDECIDED)
        x->firsts = count;
    if (form != INDEX_DECIDED)
        return 0;
    free(x->first);
    free(x->scratch);
    x->first = NULL;
    x->scratch = NULL;
    for (size_t i = 0; i < count && !failed; i++)
        failed = group_reserve(x, i) != 0;
    return failed ? -1 : 0;
}

/* Number i of what is known of entries, as 32 bits. */
static void *number_of_entries(const struct index *x, size_t i)
{
    size_t d = x->dim;
    return i < 3 * d ? (void *)&x->threshold[i] : i < 7 * d ? (void *)&x->middle[i - 3 * d]
           : i < 8 * d ? (void *)&x->telling[i - 7 * d] : i < 9 * d ? (void *)&x->varying[i - 8 * d] : NULL;
}

/* The two 32-bit numbers, NULL for none, or the one 64-bit number of word w. */
static void numbers_of(const struct index *x, size_t w, void *half[2], void **whole)
{
    enum index_form form = x->first != NULL ? INDEX_UNDECIDED : INDEX_DECIDED;
    size_t missing = missing_words(x), entries = words_of_entries(form, x->dim), each = words_of_each(form, x->dim);
    half[0] = half[1] = *whole = NULL;
    if (w < HEAD_WORDS) {
        *whole = (void *)(uintptr_t)(w == 0 ? &x->age : &x->first_age);
    } else if ((w -= HEAD_WORDS) < missing) {
        *whole = &x->missing[w];
    } else if ((w -= missing) < entries) {
        half[0] = number_of_entries(x, 2 * w);
        half[1] = number_of_entries(x, 2 * w + 1);
    } else {
        w -= entries;
        size_t number = w / each, at = w % each;
        if (form == INDEX_UNDECIDED && at == 0) {
            *whole = (void *)(uintptr_t)&x->first_item[number];
        } else if (form == INDEX_UNDECIDED) {
            half[0] = &x->first[number * x->dim + 2 * (at - 1)];
            half[1] = 2 * (at - 1) + 1 < x->dim ? (float *)half[0] + 1 : NULL;
        } else if (x->group[number] != NULL) {
            struct group *g = x->group[number];
            *whole = at == 0 ? (void *)&g->age : at <= WORDS ? &g->alive[at - 1] : &g->plane[at - 1 - WORDS];
        }
    }
}

void index_encode(const struct index *x, uint64_t first, size_t n, unsigned char *out)
{
    for (size_t w = (size_t)(first / 8); w < (size_t)(first + n) / 8; w++) {
        void *half[2], *whole;
        uint64_t word = 0;
        uint32_t part[2] = {0, 0};
        numbers_of(x, w, half, &whole);
        for (size_t i = 0; i < 2; i++)
            if (half[i] != NULL)
                memcpy(&part[i], half[i], 4);
        word = part[0] | (uint64_t)part[1] << 32;
        if (whole != NULL)
            memcpy(&word, whole, 8);
        for (int b = 0; b < 8; b++)
            *out++ = (unsigned char)(word >> 8 * b);
    }
}

void index_decode(struct index *x, uint64_t first, size_t n, const unsigned char *in)
{
    for (size_t w = (size_t)(first / 8); w < (size_t)(first + n) / 8; w++) {
        void *half[2], *whole;
        uint64_t word = 0;
        numbers_of(x, w, half, &whole);
        for (int b = 0; b < 8; b++)
            word |= (uint64_t)*in++ << 8 * b;
        uint32_t part[2] = {(uint32_t)word, (uint32_t)(word >> 32)};
        for (size_t i = 0; i < 2; i++)
            if (half[i] != NULL)
                memcpy(half[i], &part[i], 4);
        if (whole != NULL)
            memcpy(whole, &word, 8);
    }
}

static const char *check_entries(const struct index *x)
{
    for (size_t j = 0; j < 7 * x->dim; j++)
        if (!isfinite(j < 3 * x->dim ? x->threshold[j] : x->middle[j - 3 * x->dim]))
            return "a threshold is not finite";
    for (size_t j = 0; j < x->dim; j++)
        if (x->telling[j] >= x->dim || x->varying[j] >= x->dim)
            return "its order of entries is none";
    return NULL;
}

const char *index_check(struct index *x)
{
    uint64_t most = (uint64_t)x->shards * x->shard_rows;
    if (!(x->age >= 0 && x->age < INFINITY && x->first_age >= 0 && x->first_age <= x->age))
        return "its age is no number";
    x->items = x->misses = 0;
    for (size_t k = 0; k < missing_words(x) * 64; k++)
        if (x->missing[k / 64] >> k % 64 & 1) {
            x->misses++;
            if (k >= x->shards)
                return "it misses rows of a shard that is none";
        }
    for (size_t i = 0; i < x->firsts; i++) {
        if (x->first_item[i] >= most)
            return "an item is of no shard";
        for (size_t j = 0; j < x->dim; j++)
            if (!isfinite(x->first[i * x->dim + j]))
                return "an entry of a first row is not finite";
    }
    for (size_t i = 0; i < x->room; i++)
        for (size_t w = 0; x->group[i] != NULL && w < WORDS; w++) {
            uint64_t alive = x->group[i]->alive[w], begin = i * GROUP + w * 64, held = most > begin ? most - begin : 0;
            if (held < 64 && alive >> held != 0)
                return "an item is of no shard";
            if (!(x->group[i]->age >= 0 && x->group[i]->age <= x->age))
                return "the age of its items is no number";
            x->items += (size_t)__builtin_popcountll(alive);
        }
    return x->first == NULL ? check_entries(x) : NULL;
}
