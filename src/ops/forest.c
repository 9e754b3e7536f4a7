/* The state of a forest: its layout, rows learnt and taken back, nodes that split, and nodes as distributions. */
#include "forest_inner.h"

#include "alloc.h"
#include "matmul.h"
#include "random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const int64_t forest_depth[FOREST_DEPTHS] = {0, 2, 4, INT64_MAX};

/* Weights of a parent, in rows: of its mean, and of its covariance for each column. Chosen on 23 tables. */
static const double mean_weight = 1, covariance_weight[FOREST_NUS] = {0.7, 6};
/* Least variance of a column in a node, as a share of its variance over all rows: columns that do not vary in a node. */
static const double least_variance = 1e-6;
enum { LEAST_SIDE = 4 }; /* rows on either side of a new plane */
enum { MOST_BYTES = 8 << 20, MOST_TREES = 8, MOST_LEAVES = 64, MOST_KEPT = 1024 };
enum { MOST_SLOTS = MOST_LEAVES * FOREST_SPLIT + MOST_KEPT + 1 };

/* ---- layout */

static void forest_shape(const struct forest_options *o, struct forest *f)
{
    f->options = *o;
    f->block = o->dim <= FOREST_BLOCK ? o->dim : FOREST_BLOCK / 2;
    f->blocks = (o->dim + f->block - 1) / f->block;
    f->packed = 0;
    for (size_t b = 0; b < f->blocks; b++)
        f->packed += gaussian_packed(forest_block_size(f, b));
    f->nodes = 2 * o->leaves - 1;
    f->slots = o->leaves * FOREST_SPLIT + o->kept + 1;
    f->known_words = (o->dim + 63) / 64;
}

/* Sets the pointers into a state, which may be NULL: then only its length is told. */
static size_t forest_layout(struct forest *f, uint64_t *state)
{
    size_t at = 0, d = f->options.dim, own = d <= FOREST_OWN_COLUMNS ? d : 0;
#define PLACE(pointer, n)                                                                                              \
    do {                                                                                                               \
        if (state != NULL)                                                                                             \
            (pointer) = (void *)(state + at);                                                                          \
        at += (n);                                                                                                     \
    } while (0)
    PLACE(f->head, sizeof *f->head / 8);
    for (size_t v = 0; v < f->options.trees; v++) {
        struct forest_tree none, *t = f->tree != NULL ? &f->tree[v] : &none;
        PLACE(t->count, 1);
        PLACE(t->leaves, 1);
        PLACE(t->node, f->nodes * (sizeof(struct forest_node) / 8));
        PLACE(t->mean, f->nodes * d);
        PLACE(t->plane, f->nodes * d);
        PLACE(t->scatter, f->nodes * f->packed);
        PLACE(t->list, f->options.leaves * FOREST_SPLIT);
    }
    PLACE(f->row, f->slots * d);
    PLACE(f->row_weight, f->slots);
    PLACE(f->row_known, f->slots * f->known_words);
    PLACE(f->row_uses, f->slots);
    PLACE(f->free_slot, f->slots);
    PLACE(f->sample, f->options.kept + 1);
    PLACE(f->products, (1 + own) * FOREST_PAIRS);
    PLACE(f->ratio, FOREST_RATIOS);
    PLACE(f->ratio_column, FOREST_RATIOS);
    PLACE(f->group, d);
#undef PLACE
    return at;
}

size_t forest_words(const struct forest_options *options)
{
    struct forest f = {.tree = NULL};
    forest_shape(options, &f);
    return forest_layout(&f, NULL);
}

struct forest_options forest_options_for(size_t dim, uint64_t seed)
{
    struct forest_options o = {.dim = dim, .trees = MOST_TREES, .leaves = MOST_LEAVES, .kept = MOST_KEPT, .seed = seed};
    while (o.kept > 64 && o.kept * dim * 8 > MOST_BYTES / 2)
        o.kept /= 2;
    while (o.leaves > 1 && forest_words(&o) * 8 > MOST_BYTES)
        o.leaves /= 2;
    while (o.trees > 2 && forest_words(&o) * 8 > MOST_BYTES)
        o.trees /= 2;
    return o;
}

/* Nothing was learnt. */
static void forest_clear(struct forest *f)
{
    memset(f->state, 0, (size_t)((uint64_t *)f->group - f->state) * 8); /* all but the columns, which come last */
    for (size_t v = 0; v < f->options.trees; v++) {
        struct forest_tree *t = &f->tree[v];
        *t->count = *t->leaves = 1;
        t->node[0] = (struct forest_node){.parent = -1, .left = -1, .right = -1, .list = 0};
    }
    for (size_t i = f->slots; i-- > 0;)
        f->free_slot[f->head->free_slots++] = i;
}

