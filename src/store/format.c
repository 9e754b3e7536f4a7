/* The layout of a memory file in bytes and back. Nothing that is read is believed before it is checked. */
#include "format.h"

#include "error.h"
#include "name_table.h"
#include "held.h"
#include "options.h"
#include "scale.h"
#include "novelty_history.h"
#include "table.h"

#include <stdio.h>
#include <string.h>

/* ---- checksums */

static const uint32_t crc_table[256] = {
    0x00000000, 0xf26b8303, 0xe13b70f7, 0x1350f3f4, 0xc79a971f, 0x35f1141c, 0x26a1e7e8, 0xd4ca64eb, 0x8ad958cf,
    0x78b2dbcc, 0x6be22838, 0x9989ab3b, 0x4d43cfd0, 0xbf284cd3, 0xac78bf27, 0x5e133c24, 0x105ec76f, 0xe235446c,
    0xf165b798, 0x030e349b, 0xd7c45070, 0x25afd373, 0x36ff2087, 0xc494a384, 0x9a879fa0, 0x68ec1ca3, 0x7bbcef57,
    0x89d76c54, 0x5d1d08bf, 0xaf768bbc, 0xbc267848, 0x4e4dfb4b, 0x20bd8ede, 0xd2d60ddd, 0xc186fe29, 0x33ed7d2a,
    0xe72719c1, 0x154c9ac2, 0x061c6936, 0xf477ea35, 0xaa64d611, 0x580f5512, 0x4b5fa6e6, 0xb93425e5, 0x6dfe410e,
    0x9f95c20d, 0x8cc531f9, 0x7eaeb2fa, 0x30e349b1, 0xc288cab2, 0xd1d83946, 0x23b3ba45, 0xf779deae, 0x05125dad,
    0x1642ae59, 0xe4292d5a, 0xba3a117e, 0x4851927d, 0x5b016189, 0xa96ae28a, 0x7da08661, 0x8fcb0562, 0x9c9bf696,
    0x6ef07595, 0x417b1dbc, 0xb3109ebf, 0xa0406d4b, 0x522bee48, 0x86e18aa3, 0x748a09a0, 0x67dafa54, 0x95b17957,
    0xcba24573, 0x39c9c670, 0x2a993584, 0xd8f2b687, 0x0c38d26c, 0xfe53516f, 0xed03a29b, 0x1f682198, 0x5125dad3,
    0xa34e59d0, 0xb01eaa24, 0x42752927, 0x96bf4dcc, 0x64d4cecf, 0x77843d3b, 0x85efbe38, 0xdbfc821c, 0x2997011f,
    0x3ac7f2eb, 0xc8ac71e8, 0x1c661503, 0xee0d9600, 0xfd5d65f4, 0x0f36e6f7, 0x61c69362, 0x93ad1061, 0x80fde395,
    0x72966096, 0xa65c047d, 0x5437877e, 0x4767748a, 0xb50cf789, 0xeb1fcbad, 0x197448ae, 0x0a24bb5a, 0xf84f3859,
    0x2c855cb2, 0xdeeedfb1, 0xcdbe2c45, 0x3fd5af46, 0x7198540d, 0x83f3d70e, 0x90a324fa, 0x62c8a7f9, 0xb602c312,
    0x44694011, 0x5739b3e5, 0xa55230e6, 0xfb410cc2, 0x092a8fc1, 0x1a7a7c35, 0xe811ff36, 0x3cdb9bdd, 0xceb018de,
    0xdde0eb2a, 0x2f8b6829, 0x82f63b78, 0x709db87b, 0x63cd4b8f, 0x91a6c88c, 0x456cac67, 0xb7072f64, 0xa457dc90,
    0x563c5f93, 0x082f63b7, 0xfa44e0b4, 0xe9141340, 0x1b7f9043, 0xcfb5f4a8, 0x3dde77ab, 0x2e8e845f, 0xdce5075c,
    0x92a8fc17, 0x60c37f14, 0x73938ce0, 0x81f80fe3, 0x55326b08, 0xa759e80b, 0xb4091bff, 0x466298fc, 0x1871a4d8,
    0xea1a27db, 0xf94ad42f, 0x0b21572c, 0xdfeb33c7, 0x2d80b0c4, 0x3ed04330, 0xccbbc033, 0xa24bb5a6, 0x502036a5,
    0x4370c551, 0xb11b4652, 0x65d122b9, 0x97baa1ba, 0x84ea524e, 0x7681d14d, 0x2892ed69, 0xdaf96e6a, 0xc9a99d9e,
    0x3bc21e9d, 0xef087a76, 0x1d63f975, 0x0e330a81, 0xfc588982, 0xb21572c9, 0x407ef1ca, 0x532e023e, 0xa145813d,
    0x758fe5d6, 0x87e466d5, 0x94b49521, 0x66df1622, 0x38cc2a06, 0xcaa7a905, 0xd9f75af1, 0x2b9cd9f2, 0xff56bd19,
    0x0d3d3e1a, 0x1e6dcdee, 0xec064eed, 0xc38d26c4, 0x31e6a5c7, 0x22b65633, 0xd0ddd530, 0x0417b1db, 0xf67c32d8,
    0xe52cc12c, 0x1747422f, 0x49547e0b, 0xbb3ffd08, 0xa86f0efc, 0x5a048dff, 0x8ecee914, 0x7ca56a17, 0x6ff599e3,
    0x9d9e1ae0, 0xd3d3e1ab, 0x21b862a8, 0x32e8915c, 0xc083125f, 0x144976b4, 0xe622f5b7, 0xf5720643, 0x07198540,
    0x590ab964, 0xab613a67, 0xb831c993, 0x4a5a4a90, 0x9e902e7b, 0x6cfbad78, 0x7fab5e8c, 0x8dc0dd8f, 0xe330a81a,
    0x115b2b19, 0x020bd8ed, 0xf0605bee, 0x24aa3f05, 0xd6c1bc06, 0xc5914ff2, 0x37faccf1, 0x69e9f0d5, 0x9b8273d6,
    0x88d28022, 0x7ab90321, 0xae7367ca, 0x5c18e4c9, 0x4f48173d, 0xbd23943e, 0xf36e6f75, 0x0105ec76, 0x12551f82,
    0xe03e9c81, 0x34f4f86a, 0xc69f7b69, 0xd5cf889d, 0x27a40b9e, 0x79b737ba, 0x8bdcb4b9, 0x988c474d, 0x6ae7c44e,
    0xbe2da0a5, 0x4c4623a6, 0x5f16d052, 0xad7d5351,
};

