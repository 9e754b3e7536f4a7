/* Where inference starts. */
#ifndef BPCN_START_H
#define BPCN_START_H

#include "rows.h"

/* code [code_dim]: the paper's start, entries of layer l ~ N(0, 1 / width of l). The stream says
   which draw (random.h). */
void start_random(const struct model *model, uint64_t stream, real *code);

/* code [code_dim]: x_L = the top's mean, x_l = f(x_{l+1}) mean_l, with ReLU's slope below zero at
   `leak`. No randomness. */
void start_top_down(const struct model *model, const struct particle *particle, double leak, struct workspace *work,
                    real *code);

/* z U z' of the sensory layer that every code of the size of this one has at least: as much for its size as the
   top-down code, whose direction every write confirms. That is what forgetting has given back in all directions. */
double faded_leverage(struct rows *rows, const struct particle *particle, const real *code);

#endif