/* Even trees of a wide table have neighbours in one block, odd ones columns at random. */
static void order_columns(const struct forest *f, size_t v, size_t *column)
{
    size_t d = f->options.dim;
    for (size_t j = 0; j < d; j++)
        column[j] = f->blocks == 1 ? j : (j + v * f->block / f->options.trees) % d;
    uint64_t stream = random_stream(STREAM_VIEW, v, UINT64_MAX);
    for (size_t j = d; f->blocks > 1 && v % 2 == 1 && j-- > 1;) {
        size_t other = (size_t)(random_uniform(f->options.seed, stream, j) * (double)(j + 1)), swap = column[j];
        column[j] = column[other];
        column[other] = swap;
    }
}

struct forest *forest_create(const struct forest_options *options)
{
    struct forest *f = alloc_zeroed(1, sizeof *f);
    if (f == NULL || pthread_mutex_init(&f->lock, NULL) != 0) {
        free(f);
        return NULL;
    }
    forest_shape(options, f);
    f->words = forest_layout(f, NULL);
    f->version = 1;
    f->tree = alloc_zeroed(options->trees, sizeof *f->tree);
    f->state = alloc_zeroed(f->words, 8);
    f->scratch = alloc_zeroed(3 * options->dim + f->packed, sizeof *f->scratch);
    f->weight = alloc_zeroed(options->dim * (FOREST_CANDIDATES + 1), sizeof *f->weight);
    f->widen = f->weight != NULL ? f->weight + options->dim * FOREST_CANDIDATES : NULL;
    int bad = f->tree == NULL || f->state == NULL || f->scratch == NULL || f->weight == NULL;
    for (size_t v = 0; !bad && v < options->trees; v++) {
        f->tree[v].column = alloc_zeroed(options->dim, sizeof(size_t));
        f->tree[v].cache = alloc_zeroed(f->nodes * FOREST_NUS, sizeof(struct forest_cache));
        bad = f->tree[v].column == NULL || f->tree[v].cache == NULL;
        if (!bad)
            order_columns(f, v, f->tree[v].column);
    }
    if (bad) {
        forest_free(f);
        return NULL;
    }
    (void)forest_layout(f, f->state);
    forest_clear(f);
    for (size_t j = 0; j < options->dim; j++) {
        f->group[j] = j;
        for (size_t i = 0; options->column != NULL && i < j && f->group[j] == j; i++)
            f->group[j] = options->column[i] == options->column[j] ? i : j;
    }
    f->options.column = NULL;
    return f;
}

void forest_drop_cache(struct forest *f)
{
    for (size_t v = 0; f->tree != NULL && v < f->options.trees; v++)
        for (size_t i = 0; f->tree[v].cache != NULL && i < f->nodes * FOREST_NUS; i++) {
            free(f->tree[v].cache[i].block);
            f->tree[v].cache[i] = (struct forest_cache){.block = NULL};
        }
    f->cached = 0;
}

void forest_free(struct forest *f)
{
    if (f == NULL)
        return;
    forest_drop_cache(f);
    for (size_t v = 0; f->tree != NULL && v < f->options.trees; v++) {
        free(f->tree[v].cache);
        free(f->tree[v].column);
    }
    pthread_mutex_destroy(&f->lock);
    free(f->tree);
    free(f->state);
    free(f->scratch);
    free(f->weight);
    free(f);
}

size_t forest_bytes(const struct forest *f)
{
    return f->words * 8;
}

size_t forest_cache_bytes(const struct forest *f)
{
    return f->cached;
}

uint64_t *forest_state(const struct forest *f)
{
    return f->state;
}

double forest_rows(const struct forest *f)
{
    return f->tree[0].node[0].n;
}

uint64_t forest_writes(const struct forest *f)
{
    return f->head->writes;
}

double forest_trials(const struct forest *f, double *error)
{
    *error = sqrt(f->head->trial_square / f->head->trial_weight);
    return f->head->trials;
}

double forest_variance(const struct forest *f, size_t j)
{
    const struct forest_tree *t = &f->tree[0]; /* the first tree has the table's order of columns */
    size_t b = j / f->block, first = b * gaussian_packed(f->block), i = j % f->block;
    return (t->scatter[first + gaussian_packed(i) + i] + 1) / (t->node[0].n + 1);
}

void forest_order(const struct forest *f, const struct forest_tree *t, const double *x, double *out)
{
    for (size_t j = 0; j < f->options.dim; j++)
        out[j] = x[t->column[j]];
}

