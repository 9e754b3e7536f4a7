/*
 * Sections go out and come in block by block through one buffer, so that a memory is never held twice. The first part
 * turns the state into payloads and back and says what a state must be; the second writes and reads the file.
 */
#include "snapshot.h"

#include "alloc.h"
#include "cholesky.h"
#include "error.h"
#include "shard.h"
#include "shards.h"
#include "table.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- state and payloads */

/* Roots are rounded to float for inference, and their squares must be finite. */
static const double most_root = 1e38;
static const uint64_t state_most_count = UINT64_C(1) << 62; /* far from overflowing */

void snapshot_describe(const struct contents *contents, uint64_t generation, struct header *header)
{
    *header = (struct header){.options = contents->options,
                              .generation = generation,
                              .writes = contents->writes,
                              .forgets = contents->forgets,
                              .deletes = contents->deletes,
                              .shards = contents->count,
                              .note_bytes = contents->note_bytes,
                              .surprises = contents->surprises.count,
                              .names = contents->names.count,
                              .index_form = index_form(contents->index),
                              .index_count = index_count(contents->index),
                              .held = contents->held.count,
                              .pairs = contents->scale.pairs,
                              .first_rows = contents->scale.rows,
                              .settled = contents->scale.settled};
}

/* ---- arrays of one kind of number */

/* The array behind a section and the size of its entries; tops are not one array. */
static void *section_array(const struct contents *contents, const struct section *section, size_t *size)
{
    const struct model *model = contents->shard[section->shard];
    struct layer *layer = &model->particles[section->particle].layer[section->layer];
    *size = 8;
    switch (section->tag) {
    case SECTION_NOTE:
        *size = 1;
        return contents->note;
    case SECTION_NAMES:
        *size = 1;
        return contents->names.slot;
    case SECTION_FOREST:
        return forest_state(model->forest);
    case SECTION_HELD:
        *size = 1;
        return contents->held.slot;
    case SECTION_FIRST:
        *size = 1;
        return contents->scale.row;
    case SECTION_SCALE:
        return contents->scale.pair;
    case SECTION_WEIGHTS:
        return model->log_weights;
    case SECTION_MEAN:
        *size = real_size(model);
        return layer->mean;
    case SECTION_ROOT:
        return layer->root;
    case SECTION_TOP:
    case SECTION_SHARDS:
    case SECTION_SURPRISES:
    case SECTION_INDEX:
        break;
    }
    return NULL;
}

/* One of the counts of a shard. */
static uint64_t *shard_word(const struct contents *contents, size_t word)
{
    size_t k = word / SHARD_WORDS;
    struct model *model = contents->shard[k];
    uint64_t *words[SHARD_WORDS] = {&contents->rows[k], &contents->begun[k], &model->writes, &model->forgets,
                                    &model->deletes};
    return words[word % SHARD_WORDS];
}

/* One of the numbers that are kept about surprises. */
static double *surprise_number(const struct contents *contents, size_t i)
{
    return novelty_history_number(&contents->surprises, i / NOVELTY_NUMBERS, i % NOVELTY_NUMBERS);
}

/* A top is a row of 8-byte words: origin, variance, mean. */
static void encode_top(const struct particle *particle, size_t first, size_t words, unsigned char *out)
{
    for (size_t w = first; w < first + words; w++, out += 8) {
        if (w == 0)
            put64(out, particle->origin);
        else
            put_double(out, w == 1 ? particle->top_variance : particle->top_mean[w - 2]);
    }
}

static void decode_top(struct particle *particle, size_t first, size_t words, const unsigned char *in)
{
    for (size_t w = first; w < first + words; w++, in += 8) {
        if (w == 0)
            particle->origin = get64(in) < SIZE_MAX ? (size_t)get64(in) : SIZE_MAX;
        else
            *(w == 1 ? &particle->top_variance : &particle->top_mean[w - 2]) = get_double(in);
    }
}

