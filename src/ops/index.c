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
    FIRST_ROWS = 64,     /* rows that decide the thresholds */
    MATCHED = 160,       /* entries of an AND, at most. More: fewer items that only seem to agree */
    COUNTED = 256,       /* entries of a sum of distances. More: the right item comes earlier among noise, and later in time */
    RANKED = 16,         /* items whose order by squares is exact */
    SQUARES_TESTED = 64, /* entries between two tests whether a sum of squares is too large already */
    LEAST_PLANES = 6, MOST_PLANES = 16
};

/* Deviations from an entry's mean to the outer thresholds: four levels of a normal entry come equally often. */
static const double outer_threshold = 0.67;
/* The deviation, in units of the memory, of an entry that did not vary over the first rows. */
static const double least_deviation = 0.05;
/* Means of a normal entry's levels, in deviations. */
static const float middle_of_level[4] = {-1.27f, -0.33f, 0.33f, 1.27f};
/* An item is ranked by squares if it is no more than so many deviations of the distance behind the first; a level that
   noise decides varies by about 1. Larger: more items ranked. */
static const double ranked_within = 6;
/* The share of a row's own content at which it leaves the index. */
static const double faded_away = 0.01;

struct group {
    uint64_t *plane; /* [2 x dim] lines: the high bits of all entries, then the low ones */
    uint64_t alive[WORDS];
    uint32_t shard[GROUP];
    double faded; /* index.faded when the latest item came */
};

struct index {
    size_t dim, items, dead, groups, room; /* items: with those that were dropped */
    struct group **group;
    float *threshold;  /* [dim x 3] */
    uint32_t *telling; /* [dim]: entries, first those whose levels tell most items apart */
    uint32_t *varying; /* [dim]: entries, first those that vary most, which noise drowns last */
    float *first;      /* [FIRST_ROWS x dim] until the thresholds are decided; then NULL */
    uint32_t first_shard[FIRST_ROWS];
    double faded;      /* -log of what is left of a row that was there from the start */
    uint64_t *missing; /* a bit for each shard with rows that are not in the index */
    size_t missing_words;
};

struct index *index_create(size_t dim)
{
    struct index *x = alloc_zeroed(1, sizeof *x);
    if (x == NULL)
        return NULL;
    x->dim = dim;
    x->threshold = alloc_zeroed(dim, 3 * sizeof *x->threshold);
    x->telling = alloc_zeroed(dim, sizeof *x->telling);
    x->varying = alloc_zeroed(dim, sizeof *x->varying);
    x->first = alloc_zeroed(FIRST_ROWS, dim * sizeof *x->first);
    if (x->threshold && x->telling && x->varying && x->first)
        return x;
    index_free(x);
    return NULL;
}

void index_free(struct index *x)
{
    if (x == NULL)
        return;
    for (size_t g = 0; g < x->groups; g++) {
        free(x->group[g]->plane);
        free(x->group[g]);
    }
    free(x->group);
    free(x->threshold);
    free(x->telling);
    free(x->varying);
    free(x->first);
    free(x->missing);
    free(x);
}

static unsigned char level_of(const struct index *x, size_t j, float value)
{
    const float *t = x->threshold + 3 * j;
    return (unsigned char)((value > t[0]) + (value > t[1]) + (value > t[2]));
}

/* ---- the thresholds */

struct weighed_entry {
    double key;
    uint32_t entry;
};

static int larger_key_first(const void *a, const void *b)
{
    const struct weighed_entry *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? 1 : -1) : (x->entry > y->entry) - (x->entry < y->entry);
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
    double mean, deviation, entropy; /* of the levels, in bits */
};

