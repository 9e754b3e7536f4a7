/* A forest: its Gaussians against dense algebra, what is learnt and taken back, its state, and the answers it gives. */
#include "support.h"

#include "forest_inner.h"
#include "threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 7, ROWS = 400 };

/* ---- rows: mixtures of three groups on planes, so that trees find something to split */

static double *some_rows(size_t n, size_t dim, uint64_t seed)
{
    struct dice dice = {seed};
    double *x = room(n * dim, sizeof *x);
    for (size_t i = 0; i < n; i++) {
        double group = floor(3 * dice_uniform(&dice)) - 1, a = dice_normal(&dice), b = dice_normal(&dice);
        for (size_t j = 0; j < dim; j++)
            x[i * dim + j] = .6 * group * (j % 2 ? 1 : -1) + .5 * a * sin((double)j) + .5 * b * cos((double)(j * j)) +
                             .2 * dice_normal(&dice);
    }
    return x;
}

static unsigned char *some_gaps(size_t n, size_t dim, uint64_t seed, double share)
{
    struct dice dice = {seed};
    unsigned char *known = room(n * dim, 1);
    for (size_t i = 0; i < n * dim; i++)
        known[i] = i % dim == i / dim % dim || dice_uniform(&dice) >= share; /* something of every row */
    return known;
}

static struct forest *forest_of(size_t dim)
{
    struct forest_options o = forest_options_for(dim, 5);
    struct forest *f = forest_create(&o);
    assert_non_null(f);
    return f;
}

static void learn(struct forest *f, size_t n, const double *x, const unsigned char *known)
{
    size_t dim = f->options.dim, numbers;
    double *entry = room(forest_entry_most(dim), sizeof *entry);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *knows = known != NULL ? known + i * dim : NULL;
        assert_int_equal(forest_find(f, x + i * dim, knows, entry, &numbers), 0);
        forest_learn(f, x + i * dim, knows, entry);
    }
    free(entry);
}

static double *answers_of(struct forest *f, size_t n, const double *x, const unsigned char *known)
{
    double *out = room(n * f->options.dim, sizeof *out);
    struct forest_query q = {.n = n, .x = x, .known = known, .answer = out};
    assert_int_equal(forest_ask(f, NULL, &q), 0);
    return out;
}

/* ---- Gaussians. The oracle is Gauss-Jordan elimination of dense matrices */

