/*
 * Limited-memory BFGS for many functions at once (compiled per precision).
 *
 * Every row has its own history, step length, stage and stopping. Each round, every row that still
 * moves proposes one point; all proposals are evaluated as one batch; each row then accepts its
 * point (a sufficient decrease) or proposes a shorter step in the next round. So rows that
 * backtrack never hold up the others, and rows that are done leave the batch.
 */
#include "minimize.h"

#include "alloc.h"
#include "cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HISTORY = 10,    /* pairs kept */
    MOST_TRIES = 20, /* step lengths tried along one direction */
    REST = 2         /* successive iterations without progress that count as converged */
};
static const double sufficient = 1e-4; /* Armijo */

struct row {
    size_t index, number, iterations, evaluations, tries, resting;
    struct stage stage;
    size_t pairs, newest; /* pairs in the history; ring position of the newest */
    double energy, slope, length;
    int started, converged, done;
    int turning;                    /* wants a direction */
    int dense;                      /* preconditioned together with others, not by `scale` */
    double share[HISTORY];          /* between the two loops of the recursion */
    real *point, *grad, *direction; /* [dim] */
    real *jump;                     /* [dim]: of the gradient, where the objective has any */
    real *scale;                    /* [dim]: inverse diagonal of the Hessian, where known */
    real *moves, *changes;          /* [HISTORY x dim] */
    double inverse[HISTORY];        /* 1 / (move . change) */
};

struct pool {
    struct row *row;                    /* [rows] */
    real *vectors;                      /* behind the rows' pointers */
    size_t *active;                     /* [batch]: rows in this round */
    size_t *indices;                    /* [batch]: their numbers for the objective */
    size_t *joint;                      /* [batch]: their numbers */
    real *points, *grads;               /* [batch x dim] */
    real *joint_vectors, *joint_points; /* [batch x dim]: of the rows preconditioned together */
    double *energies;                   /* [batch] */
};

static void pool_free(struct pool *pool)
{
    free(pool->row);
    free(pool->vectors);
    free(pool->active);
    free(pool->points);
    free(pool->energies);
}

/* Room for `batch` rows at a time; their state is reused for the rows that come after. */
static int pool_allocate(struct pool *pool, size_t batch, size_t dim, int dense)
{
    const size_t per_row = 4 + 2 * HISTORY;
    pool->row = alloc_zeroed(batch, sizeof *pool->row);
    pool->vectors = alloc_zeroed(batch, per_row * dim * sizeof *pool->vectors);
    pool->active = alloc_zeroed(batch, 3 * sizeof *pool->active);
    pool->points = alloc_zeroed(batch, (dense ? 4 : 2) * dim * sizeof *pool->points);
    pool->energies = alloc_zeroed(batch, sizeof *pool->energies);
    if (!pool->row || !pool->vectors || !pool->active || !pool->points || !pool->energies)
        return -1;
    pool->indices = pool->active + batch;
    pool->joint = pool->active + 2 * batch;
    pool->grads = pool->points + batch * dim;
    pool->joint_vectors = pool->points + 2 * batch * dim;
    pool->joint_points = pool->points + 3 * batch * dim;
    for (size_t i = 0; i < batch; i++) {
        real *v = pool->vectors + i * per_row * dim;
        pool->row[i].grad = v;
        pool->row[i].direction = v + dim;
        pool->row[i].scale = v + 2 * dim;
        pool->row[i].jump = v + 3 * dim;
        pool->row[i].moves = v + 4 * dim;
        pool->row[i].changes = v + (4 + HISTORY) * dim;
    }
    return 0;
}

/* ---- steps of a function with kinks at 0 */

void kink_descend(size_t dim, const real *point, const real *jump, real *grad)
{
    for (size_t j = 0; j < dim; j++) {
        real below = grad[j], above = below + jump[j];
        if (point[j] == 0)
            grad[j] = below > 0 && below > -above ? below : above < 0 ? above : 0;
    }
}

