/* Random planes, the cells between them, and the likeliest cells of a row that is known in part. */
#include "views.h"

#include "alloc.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of what a whole row would add to the variance of its side: rows near a plane belong to both of its sides a little. */
static const double softness = 1. / 16;
static const double too_unlikely = -7; /* nats below the likeliest cell */

int views_create(struct views *views, const bpcn_options *options)
{
    *views = (struct views){.count = options->views, .dim = options->dim};
    if (options->views == 0)
        return 0;
    while (options->views << (views->bits + 1) <= options->shards)
        views->bits++;
    size_t planes = views->count * views->bits;
    views->planes = alloc_zeroed(planes * views->dim + 1, sizeof *views->planes);
    for (size_t p = 0; views->planes != NULL && p < planes; p++)
        random_normals(options->seed, random_stream(STREAM_VIEW, p, 0), 0, views->dim, views->planes + p * views->dim);
    return views->planes != NULL ? 0 : -1;
}

void views_free(struct views *views)
{
    free(views->planes);
    *views = (struct views){0};
}

static double entry(const struct view_row *row, size_t j)
{
    if (row->known != NULL && !row->known[j])
        return 0;
    return row->size == sizeof(float) ? (double)((const float *)row->x)[j] : ((const double *)row->x)[j];
}

static const double *plane_of(const struct views *views, size_t view, size_t bit)
{
    return views->planes + (view * views->bits + bit) * views->dim;
}

/* The sum runs in a fixed order and without fused products, so that a row is in the same cell on every machine. */
size_t views_shard(const struct views *views, size_t view, const struct view_row *row)
{
    size_t cell = 0;
    for (size_t bit = 0; bit < views->bits; bit++) {
        const double *plane = plane_of(views, view, bit);
        double sum = 0;
        for (size_t j = 0; j < views->dim; j++)
            sum += entry(row, j) * plane[j];
        cell |= (size_t)(sum > 0) << bit;
    }
    return view * views_cells(views) + cell;
}

/* log P(the row lies on the negative, the positive side of a plane), where entries that are not known vary by 1. */
static void side_chances(const struct views *views, const double *plane, const struct view_row *row, double chance[2])
{
    double sum = 0, variance = 0;
    for (size_t j = 0; j < views->dim; j++) {
        int known = row->known == NULL || row->known[j];
        sum += entry(row, j) * plane[j];
        variance += plane[j] * plane[j] * (known ? softness : 1);
    }
    double distance = sum / sqrt(2 * variance);
    chance[0] = log(fmax(erfc(distance) / 2, 1e-300));
    chance[1] = log(fmax(erfc(-distance) / 2, 1e-300));
}

double views_log_share(const struct views *views, uint64_t rows, uint64_t all)
{
    return log(((double)rows + 1) / ((double)all + (double)views_cells(views)));
}

void views_pick(const struct views *views, size_t view, const struct view_row *row, const uint64_t *rows, size_t most,
                unsigned char *picked)
{
    size_t cells = views_cells(views);
    double chance[VIEW_CELLS] = {0}, side[2];
    memset(picked, 0, cells);
    if (most == 1) {
        picked[views_shard(views, view, row) - view * cells] = 1;
        return;
    }
    for (size_t bit = 0; bit < views->bits; bit++) {
        side_chances(views, plane_of(views, view, bit), row, side);
        for (size_t c = 0; c < cells; c++)
            chance[c] += side[c >> bit & 1];
    }
    double likeliest = -INFINITY;
    for (size_t c = 0; c < cells; c++)
        likeliest = rows[c] > 0 ? fmax(likeliest, chance[c]) : likeliest;
    for (size_t times = 0; times < most && times < cells; times++) {
        size_t best = cells;
        for (size_t c = 0; c < cells; c++)
            if (rows[c] > 0 && !picked[c] && chance[c] >= likeliest + too_unlikely &&
                (best == cells || chance[c] > chance[best]))
                best = c;
        if (best == cells)
            break;
        picked[best] = 1;
    }
    if (memchr(picked, 1, cells) == NULL)
        picked[0] = 1; /* an empty memory answers by its prior */
}
