/* Scores of rows as a CSV file: row, log_density, familiarity, verdict, typicality, and alarm where asked for. */
#ifndef BPCN_CLI_SCORES_H
#define BPCN_CLI_SCORES_H

#include "bayespcn.h"
#include "formats/formats.h"
#include "say.h"

struct scores;

/* To a path ("-": standard output); NULL after a message. alarm: the typicality up to which a row is one; negative: no
   such column. */
struct scores *scores_open(const struct say *say, const char *path, double alarm);

/* Of the row with that number, counted from 0 over all inputs; a typicality below 0 is not known, and left empty. 0, or
 * an exit status after a message. */
int scores_add(struct scores *scores, size_t row, const bpcn_read_info *info, double typicality);

/* Keeps the file, or leaves what was there; frees. NULL is fine. 0, or an exit status after a message. */
int scores_close(struct scores *scores, bool keep);

#endif
