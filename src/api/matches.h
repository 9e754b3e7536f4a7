/* The verdict by comparison, which shares its candidates with the search for the k best answers. */
#ifndef BPCN_MATCHES_H
#define BPCN_MATCHES_H

#include "routing.h"
#include "symbols.h"

/* Of a read that was answered: rows that are not known become near copies where one of the rows written explains them so
   much better than the next that it is no accident (copies.h), and the answer is that row. Needs the names that answers
   have (name_answers), and adds those of near copies. */
bpcn_status compare_answers(const bpcn_memory *memory, struct team *team, const struct read_request *request,
                            bpcn_read_info *info);

#endif
