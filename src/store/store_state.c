/* State to bytes, bytes to state, and the laws that a state obeys. */
#include "store_state.h"

#include "error.h"
#include "cholesky.h"
#include "store_bytes.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* Roots are rounded to float for inference, and their squares must be finite. */
static const double most_root = 1e38;
static const uint64_t most_count = UINT64_C(1) << 62; /* far from overflowing */

void state_header(const struct contents *contents, uint64_t generation, struct header *header)
{
    *header = (struct header){.version = STORE_VERSION,
                              .options = contents->options,
                              .generation = generation,
                              .writes = contents->writes,
                              .forgets = contents->forgets,
                              .deletes = contents->deletes,
                              .shards = contents->count,
                              .note_bytes = contents->note_bytes,
                              .surprises = contents->surprises.count,
                              .names = contents->names.count};
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
    return surprises_number(&contents->surprises, i / SURPRISE_NUMBERS, i % SURPRISE_NUMBERS);
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

size_t first_unsound(const void *values, size_t n, size_t size, double most)
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

int weights_sound(size_t n, const double *log_weights)
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
    return fail(BPCN_CORRUPT, "%s: %s", name, what);
}

bpcn_status state_check_part(const struct contents *contents, const struct section *section, uint64_t first, size_t n)
{
    size_t size, bad;
    char what[64];
    const unsigned char *array = section_array(contents, section, &size);
    if (section->tag != SECTION_MEAN && section->tag != SECTION_ROOT)
        return BPCN_OK; /* small: looked at when whole */
    bad = first_unsound(array + first, n / size, size, section->tag == SECTION_ROOT ? most_root : DBL_MAX);
    if (bad == n / size)
        return BPCN_OK;
    snprintf(what, sizeof what, "entry %llu is not finite or too large", (unsigned long long)(first / size + bad));
    return unsound(section, what);
}

static bpcn_status check_top(const struct model *model, const struct section *section)
{
    const struct particle *particle = &model->particles[section->particle];
    if (particle->origin >= model->options.particles)
        return unsound(section, "its origin is no particle");
    if (!(particle->top_variance >= DBL_MIN && particle->top_variance <= DBL_MAX))
        return unsound(section, "its variance is not a positive number");
    if (first_unsound(particle->top_mean, top_width(model), 8, DBL_MAX) != top_width(model))
        return unsound(section, "its mean is not finite");
    return BPCN_OK;
}

/* U = R'R with R triangular is positive definite exactly when R has no zero on its diagonal; that
   it is positive is how R is made unique. */
static bpcn_status check_diagonal(const struct layer *layer, const struct section *section)
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
static bpcn_status check_shards(const struct contents *contents, const struct section *section)
{
    char what[96];
    for (size_t w = 0; w < SHARD_WORDS * contents->count; w++)
        if (*shard_word(contents, w) > most_count) {
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

static bpcn_status check_surprises(const struct contents *contents, const struct section *section)
{
    char what[64];
    for (size_t i = 0; i < contents->surprises.count; i++)
        if (!surprised_sound(&contents->surprises.row[i])) {
            snprintf(what, sizeof what, "what is kept of row %zu cannot be", i);
            return unsound(section, what);
        }
    return BPCN_OK;
}

static bpcn_status check_names(const struct contents *contents, const struct section *section)
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
        return check_shards(contents, section);
    if (section->tag == SECTION_SURPRISES)
        return check_surprises(contents, section);
    if (section->tag == SECTION_NAMES)
        return check_names(contents, section);
    if (section->tag == SECTION_WEIGHTS && !weights_sound(model->options.particles, model->log_weights))
        return unsound(section, "they do not add up to one");
    if (section->tag == SECTION_TOP)
        return check_top(model, section);
    if (section->tag == SECTION_ROOT)
        return check_diagonal(&model->particles[section->particle].layer[section->layer], section);
    return BPCN_OK;
}

bpcn_status state_check(const struct contents *contents)
{
    bpcn_status status = BPCN_OK;
    for (size_t k = 0; status == BPCN_OK && k < contents->count; k++)
        status = state_check_shard(contents, k);
    return status;
}

bpcn_status state_check_shard(const struct contents *contents, size_t shard)
{
    struct header header;
    struct section section = {.offset = 0};
    bpcn_status status = BPCN_OK;
    state_header(contents, 0, &header);
    uint64_t last = section_count(&header), each = sections_of_shard(&header), first = last - each * header.shards;
    for (uint64_t i = first + shard * each; status == BPCN_OK && i < first + (shard + 1) * each; i++) {
        section_describe(&header, i, &section);
        status = state_check_part(contents, &section, 0, (size_t)section.bytes);
        if (status == BPCN_OK)
            status = state_check_section(contents, &section);
    }
    return status;
}