void state_encode(const struct contents *contents, const struct section *section, uint64_t first, size_t n,
                  unsigned char *out)
{
    size_t size;
    const unsigned char *array = section_array(contents, section, &size);
    if (section->tag == SECTION_TOP)
        encode_top(&contents->shard[section->shard]->particles[section->particle], (size_t)first / 8, n / 8, out);
    else if (section->tag == SECTION_INDEX)
        index_encode(contents->index, first, n, out);
    else if (section->tag == SECTION_SHARDS)
        for (size_t w = 0; w < n / 8; w++)
            put64(out + 8 * w, *shard_word(contents, (size_t)first / 8 + w));
    else if (section->tag == SECTION_SURPRISES)
        for (size_t w = 0; w < n / 8; w++)
            put_double(out + 8 * w, *surprise_number(contents, (size_t)first / 8 + w));
    else if (size == 1)
        memcpy(out, array + first, n);
    else
        put_reals(out, array + first, n / size, size);
}

void state_decode(struct contents *contents, const struct section *section, uint64_t first, size_t n,
                  const unsigned char *in)
{
    size_t size;
    unsigned char *array = section_array(contents, section, &size);
    if (section->tag == SECTION_TOP)
        decode_top(&contents->shard[section->shard]->particles[section->particle], (size_t)first / 8, n / 8, in);
    else if (section->tag == SECTION_INDEX)
        index_decode(contents->index, first, n, in);
    else if (section->tag == SECTION_SHARDS)
        for (size_t w = 0; w < n / 8; w++)
            *shard_word(contents, (size_t)first / 8 + w) = get64(in + 8 * w);
    else if (section->tag == SECTION_SURPRISES)
        for (size_t w = 0; w < n / 8; w++)
            *surprise_number(contents, (size_t)first / 8 + w) = get_double(in + 8 * w);
    else if (size == 1)
        memcpy(array + first, in, n);
    else
        get_reals(array + first, in, n / size, size);
}

/* ---- laws */

/* Exponents all ones mark NaN and infinity. Whole blocks are tested without a branch. */
static int all_finite32(const float *x, size_t n)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, 4);
        bad |= (bits & UINT32_C(0x7f800000)) == UINT32_C(0x7f800000);
    }
    return !bad;
}

static int all_within(const double *x, size_t n, double most)
{
    int fine = 1;
    for (size_t i = 0; i < n; i++)
        fine &= fabs(x[i]) <= most;
    return fine;
}

size_t snapshot_first_unsound(const void *values, size_t n, size_t size, double most)
{
    const float *narrow = values;
    const double *wide = values;
    size_t i = 0;
    if (size == 4 ? all_finite32(narrow, n) : all_within(wide, n, most))
        return n;
    while (size == 4 ? isfinite(narrow[i]) : fabs(wide[i]) <= most)
        i++;
    return i;
}

int snapshot_weights_sound(size_t n, const double *log_weights)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        if (!(log_weights[k] <= 1e-6)) /* rounding of log 1; -infinity is a particle without weight */
            return 0;
        sum += exp(log_weights[k]);
    }
    return fabs(sum - 1) < 1e-6; /* rounding: 2^16 terms of 1e-16, with room */
}

static bpcn_status unsound(const struct section *section, const char *what)
{
    char name[128];
    section_name(section, name, sizeof name);
    return bpcn_fail(BPCN_CORRUPT, "%s: %s", name, what);
}

bpcn_status state_check_part(const struct contents *contents, const struct section *section, uint64_t first, size_t n)
{
    size_t size, bad;
    char what[64];
    const unsigned char *array = section_array(contents, section, &size);
    if (section->tag != SECTION_MEAN && section->tag != SECTION_ROOT)
        return BPCN_OK; /* small: looked at when whole */
    bad = snapshot_first_unsound(array + first, n / size, size, section->tag == SECTION_ROOT ? most_root : DBL_MAX);
    if (bad == n / size)
        return BPCN_OK;
    snprintf(what, sizeof what, "entry %llu is not finite or too large", (unsigned long long)(first / size + bad));
    return unsound(section, what);
}

static bpcn_status state_check_top(const struct model *model, const struct section *section)
{
    const struct particle *particle = &model->particles[section->particle];
    if (particle->origin >= model->options.particles)
        return unsound(section, "its origin is no particle");
    if (!(particle->top_variance >= DBL_MIN && particle->top_variance <= DBL_MAX))
        return unsound(section, "its variance is not a positive number");
    if (snapshot_first_unsound(particle->top_mean, top_width(model), 8, DBL_MAX) != top_width(model))
        return unsound(section, "its mean is not finite");
    return BPCN_OK;
}

