/* A ring of the latest rows, by which each is known again and taken back. */
#include "held.h"

#include "alloc.h"
#include "format.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

/* Where the fields of a slot are. */
enum { HELD_AT_NUMBER = 0, HELD_AT_PRINT = 8, HELD_AT_FADES = 24, HELD_AT_SHARD = 32, HELD_AT_GONE = 36, HELD_AT_CODES = 40 };

static const uint64_t most_number = UINT64_C(1) << 62;

static void fingerprint_add(struct fingerprint *print, float x)
{
    uint32_t bits = 0;
    if (x < 0 || x > 0) /* -0 is 0 */
        memcpy(&bits, &x, sizeof bits);
    print->word[0] = random_scramble(print->word[0] ^ bits) + RANDOM_SCRAMBLE_STEP;
    print->word[1] = random_scramble(print->word[1] + bits) ^ UINT64_C(0xd1b54a32d192ed03);
}

static const struct fingerprint of_nothing = {{RANDOM_SCRAMBLE_STEP, UINT64_C(0xd1b54a32d192ed03)}};

struct fingerprint fingerprint_of(const float *x, size_t dim)
{
    struct fingerprint print = of_nothing;
    for (size_t j = 0; j < dim; j++)
        fingerprint_add(&print, x[j]);
    return print;
}

struct fingerprint fingerprint_of_bytes(const unsigned char *x, size_t dim)
{
    struct fingerprint print = of_nothing;
    for (size_t j = 0; j < dim; j++) {
        float value;
        get_reals(&value, x + 4 * j, 1, 4);
        fingerprint_add(&print, value);
    }
    return print;
}

static size_t codes_of(const bpcn_options *o)
{
    size_t code = 0;
    for (size_t l = 0; l < o->layers; l++)
        code += o->hidden[l];
    return o->kind == BPCN_TABLE ? 0 : code * o->particles;
}

size_t held_bytes(const bpcn_options *o)
{
    return HELD_AT_CODES + (codes_of(o) * (o->precision == BPCN_FLOAT64 ? 8 : 4) + 7) / 8 * 8;
}

int held_create(struct held *h, const bpcn_options *o)
{
    *h = (struct held){.most = o->deletable,
                       .codes = codes_of(o),
                       .size = o->precision == BPCN_FLOAT64 ? 8 : 4,
                       .each = held_bytes(o)};
    return 0;
}

void held_free(struct held *h)
{
    free(h->slot);
    *h = (struct held){.most = 0};
}

int held_reserve(struct held *h, size_t count)
{
    size_t room = h->room > 0 ? h->room : 1;
    count = count < h->most ? count : h->most;
    if (count <= h->room)
        return 0;
    while (room < count)
        room = room < h->most / 2 ? 2 * room : h->most;
    unsigned char *slot = alloc_zeroed(room, h->each);
    if (slot == NULL)
        return -1;
    if (h->count > 0)
        memcpy(slot, h->slot, h->count * h->each);
    free(h->slot);
    h->slot = slot;
    h->room = room;
    return 0;
}

void held_keep(struct held *h, const struct held_row *row, const void *codes)
{
    if (h->most == 0)
        return;
    unsigned char *slot = h->slot + h->next % h->most * h->each;
    memset(slot, 0, h->each);
    put64(slot + HELD_AT_NUMBER, h->next++);
    put64(slot + HELD_AT_PRINT, row->print.word[0]);
    put64(slot + HELD_AT_PRINT + 8, row->print.word[1]);
    put64(slot + HELD_AT_FADES, row->fades);
    put32(slot + HELD_AT_SHARD, (uint32_t)row->shard);
    if (h->codes > 0)
        put_reals(slot + HELD_AT_CODES, codes, h->codes, h->size);
    h->count = h->count < h->most ? h->count + 1 : h->most;
}

void held_restore(struct held *h, size_t count)
{
    h->count = count;
    h->next = 0;
    for (size_t i = 0; i < count; i++) {
        struct held_row row = held_at(h, i);
        h->next = row.number >= h->next ? row.number + 1 : h->next;
    }
}

struct held_row held_at(const struct held *h, size_t i)
{
    const unsigned char *slot = h->slot + i * h->each;
    return (struct held_row){.number = get64(slot + HELD_AT_NUMBER),
                             .print = {{get64(slot + HELD_AT_PRINT), get64(slot + HELD_AT_PRINT + 8)}},
                             .fades = get64(slot + HELD_AT_FADES),
                             .shard = get32(slot + HELD_AT_SHARD),
                             .gone = get32(slot + HELD_AT_GONE) != 0};
}

size_t held_there(const struct held *h)
{
    size_t there = 0;
    for (size_t i = 0; i < h->count; i++)
        there += !held_at(h, i).gone;
    return there;
}

void held_codes(const struct held *h, size_t i, void *codes)
{
    get_reals(codes, h->slot + i * h->each + HELD_AT_CODES, h->codes, h->size);
}

size_t held_find(const struct held *h, const struct fingerprint *print, uint64_t before)
{
    size_t found = h->count;
    uint64_t latest = 0;
    for (size_t i = 0; i < h->count; i++) {
        struct held_row row = held_at(h, i);
        if (row.gone || row.number >= before || memcmp(&row.print, print, sizeof *print) != 0 ||
            (found < h->count && row.number < latest))
            continue;
        found = i;
        latest = row.number;
    }
    return found;
}

void held_drop(struct held *h, uint64_t number)
{
    size_t i = h->most > 0 ? (size_t)(number % h->most) : h->count;
    if (i < h->count && held_at(h, i).number == number)
        put32(h->slot + i * h->each + HELD_AT_GONE, 1);
}

void held_drop_shard(struct held *h, size_t shard)
{
    for (size_t i = 0; i < h->count; i++)
        if (shard == SIZE_MAX || get32(h->slot + i * h->each + HELD_AT_SHARD) == shard)
            put32(h->slot + i * h->each + HELD_AT_GONE, 1);
}

const char *held_wrong(const struct held *h, size_t i, size_t shards)
{
    const unsigned char *slot = h->slot + i * h->each;
    struct held_row row = held_at(h, i);
    size_t used = HELD_AT_CODES + h->codes * h->size;
    int fine = get32(slot + HELD_AT_GONE) <= 1;
    for (; used < h->each; used++)
        fine &= slot[used] == 0;
    if (row.number > most_number || row.number % h->most != i)
        return "its number";
    if (row.shard >= shards)
        return "its shard";
    for (size_t j = 0; j < h->codes; j++) {
        uint64_t bits = h->size == 4 ? (uint64_t)get32(slot + HELD_AT_CODES + 4 * j) << 32 : get64(slot + HELD_AT_CODES + 8 * j);
        uint64_t exponent = h->size == 4 ? UINT64_C(0x7f80000000000000) : UINT64_C(0x7ff0000000000000);
        fine &= (bits & exponent) != exponent;
    }
    return fine ? NULL : "a number in it";
}
