/* The header of a memory file, in bytes and back, and the arithmetic of its sections. */
#include "store_format.h"

#include "error.h"
#include "names.h"
#include "options.h"
#include "seal.h"
#include "store_bytes.h"
#include "store_crc.h"
#include "surprise.h"

#include <stdio.h>

/* Where the header's fields are. */
enum {
    AT_VERSION = 8,
    AT_FEATURES = 12,
    AT_HEADER_BYTES = 16,
    AT_BLOCK_BYTES = 20,
    AT_SNAPSHOT = 24,
    AT_GENERATION = 32,
    AT_WRITES = 40,
    AT_FORGETS = 48,
    AT_DELETES = 56,
    AT_SEED = 64,
    AT_SIGMA_W = 72,
    AT_SIGMA_X = 80,
    AT_SIGMA_DATA = 88,
    AT_ADAM_RATE = 96,
    AT_ADAM_STOP = 104,
    AT_ADAM_STEPS = 112,
    AT_ROUNDS = 120,
    AT_ACTIVATION = 128,
    AT_MINIMIZER = 132,
    AT_PRECISION = 136,
    AT_RESAMPLE = 140,
    AT_PARTICLES = 144,
    AT_LAYERS = 148,
    AT_DIM = 152,
    AT_NOTE_BYTES = 156,
    AT_HIDDEN = 160,
    AT_SHARDS = AT_HIDDEN + 4 * BPCN_MAX_LAYERS, /* reserved from here on in version 1 */
    AT_BEGUN = AT_SHARDS + 4,
    AT_SHARD_ROWS = AT_SHARDS + 8,
    AT_WHEN_FULL = AT_SHARDS + 12,
    AT_FIRST_SHARD = AT_SHARDS + 16,
    AT_SHARDS_BETWEEN = AT_SHARDS + 20,
    AT_SURPRISES = AT_SHARDS + 24, /* reserved from here on in version 2 */
    AT_KEPT = AT_SURPRISES + 4,
    AT_VIEWS = AT_SURPRISES + 8,
    AT_NAMES = AT_SURPRISES + 12,
    AT_NAMED = AT_SURPRISES + 16,
    AT_RESERVED = AT_SURPRISES + 20,
    AT_CHECKSUM = HEADER_BYTES - 4
};

static const uint64_t most_count = UINT64_C(1) << 62; /* of counters: far from overflowing */

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* ---- sections */

/* Sections before those of the shards, and of each shard. */
static uint64_t sections_shared(const struct header *header)
{
    return 1 + (uint64_t)has_shards(&header->options) + (header->options.surprises > 0) + (header->options.names > 0);
}

uint64_t sections_of_shard(const struct header *header)
{
    return 1 + (uint64_t)header->options.particles * (1 + 2 * header->options.layers);
}

uint64_t section_count(const struct header *header)
{
    return sections_shared(header) + header->shards * sections_of_shard(header);
}

static size_t width(const bpcn_options *o, size_t l)
{
    return l == 0 ? o->dim : o->hidden[l - 1];
}

/* Section `index` of a shard: its weights, then of each particle the top, and mean and root of each layer. */
static void describe_in_shard(const bpcn_options *o, uint64_t index, struct section *s)
{
    uint64_t each = 1 + 2 * o->layers, within = index == 0 ? 0 : (index - 1) % each;
    s->particle = index == 0 ? 0 : (size_t)((index - 1) / each);
    s->layer = within == 0 ? 0 : (size_t)(within - 1) / 2;
    uint64_t above = within == 0 ? 0 : width(o, s->layer + 1);
    if (index == 0) {
        s->tag = SECTION_WEIGHTS;
        s->bytes = 8 * (uint64_t)o->particles;
    } else if (within == 0) {
        s->tag = SECTION_TOP;
        s->bytes = 16 + 8 * (uint64_t)width(o, o->layers);
    } else if (within % 2 == 1) {
        s->tag = SECTION_MEAN;
        s->bytes = above * width(o, s->layer) * (o->precision == BPCN_FLOAT64 ? 8 : 4);
    } else {
        s->tag = SECTION_ROOT;
        s->bytes = above * (above + 1) / 2 * 8;
    }
}

