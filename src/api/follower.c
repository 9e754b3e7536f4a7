/*
 * The filter over positions. A stream goes on by one place with probability 1 - eps, and otherwise, and at the end of an
 * episode, from anywhere:
 *     a_t(p) = [ (1 - eps) a_{t-1}(p - 1) + R_t / T ] N(y_t; m(p), s_t^2) / Z_t,    R_t = eps + (1 - eps) a_{t-1}(ends)
 * with y_t the known entries of cue t, m(p) what the memory plays at p, T the number of places and Z_t such that the a_t
 * sum to 1. Given R and Z, places on different diagonals (p - t) do not meet. So a place that is proposed late gets the
 * weight that it would have had: the same recursion along its own diagonal, from the oldest cue remembered on. What the
 * filter leaves out are places that were neither held nor proposed.
 */
#include "sequence.h"

#include "abi.h"
#include "alloc.h"
#include "assign.h"
#include "checks.h"
#include "routing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct abi abi_follow = {"bpcn_follow_options", offsetof(bpcn_follow_options, window) + sizeof(size_t),
                                      sizeof(bpcn_follow_options)};

_Static_assert(sizeof(bpcn_step) == 128, "fixed for ever");

enum {
    CACHE_BYTES = 16 << 20, /* of frames that were played. Larger: fewer are played again */
    CACHE_MOST = 1024, CACHE_LEAST = 64,
    AHEAD = 16,             /* frames played together where a stream goes on. Larger: less time a frame, more after a jump */
    UNINDEXED = 512,        /* places that are all proposed where there is no index, as of fewer frames */
    BEAM_MOST = 4096, WINDOW_MOST = 256
};
static const double negligible = 1e-9; /* probability below which a place is let go, and a diagonal followed no further */
/* Probability from which on a place is the expected one: a proposal starts with eps / T, so it counts only if it fits
   better. Larger: more frames are played, and less depends on the order in which the index has them. */
static const double expected_from = 0.9;
/* Rows whose squared distance is more than so many times the least are not proposed: among noise all are near, without it
   only those that are alike. Larger: more frames are played. 1.3 lost no place at noise 0 to 2 (10,000 Fashion-MNIST frames). */
static const double near_square = 1.3;
/* Known entries from which on a place that is not near has a negligible weight: (1.3 - 1) / 2 nats for each. */
static const size_t far_entries = 140;
static const double telling = 1e-4;    /* probability from which on a place counts in an expected frame */

struct cue {
    float *x;             /* [dim] */
    unsigned char *known; /* [dim] */
    size_t count;         /* of known entries */
    double square;        /* s^2 without the memory's variance, in units of the scale */
    double log_z, restart; /* log Z_t and R_t */
};

struct held_place {
    uint64_t position;
    double log_weight; /* log a_t */
    double rss;        /* squares of cue - frame, in units of the scale */
};

struct bpcn_follower {
    const bpcn_sequence *s;
    bpcn_follow_options o;
    uint64_t cues;        /* seen */
    struct cue *cue;      /* [window]: number i is at i % window */
    struct held_place *place; /* [beam] */
    size_t count;
    size_t slots;         /* of frames played: position p is at p % slots */
    uint64_t *cached;     /* [slots]: position + 1; 0: none */
    float *frame;         /* [slots x dim] */
    double *variance;     /* [slots] */
    float *query;         /* [row] */
    unsigned char *known; /* [row] */
    int ranked;           /* the latest proposals are in the index's order, */
    int near;             /* and have all rows that are near */
};

void bpcn_follow_options_default(bpcn_follow_options *options, size_t size)
{
    bpcn_follow_options o = {.size = sizeof o, .noise = -1, .beam = 64, .proposals = 16, .window = 16};
    abi_give(&abi_follow, &o, options, size);
}