/* U = R'R with R triangular is positive definite exactly when R has no zero on its diagonal; that
   it is positive is how R is made unique. */
static bpcn_status state_check_diagonal(const struct layer *layer, const struct section *section)
{
    char what[128];
    for (size_t j = 0; j < layer->above; j++)
        if (!(layer->root[cholesky_row(layer->above, j)] > 0)) {
            snprintf(what, sizeof what, "the covariance is not positive definite, entry %zu of the diagonal is %g", j,
                     layer->root[cholesky_row(layer->above, j)]);
            return unsound(section, what);
        }
    return BPCN_OK;
}

/* No shard has more rows than the memory was written since it began. */
static bpcn_status state_check_counts(const struct contents *contents, const struct section *section)
{
    char what[96];
    for (size_t w = 0; w < SHARD_WORDS * contents->count; w++)
        if (*shard_word(contents, w) > state_most_count) {
            snprintf(what, sizeof what, "count %zu of shard %zu is more than can be", w % SHARD_WORDS, w / SHARD_WORDS);
            return unsound(section, what);
        }
    for (size_t k = 0; k < contents->count; k++)
        if (contents->begun[k] + contents->rows[k] > contents->writes) {
            snprintf(what, sizeof what, "shard %zu has more rows than were written since it began", k);
            return unsound(section, what);
        }
    return BPCN_OK;
}

static bpcn_status state_check_surprises(const struct contents *contents, const struct section *section)
{
    char what[64];
    for (size_t i = 0; i < contents->surprises.count; i++)
        if (!novelty_sound(&contents->surprises.row[i])) {
            snprintf(what, sizeof what, "what is kept of row %zu cannot be", i);
            return unsound(section, what);
        }
    return BPCN_OK;
}

static bpcn_status state_check_held(const struct contents *contents, const struct section *section)
{
    char what[96];
    for (size_t i = 0; i < contents->held.count; i++) {
        const char *wrong = held_wrong(&contents->held, i, contents->count);
        if (wrong == NULL)
            continue;
        snprintf(what, sizeof what, "%s cannot be, of what is kept of row %zu", wrong, i);
        return unsound(section, what);
    }
    return BPCN_OK;
}

static bpcn_status state_check_names(const struct contents *contents, const struct section *section)
{
    char what[96];
    for (size_t i = 0; i < contents->names.count; i++) {
        const char *wrong = named_wrong(&contents->names, i, contents->count, contents->options.particles);
        if (wrong == NULL)
            continue;
        snprintf(what, sizeof what, "%s cannot be, of what is kept of row %zu", wrong, i);
        return unsound(section, what);
    }
    return BPCN_OK;
}

bpcn_status state_check_section(const struct contents *contents, const struct section *section)
{
    const struct model *model = contents->shard[section->shard];
    if (section->tag == SECTION_SHARDS)
        return state_check_counts(contents, section);
    if (section->tag == SECTION_SURPRISES)
        return state_check_surprises(contents, section);
    if (section->tag == SECTION_NAMES)
        return state_check_names(contents, section);
    if (section->tag == SECTION_HELD)
        return state_check_held(contents, section);
    if (section->tag == SECTION_SCALE || section->tag == SECTION_FIRST || section->tag == SECTION_FOREST ||
        section->tag == SECTION_INDEX) {
        const char *wrong = section->tag == SECTION_INDEX    ? index_check(contents->index)
                            : section->tag == SECTION_FOREST ? forest_check(model->forest)
                                                             : scale_wrong(&contents->scale);
        return wrong != NULL ? unsound(section, wrong) : BPCN_OK;
    }
    if (section->tag == SECTION_WEIGHTS && !snapshot_weights_sound(model->options.particles, model->log_weights))
        return unsound(section, "they do not add up to one");
    if (section->tag == SECTION_TOP)
        return state_check_top(model, section);
    if (section->tag == SECTION_ROOT)
        return state_check_diagonal(&model->particles[section->particle].layer[section->layer], section);
    return BPCN_OK;
}

bpcn_status snapshot_check(const struct contents *contents)
{
    bpcn_status status = BPCN_OK;
    for (size_t k = 0; status == BPCN_OK && k < contents->count; k++)
        status = snapshot_check_shard(contents, k);
    return status;
}

