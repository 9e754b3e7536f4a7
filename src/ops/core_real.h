/* The operations behind core.h's table, in the precision being compiled. */
#ifndef BPCN_CORE_REAL_H
#define BPCN_CORE_REAL_H

#include "core.h"
#include "real.h"

bpcn_status core_write(struct model *model, const void *x, size_t n, size_t block, const struct write_request *request,
                       size_t *written, uint64_t *evaluations);
bpcn_status core_remove(struct model *model, const void *x);
bpcn_status core_repeat_write(struct model *model, const struct change *change);
bpcn_status core_repeat_remove(struct model *model, const struct change *change);
bpcn_status core_read(const struct model *model, const struct read_request *request);
bpcn_status core_energy(const struct model *model, const struct energy_request *request);
bpcn_status core_forget(struct model *model, double beta);
bpcn_status core_sample(const struct model *model, size_t n, uint64_t draw, void *out);

#endif
