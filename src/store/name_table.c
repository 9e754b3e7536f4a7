/* A room of fixed size for the latest names; sketches of rows and what they recognise. */
#include "name_table.h"

#include "alloc.h"
#include "format.h"
#include "random.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Where the fields of a slot are. */
enum { NAME_AT_NUMBER = NAME_ROOM, NAME_AT_SHARD = 72, NAME_AT_PARTICLE = 76, NAME_AT_SUM = 80, NAME_AT_SKETCH = 88 };
_Static_assert(NAME_AT_KEPT == NAME_AT_SKETCH + 4 * SKETCH, "the sketch fills its place");

static const uint32_t with_holes = UINT32_C(1) << 31; /* beside the particle */
static const uint64_t most_number = UINT64_C(1) << 62;
static const double clearly = 2; /* times as far, in squares, is another row */

/* ---- sketches */

/* The bucket of entry j in the low bits, its sign in the highest. */
static uint64_t sketch_bucket(uint64_t j)
{
    return random_scramble((j + 1) * RANDOM_SCRAMBLE_STEP);
}

/* Sums in a fixed order, without products: the same on every machine. */
struct sketched sketch_row(const void *x, size_t size, size_t dim)
{
    struct sketched row = {.sum = 0};
    double sums[SKETCH] = {0};
    for (size_t j = 0; j < dim; j++) {
        double value = size == sizeof(float) ? (double)((const float *)x)[j] : ((const double *)x)[j];
        uint64_t place = sketch_bucket(j);
        unsigned char rounded[8];
        sums[place % SKETCH] += place >> 63 ? value : -value;
        put64(rounded, (uint64_t)llrint(value * 4093));
        row.sum = crc32c(row.sum, rounded, sizeof rounded);
    }
    for (size_t b = 0; b < SKETCH; b++)
        row.sketch[b] = (float)sums[b];
    return row;
}

