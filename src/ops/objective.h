/* What a read minimises: the one place that knows the objectives of the public header. */
#ifndef BPCN_OBJECTIVE_H
#define BPCN_OBJECTIVE_H

#include "infer.h"
#include "prepared.h"

struct read_objective {
    int integrated; /* unknown entries are integrated out, and the known ones may be noisy; else unknown entries
                       are maximised over, and an auto-associative read goes in rounds */
    struct weighing weighing; /* of the energy searched; the density is reported in any case */
    double tolerance;         /* of the search */
};

struct read_objective read_objective(const struct model *model, struct prepared *prepared,
                                     const bpcn_read_options *options);

#endif