/* a [n x n] becomes its inverse; returns its determinant. */
static double invert_dense(size_t n, double *a)
{
    double det = 1;
    for (size_t k = 0; k < n; k++) {
        double pivot = a[k * n + k];
        det *= pivot;
        a[k * n + k] = 1;
        for (size_t j = 0; j < n; j++)
            a[k * n + j] /= pivot;
        for (size_t i = 0; i < n; i++) {
            double factor = a[i * n + k];
            if (i == k)
                continue;
            a[i * n + k] = 0;
            for (size_t j = 0; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return det;
}

struct scene {
    double numbers[DIM + 2 * DIM * DIM], work[2 * DIM * DIM + 4 * DIM], prior_numbers[DIM + DIM * DIM];
    double n, mean[DIM], scatter[DIM * (DIM + 1) / 2], dense[DIM * DIM], dense_mean[DIM];
    struct gaussian g;
};

static const double nu = 5, kappa = 2;

/* The posterior of 12 rows under a prior with mean .5 and covariance 2 I, by the module and from its definition. */
static void scene_make(struct scene *s)
{
    enum { N = 12 };
    double *x = some_rows(N, DIM, 3), floor[DIM] = {0};
    struct gaussian prior = {.mean = s->prior_numbers, .covariance = s->prior_numbers + DIM};
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < DIM; i++) {
        prior.mean[i] = .5;
        prior.covariance[i * DIM + i] = 2;
    }
    for (size_t i = 0; i < N; i++, s->n++)
        gaussian_add(DIM, 1, x + i * DIM, s->n, s->mean, s->scatter);
    s->g = (struct gaussian){s->numbers, s->numbers + DIM, s->numbers + DIM + DIM * DIM, 0};
    assert_int_equal(gaussian_posterior(DIM, s->n, s->mean, s->scatter, &prior, kappa, nu, floor, &s->g, s->work), 0);
    double mean[DIM] = {0};
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < DIM; j++)
            mean[j] += x[i * DIM + j] / N;
    for (size_t a = 0; a < DIM; a++)
        for (size_t b = 0; b < DIM; b++) {
            double sum = a == b ? 2 * nu : 0;
            for (size_t i = 0; i < N; i++)
                sum += (x[i * DIM + a] - mean[a]) * (x[i * DIM + b] - mean[b]);
            sum += kappa * N / (N + kappa) * (mean[a] - .5) * (mean[b] - .5);
            s->dense[a * DIM + b] = sum / (N + nu);
        }
    for (size_t a = 0; a < DIM; a++)
        s->dense_mean[a] = (N * mean[a] + kappa * .5) / (N + kappa);
    free(x);
}

static void the_posterior_of_a_node_is_that_of_a_normal_inverse_wishart(void **state)
{
    struct scene s;
    (void)state;
    scene_make(&s);
    double inverse[DIM * DIM];
    memcpy(inverse, s.dense, sizeof inverse);
    double det = invert_dense(DIM, inverse);
    /* sums of a dozen terms of size 1 */
    assert_near(greatest_difference(DIM, s.g.mean, s.dense_mean), 0, 1e-14);
    assert_near(greatest_difference(DIM * DIM, s.g.covariance, s.dense), 0, 1e-13);
    /* the condition number is below 100 */
    assert_near(greatest_difference(DIM * DIM, s.g.precision, inverse), 0, 1e-10);
    assert_near(s.g.log_det, log(det), 1e-11);
}

/* Conditional mean and covariance of H by C_HK C_KK^-1, and log p(x_K), from the dense covariance. */
static double condition_dense(const struct scene *s, const struct gaussian_query *q, double *mean, double *covariance)
{
    size_t k = q->known, h = DIM - k;
    double c[DIM * DIM], square = 0, det;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++)
            c[i * k + j] = s->dense[q->at[i] * DIM + q->at[j]];
    det = invert_dense(k, c);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++)
            square += c[i * k + j] * (q->x[q->at[i]] - s->dense_mean[q->at[i]]) *
                      (q->x[q->at[j]] - s->dense_mean[q->at[j]]);
    for (size_t g = 0; g < h; g++) {
        size_t a = q->at[k + g];
        mean[g] = s->dense_mean[a];
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < k; j++)
                mean[g] += s->dense[a * DIM + q->at[i]] * c[i * k + j] * (q->x[q->at[j]] - s->dense_mean[q->at[j]]);
        for (size_t e = 0; e < h; e++) {
            size_t b = q->at[k + e];
            covariance[g * h + e] = s->dense[a * DIM + b];
            for (size_t i = 0; i < k; i++)
                for (size_t j = 0; j < k; j++)
                    covariance[g * h + e] -=
                        s->dense[a * DIM + q->at[i]] * c[i * k + j] * s->dense[b * DIM + q->at[j]];
        }
    }
    return -.5 * (square + log(det) + (double)k * log(2 * 3.14159265358979323846));
}

static void gaps_are_conditional_means_whichever_way_they_are_computed(void **state)
{
    struct scene s;
    (void)state;
    scene_make(&s);
    struct dice dice = {8};
    double x[DIM], direction[DIM];
    dice_normals(&dice, DIM, 1, x);
    dice_normals(&dice, DIM, 1, direction);
    for (size_t pattern = 0; pattern < 1u << DIM; pattern++) {
        size_t at[DIM], k = 0, h = 0;
        for (size_t j = 0; j < DIM; j++)
            if (pattern >> j & 1)
                at[k++] = j;
        for (size_t j = 0; j < DIM; j++)
            if (!(pattern >> j & 1))
                at[k + h++] = j;
        struct gaussian_query q = {DIM, k, at, x};
        double mean[DIM], variance[DIM], covariance[DIM * DIM], want[DIM], want_covariance[DIM * DIM];
        struct gaussian_answer a = {mean, variance, covariance, direction, {0, 0}, 0};
        double log_density = gaussian_condition(&s.g, &q, &a, s.work);
        assert_near(log_density, condition_dense(&s, &q, want, want_covariance), 1e-9);
        double along = 0, across = 0;
        for (size_t g = 0; g < h; g++) {
            assert_near(mean[g], want[g], 1e-9);
            assert_near(variance[g], want_covariance[g * h + g], 1e-9);
            along += direction[at[k + g]] * want[g];
            for (size_t e = 0; e < h; e++) {
                assert_near(covariance[g * h + e], want_covariance[g * h + e], 1e-9);
                across += direction[at[k + g]] * direction[at[k + e]] * want_covariance[g * h + e];
            }
        }
        for (size_t i = 0; i < k; i++)
            along += direction[at[i]] * x[at[i]];
        assert_near(a.along[0], along, 1e-9);
        assert_near(a.along[1], across, 1e-9);
        if (h > 0)
            assert_near(a.entropy, log(invert_dense(h, want_covariance)), 1e-8);
    }
}

