/* Preparations and who holds them (compiled per precision). */
#include "prepared.h"

#include "alloc.h"
#include "linalg.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SLOTS = 4,    /* kinds of rows that a particle stays prepared for */
    SHARES = 16,       /* steps of the share known, where rows know different entries */
    WORTH_KEEPING = 16 /* rows for which a G must serve, to be made again */
};

/* For one kind of rows. */
struct slot {
    struct slot *next; /* used less recently */
    size_t users;
    struct masks masks; /* the mask is a copy */
    int recall;         /* which elimination */
    struct gram *gram;  /* over the mask; NULL: none, or that of all entries */
    int through;        /* rows are evaluated through G */
    struct preconditioner *preconditioner;
};

/* One particle. */
struct ready {
    struct weights *weights;
    struct norms norms; /* mean NULL: not made */
    struct gram *all;   /* over all entries */
    struct gram
        *gram; /* the same, of a writer, followed; his own, so that what was read leaves no trace in what is written */
    int no_gram;                  /* it does not serve */
    struct elimination *above[2]; /* of the density, of recall */
    struct slot *slots;
};

struct prepared {
    const struct model *model;
    size_t particles;    /* of the model, which may be gone before what is prepared of it */
    struct ready *ready; /* [particles] */
    double written;      /* share_written, or -1 */
    pthread_mutex_t lock;
};

/* ---- life */

static void slot_free(struct slot *s)
{
    gram_free(s->gram);
    preconditioner_free(s->preconditioner);
    free((void *)(uintptr_t)s->masks.mask);
    free(s);
}

