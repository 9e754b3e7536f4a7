/* The random planes of table views, the cell of a row, and the likeliest cells of a row that is known in part. */
#include "table_views.h"

#include "alloc.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Variance that a known entry adds to the row's side, in units of an unknown entry's. Larger: rows near a plane are
   read on both of its sides. Chosen on the tables of results/tables.md. */
static const double known_variance = 1. / 16;
/* Nats below the likeliest cell beyond which no cell is read. */
static const double least_log_chance = -7;

int table_views_create(struct table_views *views, const bpcn_options *options)
{
    *views = (struct table_views){.count = options->views, .dim = options->dim};
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

void table_views_free(struct table_views *views)
{
    free(views->planes);
    *views = (struct table_views){0};
}

static double view_entry(const struct table_view_row *row, size_t j)
{
    if (row->known != NULL && !row->known[j])
        return 0;
    return row->size == sizeof(float) ? (double)((const float *)row->x)[j] : ((const double *)row->x)[j];
}

static const double *view_plane(const struct table_views *views, size_t view, size_t bit)
{
    return views->planes + (view * views->bits + bit) * views->dim;
}

/* The sum runs in a fixed order and without fused products, so a row is in the same cell on every machine. */
size_t table_views_shard(const struct table_views *views, size_t view, const struct table_view_row *row)
{
    size_t cell = 0;
    for (size_t bit = 0; bit < views->bits; bit++) {
        const double *plane = view_plane(views, view, bit);
        double sum = 0;
        for (size_t j = 0; j < views->dim; j++)
            sum += view_entry(row, j) * plane[j];
        cell |= (size_t)(sum > 0) << bit;
    }
    return view * table_views_cells(views) + cell;
}

/* log P(the row lies on the negative, the positive side of a plane); unknown entries have variance 1. */
static void view_side_chances(const struct table_views *views, const double *plane, const struct table_view_row *row, double chance[2])
{
    double sum = 0, variance = 0;
    for (size_t j = 0; j < views->dim; j++) {
        int known = row->known == NULL || row->known[j];
        sum += view_entry(row, j) * plane[j];
        variance += plane[j] * plane[j] * (known ? known_variance : 1);
    }
    double distance = sum / sqrt(2 * variance);
    chance[0] = log(fmax(erfc(distance) / 2, 1e-300));
    chance[1] = log(fmax(erfc(-distance) / 2, 1e-300));
}

double table_views_log_share(const struct table_views *views, uint64_t rows, uint64_t all)
{
    return log(((double)rows + 1) / ((double)all + (double)table_views_cells(views)));
}

void table_views_pick(const struct table_views *views, size_t view, const struct table_view_row *row, const uint64_t *rows, size_t most,
                unsigned char *picked)
{
    size_t cells = table_views_cells(views);
    double chance[TABLE_VIEW_CELLS] = {0}, side[2];
    memset(picked, 0, cells);
    if (most == 1) {
        picked[table_views_shard(views, view, row) - view * cells] = 1;
        return;
    }
    for (size_t bit = 0; bit < views->bits; bit++) {
        view_side_chances(views, view_plane(views, view, bit), row, side);
        for (size_t c = 0; c < cells; c++)
            chance[c] += side[c >> bit & 1];
    }
    double likeliest = -INFINITY;
    for (size_t c = 0; c < cells; c++)
        likeliest = rows[c] > 0 ? fmax(likeliest, chance[c]) : likeliest;
    for (size_t times = 0; times < most && times < cells; times++) {
        size_t best = cells;
        for (size_t c = 0; c < cells; c++)
            if (rows[c] > 0 && !picked[c] && chance[c] >= likeliest + least_log_chance &&
                (best == cells || chance[c] > chance[best]))
                best = c;
        if (best == cells)
            break;
        picked[best] = 1;
    }
    if (memchr(picked, 1, cells) == NULL)
        picked[0] = 1; /* an empty memory answers by its prior */
}
