/* What several shards make of a row together: one of their answers, or an average; the mixture of all. */
#include "asked.h"

#include "alloc.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- whose answer it is */

static double all_rows(const struct many *m)
{
    double all = 0;
    for (size_t k = 0; k < m->count; k++)
        all += (double)m->rows[k];
    return all;
}

/* Of shard k in the mixture, all being all_rows. */
static double share_of(const struct many *m, double all, size_t k)
{
    return all > 0 ? (double)m->rows[k] / all : 1 / (double)m->count;
}

/* Whose is greatest answers: the likeliest shard, where to be familiar counts for up to a nat. */
static double claim(const bpcn_read_info *info)
{
    return info->log_density + info->familiarity;
}

static double log_add(double a, double b)
{
    double high = fmax(a, b);
    return isinf(high) ? high : high + log(exp(a - high) + exp(b - high));
}

/* info and out: the best of what the shards said; evaluations and the density are of all of them. */
static void choose(const struct reads *r, const struct asked **winner, size_t *place, double *density)
{
    bpcn_read_info *info = r->request->info;
    double all = all_rows(r->many);
    for (size_t s = 0; s < r->shards; s++) {
        const struct asked *a = &r->asked[s];
        double share = log(share_of(r->many, all, a->k));
        for (size_t at = 0; at < a->count; at++) {
            size_t i = a->row[at];
            uint64_t evaluations = a->info[at].evaluations + (winner[i] ? info[i].evaluations : 0);
            density[i] = log_add(density[i], share + a->info[at].log_density);
            if (winner[i] == NULL || claim(&a->info[at]) > claim(&info[i])) {
                winner[i] = a;
                place[i] = at;
                info[i] = a->info[at];
                info[i].shard = a->k;
            }
            info[i].evaluations = evaluations;
        }
    }
}

bpcn_status choose_answers(const struct reads *r)
{
    size_t n = r->request->n, traced = r->request->options.trace_room;
    const struct asked **winner = alloc_zeroed(n, sizeof *winner);
    size_t *place = alloc_zeroed(n, sizeof *place);
    double *density = alloc_zeroed(n, sizeof *density);
    unsigned char *out = r->request->answers ? r->request->answers : r->request->codes;
    bpcn_status status = winner && place && density ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        density[i] = -INFINITY;
    if (status == BPCN_OK)
        choose(r, winner, place, density);
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        r->request->info[i].log_density = density[i];
        if (r->out_bytes > 0)
            memcpy(out + i * r->out_bytes, (unsigned char *)winner[i]->out + place[i] * r->out_bytes, r->out_bytes);
        if (r->request->options.trace != NULL)
            memcpy(r->request->options.trace + i * traced, winner[i]->trace + place[i] * traced,
                   traced * sizeof *winner[i]->trace);
    }
    free(winner);
    free(place);
    free(density);
    return status;
}

/* ---- views: what all of them say on average */

/* log of the part that shard s has in the density of its view, which was written `all` rows. */
static double part_of(const struct reads *r, const struct asked *s, size_t at, uint64_t all)
{
    return views_log_share(r->many->views, r->many->rows[s->k], all) + s->info[at].log_density;
}

/* Sums over the shards that were asked, each weighed by its part in the density of its view. */
struct average {
    double *top, *total;   /* [n]: of one view, the greatest log density of a shard, and the sum in units of it */
    double *density;       /* [n]: mean over views of the log density */
    double *mean, *square; /* [n x dim], or NULL where no answer is wanted */
};

static void average_free(struct average *a)
{
    free(a->top);
    free(a->mean);
}

static int average_create(struct average *a, const struct reads *r)
{
    size_t n = r->request->n, entries = r->request->answers ? n * r->many->views->dim : 0;
    *a = (struct average){.top = alloc_zeroed(n, 3 * sizeof *a->top)};
    if (entries > 0)
        a->mean = alloc_zeroed(entries, 2 * sizeof *a->mean);
    if (a->top == NULL || (entries > 0 && a->mean == NULL))
        return -1;
    a->total = a->top + n;
    a->density = a->top + 2 * n;
    a->square = entries > 0 ? a->mean + entries : NULL;
    return 0;
}

/* Adds what a shard says of one row, with this weight. */
static void add_answer(const struct reads *r, struct average *a, const struct asked *from, size_t at, double weight)
{
    size_t dim = r->many->views->dim, i = from->row[at];
    const float *narrow = (const float *)from->out + at * dim;
    const double *wide = (const double *)from->out + at * dim;
    for (size_t j = 0; j < dim; j++) {
        double x = r->row_bytes == dim * sizeof *narrow ? (double)narrow[j] : wide[j];
        a->mean[i * dim + j] += weight * x;
        a->square[i * dim + j] += weight * (x * x + from->info[at].variance);
    }
}

/* The shards asked from first to before last are those of one view. */
static void add_view(const struct reads *r, struct average *a, const struct asked *first, const struct asked *last)
{
    size_t n = r->request->n, cells = views_cells(r->many->views);
    double each = 1 / (double)r->many->views->count;
    uint64_t all = 0;
    for (size_t c = 0, base = first->k / cells * cells; c < cells; c++)
        all += r->many->rows[base + c];
    for (size_t i = 0; i < n; i++) {
        a->top[i] = -INFINITY;
        a->total[i] = 0;
    }
    for (const struct asked *s = first; s < last; s++)
        for (size_t at = 0; at < s->count; at++)
            a->top[s->row[at]] = fmax(a->top[s->row[at]], part_of(r, s, at, all));
    for (const struct asked *s = first; s < last; s++)
        for (size_t at = 0; at < s->count; at++)
            a->total[s->row[at]] += exp(part_of(r, s, at, all) - a->top[s->row[at]]);
    for (size_t i = 0; i < n; i++)
        a->density[i] += each * (a->top[i] + log(a->total[i]));
    for (const struct asked *s = first; a->mean != NULL && s < last; s++)
        for (size_t at = 0; at < s->count; at++) {
            size_t i = s->row[at];
            add_answer(r, a, s, at, each * exp(part_of(r, s, at, all) - a->top[i]) / a->total[i]);
        }
}

