/* bpcn create --like TABLE.csv: what a row is, from a table, and what the command line says of its columns. */
#ifndef BPCN_CLI_LIKE_H
#define BPCN_CLI_LIKE_H

#include "args.h"
#include "fields.h"

struct like {
    const char *path; /* --like; NULL: not given */
    fmt_wish *wishes; /* --column and --ignore */
    char **names;     /* [wish_count] that they point to */
    size_t wish_count;
    fmt_words missing; /* --missing */
    fmt_inference found;
};

extern const struct option like_option_list[];

/* Takes the option c if it is one of them; false otherwise. */
bool like_option(struct args *a, int c, struct like *like);

/* Looks at the table; 0, or an exit status after a message. */
int like_infer(const struct say *say, struct like *like);

/* What was found, as lines or (json) as members of an object. */
void like_tell(const struct say *say, const struct like *like);
void like_free(struct like *like);

#endif