/* All but G. */
static void ready_drop(struct ready *r)
{
    weights_free(r->weights);
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

struct prepared *prepared_create(const struct model *model)
{
    struct prepared *p = alloc_zeroed(1, sizeof *p);
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

void prepared_drop(struct prepared *p, const struct model *model)
{
    for (size_t k = 0; k < p->particles; k++) {
        ready_drop(&p->ready[k]);
        gram_free(p->ready[k].gram);
        p->ready[k] = (struct ready){.gram = NULL};
    }
    p->model = model;
    p->written = -1;
}

void prepared_free(struct prepared *p)
{
    if (p == NULL)
        return;
    prepared_drop(p, p->model);
    pthread_mutex_destroy(&p->lock);
    free(p->ready);
    free(p);
}

size_t prepared_bytes(struct prepared *p)
{
    size_t bytes = sizeof *p;
    pthread_mutex_lock(&p->lock);
    for (size_t k = 0; k < p->particles; k++) {
        const struct ready *r = &p->ready[k];
        bytes += sizeof *r + weights_bytes(r->weights) + gram_bytes(r->all) + gram_bytes(r->gram);
        bytes += elimination_bytes(r->above[0]) + elimination_bytes(r->above[1]);
        bytes += r->norms.mean ? 2 * p->model->code_dim * sizeof *r->norms.mean : 0;
        for (const struct slot *s = r->slots; s != NULL; s = s->next)
            bytes += sizeof *s + gram_bytes(s->gram) + preconditioner_bytes(s->preconditioner);
    }
    pthread_mutex_unlock(&p->lock);
    return bytes;
}

static double share_written(const struct model *model)
{
    double trace = 0, sum = 0, prior = model->options.sigma_w * model->options.sigma_w;
    for (size_t k = 0; k < model->options.particles; k++) {
        const struct layer *layer = &model->particles[k].layer[0];
        trace += sum_of_squares(layer->above * layer->above, (const real *)layer->root_real);
        sum += (double)layer->above * prior;
    }
    return fmax(0, 1 - trace / sum);
}

double prepared_share_written(struct prepared *p)
{
    pthread_mutex_lock(&p->lock);
    if (p->written < 0)
        p->written = share_written(p->model);
    double written = p->written;
    pthread_mutex_unlock(&p->lock);
    return written;
}

/* ---- making, with the lock held */

static int make_weights(struct prepared *p, size_t k, struct team *team)
{
    struct ready *r = &p->ready[k];
    if (r->weights == NULL)
        r->weights = weights_create(p->model, &p->model->particles[k], team);
    return r->weights != NULL ? 0 : -1;
}

static int make_norms(struct prepared *p, size_t k)
{
    struct ready *r = &p->ready[k];
    if (r->norms.mean != NULL)
        return 0;
    if (norms_create(&r->norms, p->model) != 0)
        return -1;
    norms_compute(p->model, &p->model->particles[k], NULL, &r->norms);
    return 0;
}

/* The slot's gram and preconditioner, as far as there is memory. */
static void fill_slot(struct prepared *p, size_t k, struct slot *s, struct weighing weighing, struct team *team)
{
    const struct particle *particle = &p->model->particles[k];
    const struct layer *layer = &particle->layer[0];
    struct elimination **above = &p->ready[k].above[s->recall];
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
    if (g == NULL || *above == NULL)
        return;
    struct knowledge knows = {g->g, s->masks.same ? 1 : s->masks.share, s->masks.share};
    s->preconditioner = preconditioner_create(*above, knows);
    s->through = s->masks.same && gram_pays_batch(layer->above, layer->below) &&
                 gram_cut(s->masks.mask != NULL ? s->gram : *all) == 0;
}

/* ---- slots */

static int alike(const struct slot *s, struct masks m, int recall, size_t dim)
{
    if (s->recall != recall || s->masks.same != m.same || s->masks.share != m.share ||
        (s->masks.mask == NULL) != (m.mask == NULL))
        return 0;
    return m.mask == NULL || memcmp(s->masks.mask, m.mask, dim) == 0;
}

/* Takes the slot for such rows out of the list. */
static struct slot *find_slot(struct ready *r, struct masks m, int recall, size_t dim)
{
    for (struct slot **at = &r->slots; *at != NULL; at = &(*at)->next)
        if (alike(*at, m, recall, dim)) {
            struct slot *found = *at;
            *at = found->next;
            return found;
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

static struct slot *make_slot(struct masks m, int recall, size_t dim)
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
    *s = (struct slot){.masks = m, .recall = recall};
    s->masks.mask = copy;
    return s;
}

static bpcn_status enter(struct prepared *p, size_t k, struct masks m, const struct weighing *weighing,
                         struct team *team, struct ground *ground)
{
    struct ready *r = &p->ready[k];
    size_t dim = p->model->width[0];
    int recall = weighing->sensory != the_density.sensory || weighing->upper != the_density.upper;
    if (make_weights(p, k, team) != 0 || make_norms(p, k) != 0)
        return BPCN_NO_MEMORY;
    struct slot *s = find_slot(r, m, recall, dim);
    if (s == NULL) {
        s = make_slot(m, recall, dim);
        if (s == NULL)
            return BPCN_NO_MEMORY;
        fill_slot(p, k, s, *weighing, team);
    }
    s->users++;
    s->next = r->slots;
    r->slots = s;
    forget_slots(r);
    const struct gram *gram = s->through ? s->masks.mask != NULL ? s->gram : r->all : NULL;
    *ground = (struct ground){r->weights, &r->norms, gram, s->preconditioner, s};
    return BPCN_OK;
}

bpcn_status prepared_enter(struct prepared *p, size_t k, struct masks masks, const struct weighing *weighing,
                           struct team *team, struct ground *ground)
{
    if (!masks.same)
        masks.share = ceil(masks.share * SHARES) / SHARES;
    pthread_mutex_lock(&p->lock);
    bpcn_status status = enter(p, k, masks, weighing, team, ground);
    pthread_mutex_unlock(&p->lock);
    return status;
}

void prepared_leave(struct prepared *p, struct ground *ground)
{
    if (ground->slot == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    ground->slot->users--;
    pthread_mutex_unlock(&p->lock);
    ground->slot = NULL;
}

const struct weights *prepared_weights(struct prepared *p, size_t k, struct team *team)
{
    pthread_mutex_lock(&p->lock);
    make_weights(p, k, team);
    const struct weights *made = p->ready[k].weights;
    pthread_mutex_unlock(&p->lock);
    return made;
}

/* ---- for a writer */

struct gram *prepared_gram(struct prepared *p, size_t k, struct team *team)
{
    struct ready *r = &p->ready[k];
    const struct layer *layer = &p->model->particles[k].layer[0];
    if (r->gram == NULL && !r->no_gram && p->model->options.layers > 0 && gram_pays(layer->above, layer->below))
        r->gram = gram_create(layer, NULL, NULL, team);
    return r->gram;
}

void prepared_refuse_gram(struct prepared *p, size_t k)
{
    struct ready *r = &p->ready[k];
    r->no_gram = r->gram != NULL && r->gram->age < WORTH_KEEPING;
    gram_free(r->gram);
    r->gram = NULL;
}

/* Particles that were replaced by others have theirs, or none. */
static void resample_grams(struct prepared *p, const size_t *sources)
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

void prepared_followed(struct prepared *p, const size_t *sources)
{
    for (size_t k = 0; k < p->particles; k++)
        ready_drop(&p->ready[k]);
    if (sources != NULL)
        resample_grams(p, sources);
    p->written = -1;
}
