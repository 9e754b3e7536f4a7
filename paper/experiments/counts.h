/* What there is and how much of it agrees with the paper, counted from the cells. */
#ifndef EXPERIMENTS_COUNTS_H
#define EXPERIMENTS_COUNTS_H

#include "summary.h"

#include <stdio.h>

/* Whether a figure agrees with the paper's, which is printed to four digits behind the point: within 10 %, or two of
   the paper's deviations, of a number that has these digits. */
int agrees(double ours, double paper, double paper_deviation);

/* Of an experiment on a dataset: figures (places of its tables) and the cells of all seeds that they are the means of.
 */
struct tally {
    size_t figures, figures_planned, cells, cells_planned;
};
struct tally tally_of(const struct job_list *list, const struct plan *plan, const char *experiment,
                      const char *dataset);

/* Methods that are reproduced. */
enum method_of_paper { PAPER_BAYESPCN, PAPER_GPCN_OFFLINE, PAPER_GPCN_ONLINE, PAPER_MHN, PAPER_METHODS };

/* Figures of the paper that rows of a method as the paper does it are beside. Of several rows for one figure the one
   with the least error counts, as the paper takes the best of its models. */
struct agreement {
    size_t planned, there, agree;
    size_t other[ABOVE + 1];             /* [relation] of those that are there and do not agree */
    size_t above_zero, above_zero_agree; /* of those there: the paper has more than 0.0001 */
    size_t agree_one_seed, agree_marked; /* of those that agree: of one seed; marked as below or above */
    size_t told, told_agree;             /* of those there: the paper gives a deviation */
    size_t by_seeds; /* of those that do not agree: it gives none, and they are within two of our own seeds' */
};
struct agreement agreement_of(const struct job_list *list, const struct plan *plan, const char *experiment,
                              const char *dataset, enum method_of_paper method);

/* Both as a table. */
void counts_markdown(FILE *file, const struct job_list *list, const struct plan *plan);

/* The figures that do not agree, with what was measured there. */
void exceptions_markdown(FILE *file, const struct job_list *list, const struct plan *plan);

/* Puts them into OUT/README.md between the lines "<!-- counted -->" and "<!-- end -->", where it has those. */
int counts_readme(const struct job_list *list, const struct plan *plan, struct failure *failure);

#endif