uint32_t crc32c_plain(uint32_t crc, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    crc = ~crc;
    for (size_t i = 0; i < n; i++)
        crc = crc >> 8 ^ crc_table[(crc ^ p[i]) & 0xff];
    return ~crc;
}

#if defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse(uint32_t crc, const unsigned char *p, size_t n)
{
    uint64_t sum = ~crc, word;
    for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        sum = __builtin_ia32_crc32di(sum, word);
    }
    for (; n > 0; n--, p++)
        sum = __builtin_ia32_crc32qi((uint32_t)sum, *p);
    return ~(uint32_t)sum;
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
    return __builtin_cpu_supports("sse4.2") ? crc32c_sse(crc, bytes, n) : crc32c_plain(crc, bytes, n);
}
#else
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
    return crc32c_plain(crc, bytes, n);
}
#endif

/* The checksum is linear: a bit changes it in the same way whatever the others are, and by how many bytes follow. */
uint64_t crc32c_flipped(uint32_t difference, size_t n)
{
    uint32_t change[8];
    for (unsigned bit = 0; bit < 8; bit++)
        change[bit] = crc_table[1u << bit];
    for (size_t at = n; at-- > 0;)
        for (unsigned bit = 0; bit < 8; bit++) {
            if (change[bit] == difference)
                return 8 * (uint64_t)at + bit;
            change[bit] = change[bit] >> 8 ^ crc_table[change[bit] & 0xff];
        }
    return UINT64_MAX;
}

/* ---- seals */

/* Where the fields of a slot are; what is left of it is zero. */
enum { SEAL_AT_MARK = 0, SEAL_AT_OPEN = 4, SEAL_AT_EPOCH = 8, SEAL_AT_LENGTH = 16, SEAL_AT_RECORDS = 24, SEAL_AT_SUM = 32, SEAL_AT_CHECKSUM = 60 };

static const uint32_t seal_mark = 0x4c414553; /* "SEAL" */

static const uint64_t seal_most_epoch = UINT64_C(1) << 62; /* far from overflowing */

static uint32_t seal_checksum(const unsigned char *slot, uint32_t salt)
{
    unsigned char salted[4];
    put32(salted, salt);
    return crc32c(crc32c(0, salted, sizeof salted), slot, SEAL_AT_CHECKSUM);
}

uint64_t seal_offset(const struct seal *seal)
{
    return HEADER_BYTES + seal->epoch % SEALS * SEAL_BYTES;
}

void seal_encode(const struct seal *seal, uint32_t salt, unsigned char out[SEAL_BYTES])
{
    memset(out, 0, SEAL_BYTES);
    put32(out + SEAL_AT_MARK, seal_mark);
    put32(out + SEAL_AT_OPEN, seal->open != 0);
    put64(out + SEAL_AT_EPOCH, seal->epoch);
    put64(out + SEAL_AT_LENGTH, seal->open ? 0 : seal->length);
    put64(out + SEAL_AT_RECORDS, seal->open ? 0 : seal->records);
    put32(out + SEAL_AT_SUM, seal->open ? 0 : seal->sum);
    put32(out + SEAL_AT_CHECKSUM, seal_checksum(out, salt));
}

struct seal seal_first(uint64_t length)
{
    return (struct seal){.epoch = FIRST_EPOCH, .length = length};
}

void seals_encode(const struct seal *first, uint32_t salt, unsigned char out[SEALS * SEAL_BYTES])
{
    struct seal before = {.epoch = first->epoch - 1, .open = 1};
    seal_encode(first, salt, out + first->epoch % SEALS * SEAL_BYTES);
    seal_encode(&before, salt, out + before.epoch % SEALS * SEAL_BYTES);
}