void kink_hold(size_t dim, const real *point, const real *grad, const real *jump, real *direction)
{
    for (size_t j = 0; j < dim; j++)
        if (point[j] == 0 && jump[j] != 0 && direction[j] * grad[j] >= 0)
            direction[j] = 0;
}

void kink_stop(size_t dim, const real *from, const real *grad, const real *jump, real *to)
{
    for (size_t j = 0; j < dim; j++) {
        real side = from[j] != 0 ? from[j] : -grad[j];
        if (jump[j] != 0 && (side > 0) != (to[j] > 0))
            to[j] = 0;
    }
}

void kink_change(size_t dim, const real *from, const real *grad, const real *to, const real *to_jump, real *change)
{
    for (size_t j = 0; j < dim; j++) {
        if (from[j] == 0 && grad[j] == 0)
            change[j] = 0; /* it did not move, so its gradient says nothing of the curvature along the step */
        else if (to[j] == 0 && (from[j] > 0 || (from[j] == 0 && grad[j] < 0)))
            change[j] += to_jump[j];
    }
}

/* ---- directions */

/* sum of scale * x^2 */
static double scaled_square(size_t dim, const real *scale, const real *x)
{
    double sum = 0;
    for (size_t j = 0; j < dim; j++)
        sum += (double)(scale[j] * x[j] * x[j]);
    return sum;
}

/* The first loop of the two-loop recursion: direction = grad less its known part. */
static void first_loop(struct row *r, size_t dim)
{
    memcpy(r->direction, r->grad, dim * sizeof *r->grad);
    for (size_t k = 0; k < r->pairs; k++) {
        size_t at = (r->newest + HISTORY - k) % HISTORY;
        r->share[at] = r->inverse[at] * dot(dim, r->moves + at * dim, r->direction);
        axpy(dim, -r->share[at], r->changes + at * dim, r->direction);
    }
}

/* The second, after the middle: direction is now -(approximate inverse Hessian) grad. */
static void second_loop(struct row *r, const struct objective *o)
{
    size_t dim = o->dim;
    for (size_t k = r->pairs; k-- > 0;) {
        size_t at = (r->newest + HISTORY - k) % HISTORY;
        double b = r->inverse[at] * dot(dim, r->changes + at * dim, r->direction);
        axpy(dim, -r->share[at] - b, r->moves + at * dim, r->direction);
    }
    if (o->jump != NULL)
        kink_hold(dim, r->point, r->grad, r->jump, r->direction);
    r->slope = dot(dim, r->grad, r->direction);
    r->length = 1;
    r->tries = 0;
}

/* The middle with the inverse diagonal, fitted to the newest pair; without one, a cautious tenth
   of what would move each entry by 0.1. */
static void middle_diagonal(struct row *r, const struct objective *o)
{
    double factor = 1;
    if (r->pairs > 0)
        factor = 1 / (r->inverse[r->newest] * scaled_square(o->dim, r->scale, r->changes + r->newest * o->dim));
    else if (o->scale == NULL)
        factor = 0.1 * fmin(1, 0.1 * sqrt((double)o->dim) / fmax(sqrt(dot(o->dim, r->grad, r->grad)), 1e-30));
    for (size_t j = 0; j < o->dim; j++)
        r->direction[j] *= (real)-factor * r->scale[j];
}

/* The middle for all rows that are preconditioned together. */
static void middle_dense(struct pool *pool, size_t active, const struct objective *o)
{
    size_t n = 0, dim = o->dim, bytes = dim * sizeof(real);
    for (size_t i = 0; i < active; i++) {
        const struct row *r = &pool->row[pool->active[i]];
        if (!r->turning || !r->dense)
            continue;
        memcpy(pool->joint_vectors + n * dim, r->direction, bytes);
        memcpy(pool->joint_points + n * dim, r->point, bytes);
        pool->joint[n++] = r->index;
    }
    if (n == 0)
        return;
    o->precondition(o->context, n, pool->joint, pool->joint_points, pool->joint_vectors);
    const real *out = pool->joint_vectors;
    for (size_t i = 0; i < active; i++) {
        struct row *r = &pool->row[pool->active[i]];
        if (!r->turning || !r->dense)
            continue;
        for (size_t j = 0; j < dim; j++)
            r->direction[j] = -out[j];
        out += dim;
    }
}

