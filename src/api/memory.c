/*
 * The public handle: checks arguments, turns float rows into the model's precision, calls the
 * operation, and puts failures into words. No arithmetic of the model happens here.
 */
#include "alloc.h"
#include "checks.h"
#include "matches.h"
#include "error.h"
#include "network.h"
#include "names.h"
#include "options.h"
#include "precision.h"
#include "routing.h"
#include "abi.h"
#include "store.h"
#include "threads.h"
#include "transaction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bpcn_status bpcn_memory_create(const bpcn_options *options, bpcn_memory **memory)
{
    bpcn_options checked;
    if (memory == NULL)
        return bpcn_fail(BPCN_INVALID, "the pointer for the new memory is NULL");
    *memory = NULL;
    bpcn_status status = options_check(options, &checked);
    if (status == BPCN_OK)
        status = check_fits(&checked);
    if (status != BPCN_OK)
        return status;
    struct contents contents;
    return contents_create_empty(&contents, &checked) == 0 ? handle_create(&contents, NULL, memory) : out_of_memory();
}

/* ---- read */

static double real_at(const struct model *model, const void *x, size_t i)
{
    return model->options.precision == BPCN_FLOAT64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* Answers and spreads in the caller's units. What came back as it was asked is the query's own entry, to the bit. */
static void scale_answers(const bpcn_memory *m, const float *x, const struct read_request *request, float *out)
{
    const struct scale *scale = &m->contents.scale;
    for (size_t i = 0; i < request->n * scale->dim; i++) {
        double value = real_at(shape_of(m), request->answers, i);
        int same = request->known != NULL && request->known[i] && value == real_at(shape_of(m), request->query, i);
        out[i] = same ? x[i] : (float)scale_out(scale, i % scale->dim, value);
        if (request->spread != NULL)
            request->spread[i] *= (float)scale_scale_of(scale, i % scale->dim);
    }
}

static void scale_info(const struct scale *scale, size_t n, bpcn_read_info *info)
{
    for (size_t i = 0; i < n && scale->unit != 1; i++) {
        info[i].noise *= scale->unit;
        info[i].residual *= scale->unit;
        info[i].variance *= scale->unit * scale->unit;
    }
}

/* answers or codes are what is wanted of the read; neither: the densities alone. */
static bpcn_status read_memory(const bpcn_memory *m, const float *x, const unsigned char *known, size_t n,
                               const bpcn_read_options *options, float *answers, float *codes, bpcn_read_info *info)
{
    int scored = answers == NULL && codes == NULL;
    const struct model *model = shape_of(m);
    size_t dim = model->width[0], entries = n * (answers ? dim : model->code_dim);
    const struct scale *scale = &m->contents.scale;
    struct read_request request = {.known = known, .n = n, .info = info};
    void *copy = NULL, *room = NULL, *out = NULL;
    bpcn_status status = read_options_check(m->contents.options.minimizer, options, &request.options);
    if (status == BPCN_OK && m->contents.options.kind == BPCN_TABLE && request.options.noise > 0)
        return bpcn_fail(BPCN_INVALID, "a table's memory takes what is known as exact: noise must be 0");
    if (status == BPCN_OK)
        status = check_far(scale, (double)LARGEST, x, known, n);
    if (status != BPCN_OK || n == 0)
        return status;
    request.options.noise /= scale->unit;
    request.query = to_real(model, scale, INFINITY, x, known, n, &copy);
    if (!scored && answers != NULL && scale->pairs > 0)
        out = room = alloc_zeroed(entries, real_size(model)); /* `answers` may be x, whose known entries come back */
    else if (!scored)
        out = room_real(model, answers ? answers : codes, entries, &room);
    *(answers ? &request.answers : &request.codes) = out;
    request.spread = answers ? request.options.spread : NULL;
    for (size_t j = 0; request.options.trace != NULL && j < n * request.options.trace_room; j++)
        request.options.trace[j] = NAN;
    if (request.query == NULL || (!scored && out == NULL))
        status = BPCN_NO_MEMORY;
    else {
        struct team *team = handle_begin(m, n);
        status = (scored ? routing_read_and_next : routing_read)(m, team, &request);
        if (status == BPCN_OK && answers != NULL && info != NULL)
            name_answers(m, &request, info);
        if (status == BPCN_OK && answers != NULL && info != NULL)
            status = compare_answers(m, team, &request, info);
        handle_end(team);
    }
    if (status == BPCN_OK && answers != NULL && scale->pairs > 0)
        scale_answers(m, x, &request, answers);
    else if (status == BPCN_OK)
        from_real(room, answers ? answers : codes, entries);
    if (status == BPCN_OK && info != NULL)
        scale_info(scale, n, info);
    free(copy);
    free(room);
    if (status == BPCN_NO_MEMORY)
        return out_of_memory();
    if (status == BPCN_NUMERIC)
        return bpcn_fail(status, "a query is too large: its energy is not finite");
    return status;
}

bpcn_status bpcn_memory_read(const bpcn_memory *memory, const float *query, const unsigned char *known, size_t n,
                             const bpcn_read_options *options, float *out, bpcn_read_info *info)
{
    bpcn_status status = check_input(memory, query, known, n);
    if (status == BPCN_OK && n > 0)
        status = check_pointer(out, "the pointer for the answers");
    if (status == BPCN_OK && known == NULL && memory->contents.options.kind == BPCN_TABLE)
        return bpcn_fail(BPCN_INVALID, "a table's memory fills what rows lack: the read must say which entries are known");
    return status == BPCN_OK ? read_memory(memory, query, known, n, options, out, NULL, info) : status;
}

bpcn_status bpcn_memory_infer(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n,
                              const bpcn_read_options *options, float *codes, bpcn_read_info *info)
{
    bpcn_status status = check_input(memory, x, known, n);
    if (status == BPCN_OK && n > 0)
        status = check_pointer(codes, "the pointer for the codes");
    if (status == BPCN_OK)
        status = check_networks(memory, "codes");
    return status == BPCN_OK ? read_memory(memory, x, known, n, options, NULL, codes, info) : status;
}

bpcn_status bpcn_memory_score(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n,
                              double *log_density)
{
    bpcn_status status = check_input(memory, x, known, n);
    if (status == BPCN_OK && n > 0)
        status = check_pointer(log_density, "the pointer for the densities");
    if (status != BPCN_OK)
        return status;
    bpcn_read_info *info = alloc_zeroed(n, sizeof *info);
    if (info == NULL)
        return out_of_memory();
    bpcn_read_options exact = routing_density_options(memory);
    status = read_memory(memory, x, known, n, &exact, NULL, NULL, info);
    for (size_t i = 0; status == BPCN_OK && i < n; i++)
        log_density[i] = info[i].log_density;
    free(info);
    return status;
}

bpcn_status bpcn_memory_energy(const bpcn_memory *memory, const float *x, const unsigned char *known,
                               const float *codes, size_t n, const bpcn_read_options *options, double *energy,
                               float *grad)
{
    bpcn_status status = check_input(memory, x, known, n);
    if (status == BPCN_OK && n > 0)
        status = check_pointer(energy, "the pointer for the energies");
    if (status == BPCN_OK)
        status = check_networks(memory, "codes");
    if (status == BPCN_OK && n > 0 && shape_of(memory)->code_dim > 0)
        status = check_pointer(codes, "the pointer to the codes");
    for (size_t j = 0; status == BPCN_OK && j < n * shape_of(memory)->code_dim; j++)
        if (!islessequal(fabsf(codes[j]), LARGEST))
            return bpcn_fail(BPCN_INVALID, "entry %zu of the codes is not a number, or too large", j);
    if (status == BPCN_OK)
        status = check_far(&memory->contents.scale, (double)LARGEST, x, known, n);
    if (status != BPCN_OK || n == 0)
        return status;
    const struct model *model = shape_of(memory);
    size_t entries = n * model->code_dim;
    struct energy_request request = {.known = known, .n = n, .energy = energy};
    void *copy, *code_copy, *room = NULL;
    status = read_options_check(memory->contents.options.minimizer, options, &request.options);
    if (status != BPCN_OK)
        return status;
    request.options.noise /= memory->contents.scale.unit;
    request.x = to_real(model, &memory->contents.scale, INFINITY, x, known, n, &copy);
    request.codes = to_real_plain(model, codes, entries, &code_copy);
    request.grad = grad ? room_real(model, grad, entries, &room) : NULL;
    status = BPCN_NO_MEMORY;
    struct shards many;
    threads_enter();
    struct shard *shard = routing_shards(memory, NULL, &many);
    if (shard && request.x && (request.codes || entries == 0) && (grad == NULL || request.grad))
        status = many.count == 1 ? shard_ops_for(model)->energy(shard, NULL, &request) : shards_energy(&many, &request);
    threads_leave();
    free(shard);
    if (status == BPCN_OK)
        from_real(room, grad, entries);
    free(copy);
    free(code_copy);
    free(room);
    return status == BPCN_NO_MEMORY ? out_of_memory() : status;
}

/* ---- forget, sample */

/* forget or discount; by 0 nothing changes. */
static bpcn_status fade_memory(bpcn_memory *memory, enum change_kind kind, double beta)
{
    struct transaction transaction;
    bpcn_status status = transaction_begin(&transaction, memory, kind);
    if (status != BPCN_OK)
        return status;
    if (beta > 0)
        status = transaction_apply(&transaction, &(struct change){.kind = kind, .beta = beta});
    status = transaction_end(&transaction, status, NULL);
    return status == BPCN_NO_MEMORY ? out_of_memory() : status;
}

bpcn_status bpcn_memory_forget(bpcn_memory *memory, double beta)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && !(beta >= 0 && beta <= 1))
        return bpcn_fail(BPCN_INVALID, "beta is %g, but must be a number from 0 to 1", beta);
    return status == BPCN_OK ? fade_memory(memory, CHANGE_FORGET, beta) : status;
}