/* The sum runs in a fixed order, so that a row is in the same leaf on every machine. */
int forest_right(const struct forest *f, const struct forest_tree *t, size_t node, const double *ordered)
{
    const double *plane = t->plane + node * f->options.dim;
    double sum = 0;
    for (size_t j = 0; j < f->options.dim; j++)
        sum += ordered[j] * plane[j];
    return sum > t->node[node].threshold;
}

/* ---- a state that came from a file */

static int finite_numbers(const double *x, size_t n)
{
    int fine = 1;
    for (size_t i = 0; i < n; i++)
        fine &= fabs(x[i]) <= 1e300;
    return fine;
}

static const char *check_tree(const struct forest *f, const struct forest_tree *t)
{
    int64_t count = *t->count, leaves = 0;
    unsigned char taken[MOST_LEAVES] = {0};
    if (count < 1 || count > (int64_t)f->nodes || f->options.leaves > MOST_LEAVES)
        return "a tree has an impossible number of nodes";
    for (int64_t i = 0; i < count; i++) {
        const struct forest_node *n = &t->node[i];
        int leaf = n->left < 0;
        leaves += leaf;
        if (!(n->n >= 0 && n->n <= 1e18) || !isfinite(n->threshold))
            return "a node's count or threshold is not a number that can be";
        if ((i == 0) != (n->parent < 0) || n->parent >= i || n->depth != (i == 0 ? 0 : t->node[n->parent].depth + 1))
            return "a node's parent cannot be";
        if (i > 0 && t->node[n->parent].left != i && t->node[n->parent].right != i)
            return "a node's parent does not know it";
        if (!leaf && (n->left <= i || n->left >= count || n->right != n->left + 1 || n->right >= count))
            return "a node's children cannot be";
        if (n->list < -1 || n->list >= *t->leaves || n->list >= (int64_t)f->options.leaves ||
            (n->list >= 0 && f->options.leaves > 1 && *t->leaves == (int64_t)f->options.leaves) || n->listed < 0 || n->listed >= FOREST_SPLIT ||
            (n->list >= 0 && (!leaf || taken[n->list]++)) || (n->list < 0 && n->listed > 0))
            return "a node's list of rows cannot be";
        for (int64_t r = 0; r < n->listed; r++)
            if (t->list[n->list * FOREST_SPLIT + r] >= f->slots)
                return "a list names a row that is not there";
    }
    if (leaves != *t->leaves || count != 2 * leaves - 1)
        return "a tree's number of leaves is wrong";
    size_t nodes = (size_t)count;
    if (!finite_numbers(t->mean, nodes * f->options.dim) || !finite_numbers(t->plane, nodes * f->options.dim) ||
        !finite_numbers(t->scatter, nodes * f->packed))
        return "a node's mean or scatter is not finite";
    for (size_t i = 0; i < nodes; i++) {
        const double *scatter = t->scatter + i * f->packed;
        for (size_t b = 0; b < f->blocks; b++) {
            for (size_t j = 0; j < forest_block_size(f, b); j++)
                if (scatter[gaussian_packed(j) + j] < -1e-6 * (t->node[i].n + 1)) /* rounding, of columns of variance 1 */
                    return "a node's scatter has a negative diagonal";
            scatter += gaussian_packed(forest_block_size(f, b));
        }
    }
    return NULL;
}

const char *forest_check(const struct forest *f)
{
    size_t own = f->options.dim <= FOREST_OWN_COLUMNS ? f->options.dim : 0;
    if (f->head->writes > UINT64_C(1) << 60 || f->head->free_slots > f->slots || f->head->sampled > f->options.kept ||
        !(f->head->trials >= 0 && f->head->trials <= 1e18) || !finite_numbers(&f->head->trial_weight, 2))
        return "a count is more than can be";
    for (size_t v = 0; v < f->options.trees; v++) {
        const char *wrong = check_tree(f, &f->tree[v]);
        if (wrong != NULL)
            return wrong;
    }
    for (size_t j = 0; j < f->options.dim; j++)
        if (f->group[j] > j || f->group[f->group[j]] != f->group[j])
            return "a column cannot be";
    for (size_t i = 0; i < f->slots; i++)
        if (!(f->row_weight[i] >= 0 && f->row_weight[i] <= 1))
            return "a row's weight cannot be";
    for (size_t i = 0; i < f->head->free_slots; i++)
        if (f->free_slot[i] >= f->slots)
            return "a free place for a row is not there";
    for (size_t i = 0; i < f->head->sampled; i++)
        if (f->sample[i] >= f->slots)
            return "the sample names a row that is not there";
    /* Each slot is used as often as it is named, and free if it is not. */
    uint16_t uses[MOST_SLOTS] = {0};
    if (f->slots > MOST_SLOTS)
        return "it has too many rows";
    for (size_t i = 0; i < f->head->sampled; i++)
        uses[f->sample[i]]++;
    for (size_t v = 0; v < f->options.trees; v++)
        for (int64_t i = 0; i < *f->tree[v].count; i++)
            for (int64_t r = 0; r < f->tree[v].node[i].listed; r++)
                uses[f->tree[v].list[f->tree[v].node[i].list * FOREST_SPLIT + r]]++;
    size_t unused = 0, wrong = 0;
    for (size_t i = 0; i < f->slots; i++) {
        wrong += uses[i] != f->row_uses[i];
        unused += uses[i] == 0;
    }
    for (size_t i = 0; i < f->head->free_slots; i++)
        wrong += uses[f->free_slot[i]]++ != 0;
    if (wrong > 0 || unused != f->head->free_slots)
        return "rows are counted wrong";
    if (!finite_numbers(f->row, f->slots * f->options.dim) || !finite_numbers(f->row_weight, f->slots) ||
        !finite_numbers(f->products, (1 + own) * FOREST_PAIRS) || !finite_numbers(f->ratio, FOREST_RATIOS))
        return "a row or a trial is not finite";
    return NULL;
}