/* -1 when slot number i holds no seal: every byte of it follows from what it says. */
static int seal_decode_slot(const unsigned char *slot, uint64_t i, uint32_t salt, struct seal *seal)
{
    unsigned char again[SEAL_BYTES];
    *seal = (struct seal){.epoch = get64(slot + SEAL_AT_EPOCH),
                          .open = get32(slot + SEAL_AT_OPEN) != 0,
                          .length = get64(slot + SEAL_AT_LENGTH),
                          .records = get64(slot + SEAL_AT_RECORDS),
                          .sum = get32(slot + SEAL_AT_SUM)};
    seal_encode(seal, salt, again);
    return seal->epoch % SEALS == i && seal->epoch <= seal_most_epoch && memcmp(slot, again, sizeof again) == 0 ? 0 : -1;
}

int seals_decode(const unsigned char in[SEALS * SEAL_BYTES], uint32_t salt, struct seal *seal)
{
    struct seal slot[SEALS];
    int there[SEALS];
    for (uint64_t i = 0; i < SEALS; i++)
        there[i] = seal_decode_slot(in + i * SEAL_BYTES, i, salt, &slot[i]) == 0;
    if (!there[0] && !there[1])
        return -1;
    *seal = there[0] && (!there[1] || slot[0].epoch > slot[1].epoch) ? slot[0] : slot[1];
    seal->doubtful = !there[0] || !there[1];
    return 0;
}

/* ---- sections and header */

/* Where the header's fields are. */
enum {
    HEADER_AT_VERSION = 8,
    HEADER_AT_FEATURES = 12,
    HEADER_AT_HEADER_BYTES = 16,
    HEADER_AT_BLOCK_BYTES = 20,
    HEADER_AT_SNAPSHOT = 24,
    HEADER_AT_GENERATION = 32,
    HEADER_AT_WRITES = 40,
    HEADER_AT_FORGETS = 48,
    HEADER_AT_DELETES = 56,
    HEADER_AT_SEED = 64,
    HEADER_AT_SIGMA_W = 72,
    HEADER_AT_SIGMA_X = 80,
    HEADER_AT_SIGMA_DATA = 88,
    HEADER_AT_ADAM_RATE = 96,
    HEADER_AT_ADAM_STOP = 104,
    HEADER_AT_ADAM_STEPS = 112,
    HEADER_AT_ROUNDS = 120,
    HEADER_AT_ACTIVATION = 128,
    HEADER_AT_MINIMIZER = 132,
    HEADER_AT_PRECISION = 136,
    HEADER_AT_RESAMPLE = 140,
    HEADER_AT_PARTICLES = 144,
    HEADER_AT_LAYERS = 148,
    HEADER_AT_DIM = 152,
    HEADER_AT_NOTE_BYTES = 156,
    HEADER_AT_HIDDEN = 160,
    HEADER_AT_SHARDS = HEADER_AT_HIDDEN + 4 * BPCN_MAX_LAYERS,
    HEADER_AT_BEGUN = HEADER_AT_SHARDS + 4,
    HEADER_AT_SHARD_ROWS = HEADER_AT_SHARDS + 8,
    HEADER_AT_WHEN_FULL = HEADER_AT_SHARDS + 12,
    HEADER_AT_FIRST_SHARD = HEADER_AT_SHARDS + 16,
    HEADER_AT_SHARDS_BETWEEN = HEADER_AT_SHARDS + 20,
    HEADER_AT_SURPRISES = HEADER_AT_SHARDS + 24,
    HEADER_AT_KEPT = HEADER_AT_SURPRISES + 4,
    HEADER_AT_UNUSED = HEADER_AT_SURPRISES + 8,
    HEADER_AT_NAMES = HEADER_AT_SURPRISES + 12,
    HEADER_AT_NAMED = HEADER_AT_SURPRISES + 16,
    HEADER_AT_KIND = HEADER_AT_SURPRISES + 20,
    HEADER_AT_INDEX_FORM = HEADER_AT_SURPRISES + 24,
    HEADER_AT_INDEX_COUNT = HEADER_AT_SURPRISES + 28,
    HEADER_AT_SCALE = HEADER_AT_SURPRISES + 32, /* scale | clip << 4 | settled << 5 | first rows << 8 */
    HEADER_AT_PAIRS = HEADER_AT_SURPRISES + 36,
    HEADER_AT_FAR = HEADER_AT_SURPRISES + 40,
    HEADER_AT_DELETABLE = HEADER_AT_SURPRISES + 48,
    HEADER_AT_HELD = HEADER_AT_SURPRISES + 52,
    HEADER_AT_RESERVED = HEADER_AT_SURPRISES + 56,
    HEADER_AT_CHECKSUM = HEADER_BYTES - 4
};

static const uint64_t header_most_count = UINT64_C(1) << 62; /* of counters: far from overflowing */