bpcn_status snapshot_check_shard(const struct contents *contents, size_t shard)
{
    struct header header;
    struct section section = {.offset = 0};
    bpcn_status status = BPCN_OK;
    snapshot_describe(contents, 0, &header);
    uint64_t last = section_count(&header), each = sections_of_shard(&header), first = last - each * header.shards;
    for (uint64_t i = first + shard * each; status == BPCN_OK && i < first + (shard + 1) * each; i++) {
        section_describe(&header, i, &section);
        status = state_check_part(contents, &section, 0, (size_t)section.bytes);
        if (status == BPCN_OK)
            status = state_check_section(contents, &section);
    }
    return status;
}

/* ---- sections and files */

/* Where the fields of a section's header are; its payload's length and place are redundant. */
enum { SECTION_AT_TAG = 0, SECTION_AT_PARTICLE = 4, SECTION_AT_LAYER = 8, SECTION_AT_SHARD = 12, SECTION_AT_BYTES = 16, SECTION_AT_OFFSET = 24, SECTION_AT_CHECKSUM = 60 };

/* One pass over a file's sections. */
struct pass {
    const struct file *file;
    const char *path;
    const struct header *header;
    unsigned char *head;  /* a section's header and table [SECTION_BYTES + largest table] */
    unsigned char *block; /* [BLOCK_BYTES] */
};

static int pass_create(struct pass *pass)
{
    pass->head = alloc_zeroed(1, SECTION_BYTES + (size_t)section_largest_table(pass->header));
    pass->block = alloc_zeroed(1, BLOCK_BYTES);
    return pass->head != NULL && pass->block != NULL ? 0 : -1;
}

static void pass_free(struct pass *pass)
{
    free(pass->head);
    free(pass->block);
}

static size_t head_bytes(const struct section *section)
{
    return SECTION_BYTES + (size_t)section_table(section);
}

static uint32_t head_checksum(const struct pass *pass, const struct section *section)
{
    unsigned char salt[4];
    put32(salt, pass->header->salt);
    uint32_t crc = crc32c(crc32c(0, salt, sizeof salt), pass->head, SECTION_AT_CHECKSUM);
    return crc32c(crc, pass->head + SECTION_BYTES, (size_t)section_table(section));
}

/* What a section's header must be, but for its checksum. */
static void head_encode(const struct section *section, unsigned char *head)
{
    memset(head, 0, SECTION_BYTES);
    put32(head + SECTION_AT_TAG, (uint32_t)section->tag);
    put32(head + SECTION_AT_PARTICLE, (uint32_t)section->particle);
    put32(head + SECTION_AT_LAYER, (uint32_t)section->layer);
    put32(head + SECTION_AT_SHARD, (uint32_t)section->shard);
    put64(head + SECTION_AT_BYTES, section->bytes);
    put64(head + SECTION_AT_OFFSET, section->offset);
}

/* How much of the padded payload is in block b, and how much of that is not padding. */
static size_t block_bytes(const struct section *section, uint64_t b, size_t *used)
{
    uint64_t left = section->bytes - b * BLOCK_BYTES, all = section_payload(section) - b * BLOCK_BYTES;
    *used = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
    return all < BLOCK_BYTES ? (size_t)all : BLOCK_BYTES;
}

/* ---- writing */

static size_t block_encode(struct pass *pass, const struct contents *contents, const struct section *section,
                           uint64_t b)
{
    size_t used, all = block_bytes(section, b, &used);
    state_encode(contents, section, b * BLOCK_BYTES, used, pass->block);
    memset(pass->block + used, 0, all - used);
    return all;
}

static bpcn_status section_write(struct pass *pass, const struct contents *contents, const struct section *section)
{
    uint64_t at = section->offset + head_bytes(section);
    memset(pass->head, 0, head_bytes(section));
    head_encode(section, pass->head);
    for (uint64_t b = 0; b < section_blocks(section); b++) {
        size_t n = block_encode(pass, contents, section, b);
        put32(pass->head + SECTION_BYTES + 4 * b, crc32c(0, pass->block, n));
    }
    put32(pass->head + SECTION_AT_CHECKSUM, head_checksum(pass, section));
    if (file_write(pass->file, pass->head, head_bytes(section), section->offset) != 0)
        return file_fail("write", pass->path);
    for (uint64_t b = 0; b < section_blocks(section); b++) {
        size_t n = block_encode(pass, contents, section, b);
        if (file_write(pass->file, pass->block, n, at + b * BLOCK_BYTES) != 0)
            return file_fail("write", pass->path);
    }
    return BPCN_OK;
}

