/* The paper's other tables and figures. */
#include "plan_tables.h"

#include <stdio.h>

static const struct {
    const char *label, *paper;
    size_t layers;
} depths[] = {{"L2", "BayesPCN L2", 1}, {"L4", "BayesPCN L4", 3}, {"L8", "BayesPCN L8", 7}};

int plan_depth(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "depth", dataset, moderate_tasks[k], z->columns, z->lengths);
        if (t == NULL)
            return -1;
        for (size_t d = 0; d < 3; d++) {
            char label[40];
            snprintf(label, sizeof label, "bayespcn %s", depths[d].label);
            add_both(t, label, network_of(METHOD_BAYESPCN, z->wide, depths[d].layers), "depth", depths[d].paper);
        }
    }
    return 0;
}

int plan_sigma(struct plan *p, const char *dataset)
{
    static const double weights[] = {0.5, 1, 5}, noises[] = {0.05, 0.01, 0.005};
    const struct sizes *z = &sizes_of[p->tier];
    size_t columns = p->tier == TIER_PAPER ? 7 : 2, lengths[7];
    for (size_t c = 0; c < 7; c++)
        lengths[c] = (p->tier == TIER_PAPER ? 16u : 8u) << c;
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "sigma", dataset, moderate_tasks[k], columns, lengths);
        if (t == NULL)
            return -1;
        for (size_t at = 0; at < 9; at++) {
            char label[64], paper[32];
            struct method_spec s = network_of(METHOD_BAYESPCN, z->wide, 3);
            s.sigma_w = weights[at / 3];
            s.sigma_x = noises[at % 3];
            snprintf(label, sizeof label, "sigma_w %g, sigma_x %g", s.sigma_w, s.sigma_x);
            snprintf(paper, sizeof paper, "%.1f %g", s.sigma_w, s.sigma_x);
            add_both(t, label, s, "sigma", paper);
        }
    }
    return 0;
}

int plan_forget(struct plan *p, const char *dataset)
{
    static const double betas[] = {0, 0.001, 0.002, 0.005, 0.01, 0.02};
    const struct sizes *z = &sizes_of[p->tier];
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "forget", dataset, moderate_tasks[k], 1, &z->sequence);
        if (t == NULL)
            return -1;
        for (size_t b = 0; b < 6; b++) {
            char label[40];
            struct method_spec s = network_of(METHOD_BAYESPCN, z->wide, 3);
            snprintf(label, sizeof label, "beta %g", betas[b]);
            s = betas[b] > 0 ? forgetting(s, z, betas[b]) : s;
            add_both(t, label, s, "", "");
        }
    }
    return 0;
}

int plan_scaling(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    const size_t widths[] = {z->narrow, z->middle, z->wide};
    for (size_t k = 0; k < 3; k++) {
        struct table *t = add_table(p, "scaling", dataset, moderate_tasks[k], z->columns, z->lengths);
        if (t == NULL)
            return -1;
        t->measure = "accuracy";
        for (size_t at = 0; at < 9; at++) {
            char label[40];
            size_t width = widths[at % 3], layers = depths[at / 3].layers;
            snprintf(label, sizeof label, "width %zu, %s", width, depths[at / 3].label);
            add_row(t, label, network_of(METHOD_BAYESPCN, width, layers), "", "");
            if (width == z->wide) /* cells that depth has */
                add_as_paper(t, label, network_of(METHOD_BAYESPCN, width, layers), "", "");
        }
    }
    return 0;
}

/* ---- the figures with pictures: tables whose cells hold several numbers */

static struct table *add_picture(struct plan *p, const char *experiment, const char *dataset, enum cell_kind kind,
                                 size_t columns, const size_t *lengths)
{
    struct table *t = add_table(p, experiment, dataset, "white0.2", columns, lengths);
    if (t == NULL)
        return NULL;
    t->kind = kind;
    t->seeds = kind == CELL_SAMPLES ? 0 : 1;
    snprintf(t->title, sizeof t->title, "%s", dataset);
    return t;
}

static int plan_picture(struct plan *p, const char *experiment, const char *dataset, enum cell_kind kind,
                        size_t columns, const size_t *lengths)
{
    const struct sizes *z = &sizes_of[p->tier];
    struct table *t = add_picture(p, experiment, dataset, kind, columns, lengths);
    if (t == NULL)
        return -1;
    add_row(t, "bayespcn", network_of(METHOD_BAYESPCN, z->wide, 3), "", "");
    if (kind == CELL_SAMPLES) {
        struct method_spec gpcn = network_of(METHOD_GPCN_OFFLINE, z->narrow, 3);
        gpcn.iterations = z->offline_iterations;
        add_row(t, "gpcn (offline)", gpcn, "", "")->most = z->offline_most;
    }
    return 0;
}

int plan_oneshot(struct plan *p, const char *dataset)
{
    size_t length = p->tier == TIER_PAPER ? 193 : 25; /* the image itself and what comes after */
    return plan_picture(p, "oneshot", dataset, CELL_ONESHOT, 1, &length);
}

int plan_recalled(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    return plan_picture(p, "recalled", dataset, CELL_RECALLED, z->columns, z->lengths);
}

/* The Hopfield network by both of its metrics, and the memory of high-noise. */
int plan_metric(struct plan *p, const char *dataset)
{
    const struct sizes *z = &sizes_of[p->tier];
    struct method_spec euclidean = network_of(METHOD_MHN, 1, 1), papers,
                       memory = network_of(METHOD_BAYESPCN, z->narrow, 3);
    struct table *t = add_picture(p, "metric", dataset, CELL_METRIC, 1, &z->short_lengths[z->columns - 1]);
    if (t == NULL)
        return -1;
    papers = euclidean;
    euclidean.rate = HIGH_NOISE_RATE;
    papers.metric = MHN_PAPER_DOT;
    papers.rate = HIGH_NOISE_PAPER_RATE;
    add_row(t, "mhn (the paper's dot)", papers, "", "");
    add_row(t, "mhn", euclidean, "", "");
    add_both(t, "bayespcn", memory, "", "");
    return 0;
}

int plan_samples(struct plan *p, const char *dataset)
{
    static const size_t lengths[][3] = {[TIER_QUICK] = {4, 16, 32}, [TIER_PAPER] = {4, 256, 1024}};
    return plan_picture(p, "samples", dataset, CELL_SAMPLES, 3, lengths[p->tier]);
}

int plan_generalization(struct plan *p, const char *dataset)
{
    static const size_t lengths[] = {2, 8, 32, 128, 512};
    return plan_picture(p, "generalization", dataset, CELL_GENERALIZATION, p->tier == TIER_PAPER ? 5 : 3, lengths);
}
