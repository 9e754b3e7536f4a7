/*
 * Rounds after our answer to a noisy query (docs/SOLVER.md): from a start drawn anew Adam finds a code for the answer,
 * and the answer becomes what that code predicts. A start of a ReLU network says which units are on, so every round
 * projects onto another span, and what is not in all of them, noise, gets less.
 */
#include "method.h"

#include <stdlib.h>

/* The noise left in an answer is at most that of the query in as many directions as there are of what was written: an
   answer that moves further has gone elsewhere, and ours stays. */
static void take_near(const struct method *m, const bpcn_read_info *info, size_t n, const float *moved, float *out)
{
    double spanned = (double)(m->written < m->spec.hidden[0] ? m->written : m->spec.hidden[0]);
    for (size_t i = 0; i < n; i++) {
        double square = 0;
        for (size_t j = i * m->dim; j < (i + 1) * m->dim; j++)
            square += ((double)moved[j] - (double)out[j]) * ((double)moved[j] - (double)out[j]);
        for (size_t j = i * m->dim; square <= info[i].noise * info[i].noise * spanned && j < (i + 1) * m->dim; j++)
            out[j] = moved[j];
    }
}

bpcn_status read_rounds(struct method *m, const bpcn_read_info *info, size_t n, float *out)
{
    float *moved = calloc(n, m->dim * sizeof *moved);
    bpcn_status status = moved != NULL ? bpcn_memory_set_minimizer(m->memory, BPCN_ADAM) : BPCN_NO_MEMORY;
    if (status == BPCN_OK) {
        status = bpcn_memory_read(m->memory, out, NULL, n, NULL, moved, NULL);
        bpcn_status back = bpcn_memory_set_minimizer(m->memory, BPCN_LBFGS);
        status = status == BPCN_OK ? back : status;
    }
    if (status == BPCN_OK)
        take_near(m, info, n, moved, out);
    free(moved);
    return status;
}
