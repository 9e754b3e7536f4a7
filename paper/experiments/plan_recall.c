/* Recall and what stands beside it: heavier corruption, and the search for the memory's shape. */
#include "plan_tables.h"

#include <stdio.h>
#include <string.h>

/* rates: of the Hopfield network, and of the paper's with what it calls a dot product; see baselines.h */
static void add_simple(struct table *t, const char *paper_table, double rate, double paper_rate)
{
    struct method_spec euclidean = network_of(METHOD_MHN, 1, 1), dot, papers;
    euclidean.rate = rate;
    dot = papers = euclidean;
    dot.metric = MHN_DOT;
    papers.metric = MHN_PAPER_DOT;
    papers.rate = paper_rate;
    add_row(t, "identity", network_of(METHOD_IDENTITY, 1, 1), paper_table, "Identity");
    add_row(t, "nearest", network_of(METHOD_NEAREST, 1, 1), "", "");
    add_row(t, "mhn", euclidean, paper_table, "MHN");
    add_row(t, "mhn (the paper's dot)", papers, paper_table, "MHN");
    add_row(t, "mhn (true dot product)", dot, paper_table, "MHN");
}

/* GPCN trained on all images with momentum, scored on its way, for sequences of least to most images. */
static void add_offline(struct table *t, size_t width, bpcn_activation activation, size_t iterations, size_t every,
                        size_t least, size_t most)
{
    struct method_spec offline = network_of(METHOD_GPCN_OFFLINE, width, 3);
    char label[64];
    offline.activation = activation;
    offline.iterations = iterations;
    offline.checkpoint = every;
    offline.momentum = 0.9;
    snprintf(label, sizeof label, "gpcn offline, %zux3 %s, %zu steps, best version", width,
             bpcn_activation_name(activation), iterations);
    struct row *r = add_row(t, label, offline, "recall", "GPCN (offline)");
    r->least = least;
    r->most = most;
}

/* GPCN in the shapes and by the minimisers that serve it: labels say which. Offline with ReLU it holds half as many
   images as it has units, and leaves little of white noise, on CIFAR-10 less where it is narrower; with GELU it holds
   as many as units, those of CIFAR-10 only after many steps (results/notes.md). */
static void add_gpcn(struct table *t, const struct sizes *z)
{
    int cifar = strcmp(t->dataset, "cifar10") == 0;
    struct method_spec online = network_of(METHOD_GPCN_ONLINE, z->wide, 3);
    char label[64];
    online.minimizer = BPCN_ADAM;
    add_offline(t, z->narrow, BPCN_RELU, z->few_steps, z->best_every / 2, z->lengths[0], z->lengths[0]);
    add_offline(t, z->middle, BPCN_RELU, z->few_steps, z->best_every / 2, z->lengths[1], z->lengths[cifar ? 2 : 1]);
    add_offline(t, z->wide, BPCN_RELU, z->few_steps, z->best_every, z->lengths[2], z->lengths[2]);
    add_offline(t, z->wide, BPCN_GELU, cifar ? z->many_steps : z->few_steps, z->best_every, z->sequence, z->sequence);
    snprintf(label, sizeof label, "gpcn online, %zux3, as the paper does it", z->wide);
    add_row(t, label, online, "recall", "GPCN (online)");
    snprintf(label, sizeof label, "gpcn online, %zux3, our minimiser", z->narrow);
    add_row(t, label, network_of(METHOD_GPCN_ONLINE, z->narrow, 3), "recall", "GPCN (online)");
}

static int has_row(const struct table *t, const struct method_spec *spec, bpcn_objective objective)
{
    char wanted[KEY_ROOM], key[KEY_ROOM];
    method_key(spec, wanted, sizeof wanted);
    for (size_t r = 0; r < t->rows; r++) {
        method_key(&t->row[r].spec, key, sizeof key);
        if (t->row[r].objective == objective && strcmp(key, wanted) == 0)
            return 1;
    }
    return 0;
}

/* What the search found best on the dataset, where no row has it already. */
static void add_best(struct table *t, const struct best_rows *best)
{
    for (size_t k = 0; best != NULL && k < best->count; k++) {
        const struct row *r = &best->item[k].row;
        char label[64];
        if (strcmp(best->item[k].dataset, t->dataset) != 0 || has_row(t, &r->spec, r->objective))
            continue;
        snprintf(label, sizeof label, "best of search: %.47s", r->label);
        add_row(t, label, r->spec, "recall", "BayesPCN")->objective = r->objective;
    }
}

int plan_recall(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "recall", dataset, moderate_tasks[k], z->columns, z->lengths);
        if (t == NULL)
            return -1;
        struct method_spec memory = network_of(METHOD_BAYESPCN, z->wide, 3),
                           small = network_of(METHOD_BAYESPCN, z->narrow, 3);
        char label[64];
        add_simple(t, "recall", 1, 1);
        add_gpcn(t, z);
        snprintf(label, sizeof label, "bayespcn, %zux3 gelu", z->narrow);
        add_as_paper(t, label, small, "recall", "BayesPCN");
        small.activation = BPCN_RELU;
        small.particles = 4;
        snprintf(label, sizeof label, "bayespcn, %zux3 relu, N = 4", z->narrow);
        add_as_paper(t, label, small, "recall", "BayesPCN");
        if (k == 0) { /* what is known for sure needs no rounds */
            snprintf(label, sizeof label, "bayespcn, %zux3 relu, N = 4, and rounds", z->narrow);
            small.rounds = 15;
            add_row(t, label, small, "recall", "BayesPCN");
        }
        add_all_three(t, "bayespcn", memory, "recall", "BayesPCN");
        if (k == 0)
            add_row(t, "bayespcn, against paper L4 GELU", memory, "depth", "BayesPCN L4");
        add_both(t, "bayespcn+forget", forgetting(memory, z, 0.001), "recall", "BayesPCN (forget)");
        add_best(t, p->best);
    }
    return 0;
}

int plan_high_noise(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "high-noise", dataset, severe_tasks[k], z->columns, z->short_lengths);
        if (t == NULL)
            return -1;
        add_simple(t, "high-noise", HIGH_NOISE_RATE, HIGH_NOISE_PAPER_RATE);
        add_all_three(t, "bayespcn", network_of(METHOD_BAYESPCN, z->narrow, 3), "high-noise", "BayesPCN");
    }
    return 0;
}

/* The shapes, activations and numbers of particles that the paper chose from, by its method and by ours. */
int plan_search(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    const size_t widths[] = {z->narrow, z->middle, z->wide}, lengths[] = {z->lengths[0], z->lengths[z->columns / 2]};
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "search", dataset, moderate_tasks[k], 2, lengths);
        if (t == NULL)
            return -1;
        t->queries = COMPARED_QUERIES / 2;
        t->seeds = 1;
        for (size_t at = 0; at < 12; at++) {
            char label[40];
            struct method_spec s = network_of(METHOD_BAYESPCN, widths[at / 4], 3);
            s.activation = at / 2 % 2 ? BPCN_RELU : BPCN_GELU;
            s.particles = at % 2 ? 4 : 1;
            snprintf(label, sizeof label, "%zux3 %s, N = %zu", s.hidden[0], bpcn_activation_name(s.activation),
                     s.particles);
            add_both(t, label, s, "recall", "BayesPCN");
        }
    }
    return 0;
}