void bpcn_follower_free(bpcn_follower *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; f->cue != NULL && i < f->o.window; i++) {
        free(f->cue[i].x);
        free(f->cue[i].known);
    }
    free(f->cue);
    free(f->place);
    free(f->cached);
    free(f->frame);
    free(f->variance);
    free(f->query);
    free(f->known);
    free(f);
}

static int follower_allocate(bpcn_follower *f)
{
    size_t dim = f->s->options.dim, slots = CACHE_BYTES / (dim * sizeof *f->frame);
    f->slots = slots > CACHE_MOST ? CACHE_MOST : slots < CACHE_LEAST ? CACHE_LEAST : slots;
    f->cue = alloc_zeroed(f->o.window, sizeof *f->cue);
    f->place = alloc_zeroed(f->o.beam, sizeof *f->place);
    f->cached = alloc_zeroed(f->slots, sizeof *f->cached);
    f->frame = alloc_uncleared(f->slots * dim, sizeof *f->frame);
    f->variance = alloc_zeroed(f->slots, sizeof *f->variance);
    f->query = alloc_zeroed(f->s->row, sizeof *f->query);
    f->known = alloc_zeroed(f->s->row, 1);
    int failed = !f->cue || !f->place || !f->cached || !f->frame || !f->variance || !f->query || !f->known;
    for (size_t i = 0; !failed && i < f->o.window; i++) {
        f->cue[i].x = alloc_zeroed(dim, sizeof *f->cue[i].x);
        f->cue[i].known = alloc_zeroed(dim, 1);
        failed = !f->cue[i].x || !f->cue[i].known;
    }
    return failed ? -1 : 0;
}

bpcn_status bpcn_follower_create(const bpcn_sequence *s, const bpcn_follow_options *options, bpcn_follower **follower)
{
    bpcn_follow_options o;
    bpcn_status status = check_pointer(follower, "the pointer for the follower");
    if (status != BPCN_OK)
        return status;
    *follower = NULL;
    bpcn_follow_options_default(&o, sizeof o);
    status = check_pointer(s, "the sequence");
    if (status == BPCN_OK && options != NULL)
        status = abi_take(&abi_follow, options, &o);
    if (status != BPCN_OK)
        return status;
    if (o.restart == 0)
        o.restart = s->options.restart;
    if (!(o.restart > 0 && o.restart < 1))
        return bpcn_fail(BPCN_INVALID, "the probability of a restart, %g, is not between 0 and 1", o.restart);
    if (isnan(o.noise) || o.noise > 1e15)
        return bpcn_fail(BPCN_INVALID, "the noise is %g", o.noise);
    if (o.beam == 0 || o.beam > BEAM_MOST || o.proposals == 0 || o.proposals > BEAM_MOST || o.window == 0 || o.window > WINDOW_MOST)
        return bpcn_fail(BPCN_INVALID, "beam and proposals are 1 to %d places, and the window 1 to %d cues", BEAM_MOST, WINDOW_MOST);
    if (sequence_frames(s) == 0)
        return bpcn_fail(BPCN_INVALID, "the sequence has no frames");
    bpcn_follower *f = alloc_zeroed(1, sizeof *f);
    if (f == NULL)
        return out_of_memory();
    f->s = s;
    f->o = o;
    if (follower_allocate(f) != 0) {
        bpcn_follower_free(f);
        return out_of_memory();
    }
    *follower = f;
    return BPCN_OK;
}

/* ---- frames that are played */

