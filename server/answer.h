/* What goes back: rows and what is known of them, as JSON, octets, an array or a picture. */
#ifndef BPCN_SERVER_ANSWER_H
#define BPCN_SERVER_ANSWER_H

#include "body.h"
#include "engine.h"

struct answer {
    unsigned status;
    const char *type; /* content type */
    char *bytes;      /* to be freed; NULL: out of memory */
    size_t size;
    char familiarity[4096]; /* of rows that do not go as JSON, separated by commas; "" for none */
};

/* The rows of a job: of samples and examples without info. named: as objects of columns. */
void answer_rows(struct answer *answer, const fmt_schema *schema, const struct job *job, bool named,
                 enum content content);

/* {"info": [...]} of scores, {"written": n, "info": [...]} of writes. */
void answer_scores(struct answer *answer, const struct job *job);
void answer_writes(struct answer *answer, const struct job *job);

/* {"names": [...], "first": f, "kept": n, "most": m} of a job's list: at most `number` from the one numbered `first`
 * on. */
void answer_names(struct answer *answer, const struct job *job, size_t first, size_t number, size_t most);

/* {"NAME": n} */
void answer_count(struct answer *answer, const char *name, uint64_t count);

/* /v1/info */
void answer_info(struct answer *answer, const struct memfile *file, const struct state *state,
                 const struct settings *settings, size_t examples);

#endif
