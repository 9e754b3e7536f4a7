/* Preparations and who holds them (compiled per precision). */
#include "cache.h"

#include "alloc.h"
#include "cholesky.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SLOTS = 6,     /* kinds of rows and uses that a particle stays prepared for */
    SHARES = 16,        /* steps of the share known, where rows know different entries */
    WORTH_KEEPING = 16, /* rows for which a G must serve, to be made again */
    KINDS = 16,         /* of rows that are counted */
    PAID_BY_ONE = 256,  /* width of layer 1 below which one row saves what preparing for its kind costs */
    MANY_SHARDS = 16,   /* of a memory, beyond which what each of them keeps for readers would outgrow the shards */
    SMALL_WIDTH = 128   /* of layer 1, up to which rows are searched as fast without */
};

enum purpose { FOR_DENSITY, FOR_RECALL, FOR_SCREEN };

/* For one kind of rows. */
struct slot {
    struct slot *next; /* used less recently */
    size_t users;
    struct masks masks;   /* the mask is a copy */
    enum purpose purpose; /* of the density or of recall: which elimination; or of a quick look */
    double *factor;       /* of a quick look */
    struct gram *gram;    /* over the mask; NULL: none, or that of all entries */
    int through;          /* rows are evaluated through G */
    int partial;          /* something of it is missing for want of memory */
    struct preconditioner *preconditioner;
};

/* How many rows of one kind have been asked for. */
struct tally {
    uint64_t kind;
    size_t rows;
};

/* One particle. */
struct ready {
    struct tally tally[KINDS];
    size_t kinds; /* counted so far; the oldest goes first */
    struct weights *weights;
    struct panels up;   /* of a quick look: the lowest mean, turned; no data: not cut */
    struct norms norms; /* mean NULL: not made */
    struct gram *all;   /* over all entries */
    struct gram *gram;  /* the same, followed by a writer; his own: what was read leaves no trace in what is written */
    int no_gram;        /* it does not serve */
    struct elimination *above[2]; /* of the density, of recall */
    struct slot *slots;
};

struct cache {
    const struct model *model;
    size_t particles;    /* of the model, which may be gone before what is prepared of it */
    struct ready *ready; /* [particles] */
    double written;      /* share_written, or -1 */
    size_t readers;      /* between cache_enter and cache_leave */
    pthread_mutex_t lock;
};

/* ---- life */

static void slot_free(struct slot *s)
{
    gram_free(s->gram);
    free(s->factor);
    preconditioner_free(s->preconditioner);
    free((void *)(uintptr_t)s->masks.mask);
    free(s);
}

/* All but G. */
static void ready_drop(struct ready *r)
{
    weights_free(r->weights);
    free(r->up.data);
    norms_free(&r->norms);
    while (r->slots != NULL) {
        struct slot *next = r->slots->next;
        slot_free(r->slots);
        r->slots = next;
    }
    gram_free(r->all);
    elimination_free(r->above[0]);
    elimination_free(r->above[1]);
    *r = (struct ready){.gram = r->gram, .no_gram = r->no_gram};
}