static uint64_t section_padded(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* ---- sections */

enum { SHARED_MOST = 9 };

/* The sections before those of the shards, in their order; returns how many there are. */
static size_t sections_shared(const struct header *header, struct section out[SHARED_MOST])
{
    const bpcn_options *o = &header->options;
    size_t n = 0;
    out[n++] = (struct section){.tag = SECTION_NOTE, .bytes = header->note_bytes};
    if (has_shards(o))
        out[n++] = (struct section){.tag = SECTION_SHARDS, .bytes = 8 * SHARD_WORDS * (uint64_t)header->shards};
    if (o->surprises > 0)
        out[n++] = (struct section){.tag = SECTION_SURPRISES, .bytes = 8 * NOVELTY_NUMBERS * (uint64_t)header->surprises};
    if (o->names > 0)
        out[n++] = (struct section){.tag = SECTION_NAMES, .bytes = name_bytes(o) * (uint64_t)header->names};
    if (header->index_form != INDEX_NONE)
        out[n++] = (struct section){
            .tag = SECTION_INDEX,
            .bytes = index_file_bytes(header->index_form, header->index_count, o->dim, o->shards)};
    if (header->held > 0)
        out[n++] = (struct section){.tag = SECTION_HELD, .bytes = held_bytes(o) * (uint64_t)header->held};
    if (header->pairs > 0)
        out[n++] = (struct section){.tag = SECTION_SCALE, .bytes = 16 * (uint64_t)header->pairs};
    if (header->first_rows > 0)
        out[n++] = (struct section){.tag = SECTION_FIRST, .bytes = scale_row_bytes(o->dim) * (uint64_t)header->first_rows};
    return n;
}

uint64_t sections_of_shard(const struct header *header)
{
    return header->options.kind == BPCN_TABLE ? 1
                                              : 1 + (uint64_t)header->options.particles * (1 + 2 * header->options.layers);
}

/* Of those the ones before the second particle's, which are like the first's. */
static uint64_t sections_unlike(const struct header *header)
{
    return header->options.kind == BPCN_TABLE ? 1 : 2 + 2 * (uint64_t)header->options.layers;
}

uint64_t section_count(const struct header *header)
{
    struct section shared[SHARED_MOST];
    return sections_shared(header, shared) + header->shards * sections_of_shard(header);
}

static size_t layer_width(const bpcn_options *o, size_t l)
{
    return l == 0 ? o->dim : o->hidden[l - 1];
}

/* Section `index` of a shard: its weights, then of each particle the top, and mean and root of each layer. */
static void describe_in_shard(const bpcn_options *o, uint64_t index, struct section *s)
{
    uint64_t each = 1 + 2 * o->layers, within = index == 0 ? 0 : (index - 1) % each;
    s->particle = index == 0 ? 0 : (size_t)((index - 1) / each);
    s->layer = within == 0 ? 0 : (size_t)(within - 1) / 2;
    uint64_t above = within == 0 ? 0 : layer_width(o, s->layer + 1);
    if (o->kind == BPCN_TABLE) {
        s->tag = SECTION_FOREST;
        s->bytes = 8 * (uint64_t)table_words(o);
    } else if (index == 0) {
        s->tag = SECTION_WEIGHTS;
        s->bytes = 8 * (uint64_t)o->particles;
    } else if (within == 0) {
        s->tag = SECTION_TOP;
        s->bytes = 16 + 8 * (uint64_t)layer_width(o, o->layers);
    } else if (within % 2 == 1) {
        s->tag = SECTION_MEAN;
        s->bytes = above * layer_width(o, s->layer) * (o->precision == BPCN_FLOAT64 ? 8 : 4);
    } else {
        s->tag = SECTION_ROOT;
        s->bytes = above * (above + 1) / 2 * 8;
    }
}

void section_describe(const struct header *header, uint64_t index, struct section *s)
{
    struct section shared[SHARED_MOST];
    uint64_t count = sections_shared(header, shared), each = sections_of_shard(header), offset = s->offset;
    if (index < count) {
        *s = shared[index];
        s->offset = offset;
        return;
    }
    s->shard = (size_t)((index - count) / each);
    s->particle = s->layer = 0;
    describe_in_shard(&header->options, (index - count) % each, s);
}

uint64_t section_blocks(const struct section *section)
{
    return (section->bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

uint64_t section_payload(const struct section *section)
{
    return section_padded(section->bytes);
}

uint64_t section_table(const struct section *section)
{
    return section_padded(4 * section_blocks(section));
}

uint64_t section_length(const struct section *section)
{
    return SECTION_BYTES + section_table(section) + section_payload(section);
}

uint64_t section_largest_table(const struct header *header)
{
    /* all shards are alike, and all particles */
    struct section shared[SHARED_MOST];
    uint64_t most = 0, first = sections_shared(header, shared) + sections_unlike(header);
    for (uint64_t i = 0; i < first; i++) {
        struct section s = {.offset = 0};
        section_describe(header, i, &s);
        most = section_table(&s) > most ? section_table(&s) : most;
    }
    return most;
}

void section_name(const struct section *s, char *text, size_t room)
{
    char where[64] = "", shard[32] = "";
    if (s->offset != 0)
        snprintf(where, sizeof where, " (section at byte %llu)", (unsigned long long)s->offset);
    if (s->shard > 0)
        snprintf(shard, sizeof shard, "shard %zu, ", s->shard);
    const char *shared = s->tag == SECTION_NOTE        ? "note"
                         : s->tag == SECTION_SHARDS    ? "counts of the shards"
                         : s->tag == SECTION_NAMES     ? "names"
                         : s->tag == SECTION_INDEX     ? "index of the rows"
                         : s->tag == SECTION_SURPRISES ? "surprises of the latest rows"
                         : s->tag == SECTION_HELD      ? "fingerprints"
                         : s->tag == SECTION_SCALE     ? "scale of the data"
                         : s->tag == SECTION_FIRST     ? "first rows"
                         : s->tag == SECTION_FOREST    ? "trees"
                                                       : NULL;
    if (shared != NULL)
        snprintf(text, room, "the %s%s", shared, where);
    else if (s->tag == SECTION_WEIGHTS)
        snprintf(text, room, "%sthe weights%s", shard, where);
    else if (s->tag == SECTION_TOP)
        snprintf(text, room, "%sthe top of particle %zu%s", shard, s->particle, where);
    else
        snprintf(text, room, "%sthe %s of particle %zu, layer %zu%s", shard, s->tag == SECTION_MEAN ? "mean" : "root",
                 s->particle, s->layer, where);
}

/* sum + times * each, or 0 when that is more than `most`. */
static uint64_t add_times(uint64_t sum, uint64_t times, uint64_t each, uint64_t most)
{
    return sum == 0 || sum > most || each > (most - sum) / times ? 0 : sum + times * each;
}

/* Bytes of header and sections; 0 when they are more than `most`. No sum or product can overflow: the layers of one
   particle are below 2^58 bytes, and are multiplied only after a division said that they fit. */
static uint64_t snapshot_length(const struct header *header, uint64_t most)
{
    struct section s = {.offset = 0}, list[SHARED_MOST];
    uint64_t first = sections_shared(header, list), shared = SECTIONS_AT, weights = 0, each = 0;
    for (uint64_t i = 0; i < first + sections_unlike(header); i++) {
        section_describe(header, i, &s);
        *(i < first ? &shared : i == first ? &weights : &each) += section_length(&s);
    }
    uint64_t shard = add_times(weights, header->options.particles, each, most);
    return shard == 0 ? 0 : add_times(shared, header->shards, shard, most);
}

uint64_t snapshot_most(const struct header *header)
{
    struct header full = *header;
    full.shards = full.options.shards;
    full.note_bytes = BPCN_MAX_NOTE;
    full.surprises = full.options.surprises;
    full.names = full.options.names;
    full.held = full.options.deletable;
    full.first_rows = full.settled ? 0 : SCALE_SETTLED;
    if (!full.settled)
        full.pairs = full.options.scale == BPCN_SCALE_AUTO_EACH ? full.options.dim : 1;
    uint64_t most = 0;
    for (enum index_form form = INDEX_UNDECIDED; form <= INDEX_DECIDED; form++) {
        full.index_form = index_serves(&full.options) ? form : INDEX_NONE;
        full.index_count = index_most_count(full.index_form, full.options.shards, full.options.shard_rows);
        uint64_t bytes = snapshot_length(&full, UINT64_MAX / 4);
        most = bytes == 0 ? UINT64_MAX : bytes > most ? bytes : most;
    }
    return most;
}

/* ---- the header */

void header_encode(struct header *header, unsigned char out[HEADER_BYTES])
{
    const bpcn_options *o = &header->options;
    header->snapshot = snapshot_length(header, UINT64_MAX);
    memset(out, 0, HEADER_BYTES);
    memcpy(out, STORE_MAGIC, MAGIC_BYTES);
    put32(out + HEADER_AT_VERSION, STORE_VERSION);
    put32(out + HEADER_AT_FEATURES, (o->names > 0 ? FEATURE_NAMES : 0) | (o->kind == BPCN_TABLE ? FEATURE_TABLE : 0) |
                                        (header->index_form != INDEX_NONE ? FEATURE_INDEX : 0));
    put32(out + HEADER_AT_HEADER_BYTES, HEADER_BYTES);
    put32(out + HEADER_AT_BLOCK_BYTES, BLOCK_BYTES);
    put64(out + HEADER_AT_SNAPSHOT, header->snapshot);
    put64(out + HEADER_AT_GENERATION, header->generation);
    put64(out + HEADER_AT_WRITES, header->writes);
    put64(out + HEADER_AT_FORGETS, header->forgets);
    put64(out + HEADER_AT_DELETES, header->deletes);
    put64(out + HEADER_AT_SEED, o->seed);
    put_double(out + HEADER_AT_SIGMA_W, o->sigma_w);
    put_double(out + HEADER_AT_SIGMA_X, o->sigma_x);
    put_double(out + HEADER_AT_SIGMA_DATA, o->sigma_data);
    put_double(out + HEADER_AT_ADAM_RATE, o->adam_rate);
    put_double(out + HEADER_AT_ADAM_STOP, o->adam_stop);
    put64(out + HEADER_AT_ADAM_STEPS, o->adam_steps);
    put64(out + HEADER_AT_ROUNDS, o->rounds);
    put32(out + HEADER_AT_ACTIVATION, (uint32_t)o->activation);
    put32(out + HEADER_AT_MINIMIZER, (uint32_t)o->minimizer);
    put32(out + HEADER_AT_PRECISION, (uint32_t)o->precision);
    put32(out + HEADER_AT_RESAMPLE, (uint32_t)o->resample);
    put32(out + HEADER_AT_PARTICLES, (uint32_t)o->particles);
    put32(out + HEADER_AT_LAYERS, (uint32_t)o->layers);
    put32(out + HEADER_AT_DIM, (uint32_t)o->dim);
    put32(out + HEADER_AT_NOTE_BYTES, (uint32_t)header->note_bytes);
    for (size_t l = 0; l < o->layers; l++)
        put32(out + HEADER_AT_HIDDEN + 4 * l, (uint32_t)o->hidden[l]);
    if (has_shards(o)) {
        put32(out + HEADER_AT_SHARDS, (uint32_t)o->shards);
        put32(out + HEADER_AT_BEGUN, (uint32_t)header->shards);
        put32(out + HEADER_AT_SHARD_ROWS, (uint32_t)o->shard_rows);
        put32(out + HEADER_AT_WHEN_FULL, (uint32_t)o->when_full);
        put32(out + HEADER_AT_FIRST_SHARD, (uint32_t)o->first_shard);
        put32(out + HEADER_AT_SHARDS_BETWEEN, (uint32_t)(o->shard_step - 1));
    }
    put32(out + HEADER_AT_SURPRISES, (uint32_t)o->surprises);
    put32(out + HEADER_AT_KEPT, (uint32_t)header->surprises);
    put32(out + HEADER_AT_NAMES, (uint32_t)o->names);
    put32(out + HEADER_AT_NAMED, (uint32_t)header->names);
    put32(out + HEADER_AT_KIND, (uint32_t)o->kind);
    put32(out + HEADER_AT_INDEX_FORM, (uint32_t)header->index_form);
    put32(out + HEADER_AT_INDEX_COUNT, (uint32_t)header->index_count);
    put32(out + HEADER_AT_SCALE, (uint32_t)o->scale | (uint32_t)o->clip << 4 | (uint32_t)(header->settled != 0) << 5 |
                                     (uint32_t)header->first_rows << 8);
    put32(out + HEADER_AT_PAIRS, (uint32_t)header->pairs);
    put_double(out + HEADER_AT_FAR, o->far);
    put32(out + HEADER_AT_DELETABLE, (uint32_t)o->deletable);
    put32(out + HEADER_AT_HELD, (uint32_t)header->held);
    header->salt = crc32c(0, out, HEADER_AT_CHECKSUM);
    put32(out + HEADER_AT_CHECKSUM, header->salt);
}

/* Is it ours, of a version that we know, whole, and undamaged? */
static bpcn_status check_kind(const unsigned char *bytes, size_t got)
{
    if (got == 0)
        return bpcn_fail(BPCN_FORMAT, "not a bayespcn memory: the file is empty");
    if (memcmp(bytes, STORE_MAGIC, got < MAGIC_BYTES ? got : MAGIC_BYTES) != 0)
        return bpcn_fail(BPCN_FORMAT, "not a bayespcn memory: the file does not begin like one");
    if (got < HEADER_AT_HEADER_BYTES)
        return bpcn_fail(BPCN_CORRUPT, "the file is cut short: it has %zu bytes, its header alone has %d", got,
                    HEADER_BYTES);
    uint32_t version = get32(bytes + HEADER_AT_VERSION), features = get32(bytes + HEADER_AT_FEATURES);
    if (version > STORE_VERSION)
        return bpcn_fail(BPCN_NEWER, "wrong version: the file has format version %lu, this program reads version %d",
                    (unsigned long)version, STORE_VERSION);
    uint32_t unknown = features & ~(uint32_t)(FEATURE_NAMES | FEATURE_TABLE | FEATURE_INDEX);
    if (version == STORE_VERSION && unknown != 0)
        return bpcn_fail(BPCN_NEWER, "wrong version: the file needs features 0x%08lx that this program does not have",
                    (unsigned long)unknown);
    if (got < HEADER_BYTES)
        return bpcn_fail(BPCN_CORRUPT, "the file is cut short: it has %zu bytes, its header alone has %d", got,
                    HEADER_BYTES);
    uint32_t sum = crc32c(0, bytes, HEADER_AT_CHECKSUM), kept = get32(bytes + HEADER_AT_CHECKSUM);
    if (sum != kept)
        return bpcn_fail(BPCN_CORRUPT, "the header is damaged: its checksum is 0x%08lx, but 0x%08lx was kept",
                    (unsigned long)sum, (unsigned long)kept);
    if (version < STORE_VERSION)
        return bpcn_fail(BPCN_FORMAT, "wrong version: the file has format version %lu, this program reads version %d",
                         (unsigned long)version, STORE_VERSION);
    return BPCN_OK;
}

/* Whether the header describes shards: its fields for them are not all zero. */
static int says_shards(const unsigned char *bytes)
{
    uint32_t said = 0;
    for (size_t at = HEADER_AT_SHARDS; at < HEADER_AT_SURPRISES; at += 4)
        said |= get32(bytes + at);
    return said != 0;
}

static void decode_options(const unsigned char *bytes, bpcn_options *o)
{
    bpcn_options_default(o, sizeof *o);
    o->dim = get32(bytes + HEADER_AT_DIM);
    o->layers = get32(bytes + HEADER_AT_LAYERS);
    for (size_t l = 0; l < o->layers && l < BPCN_MAX_LAYERS; l++)
        o->hidden[l] = get32(bytes + HEADER_AT_HIDDEN + 4 * l);
    o->activation = (bpcn_activation)get32(bytes + HEADER_AT_ACTIVATION);
    o->particles = get32(bytes + HEADER_AT_PARTICLES);
    o->sigma_w = get_double(bytes + HEADER_AT_SIGMA_W);
    o->sigma_x = get_double(bytes + HEADER_AT_SIGMA_X);
    o->sigma_data = get_double(bytes + HEADER_AT_SIGMA_DATA);
    o->seed = get64(bytes + HEADER_AT_SEED);
    o->resample = get32(bytes + HEADER_AT_RESAMPLE) <= 1 ? (int)get32(bytes + HEADER_AT_RESAMPLE) : -1;
    o->minimizer = (bpcn_minimizer)get32(bytes + HEADER_AT_MINIMIZER);
    o->precision = (bpcn_precision)get32(bytes + HEADER_AT_PRECISION);
    o->adam_rate = get_double(bytes + HEADER_AT_ADAM_RATE);
    o->adam_stop = get_double(bytes + HEADER_AT_ADAM_STOP);
    uint64_t steps = get64(bytes + HEADER_AT_ADAM_STEPS), rounds = get64(bytes + HEADER_AT_ROUNDS);
    o->adam_steps = steps <= SIZE_MAX ? (size_t)steps : 0; /* 0 is refused */
    o->rounds = rounds <= SIZE_MAX ? (size_t)rounds : 0;
    if (says_shards(bytes)) {
        o->shards = get32(bytes + HEADER_AT_SHARDS);
        o->shard_rows = get32(bytes + HEADER_AT_SHARD_ROWS);
        o->when_full = (bpcn_when_full)get32(bytes + HEADER_AT_WHEN_FULL);
        o->first_shard = get32(bytes + HEADER_AT_FIRST_SHARD);
        o->shard_step = (size_t)get32(bytes + HEADER_AT_SHARDS_BETWEEN) + 1;
    }
    o->surprises = get32(bytes + HEADER_AT_SURPRISES);
    o->names = get32(bytes + HEADER_AT_NAMES);
    o->kind = (bpcn_kind)get32(bytes + HEADER_AT_KIND);
    o->scale = (bpcn_scale)(get32(bytes + HEADER_AT_SCALE) & 15);
    o->clip = (int)(get32(bytes + HEADER_AT_SCALE) >> 4 & 1);
    o->far = get_double(bytes + HEADER_AT_FAR);
    o->deletable = get32(bytes + HEADER_AT_DELETABLE);
}

/* Fields that can have one value only. */
static bpcn_status check_fixed(const unsigned char *bytes)
{
    uint32_t header = get32(bytes + HEADER_AT_HEADER_BYTES), block = get32(bytes + HEADER_AT_BLOCK_BYTES);
    uint32_t layers = get32(bytes + HEADER_AT_LAYERS);
    if (header != HEADER_BYTES)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: it gives its own length as %lu, not %d", (unsigned long)header,
                    HEADER_BYTES);
    if (block != BLOCK_BYTES)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: it gives blocks of %lu bytes, not %d", (unsigned long)block,
                    BLOCK_BYTES);
    for (size_t l = layers; l < BPCN_MAX_LAYERS; l++)
        if (get32(bytes + HEADER_AT_HIDDEN + 4 * l) != 0)
            return bpcn_fail(BPCN_CORRUPT, "the header is wrong: hidden[%zu] is set, but there are %lu layers", l,
                        (unsigned long)layers);
    bpcn_options options;
    decode_options(bytes, &options);
    if (says_shards(bytes) && !has_shards(&options))
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: it speaks of shards, but they do not matter to its memory");
    uint32_t features = get32(bytes + HEADER_AT_FEATURES), form = get32(bytes + HEADER_AT_INDEX_FORM);
    if (((features & FEATURE_NAMES) != 0) != (options.names > 0) ||
        ((features & FEATURE_TABLE) != 0) != (options.kind == BPCN_TABLE))
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: its features are %lu, but it keeps %zu names and is %s table",
                    (unsigned long)features, options.names, options.kind == BPCN_TABLE ? "a" : "no");
    if (((features & FEATURE_INDEX) != 0) != (form != INDEX_NONE) || form > INDEX_DECIDED)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: its features are %lu, but its index is of form %lu",
                    (unsigned long)features, (unsigned long)form);
    if (get32(bytes + HEADER_AT_UNUSED) != 0)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: reserved byte %d is not zero", HEADER_AT_UNUSED);
    for (size_t i = HEADER_AT_RESERVED; i < HEADER_AT_CHECKSUM; i++)
        if (bytes[i] != 0)
            return bpcn_fail(BPCN_CORRUPT, "the header is wrong: reserved byte %zu is not zero", i);
    return BPCN_OK;
}

