/* What a forest says of rows: candidates and their weights, answers, densities, entries given the others, trials. */
#include "forest_inner.h"

#include "alloc.h"
#include "random.h"
#include "threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the part of a node's variance across its plane, what a known row may be off its own side: near a plane both
   children are looked at. */
static const double side_softness = 1. / 16;
static const double unlikely_side = -3.5; /* log chance of a node, given the sides of planes, below which it is left out */
/* The nodes whose mixture is the density: the deepest, with the least weight of the parent. Best of all on 19 tables
   (mean AUC of odd rows .907, all rows in one Gaussian .869). */
enum { DENSITY_NU = 0, DENSITY_DEPTH = FOREST_DEPTHS - 1 };
enum { NEAR_FEW = 5, NEAR_MANY = 15 };
static const double near_tie = 1e-6; /* squared deviations within which the earlier row of the sample is the nearer: far
                                        above the rounding of a row's entries to float */
static const double ridge = 0.05;    /* of mean square errors, in solving for weights: evens out like candidates */
static const double column_cells = 200; /* hidden cells of a column whose own errors count as much as those of all */
static const double error_most = 8;  /* deviations */
enum { EXACT_UP_TO = 256 }; /* rows: nodes of as many are remade after each */
enum { TRIALS_FROM = 8, TRIALS_ALL = 1024, TRIALS_MANY = 8192, WEIGH_STEPS = 400 };
static const double trial_hides = 0.3;
enum { COVERED_FROM = 20 }; /* cells: fewer say nothing of how wide spreads are */
static const double covered_cells = 30; /* of a column whose own factor counts as much as that of all */
static const double covered = 0.9, covered_deviations = 1.6448536269514722;

/* ---- a row in the making */

/* A node that a row was asked of. */
struct visit {
    size_t node;
    double log_part;          /* log of its share of the rows and its density of what is known */
    double log_side;          /* log chance that the row is in it, by the planes above */
    int likeliest;            /* it is on the likeliest path */
    double *mean, *variance;  /* [hidden] in the order of the tree's columns */
    double entropy;           /* log |cov| of what is hidden, over blocks */
};

struct asker {
    struct forest *f;
    uint64_t slack;
    int variances; /* of what is hidden are wanted */
    double *numbers, *work, *ordered, *visit_mean, *visit_variance;
    struct visit *visit;
    size_t visits;
    /* the row */
    size_t known, hidden;
    size_t *hidden_column; /* [hidden] */
    size_t *rank;          /* [dim] place among hidden columns */
    const double *x;
    unsigned char *shown; /* [dim] what is known of it */
    /* the same in the order of a tree */
    struct gaussian_query *query; /* [blocks] */
    size_t *at;                   /* [dim] */
    size_t *place;                /* [hidden] of the tree's order: which hidden column */
    /* candidates */
    double *mean, *variance; /* [CANDIDATES x dim]: of hidden columns */
    double *sum, *square;    /* [dim] */
    double log_density;      /* see forest_query */
};

static void asker_free(struct asker *a)
{
    free(a->numbers);
    free(a->visit);
    free(a->hidden_column);
    free(a->shown);
    free(a->query);
}

static int asker_create(struct asker *a, struct forest *f, uint64_t slack, int variances)
{
    size_t d = f->options.dim, q = FOREST_CANDIDATES;
    *a = (struct asker){.f = f, .slack = slack, .variances = variances};
    a->numbers = alloc_zeroed(gaussian_work(f->block) + d + 2 * f->nodes * d + 2 * q * d + 2 * d, sizeof(double));
    a->visit = alloc_zeroed(f->nodes, sizeof *a->visit);
    a->hidden_column = alloc_zeroed(4 * d, sizeof *a->hidden_column);
    a->shown = alloc_zeroed(d, 1);
    a->query = alloc_zeroed(f->blocks, sizeof *a->query);
    if (!a->numbers || !a->visit || !a->hidden_column || !a->shown || !a->query) {
        asker_free(a);
        return -1;
    }
    a->work = a->numbers;
    a->ordered = a->work + gaussian_work(f->block);
    a->visit_mean = a->ordered + d;
    a->visit_variance = a->visit_mean + f->nodes * d;
    a->mean = a->visit_variance + f->nodes * d;
    a->variance = a->mean + q * d;
    a->sum = a->variance + q * d;
    a->square = a->sum + d;
    a->rank = a->hidden_column + d;
    a->at = a->rank + d;
    a->place = a->at + d;
    return 0;
}

static void asker_row(struct asker *a, const double *x, const unsigned char *known)
{
    size_t d = a->f->options.dim;
    a->x = x;
    a->known = a->hidden = 0;
    for (size_t j = 0; j < d; j++) {
        a->shown[j] = known == NULL || known[j];
        if (a->shown[j])
            a->known++;
        else {
            a->rank[j] = a->hidden;
            a->hidden_column[a->hidden++] = j;
        }
    }
}

