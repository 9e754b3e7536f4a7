/* Centre and scale of data, measured on the first rows so that a few wrong numbers among them do not count. */
#include "scale.h"

#include "alloc.h"
#include "format.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Data are left as given if their centre is within as_given_centre of 0 and their scale within as_given_least to
   as_given_most. Larger bounds: more data are taken as they are, and sigma_x means less of them. Pixels in [-1, 1] have
   scales of 0.1 to 0.9, and bytes or sixteenths at least 5. */
static const double as_given_centre = 2, as_given_least = 1.0 / 16, as_given_most = 4;
/* Of the values, the share on either side that is brought to the rest before their deviation is taken. Larger: more of
   the first rows may be wrong. */
static const double trimmed_share = 0.1;
static const size_t values_most = 1 << 16; /* looked at for one pair */
static const double least_scale = 1e-30, most_scale = 1e30;

int scale_create(struct scale *s, const bpcn_options *options)
{
    *s = (struct scale){.dim = options->dim,
                        .unit = 1,
                        .settled = options->scale == BPCN_SCALE_AS_GIVEN,
                        .each = scale_row_bytes(options->dim)};
    return 0;
}

void scale_free(struct scale *s)
{
    free(s->pair);
    free(s->row);
    *s = (struct scale){.unit = 1};
}

size_t scale_bytes(const struct scale *s)
{
    return 2 * s->pairs * sizeof *s->pair + s->rows * s->each;
}

int scale_allocate(struct scale *s, size_t pairs, size_t rows)
{
    s->pairs = pairs;
    s->pair = pairs > 0 ? alloc_zeroed(pairs, 2 * sizeof *s->pair) : NULL;
    s->row = rows > 0 ? alloc_zeroed(SCALE_SETTLED, s->each) : NULL;
    s->rows = rows;
    return (pairs > 0 && s->pair == NULL) || (rows > 0 && s->row == NULL) ? -1 : 0;
}

int scale_copy(const struct scale *from, struct scale *to)
{
    *to = *from;
    to->row = NULL;
    if (scale_allocate(to, from->pairs, 0) != 0)
        return -1;
    if (from->pairs > 0)
        memcpy(to->pair, from->pair, 2 * from->pairs * sizeof *from->pair);
    return 0;
}

/* ---- measuring */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean and deviation of n sorted values, `cut` on either side brought to the next. */
static void trimmed_moments(const double *value, size_t n, size_t cut, double *centre, double *scale)
{
    double low = value[cut], high = value[n - 1 - cut], sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += fmin(fmax(value[i], low), high) / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += pow(fmin(fmax(value[i], low), high) - sum, 2) / (double)n;
    *centre = sum;
    *scale = sqrt(squares);
}

/* The pair of n values, of `rows` rows, which are sorted. Values of which most are one and the same have the deviation of
   those that a smaller cut leaves. */
static void pair_of(double *value, size_t n, size_t rows, double pair[2])
{
    double centre = 0, scale = 0;
    qsort(value, n, sizeof *value, by_value);
    double shares[] = {trimmed_share, trimmed_share / 10, 0};
    for (size_t i = 0; n > 0 && i < 3 && !(scale > 1e-9 * fabs(centre)); i++) {
        size_t cut = (size_t)(shares[i] * (double)n);
        trimmed_moments(value, n, cut, &centre, &scale);
    }
    int varies = scale > 1e-9 * fabs(centre);
    int small = varies && scale < as_given_least && rows >= SCALE_SETTLED; /* few rows may just be alike */
    pair[0] = 0;
    pair[1] = 1;
    if (fabs(centre) <= as_given_centre && scale <= as_given_most && !small)
        return;
    pair[0] = centre;
    pair[1] = fmin(fmax(varies ? scale : fabs(centre) / 10, least_scale), most_scale);
}

/* Values known of entry `j` (of all: j = dim), from the first rows and the new ones. */
struct sample {
    double *value;
    size_t count, step, skip; /* each step-th is taken */
};

static void sample_add(struct sample *sample, double x)
{
    if (sample->skip-- > 0)
        return;
    sample->skip = sample->step - 1;
    sample->value[sample->count++] = x;
}

struct rows_seen {
    size_t n;
    const float **x;
    const unsigned char **known;
};

static void measure_pair(const struct rows_seen *seen, size_t first, size_t entries, struct sample *sample,
                         double pair[2])
{
    sample->count = sample->skip = 0;
    for (size_t i = 0; i < seen->n; i++)
        for (size_t j = first; j < first + entries; j++)
            if (seen->known[i] == NULL || seen->known[i][j])
                sample_add(sample, (double)seen->x[i][j]);
    pair_of(sample->value, sample->count, seen->n, pair);
}

static int is_as_given(const struct scale *s)
{
    for (size_t k = 0; k < s->pairs; k++)
        if (s->pair[2 * k] != 0 || s->pair[2 * k + 1] != 1)
            return 0;
    return 1;
}