static void an_entry_given_the_others_is_its_conditional(void **state)
{
    struct scene s;
    (void)state;
    scene_make(&s);
    struct dice dice = {9};
    double x[DIM], mean[DIM], variance[DIM], want, want_variance;
    dice_normals(&dice, DIM, 1, x);
    size_t at[DIM] = {0, 2, 3, 5, 6, 1, 4}; /* 1 and 4 are not known */
    struct gaussian_query q = {DIM, 5, at, x};
    gaussian_leave_one_out(&s.g, &q, mean, variance, s.work);
    for (size_t i = 0; i < 5; i++) {
        size_t other[DIM], j = at[i];
        memcpy(other, at, sizeof other);
        other[i] = at[4];
        other[4] = j;
        struct gaussian_query rest = {DIM, 4, other, x};
        double m[DIM], c[DIM * DIM];
        condition_dense(&s, &rest, m, c);
        want = m[0];
        want_variance = c[0];
        assert_near(mean[j], want, 1e-9);
        assert_near(variance[j], want_variance, 1e-9);
    }
}

static void a_row_taken_back_leaves_the_statistics_as_they_were(void **state)
{
    struct scene s;
    (void)state;
    scene_make(&s);
    double mean[DIM], scatter[DIM * (DIM + 1) / 2], x[DIM] = {3, -2, 1, 4, 0, 1, -1};
    memcpy(mean, s.mean, sizeof mean);
    memcpy(scatter, s.scatter, sizeof scatter);
    assert_false(gaussian_removable(DIM, 1, x, s.n, mean, scatter, s.work)); /* far off: nothing like it was added */
    gaussian_add(DIM, 1, x, s.n, mean, scatter);
    assert_true(gaussian_removable(DIM, 1, x, s.n + 1, mean, scatter, s.work));
    gaussian_add(DIM, -1, x, s.n + 1, mean, scatter);
    assert_near(greatest_difference(DIM, mean, s.mean), 0, 1e-14);
    assert_near(greatest_difference(DIM * (DIM + 1) / 2, scatter, s.scatter), 0, 1e-13);
}

/* ---- a forest */

static void every_node_has_the_sums_of_its_children(void **state)
{
    (void)state;
    struct forest *f = forest_of(DIM);
    double *x = some_rows(ROWS, DIM, 1);
    unsigned char *known = some_gaps(ROWS, DIM, 2, .2);
    learn(f, ROWS, x, known);
    const struct forest_tree *t = &f->tree[3];
    assert_true(*t->leaves > 8);
    for (int64_t i = 0; i < *t->count; i++) {
        const struct forest_node *n = &t->node[i];
        if (n->left < 0)
            continue;
        const struct forest_node *l = &t->node[n->left], *r = &t->node[n->right];
        const double *ml = t->mean + n->left * DIM, *mr = t->mean + n->right * DIM;
        assert_near(n->n, l->n + r->n, 1e-9);
        for (size_t a = 0; a < DIM; a++)
            for (size_t b = 0; b <= a; b++) {
                size_t e = gaussian_packed(a) + b;
                double between = l->n * r->n / n->n * (ml[a] - mr[a]) * (ml[b] - mr[b]);
                /* sums of hundreds of terms of size 1 */
                assert_near(t->scatter[(size_t)i * f->packed + e],
                            t->scatter[(size_t)n->left * f->packed + e] + t->scatter[(size_t)n->right * f->packed + e] +
                                between,
                            1e-9);
            }
    }
    assert_null(forest_check(f));
    free(x);
    free(known);
    forest_free(f);
}

