/* energy: the read objective and its gradient at given codes (compiled per precision). */
#include "reader.h"

#include <math.h>

bpcn_status core_energy(const struct model *model, const struct energy_request *request)
{
    struct reader r;
    struct read_request read = {
        .query = request->x, .known = request->known, .n = request->n, .options = request->options};
    size_t code = model->code_dim, dim = model->width[0];
    int integrated = objective_of(model, &request->options) != BPCN_OBJECTIVE_PAPER;
    double noise = integrated ? fmax(0, request->options.noise) : 0, extra = noise * noise;
    struct workspace *work = workspace_create(model, 1, request->grad_x != NULL, NULL);
    bpcn_status status = BPCN_NO_MEMORY;
    if (reader_create(&r, model, &read) == 0 && work != NULL) {
        for (size_t i = 0; i < request->n; i++) {
            const unsigned char *const *known = request->known ? r.problem->known + i : NULL;
            struct batch batch = {.n = 1,
                                  .x0 = r.problem->x0 + i,
                                  .known = known,
                                  .count = r.problem->count + i,
                                  .extra = &extra,
                                  .h = (const real *)request->codes + i * code,
                                  .weighing = r.problem->weighing};
            mixture_evaluate(model, &batch, work, &request->energy[i],
                             request->grad ? (real *)request->grad + i * code : NULL,
                             request->grad_x ? (real *)request->grad_x + i * dim : NULL, NULL);
        }
        status = BPCN_OK;
    }
    workspace_free(work);
    reader_free(&r);
    return status;
}