/* ---- rows kept */

static void drop_row(struct forest *f, uint64_t slot)
{
    if (--f->row_uses[slot] == 0)
        f->free_slot[f->head->free_slots++] = slot;
}

static void close_list(struct forest *f, struct forest_tree *t, size_t node)
{
    struct forest_node *n = &t->node[node];
    for (int64_t i = 0; i < n->listed; i++)
        drop_row(f, t->list[n->list * FOREST_SPLIT + i]);
    n->listed = 0;
    n->list = -1;
}

static void close_lists(struct forest *f, struct forest_tree *t)
{
    for (size_t i = 0; i < (size_t)*t->count; i++)
        if (t->node[i].list >= 0)
            close_list(f, t, i);
}

/* There is always one more than the sample takes, once trees give up their lists. */
static uint64_t take_slot(struct forest *f)
{
    for (size_t v = f->options.trees; f->head->free_slots == 0 && v-- > 0;)
        close_lists(f, &f->tree[v]);
    return f->free_slot[--f->head->free_slots];
}

/* ---- statistics of nodes */

static void add_to_node(struct forest *f, struct forest_tree *t, size_t node, double weight, const double *ordered)
{
    double *mean = t->mean + node * f->options.dim, *scatter = t->scatter + node * f->packed;
    struct forest_node *n = &t->node[node];
    for (size_t b = 0; b < f->blocks; b++) {
        size_t size = forest_block_size(f, b), at = b * f->block;
        gaussian_add(size, weight, ordered + at, n->n, mean + at, scatter);
        scatter += gaussian_packed(size);
    }
    n->n = n->n + weight > 1e-9 ? n->n + weight : 0;
}