static bpcn_status check_options(bpcn_options *options)
{
    bpcn_options checked;
    char reason[256];
    bpcn_status status = environment_check(); /* not the file's fault */
    if (status != BPCN_OK)
        return status;
    status = options_check(options, &checked);
    if (status == BPCN_OK && options->sigma_data == 0)
        status = bpcn_fail(BPCN_INVALID, "sigma_data is 0");
    if (status == BPCN_OK && options->deletable != checked.deletable)
        status = bpcn_fail(BPCN_INVALID, "deletable is %zu, but particles are resampled", options->deletable);
    if (status == BPCN_OK && !(options->far > 0))
        status = bpcn_fail(BPCN_INVALID, "far is 0");
    if (status == BPCN_OK && has_shards(options) && options->shard_rows == 0)
        status = bpcn_fail(BPCN_INVALID, "shard_rows is 0");
    if (status == BPCN_OK && options->kind == BPCN_TABLE &&
        (options->layers != 0 || options->precision != BPCN_FLOAT64 || options->minimizer != BPCN_LBFGS))
        status = bpcn_fail(BPCN_INVALID, "a table has no layers and is in float64");
    if (status == BPCN_OK) {
        options->shard_rows = checked.shard_rows;
        options->shard_step = checked.shard_step;
        return BPCN_OK;
    }
    snprintf(reason, sizeof reason, "%s", bpcn_error());
    return bpcn_fail(BPCN_CORRUPT, "the header is wrong: %s", reason);
}