/* The row in the order of a tree's columns, and a query for each of its blocks. */
static void asker_tree(struct asker *a, const struct forest_tree *t)
{
    const struct forest *f = a->f;
    size_t hidden = 0;
    for (size_t b = 0; b < f->blocks; b++) {
        size_t size = forest_block_size(f, b), first = b * f->block, known = 0, *at = a->at + first;
        for (size_t i = 0; i < size; i++) {
            size_t j = t->column[first + i];
            a->ordered[first + i] = a->shown[j] ? a->x[j] : 0;
            if (a->shown[j])
                at[known++] = i;
        }
        a->query[b] = (struct gaussian_query){size, known, at, a->ordered + first};
        for (size_t i = 0; i < size; i++)
            if (!a->shown[t->column[first + i]]) {
                at[known++] = i;
                a->place[hidden++] = a->rank[t->column[first + i]];
            }
    }
}

/* ---- the nodes of a tree */

static double log_normal_below(double z)
{
    return z > 6 ? 0 : z < -12 ? -74 : log(.5 * erfc(-z * 0.70710678118654752));
}

/* Asks one node; with `across`, also for the mean and variance of the row across its plane. */
static int visit_node(struct asker *a, struct forest_tree *t, size_t nu, int64_t depth, struct visit *s, double across[2])
{
    struct forest *f = a->f;
    const struct forest_node *n = &t->node[s->node];
    const struct forest_cache *c = forest_node_cache(f, t, s->node, nu, a->slack);
    size_t at = 0;
    if (c == NULL)
        return -1;
    across[0] = 0;
    across[1] = side_softness * c->across;
    s->log_part = log((n->n + .5) / (t->node[0].n + .5));
    s->entropy = 0;
    for (size_t b = 0; b < f->blocks; b++) {
        struct gaussian_answer answer = {.mean = s->mean + at, .variance = a->variances ? s->variance + at : NULL};
        if (n->left >= 0 && n->depth < depth)
            answer.direction = t->plane + s->node * f->options.dim + b * f->block;
        s->log_part += gaussian_condition(&c->block[b], &a->query[b], &answer, a->work);
        s->entropy += answer.entropy;
        across[0] += answer.direction != NULL ? answer.along[0] : 0;
        across[1] += answer.direction != NULL ? answer.along[1] : 0;
        at += a->query[b].dim - a->query[b].known;
    }
    return 0;
}

/* The nodes of a tree down to a depth where the row is likely to be, from the top; the likelier side of each plane on
   the likeliest path among them in any case. */
static int visit_tree(struct asker *a, struct forest_tree *t, size_t nu, int64_t depth)
{
    size_t d = a->f->options.dim;
    a->visits = 1;
    a->visit[0] = (struct visit){.node = 0, .likeliest = 1};
    for (size_t i = 0; i < a->visits; i++) {
        struct visit *s = &a->visit[i];
        const struct forest_node *n = &t->node[s->node];
        double across[2];
        s->mean = a->visit_mean + i * d;
        s->variance = a->visit_variance + i * d;
        if (visit_node(a, t, nu, depth, s, across) != 0)
            return -1;
        if (n->left < 0 || n->depth >= depth)
            continue;
        double z = (across[0] - n->threshold) / sqrt(across[1] + 1e-300);
        for (int side = 0; side < 2; side++) {
            double log_side = s->log_side + log_normal_below(side ? z : -z);
            int likeliest = s->likeliest && side == (z > 0);
            if (likeliest || log_side >= unlikely_side) {
                struct visit *child = &a->visit[a->visits++];
                child->node = (size_t)(side ? n->right : n->left);
                child->log_side = log_side;
                child->likeliest = likeliest;
            }
        }
    }
    return 0;
}

static int in_cut(const struct forest_node *n, int64_t depth)
{
    return n->depth == depth || (n->depth < depth && n->left < 0);
}

/* The mixture of the nodes at a depth: adds its means and second moments of what is hidden, times share, to those of a
   candidate. Returns log density of what is known. */
static double cut_tree(struct asker *a, const struct forest_tree *t, int64_t depth, double share, double *mean,
                       double *second, double *entropy)
{
    double most = -INFINITY, all = 0;
    memset(a->sum, 0, a->hidden * sizeof *a->sum);
    memset(a->square, 0, a->hidden * sizeof *a->square);
    for (size_t i = 0; i < a->visits; i++)
        if (in_cut(&t->node[a->visit[i].node], depth) && a->visit[i].log_part > most)
            most = a->visit[i].log_part;
    for (size_t i = 0; i < a->visits; i++) {
        const struct visit *s = &a->visit[i];
        if (!in_cut(&t->node[s->node], depth) || s->log_part < most - 20)
            continue;
        double r = exp(s->log_part - most);
        all += r;
        *entropy += r * s->entropy;
        for (size_t g = 0; g < a->hidden; g++) {
            a->sum[g] += r * s->mean[g];
            a->square[g] += a->variances ? r * (s->variance[g] + s->mean[g] * s->mean[g]) : 0;
        }
    }
    *entropy /= all;
    for (size_t g = 0; g < a->hidden; g++) {
        mean[a->place[g]] += share / all * a->sum[g];
        second[a->place[g]] += share / all * a->square[g];
    }
    return most + log(all);
}

