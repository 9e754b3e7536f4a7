/*
 * Automatic forgetting: discounts what the writes have told about the weights, and keeps the means.
 *
 *   U^-1 = (1 - beta) U^-1 + beta U_prior^-1        S likewise
 *
 * A row that was written a writes ago then weighs as if its noise variance were sx^2 / (1 - beta)^a:
 * next to nothing changes for the recent past, and what is older frees its direction of the weights
 * for new rows at once, instead of every direction loosening a little. beta = 5 / width per write
 * holds about as many rows as three quarters of the width, whatever the stream's length.
 */
#include "fading.h"

#include <math.h>

enum { PERIOD = 8 };
static const double rows_of_width = 5;

struct fading fading_fixed(double beta)
{
    return (struct fading){.beta = -beta, .period = 1};
}

struct fading fading_auto(const bpcn_options *o)
{
    size_t narrowest = o->dim;
    for (size_t l = 0; l < o->layers; l++)
        narrowest = l == 0 || o->hidden[l] < narrowest ? o->hidden[l] : narrowest;
    double each = fmin(0.5, rows_of_width / (double)narrowest);
    return (struct fading){.beta = 1 - pow(1 - each, PERIOD), .period = PERIOD};
}

bpcn_status fading_step(struct fading *f, struct memfile *file)
{
    bpcn_stats stats = {.size = sizeof stats};
    if (f->beta == 0 || ++f->since < f->period)
        return BPCN_OK;
    f->since = 0;
    bpcn_status status = memfile_stats(file, &stats);
    if (status != BPCN_OK || stats.writes == 0)
        return status;
    return f->beta < 0 ? memfile_forget(file, -f->beta) : memfile_discount(file, f->beta);
}