/* Sets the thresholds of entry j by the first n rows. */
static struct entry_moments decide_entry(struct index *x, size_t j, size_t n)
{
    struct entry_moments e = {0, 0, 0};
    size_t count[4] = {0};
    const float *value = x->first + j;
    for (size_t i = 0; i < n; i++)
        e.mean += (double)value[i * x->dim] / (double)n;
    for (size_t i = 0; i < n; i++)
        e.deviation += pow((double)value[i * x->dim] - e.mean, 2) / (double)n;
    e.deviation = sqrt(e.deviation);
    /* A value that an entry always had must not lie on a threshold, where rounding would decide its level. */
    int constant = e.deviation < 1e-6 * (1 + fabs(e.mean));
    double unit = constant ? least_deviation : e.deviation, middle = e.mean + (constant ? 0.5 * unit : 0);
    x->threshold[3 * j] = (float)(middle - (constant ? 2 : 1) * outer_threshold * unit);
    x->threshold[3 * j + 1] = (float)middle;
    x->threshold[3 * j + 2] = (float)(middle + outer_threshold * unit);
    for (size_t i = 0; i < n; i++)
        count[level_of(x, j, value[i * x->dim])]++;
    for (size_t k = 0; k < 4; k++)
        e.entropy -= count[k] > 0 ? (double)count[k] / (double)n * log2((double)count[k] / (double)n) : 0;
    return e;
}

/* The orders of entries are weighted draws without replacement, by the keys log(u) / weight in falling order (Efraimidis
   and Spirakis), so that neighbours, which mostly say the same, stand apart. */