int scale_measure(const struct scale *s, const bpcn_options *options, const float *x, const unsigned char *known,
                  size_t n, struct scale *out)
{
    size_t each = options->scale == BPCN_SCALE_AUTO_EACH ? 1 : s->dim, fresh = n < SCALE_ROWS ? n : SCALE_ROWS;
    size_t rows = s->rows + fresh, values = rows * each, step = 1 + values / values_most;
    float *kept = alloc_zeroed(s->rows * s->dim + 1, sizeof *kept);
    unsigned char *kept_known = alloc_zeroed(s->rows * s->dim + 1, 1);
    struct rows_seen seen = {rows, alloc_zeroed(rows, sizeof *seen.x), alloc_zeroed(rows, sizeof *seen.known)};
    struct sample sample = {.value = alloc_zeroed(values / step + 1, sizeof *sample.value), .step = step};
    scale_create(out, options);
    int status = kept && kept_known && seen.x && seen.known && sample.value ? 0 : -1;
    if (status == 0)
        status = scale_allocate(out, s->dim / each, 0);
    for (size_t i = 0; status == 0 && i < rows; i++) {
        char name[NAME_ROOM];
        seen.x[i] = i < s->rows ? kept + i * s->dim : x + (i - s->rows) * s->dim;
        seen.known[i] = i < s->rows ? kept_known + i * s->dim : known ? known + (i - s->rows) * s->dim : NULL;
        if (i < s->rows)
            scale_first_row(s, i, kept + i * s->dim, kept_known + i * s->dim, name);
    }
    for (size_t k = 0; status == 0 && k < out->pairs; k++)
        measure_pair(&seen, k * each, each, &sample, out->pair + 2 * k);
    if (status == 0 && is_as_given(out))
        out->pairs = 0;
    if (out->pairs == 1)
        out->unit = out->pair[1];
    free(kept);
    free(kept_known);
    free(seen.x);
    free(seen.known);
    free(sample.value);
    return status;
}

int scale_same_pairs(const struct scale *a, const struct scale *b)
{
    return a->pairs == b->pairs && (a->pairs == 0 || memcmp(a->pair, b->pair, 2 * a->pairs * sizeof *a->pair) == 0);
}

/* ---- the first rows */

int scale_reserve_row(struct scale *s)
{
    if (s->row == NULL)
        s->row = alloc_zeroed(SCALE_SETTLED, s->each);
    return s->row != NULL && s->rows < SCALE_SETTLED ? 0 : -1;
}

void scale_keep_row(struct scale *s, const struct first_row *row)
{
    unsigned char *to = s->row + s->rows++ * s->each;
    memset(to, 0, s->each);
    for (size_t j = 0; j < s->dim; j++)
        if (row->known == NULL || row->known[j]) {
            put_reals(to + 4 * j, row->x + j, 1, 4);
            to[4 * s->dim + j] = 1;
        }
    if (row->name != NULL)
        memcpy(to + 5 * s->dim, row->name, strnlen(row->name, BPCN_MAX_NAME));
}

void scale_first_row(const struct scale *s, size_t i, float *x, unsigned char *known, char name[NAME_ROOM])
{
    const unsigned char *from = s->row + i * s->each;
    get_reals(x, from, s->dim, 4);
    memcpy(known, from + 4 * s->dim, s->dim);
    memcpy(name, from + 5 * s->dim, NAME_ROOM);
}

struct fingerprint scale_row_print(const struct scale *s, size_t i)
{
    return fingerprint_of_bytes(s->row + i * s->each, s->dim);
}

void scale_drop_row(struct scale *s, size_t i)
{
    s->rows--;
    memmove(s->row + i * s->each, s->row + (i + 1) * s->each, (s->rows - i) * s->each);
}

void scale_settle(struct scale *s)
{
    free(s->row);
    s->row = NULL;
    s->rows = 0;
    s->settled = 1;
}

static int first_row_sound(const struct scale *s, const unsigned char *row)
{
    for (size_t j = 0; j < s->dim; j++) {
        float x;
        get_reals(&x, row + 4 * j, 1, 4);
        if (row[4 * s->dim + j] > 1 || !isfinite(x))
            return 0;
    }
    const char *name = (const char *)row + 5 * s->dim;
    return name[0] == '\0' || name_padded(name);
}

const char *scale_wrong(const struct scale *s)
{
    for (size_t k = 0; k < s->pairs; k++)
        if (!(fabs(s->pair[2 * k]) <= DBL_MAX && s->pair[2 * k + 1] >= least_scale && s->pair[2 * k + 1] <= most_scale))
            return "a pair";
    for (size_t i = 0; i < s->rows; i++)
        if (!first_row_sound(s, s->row + i * s->each))
            return "one of the first rows";
    return NULL;
}
