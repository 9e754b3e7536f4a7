/* Where inference starts. */
#ifndef BPCN_START_H
#define BPCN_START_H

#include "particle.h"

/* code [code_dim]: the paper's start, entries of layer l ~ N(0, 1 / width of l). The stream says
   which draw (random.h). */
void start_random(const struct model *model, uint64_t stream, real *code);

/* code [code_dim]: x_L = the top's mean, x_l = f(x_{l+1}) mean_l, with ReLU's slope below zero at
   `leak`. No randomness. */
void start_top_down(const struct model *model, const struct particle *particle, double leak, struct workspace *work,
                    real *code);

#endif
