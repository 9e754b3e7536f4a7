/* The mixture of particles: log p = logsumexp_n (log w_n - E_n). */
#ifndef BPCN_MIXTURE_H
#define BPCN_MIXTURE_H

#include "particle.h"

/* The energy -log p of a batch, its gradients as in particle_evaluate, and the responsibilities
   [n x particles]; each but the energy may be NULL. */
void mixture_evaluate(const struct model *model, const struct batch *batch, struct workspace *work, double *energy,
                      real *grad, real *grad_x0, double *responsibility);

#endif
