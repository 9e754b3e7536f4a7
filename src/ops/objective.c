/* The objectives of reads (compiled per precision). */
#include "objective.h"

#include <math.h>

/* A choice of cost, not of error alone: docs/SOLVER.md. scripts/choose-recall measures others. */
#ifndef RECALL_SENSORY
#define RECALL_SENSORY 0.1
#define RECALL_UPPER 0.1
#endif

static bpcn_objective chosen(const struct model *model, const bpcn_read_options *options)
{
    if (options->objective != BPCN_OBJECTIVE_DEFAULT)
        return options->objective;
    return model->options.minimizer == BPCN_ADAM ? BPCN_OBJECTIVE_PAPER : BPCN_OBJECTIVE_RECALL;
}

/* A read that recalls assumes that its answer was written (docs/MODEL.md). */
static struct weighing recall_weighing(struct prepared *prepared)
{
    return (struct weighing){RECALL_SENSORY, fmax(RECALL_UPPER, sqrt(prepared_share_written(prepared)))};
}

struct read_objective read_objective(const struct model *model, struct prepared *prepared,
                                     const bpcn_read_options *options)
{
    struct read_objective density = {1, the_density, density_tolerance(model)};
    switch (chosen(model, options)) {
    case BPCN_OBJECTIVE_PAPER:
        density.integrated = 0;
        break;
    case BPCN_OBJECTIVE_RECALL:
        if (model->options.layers > 0)
            return (struct read_objective){1, recall_weighing(prepared), recall_tolerance(model)};
        break;
    case BPCN_OBJECTIVE_DEFAULT:
    case BPCN_OBJECTIVE_MARGINAL:
        break;
    }
    return density;
}
