/* Answers: rows and their verdicts as JSON, binary floats, an array, a table or a picture. */
#ifndef BPCN_SERVER_ANSWER_H
#define BPCN_SERVER_ANSWER_H

#include "body.h"
#include "worker.h"

struct answer {
    unsigned status;
    const char *type; /* content type */
    char *bytes;      /* NULL: out of memory, or the answer has no body or is in `file` */
    size_t size;
    int file;               /* an open file of `size` bytes to send, -1: none */
    char etag[24];          /* "": the answer may not be kept */
    const char *allow;      /* methods of the path, for 405 and OPTIONS */
    char familiarity[4096]; /* of rows that do not go as JSON, separated by commas; "" for none */
};

void answer_free(struct answer *answer);

/* The rows of a job: of samples and examples without info. named: as objects of columns. seen [rows], or NULL: whether
   each was written. */
void answer_rows(struct answer *answer, const fmt_schema *schema, const struct job *job, bool named, const bool *seen,
                 enum content content);

/* {"info": [...]} of scores, {"written": n, "step": s, "info": [...]} of writes. */
void answer_scores(struct answer *answer, const struct job *job);
void answer_writes(struct answer *answer, const struct job *job);

/* {"names": [...], "first": f, "kept": n, "most": m} of a job's list: at most `number` from the one numbered `first`
   on. */
void answer_names(struct answer *answer, const struct job *job, size_t first, size_t number, size_t most);

/* {"codes": [...], "info": [...]}: codes [rows x code_dim] of a job. */
void answer_codes(struct answer *answer, const struct job *job, size_t code_dim);

/* {"matches": [[{"name", "distance", "log_density", "noise", "shard", "row"}, ...], ...]} of a search */
void answer_matches(struct answer *answer, const struct job *job, size_t dim);

/* {"events": [...]} */
void answer_history(struct answer *answer, const struct worker_event *events, size_t count);

/* {"memories": [{"name", "path"}]} */
void answer_memories(struct answer *answer, const struct server *server);

/* {"NAME": n} */
void answer_count(struct answer *answer, const char *name, uint64_t count);

/* /v1/info */
void answer_info(struct answer *answer, const struct served *served, const struct worker_state *state,
                 const struct settings *settings);

#endif