/* Gives every turning row its direction. One that is not downhill loses its history and tries
   again. */
static void choose_directions(struct pool *pool, size_t active, const struct objective *o)
{
    for (int again = 1; again;) {
        again = 0;
        for (size_t i = 0; i < active; i++) {
            struct row *r = &pool->row[pool->active[i]];
            if (!r->turning)
                continue;
            first_loop(r, o->dim);
            if (!r->dense)
                middle_diagonal(r, o);
        }
        middle_dense(pool, active, o);
        for (size_t i = 0; i < active; i++) {
            struct row *r = &pool->row[pool->active[i]];
            if (!r->turning)
                continue;
            second_loop(r, o);
            r->turning = r->pairs > 0 && !(r->slope < 0);
            if (r->turning)
                r->pairs = 0;
            again |= r->turning;
        }
    }
}

/* Remembers the move just made and the change of the gradient. */
static void remember(struct row *r, size_t dim, const real *point, const real *grad, const real *jump)
{
    size_t at = (r->newest + 1) % HISTORY;
    real *move = r->moves + at * dim, *change = r->changes + at * dim;
    for (size_t j = 0; j < dim; j++) {
        move[j] = point[j] - r->point[j];
        change[j] = grad[j] - r->grad[j];
    }
    if (jump != NULL)
        kink_change(dim, r->point, r->grad, point, jump, change);
    double curvature = dot(dim, move, change);
    if (!(curvature > 1e-10 * dot(dim, change, change)) || curvature <= 0)
        return; /* not convex along the move: of no use */
    r->inverse[at] = 1 / curvature;
    r->newest = at;
    r->pairs += r->pairs < HISTORY;
}

/* Ends the row's stage and enters the next one, or finishes the row. */
static void next_stage(struct row *r, const struct objective *o, int converged)
{
    r->converged = converged;
    r->done = !o->enter(o->context, r->index, ++r->number, r->point, &r->stage);
    r->started = r->turning = 0;
    r->pairs = r->iterations = r->resting = 0;
}

/* What became of a point that was evaluated. */
struct finding {
    size_t place; /* among those evaluated */
    const real *point;
    double energy;
    const real *grad, *jump;
};

/* The row is at the point found. */
static void arrive(struct row *r, const struct objective *o, const struct finding *f)
{
    r->energy = f->energy;
    memcpy(r->grad, f->grad, o->dim * sizeof *f->grad);
    if (o->arrive != NULL)
        o->arrive(o->context, r->index, f->place);
    if (f->jump == NULL)
        return;
    memcpy(r->jump, f->jump, o->dim * sizeof *f->jump);
    kink_descend(o->dim, r->point, f->jump, r->grad);
}

/* The point was good: move there, and see whether to go on. */
static void accept(struct row *r, const struct objective *o, const struct finding *f)
{
    double progress = r->energy - f->energy;
    remember(r, o->dim, f->point, f->grad, f->jump);
    memcpy(r->point, f->point, o->dim * sizeof *f->point);
    arrive(r, o, f);
    r->iterations++;
    r->resting = progress <= r->stage.tolerance ? r->resting + 1 : 0;
    if (r->resting >= REST)
        next_stage(r, o, 1);
    else if (r->iterations >= r->stage.iterations)
        next_stage(r, o, 0);
    else
        r->turning = 1;
}

/* The point was too high: try nearer, where a parabola through what is known has its minimum;
   then forget the history; then give up. A direction that brings less than the tolerance even by
   its own slope is rest, not failure. */
