/*
 * GPCN's inference as the paper does it, by the library: point weights are a memory whose covariances are nothing,
 * s_l = sx^2 + z U z' = sx^2 to the last bit, and what is left of its read with Adam is GPCN's. In float32, by batches.
 */
#include "gpcn_state.h"

#include "alloc.h"
#include "error.h"
#include "transaction.h"

#include <stdlib.h>
#include <string.h>

static const double nothing = 1e-12; /* of sigma_w: its square is a float, and 1e-20 of sx^2 */

static bpcn_status create_network(struct gpcn *g)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.dim = g->options.dim;
    o.layers = g->options.layers;
    memcpy(o.hidden, g->options.hidden, sizeof o.hidden);
    o.activation = g->options.activation;
    o.sigma_w = nothing;
    o.sigma_x = g->options.sigma_x;
    o.minimizer = BPCN_ADAM;
    o.adam_rate = g->options.adam_rate;
    o.adam_stop = g->options.adam_stop;
    o.adam_steps = g->options.adam_steps;
    o.rounds = g->options.rounds;
    o.threads = g->options.threads;
    o.surprises = 0;
    return bpcn_memory_create(&o, &g->network);
}

/* The network with the present weights; what it draws is drawn anew. */
static bpcn_status renew(struct gpcn *g)
{
    bpcn_status status = g->network == NULL ? create_network(g) : BPCN_OK;
    if (status != BPCN_OK)
        return status;
    struct model *model = g->network->contents.shard[0];
    for (size_t l = 0; l < g->options.layers; l++)
        shard_ops_for(model)->set_mean(&model->particles[0].layer[l], g->weights[l]);
    model->options.seed = (g->options.seed << 32) + ++g->draws;
    return bpcn_memory_set_top(g->network, 0, 0, g->weights[g->options.layers], nothing * nothing);
}

bpcn_status gpcn_paper_infer(struct gpcn *g, const double *x, size_t n, double *codes)
{
    size_t dim = g->width[0], code = g->code_dim;
    float *in = alloc_zeroed(n, dim * sizeof *in), *out = alloc_zeroed(n, code * sizeof *out);
    bpcn_status status = in && out ? renew(g) : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    for (size_t j = 0; status == BPCN_OK && j < n * dim; j++)
        in[j] = (float)x[j];
    if (status == BPCN_OK)
        status = bpcn_memory_infer(g->network, in, NULL, n, NULL, out, NULL);
    for (size_t j = 0; status == BPCN_OK && j < n * code; j++)
        codes[j] = (double)out[j];
    free(in);
    free(out);
    return status;
}

bpcn_status gpcn_paper_read(struct gpcn *g, const float *query, const unsigned char *known, size_t n, float *out)
{
    bpcn_read_info *info = alloc_zeroed(n, sizeof *info);
    bpcn_status status = info ? renew(g) : bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (status == BPCN_OK)
        status = bpcn_memory_read(g->network, query, known, n, NULL, out, info);
    g->evaluations = 0;
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        g->evaluations += (double)info[i].evaluations / (double)n;
    free(info);
    return status;
}