/* Those of these positions that are not cached are played and cached. */
static bpcn_status play(bpcn_follower *f, const uint64_t *position, size_t n)
{
    size_t dim = f->s->options.dim, missing = 0;
    uint64_t *list = alloc_zeroed(n, sizeof *list);
    double *variance = alloc_zeroed(n, sizeof *variance);
    bpcn_status status = list && variance ? BPCN_OK : out_of_memory();
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        if (f->cached[position[i] % f->slots] != position[i] + 1) {
            f->cached[position[i] % f->slots] = position[i] + 1; /* of two in one slot the later one */
            list[missing++] = position[i];
        }
    float *frames = missing > 0 && status == BPCN_OK ? alloc_uncleared(missing * dim, sizeof *frames) : NULL;
    if (missing > 0 && frames == NULL)
        status = out_of_memory();
    if (missing > 0 && status == BPCN_OK)
        status = sequence_recall(f->s, list, missing, frames, variance);
    for (size_t i = 0; status == BPCN_OK && i < missing; i++) {
        size_t slot = list[i] % f->slots;
        if (f->cached[slot] != list[i] + 1)
            continue;
        memcpy(f->frame + slot * dim, frames + i * dim, dim * sizeof *frames);
        f->variance[slot] = variance[i];
    }
    if (status != BPCN_OK)
        memset(f->cached, 0, f->slots * sizeof *f->cached);
    free(frames);
    free(variance);
    free(list);
    return status;
}

/* The frame at a position, and its variance. */
static bpcn_status frame_at(bpcn_follower *f, uint64_t position, const float **frame, double *variance)
{
    bpcn_status status = play(f, &position, 1);
    *frame = f->frame + position % f->slots * f->s->options.dim;
    *variance = f->variance[position % f->slots];
    return status;
}

/* Squares of cue - frame at n positions, in units of the scale, and the variances of the frames. */
static bpcn_status compare(bpcn_follower *f, const struct cue *cue, const uint64_t *position, size_t n, double *rss,
                           double *variance)
{
    size_t dim = f->s->options.dim, at_once = f->slots / 4;
    double scale = f->s->options.scale;
    bpcn_status status = BPCN_OK;
    for (size_t first = 0; status == BPCN_OK && first < n; first += at_once) {
        size_t end = first + at_once < n ? first + at_once : n;
        status = play(f, position + first, end - first);
        for (size_t i = first; status == BPCN_OK && i < end; i++) {
            const float *frame;
            status = frame_at(f, position[i], &frame, &variance[i]);
            double sum = 0;
            for (size_t j = 0; status == BPCN_OK && j < dim; j++) {
                double d = cue->known[j] ? (double)cue->x[j] - (double)frame[j] : 0;
                sum += d * d;
            }
            rss[i] = sum / (scale * scale);
        }
    }
    return status;
}

/* log N(cue; frame, s^2), without the powers of 2 pi */
static double emission(const bpcn_follower *f, const struct cue *cue, double rss, double variance)
{
    double square = f->o.noise >= 0 ? cue->square + variance : fmax(cue->square, variance);
    return -0.5 * (rss / square + (double)cue->count * log(square));
}

static double log_add(double a, double b)
{
    double high = fmax(a, b);
    return isinf(high) ? high : high + log(exp(a - high) + exp(b - high));
}

/* ---- places that a cue proposes */

static struct cue *cue_at(const bpcn_follower *f, uint64_t number)
{
    return &f->cue[number % f->o.window];
}

/* The cue as a row: what is known of it and of the cues before it. */
static void build_query(bpcn_follower *f)
{
    const bpcn_sequence *s = f->s;
    size_t dim = s->options.dim;
    const struct cue *now = cue_at(f, f->cues);
    memset(f->known, 0, s->row);
    memset(f->query, 0, s->row * sizeof *f->query);
    for (size_t j = 0; j < dim; j++)
        f->query[SEQUENCE_CODE + j] = now->known[j] ? (float)(((double)now->x[j] - s->options.centre) / s->options.scale) : 0;
    memcpy(f->known + SEQUENCE_CODE, now->known, dim);
    for (size_t lag = 1; lag <= SEQUENCE_LAGS && lag < f->o.window && lag <= f->cues; lag++) {
        const struct cue *before = cue_at(f, f->cues - lag);
        size_t at = SEQUENCE_CODE + dim + (lag - 1) * s->sketch;
        if (before->count > 0)
            sequence_sketch(s, before->x, before->known, f->query + at, f->known + at);
    }
}