/* What gaps leave open adds to the scatter: the conditional covariance, or of a wide table its diagonal. */
static void add_gaps(const struct forest *f, const struct forest_tree *t, size_t node, const unsigned char *known,
                     const double *open)
{
    double *scatter = t->scatter + node * f->packed;
    size_t g = 0;
    if (f->blocks == 1) {
        for (size_t i = 0; i < f->options.dim; i++)
            for (size_t j = 0; !known[i] && j <= i; j++)
                if (!known[j])
                    scatter[gaussian_packed(i) + j] += open[g++];
        return;
    }
    double *diagonal = f->scratch; /* in the table's order */
    for (size_t j = 0; j < f->options.dim; j++)
        diagonal[j] = known[j] ? 0 : open[g++];
    for (size_t b = 0; b < f->blocks; b++) {
        size_t size = forest_block_size(f, b);
        for (size_t i = 0; i < size; i++)
            scatter[gaussian_packed(i) + i] += diagonal[t->column[b * f->block + i]];
        scatter += gaussian_packed(size);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A direction drawn from the node's own scatter, as the sum of its rows about their mean, each times a normal number. */
static void draw_plane(const struct forest *f, struct forest_tree *t, size_t v, size_t node, const uint64_t *list)
{
    size_t d = f->options.dim;
    double *plane = t->plane + node * d, squares = 0, normal[FOREST_SPLIT];
    random_normals(f->options.seed, random_stream(STREAM_VIEW, v, node), 0, FOREST_SPLIT, normal);
    memset(plane, 0, d * sizeof *plane);
    for (size_t i = 0; i < FOREST_SPLIT; i++)
        for (size_t j = 0; j < d; j++)
            plane[j] += normal[i] * (f->row[list[i] * d + t->column[j]] - t->mean[node * d + j]);
    for (size_t j = 0; j < d; j++)
        squares += plane[j] * plane[j];
    for (size_t j = 0; j < d && squares > 0; j++)
        plane[j] /= sqrt(squares);
}

/* The child on one side of a node gets those of its rows; returns how many of their entries were not known. */
static size_t fill_child(struct forest *f, struct forest_tree *t, size_t node, int side, const uint64_t *list)
{
    size_t child = (size_t)(side ? t->node[node].right : t->node[node].left), d = f->options.dim, gaps = 0;
    struct forest_node *n = &t->node[child];
    double *ordered = f->scratch;
    for (size_t i = 0; i < FOREST_SPLIT; i++) {
        forest_order(f, t, f->row + (size_t)list[i] * d, ordered);
        if (forest_right(f, t, node, ordered) != side)
            continue;
        add_to_node(f, t, child, f->row_weight[list[i]], ordered);
        t->list[n->list * FOREST_SPLIT + n->listed++] = list[i];
        for (size_t j = 0; j < d; j++)
            gaps += !forest_row_knows(f, (size_t)list[i], j);
    }
    return gaps;
}

/* What gaps added to the parent's scatter (which is all but the scatter of its rows) goes to the children by their
   number, so that the sum over both is what it was. */
static void share_gaps(struct forest *f, struct forest_tree *t, size_t node, const uint64_t *list, const size_t gaps[2])
{
    size_t d = f->options.dim;
    double n = 0, *ordered = f->scratch, *mean = f->scratch + d, *own = f->scratch + 2 * d;
    memset(mean, 0, d * sizeof *mean);
    memset(own, 0, f->packed * sizeof *own);
    for (size_t i = 0; i < FOREST_SPLIT; i++) {
        double *scatter = own;
        forest_order(f, t, f->row + (size_t)list[i] * d, ordered);
        for (size_t b = 0; b < f->blocks; b++) {
            size_t size = forest_block_size(f, b), at = b * f->block;
            gaussian_add(size, f->row_weight[list[i]], ordered + at, n, mean + at, scatter);
            scatter += gaussian_packed(size);
        }
        n += f->row_weight[list[i]];
    }
    double *left = t->scatter + (size_t)t->node[node].left * f->packed, *right = left + f->packed;
    double share = (double)gaps[0] / (double)(gaps[0] + gaps[1]);
    for (size_t e = 0; e < f->packed; e++) {
        double extra = t->scatter[node * f->packed + e] - own[e];
        left[e] += extra * share;
        right[e] += extra * (1 - share);
    }
}

/* A leaf with FOREST_SPLIT rows becomes two; a tree with all its leaves gives up its lists. */
static void split_leaf(struct forest *f, size_t v, size_t node)
{
    struct forest_tree *t = &f->tree[v];
    struct forest_node *n = &t->node[node];
    size_t d = f->options.dim, cut = 0, gaps[2];
    double along[FOREST_SPLIT];
    uint64_t list[FOREST_SPLIT];
    memcpy(list, t->list + n->list * FOREST_SPLIT, sizeof list);
    draw_plane(f, t, v, node, list);
    for (size_t i = 0; i < FOREST_SPLIT; i++) {
        along[i] = 0;
        for (size_t j = 0; j < d; j++)
            along[i] += f->row[list[i] * d + t->column[j]] * t->plane[node * d + j];
    }
    qsort(along, FOREST_SPLIT, sizeof *along, compare_numbers);
    /* rows on the left: the gap next to the middle that is no tie */
    for (size_t off = 0; off + LEAST_SIDE <= FOREST_SPLIT / 2 && cut == 0; off++) {
        size_t up = FOREST_SPLIT / 2 + off, down = FOREST_SPLIT / 2 - off;
        if (along[up] > along[up - 1] + 1e-9)
            cut = up;
        else if (along[down] > along[down - 1] + 1e-9)
            cut = down;
    }
    if (cut == 0) { /* rows that are all alike */
        close_list(f, t, node);
        return;
    }
    n->threshold = (along[cut - 1] + along[cut]) / 2;
    n->left = *t->count;
    n->right = *t->count + 1;
    for (int side = 0; side < 2; side++)
        t->node[*t->count + side] = (struct forest_node){
            .parent = (int64_t)node, .left = -1, .right = -1, .depth = n->depth + 1, .list = side ? *t->leaves : n->list};
    n->list = -1;
    n->listed = 0;
    *t->count += 2;
    ++*t->leaves;
    for (int side = 0; side < 2; side++)
        gaps[side] = fill_child(f, t, node, side, list);
    if (gaps[0] + gaps[1] > 0)
        share_gaps(f, t, node, list, gaps);
    if (*t->leaves == (int64_t)f->options.leaves)
        close_lists(f, t);
}

/* ---- rows learnt, taken back, faded */

static size_t child_of(const struct forest *f, const struct forest_tree *t, size_t node, const double *ordered)
{
    return (size_t)(forest_right(f, t, node, ordered) ? t->node[node].right : t->node[node].left);
}

static void learn_in_tree(struct forest *f, size_t v, uint64_t slot, const unsigned char *known, const double *open)
{
    struct forest_tree *t = &f->tree[v];
    double *ordered = f->scratch + f->options.dim;
    forest_order(f, t, f->row + slot * f->options.dim, ordered);
    size_t node = 0;
    for (;;) {
        add_to_node(f, t, node, 1, ordered);
        if (open != NULL)
            add_gaps(f, t, node, known, open);
        if (t->node[node].left < 0)
            break;
        node = child_of(f, t, node, ordered);
    }
    struct forest_node *n = &t->node[node];
    if (n->list < 0)
        return;
    t->list[n->list * FOREST_SPLIT + n->listed++] = slot;
    f->row_uses[slot]++;
    if (n->listed == FOREST_SPLIT && f->options.leaves > 1)
        split_leaf(f, v, node);
    else if (n->listed == FOREST_SPLIT)
        close_list(f, t, node);
}

/* Each row of all that were written is in the sample with the same chance; faded rows count for less. */
static void keep_in_sample(struct forest *f, uint64_t slot)
{
    uint64_t *place = NULL;
    if (f->head->sampled < f->options.kept)
        place = &f->sample[f->head->sampled++];
    else if (f->options.kept > 0) {
        uint64_t stream = random_stream(STREAM_VIEW, UINT64_MAX, 0);
        double at = random_uniform(f->options.seed, stream, f->head->writes) * forest_rows(f);
        if (at >= (double)f->options.kept)
            return;
        place = &f->sample[(size_t)at];
        drop_row(f, *place);
    } else
        return;
    *place = slot;
    f->row_uses[slot]++;
}

/* Later trials weigh more: the memory they were made with is more like the present one. */
static void learn_trial(struct forest *f, const double *cells, size_t count)
{
    double weight = (double)f->head->writes + 1;
    for (size_t c = 0; c < count; c++) {
        const double *cell = cells + c * FOREST_CELL, *error = cell + 3;
        double *of_column =
            f->options.dim <= FOREST_OWN_COLUMNS ? f->products + (1 + (size_t)cell[0]) * FOREST_PAIRS : NULL;
        f->ratio_column[f->head->ratios % FOREST_RATIOS] = (uint64_t)cell[0];
        f->ratio[f->head->ratios++ % FOREST_RATIOS] = cell[1];
        f->head->trial_weight += weight;
        f->head->trial_square += weight * cell[2] * cell[2];
        for (size_t i = 0, e = 0; i < FOREST_CANDIDATES; i++)
            for (size_t j = 0; j <= i; j++, e++) {
                f->products[e] += weight * error[i] * error[j];
                if (of_column != NULL)
                    of_column[e] += weight * error[i] * error[j];
            }
    }
    f->head->trials += (double)count;
}

void forest_learn(struct forest *f, const double *x, const unsigned char *known, const double *entry)
{
    size_t d = f->options.dim, gaps = (size_t)entry[0], cells = (size_t)entry[1], g = 0;
    const double *filled = entry + 2, *open = filled + gaps;
    uint64_t slot = take_slot(f);
    double *row = f->row + slot * d;
    memset(f->row_known + slot * f->known_words, 0, f->known_words * sizeof *f->row_known);
    for (size_t j = 0; j < d; j++) {
        int knows = known == NULL || known[j];
        row[j] = knows ? x[j] : filled[g++];
        f->row_known[slot * f->known_words + j / 64] |= (uint64_t)knows << j % 64;
    }
    f->row_weight[slot] = 1;
    f->row_uses[slot] = 1;
    learn_trial(f, open + (f->blocks == 1 ? gaussian_packed(gaps) : gaps), cells);
    for (size_t v = 0; v < f->options.trees; v++)
        learn_in_tree(f, v, slot, known, gaps > 0 ? open : NULL);
    keep_in_sample(f, slot);
    drop_row(f, slot);
    f->head->writes++;
    f->version++;
}

size_t forest_entry_most(size_t dim)
{
    return 2 + dim + (dim <= FOREST_BLOCK ? gaussian_packed(dim) : dim) + dim * FOREST_CELL;
}

int forest_entry_sound(size_t dim, const unsigned char *known, const double *entry, size_t numbers)
{
    size_t gaps = 0;
    for (size_t j = 0; j < dim && known != NULL; j++)
        gaps += !known[j];
    if (numbers < 2 || entry[0] != (double)gaps || !(entry[1] >= 0 && entry[1] <= (double)dim) ||
        !finite_numbers(entry, numbers))
        return 0;
    size_t cells = (size_t)entry[1], first = 2 + gaps + (dim <= FOREST_BLOCK ? gaussian_packed(gaps) : gaps);
    if (numbers != first + cells * FOREST_CELL || entry[1] != (double)cells)
        return 0;
    for (size_t c = 0; c < cells; c++)
        if (!(entry[first + c * FOREST_CELL] >= 0 && entry[first + c * FOREST_CELL] < (double)dim))
            return 0;
    return 1;
}

static size_t leaf_of(const struct forest *f, const struct forest_tree *t, const double *ordered)
{
    size_t node = 0;
    while (t->node[node].left >= 0)
        node = child_of(f, t, node, ordered);
    return node;
}

static int same_whole_row(const struct forest *f, uint64_t slot, const double *x)
{
    size_t d = f->options.dim;
    for (size_t j = 0; j < d; j++)
        if (f->row[(size_t)slot * d + j] != x[j] || !forest_row_knows(f, (size_t)slot, j))
            return 0;
    return 1;
}

/* Its place in the list of a leaf, or -1. */
static int64_t find_listed(const struct forest *f, const struct forest_tree *t, size_t leaf, const double *x)
{
    const struct forest_node *n = &t->node[leaf];
    for (int64_t i = 0; i < n->listed; i++)
        if (same_whole_row(f, t->list[n->list * FOREST_SPLIT + i], x))
            return i;
    return -1;
}

/* The weight of a row that is kept somewhere; else 1 if nothing ever faded, or 0: unknown. */
static double weight_of(const struct forest *f, const double *x)
{
    for (size_t i = 0; i < f->slots; i++)
        if (f->row_uses[i] > 0 && same_whole_row(f, i, x))
            return f->row_weight[i];
    return f->head->fades == 0 ? 1 : 0;
}

int forest_holds(const struct forest *f, const double *x)
{
    size_t d = f->options.dim;
    double weight = weight_of(f, x), *work = alloc_zeroed(d + gaussian_work(f->block), sizeof *work);
    if (work == NULL)
        return -1;
    int held = weight > 0;
    for (size_t v = 0; held && v < f->options.trees; v++) {
        const struct forest_tree *t = &f->tree[v];
        forest_order(f, t, x, work);
        size_t leaf = leaf_of(f, t, work);
        if (t->node[leaf].list >= 0) {
            held = find_listed(f, t, leaf, x) >= 0;
            continue;
        }
        const double *scatter = t->scatter + leaf * f->packed, *mean = t->mean + leaf * d;
        for (size_t b = 0; held && b < f->blocks; b++) {
            size_t size = forest_block_size(f, b), at = b * f->block;
            held = gaussian_removable(size, weight, work + at, t->node[leaf].n, mean + at, scatter, work + d);
            scatter += gaussian_packed(size);
        }
    }
    free(work);
    return held;
}

void forest_remove(struct forest *f, const double *x)
{
    double *ordered = f->scratch, weight = weight_of(f, x);
    for (size_t i = 0; i < f->head->sampled; i++)
        if (same_whole_row(f, f->sample[i], x)) {
            drop_row(f, f->sample[i]);
            f->sample[i] = f->sample[--f->head->sampled];
            break;
        }
    for (size_t v = 0; v < f->options.trees; v++) {
        struct forest_tree *t = &f->tree[v];
        forest_order(f, t, x, ordered);
        size_t leaf = leaf_of(f, t, ordered);
        int64_t at = find_listed(f, t, leaf, x);
        if (at >= 0) {
            uint64_t *list = t->list + t->node[leaf].list * FOREST_SPLIT;
            drop_row(f, list[at]);
            memmove(list + at, list + at + 1, (size_t)(t->node[leaf].listed - at - 1) * sizeof *list);
            t->node[leaf].listed--;
        }
        for (size_t node = 0;; node = child_of(f, t, node, ordered)) {
            add_to_node(f, t, node, -weight, ordered);
            if (node == leaf)
                break;
        }
    }
    f->version += f->head->writes + 1;
}

void forest_fade(struct forest *f, double keep)
{
    f->version += f->head->writes + 1;
    if (!(keep > 0)) {
        forest_clear(f);
        return;
    }
    for (size_t v = 0; v < f->options.trees; v++) {
        struct forest_tree *t = &f->tree[v];
        for (size_t i = 0; i < (size_t)*t->count; i++)
            t->node[i].n *= keep;
        for (size_t i = 0; i < (size_t)*t->count * f->packed; i++)
            t->scatter[i] *= keep;
    }
    for (size_t i = 0; i < f->slots; i++)
        f->row_weight[i] *= keep;
    f->head->fades++;
}

/* ---- nodes as distributions */

static int cache_allocate(struct forest *f, struct forest_cache *c)
{
    size_t numbers = f->options.dim;
    for (size_t b = 0; b < f->blocks; b++)
        numbers += 2 * forest_block_size(f, b) * forest_block_size(f, b);
    size_t bytes = f->blocks * sizeof *c->block + numbers * sizeof(double);
    c->block = alloc_zeroed(1, bytes);
    if (c->block == NULL)
        return -1;
    double *at = (double *)(void *)(c->block + f->blocks);
    for (size_t b = 0; b < f->blocks; b++) {
        size_t size = forest_block_size(f, b);
        c->block[b] = (struct gaussian){.mean = at, .covariance = at + size, .precision = at + size + size * size};
        at += size + 2 * size * size;
    }
    f->cached += bytes;
    return 0;
}

/* Of all rows the prior is their own diagonal, with one row of variance 1 about 0. numbers [size + size^2] */
static struct gaussian root_prior(const struct forest *f, const struct forest_tree *t, size_t b, double *numbers)
{
    size_t size = forest_block_size(f, b);
    struct gaussian prior = {.mean = numbers, .covariance = numbers + size};
    memset(numbers, 0, (size + size * size) * sizeof *numbers);
    for (size_t i = 0; i < size; i++)
        prior.covariance[i * size + i] = forest_variance(f, t->column[b * f->block + i]);
    return prior;
}

static int make_cache(struct forest *f, struct forest_tree *t, size_t node, size_t nu, struct forest_cache *c)
{
    const struct forest_node *n = &t->node[node];
    const double *mean = t->mean + node * f->options.dim, *scatter = t->scatter + node * f->packed;
    const struct forest_cache *up = node > 0 ? &t->cache[(size_t)n->parent * FOREST_NUS + nu] : NULL;
    double *work = alloc_zeroed(gaussian_work(f->block) + 2 * f->block + f->block * f->block, sizeof *work);
    if (work == NULL || (c->block == NULL && cache_allocate(f, c) != 0)) {
        free(work);
        return -1;
    }
    double *floor = work + gaussian_work(f->block), *numbers = floor + f->block;
    int status = 0;
    c->across = 0;
    for (size_t b = 0; status == 0 && b < f->blocks; b++) {
        size_t size = forest_block_size(f, b), at = b * f->block;
        for (size_t i = 0; i < size; i++)
            floor[i] = least_variance * forest_variance(f, t->column[at + i]);
        struct gaussian prior = up != NULL ? up->block[b] : root_prior(f, t, b, numbers);
        status = gaussian_posterior(size, n->n, mean + at, scatter, &prior, mean_weight,
                                    covariance_weight[nu] * (double)size, floor, &c->block[b], work);
        const double *plane = t->plane + node * f->options.dim + at;
        for (size_t i = 0; n->left >= 0 && i < size; i++)
            c->across += plane[i] * dot(size, c->block[b].covariance + i * size, plane);
        scatter += gaussian_packed(size);
    }
    free(work);
    return status;
}

const struct forest_cache *forest_node_cache(struct forest *f, struct forest_tree *t, size_t node, size_t nu,
                                             uint64_t slack)
{
    struct forest_cache *c = &t->cache[node * FOREST_NUS + nu];
    uint64_t made = atomic_load_explicit(&c->made, memory_order_acquire);
    if (made > 0 && made + slack >= f->version)
        return c;
    size_t path[MOST_LEAVES + 1], depth = 0; /* a tree is no deeper than it has leaves */
    for (int64_t i = (int64_t)node; i >= 0; i = t->node[i].parent)
        path[depth++] = (size_t)i;
    int status = 0;
    pthread_mutex_lock(&f->lock);
    while (status == 0 && depth-- > 0) {
        struct forest_cache *one = &t->cache[path[depth] * FOREST_NUS + nu];
        if (one->made > 0 && one->made + slack >= f->version)
            continue;
        status = make_cache(f, t, path[depth], nu, one);
        if (status == 0)
            atomic_store_explicit(&one->made, f->version, memory_order_release);
    }
    pthread_mutex_unlock(&f->lock);
    return status == 0 ? c : NULL;
}
