/* How familiar a row is, and in a word: the one place where that is decided (docs/MODEL.md has the reasons). */
#ifndef BPCN_FAMILIARITY_H
#define BPCN_FAMILIARITY_H

#include "model.h"

/* What is known of a row at the code that was found for it. */
struct evidence {
    double squares;  /* |e_0|^2 over the known entries */
    double power;    /* |x_0|^2 over the same: what no code at all would leave */
    double variance; /* s_0 */
    double faded;    /* of s_0: what forgetting gave back in all directions; 0 where s_0 is small anyway */
    double known;    /* entries */
    double noise;    /* variance of the noise that the caller says they carry */
    double pattern;  /* what is left is no white noise: deviations by which it is not (serial_pattern), 0: not asked */
    double sensory;  /* a: how the energy minimised weighs s_0 */
    double written;  /* share of the directions of layer 1 that were written to */
    int whole;       /* the row itself was given, nothing hidden and no noise: it is no blend of others by chance */
};

struct judgement {
    double familiarity;
    bpcn_verdict verdict;
};

/* Whether s_0 is more than one written row can have, so that it matters what of it has faded. */
int much_open(const struct model *model, double variance);

struct judgement judge(const struct model *model, const struct evidence *evidence);

/* Ljung and Box's test of whether a series [n] is white: by how many standard deviations its autocorrelations are too
   large. About 0 or below for noise. */
double serial_pattern(size_t n, const double *series);

#endif