static bpcn_status decide(struct index *x, size_t n)
{
    struct weighed_entry *telling = alloc_uncleared(2 * x->dim, sizeof *telling), *varying = telling + x->dim;
    if (telling == NULL)
        return BPCN_NO_MEMORY;
    for (size_t j = 0; j < x->dim; j++) {
        struct entry_moments e = decide_entry(x, j, n);
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
    free(telling);
    return BPCN_OK;
}

/* ---- items */

static struct group *group_add(struct index *x)
{
    if (x->groups == x->room) {
        size_t room = x->room ? 2 * x->room : 4;
        struct group **grown = realloc(x->group, room * sizeof(struct group *));
        if (grown == NULL)
            return NULL;
        x->group = grown;
        x->room = room;
    }
    struct group *g = alloc_zeroed(1, sizeof *g);
    if (g == NULL)
        return NULL;
    g->plane = alloc_zeroed(2 * x->dim, WORDS * sizeof *g->plane);
    if (g->plane == NULL) {
        free(g);
        return NULL;
    }
    return x->group[x->groups++] = g;
}

static bpcn_status insert(struct index *x, const float *row, uint32_t shard)
{
    size_t at = x->items % GROUP;
    if (at == 0 && group_add(x) == NULL)
        return BPCN_NO_MEMORY;
    struct group *g = x->group[x->groups - 1];
    uint64_t *high = g->plane + at / 64, *low = high + x->dim * WORDS, bit = (uint64_t)1 << at % 64;
    for (size_t j = 0; j < x->dim; j++) {
        unsigned char level = level_of(x, j, row[j]);
        high[j * WORDS] |= level & 2 ? bit : 0;
        low[j * WORDS] |= level & 1 ? bit : 0;
    }
    g->alive[at / 64] |= bit;
    g->shard[at] = shard;
    g->faded = x->faded;
    x->items++;
    return BPCN_OK;
}

static bpcn_status note_missing(struct index *x, uint32_t shard)
{
    size_t words = shard / 64 + 1;
    if (words > x->missing_words) {
        uint64_t *grown = realloc(x->missing, words * sizeof *grown);
        if (grown == NULL)
            return BPCN_NO_MEMORY;
        memset(grown + x->missing_words, 0, (words - x->missing_words) * sizeof *grown);
        x->missing = grown;
        x->missing_words = words;
    }
    x->missing[shard / 64] |= (uint64_t)1 << shard % 64;
    return BPCN_OK;
}

int index_misses(const struct index *x, uint32_t shard)
{
    return shard / 64 < x->missing_words && (x->missing[shard / 64] >> shard % 64 & 1);
}

bpcn_status index_add(struct index *x, const float *row, const unsigned char *known, uint32_t shard)
{
    if (known != NULL && memchr(known, 0, x->dim) != NULL)
        return note_missing(x, shard);
    if (x->first == NULL)
        return insert(x, row, shard);
    memcpy(x->first + x->items * x->dim, row, x->dim * sizeof *row);
    x->first_shard[x->items++] = shard;
    if (x->items < FIRST_ROWS)
        return BPCN_OK;
    bpcn_status status = decide(x, FIRST_ROWS);
    if (status != BPCN_OK) {
        x->items--;
        return status;
    }
    float *first = x->first;
    x->first = NULL;
    x->items = 0;
    for (size_t i = 0; status == BPCN_OK && i < FIRST_ROWS; i++)
        status = insert(x, first + i * x->dim, x->first_shard[i]);
    free(first);
    return status;
}

static void drop(struct index *x, size_t item)
{
    struct group *g = x->group[item / GROUP];
    uint64_t bit = (uint64_t)1 << item % 64, *word = &g->alive[item % GROUP / 64];
    x->dead += (*word & bit) != 0;
    *word &= ~bit;
}

static void drop_first(struct index *x, size_t item)
{
    x->items--;
    memmove(x->first + item * x->dim, x->first + (item + 1) * x->dim, (x->items - item) * x->dim * sizeof *x->first);
    memmove(x->first_shard + item, x->first_shard + item + 1, (x->items - item) * sizeof *x->first_shard);
}

void index_drop_shard(struct index *x, uint32_t shard)
{
    for (size_t i = x->items; i-- > 0;) {
        if (x->first != NULL && x->first_shard[i] == shard)
            drop_first(x, i);
        else if (x->first == NULL && x->group[i / GROUP]->shard[i % GROUP] == shard)
            drop(x, i);
    }
    if (index_misses(x, shard))
        x->missing[shard / 64] &= ~((uint64_t)1 << shard % 64);
}

static int has_levels(const struct index *x, size_t item, const float *row)
{
    const struct group *g = x->group[item / GROUP];
    const uint64_t *high = g->plane + item % GROUP / 64, *low = high + x->dim * WORDS;
    for (size_t j = 0; j < x->dim; j++)
        if ((high[j * WORDS] >> item % 64 & 1) * 2 + (low[j * WORDS] >> item % 64 & 1) != level_of(x, j, row[j]))
            return 0;
    return 1;
}

int index_drop_row(struct index *x, const float *row, uint32_t shard)
{
    for (size_t i = x->items; i-- > 0;) {
        if (x->first != NULL) {
            if (x->first_shard[i] != shard || memcmp(x->first + i * x->dim, row, x->dim * sizeof *row) != 0)
                continue;
            drop_first(x, i);
            return 1;
        }
        const struct group *g = x->group[i / GROUP];
        if (g->shard[i % GROUP] == shard && (g->alive[i % GROUP / 64] >> i % 64 & 1) && has_levels(x, i, row)) {
            drop(x, i);
            return 1;
        }
    }
    return 0;
}

void index_fade(struct index *x, double beta)
{
    x->faded += beta < 1 ? -log1p(-beta) : INFINITY;
    for (size_t i = 0; i < x->groups; i++) {
        struct group *g = x->group[i];
        if (!(x->faded - g->faded > -log(faded_away)))
            continue;
        for (size_t w = 0; w < WORDS; w++) {
            x->dead += (size_t)__builtin_popcountll(g->alive[w]);
            g->alive[w] = 0;
        }
    }
    if (x->faded == INFINITY) { /* nothing is left of anything */
        x->faded = 0;
        x->items = x->first != NULL ? 0 : x->items;
        for (size_t i = 0; i < x->groups; i++)
            x->group[i]->faded = 0;
    }
}

int index_ready(const struct index *x)
{
    return x->first == NULL;
}

size_t index_items(const struct index *x)
{
    return x->items - x->dead;
}

size_t index_bytes(const struct index *x)
{
    size_t each = sizeof(struct group) + 2 * x->dim * WORDS * sizeof(uint64_t);
    return sizeof *x + x->dim * 5 * sizeof(float) + x->groups * each + x->room * sizeof(struct group *) +
           x->missing_words * sizeof *x->missing + (x->first != NULL ? FIRST_ROWS * x->dim * sizeof *x->first : 0);
}

/* ---- queries */

/* The first `most` known entries in an order: where the line of each begins, and the query's level there. */
static size_t ask(const struct index *x, const uint32_t *order, const float *row, const unsigned char *known, size_t most,
                  uint32_t *line, unsigned char *level)
{
    size_t n = 0;
    for (size_t i = 0; i < x->dim && n < most; i++) {
        uint32_t j = order[i];
        if (known != NULL && !known[j])
            continue;
        line[n] = j * WORDS;
        level[n++] = level_of(x, j, row[j]);
    }
    return n;
}

size_t index_match(const struct index *x, const float *row, const unsigned char *known, int mismatches, size_t room,
                   struct index_hit *hits)
{
    uint32_t line[MATCHED];
    unsigned char level[MATCHED];
    size_t n = ask(x, x->telling, row, known, MATCHED, line, level), found = 0;
    const struct kernels *k = kernels_chosen();
    for (size_t i = 0; i < x->groups; i++) {
        const struct group *g = x->group[i];
        _Alignas(LINE_BYTES) uint64_t alive[WORDS];
        memcpy(alive, g->alive, sizeof alive);
        (mismatches > 0 ? k->bits_near : k->bits_match)(n, line, level, g->plane, x->dim * WORDS, alive);
        for (size_t w = 0; w < WORDS; w++)
            for (uint64_t bits = alive[w]; bits != 0; bits &= bits - 1) {
                size_t at = w * 64 + (size_t)__builtin_ctzll(bits);
                if (found < room)
                    hits[found] = (struct index_hit){(uint32_t)(i * GROUP + at), g->shard[at], 0, 0};
                found++;
            }
    }
    return found;
}

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

/* hits [most] stay in rising order of distance; of equals the earlier comes first. */
static size_t keep(struct index_hit hit, size_t n, size_t most, struct index_hit *hits)
{
    size_t at = n < most ? n : most - 1;
    if (n == most && hits[most - 1].distance <= hit.distance)
        return n;
    for (; at > 0 && hits[at - 1].distance > hit.distance; at--)
        hits[at] = hits[at - 1];
    hits[at] = hit;
    return n < most ? n + 1 : n;
}

/* For each known entry of a query its squared distance to the middle of each level. */
struct level_squares {
    size_t n;
    uint32_t *line;
    float *square; /* [n x 4] */
};

/* Of an item; what exceeds `limit` may be cut short. */
static float square_of(const struct index *x, const struct level_squares *s, uint32_t item, float limit)
{
    const uint64_t *high = x->group[item / GROUP]->plane + item % GROUP / 64, *low = high + x->dim * WORDS;
    size_t i = 0, bit = item % 64;
    float sum = 0;
    while (i < s->n && sum <= limit)
        for (size_t end = i + SQUARES_TESTED < s->n ? i + SQUARES_TESTED : s->n; i < end; i++)
            sum += s->square[4 * i + (high[s->line[i]] >> bit & 1) * 2 + (low[s->line[i]] >> bit & 1)];
    return sum;
}

static int smaller_square_first(const void *a, const void *b)
{
    const struct index_hit *x = a, *y = b;
    if (x->square != y->square)
        return x->square < y->square ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

/* Puts hits into the order of their squares; the first RANKED squares are whole. */
static void rank(const struct index *x, const struct level_squares *s, size_t n, struct index_hit *hits)
{
    float limit[RANKED];
    for (size_t r = 0; r < RANKED; r++)
        limit[r] = INFINITY;
    for (size_t i = 0; i < n; i++) {
        size_t r = RANKED;
        hits[i].square = square_of(x, s, hits[i].item, limit[RANKED - 1]);
        for (; r > 0 && hits[i].square < limit[r - 1]; r--)
            if (r < RANKED)
                limit[r] = limit[r - 1];
        if (r < RANKED)
            limit[r] = hits[i].square;
    }
    qsort(hits, n, sizeof *hits, smaller_square_first);
}

static bpcn_status level_squares_of(const struct index *x, const float *row, const unsigned char *known,
                                    struct level_squares *s)
{
    s->n = 0;
    s->line = alloc_uncleared(x->dim, sizeof *s->line);
    s->square = alloc_uncleared(4 * x->dim, sizeof *s->square);
    if (s->line == NULL || s->square == NULL)
        return BPCN_NO_MEMORY;
    for (size_t i = 0; i < x->dim; i++) {
        uint32_t j = x->varying[i];
        if (known != NULL && !known[j])
            continue;
        float middle = x->threshold[3 * j + 1], unit = (x->threshold[3 * j + 2] - middle) / (float)outer_threshold;
        for (size_t k = 0; k < 4; k++) {
            float d = row[j] - middle - middle_of_level[k] * unit;
            s->square[4 * s->n + k] = d * d;
        }
        s->line[s->n++] = j * WORDS;
    }
    return BPCN_OK;
}

bpcn_status index_nearest(const struct index *x, const float *row, const unsigned char *known, size_t most,
                          struct index_hit *hits, size_t *found)
{
    uint32_t line[COUNTED], sorted[COUNTED];
    unsigned char level[COUNTED];
    size_t of[4] = {0}, n = 0, entries = ask(x, x->varying, row, known, COUNTED, line, level);
    size_t planes = planes_for(entries);
    uint32_t limit = ((uint32_t)1 << planes) - 1;
    for (size_t l = 0, to = 0; l < 4; l++)
        for (size_t i = 0; i < entries; i++)
            if (level[i] == l) {
                sorted[to++] = line[i];
                of[l]++;
            }
    for (size_t i = 0; i < x->groups && most > 0; i++) {
        const struct group *g = x->group[i];
        _Alignas(LINE_BYTES) uint64_t count[MOST_PLANES * WORDS];
        uint64_t below[WORDS];
        kernels_chosen()->bits_distance(of, sorted, g->plane, x->dim * WORDS, planes, count);
        count_below(planes, count, limit, g->alive, below);
        for (size_t w = 0; w < WORDS; w++)
            for (uint64_t bits = below[w]; bits != 0; bits &= bits - 1) {
                size_t at = w * 64 + (size_t)__builtin_ctzll(bits);
                struct index_hit hit = {(uint32_t)(i * GROUP + at), g->shard[at], count_at(planes, count, at), 0};
                n = keep(hit, n, most, hits);
                limit = n == most ? hits[most - 1].distance : limit;
            }
    }
    size_t close = 0;
    while (close < n && hits[close].distance <= hits[0].distance + ranked_within * sqrt((double)entries))
        close++;
    struct level_squares squares;
    bpcn_status status = level_squares_of(x, row, known, &squares);
    if (status == BPCN_OK)
        rank(x, &squares, close, hits);
    free(squares.line);
    free(squares.square);
    *found = close;
    return status;
}

/* ---- as bytes: numbers are little-endian */

static void put(unsigned char **to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        *(*to)++ = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char **from, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)*(*from)++ << 8 * i;
    return value;
}

static void put_float(unsigned char **to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(to, bits, 4);
}

static float get_float(const unsigned char **from)
{
    uint32_t bits = (uint32_t)get(from, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_double(unsigned char **to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(to, bits, 8);
}

static double get_double(const unsigned char **from)
{
    uint64_t bits = get(from, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum { HEAD_BYTES = 40 }; /* dim, items, decided, faded, words of `missing` */

static size_t saved_length(size_t dim, uint64_t items, int decided, uint64_t missing)
{
    size_t groups = (size_t)((items + GROUP - 1) / GROUP);
    size_t of_items = decided ? dim * 20 + groups * (8 + WORDS * 8 + GROUP * 4 + 2 * dim * WORDS * 8)
                              : (size_t)items * (4 + dim * 4);
    return HEAD_BYTES + (size_t)missing * 8 + of_items;
}

size_t index_saved(const struct index *x)
{
    return saved_length(x->dim, x->items, x->first == NULL, x->missing_words);
}

void index_save(const struct index *x, unsigned char *to)
{
    put(&to, x->dim, 8);
    put(&to, x->items, 8);
    put(&to, x->first == NULL, 8);
    put_double(&to, x->faded);
    put(&to, x->missing_words, 8);
    for (size_t i = 0; i < x->missing_words; i++)
        put(&to, x->missing[i], 8);
    for (size_t i = 0; x->first != NULL && i < x->items; i++) {
        put(&to, x->first_shard[i], 4);
        for (size_t j = 0; j < x->dim; j++)
            put_float(&to, x->first[i * x->dim + j]);
    }
    for (size_t j = 0; x->first == NULL && j < x->dim; j++) {
        for (size_t k = 0; k < 3; k++)
            put_float(&to, x->threshold[3 * j + k]);
        put(&to, x->telling[j], 4);
        put(&to, x->varying[j], 4);
    }
    for (size_t i = 0; i < x->groups; i++) {
        const struct group *g = x->group[i];
        put_double(&to, g->faded);
        for (size_t w = 0; w < WORDS; w++)
            put(&to, g->alive[w], 8);
        for (size_t k = 0; k < GROUP; k++)
            put(&to, g->shard[k], 4);
        for (size_t w = 0; w < 2 * x->dim * WORDS; w++)
            put(&to, g->plane[w], 8);
    }
}

static int load_groups(struct index *x, const unsigned char **from)
{
    free(x->first);
    x->first = NULL;
    for (size_t j = 0; j < x->dim; j++) {
        for (size_t k = 0; k < 3; k++)
            x->threshold[3 * j + k] = get_float(from);
        x->telling[j] = (uint32_t)get(from, 4);
        x->varying[j] = (uint32_t)get(from, 4);
        if (x->telling[j] >= x->dim || x->varying[j] >= x->dim)
            return -1;
    }
    for (size_t i = 0; i * GROUP < x->items; i++) {
        struct group *g = group_add(x);
        if (g == NULL)
            return -1;
        g->faded = get_double(from);
        for (size_t w = 0; w < WORDS; w++) {
            size_t first = i * GROUP + w * 64, held = x->items > first ? x->items - first : 0;
            g->alive[w] = get(from, 8);
            if (held < 64 && g->alive[w] >> held != 0)
                return -1;
            x->dead += (held < 64 ? held : 64) - (size_t)__builtin_popcountll(g->alive[w]);
        }
        for (size_t k = 0; k < GROUP; k++)
            g->shard[k] = (uint32_t)get(from, 4);
        for (size_t w = 0; w < 2 * x->dim * WORDS; w++)
            g->plane[w] = get(from, 8);
    }
    return 0;
}

struct index *index_load(size_t dim, const unsigned char *from, size_t length)
{
    if (length < HEAD_BYTES)
        return NULL;
    uint64_t saved_dim = get(&from, 8), items = get(&from, 8), decided = get(&from, 8);
    double faded = get_double(&from);
    uint64_t missing = get(&from, 8);
    if (saved_dim != dim || decided > 1 || !isfinite(faded) || items > UINT32_MAX || missing > BPCN_MAX_SHARDS / 64 ||
        (!decided && items >= FIRST_ROWS) || length != saved_length(dim, items, (int)decided, missing))
        return NULL;
    struct index *x = index_create(dim);
    if (x == NULL)
        return NULL;
    x->faded = faded;
    x->items = (size_t)items;
    x->missing = alloc_zeroed((size_t)missing, sizeof *x->missing);
    int bad = x->missing == NULL;
    for (size_t i = 0; !bad && i < missing; i++)
        x->missing[i] = get(&from, 8);
    x->missing_words = bad ? 0 : (size_t)missing;
    for (size_t i = 0; !bad && !decided && i < items; i++) {
        x->first_shard[i] = (uint32_t)get(&from, 4);
        for (size_t j = 0; j < dim; j++)
            x->first[i * dim + j] = get_float(&from);
    }
    if (!bad && decided)
        bad = load_groups(x, &from) != 0;
    if (!bad)
        return x;
    index_free(x);
    return NULL;
}