/* The answers, and by how much they may be off: shards and views differ, and each has its own variance. */
static void give_average(const struct reads *r, const struct average *a)
{
    const struct read_request *request = r->request;
    size_t entries = request->n * r->many->views->dim;
    for (size_t j = 0; j < entries; j++) {
        int known = request->known != NULL && request->known[j];
        if (r->row_bytes == r->many->views->dim * sizeof(float))
            ((float *)request->answers)[j] = (float)a->mean[j];
        else
            ((double *)request->answers)[j] = a->mean[j];
        if (request->spread != NULL)
            request->spread[j] = known ? 0 : (float)sqrt(fmax(0, a->square[j] - a->mean[j] * a->mean[j]));
    }
}

bpcn_status average_answers(const struct reads *r)
{
    struct average a;
    size_t n = r->request->n, cells = views_cells(r->many->views), last;
    size_t *place = alloc_zeroed(n, sizeof *place);
    double *density = alloc_zeroed(n, sizeof *density);
    const struct asked **winner = alloc_zeroed(n, sizeof *winner);
    bpcn_status status = average_create(&a, r) == 0 && place && density && winner ? BPCN_OK : BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        choose(r, winner, place, density);
    for (size_t first = 0; status == BPCN_OK && first < r->shards; first = last) {
        for (last = first; last < r->shards && r->asked[last].k / cells == r->asked[first].k / cells; last++)
            ;
        add_view(r, &a, r->asked + first, r->asked + last);
    }
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        r->request->info[i].log_density = a.density[i];
        r->request->info[i].familiarity = 0; /* what rows have in common does not tell which were written */
        r->request->info[i].verdict = BPCN_CANNOT_TELL;
    }
    if (status == BPCN_OK && a.mean != NULL)
        give_average(r, &a);
    average_free(&a);
    free(place);
    free(density);
    free(winner);
    return status;
}

/* ---- the mixture */

/* total [n] += share (part - total), floats or doubles */
static void blend(size_t size, size_t n, double share, const void *part, void *total)
{
    const float *narrow = part;
    const double *wide = part;
    for (size_t j = 0; j < n; j++)
        if (size == sizeof *narrow)
            ((float *)total)[j] += (float)share * (narrow[j] - ((float *)total)[j]);
        else
            ((double *)total)[j] += share * (wide[j] - ((double *)total)[j]);
}

/* Adds a shard, whose energies and gradients are `part`, to the sum of those before it. */
static void add_shard(const struct model *model, double log_share, const struct energy_request *part,
                      const struct energy_request *sum)
{
    size_t size = real_size(model), code = model->code_dim;
    for (size_t i = 0; i < part->n; i++) {
        double mine = log_share - part->energy[i], all = log_add(-sum->energy[i], mine);
        sum->energy[i] = -all;
        if (sum->grad != NULL && !isinf(mine))
            blend(size, code, exp(mine - all), (const unsigned char *)part->grad + i * code * size,
                  (unsigned char *)sum->grad + i * code * size);
    }
}

bpcn_status many_energy(const struct many *m, const struct energy_request *request)
{
    const struct model *model = m->shard[0].model;
    size_t n = request->n, grad_bytes = n * model->code_dim * real_size(model);
    double all = all_rows(m);
    struct energy_request part = *request, sum = *request; /* the caller's own room is written when all is well */
    part.energy = alloc_zeroed(n, sizeof *part.energy);
    sum.energy = alloc_zeroed(n, sizeof *sum.energy);
    part.grad = request->grad ? alloc_zeroed(1, grad_bytes) : NULL;
    sum.grad = request->grad ? alloc_zeroed(1, grad_bytes) : NULL;
    bpcn_status status =
        part.energy && sum.energy && (request->grad == NULL || (part.grad && sum.grad)) ? BPCN_OK : BPCN_NO_MEMORY;
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        sum.energy[i] = INFINITY;
    for (size_t k = 0; status == BPCN_OK && k < m->count; k++) {
        status = core_for(model)->energy(&m->shard[k], NULL, &part);
        if (status == BPCN_OK)
            add_shard(model, log(share_of(m, all, k)), &part, &sum);
    }
    if (status == BPCN_OK)
        memcpy(request->energy, sum.energy, n * sizeof *sum.energy);
    if (status == BPCN_OK && request->grad != NULL)
        memcpy(request->grad, sum.grad, grad_bytes);
    free(part.energy);
    free(part.grad);
    free(sum.energy);
    free(sum.grad);
    return status;
}

bpcn_status many_sample(const struct many *m, size_t n, uint64_t seed, uint64_t draw, void *out)
{
    const struct model *model = m->shard[0].model;
    size_t bytes = model->width[0] * real_size(model);
    double all = all_rows(m);
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        uint64_t own = random_stream(STREAM_SAMPLE, draw, i);
        double left = random_uniform(seed, own, 0);
        size_t k = 0;
        while (k + 1 < m->count && (left -= share_of(m, all, k)) >= 0)
            k++;
        status = core_for(model)->sample(m->shard[k].model, 1, own, (unsigned char *)out + i * bytes);
    }
    return status;
}