/* The positions of the rows that the index has nearest. */
static bpcn_status nearest_rows(bpcn_follower *f, uint64_t *position, size_t most, size_t *found)
{
    const bpcn_memory *m = f->s->memory;
    struct shards many;
    struct team *team = handle_begin(m, 1);
    struct shard *shard = routing_shards(m, team, &many);
    struct index_query query = {.how = INDEX_NEAREST};
    struct read_request request = {.query = f->query, .known = f->known, .n = 1};
    bpcn_status status = BPCN_NO_MEMORY;
    bpcn_read_options_default(&request.options, sizeof request.options);
    request.options.noise = 1; /* the nearest rows, not only those that are equal */
    build_query(f);
    if (shard != NULL)
        status = assign_find(&many, &request, &query);
    for (size_t i = 0; status == BPCN_OK && i < query.found && *found < most && !f->near; i++) {
        f->near = (double)query.hits[i].square > near_square * (double)query.hits[0].square;
        if (!f->near)
            position[(*found)++] = m->contents.begun[query.hits[i].shard] + query.hits[i].place;
    }
    free(query.hits);
    free(shard);
    handle_end(team);
    return status == BPCN_NO_MEMORY ? out_of_memory() : status;
}

/* Positions [most] where the cue could be; no position twice. */
static bpcn_status propose(bpcn_follower *f, uint64_t *position, size_t most, size_t *found)
{
    const bpcn_sequence *s = f->s;
    const struct index *index = s->memory->contents.index;
    uint64_t first, end;
    size_t kept = 0;
    bpcn_status status = BPCN_OK;
    sequence_held(s, &first, &end);
    *found = 0;
    f->ranked = f->near = 0;
    if (sequence_frames(s) <= most || index == NULL || !index_ready(index))
        for (uint64_t p = first; p < end && *found < (most > UNINDEXED ? most : UNINDEXED); p++) {
            if (sequence_episode_at(s, p) < s->count)
                position[(*found)++] = p;
        }
    else
        status = nearest_rows(f, position, most, found), f->ranked = 1;
    for (size_t i = 0; i < *found; i++) {
        int twice = sequence_episode_at(s, position[i]) == s->count;
        for (size_t j = 0; j < kept && !twice; j++)
            twice = position[j] == position[i];
        if (!twice)
            position[kept++] = position[i];
    }
    *found = kept;
    return status;
}

/* ---- one step */

/* What a step weighs. */
struct candidates {
    size_t count, successors; /* the first so many follow places that were held */
    uint64_t *position;
    double *prior;  /* log of the bracket in a_t */
    double *rss, *variance;
};

static void candidates_free(struct candidates *c)
{
    free(c->position);
    free(c->prior);
}

static int candidates_create(const bpcn_follower *f, struct candidates *c)
{
    size_t room = f->o.beam + (f->o.proposals > UNINDEXED ? f->o.proposals : UNINDEXED);
    *c = (struct candidates){.position = alloc_zeroed(room, sizeof *c->position), .prior = alloc_zeroed(3 * room, sizeof *c->prior)};
    c->rss = c->prior + room;
    c->variance = c->rss + room;
    return c->position && c->prior ? 0 : -1;
}

/* Whether the episode goes on after this place. */
static int has_next(const bpcn_sequence *s, uint64_t position)
{
    size_t e = sequence_episode_at(s, position);
    return e < s->count && sequence_episode_at(s, position + 1) == e;
}

