/* Tables: settings chosen on their first rows, and the calibration of spreads on rows that are about to be written. */
#include "alloc.h"
#include "bayespcn.h"
#include "checks.h"
#include "random.h"
#include "abi.h"
#include "transaction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings */

enum { VIEWS = 8, CELLS = 64 };           /* of 4 and 8 views of 32 to 256: docs/MODEL.md */
enum { LOOK_VIEWS = 4, LOOK_CELLS = 32 }; /* enough to tell settings apart */
enum { LOOK_LEAST = 200 };                /* rows */
static const double noticeably = 0.97;    /* a setting must be better by this than the usual one */
static const struct setting {
    size_t width;
    double sigma_x;
} settings[] = {{16, 0.1}, {8, 0.1}, {8, 0.05}, {32, 0.1}}; /* the usual one first */

static bpcn_options with_setting(const bpcn_options *options, const struct setting *setting, size_t views, size_t cells)
{
    bpcn_options o = *options;
    o.layers = 2;
    o.hidden[0] = o.hidden[1] = setting->width;
    o.activation = BPCN_GELU;
    o.sigma_x = setting->sigma_x; /* rows of a table are never twice the same: as much is noise */
    o.views = views;
    o.shards = views * cells;
    return o;
}

struct autotune {
    size_t dim, rows;
    const float *x;             /* [rows x dim] */
    const unsigned char *known; /* [rows x dim] or NULL */
    unsigned char *shown;       /* [rows x dim]: of what is known, what is shown of rows that are filled */
    float *out;                 /* [rows x dim] */
};

/* Every third cell or so is hidden, in a fixed pattern that does not follow the columns. */
static void hide_cells(struct autotune *l, const size_t *column)
{
    for (size_t i = 0; i < l->rows; i++)
        for (size_t j = 0; j < l->dim; j++) {
            size_t at = i * l->dim + j, c = column ? column[j] : j;
            l->shown[at] = (l->known == NULL || l->known[at]) && (i * 7 + c * 5 + i / 3 * (c + 1)) % 10 >= 3;
        }
}

/* The square error of hidden cells of the last quarter of the rows, after learning from the others; infinite where
   numbers overflow. */
static bpcn_status setting_error(const struct autotune *l, const bpcn_options *options, double *error)
{
    bpcn_memory *memory = NULL;
    size_t learnt = l->rows * 3 / 4, left = l->rows - learnt, at = learnt * l->dim;
    bpcn_read_options how;
    bpcn_read_options_default(&how, sizeof how);
    how.objective = BPCN_OBJECTIVE_MARGINAL;
    how.noise = 0;
    *error = 0;
    bpcn_status status = bpcn_memory_create(options, &memory);
    if (status == BPCN_OK)
        status = bpcn_memory_write(memory, l->x, l->known, learnt, NULL);
    if (status == BPCN_OK)
        status = bpcn_memory_read(memory, l->x + at, l->shown + at, left, &how, l->out + at, NULL);
    for (size_t j = at; status == BPCN_OK && j < l->rows * l->dim; j++)
        if ((l->known == NULL || l->known[j]) && !l->shown[j])
            *error += pow((double)(l->out[j] - l->x[j]), 2);
    bpcn_memory_free(memory);
    if (status == BPCN_NUMERIC)
        *error = INFINITY;
    return status == BPCN_NUMERIC ? BPCN_OK : status;
}

static bpcn_status choose_setting(const struct autotune *l, const bpcn_options *options, const struct setting **best)
{
    double usual = 0, least = INFINITY, error;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        bpcn_options o = with_setting(options, &settings[i], LOOK_VIEWS, LOOK_CELLS);
        o.surprises = 0;
        bpcn_status status = setting_error(l, &o, &error);
        if (status != BPCN_OK)
            return status;
        usual = i == 0 ? error : usual;
        if (i == 0 || (error < least && error < noticeably * usual)) {
            *best = &settings[i];
            least = error;
        }
    }
    return BPCN_OK;
}