struct cache *cache_create(const struct model *model)
{
    struct cache *p = alloc_zeroed(1, sizeof *p);
    struct ready *ready = alloc_zeroed(model->options.particles, sizeof *ready);
    if (p == NULL || ready == NULL) {
        free(p);
        free(ready);
        return NULL;
    }
    p->model = model;
    p->particles = model->options.particles;
    p->ready = ready;
    p->written = -1;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void cache_reset(struct cache *p, const struct model *model)
{
    for (size_t k = 0; k < p->particles; k++) {
        ready_drop(&p->ready[k]);
        gram_free(p->ready[k].gram);
        p->ready[k] = (struct ready){.gram = NULL};
    }
    p->model = model;
    p->written = -1;
}

void cache_free(struct cache *p)
{
    if (p == NULL)
        return;
    cache_reset(p, p->model);
    pthread_mutex_destroy(&p->lock);
    free(p->ready);
    free(p);
}

size_t cache_bytes(struct cache *p)
{
    size_t bytes = sizeof *p;
    pthread_mutex_lock(&p->lock);
    for (size_t k = 0; k < p->particles; k++) {
        const struct ready *r = &p->ready[k];
        bytes += sizeof *r + weights_bytes(r->weights) + gram_bytes(r->all) + gram_bytes(r->gram);
        bytes += elimination_bytes(r->above[0]) + elimination_bytes(r->above[1]);
        size_t above = p->model->options.layers > 0 ? p->model->width[1] : 0;
        bytes += r->up.data ? matmul_packed_entries(p->model->width[0], above, sizeof(real)) * sizeof(real) : 0;
        bytes += r->norms.mean ? 2 * p->model->code_dim * sizeof *r->norms.mean : 0;
        for (const struct slot *s = r->slots; s != NULL; s = s->next)
            bytes += sizeof *s + gram_bytes(s->gram) + preconditioner_bytes(s->preconditioner) +
                     (s->factor ? above * above * sizeof *s->factor : 0);
    }
    pthread_mutex_unlock(&p->lock);
    return bytes;
}

/* Without hidden layers: of the one direction that the top is. */
static double share_written(const struct model *model)
{
    double trace = 0, sum = 0, prior = model->options.sigma_w * model->options.sigma_w;
    for (size_t k = 0; k < model->options.particles; k++) {
        const struct layer *layer = &model->particles[k].layer[0];
        if (model->options.layers == 0) {
            trace += model->particles[k].top_variance;
            sum += prior;
            continue;
        }
        trace += sum_of_squares(layer->above * layer->above, (const real *)layer->root_real);
        sum += (double)layer->above * prior;
    }
    return fmax(0, 1 - trace / sum);
}

double cache_share_written(struct cache *p)
{
    pthread_mutex_lock(&p->lock);
    if (p->written < 0)
        p->written = share_written(p->model);
    double written = p->written;
    pthread_mutex_unlock(&p->lock);
    return written;
}

/* ---- making, with the lock held */

static int make_weights(struct cache *p, size_t k)
{
    struct ready *r = &p->ready[k];
    if (r->weights == NULL)
        r->weights = weights_create(p->model, &p->model->particles[k]);
    return r->weights != NULL ? 0 : -1;
}

static int make_norms(struct cache *p, size_t k)
{
    struct ready *r = &p->ready[k];
    if (r->norms.mean != NULL)
        return 0;
    if (norms_create(&r->norms, p->model) != 0)
        return -1;
    norms_compute(p->model, &p->model->particles[k], NULL, &r->norms);
    return 0;
}

const struct norms *cache_norms(struct cache *p, size_t k)
{
    pthread_mutex_lock(&p->lock);
    int failed = make_norms(p, k);
    pthread_mutex_unlock(&p->lock);
    return failed ? NULL : &p->ready[k].norms;
}

int cache_is_frugal(const struct cache *p)
{
    const bpcn_options *o = &p->model->options;
    return o->shards > MANY_SHARDS && o->particles == 1 && o->layers > 0 && p->model->width[1] <= SMALL_WIDTH &&
           gram_pays(p->model->width[1], p->model->width[0]);
}

/* The slot's gram and preconditioner, as far as there is memory. */
static void fill_slot(struct cache *p, size_t k, struct slot *s, struct weighing weighing, struct team *team)
{
    const struct particle *particle = &p->model->particles[k];
    const struct layer *layer = &particle->layer[0];
    struct elimination **above = &p->ready[k].above[s->purpose];
    if (p->model->options.layers == 0)
        return;
    struct gram **all = &p->ready[k].all;
    if (*all == NULL)
        *all = gram_create(layer, NULL, NULL, team);
    const struct gram *g = *all;
    if (s->masks.mask != NULL)
        g = s->gram = gram_create(layer, s->masks.mask, *all, team);
    if (*above == NULL)
        *above = elimination_create(p->model, particle, weighing, team);
    s->partial = g == NULL;
    if (g == NULL || *above == NULL)
        return;
    struct knowledge knows = {g->g, s->masks.same ? 1 : s->masks.share, s->masks.share};
    s->preconditioner = preconditioner_create(*above, knows);
    s->partial = s->preconditioner == NULL;
    s->through = s->masks.same && gram_pays_batch(layer->above, layer->below) &&
                 gram_pack(s->masks.mask != NULL ? s->gram : *all) == 0;
}

/* ---- slots */

static int alike(const struct slot *s, struct masks m, enum purpose purpose, size_t dim)
{
    if (s->purpose != purpose || s->masks.same != m.same || s->masks.share != m.share ||
        (s->masks.mask == NULL) != (m.mask == NULL))
        return 0;
    return m.mask == NULL || memcmp(s->masks.mask, m.mask, dim) == 0;
}

/* Takes the slot for such rows out of the list; one that memory did not suffice for is to be made again. */
static struct slot *find_slot(struct ready *r, struct masks m, enum purpose purpose, size_t dim)
{
    for (struct slot **at = &r->slots; *at != NULL; at = &(*at)->next)
        if (alike(*at, m, purpose, dim)) {
            struct slot *found = *at;
            *at = found->next;
            if (!found->partial || found->users > 0)
                return found;
            slot_free(found);
            return NULL;
        }
    return NULL;
}

/* Frees slots that nobody uses, beyond the most recent ones. */
static void forget_slots(struct ready *r)
{
    size_t kept = 0;
    for (struct slot **at = &r->slots; *at != NULL;) {
        struct slot *s = *at;
        if (++kept <= MOST_SLOTS || s->users > 0) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        slot_free(s);
    }
}

/* Uses a slot, and puts it first in the list. */
static void hold(struct ready *r, struct slot *s)
{
    s->users++;
    s->next = r->slots;
    r->slots = s;
    forget_slots(r);
}

static struct slot *make_slot(struct masks m, enum purpose purpose, size_t dim)
{
    struct slot *s = alloc_zeroed(1, sizeof *s);
    unsigned char *copy = m.mask != NULL ? alloc_zeroed(dim, 1) : NULL;
    if (s == NULL || (m.mask != NULL && copy == NULL)) {
        free(s);
        free(copy);
        return NULL;
    }
    if (copy != NULL)
        memcpy(copy, m.mask, dim);
    *s = (struct slot){.masks = m, .purpose = purpose};
    s->masks.mask = copy;
    return s;
}

/* ---- what pays */

/* A number for a kind of rows. */
static uint64_t kind_of(struct masks m, enum purpose purpose, size_t dim)
{
    uint64_t kind = UINT64_C(14695981039346656037) + (uint64_t)purpose * 2 + (uint64_t)m.same;
    for (size_t j = 0; m.mask != NULL && j < dim; j++)
        kind = (kind ^ (m.mask[j] != 0)) * UINT64_C(1099511628211);
    return kind ^ (uint64_t)(m.share * 4096);
}

/* Whether so many more rows of a kind, with those before them, pay for preparing. What was asked is all that this
   depends on. */
static int pays(struct ready *r, struct masks m, enum purpose purpose, size_t rows, const struct model *model)
{
    uint64_t kind = kind_of(m, purpose, model->width[0]);
    size_t width = model->options.layers > 0 ? model->width[1] : 0, at = 0;
    size_t price = 1 + width / PAID_BY_ONE;
    while (at < KINDS && (r->tally[at].rows == 0 || r->tally[at].kind != kind))
        at++;
    if (at == KINDS) {
        at = r->kinds++ % KINDS;
        r->tally[at] = (struct tally){kind, 0};
    }
    r->tally[at].rows += rows < 1024 ? rows : 1024;
    return r->tally[at].rows >= price;
}

/* The slot for such rows, held, made now if that pays; NULL if it does not, or there is no memory. */
static struct slot *slot_for(struct cache *p, size_t k, struct masks m, size_t rows, const struct weighing *weighing,
                             struct team *team)
{
    struct ready *r = &p->ready[k];
    size_t dim = p->model->width[0];
    int density = weighing->sensory == weighing_density.sensory && weighing->upper == weighing_density.upper;
    enum purpose purpose = density ? FOR_DENSITY : FOR_RECALL;
    struct slot *s = find_slot(r, m, purpose, dim);
    if (s == NULL && pays(r, m, purpose, rows, p->model)) {
        s = make_slot(m, purpose, dim);
        if (s != NULL)
            fill_slot(p, k, s, *weighing, team);
    }
    if (s != NULL)
        hold(r, s);
    return s;
}

static void round_share(struct masks *m)
{
    if (!m->same)
        m->share = ceil(m->share * SHARES) / SHARES;
}

static bpcn_status enter(struct cache *p, size_t k, struct masks m, size_t rows, const struct weighing *weighing,
                         struct team *team, struct cached_particle *cached)
{
    struct ready *r = &p->ready[k];
    struct masks share = {.share = m.share}; /* as if each knew others */
    round_share(&share);
    struct slot *s = slot_for(p, k, m, rows, weighing, team);
    if (s == NULL && m.mask != NULL)
        s = slot_for(p, k, share, rows, weighing, team);
    if (make_norms(p, k) != 0 || ((s != NULL || rows > 1) && make_weights(p, k) != 0)) {
        if (s != NULL)
            s->users--;
        return BPCN_NO_MEMORY;
    }
    *cached = (struct cached_particle){.weights = r->weights, .norms = &r->norms, .slot = s};
    if (s != NULL && s->through)
        cached->gram = s->masks.mask != NULL ? s->gram : r->all;
    if (s != NULL)
        cached->preconditioner = s->preconditioner;
    return BPCN_OK;
}

bpcn_status cache_acquire(struct cache *p, size_t k, struct masks masks, size_t rows, const struct weighing *weighing,
                          struct team *team, struct cached_particle *cached)
{
    round_share(&masks);
    pthread_mutex_lock(&p->lock);
    bpcn_status status = enter(p, k, masks, rows, weighing, team, cached);
    pthread_mutex_unlock(&p->lock);
    return status;
}

static void let_go(struct cache *p, struct slot **slot)
{
    if (*slot == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    (*slot)->users--;
    pthread_mutex_unlock(&p->lock);
    *slot = NULL;
}

void cache_release(struct cache *p, struct cached_particle *cached)
{
    let_go(p, &cached->slot);
}

/* With the lock held: all but norms, the writer's G and factors, unless somebody uses it. */
static void give_back(struct ready *r)
{
    for (const struct slot *s = r->slots; s != NULL; s = s->next)
        if (s->users > 0)
            return;
    for (struct slot **at = &r->slots; *at != NULL;) {
        struct slot *s = *at;
        if (s->purpose == FOR_SCREEN) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        slot_free(s);
    }
    weights_free(r->weights);
    gram_free(r->all);
    elimination_free(r->above[0]);
    elimination_free(r->above[1]);
    r->weights = NULL;
    r->all = NULL;
    r->above[0] = r->above[1] = NULL;
}

void cache_enter(struct cache *p)
{
    pthread_mutex_lock(&p->lock);
    p->readers++;
    pthread_mutex_unlock(&p->lock);
}

void cache_leave(struct cache *p)
{
    pthread_mutex_lock(&p->lock);
    p->readers--;
    for (size_t k = 0; p->readers == 0 && cache_is_frugal(p) && k < p->particles; k++)
        give_back(&p->ready[k]);
    pthread_mutex_unlock(&p->lock);
}

/* ---- a quick look, with the lock held */

static int make_up(struct cache *p, size_t k)
{
    struct panels *up = &p->ready[k].up;
    const struct layer *layer = &p->model->particles[k].layer[0];
    if (up->data != NULL)
        return 0;
    real *data = alloc_zeroed(matmul_packed_entries(layer->below, layer->above, sizeof *data), sizeof *data);
    if (data != NULL)
        *up = matmul_pack(layer->below, layer->above, (const real *)layer->mean, 1, PANEL_FULL, data);
    return data != NULL ? 0 : -1;
}

/* The factor of G + ridge over a mask, NULL for all entries; NULL when out of memory. */
static double *make_factor(struct cache *p, size_t k, const unsigned char *mask, double ridge)
{
    const struct layer *layer = &p->model->particles[k].layer[0];
    struct ready *r = &p->ready[k];
    struct gram *all = r->all != NULL ? r->all : gram_create(layer, NULL, NULL, NULL), *own = NULL;
    size_t n = layer->above;
    double *factor = alloc_zeroed(n * n, sizeof *factor);
    if (all != NULL && mask != NULL)
        own = gram_create(layer, mask, all, NULL);
    const struct gram *g = mask != NULL ? own : all;
    int failed = factor == NULL || g == NULL;
    for (size_t i = 0; !failed && i < n; i++)
        for (size_t j = i; j < n; j++)
            factor[i * n + j] = g->g[i * n + j] + (i == j ? ridge : 0);
    gram_free(own);
    if (cache_is_frugal(p))
        gram_free(all);
    else
        r->all = all;
    if (failed || cholesky_factor(n, factor) != 0) {
        free(factor);
        return NULL;
    }
    return factor;
}

static bpcn_status find_screen(struct cache *p, size_t k, struct masks m, double ridge, struct cached_ridge *screen)
{
    struct ready *r = &p->ready[k];
    size_t dim = p->model->width[0];
    if (!cache_is_frugal(p) && make_up(p, k) != 0)
        return BPCN_NO_MEMORY;
    if (!m.same) /* G over all entries serves, whatever share of them is known */
        m = (struct masks){.same = 1, .share = 1};
    struct slot *s = find_slot(r, m, FOR_SCREEN, dim);
    if (s == NULL) {
        s = make_slot(m, FOR_SCREEN, dim);
        if (s != NULL)
            s->factor = make_factor(p, k, m.mask, ridge);
        if (s == NULL || s->factor == NULL) {
            if (s != NULL)
                slot_free(s);
            return BPCN_NO_MEMORY;
        }
    }
    hold(r, s);
    *screen = (struct cached_ridge){r->up, s->factor, s};
    return BPCN_OK;
}

bpcn_status cache_acquire_ridge(struct cache *p, size_t k, struct masks masks, double ridge,
                                struct cached_ridge *screen)
{
    pthread_mutex_lock(&p->lock);
    bpcn_status status = find_screen(p, k, masks, ridge, screen);
    pthread_mutex_unlock(&p->lock);
    return status;
}

void cache_release_ridge(struct cache *p, struct cached_ridge *screen)
{
    int once = screen->slot != NULL && screen->slot->masks.mask != NULL && cache_is_frugal(p);
    struct masks masks = once ? screen->slot->masks : (struct masks){.same = 1};
    if (!once) {
        let_go(p, &screen->slot);
        return;
    }
    pthread_mutex_lock(&p->lock);
    screen->slot->users--;
    for (size_t k = 0; k < p->particles; k++) {
        struct slot *s = find_slot(&p->ready[k], masks, FOR_SCREEN, p->model->width[0]);
        if (s == NULL)
            continue;
        if (s->users == 0) {
            slot_free(s);
            break;
        }
        s->next = p->ready[k].slots;
        p->ready[k].slots = s;
    }
    pthread_mutex_unlock(&p->lock);
    screen->slot = NULL;
}

const struct weights *cache_weights(struct cache *p, size_t k)
{
    pthread_mutex_lock(&p->lock);
    const struct weights *made = make_weights(p, k) == 0 ? p->ready[k].weights : NULL;
    pthread_mutex_unlock(&p->lock);
    return made;
}

/* ---- for a writer */

struct gram *cache_gram(struct cache *p, size_t k, struct team *team)
{
    struct ready *r = &p->ready[k];
    const struct layer *layer = &p->model->particles[k].layer[0];
    if (r->gram == NULL && !r->no_gram && p->model->options.layers > 0 && gram_pays(layer->above, layer->below))
        r->gram = gram_create(layer, NULL, NULL, team);
    return r->gram;
}

void cache_discard_gram(struct cache *p, size_t k)
{
    struct ready *r = &p->ready[k];
    r->no_gram = r->gram != NULL && r->gram->age < WORTH_KEEPING;
    gram_free(r->gram);
    r->gram = NULL;
}

/* Particles that were replaced by others have theirs, or none. */
static void resample_grams(struct cache *p, const size_t *sources)
{
    for (size_t k = 0; k < p->particles; k++) {
        const struct gram *from = p->ready[sources[k]].gram;
        struct ready *r = &p->ready[k];
        if (sources[k] == k)
            continue;
        if (from != NULL && r->gram != NULL) {
            gram_copy(r->gram, from);
            continue;
        }
        gram_free(r->gram);
        r->gram = NULL;
    }
}

void cache_keep_grams(struct cache *p, const size_t *sources)
{
    for (size_t k = 0; k < p->particles; k++)
        ready_drop(&p->ready[k]);
    if (sources != NULL)
        resample_grams(p, sources);
    p->written = -1;
}