static void a_deleted_row_leaves_every_node_as_it_was(void **state)
{
    (void)state;
    struct forest *f = forest_of(DIM), *g = forest_of(DIM);
    double *x = some_rows(ROWS, DIM, 1), new[DIM] = {.3, -.2, .1, .4, 0, .1, -.1};
    learn(f, ROWS, x, NULL);
    learn(g, ROWS, x, NULL);
    assert_false(forest_holds(f, new));
    learn(f, 1, new, NULL);
    assert_true(forest_holds(f, new));
    forest_remove(f, new);
    assert_false(forest_holds(f, new));
    assert_null(forest_check(f));
    for (size_t v = 0; v < f->options.trees; v++) {
        size_t nodes = (size_t)*g->tree[v].count;
        if (*f->tree[v].count != *g->tree[v].count) /* the leaf that it was added to was split: that stays */
            continue;
        assert_near(greatest_difference(nodes * DIM, f->tree[v].mean, g->tree[v].mean), 0, 1e-12);
        assert_near(greatest_difference(nodes * f->packed, f->tree[v].scatter, g->tree[v].scatter), 0, 1e-10);
    }
    for (size_t i = 0; i < ROWS; i++) { /* all of them, until none is left */
        assert_true(forest_holds(f, x + i * DIM));
        forest_remove(f, x + i * DIM);
    }
    assert_near(forest_rows(f), 0, 1e-9);
    assert_null(forest_check(f));
    free(x);
    forest_free(f);
    forest_free(g);
}

static void fading_scales_counts_and_by_nothing_kept_empties(void **state)
{
    (void)state;
    struct forest *f = forest_of(DIM), *empty = forest_of(DIM);
    double *x = some_rows(ROWS, DIM, 1);
    learn(f, ROWS, x, NULL);
    forest_fade(f, .25);
    assert_near(forest_rows(f), ROWS / 4., 1e-9);
    assert_null(forest_check(f));
    learn(f, ROWS, x, NULL); /* leaves split rows of two weights */
    assert_null(forest_check(f));
    assert_true(forest_holds(f, x + 5 * DIM));
    forest_fade(f, 0);
    assert_memory_equal(forest_state(f), forest_state(empty), forest_bytes(f));
    free(x);
    forest_free(f);
    forest_free(empty);
}

static void a_copied_state_gives_the_same_bits_and_goes_on_alike(void **state)
{
    (void)state;
    struct forest *f = forest_of(DIM), *g = forest_of(DIM);
    double *x = some_rows(ROWS, DIM, 1);
    unsigned char *known = some_gaps(ROWS, DIM, 2, .3);
    learn(f, ROWS / 2, x, known);
    memcpy(forest_state(g), forest_state(f), forest_bytes(f));
    assert_null(forest_check(g));
    double *a = answers_of(f, ROWS, x, known), *b = answers_of(g, ROWS, x, known);
    assert_memory_equal(a, b, ROWS * DIM * sizeof *a);
    /* Both have all that they read now, so what they find is the same too. */
    learn(f, ROWS / 2, x + ROWS / 2 * DIM, known + ROWS / 2 * DIM);
    learn(g, ROWS / 2, x + ROWS / 2 * DIM, known + ROWS / 2 * DIM);
    assert_memory_equal(forest_state(g), forest_state(f), forest_bytes(f));
    free(a);
    free(b);
    free(x);
    free(known);
    forest_free(f);
    forest_free(g);
}