static bpcn_status check_counts(const struct header *h)
{
    const uint64_t counts[] = {h->generation, h->writes, h->forgets, h->deletes};
    static const char *const names[] = {"generation", "writes", "forgets", "deletes"};
    for (size_t i = 0; i < 4; i++)
        if (counts[i] > header_most_count)
            return bpcn_fail(BPCN_CORRUPT, "the header is wrong: %s is %llu, more than can be", names[i],
                        (unsigned long long)counts[i]);
    if (h->shards < 1 || h->shards > h->options.shards)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: %zu shards of %zu have begun", h->shards, h->options.shards);
    if (h->surprises > h->options.surprises)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: %zu surprises of %zu are kept", h->surprises,
                    h->options.surprises);
    if (h->names > h->options.names)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: %zu names of %zu are kept", h->names, h->options.names);
    if (h->index_form != INDEX_NONE && !index_serves(&h->options))
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: a memory of its options has no index of its rows");
    if (h->index_count > index_most_count(h->index_form, h->options.shards, h->options.shard_rows))
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: its index of the rows is larger than the memory");
    if (h->held > h->options.deletable)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: %zu fingerprints of %zu are kept", h->held,
                         h->options.deletable);
    if (h->pairs > 1 ? h->pairs != h->options.dim || h->options.scale != BPCN_SCALE_AUTO_EACH
                     : h->pairs > (h->options.scale != BPCN_SCALE_AS_GIVEN))
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: %zu pairs of centre and scale", h->pairs);
    if (h->first_rows >= SCALE_SETTLED || (h->settled && h->first_rows > 0) || h->first_rows > h->writes)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: %zu first rows are kept", h->first_rows);
    if (h->note_bytes > BPCN_MAX_NOTE)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: a note of %zu bytes is too long", h->note_bytes);
    return BPCN_OK;
}