static void reject(struct row *r, const struct objective *o, double energy)
{
    double bend = 2 * (energy - r->energy - r->length * r->slope);
    double nearer = bend > 0 && isfinite(bend) ? -r->slope * r->length / bend : 0.1;
    r->length *= fmin(0.5, fmax(0.1, nearer));
    if (++r->tries < MOST_TRIES && -r->slope * r->length > 1e-3 * r->stage.tolerance)
        return;
    if (r->pairs > 0) {
        r->pairs = 0;
        r->turning = 1;
        return;
    }
    next_stage(r, o, -r->slope * r->length <= 1e-3 * r->stage.tolerance);
}

/* The first evaluation of a stage. */
static void start_stage(struct row *r, const struct objective *o, const struct finding *f)
{
    r->started = 1;
    arrive(r, o, f);
    for (size_t j = 0; o->scale == NULL && j < o->dim; j++)
        r->scale[j] = 1;
    r->dense = o->scale != NULL && !o->scale(o->context, r->index, r->scale);
    r->turning = 1;
    if (!isfinite(f->energy))
        next_stage(r, o, 0);
}

/* What row r makes of the energy at the point it proposed. */
static void consume(struct row *r, const struct objective *o, const struct finding *f)
{
    r->evaluations++;
    if (!r->started)
        start_stage(r, o, f);
    else if (f->energy <= r->energy + sufficient * r->length * r->slope)
        accept(r, o, f);
    else
        reject(r, o, f->energy);
}

static void propose(const struct row *r, const struct objective *o, real *point)
{
    memcpy(point, r->point, o->dim * sizeof *point);
    if (!r->started)
        return;
    axpy(o->dim, r->length, r->direction, point);
    if (o->jump != NULL)
        kink_stop(o->dim, r->point, r->grad, r->jump, point);
}

/* Gives a slot of the pool to the next row of the problem. */
static void begin(struct row *r, const struct objective *o, size_t index, real *point)
{
    struct row fresh = {.index = index,
                        .point = point,
                        .grad = r->grad,
                        .direction = r->direction,
                        .scale = r->scale,
                        .jump = r->jump,
                        .moves = r->moves,
                        .changes = r->changes};
    *r = fresh;
    r->done = !o->enter(o->context, index, 0, point, &r->stage);
}

bpcn_status lbfgs_minimize(const struct objective *o, size_t rows, size_t batch, real *points, struct outcome *outcome)
{
    struct pool pool = {0};
    size_t slots = rows < batch ? rows : batch, next = slots, active = slots, dim = o->dim;
    if (pool_allocate(&pool, slots, dim, o->precondition != NULL) != 0) {
        pool_free(&pool);
        return BPCN_NO_MEMORY;
    }
    for (size_t i = 0; i < slots; i++) {
        pool.active[i] = i;
        begin(&pool.row[i], o, i, points + i * dim);
    }
    while (active > 0) {
        for (size_t i = 0; i < active; i++) {
            const struct row *r = &pool.row[pool.active[i]];
            pool.indices[i] = r->index;
            propose(r, o, pool.points + i * dim);
        }
        o->evaluate(o->context, active, pool.indices, pool.points, pool.energies, pool.grads);
        for (size_t i = 0; i < active; i++) {
            struct finding f = {i, pool.points + i * dim, pool.energies[i], pool.grads + i * dim,
                                o->jump ? o->jump + i * dim : NULL};
            consume(&pool.row[pool.active[i]], o, &f);
        }
        choose_directions(&pool, active, o);
        size_t kept = 0;
        for (size_t i = 0; i < active; i++) {
            struct row *r = &pool.row[pool.active[i]];
            if (r->started && !(r->slope < 0)) /* flat, or not a number */
                next_stage(r, o, r->slope == 0);
            if (r->done)
                outcome[r->index] = (struct outcome){r->energy, r->evaluations, r->converged};
            if (r->done && next < rows) {
                begin(r, o, next, points + next * dim);
                next++;
            }
            if (!r->done)
                pool.active[kept++] = pool.active[i];
        }
        active = kept;
    }
    pool_free(&pool);
    return BPCN_OK;
}