/* log of [ (1 - eps) a_{t-1}(p - 1) + R_t / T ] of proposed places, from their diagonals: last, so many of them. */
static bpcn_status weigh_proposals(bpcn_follower *f, const struct cue *now, struct candidates *c, double log_places)
{
    uint64_t first_held, end, oldest = f->cues + 1 > f->o.window ? f->cues + 1 - f->o.window : 0;
    size_t n = c->count - c->successors, alive = n;
    double go_on = log1p(-f->o.restart);
    sequence_held(f->s, &first_held, &end);
    uint64_t *where = alloc_zeroed(n, sizeof *where);
    size_t *which = alloc_zeroed(n, sizeof *which);
    double *path = alloc_zeroed(3 * n, sizeof *path), *rss = path + n, *variance = path + 2 * n;
    bpcn_status status = where && which && path ? BPCN_OK : out_of_memory();
    /* what fits so badly that no past would help goes no further */
    double best = -INFINITY;
    for (size_t i = 0; i < c->count; i++)
        best = log_add(best, c->prior[i] + emission(f, now, c->rss[i], c->variance[i]));
    for (size_t i = alive = 0; status == BPCN_OK && i < n; i++) {
        size_t at = c->successors + i;
        if (emission(f, now, c->rss[at], c->variance[at]) > best + log(negligible))
            which[alive++] = i;
    }
    /* path: log of the product of (1 - eps) N / Z over the cues from `number` on to the one before this one */
    for (uint64_t back = 1; status == BPCN_OK && alive > 0 && f->cues >= oldest + back; back++) {
        const struct cue *cue = cue_at(f, f->cues - back);
        size_t kept = 0;
        for (size_t i = 0; i < alive; i++) {
            uint64_t p = c->position[c->successors + which[i]];
            if (p < back || p - back < first_held ||
                sequence_episode_at(f->s, p - back) != sequence_episode_at(f->s, p))
                continue; /* the episode had not begun */
            which[kept] = which[i];
            where[kept++] = p - back;
        }
        alive = kept;
        if (cue->count > 0)
            status = compare(f, cue, where, alive, rss, variance);
        for (size_t i = kept = 0; status == BPCN_OK && i < alive; i++) {
            size_t at = which[i];
            path[at] += go_on + (cue->count > 0 ? emission(f, cue, rss[i], variance[i]) - cue->log_z : 0);
            double part = path[at] + log(cue->restart) - log_places, *prior = &c->prior[c->successors + at];
            *prior = log_add(*prior, part);
            if (path[at] > log(negligible))
                which[kept++] = at;
        }
        alive = kept;
    }
    free(where);
    free(which);
    free(path);
    return status;
}