/* ---- the nearest of the sample, by what both know, in units of the columns' deviations */

static void ask_nearest(struct asker *a, double *mean, double *variance)
{
    const struct forest *f = a->f;
    size_t d = f->options.dim, found = 0, near[NEAR_MANY];
    double far[NEAR_MANY], *inverse = a->work; /* 1 / variance of what is known */
    for (size_t j = 0; j < d; j++)
        a->sum[j] = a->shown[j] ? 1 / forest_variance(f, j) : 0;
    inverse = a->sum;
    for (size_t i = 0; i < f->head->sampled; i++) {
        size_t slot = (size_t)f->sample[i];
        const double *x = f->row + slot * d;
        double sum = 0, both = 0, limit = found == NEAR_MANY ? far[NEAR_MANY - 1] - near_tie : INFINITY;
        for (size_t j = 0; j < d; j++) {
            if (!a->shown[j])
                continue;
            double w = forest_row_knows(f, slot, j) ? 1 : .5; /* a filled entry says half as much */
            both += w;
            sum += w * (x[j] - a->x[j]) * (x[j] - a->x[j]) * inverse[j];
        }
        sum *= (double)a->known / (both + 1e-9);
        if (!(sum < limit))
            continue;
        size_t at = found < NEAR_MANY ? found++ : NEAR_MANY - 1;
        for (; at > 0 && far[at - 1] > sum + near_tie; at--) {
            far[at] = far[at - 1];
            near[at] = near[at - 1];
        }
        far[at] = sum;
        near[at] = slot;
    }
    for (size_t which = 0; which < FOREST_NEAREST; which++) {
        size_t most = which == 0 ? NEAR_FEW : NEAR_MANY;
        most = most < found ? most : found;
        double scale = most > 0 ? .2 * far[most - 1] + 1e-12 : 1;
        for (size_t g = 0; g < a->hidden; g++) {
            size_t j = a->hidden_column[g];
            double sum = 1e-9, first = 0, second = 0;
            for (size_t i = 0; i < most; i++) {
                double w = 1 / (scale + far[i]), e = f->row[near[i] * d + j];
                w *= forest_row_knows(f, near[i], j) ? 1 : .3;
                sum += w;
                first += w * e;
                second += w * e * e;
            }
            mean[which * d + g] = first / sum;
            variance[which * d + g] = fmax(second / sum - pow(first / sum, 2), 0) + .05 * forest_variance(f, j);
        }
    }
}

/* ---- candidates */

/* What those candidates say of the hidden columns, and the density, which wants its own to be among them. */
static int ask_candidates(struct asker *a, const unsigned char *used)
{
    struct forest *f = a->f;
    size_t d = f->options.dim, near = FOREST_DEPTHS * FOREST_NUS;
    double share = 1 / (double)f->options.trees;
    memset(a->mean, 0, FOREST_CANDIDATES * d * sizeof *a->mean);
    memset(a->variance, 0, FOREST_CANDIDATES * d * sizeof *a->variance);
    a->log_density = 0;
    for (size_t v = 0; v < f->options.trees; v++) {
        struct forest_tree *t = &f->tree[v];
        asker_tree(a, t);
        for (size_t nu = 0; nu < FOREST_NUS; nu++) {
            int64_t deepest = -1;
            for (size_t l = 0; l < FOREST_DEPTHS; l++)
                deepest = used[nu * FOREST_DEPTHS + l] ? forest_depth[l] : deepest;
            if (deepest < 0)
                continue;
            if (visit_tree(a, t, nu, deepest) != 0)
                return -1;
            for (size_t l = 0; l < FOREST_DEPTHS; l++) {
                size_t c = nu * FOREST_DEPTHS + l;
                double entropy = 0, log_density;
                if (!used[c])
                    continue;
                log_density =
                    cut_tree(a, t, forest_depth[l], share, a->mean + c * d, a->variance + c * d, &entropy);
                if (nu == DENSITY_NU && l == DENSITY_DEPTH)
                    a->log_density +=
                        share * (log_density - .5 * ((double)a->hidden * 2.8378770664093454836 + entropy));
            }
        }
    }
    for (size_t c = 0; c < near; c++)
        for (size_t g = 0; used[c] && g < a->hidden; g++)
            a->variance[c * d + g] = fmax(a->variance[c * d + g] - pow(a->mean[c * d + g], 2), 0);
    if (a->hidden > 0 && memchr(used + near, 1, FOREST_NEAREST) != NULL)
        ask_nearest(a, a->mean + near * d, a->variance + near * d);
    return 0;
}

