/* Reads of whole rows, rows with gaps, and scores. */
#include "asking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are not known under noise may be known just as they stand: then that is the answer. Where the noise was
   given, those that have less of it. */
static bpcn_status ask_again(const struct memfile *file, const struct asking *how, const float *queries, size_t rows,
                             float *answers, bpcn_read_info *info)
{
    size_t dim = file->remark.fields.dim, bytes = dim * sizeof *answers, count = 0, at[ASK_MOST];
    bpcn_read_info exact[ASK_MOST];
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.noise = 0;
    o.shards = how->shards;
    for (size_t i = 0; i < rows; i++)
        if (info[i].verdict == BPCN_CANNOT_TELL || (how->noise < 0 && info[i].verdict != BPCN_KNOWN))
            at[count++] = i;
    if (count == 0)
        return BPCN_OK;
    float *x = malloc(count * bytes);
    unsigned char *known = malloc(count * dim);
    for (size_t i = 0; x != NULL && i < count; i++)
        memcpy(x + i * dim, queries + at[i] * dim, bytes);
    if (known != NULL)
        memset(known, 1, count * dim);
    bpcn_status status = x && known ? memfile_read(file, x, known, count, &o, x, exact) : BPCN_NO_MEMORY;
    for (size_t i = 0; i < count && status == BPCN_OK; i++) {
        if (exact[i].verdict != BPCN_KNOWN)
            continue;
        info[at[i]] = exact[i];
        if (answers != NULL)
            memcpy(answers + at[i] * dim, x + i * dim, bytes);
        if (how->spread != NULL)
            memset(how->spread + at[i] * dim, 0, bytes);
    }
    free(x);
    free(known);
    return status;
}

static bpcn_status ask_some(const struct memfile *file, const struct asking *how, const float *x,
                            const unsigned char *known, size_t n, float *answers, bpcn_read_info *info)
{
    size_t dim = file->remark.fields.dim;
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.shards = how->shards;
    o.spread = how->spread;
    o.trace = how->trace;
    o.trace_room = how->trace != NULL ? TRACE_MOST : 0;
    /* a whole row to be scored is meant as it stands; one to be read may be noisy */
    bool masked = known != NULL || (how->score && how->noise < 0);
    unsigned char *all = masked && known == NULL ? malloc(n * dim) : NULL;
    if (masked && known == NULL) {
        if (all == NULL)
            return BPCN_NO_MEMORY;
        known = memset(all, 1, n * dim);
    }
    if (masked && fmt_schema_is_table(&file->remark.fields))
        o.objective = BPCN_OBJECTIVE_MARGINAL;           /* rows to come are likelier asked for than rows that were */
    o.noise = masked ? fmax(0, how->noise) : how->noise; /* what is said to be known is known */
    bpcn_status status = memfile_read(file, x, known, n, &o, answers, info);
    free(all);
    double factor = bpcn_trials_factor(&file->remark.trials);
    for (size_t j = 0; how->spread != NULL && status == BPCN_OK && j < n * dim; j++)
        how->spread[j] = (float)(factor * (double)how->spread[j]);
    if (status == BPCN_OK && !masked && how->noise != 0)
        status = ask_again(file, how, x, n, answers, info);
    return status;
}

bpcn_status ask(const struct memfile *file, const struct asking *how, const float *x, const unsigned char *known,
                size_t n, float *answers, bpcn_read_info *info)
{
    size_t dim = file->remark.fields.dim;
    bpcn_status status = BPCN_OK;
    for (size_t at = 0; at < n && status == BPCN_OK; at += ASK_MOST) {
        struct asking some = *how;
        some.trace = how->trace != NULL ? how->trace + at * TRACE_MOST : NULL;
        some.spread = how->spread != NULL ? how->spread + at * dim : NULL;
        status = ask_some(file, &some, x + at * dim, known ? known + at * dim : NULL,
                          n - at < ASK_MOST ? n - at : ASK_MOST, answers ? answers + at * dim : NULL, info + at);
    }
    return status;
}
