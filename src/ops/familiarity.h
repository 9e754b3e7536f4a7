/* Familiarity: how likely it is that a row was written before, and in a word. Decided here and nowhere else;
   docs/MODEL.md, Familiarity, has the reasons and the measurements. A file of its own because it does not depend on the
   precision: it works on the summary that a read or a write makes of a row. */
#ifndef BPCN_FAMILIARITY_H
#define BPCN_FAMILIARITY_H

#include "network.h"
#include "symbols.h"

/* What is known of a row at the code that was found for it. */
struct evidence {
    double squares;  /* |e_0|^2 over the known entries */
    double power;    /* |x_0|^2 over the same entries: the residual without any code */
    double variance; /* s_0 = sx^2 + q, q = z U z' */
    double faded;    /* f: the part of q that forgetting gave back in all directions; 0 where s_0 is small anyway */
    double known;    /* number of known entries */
    double noise;    /* t^2: variance of the noise that the caller says they carry */
    double pattern;  /* familiarity_pattern of the residuals; 0: not computed */
    double sensory;  /* a: weight of s_0 in the energy that was minimised */
    double written;  /* share of the directions of layer 1 that were written to */
    int whole;       /* 1: every entry is known and no noise is given, so the answer cannot be a blend by chance */
};

struct judgement {
    double familiarity; /* 0 .. 1, 0.5 is the border */
    bpcn_verdict verdict;
};

struct judgement familiarity_judge(const struct model *model, const struct evidence *evidence);

/* Whether s_0 is larger than one written row can have, so that evidence.faded matters. */
int familiarity_needs_faded(const struct model *model, double variance);

/* Ljung and Box's test of whether a series [n] is white noise: by how many standard deviations its autocorrelations are
   too large. About 0 or below for white noise. */
double familiarity_pattern(size_t n, const double *series);

#endif
