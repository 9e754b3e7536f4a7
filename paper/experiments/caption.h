/* What stands beside figures: how their rows were made, and what was measured where they are above the paper's. */
#ifndef EXPERIMENTS_CAPTION_H
#define EXPERIMENTS_CAPTION_H

#include "summary.h"

/* Of all cells there are of the rows with a label. */
struct facts {
    size_t cells, vouched, stale, untold;
    size_t least_queries, most_queries, least_seeds, most_seeds; /* seeds: of a figure */
};

/* dataset, label: NULL for all. */
struct facts facts_of(const struct job_list *list, const struct plan *plan, const char *experiment, const char *dataset,
                      const char *label);

/* Whether no earlier row of the experiment has the same label. */
int first_of_label(const struct plan *plan, size_t table, size_t row);

/* "1024x3 gelu, N 1, 128 queries, 3 seeds": what the method is, and the facts that are the same for no other row. */
void row_caption(const struct row *row, const struct facts *facts, char *text, size_t room);

/* ", 128 queries, 1 to 3 seeds", or less. */
void facts_text(const struct facts *facts, char *text, size_t room);

/* "0.0 % of the reads end above the stored code; mhn is the same as the paper's: 0.0000", or less, or nothing. */
void reason_text(const struct job_list *list, const struct plan *plan, const struct table *table, size_t row,
                 size_t column, char *text, size_t room);

/* "12 of 40 cells are stale (°): 10 do not say how they were made, 2 are older than what they depend on". */
void stale_text(const struct facts *facts, char *text, size_t room);

/* Who made the cells of an experiment: one line each, at most `room` of them; how many there are. */
struct maker {
    struct made made;
    size_t cells;
};
size_t makers_of(const struct job_list *list, const struct plan *plan, const char *experiment, struct maker *maker,
                 size_t room);

#endif