static int write_seals(const struct file *file, const struct header *header)
{
    unsigned char bytes[SEALS * SEAL_BYTES];
    struct seal first = seal_first(header->snapshot);
    seals_encode(&first, header->salt, bytes);
    return file_write(file, bytes, sizeof bytes, HEADER_BYTES);
}

bpcn_status snapshot_write(const struct contents *contents, uint64_t generation, const struct file *file,
                           const char *path, struct header *header)
{
    unsigned char bytes[HEADER_BYTES];
    struct pass pass = {.file = file, .path = path, .header = header};
    snapshot_describe(contents, generation, header);
    header_encode(header, bytes);
    bpcn_status status = pass_create(&pass) == 0 ? BPCN_OK : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (status == BPCN_OK && (file_write(file, bytes, sizeof bytes, 0) != 0 || write_seals(file, header) != 0))
        status = file_fail("write", path);
    struct section section = {.offset = SECTIONS_AT};
    for (uint64_t i = 0; status == BPCN_OK && i < section_count(header); i++) {
        section_describe(header, i, &section);
        status = section_write(&pass, contents, &section);
        section.offset += section_length(&section);
    }
    pass_free(&pass);
    return status;
}

/* ---- reading */

/* Reads what the file's length promised. */
static bpcn_status read_exactly(const struct file *file, const char *path, void *bytes, size_t n, uint64_t offset)
{
    size_t got;
    if (file_read(file, bytes, n, offset, &got) != 0)
        return file_fail("read", path);
    return got == n ? BPCN_OK : file_fail_early_end(path, offset + got);
}

static bpcn_status head_read(struct pass *pass, const struct section *section)
{
    unsigned char expected[SECTION_BYTES];
    char name[128];
    bpcn_status status = read_exactly(pass->file, pass->path, pass->head, head_bytes(section), section->offset);
    if (status != BPCN_OK)
        return status;
    section_name(section, name, sizeof name);
    if (head_checksum(pass, section) != get32(pass->head + SECTION_AT_CHECKSUM))
        return bpcn_fail(BPCN_CORRUPT, "%s: its header or its checksums are damaged", name);
    head_encode(section, expected);
    for (size_t i = 0; i < SECTION_AT_CHECKSUM; i++)
        if (pass->head[i] != expected[i])
            return bpcn_fail(BPCN_CORRUPT, "%s: byte %zu of its header does not agree with the file's header", name, i);
    for (uint64_t i = 4 * section_blocks(section); i < section_table(section); i++)
        if (pass->head[SECTION_BYTES + i] != 0)
            return bpcn_fail(BPCN_CORRUPT, "%s: the padding of its checksums is not zero", name);
    return BPCN_OK;
}

static bpcn_status block_read(struct pass *pass, struct contents *contents, const struct section *section, uint64_t b)
{
    size_t used, all = block_bytes(section, b, &used);
    uint64_t at = section->offset + head_bytes(section) + b * BLOCK_BYTES;
    char name[128];
    bpcn_status status = read_exactly(pass->file, pass->path, pass->block, all, at);
    if (status != BPCN_OK)
        return status;
    section_name(section, name, sizeof name);
    if (crc32c(0, pass->block, all) != get32(pass->head + SECTION_BYTES + 4 * b))
        return bpcn_fail(BPCN_CORRUPT, "%s: the block at byte %llu is damaged, its checksum does not fit", name,
                    (unsigned long long)at);
    for (size_t i = used; i < all; i++)
        if (pass->block[i] != 0)
            return bpcn_fail(BPCN_CORRUPT, "%s: its padding is not zero", name);
    state_decode(contents, section, b * BLOCK_BYTES, used, pass->block);
    return state_check_part(contents, section, b * BLOCK_BYTES, used);
}

static void section_refresh_root(struct model *model, const struct section *section)
{
    shard_ops_for(model)->refresh_root(&model->particles[section->particle].layer[section->layer]);
}