/* An estimate of the mean square difference of two rows. */
static double sketch_distance(const float *a, const float *b, size_t dim)
{
    double sum = 0;
    for (size_t i = 0; i < SKETCH; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sum / (double)dim;
}

/* ---- slots */

int names_create(struct names *n, const bpcn_options *options)
{
    *n = (struct names){.most = options->names, .kept = name_kept(options), .each = name_bytes(options)};
    return names_reserve(n, 1);
}

void names_free(struct names *n)
{
    free(n->slot);
    *n = (struct names){.most = 0};
}

int names_reserve(struct names *n, size_t count)
{
    size_t room = n->room > 0 ? n->room : 1;
    count = count < n->most ? count : n->most;
    if (count <= n->room)
        return 0;
    while (room < count)
        room = room < n->most / 2 ? 2 * room : n->most;
    unsigned char *slot = alloc_zeroed(room, n->each);
    if (slot == NULL)
        return -1;
    if (n->count > 0)
        memcpy(slot, n->slot, n->count * n->each);
    free(n->slot);
    n->slot = slot;
    n->room = room;
    return 0;
}

static uint64_t number_of(const struct names *n, size_t i)
{
    return get64(n->slot + i * n->each + NAME_AT_NUMBER);
}

struct named names_at(const struct names *n, size_t i)
{
    const unsigned char *slot = n->slot + i * n->each;
    uint32_t particle = get32(slot + NAME_AT_PARTICLE);
    struct named row = {.number = get64(slot + NAME_AT_NUMBER),
                        .shard = get32(slot + NAME_AT_SHARD),
                        .particle = particle & ~with_holes,
                        .holes = (particle & with_holes) != 0,
                        .row.sum = get32(slot + NAME_AT_SUM),
                        .held = get32(slot + NAME_AT_SUM + 4),
                        .kept = slot + NAME_AT_KEPT};
    memcpy(row.name, slot, NAME_ROOM);
    get_reals(row.row.sketch, slot + NAME_AT_SKETCH, SKETCH, 4);
    return row;
}

/* Where the next goes, and its number. */
static size_t make_way(struct names *n, uint64_t *number)
{
    size_t oldest = 0;
    *number = 1;
    for (size_t i = 0; i < n->count; i++) {
        oldest = number_of(n, i) < number_of(n, oldest) ? i : oldest;
        *number = number_of(n, i) >= *number ? number_of(n, i) + 1 : *number;
    }
    return n->count < n->most ? n->count++ : oldest;
}

void names_keep(struct names *n, const struct named *row, const void *values, size_t size)
{
    uint64_t number;
    if (n->most == 0)
        return;
    unsigned char *slot = n->slot + make_way(n, &number) * n->each;
    memset(slot, 0, n->each);
    memcpy(slot, row->name, NAME_ROOM);
    put64(slot + NAME_AT_NUMBER, number);
    put32(slot + NAME_AT_SHARD, (uint32_t)row->shard);
    put32(slot + NAME_AT_PARTICLE, (uint32_t)row->particle | (row->holes ? with_holes : 0));
    put32(slot + NAME_AT_SUM, row->row.sum);
    put32(slot + NAME_AT_SUM + 4, row->held);
    put_reals(slot + NAME_AT_SKETCH, row->row.sketch, SKETCH, 4);
    for (size_t j = 0; j < n->kept; j++) {
        double wide = size == sizeof(float) ? (double)((const float *)values)[j] : ((const double *)values)[j];
        float value = (float)fmax(-FLT_MAX, fmin(FLT_MAX, wide));
        put_reals(slot + NAME_AT_KEPT + 4 * j, &value, 1, 4);
    }
}

size_t names_find(const struct names *n, const char *name)
{
    size_t found = n->count;
    for (size_t i = 0; i < n->count; i++)
        if (strncmp((const char *)n->slot + i * n->each, name, NAME_ROOM) == 0 &&
            (found == n->count || number_of(n, i) > number_of(n, found)))
            found = i;
    return found;
}

size_t names_number(const struct names *n, uint64_t number)
{
    size_t i = 0;
    while (i < n->count && number_of(n, i) != number)
        i++;
    return i;
}

uint64_t names_held(const struct names *n, uint64_t held)
{
    for (size_t i = 0; i < n->count; i++)
        if (get32(n->slot + i * n->each + NAME_AT_SUM + 4) == (uint32_t)(held + 1))
            return number_of(n, i);
    return 0;
}

/* The last slot takes the place. */
static void drop_slot(struct names *n, size_t i)
{
    n->count--;
    memmove(n->slot + i * n->each, n->slot + n->count * n->each, n->each);
}

void names_drop(struct names *n, uint64_t number)
{
    size_t i = names_number(n, number);
    if (i < n->count)
        drop_slot(n, i);
}

void names_drop_shard(struct names *n, size_t shard)
{
    for (size_t i = n->count; i-- > 0;)
        if (get32(n->slot + i * n->each + NAME_AT_SHARD) == shard)
            drop_slot(n, i);
}

uint64_t names_recognise(const struct names *n, size_t shard, const struct sketched *row, size_t dim, double tolerance)
{
    struct named best = {.number = 0};
    double nearest = INFINITY;
    for (size_t i = 0; i < n->count; i++) {
        struct named other = names_at(n, i);
        double far = sketch_distance(row->sketch, other.row.sketch, dim);
        if (other.holes || other.shard != shard || far > tolerance || far > nearest ||
            (far == nearest && other.number < best.number))
            continue;
        nearest = far;
        best = other;
    }
    for (size_t i = 0; best.number > 0 && i < n->count; i++) {
        struct named other = names_at(n, i);
        if (!other.holes && other.shard == shard &&
            memcmp(other.row.sketch, best.row.sketch, sizeof best.row.sketch) != 0 &&
            sketch_distance(row->sketch, other.row.sketch, dim) < clearly * nearest)
            return 0;
    }
    return best.number;
}

/* ---- soundness */

/* Bytes of the UTF-8 character at p, which is followed by a zero somewhere: 0 if it is none, or a control character. */
static size_t utf8_character(const unsigned char *p)
{
    size_t more = p[0] < 0x80 ? 0 : p[0] >> 5 == 6 ? 1 : p[0] >> 4 == 14 ? 2 : p[0] >> 3 == 30 ? 3 : 4;
    static const uint32_t least[] = {0x20, 0x80, 0x800, 0x10000};
    if (more > 3)
        return 0;
    uint32_t code = more == 0 ? p[0] : p[0] & (0x3fu >> more);
    for (size_t i = 1; i <= more; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    int control = code == 0x7f || (code >= 0x80 && code < 0xa0);
    int none = code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
    return control || none ? 0 : more + 1;
}

int name_sound(const char *name)
{
    const unsigned char *p = (const unsigned char *)name;
    size_t length = strnlen(name, NAME_ROOM), at = 0, more = 1;
    while (at < length && length <= BPCN_MAX_NAME && more > 0)
        at += more = utf8_character(p + at);
    return length > 0 && length <= BPCN_MAX_NAME && more > 0;
}

int name_padded(const char name[NAME_ROOM])
{
    if (name[BPCN_MAX_NAME] != '\0' || !name_sound(name))
        return 0;
    for (size_t j = strlen(name); j < NAME_ROOM; j++)
        if (name[j] != '\0')
            return 0;
    return 1;
}

static int finite_reals(const unsigned char *p, size_t n)
{
    float value;
    for (size_t j = 0; j < n; j++) {
        get_reals(&value, p + 4 * j, 1, 4);
        if (!isfinite(value))
            return 0;
    }
    return 1;
}

const char *named_wrong(const struct names *n, size_t i, size_t shards, size_t particles)
{
    const unsigned char *slot = n->slot + i * n->each;
    struct named row = names_at(n, i);
    size_t used = NAME_AT_KEPT + 4 * n->kept;
    int padded = 1;
    for (; used < n->each; used++)
        padded &= slot[used] == 0;
    if (!name_padded(row.name))
        return "its name";
    if (row.number < 1 || row.number > most_number)
        return "its number";
    if (row.shard >= shards)
        return "its shard";
    if (row.particle >= particles)
        return "its particle";
    if (!finite_reals(slot + NAME_AT_SKETCH, SKETCH) || !finite_reals(slot + NAME_AT_KEPT, n->kept))
        return "a number in it";
    return padded ? NULL : "its padding";
}
