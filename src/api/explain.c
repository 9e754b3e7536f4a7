/* Why a row of a table is odd: every entry against what the others say of it. */
#include "checks.h"
#include "forest.h"
#include "precision.h"

#include <math.h>
#include <stdlib.h>

static const double half_log_two_pi = 0.91893853320467274178;

bpcn_status bpcn_memory_explain(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n,
                                double *expected, double *deviation, double *blame)
{
    bpcn_status status = check_input(memory, x, known, n);
    if (status == BPCN_OK && memory->contents.options.kind != BPCN_TABLE)
        return bpcn_fail(BPCN_INVALID, "only a table's memory explains rows column by column");
    if (status == BPCN_OK && n > 0)
        status = check_pointer(expected, "the pointer for what is expected");
    if (status == BPCN_OK && n > 0)
        status = check_pointer(deviation, "the pointer for the deviations");
    if (status == BPCN_OK && n > 0)
        status = check_pointer(blame, "the pointer for the blame");
    if (status != BPCN_OK || n == 0)
        return status;
    const struct scale *scale = &memory->contents.scale;
    const struct model *model = shape_of(memory);
    size_t dim = model->width[0];
    void *copy;
    double *rows = to_real(model, scale, INFINITY, x, known, n, &copy);
    struct team *team = threads_borrow(memory->threads);
    struct forest_query query = {.n = n,
                                 .x = rows,
                                 .known = known,
                                 .expected = expected,
                                 .deviation = deviation,
                                 .log_given = blame};
    int failed = rows == NULL || forest_ask(model->forest, team, &query) != 0;
    threads_return(team);
    for (size_t i = 0; !failed && i < n * dim; i++) {
        if (known != NULL && !known[i])
            continue;
        if (blame[i] != 0)
            blame[i] = fmax(-blame[i] - log(deviation[i]) - half_log_two_pi, 0);
        expected[i] = expected[i] * scale_scale_of(scale, i % dim) + scale_centre_of(scale, i % dim);
        deviation[i] *= scale_scale_of(scale, i % dim);
    }
    free(copy);
    return failed ? out_of_memory() : BPCN_OK;
}