static bpcn_status check_length(const struct header *h, uint64_t length)
{
    uint64_t expected = snapshot_length(h, UINT64_MAX / 2);
    if (expected == 0 || expected > SIZE_MAX / 4)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: a memory of its shape fits no file");
    if (h->snapshot != expected)
        return bpcn_fail(BPCN_CORRUPT, "the header is wrong: it gives %llu bytes for a memory of %llu",
                    (unsigned long long)h->snapshot, (unsigned long long)expected);
    if (expected > length)
        return bpcn_fail(BPCN_CORRUPT, "the file is cut short: it has %llu bytes, its header says %llu",
                    (unsigned long long)length, (unsigned long long)expected);
    return BPCN_OK;
}

bpcn_status header_decode(const unsigned char *bytes, size_t got, uint64_t length, struct header *h)
{
    bpcn_status status = check_kind(bytes, got);
    if (status != BPCN_OK)
        return status;
    *h = (struct header){.snapshot = get64(bytes + HEADER_AT_SNAPSHOT),
                         .generation = get64(bytes + HEADER_AT_GENERATION),
                         .writes = get64(bytes + HEADER_AT_WRITES),
                         .forgets = get64(bytes + HEADER_AT_FORGETS),
                         .deletes = get64(bytes + HEADER_AT_DELETES),
                         .shards = says_shards(bytes) ? get32(bytes + HEADER_AT_BEGUN) : 1,
                         .note_bytes = get32(bytes + HEADER_AT_NOTE_BYTES),
                         .surprises = get32(bytes + HEADER_AT_KEPT),
                         .names = get32(bytes + HEADER_AT_NAMED),
                         .index_form = (enum index_form)get32(bytes + HEADER_AT_INDEX_FORM),
                         .index_count = get32(bytes + HEADER_AT_INDEX_COUNT),
                         .held = get32(bytes + HEADER_AT_HELD),
                         .pairs = get32(bytes + HEADER_AT_PAIRS),
                         .first_rows = get32(bytes + HEADER_AT_SCALE) >> 8,
                         .settled = (int)(get32(bytes + HEADER_AT_SCALE) >> 5 & 1),
                         .salt = get32(bytes + HEADER_AT_CHECKSUM)};
    decode_options(bytes, &h->options);
    status = check_options(&h->options);
    if (status == BPCN_OK)
        status = check_fixed(bytes);
    if (status == BPCN_OK)
        status = check_counts(h);
    return status == BPCN_OK ? check_length(h, length) : status;
}