static void what_was_found_repeats_a_row_to_the_bit(void **state)
{
    (void)state;
    struct forest *f = forest_of(DIM), *again = forest_of(DIM);
    double *x = some_rows(ROWS, DIM, 1), *entry = room(forest_entry_most(DIM), sizeof *entry);
    unsigned char *known = some_gaps(ROWS, DIM, 2, .3);
    for (size_t i = 0; i < ROWS; i++) {
        size_t numbers;
        assert_int_equal(forest_find(f, x + i * DIM, known + i * DIM, entry, &numbers), 0);
        assert_true(forest_entry_sound(DIM, known + i * DIM, entry, numbers));
        assert_false(forest_entry_sound(DIM, known + i * DIM, entry, numbers + 1));
        forest_learn(f, x + i * DIM, known + i * DIM, entry);
        forest_learn(again, x + i * DIM, known + i * DIM, entry);
    }
    assert_memory_equal(forest_state(again), forest_state(f), forest_bytes(f));
    free(x);
    free(entry);
    free(known);
    forest_free(f);
    forest_free(again);
}

static void answers_depend_neither_on_the_batch_nor_on_threads(void **state)
{
    (void)state;
    struct forest *f = forest_of(DIM);
    double *x = some_rows(ROWS, DIM, 1), *other = room(ROWS * DIM, sizeof *other);
    unsigned char *known = some_gaps(ROWS, DIM, 2, .3);
    learn(f, ROWS, x, NULL);
    double *all = answers_of(f, ROWS, x, known);
    for (size_t i = 0; i < ROWS; i++) {
        struct forest_query q = {.n = 1, .x = x + i * DIM, .known = known + i * DIM, .answer = other + i * DIM};
        assert_int_equal(forest_ask(f, NULL, &q), 0);
    }
    assert_memory_equal(all, other, ROWS * DIM * sizeof *all);
    f->version++; /* nothing is cached */
    struct team *team = threads_borrow(3);
    struct forest_query q = {.n = ROWS, .x = x, .known = known, .answer = other};
    assert_int_equal(forest_ask(f, team, &q), 0);
    threads_return(team);
    assert_memory_equal(all, other, ROWS * DIM * sizeof *all);
    free(all);
    free(other);
    free(x);
    free(known);
    forest_free(f);
}

static double error_of(size_t n, const double *x, const unsigned char *known, const double *answer)
{
    double sum = 0, cells = 0;
    for (size_t i = 0; i < n; i++)
        if (!known[i]) {
            sum += pow(answer[i] - x[i], 2);
            cells++;
        }
    return sqrt(sum / cells);
}

static void it_fills_better_than_one_gaussian_where_rows_form_groups(void **state)
{
    (void)state;
    enum { UNSEEN = 200 };
    struct forest *f = forest_of(DIM);
    double *x = some_rows(3 * ROWS + UNSEEN, DIM, 1), *unseen = x + 3 * ROWS * DIM;
    unsigned char *known = some_gaps(UNSEEN, DIM, 4, .3);
    learn(f, 3 * ROWS, x, NULL);
    double *blend = answers_of(f, UNSEEN, unseen, known), ours = error_of(UNSEEN * DIM, unseen, known, blend);
    for (size_t j = 0; j < DIM; j++)
        for (size_t c = 0; c < FOREST_CANDIDATES; c++)
            f->weight[j * FOREST_CANDIDATES + c] = c == FOREST_DEPTHS; /* the root alone */
    memset(f->used, 1, sizeof f->used);
    double *one = answers_of(f, UNSEEN, unseen, known);
    assert_true(ours < .97 * error_of(UNSEEN * DIM, unseen, known, one));
    free(blend);
    free(one);
    free(x);
    free(known);
    forest_free(f);
}

static void nine_in_ten_hidden_cells_lie_within_their_interval(void **state)
{
    (void)state;
    enum { UNSEEN = 600 };
    for (int gaps = 0; gaps < 2; gaps++) {
        struct forest *f = forest_of(DIM);
        double *x = some_rows(ROWS + UNSEEN, DIM, 1), *unseen = x + ROWS * DIM, inside = 0, cells = 0;
        unsigned char *known = some_gaps(ROWS + UNSEEN, DIM, 4, .3), *asked = known + ROWS * DIM;
        double *answer = room(UNSEEN * DIM, sizeof *answer), *spread = room(UNSEEN * DIM, sizeof *spread);
        learn(f, ROWS, x, gaps ? known : NULL);
        struct forest_query q = {.n = UNSEEN, .x = unseen, .known = asked, .answer = answer, .spread = spread};
        assert_int_equal(forest_ask(f, NULL, &q), 0);
        for (size_t i = 0; i < UNSEEN * DIM; i++) {
            cells += !asked[i];
            inside += !asked[i] && fabs(answer[i] - unseen[i]) <= 1.645 * spread[i];
        }
        /* 1200 cells: a binomial deviation of .009 around .9 */
        assert_near(inside / cells, .9, .03);
        free(x);
        free(known);
        free(answer);
        free(spread);
        forest_free(f);
    }
}