/* ---- weights of candidates: least squares on the errors of trials, none negative, their sum 1 */

/* From even weights on, moves weight from the candidate with the greatest gradient to that with the least. */
static void solve_weights(const double *products, double *w)
{
    enum { Q = FOREST_CANDIDATES };
    double a[Q][Q], g[Q];
    for (size_t i = 0, e = 0; i < Q; i++)
        for (size_t j = 0; j <= i; j++, e++)
            a[i][j] = a[j][i] = products[e] + (i == j ? ridge : 0);
    for (size_t i = 0; i < Q; i++)
        w[i] = 1. / Q;
    for (size_t i = 0; i < Q; i++) {
        g[i] = 0;
        for (size_t j = 0; j < Q; j++)
            g[i] += a[i][j] * w[j];
    }
    for (int step = 0; step < WEIGH_STEPS; step++) {
        size_t low = 0, high = Q;
        for (size_t i = 0; i < Q; i++) {
            low = g[i] < g[low] ? i : low;
            high = w[i] > 0 && (high == Q || g[i] > g[high]) ? i : high;
        }
        if (low == high || g[high] - g[low] <= 1e-6 * fabs(g[low]))
            break;
        double bend = a[low][low] - 2 * a[low][high] + a[high][high], move = (g[high] - g[low]) / bend;
        int whole = move >= w[high];
        move = whole ? w[high] : move;
        w[low] += move;
        w[high] = whole ? 0 : w[high] - move;
        for (size_t i = 0; i < Q; i++)
            g[i] += move * (a[i][low] - a[i][high]);
    }
}