bpcn_status bpcn_memory_discount(bpcn_memory *memory, double beta)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && !(beta >= 0 && beta < 1))
        return bpcn_fail(BPCN_INVALID, "beta is %g, but must be a number from 0 to below 1", beta);
    return status == BPCN_OK ? fade_memory(memory, CHANGE_DISCOUNT, beta) : status;
}

bpcn_status bpcn_memory_sample(const bpcn_memory *memory, size_t n, uint64_t draw, float *out)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && n > INT32_MAX)
        return bpcn_fail(BPCN_INVALID, "%zu samples cannot be drawn", n);
    if (status == BPCN_OK && n > 0)
        status = check_pointer(out, "the pointer for the samples");
    if (status != BPCN_OK || n == 0)
        return status;
    size_t entries = n * shape_of(memory)->width[0];
    struct shards many;
    struct shard *shard = routing_shards(memory, NULL, &many);
    void *room, *rows = room_real(shape_of(memory), out, entries, &room);
    if (rows == NULL || shard == NULL)
        status = BPCN_NO_MEMORY;
    else if (many.count == 1)
        status = shard_ops_for(shard->model)->sample(shard->model, n, draw, rows);
    else
        status = shards_sample(&many, n, memory->contents.options.seed, draw, rows);
    free(shard);
    if (status == BPCN_OK)
        from_real(room, out, entries);
    free(room);
    const struct scale *scale = &memory->contents.scale;
    for (size_t i = 0; status == BPCN_OK && scale->pairs > 0 && i < entries; i++)
        out[i] = (float)scale_out(scale, i % scale->dim, (double)out[i]);
    return status == BPCN_NO_MEMORY ? out_of_memory() : status;
}