void section_describe(const struct header *header, uint64_t index, struct section *s)
{
    uint64_t shared = sections_shared(header), each = sections_of_shard(header);
    s->shard = s->particle = s->layer = 0;
    if (index == 0) {
        s->tag = SECTION_NOTE;
        s->bytes = header->note_bytes;
    } else if (index == 1 && has_shards(&header->options)) {
        s->tag = SECTION_SHARDS;
        s->bytes = 8 * SHARD_WORDS * (uint64_t)header->shards;
    } else if (index + 1 == shared && header->options.names > 0) {
        s->tag = SECTION_NAMES;
        s->bytes = name_bytes(&header->options) * (uint64_t)header->names;
    } else if (index < shared) {
        s->tag = SECTION_SURPRISES;
        s->bytes = 8 * SURPRISE_NUMBERS * (uint64_t)header->surprises;
    } else {
        s->shard = (size_t)((index - shared) / each);
        describe_in_shard(&header->options, (index - shared) % each, s);
    }
}

uint64_t section_blocks(const struct section *section)
{
    return (section->bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

uint64_t section_payload(const struct section *section)
{
    return padded(section->bytes);
}

uint64_t section_table(const struct section *section)
{
    return padded(4 * section_blocks(section));
}

uint64_t section_length(const struct section *section)
{
    return SECTION_BYTES + section_table(section) + section_payload(section);
}

uint64_t section_largest_table(const struct header *header)
{
    /* all shards are alike, and all particles */
    uint64_t most = 0, first = sections_shared(header) + 2 + 2 * (uint64_t)header->options.layers;
    for (uint64_t i = 0; i < first; i++) {
        struct section s;
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
    if (s->tag == SECTION_NOTE || s->tag == SECTION_SHARDS || s->tag == SECTION_SURPRISES || s->tag == SECTION_NAMES)
        snprintf(text, room, "the %s%s",
                 s->tag == SECTION_NOTE     ? "note"
                 : s->tag == SECTION_SHARDS ? "counts of the shards"
                 : s->tag == SECTION_NAMES  ? "names"
                                            : "surprises of the latest rows",
                 where);
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
    struct section s;
    uint64_t first = sections_shared(header), shared = sections_at(header), weights = 0, each = 0;
    for (uint64_t i = 0; i < first + 2 + 2 * (uint64_t)header->options.layers; i++) {
        section_describe(header, i, &s);
        *(i < first ? &shared : i == first ? &weights : &each) += section_length(&s);
    }
    uint64_t shard = add_times(weights, header->options.particles, each, most);
    return shard == 0 ? 0 : add_times(shared, header->shards, shard, most);
}

uint64_t sections_at(const struct header *header)
{
    return HEADER_BYTES + (header->version < 3 ? 0 : SEALS * SEAL_BYTES);
}

uint64_t snapshot_most(const struct header *header)
{
    struct header full = *header;
    full.shards = full.options.shards;
    full.note_bytes = BPCN_MAX_NOTE;
    full.surprises = full.options.surprises;
    full.names = full.options.names;
    uint64_t bytes = snapshot_length(&full, UINT64_MAX / 4);
    return bytes > 0 ? bytes : UINT64_MAX;
}

/* ---- the header */

void header_encode(struct header *header, unsigned char out[HEADER_BYTES])
{
    const bpcn_options *o = &header->options;
    header->version = STORE_VERSION;
    header->snapshot = snapshot_length(header, UINT64_MAX);
    memset(out, 0, HEADER_BYTES);
    memcpy(out, STORE_MAGIC, MAGIC_BYTES);
    put32(out + AT_VERSION, header->version);
    put32(out + AT_FEATURES, o->names > 0 ? FEATURE_NAMES : 0);
    put32(out + AT_HEADER_BYTES, HEADER_BYTES);
    put32(out + AT_BLOCK_BYTES, BLOCK_BYTES);
    put64(out + AT_SNAPSHOT, header->snapshot);
    put64(out + AT_GENERATION, header->generation);
    put64(out + AT_WRITES, header->writes);
    put64(out + AT_FORGETS, header->forgets);
    put64(out + AT_DELETES, header->deletes);
    put64(out + AT_SEED, o->seed);
    put_double(out + AT_SIGMA_W, o->sigma_w);
    put_double(out + AT_SIGMA_X, o->sigma_x);
    put_double(out + AT_SIGMA_DATA, o->sigma_data);
    put_double(out + AT_ADAM_RATE, o->adam_rate);
    put_double(out + AT_ADAM_STOP, o->adam_stop);
    put64(out + AT_ADAM_STEPS, o->adam_steps);
    put64(out + AT_ROUNDS, o->rounds);
    put32(out + AT_ACTIVATION, (uint32_t)o->activation);
    put32(out + AT_MINIMIZER, (uint32_t)o->minimizer);
    put32(out + AT_PRECISION, (uint32_t)o->precision);
    put32(out + AT_RESAMPLE, (uint32_t)o->resample);
    put32(out + AT_PARTICLES, (uint32_t)o->particles);
    put32(out + AT_LAYERS, (uint32_t)o->layers);
    put32(out + AT_DIM, (uint32_t)o->dim);
    put32(out + AT_NOTE_BYTES, (uint32_t)header->note_bytes);
    for (size_t l = 0; l < o->layers; l++)
        put32(out + AT_HIDDEN + 4 * l, (uint32_t)o->hidden[l]);
    if (has_shards(o)) {
        put32(out + AT_SHARDS, (uint32_t)o->shards);
        put32(out + AT_BEGUN, (uint32_t)header->shards);
        put32(out + AT_SHARD_ROWS, (uint32_t)o->shard_rows);
        put32(out + AT_WHEN_FULL, (uint32_t)o->when_full);
        put32(out + AT_FIRST_SHARD, (uint32_t)o->first_shard);
        put32(out + AT_SHARDS_BETWEEN, (uint32_t)(o->shard_step - 1));
    }
    if (header->version > 2) {
        put32(out + AT_SURPRISES, (uint32_t)o->surprises);
        put32(out + AT_KEPT, (uint32_t)header->surprises);
        put32(out + AT_VIEWS, (uint32_t)o->views);
        put32(out + AT_NAMES, (uint32_t)o->names);
        put32(out + AT_NAMED, (uint32_t)header->names);
    }
    header->salt = crc32c(0, out, AT_CHECKSUM);
    put32(out + AT_CHECKSUM, header->salt);
}

/* Is it ours, of a version that we know, whole, and undamaged? */
static bpcn_status check_kind(const unsigned char *bytes, size_t got)
{
    if (got == 0)
        return fail(BPCN_FORMAT, "not a bayespcn memory: the file is empty");
    if (memcmp(bytes, STORE_MAGIC, got < MAGIC_BYTES ? got : MAGIC_BYTES) != 0)
        return fail(BPCN_FORMAT, "not a bayespcn memory: the file does not begin like one");
    if (got < AT_HEADER_BYTES)
        return fail(BPCN_CORRUPT, "the file is cut short: it has %zu bytes, its header alone has %d", got,
                    HEADER_BYTES);
    uint32_t version = get32(bytes + AT_VERSION), features = get32(bytes + AT_FEATURES);
    if (version > STORE_VERSION)
        return fail(BPCN_NEWER, "wrong version: the file has format version %lu, this program reads up to %d",
                    (unsigned long)version, STORE_VERSION);
    if (version >= 1 && (features & ~(uint32_t)FEATURE_NAMES) != 0)
        return fail(BPCN_NEWER, "wrong version: the file needs features 0x%08lx that this program does not have",
                    (unsigned long)(features & ~(uint32_t)FEATURE_NAMES));
    if (got < HEADER_BYTES)
        return fail(BPCN_CORRUPT, "the file is cut short: it has %zu bytes, its header alone has %d", got,
                    HEADER_BYTES);
    uint32_t sum = crc32c(0, bytes, AT_CHECKSUM), kept = get32(bytes + AT_CHECKSUM);
    if (sum != kept)
        return fail(BPCN_CORRUPT, "the header is damaged: its checksum is 0x%08lx, but 0x%08lx was kept",
                    (unsigned long)sum, (unsigned long)kept);
    if (version < 1)
        return fail(BPCN_CORRUPT, "the header is wrong: there is no format version %lu", (unsigned long)version);
    return BPCN_OK;
}

/* Whether the header has fields of shards: in version 3, where they are not all zero. */
static int says_shards(const unsigned char *bytes)
{
    uint32_t version = get32(bytes + AT_VERSION), said = 0;
    for (size_t at = AT_SHARDS; at < AT_SURPRISES; at += 4)
        said |= get32(bytes + at);
    return version == 2 || (version > 2 && said != 0);
}

static void decode_options(const unsigned char *bytes, bpcn_options *o)
{
    bpcn_options_default(o, sizeof *o);
    o->dim = get32(bytes + AT_DIM);
    o->layers = get32(bytes + AT_LAYERS);
    for (size_t l = 0; l < o->layers && l < BPCN_MAX_LAYERS; l++)
        o->hidden[l] = get32(bytes + AT_HIDDEN + 4 * l);
    o->activation = (bpcn_activation)get32(bytes + AT_ACTIVATION);
    o->particles = get32(bytes + AT_PARTICLES);
    o->sigma_w = get_double(bytes + AT_SIGMA_W);
    o->sigma_x = get_double(bytes + AT_SIGMA_X);
    o->sigma_data = get_double(bytes + AT_SIGMA_DATA);
    o->seed = get64(bytes + AT_SEED);
    o->resample = get32(bytes + AT_RESAMPLE) <= 1 ? (int)get32(bytes + AT_RESAMPLE) : -1;
    o->minimizer = (bpcn_minimizer)get32(bytes + AT_MINIMIZER);
    o->precision = (bpcn_precision)get32(bytes + AT_PRECISION);
    o->adam_rate = get_double(bytes + AT_ADAM_RATE);
    o->adam_stop = get_double(bytes + AT_ADAM_STOP);
    uint64_t steps = get64(bytes + AT_ADAM_STEPS), rounds = get64(bytes + AT_ROUNDS);
    o->adam_steps = steps <= SIZE_MAX ? (size_t)steps : 0; /* 0 is refused */
    o->rounds = rounds <= SIZE_MAX ? (size_t)rounds : 0;
    if (says_shards(bytes)) {
        o->shards = get32(bytes + AT_SHARDS);
        o->shard_rows = get32(bytes + AT_SHARD_ROWS);
        o->when_full = (bpcn_when_full)get32(bytes + AT_WHEN_FULL);
        o->first_shard = get32(bytes + AT_FIRST_SHARD);
        o->shard_step = (size_t)get32(bytes + AT_SHARDS_BETWEEN) + 1;
    }
    o->surprises = get32(bytes + AT_VERSION) > 2 ? get32(bytes + AT_SURPRISES) : 0;
    o->views = get32(bytes + AT_VERSION) > 2 ? get32(bytes + AT_VIEWS) : 0;
    o->names = get32(bytes + AT_VERSION) > 2 ? get32(bytes + AT_NAMES) : 0;
}

/* Fields that can have one value only. */
static bpcn_status check_fixed(const unsigned char *bytes)
{
    uint32_t header = get32(bytes + AT_HEADER_BYTES), block = get32(bytes + AT_BLOCK_BYTES);
    uint32_t layers = get32(bytes + AT_LAYERS);
    if (header != HEADER_BYTES)
        return fail(BPCN_CORRUPT, "the header is wrong: it gives its own length as %lu, not %d", (unsigned long)header,
                    HEADER_BYTES);
    if (block != BLOCK_BYTES)
        return fail(BPCN_CORRUPT, "the header is wrong: it gives blocks of %lu bytes, not %d", (unsigned long)block,
                    BLOCK_BYTES);
    for (size_t l = layers; l < BPCN_MAX_LAYERS; l++)
        if (get32(bytes + AT_HIDDEN + 4 * l) != 0)
            return fail(BPCN_CORRUPT, "the header is wrong: hidden[%zu] is set, but there are %lu layers", l,
                        (unsigned long)layers);
    bpcn_options options;
    decode_options(bytes, &options);
    if (says_shards(bytes) && !has_shards(&options))
        return fail(BPCN_CORRUPT, "the header is wrong: it speaks of shards, but they do not matter to its memory");
    if ((get32(bytes + AT_FEATURES) == FEATURE_NAMES) != (options.names > 0))
        return fail(BPCN_CORRUPT, "the header is wrong: its features are %lu, but it keeps %zu names",
                    (unsigned long)get32(bytes + AT_FEATURES), options.names);
    static const size_t reserved_from[] = {AT_SHARDS, AT_SURPRISES, AT_RESERVED}; /* in versions 1, 2 and 3 */
    for (size_t i = reserved_from[get32(bytes + AT_VERSION) - 1]; i < AT_CHECKSUM; i++)
        if (bytes[i] != 0)
            return fail(BPCN_CORRUPT, "the header is wrong: reserved byte %zu is not zero", i);
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
        status = fail(BPCN_INVALID, "sigma_data is 0");
    if (status == BPCN_OK && has_shards(options) && options->shard_rows == 0)
        status = fail(BPCN_INVALID, "shard_rows is 0");
    if (status == BPCN_OK) {
        options->shard_rows = checked.shard_rows;
        options->shard_step = checked.shard_step;
        return BPCN_OK;
    }
    snprintf(reason, sizeof reason, "%s", bpcn_error());
    return fail(BPCN_CORRUPT, "the header is wrong: %s", reason);
}

static bpcn_status check_counts(const struct header *h)
{
    const uint64_t counts[] = {h->generation, h->writes, h->forgets, h->deletes};
    static const char *const names[] = {"generation", "writes", "forgets", "deletes"};
    for (size_t i = 0; i < 4; i++)
        if (counts[i] > most_count)
            return fail(BPCN_CORRUPT, "the header is wrong: %s is %llu, more than can be", names[i],
                        (unsigned long long)counts[i]);
    if (h->shards < (h->options.views > 0 ? h->options.shards : 1) || h->shards > h->options.shards)
        return fail(BPCN_CORRUPT, "the header is wrong: %zu shards of %zu have begun", h->shards, h->options.shards);
    if (h->surprises > h->options.surprises)
        return fail(BPCN_CORRUPT, "the header is wrong: %zu surprises of %zu are kept", h->surprises,
                    h->options.surprises);
    if (h->names > h->options.names)
        return fail(BPCN_CORRUPT, "the header is wrong: %zu names of %zu are kept", h->names, h->options.names);
    if (h->note_bytes > BPCN_MAX_NOTE)
        return fail(BPCN_CORRUPT, "the header is wrong: a note of %zu bytes is too long", h->note_bytes);
    return BPCN_OK;
}

static bpcn_status check_length(const struct header *h, uint64_t length)
{
    uint64_t expected = snapshot_length(h, UINT64_MAX / 2);
    if (expected == 0 || expected > SIZE_MAX / 4)
        return fail(BPCN_CORRUPT, "the header is wrong: a memory of its shape fits no file");
    if (h->snapshot != expected)
        return fail(BPCN_CORRUPT, "the header is wrong: it gives %llu bytes for a memory of %llu",
                    (unsigned long long)h->snapshot, (unsigned long long)expected);
    if (expected > length)
        return fail(BPCN_CORRUPT, "the file is cut short: it has %llu bytes, its header says %llu",
                    (unsigned long long)length, (unsigned long long)expected);
    return BPCN_OK;
}

bpcn_status header_decode(const unsigned char *bytes, size_t got, uint64_t length, struct header *h)
{
    bpcn_status status = check_kind(bytes, got);
    if (status != BPCN_OK)
        return status;
    *h = (struct header){.version = get32(bytes + AT_VERSION),
                         .snapshot = get64(bytes + AT_SNAPSHOT),
                         .generation = get64(bytes + AT_GENERATION),
                         .writes = get64(bytes + AT_WRITES),
                         .forgets = get64(bytes + AT_FORGETS),
                         .deletes = get64(bytes + AT_DELETES),
                         .shards = says_shards(bytes) ? get32(bytes + AT_BEGUN) : 1,
                         .note_bytes = get32(bytes + AT_NOTE_BYTES),
                         .surprises = get32(bytes + AT_VERSION) > 2 ? get32(bytes + AT_KEPT) : 0,
                         .names = get32(bytes + AT_VERSION) > 2 ? get32(bytes + AT_NAMED) : 0,
                         .salt = get32(bytes + AT_CHECKSUM)};
    decode_options(bytes, &h->options);
    status = check_options(&h->options);
    if (status == BPCN_OK)
        status = check_fixed(bytes);
    if (status == BPCN_OK)
        status = check_counts(h);
    return status == BPCN_OK ? check_length(h, length) : status;
}
