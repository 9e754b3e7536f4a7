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
#include <stdlib.h>

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

/* Cholesky factor of a symmetric positive definite a [n x n], in its lower half; -1 if it is not. */
static int factor(size_t n, double *a)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0))
                return -1;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return 0;
}

/* a = a^-1 for a symmetric positive definite a; work [n x n]. */
static int invert(size_t n, double *a, double *work)
{
    if (factor(n, a) != 0)
        return -1;
    /* rows of work: columns of the factor's inverse */
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < n; i++) {
            double sum = i == c;
            for (size_t k = c; k < i; k++)
                sum -= a[i * n + k] * work[c * n + k];
            work[c * n + i] = i < c ? 0 : sum / a[i * n + i];
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = i; k < n; k++)
                sum += work[i * n + k] * work[j * n + k];
            a[i * n + j] = a[j * n + i] = sum;
        }
    return 0;
}

static bpcn_status discount_layer(bpcn_memory *memory, const bpcn_options *o, size_t particle, size_t l, double beta)
{
    size_t n = o->hidden[l], below = l ? o->hidden[l - 1] : o->dim;
    double *mean = malloc(n * below * sizeof *mean), *u = malloc(n * n * sizeof *u), *work = malloc(n * n * sizeof *u);
    bpcn_status status = mean && u && work ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        status = bpcn_memory_get_layer(memory, particle, l, mean, u);
    if (status == BPCN_OK && invert(n, u, work) != 0)
        status = BPCN_NUMERIC;
    if (status == BPCN_OK) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                u[i * n + j] = (1 - beta) * u[i * n + j] + (i == j ? beta / (o->sigma_w * o->sigma_w) : 0);
        status = invert(n, u, work) == 0 ? bpcn_memory_set_layer(memory, particle, l, mean, u) : BPCN_NUMERIC;
    }
    free(mean);
    free(u);
    free(work);
    return status;
}

static bpcn_status discount_top(bpcn_memory *memory, const bpcn_options *o, size_t particle, double beta)
{
    size_t width = o->layers ? o->hidden[o->layers - 1] : o->dim;
    double *mean = malloc(width * sizeof *mean), variance;
    bpcn_status status = mean ? bpcn_memory_get_top(memory, particle, mean, &variance) : BPCN_NO_MEMORY;
    if (status == BPCN_OK) {
        variance = 1 / ((1 - beta) / variance + beta / (o->sigma_w * o->sigma_w));
        status = bpcn_memory_set_top(memory, particle, mean, variance);
    }
    free(mean);
    return status;
}

static bpcn_status discount(bpcn_memory *memory, double beta)
{
    bpcn_options o;
    bpcn_status status = bpcn_memory_get_options(memory, &o);
    for (size_t k = 0; k < o.particles && status == BPCN_OK; k++) {
        for (size_t l = 0; l < o.layers && status == BPCN_OK; l++)
            status = discount_layer(memory, &o, k, l, beta);
        if (status == BPCN_OK)
            status = discount_top(memory, &o, k, beta);
    }
    return status;
}

bpcn_status fading_step(struct fading *f, bpcn_memory *memory)
{
    bpcn_stats stats = {.size = sizeof stats};
    if (f->beta == 0 || ++f->since < f->period)
        return BPCN_OK;
    f->since = 0;
    bpcn_status status = bpcn_memory_get_stats(memory, &stats);
    if (status != BPCN_OK || stats.writes == 0)
        return status;
    return f->beta < 0 ? bpcn_memory_forget(memory, -f->beta) : discount(memory, f->beta);
}