static int compare_ratios(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double mean_square(const double *products)
{
    double sum = 0;
    for (size_t i = 0; i < FOREST_CANDIDATES; i++)
        sum += products[gaussian_packed(i) + i] / FOREST_CANDIDATES;
    return sum;
}

/* The factor by which spreads cover `covered` of the n cells with these ratios, which are sorted. The rank counts the
   cell to come. */
static double widen_factor(double *ratio, size_t n)
{
    size_t at = (size_t)ceil(covered * ((double)n + 1));
    qsort(ratio, n, sizeof *ratio, compare_ratios);
    return fmax(ratio[at <= n ? at - 1 : n - 1] / covered_deviations, .01);
}

/* Of all columns together, and of each as far as its own cells go: a column that is easy among hard ones has narrower
   spreads. */
static void widen_spreads(const struct forest *f)
{
    size_t d = f->options.dim, kept = f->head->ratios < FOREST_RATIOS ? (size_t)f->head->ratios : FOREST_RATIOS;
    double sorted[FOREST_RATIOS], all = 1;
    if (kept >= COVERED_FROM) {
        memcpy(sorted, f->ratio, kept * sizeof *sorted);
        all = widen_factor(sorted, kept);
    }
    for (size_t j = 0; j < d; j++) {
        size_t own = 0;
        for (size_t i = 0; i < kept && d <= FOREST_OWN_COLUMNS; i++)
            if (f->ratio_column[i] == j)
                sorted[own++] = f->ratio[i];
        f->widen[j] = all;
        if (own < COVERED_FROM)
            continue;
        double share = (double)own / ((double)own + covered_cells);
        f->widen[j] = exp(share * log(widen_factor(sorted, own)) + (1 - share) * log(all));
    }
}

void forest_weigh(struct forest *f)
{
    if (atomic_load_explicit(&f->weighed, memory_order_acquire) == f->version)
        return;
    pthread_mutex_lock(&f->lock);
    if (f->weighed != f->version) {
        size_t d = f->options.dim;
        double all = mean_square(f->products), share, products[FOREST_PAIRS], cells = f->head->trials / (double)d;
        memset(f->used, 0, sizeof f->used);
        for (size_t j = 0; j < d; j++) {
            double *w = f->weight + j * FOREST_CANDIDATES;
            const double *own = d <= FOREST_OWN_COLUMNS ? f->products + (1 + j) * FOREST_PAIRS : NULL;
            double mine = own != NULL ? mean_square(own) : 0;
            if (j > 0 && (own == NULL || !(all > 0)))
                memcpy(w, f->weight, FOREST_CANDIDATES * sizeof *w);
            else if (!(all > 0)) { /* nothing was tried */
                memset(w, 0, FOREST_CANDIDATES * sizeof *w);
                w[FOREST_DEPTHS] = 1; /* one Gaussian with the middle nu */
            } else {
                share = mine > 0 ? column_cells / (cells + column_cells) : 1;
                for (size_t e = 0; e < FOREST_PAIRS; e++)
                    products[e] = share * f->products[e] / all + (share < 1 ? (1 - share) * own[e] / mine : 0);
                solve_weights(products, w);
            }
            for (size_t c = 0; c < FOREST_CANDIDATES; c++)
                f->used[c] |= w[c] > 0;
        }
        atomic_store_explicit(&f->weighed, f->version, memory_order_release);
    }
    pthread_mutex_unlock(&f->lock);
}

/* widen of the present state, which takes longer than a row needs that is only learnt. */
static void forest_widen(struct forest *f)
{
    if (atomic_load_explicit(&f->widened, memory_order_acquire) == f->version)
        return;
    pthread_mutex_lock(&f->lock);
    if (f->widened != f->version) {
        widen_spreads(f);
        atomic_store_explicit(&f->widened, f->version, memory_order_release);
    }
    pthread_mutex_unlock(&f->lock);
}

/* The mean and variance of the hidden column number g by the weights. */
static void blend_candidates(const struct asker *a, size_t g, double *mean, double *variance)
{
    size_t d = a->f->options.dim;
    const double *w = a->f->weight + a->hidden_column[g] * FOREST_CANDIDATES;
    double first = 0, second = 0;
    for (size_t c = 0; c < FOREST_CANDIDATES; c++) {
        double m = a->mean[c * d + g];
        first += w[c] * m;
        second += w[c] > 0 ? w[c] * (a->variance[c * d + g] + m * m) : 0;
    }
    *mean = first;
    *variance = fmax(second - first * first, 1e-12 * forest_variance(a->f, a->hidden_column[g]));
}

/* ---- entries given the others */

/* By the leaves of every tree, all of them: an entry that is wrong leads to the wrong ones. With r_l the share and
   density of leaf l without entry j, p(x_j | others) = sum_l share_l p_l(x_K) / sum_l share_l p_l(x_K without j). */
static int explain_row(struct asker *a, double *expected, double *deviation, double *log_given)
{
    struct forest *f = a->f;
    size_t d = f->options.dim, k = 0;
    double share = 1 / (double)f->options.trees, *mean = a->mean, *second = a->mean + d, *without = a->mean + 2 * d,
           *most = a->mean + 3 * d, *given = a->variance, *variance = a->variance + d;
    memset(expected, 0, d * sizeof *expected);
    memset(deviation, 0, d * sizeof *deviation);
    memset(log_given, 0, d * sizeof *log_given);
    for (size_t v = 0; v < f->options.trees; v++) {
        struct forest_tree *t = &f->tree[v];
        double top = -INFINITY, all = 0;
        asker_tree(a, t);
        memset(a->mean, 0, 3 * d * sizeof *a->mean);
        for (size_t j = 0; j < d; j++)
            most[j] = -INFINITY;
        for (size_t node = 0; node < (size_t)*t->count; node++) {
            if (t->node[node].left >= 0)
                continue;
            const struct forest_cache *c = forest_node_cache(f, t, node, DENSITY_NU, 0);
            if (c == NULL)
                return -1;
            double log_part = log((t->node[node].n + .5) / (t->node[0].n + .5));
            for (size_t b = 0; b < f->blocks; b++)
                log_part += gaussian_leave_one_out(&c->block[b], &a->query[b], given + b * f->block,
                                                   variance + b * f->block, a->work);
            if (log_part > top) {
                all *= exp(top - log_part);
                top = log_part;
            }
            all += exp(log_part - top);
            for (size_t b = 0; b < f->blocks; b++)
                for (size_t i = 0; i < a->query[b].known; i++) {
                    size_t j = b * f->block + a->query[b].at[i];
                    double off = a->ordered[j] - given[j];
                    double log_without = log_part + .5 * (log(2 * 3.14159265358979323846 * variance[j]) +
                                                          off * off / variance[j]);
                    if (log_without > most[j]) {
                        double scale = exp(most[j] - log_without);
                        mean[j] *= scale;
                        second[j] *= scale;
                        without[j] *= scale;
                        most[j] = log_without;
                    }
                    double r = exp(log_without - most[j]);
                    without[j] += r;
                    mean[j] += r * given[j];
                    second[j] += r * (variance[j] + given[j] * given[j]);
                }
        }
        for (size_t i = 0; i < d; i++) {
            size_t j = t->column[i];
            if (!a->shown[j])
                continue;
            expected[j] += share * mean[i] / without[i];
            deviation[j] += share * second[i] / without[i];
            log_given[j] += share * (top + log(all) - most[i] - log(without[i]));
        }
    }
    for (k = 0; k < d; k++)
        deviation[k] = a->shown[k] ? sqrt(fmax(deviation[k] - expected[k] * expected[k],
                                               1e-12 * forest_variance(f, k)))
                                   : 0;
    return 0;
}

/* The entries of one column, of which there are several, given all other known ones; a->shown is that without them. By
   all leaves, as above. */
static int explain_column(struct asker *a, uint64_t column, double *expected, double *deviation)
{
    struct forest *f = a->f;
    size_t d = f->options.dim;
    double share = 1 / (double)f->options.trees, *mean = a->mean, *second = a->mean + d, *one = a->mean + 2 * d,
           *variance = a->variance;
    memset(mean, 0, 2 * d * sizeof *mean);
    for (size_t v = 0; v < f->options.trees; v++) {
        struct forest_tree *t = &f->tree[v];
        double top = -INFINITY, all = 0;
        asker_tree(a, t);
        memset(a->sum, 0, a->hidden * sizeof *a->sum);
        memset(a->square, 0, a->hidden * sizeof *a->square);
        for (size_t node = 0; node < (size_t)*t->count; node++) {
            if (t->node[node].left >= 0)
                continue;
            const struct forest_cache *c = forest_node_cache(f, t, node, DENSITY_NU, 0);
            if (c == NULL)
                return -1;
            double log_part = log((t->node[node].n + .5) / (t->node[0].n + .5));
            size_t at = 0;
            for (size_t b = 0; b < f->blocks; b++) {
                struct gaussian_answer answer = {.mean = one + at, .variance = variance + at};
                log_part += gaussian_condition(&c->block[b], &a->query[b], &answer, a->work);
                at += a->query[b].dim - a->query[b].known;
            }
            if (log_part > top) {
                double scale = exp(top - log_part);
                all *= scale;
                for (size_t g = 0; g < a->hidden; g++) {
                    a->sum[g] *= scale;
                    a->square[g] *= scale;
                }
                top = log_part;
            }
            double r = exp(log_part - top);
            all += r;
            for (size_t g = 0; g < a->hidden; g++) {
                a->sum[g] += r * one[g];
                a->square[g] += r * (variance[g] + one[g] * one[g]);
            }
        }
        for (size_t g = 0; g < a->hidden; g++) {
            mean[a->place[g]] += share * a->sum[g] / all;
            second[a->place[g]] += share * a->square[g] / all;
        }
    }
    for (size_t g = 0; g < a->hidden; g++) {
        size_t j = a->hidden_column[g];
        if (f->group[j] != column)
            continue;
        expected[j] = mean[g];
        deviation[j] = sqrt(fmax(second[g] - mean[g] * mean[g], 1e-12 * forest_variance(f, j)));
    }
    return 0;
}

/* Columns of several entries, which say each other: x and known are the row's. */
static int explain_columns(struct asker *a, const double *x, const unsigned char *known, double *expected,
                           double *deviation, double *log_given)
{
    const uint64_t *group = a->f->group;
    size_t d = a->f->options.dim;
    int status = 0;
    for (size_t j = 0; status == 0 && j < d; j++) {
        size_t entries = 0;
        if (group[j] != j || (known != NULL && !known[j]))
            continue;
        for (size_t i = j; i < d; i++)
            entries += group[i] == j;
        if (entries == 1)
            continue;
        asker_row(a, x, known);
        for (size_t i = j; i < d; i++)
            if (group[i] == j) {
                a->shown[i] = 0;
                log_given[i] = 0;
            }
        asker_row(a, x, a->shown);
        status = explain_column(a, j, expected, deviation);
    }
    return status;
}

/* ---- asking */

struct ask_job {
    struct forest *f;
    const struct forest_query *query;
    unsigned char used[FOREST_CANDIDATES];
    atomic_int failed;
};

static int ask_row(struct asker *a, const struct ask_job *job, size_t i)
{
    const struct forest_query *q = job->query;
    size_t d = a->f->options.dim;
    const double *x = q->x + i * d;
    asker_row(a, x, q->known != NULL ? q->known + i * d : NULL);
    if ((q->answer != NULL && a->hidden > 0) || q->log_density != NULL)
        if (ask_candidates(a, job->used) != 0)
            return -1;
    if (q->log_density != NULL)
        q->log_density[i] = a->log_density;
    if (q->answer != NULL && q->answer != q->x)
        memcpy(q->answer + i * d, x, d * sizeof *x);
    if (q->spread != NULL)
        memset(q->spread + i * d, 0, d * sizeof *x);
    for (size_t g = 0; q->answer != NULL && g < a->hidden; g++) {
        double variance;
        size_t at = i * d + a->hidden_column[g];
        blend_candidates(a, g, &q->answer[at], &variance);
        if (q->spread != NULL)
            q->spread[at] = a->f->widen[a->hidden_column[g]] * sqrt(variance);
    }
    if (q->expected != NULL)
        return explain_row(a, q->expected + i * d, q->deviation + i * d, q->log_given + i * d) != 0 ||
                       explain_columns(a, x, q->known != NULL ? q->known + i * d : NULL, q->expected + i * d,
                                       q->deviation + i * d, q->log_given + i * d) != 0
                   ? -1
                   : 0;
    return 0;
}

static void ask_part(void *context, size_t part, size_t parts)
{
    struct ask_job *job = context;
    struct asker a;
    size_t first, last;
    threads_share(job->query->n, 1, part, parts, &first, &last);
    if (first == last)
        return;
    int failed = asker_create(&a, job->f, 0, job->query->spread != NULL);
    if (failed) {
        atomic_store(&job->failed, 1);
        return;
    }
    for (size_t i = first; !failed && i < last; i++)
        failed = ask_row(&a, job, i);
    if (failed)
        atomic_store(&job->failed, 1);
    asker_free(&a);
}

int forest_ask(struct forest *f, struct team *team, const struct forest_query *query)
{
    struct ask_job job = {.f = f, .query = query};
    int answers = query->answer != NULL && query->known != NULL;
    forest_weigh(f);
    if (query->spread != NULL)
        forest_widen(f);
    for (size_t c = 0; c < FOREST_CANDIDATES; c++)
        job.used[c] = answers && f->used[c];
    if (query->log_density != NULL)
        job.used[DENSITY_NU * FOREST_DEPTHS + DENSITY_DEPTH] = 1;
    if (query->n == 1)
        ask_part(&job, 0, 1);
    else
        threads_run(team, ask_part, &job);
    return job.failed ? -1 : 0;
}

/* ---- rows about to be learnt */

/* Every row while there are few, then fewer; and fewer where there are many columns, each of which is tried. */
static int is_on_trial(const struct forest *f)
{
    uint64_t t = f->head->writes, every = 1 + f->options.dim / 32;
    return t >= TRIALS_FROM && t % (t < TRIALS_ALL ? every : t < TRIALS_MANY ? 16 * every : 64 * every) == 0;
}

/* Hides some of what is known and notes what the candidates are off by. Returns the number of cells. */
static long try_row(struct asker *a, const double *x, const unsigned char *known, double *cells)
{
    struct forest *f = a->f;
    size_t d = f->options.dim;
    unsigned char every[FOREST_CANDIDATES];
    uint64_t stream = random_stream(STREAM_VIEW, UINT64_MAX, 1 + f->head->writes);
    memset(every, 1, sizeof every);
    asker_row(a, x, known);
    size_t total = a->known;
    for (size_t j = 0; j < d; j++) /* whole columns */
        a->shown[j] &= random_uniform(f->options.seed, stream, f->group[j]) >= trial_hides;
    asker_row(a, x, a->shown);
    if (a->known == 0 || a->known == total)
        return 0;
    if (ask_candidates(a, every) != 0)
        return -1;
    long count = 0;
    for (size_t g = 0; g < a->hidden; g++) {
        size_t j = a->hidden_column[g];
        double *cell = cells + count * FOREST_CELL, mean, variance, scale = sqrt(forest_variance(f, j));
        if (known != NULL && !known[j])
            continue;
        blend_candidates(a, g, &mean, &variance);
        cell[0] = (double)j;
        cell[1] = fmin(fabs(x[j] - mean) / sqrt(variance), 1e6);
        cell[2] = fmax(-error_most, fmin(error_most, (mean - x[j]) / scale));
        for (size_t c = 0; c < FOREST_CANDIDATES; c++)
            cell[3 + c] = fmax(-error_most, fmin(error_most, (a->mean[c * d + g] - x[j]) / scale));
        count++;
    }
    return count;
}

/* The conditional covariance of what is hidden about `filled`, by the candidate of greatest weight; packed, or of a wide
   table its diagonal. */
static int open_covariance(struct asker *a, const double *filled, double *open)
{
    struct forest *f = a->f;
    size_t d = f->options.dim, h = a->hidden, best = 0, candidates = FOREST_DEPTHS * FOREST_NUS;
    double sum[FOREST_DEPTHS * FOREST_NUS] = {0}, share = 1 / (double)f->options.trees;
    for (size_t c = 0; c < candidates; c++) {
        for (size_t j = 0; j < d; j++)
            sum[c] += f->weight[j * FOREST_CANDIDATES + c];
        best = sum[c] > sum[best] ? c : best;
    }
    if (f->blocks > 1) {
        for (size_t g = 0; g < h; g++)
            open[g] = a->variance[best * d + g] + pow(a->mean[best * d + g] - filled[g], 2);
        return 0;
    }
    double *part = alloc_zeroed(h * h + 1, sizeof *part);
    int64_t depth = forest_depth[best % FOREST_DEPTHS];
    int status = part != NULL ? 0 : -1;
    memset(open, 0, gaussian_packed(h) * sizeof *open);
    for (size_t v = 0; status == 0 && v < f->options.trees; v++) {
        struct forest_tree *t = &f->tree[v];
        double most = -INFINITY, all = 0;
        asker_tree(a, t);
        status = visit_tree(a, t, best / FOREST_DEPTHS, depth);
        for (size_t i = 0; i < a->visits; i++)
            if (in_cut(&t->node[a->visit[i].node], depth))
                most = fmax(most, a->visit[i].log_part);
        for (size_t i = 0; i < a->visits; i++)
            if (in_cut(&t->node[a->visit[i].node], depth))
                all += exp(a->visit[i].log_part - most);
        for (size_t i = 0; status == 0 && i < a->visits; i++) {
            struct visit *s = &a->visit[i];
            double r = exp(s->log_part - most) / all;
            const struct forest_cache *c;
            if (!in_cut(&t->node[s->node], depth) || r < 1e-2)
                continue;
            c = forest_node_cache(f, t, s->node, best / FOREST_DEPTHS, a->slack);
            struct gaussian_answer answer = {.covariance = part};
            if (c == NULL || !isfinite(gaussian_condition(&c->block[0], &a->query[0], &answer, a->work))) {
                status = -1;
                break;
            }
            for (size_t g = 0, e = 0; g < h; g++)
                for (size_t i2 = 0; i2 <= g; i2++, e++)
                    open[e] += share * r *
                               (part[g * h + i2] + (s->mean[g] - filled[g]) * (s->mean[i2] - filled[i2]));
        }
    }
    free(part);
    return status;
}

int forest_find(struct forest *f, const double *x, const unsigned char *known, double *entry, size_t *numbers)
{
    struct asker a;
    size_t d = f->options.dim, gaps = 0;
    for (size_t j = 0; known != NULL && j < d; j++)
        gaps += !known[j];
    int trial = is_on_trial(f);
    entry[0] = (double)gaps;
    entry[1] = 0;
    *numbers = 2;
    if (gaps == 0 && !trial)
        return 0;
    /* Of many rows, nodes may lag behind by a thirty-second: what is found is part of the change. */
    uint64_t writes = f->head->writes;
    if (asker_create(&a, f, writes < EXACT_UP_TO ? 0 : writes / 32, 1) != 0)
        return -1;
    forest_weigh(f);
    int status = 0;
    if (gaps > 0) {
        double *filled = entry + 2, variance;
        asker_row(&a, x, known);
        status = ask_candidates(&a, f->used);
        for (size_t g = 0; status == 0 && g < gaps; g++)
            blend_candidates(&a, g, &filled[g], &variance);
        if (status == 0)
            status = open_covariance(&a, filled, filled + gaps);
        *numbers += gaps + (f->blocks == 1 ? gaussian_packed(gaps) : gaps);
    }
    if (status == 0 && trial) {
        long cells = try_row(&a, x, known, entry + *numbers);
        status = cells < 0 ? -1 : 0;
        entry[1] = status == 0 ? (double)cells : 0;
        *numbers += status == 0 ? (size_t)cells * FOREST_CELL : 0;
    }
    asker_free(&a);
    return status == 0 && forest_entry_sound(d, known, entry, *numbers) ? 0 : -1;
}

/* ---- drawing */

/* From a leaf drawn by its rows, in a tree drawn evenly. */
int forest_sample(struct forest *f, size_t n, uint64_t draw, double *out)
{
    size_t d = f->options.dim;
    double *normal = alloc_zeroed(d, sizeof *normal);
    for (size_t i = 0; normal != NULL && i < n; i++) {
        uint64_t stream = random_stream(STREAM_SAMPLE, draw, i);
        struct forest_tree *t =
            &f->tree[(size_t)(random_uniform(f->options.seed, stream, 0) * (double)f->options.trees)];
        double left = random_uniform(f->options.seed, stream, 1) * t->node[0].n;
        size_t node = 0;
        while (t->node[node].left >= 0) {
            int right = left >= t->node[t->node[node].left].n;
            left -= right ? t->node[t->node[node].left].n : 0;
            node = (size_t)(right ? t->node[node].right : t->node[node].left);
        }
        const struct forest_cache *c = forest_node_cache(f, t, node, DENSITY_NU, 0);
        if (c == NULL) {
            free(normal);
            return -1;
        }
        random_normals(f->options.seed, random_stream(STREAM_SAMPLE, draw, ~(uint64_t)i), 0, d, normal);
        for (size_t b = 0; b < f->blocks; b++)
            if (gaussian_draw(forest_block_size(f, b), &c->block[b], normal + b * f->block) != 0) {
                free(normal);
                return -1;
            }
        for (size_t j = 0; j < d; j++)
            out[i * d + t->column[j]] = normal[j];
    }
    free(normal);
    return normal != NULL ? 0 : -1;
}
