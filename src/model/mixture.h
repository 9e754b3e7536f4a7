/* The mixture of particles: log p = logsumexp_n (log w_n - E_n). */
#ifndef BPCN_MIXTURE_H
#define BPCN_MIXTURE_H

#include "particle.h"

/* -log p of a batch, its gradients as in particle_evaluate, and the responsibilities [n x particles]; each but the
   values may be NULL. The particle of `energy` is not looked at. Particles that cannot have a share in a row, by the
   floors of their energies, are not evaluated for it. */
void mixture_evaluate(const struct energy *energy, const struct batch *batch, struct workspace *work, double *values,
                      real *grad, real *grad_x0, double *responsibility);

#endif