bpcn_status bpcn_options_for_table(bpcn_options *options, const size_t *column, const float *x,
                                   const unsigned char *known, size_t n)
{
    bpcn_options ours;
    const struct setting *best = settings;
    bpcn_options_default(&ours, sizeof ours);
    bpcn_status status = check_pointer(options, "options");
    if (status == BPCN_OK)
        status = abi_take(&abi_options, options, &ours);
    if (status == BPCN_OK && options->size < offsetof(bpcn_options, views) + sizeof ours.views)
        status = bpcn_fail(BPCN_INVALID, "bpcn_options.size is %zu, too few bytes to have views", options->size);
    if (status == BPCN_OK && n > 0)
        status = check_pointer(x, "the pointer to the rows");
    if (status != BPCN_OK)
        return status;
    size_t rows = n < BPCN_MAX_LOOK ? n : BPCN_MAX_LOOK;
    struct autotune look = {.dim = ours.dim, .rows = rows, .x = x, .known = known};
    if (rows >= LOOK_LEAST && ours.dim <= BPCN_MAX_WIDTH) {
        look.shown = alloc_zeroed(rows * ours.dim, 1);
        look.out = alloc_zeroed(rows * ours.dim, sizeof *look.out);
        if (look.shown != NULL && look.out != NULL) {
            hide_cells(&look, column);
            status = choose_setting(&look, &ours, &best);
        } else {
            status = out_of_memory();
        }
    }
    free(look.shown);
    free(look.out);
    if (status == BPCN_OK) {
        ours = with_setting(&ours, best, VIEWS, CELLS);
        abi_give(&abi_options, &ours, options, options->size);
    }
    return status;
}

/* ---- calibration */

enum { CALIBRATE_EVERY = 8, CALIBRATE_FROM = 16, CALIBRATE_MEMORY = 20000 }; /* rows, rows, entries */
static const double calibrate_hidden_share = 0.3;
static const double calibrate_usual_factor = 1.4; /* the median of 23 tables, with 32 networks a view */

_Static_assert(sizeof(bpcn_trials) == 32, "bpcn_trials has 32 bytes");

static double calibration_chance(uint64_t row, size_t column)
{
    uint64_t x = (row + 1) * RANDOM_SCRAMBLE_STEP + (column + 1) * UINT64_C(0xd1b54a32d192ed03);
    return (double)(random_scramble(x) >> 11) * 0x1p-53;
}

size_t bpcn_trials_hide(uint64_t row, const size_t *column, const unsigned char *known, size_t dim,
                        unsigned char *shown)
{
    size_t left = 0;
    if (row < CALIBRATE_FROM || row % CALIBRATE_EVERY != 0)
        return 0;
    for (size_t j = 0; j < dim; j++) {
        shown[j] = (known == NULL || known[j]) && calibration_chance(row, column ? column[j] : j) >= calibrate_hidden_share;
        left += shown[j];
    }
    return left;
}

void bpcn_trials_count(bpcn_trials *trials, const float *x, const unsigned char *known, size_t dim, const float *answer,
                       const float *spread, const unsigned char *shown)
{
    for (size_t j = 0; j < dim; j++)
        if ((known == NULL || known[j]) && !shown[j]) {
            trials->errors += pow((double)(answer[j] - x[j]), 2);
            trials->spreads += pow((double)spread[j], 2);
            trials->plain += pow((double)x[j], 2);
            trials->entries++;
        }
    if (trials->entries > CALIBRATE_MEMORY) { /* what was long ago counts less */
        trials->errors /= 2;
        trials->spreads /= 2;
        trials->plain /= 2;
        trials->entries /= 2;
    }
}

double bpcn_trials_factor(const bpcn_trials *trials)
{
    int tells = trials->entries >= BPCN_ENOUGH_TRIALS && trials->spreads > 0;
    return tells ? sqrt(trials->errors / trials->spreads) : calibrate_usual_factor;
}