static bpcn_status section_read(struct pass *pass, struct contents *contents, const struct section *section)
{
    bpcn_status status = head_read(pass, section);
    for (uint64_t b = 0; status == BPCN_OK && b < section_blocks(section); b++)
        status = block_read(pass, contents, section, b);
    if (status == BPCN_OK)
        status = state_check_section(contents, section);
    if (status == BPCN_OK && section->tag == SECTION_ROOT)
        section_refresh_root(contents->shard[section->shard], section);
    return status;
}

bpcn_status snapshot_seal(const struct file *file, const char *path, const struct header *header, struct seal *seal)
{
    unsigned char bytes[SEALS * SEAL_BYTES];
    *seal = (struct seal){.open = 1};
    bpcn_status status = read_exactly(file, path, bytes, sizeof bytes, HEADER_BYTES);
    if (status == BPCN_OK && seals_decode(bytes, header->salt, seal) != 0)
        return bpcn_fail(BPCN_CORRUPT, "both seals (at bytes %d and %d) are damaged", HEADER_BYTES,
                    HEADER_BYTES + SEAL_BYTES);
    return status;
}

bpcn_status snapshot_header(const struct file *file, const char *path, uint64_t length, struct header *header)
{
    unsigned char bytes[HEADER_BYTES];
    size_t there = length < sizeof bytes ? (size_t)length : sizeof bytes;
    bpcn_status status = read_exactly(file, path, bytes, there, 0);
    return status == BPCN_OK ? header_decode(bytes, there, length, header) : status;
}

/* Room for what the header announces. */
static int snapshot_allocate(struct contents *contents, const struct header *header)
{
    if (contents_create(contents, &header->options) != 0)
        return -1;
    for (; contents->count < header->shards; contents->count++) {
        bpcn_options options = contents_shard_options(&header->options, contents->count);
        contents->shard[contents->count] = shard_allocate(&options);
        if (contents->shard[contents->count] == NULL)
            return -1;
    }
    contents->surprises.count = header->surprises;
    if (names_reserve(&contents->names, header->names) != 0)
        return -1;
    contents->names.count = header->names;
    if (contents->index != NULL && index_announce(contents->index, header->index_form, header->index_count) != 0)
        return -1;
    if (held_reserve(&contents->held, header->held) != 0)
        return -1;
    contents->held.count = header->held;
    contents->scale.settled = header->settled;
    if (scale_allocate(&contents->scale, header->pairs, header->first_rows) != 0)
        return -1;
    contents->note = header->note_bytes > 0 ? alloc_zeroed(1, header->note_bytes) : NULL;
    contents->note_bytes = contents->note != NULL ? header->note_bytes : 0;
    return contents->note_bytes == header->note_bytes ? 0 : -1;
}

bpcn_status snapshot_read(const struct file *file, const char *path, const struct header *header,
                          struct contents *contents)
{
    return snapshot_recover(file, path, header, contents, NULL, NULL);
}

bpcn_status snapshot_recover(const struct file *file, const char *path, const struct header *header,
                             struct contents *contents, void (*bad)(void *user, const struct section *section),
                             void *user)
{
    struct pass pass = {.file = file, .path = path, .header = header};
    bpcn_status status =
        snapshot_allocate(contents, header) == 0 && pass_create(&pass) == 0 ? BPCN_OK : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    contents->writes = header->writes;
    contents->forgets = header->forgets;
    contents->deletes = header->deletes;
    struct section section = {.offset = SECTIONS_AT};
    for (uint64_t i = 0; status == BPCN_OK && i < section_count(header); i++) {
        section_describe(header, i, &section);
        status = section_read(&pass, contents, &section);
        if (status != BPCN_OK && bad != NULL) {
            bad(user, &section);
            status = BPCN_OK;
        }
        section.offset += section_length(&section);
    }
    held_restore(&contents->held, contents->held.count);
    if (contents->scale.pairs == 1)
        contents->scale.unit = contents->scale.pair[1];
    if (status == BPCN_OK && !has_shards(&header->options)) { /* the one shard's are the memory's */
        contents->rows[0] = header->writes;
        contents->shard[0]->writes = header->writes;
        contents->shard[0]->forgets = header->forgets;
        contents->shard[0]->deletes = header->deletes;
    }
    if (status == BPCN_OK && header->index_form == INDEX_NONE && contents_lose_index(contents) != 0)
        status = bpcn_fail(BPCN_NO_MEMORY, "out of memory"); /* a file without an index */
    pass_free(&pass);
    return status;
}