static void a_wrong_cell_is_the_least_likely_given_the_others(void **state)
{
    (void)state;
    enum { UNSEEN = 100 };
    struct forest *f = forest_of(DIM);
    double *x = some_rows(ROWS + UNSEEN, DIM, 1), *unseen = x + ROWS * DIM;
    double *expected = room(UNSEEN * DIM, 8), *deviation = room(UNSEEN * DIM, 8), *log_given = room(UNSEEN * DIM, 8);
    size_t right = 0;
    learn(f, ROWS, x, NULL);
    for (size_t i = 0; i < UNSEEN; i++)
        unseen[i * DIM + i % DIM] += 2;
    struct forest_query q = {
        .n = UNSEEN, .x = unseen, .expected = expected, .deviation = deviation, .log_given = log_given};
    assert_int_equal(forest_ask(f, NULL, &q), 0);
    for (size_t i = 0; i < UNSEEN; i++) {
        size_t least = 0;
        for (size_t j = 0; j < DIM; j++) {
            assert_true(deviation[i * DIM + j] > 0);
            least = log_given[i * DIM + j] < log_given[i * DIM + least] ? j : least;
        }
        right += least == i % DIM;
    }
    assert_true(right >= 95);
    free(x);
    free(expected);
    free(deviation);
    free(log_given);
    forest_free(f);
}

/* ---- tables that are hard */

static void check_answers(struct forest *f, size_t n, const double *x)
{
    size_t dim = f->options.dim;
    unsigned char *known = some_gaps(n, dim, 6, .5);
    double *answer = room(n * dim, 8), *spread = room(n * dim, 8), *log_density = room(n, 8);
    struct forest_query q = {
        .n = n, .x = x, .known = known, .answer = answer, .spread = spread, .log_density = log_density};
    assert_int_equal(forest_ask(f, NULL, &q), 0);
    for (size_t i = 0; i < n * dim; i++) {
        assert_true(known[i] ? answer[i] == x[i] : fabs(answer[i]) < 10);
        assert_true(known[i] ? spread[i] == 0 : spread[i] > 0 && spread[i] < 100);
        assert_true(isfinite(log_density[i / dim]));
    }
    assert_null(forest_check(f));
    free(known);
    free(answer);
    free(spread);
    free(log_density);
}

static void constant_columns_duplicates_and_few_rows_are_fine(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        size_t dim = kind == 4 ? 40 : DIM, n = kind == 0 ? 1 : kind == 4 ? 12 : ROWS; /* 4: fewer rows than columns */
        struct forest *f = forest_of(dim);
        double *x = some_rows(n, dim, 1);
        unsigned char *known = some_gaps(n, dim, 7, kind == 3 ? .6 : .2);
        for (size_t i = 0; i < n * dim; i++) {
            if (kind == 1 && i % dim < 3)
                x[i] = (double)(i % dim); /* constant columns, one of them 0 */
            if (kind == 2)
                x[i] = x[i % dim]; /* one row, again and again */
        }
        learn(f, n, x, known);
        learn(f, n, x, NULL);
        check_answers(f, n, x);
        forest_free(f);
        free(x);
        free(known);
    }
}

static void an_empty_forest_answers_by_its_prior(void **state)
{
    (void)state;
    struct forest *f = forest_of(DIM);
    double *x = some_rows(3, DIM, 1);
    unsigned char known[3 * DIM] = {0};
    double *answer = answers_of(f, 3, x, known);
    assert_near(greatest_size(3 * DIM, answer), 0, 0);
    free(answer);
    free(x);
    forest_free(f);
}