static int by_weight(const void *a, const void *b)
{
    const struct held_place *x = a, *y = b;
    if (x->log_weight != y->log_weight)
        return x->log_weight > y->log_weight ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

static int by_square(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of s^2 of the cues before this one, or its own if it is the first. */
static double usual_square(const bpcn_follower *f)
{
    double square[WINDOW_MOST];
    size_t n = 0;
    for (uint64_t back = 1; back <= f->cues && back < f->o.window; back++)
        if (cue_at(f, f->cues - back)->count > 0)
            square[n++] = cue_at(f, f->cues - back)->square;
    if (n == 0)
        return cue_at(f, f->cues)->square;
    qsort(square, n, sizeof *square, by_square);
    return square[n / 2];
}

/* Weighs the candidates of a cue of which something is known; they become the places held. */
static double noise_square(const bpcn_follower *f, const struct candidates *c, const struct cue *cue)
{
    double least = INFINITY, stated = f->o.noise / f->s->options.scale;
    for (size_t i = 0; i < c->count; i++)
        least = fmin(least, c->rss[i] / (double)cue->count);
    return f->o.noise >= 0 ? stated * stated : least;
}

static void take_candidates(bpcn_follower *f, struct candidates *c, struct cue *cue, bpcn_step *step)
{
    double log_z = -INFINITY, expected = -INFINITY, best = INFINITY;
    struct held_place *all = alloc_zeroed(c->count, sizeof *all);
    double usual = usual_square(f);
    for (size_t i = 0; all != NULL && i < c->count; i++) {
        double square = f->o.noise >= 0 ? usual + c->variance[i] : fmax(usual, c->variance[i]);
        all[i] = (struct held_place){c->position[i], c->prior[i] + emission(f, cue, c->rss[i], c->variance[i]), c->rss[i]};
        log_z = log_add(log_z, all[i].log_weight);
        expected = log_add(expected, c->prior[i] - 0.5 * c->rss[i] / square);
        best = fmin(best, c->rss[i] / square);
    }
    cue->log_z = log_z;
    step->surprise = -expected - 0.5 * best;
    step->misfit = (best - (double)cue->count) / sqrt(2 * (double)cue->count);
    f->count = 0;
    if (all != NULL)
        qsort(all, c->count, sizeof *all, by_weight);
    for (size_t i = 0; all != NULL && i < c->count && f->count < f->o.beam; i++) {
        all[i].log_weight -= log_z;
        if (all[i].log_weight < log(negligible))
            break;
        f->place[f->count++] = all[i];
    }
    free(all);
}

/* Of `found` proposals, best first, those that count: where one place is expected, only what fits better than it. */
static size_t cut_behind_expected(const bpcn_follower *f, const struct candidates *c, size_t found)
{
    if (c->successors == 0 || f->place[0].log_weight < log(expected_from) || !f->ranked)
        return found;
    for (size_t i = 0; i < found; i++)
        if (c->position[c->count + i] == f->place[0].position + 1)
            return i;
    return found;
}

/* Of the successors, those stay that are expected or among the `found` proposals, where these have all rows that are near:
   the others fit worse by 0.15 nats for every known entry. */
static void drop_far_successors(const bpcn_follower *f, const struct cue *cue, struct candidates *c, size_t found)
{
    size_t kept = 0, n = c->count;
    if (!f->near || cue->count < far_entries)
        return;
    for (size_t i = 0; i < n; i++) {
        int stays = exp(c->prior[i]) > expected_from / 2;
        for (size_t j = 0; j < found && !stays; j++)
            stays = c->position[n + j] == c->position[i];
        if (!stays)
            continue;
        c->position[kept] = c->position[i];
        c->prior[kept++] = c->prior[i];
    }
    memmove(c->position + kept, c->position + n, found * sizeof *c->position);
    c->count = c->successors = kept;
}

/* Plays ahead from the place that is expected, where that has not been played: a shard that is read for one frame costs as
   much as for some five. */
static bpcn_status play_ahead(bpcn_follower *f)
{
    uint64_t position[AHEAD], p = f->count > 0 ? f->place[0].position : 0;
    size_t n = 0;
    if (f->count == 0 || f->place[0].log_weight < log(expected_from) || !has_next(f->s, p) ||
        f->cached[(p + 1) % f->slots] == p + 2)
        return BPCN_OK;
    for (; n < AHEAD && has_next(f->s, p); n++)
        position[n] = ++p;
    return play(f, position, n);
}

static bpcn_status weigh(bpcn_follower *f, struct cue *cue, bpcn_step *step)
{
    struct candidates c;
    double ends = 0, log_places = log((double)sequence_frames(f->s)), go_on = log1p(-f->o.restart);
    if (candidates_create(f, &c) != 0) {
        candidates_free(&c);
        return out_of_memory();
    }
    for (size_t i = 0; i < f->count; i++)
        if (has_next(f->s, f->place[i].position)) {
            c.prior[c.count] = go_on + f->place[i].log_weight;
            c.position[c.count++] = f->place[i].position + 1;
        } else {
            ends += exp(f->place[i].log_weight);
        }
    cue->restart = f->count == 0 ? 1 : fmin(1, f->o.restart + (1 - f->o.restart) * ends);
    double anywhere = log(cue->restart) - log_places;
    bpcn_status status = play_ahead(f);
    c.successors = c.count;
    for (size_t i = 0; i < c.count; i++)
        c.prior[i] = log_add(c.prior[i], anywhere);
    if (status != BPCN_OK) {
        candidates_free(&c);
        return status;
    }
    if (cue->count == 0) { /* time passes: nothing is compared, nowhere else is looked at */
        double log_z = -INFINITY;
        for (size_t i = 0; i < c.count; i++)
            log_z = log_add(log_z, c.prior[i]);
        for (size_t i = 0; i < c.count; i++)
            f->place[i] = (struct held_place){c.position[i], c.prior[i] - log_z, 0};
        f->count = c.count;
        cue->log_z = 0;
    } else {
        size_t found = 0;
        status = propose(f, c.position + c.count, f->o.proposals, &found);
        if (status == BPCN_OK)
            drop_far_successors(f, cue, &c, found);
        if (status == BPCN_OK)
            found = cut_behind_expected(f, &c, found);
        for (size_t i = 0, first = c.count; status == BPCN_OK && i < found; i++) {
            uint64_t p = c.position[first + i];
            int twice = 0;
            for (size_t j = 0; j < c.successors && !twice; j++)
                twice = c.position[j] == p;
            if (twice)
                continue;
            c.prior[c.count] = anywhere;
            c.position[c.count++] = p;
        }
        if (status == BPCN_OK)
            status = compare(f, cue, c.position, c.count, c.rss, c.variance);
        if (status == BPCN_OK)
            cue->square = noise_square(f, &c, cue);
        if (status == BPCN_OK)
            status = weigh_proposals(f, cue, &c, log_places);
        if (status == BPCN_OK)
            take_candidates(f, &c, cue, step);
    }
    candidates_free(&c);
    return status;
}

/* ---- what is told */

static bpcn_place public_place(const bpcn_follower *f, const struct held_place *p)
{
    const struct cue *cue = cue_at(f, f->cues - 1);
    size_t e = sequence_episode_at(f->s, p->position);
    return (bpcn_place){.probability = exp(p->log_weight),
                        .episode = e,
                        .place = p->position - f->s->episode[e].first,
                        .residual = cue->count > 0 ? sqrt(p->rss / (double)cue->count) * f->s->options.scale : 0};
}

bpcn_status bpcn_follower_places(const bpcn_follower *f, bpcn_place *places, size_t room, size_t *found)
{
    bpcn_status status = check_pointer(f, "the follower");
    if (status == BPCN_OK)
        status = check_pointer(found, "the pointer for the number of places");
    if (status == BPCN_OK && room > 0)
        status = check_pointer(places, "the pointer for the places");
    if (status != BPCN_OK)
        return status;
    *found = f->count < room ? f->count : room;
    for (size_t i = 0; i < *found; i++)
        places[i] = public_place(f, &f->place[i]);
    return BPCN_OK;
}

/* The expected frame `ahead` places on, out [dim], and its standard deviations (or NULL). Where no place has a frame
   there, it is the centre of all frames. */
static bpcn_status expect(bpcn_follower *f, uint64_t ahead, float *out, float *spread)
{
    size_t dim = f->s->options.dim;
    double all = 0, scale = f->s->options.scale, *mean = alloc_zeroed(2 * dim, sizeof *mean);
    bpcn_status status = mean != NULL ? BPCN_OK : out_of_memory();
    for (size_t i = 0; status == BPCN_OK && i < f->count; i++) {
        double weight = exp(f->place[i].log_weight), variance;
        const float *frame;
        if (weight < telling || (ahead > 0 && !has_next(f->s, f->place[i].position)))
            continue;
        status = frame_at(f, f->place[i].position + ahead, &frame, &variance);
        all += weight;
        for (size_t j = 0; status == BPCN_OK && j < dim; j++) {
            double d = (double)frame[j] - mean[j];
            mean[j] += d * weight / all; /* West's sums */
            mean[dim + j] += weight * (d * ((double)frame[j] - mean[j]) + variance * scale * scale);
        }
    }
    for (size_t j = 0; status == BPCN_OK && j < dim; j++) {
        if (out != NULL)
            out[j] = (float)(all > 0 ? mean[j] : f->s->options.centre);
        if (spread != NULL)
            spread[j] = (float)(all > 0 ? sqrt(mean[dim + j] / all) : scale);
    }
    free(mean);
    return status;
}

/* What the memory says of the cue itself, whatever its place. */
static bpcn_status judge(bpcn_follower *f, bpcn_step *step)
{
    size_t dim = f->s->options.dim;
    const struct cue *cue = cue_at(f, f->cues);
    bpcn_read_options options;
    bpcn_read_info info;
    bpcn_read_options_default(&options, sizeof options);
    if (f->o.noise >= 0)
        options.noise = f->o.noise / f->s->options.scale;
    memset(f->known, 0, f->s->row);
    memcpy(f->known + SEQUENCE_CODE, cue->known, dim);
    memcpy(f->query + SEQUENCE_CODE, cue->x, dim * sizeof *cue->x);
    bpcn_status status = bpcn_memory_read(f->s->memory, f->query, f->known, 1, &options, f->query, &info);
    step->verdict = info.verdict;
    return status;
}

bpcn_status bpcn_follower_step(bpcn_follower *f, const float *x, const unsigned char *known, bpcn_step *step,
                               float *cleaned, float *next, float *spread)
{
    bpcn_step said = {.verdict = BPCN_CANNOT_TELL};
    bpcn_status status = check_pointer(f, "the follower");
    if (status == BPCN_OK)
        status = check_pointer(x, "the pointer to the cue");
    if (status != BPCN_OK)
        return status;
    size_t dim = f->s->options.dim;
    for (size_t j = 0; j < dim; j++)
        if (!(islessequal(fabsf(x[j]), LARGEST)) && (known == NULL || known[j]))
            return bpcn_fail(BPCN_INVALID, "entry %zu of the cue is %s", j, isnan(x[j]) ? "NaN" : isinf(x[j]) ? "infinite" : "too large");
    struct cue *cue = cue_at(f, f->cues);
    cue->count = 0;
    for (size_t j = 0; j < dim; j++) {
        cue->known[j] = known == NULL || known[j];
        cue->x[j] = cue->known[j] ? x[j] : 0;
        cue->count += cue->known[j];
    }
    said.known = cue->count > 0;
    status = weigh(f, cue, &said);
    if (status == BPCN_OK && step != NULL && said.known)
        status = judge(f, &said);
    if (status != BPCN_OK)
        return status;
    f->cues++;
    if (said.known)
        said.noise = sqrt(cue->square) * f->s->options.scale;
    if (f->count > 0)
        said.place = public_place(f, &f->place[0]);
    if (step != NULL)
        *step = said;
    if (cleaned != NULL)
        status = expect(f, 0, cleaned, NULL);
    if (status == BPCN_OK && (next != NULL || spread != NULL))
        status = expect(f, 1, next, spread);
    return status;
}

bpcn_status bpcn_sequence_locate(const bpcn_sequence *s, const float *cues, const unsigned char *known, size_t n,
                                 const bpcn_follow_options *options, bpcn_place *places, size_t room, size_t *found)
{
    bpcn_follower *f = NULL;
    bpcn_status status = n > 0 ? check_pointer(cues, "the pointer to the cues") : bpcn_fail(BPCN_INVALID, "there are no cues");
    if (status == BPCN_OK)
        status = bpcn_follower_create(s, options, &f);
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        status = bpcn_follower_step(f, cues + i * s->options.dim, known != NULL ? known + i * s->options.dim : NULL, NULL, NULL,
                                    NULL, NULL);
    if (status == BPCN_OK)
        status = bpcn_follower_places(f, places, room, found);
    bpcn_follower_free(f);
    return status;
}