static void two_thousand_columns_are_filled(void **state)
{
    (void)state;
    enum { WIDE = 2000, N = 60, UNSEEN = 5 };
    struct forest *f = forest_of(WIDE);
    double *x = some_rows(N + UNSEEN, WIDE, 1), *unseen = x + N * WIDE;
    unsigned char *known = some_gaps(N + UNSEEN, WIDE, 7, .3);
    assert_true(forest_bytes(f) < (size_t)24 << 20);
    learn(f, N, x, known);
    double *answer = answers_of(f, UNSEEN, unseen, known + N * WIDE), *nothing = room(UNSEEN * WIDE, sizeof *nothing);
    assert_true(error_of(UNSEEN * WIDE, unseen, known + N * WIDE, answer) <
                .6 * error_of(UNSEEN * WIDE, unseen, known + N * WIDE, nothing));
    assert_null(forest_check(f));
    free(answer);
    free(nothing);
    free(x);
    free(known);
    forest_free(f);
}

static void a_state_that_cannot_be_is_refused(void **state)
{
    (void)state;
    struct forest *f = forest_of(DIM);
    double *x = some_rows(ROWS, DIM, 1);
    learn(f, ROWS, x, NULL);
    assert_null(forest_check(f));
    struct forest_node *n = f->tree[1].node;
    n[1].parent = 7;
    assert_non_null(forest_check(f));
    n[1].parent = 0;
    n[0].n = NAN;
    assert_non_null(forest_check(f));
    n[0].n = ROWS;
    uint64_t slot = f->sample[3];
    f->sample[3] = f->slots;
    assert_non_null(forest_check(f));
    f->sample[3] = slot;
    f->row_uses[slot]++;
    assert_non_null(forest_check(f));
    f->row_uses[slot]--;
    f->head->sampled = UINT64_MAX;
    assert_non_null(forest_check(f));
    free(x);
    forest_free(f);
}

static void samples_have_the_mean_of_the_rows(void **state)
{
    (void)state;
    enum { DRAWN = 4000 };
    struct forest *f = forest_of(DIM);
    double *x = some_rows(ROWS, DIM, 1), *out = room(DRAWN * DIM, sizeof *out);
    learn(f, ROWS, x, NULL);
    assert_int_equal(forest_sample(f, DRAWN, 1, out), 0);
    for (size_t j = 0; j < DIM; j++) {
        double a = 0, b = 0;
        for (size_t i = 0; i < ROWS; i++)
            a += x[i * DIM + j] / ROWS;
        for (size_t i = 0; i < DRAWN; i++)
            b += out[i * DIM + j] / DRAWN;
        assert_near(b, a, .08); /* deviation 1 / sqrt(4000) = .016, and nodes shrunk to their parents' means */
    }
    free(x);
    free(out);
    forest_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_posterior_of_a_node_is_that_of_a_normal_inverse_wishart),
        cmocka_unit_test(gaps_are_conditional_means_whichever_way_they_are_computed),
        cmocka_unit_test(an_entry_given_the_others_is_its_conditional),
        cmocka_unit_test(a_row_taken_back_leaves_the_statistics_as_they_were),
        cmocka_unit_test(every_node_has_the_sums_of_its_children),
        cmocka_unit_test(a_deleted_row_leaves_every_node_as_it_was),
        cmocka_unit_test(fading_scales_counts_and_by_nothing_kept_empties),
        cmocka_unit_test(a_copied_state_gives_the_same_bits_and_goes_on_alike),
        cmocka_unit_test(what_was_found_repeats_a_row_to_the_bit),
        cmocka_unit_test(answers_depend_neither_on_the_batch_nor_on_threads),
        cmocka_unit_test(it_fills_better_than_one_gaussian_where_rows_form_groups),
        cmocka_unit_test(nine_in_ten_hidden_cells_lie_within_their_interval),
        cmocka_unit_test(a_wrong_cell_is_the_least_likely_given_the_others),
        cmocka_unit_test(constant_columns_duplicates_and_few_rows_are_fine),
        cmocka_unit_test(an_empty_forest_answers_by_its_prior),
        cmocka_unit_test(two_thousand_columns_are_filled),
        cmocka_unit_test(a_state_that_cannot_be_is_refused),
        cmocka_unit_test(samples_have_the_mean_of_the_rows),
    };
    return cmocka_run_group_tests_name("forest", tests, NULL, NULL);
}
