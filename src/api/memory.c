/*
 * The public handle: checks arguments, turns float rows into the model's precision, calls the
 * operation, and puts failures into words. No arithmetic of the model happens here.
 */
#include "alloc.h"
#include "checks.h"
#include "error.h"
#include "network.h"
#include "names.h"
#include "options.h"
#include "precision.h"
#include "routing.h"
#include "abi.h"
#include "store.h"
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
    if (status != BPCN_OK)
        return status;
    struct contents contents;
    return contents_create_empty(&contents, &checked) == 0 ? handle_create(&contents, NULL, memory) : out_of_memory();
}

/* ---- checks of arguments */

static const float largest = 1e15f; /* entry: its products with weights of its size fit float32 */

/* Rows of dim floats: numbers of a sensible size wherever they are known. */
static bpcn_status check_rows(const bpcn_memory *m, const float *x, const unsigned char *known, size_t n)
{
    size_t dim = shape_of(m)->width[0];
    if (n > SIZE_MAX / sizeof(double) / dim || n > INT32_MAX)
        return bpcn_fail(BPCN_INVALID, "%zu rows of %zu entries are too many", n, dim);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < dim; j++)
            if (!(fabsf(x[i * dim + j]) <= largest) && (known == NULL || known[i * dim + j]))
                return bpcn_fail(BPCN_INVALID, "row %zu, entry %zu is %s", i, j,
                                 isnan(x[i * dim + j])   ? "NaN"
                                 : isinf(x[i * dim + j]) ? "infinite"
                                                         : "too large");
    return BPCN_OK;
}

static bpcn_status check_input(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && n == 0)
        return bpcn_fail(BPCN_INVALID, "there are no rows");
    if (status == BPCN_OK)
        status = check_pointer(x, "the pointer to the rows");
    return status == BPCN_OK ? check_rows(memory, x, known, n) : status;
}

/* Something of every row must be known. */
static bpcn_status check_known(const unsigned char *known, size_t n, size_t dim)
{
    for (size_t i = 0; i < n; i++)
        if (masks_count_known(dim, known + i * dim) == 0)
            return bpcn_fail(BPCN_INVALID, "nothing of row %zu is known", i);
    return BPCN_OK;
}

/* ---- write */

/* codes [particles x code_dim] of a change, as floats. */
static void report_codes(const struct model *model, const struct change *change, float *out)
{
    size_t entries = model->options.particles * model->code_dim;
    const float *narrow = change->codes;
    const double *wide = change->codes;
    for (size_t j = 0; j < entries; j++)
        out[j] = model->options.precision == BPCN_FLOAT64 ? (float)wide[j] : narrow[j];
}

/* Rows as struct change has them, one after the other. */
struct rows_to_write {
    size_t n;
    unsigned char *x;     /* real [n x dim] */
    unsigned char *known; /* [n x dim] or NULL */
};

static bpcn_status write_each(struct transaction *transaction, const struct rows_to_write *rows, bpcn_write_info *info)
{
    const struct model *model = shape_of(transaction->memory);
    size_t dim = model->width[0], bytes = dim * real_size(model), entries = model->options.particles * model->code_dim;
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; status == BPCN_OK && i < rows->n; i++) {
        struct routed routed;
        bpcn_write_row row;
        const unsigned char *known = rows->known ? rows->known + i * dim : NULL;
        int whole = known == NULL || memchr(known, 0, dim) == NULL;
        status = routing_write(transaction, rows->x + i * bytes, whole ? NULL : known, &routed, &row);
        if (status == BPCN_OK && info->rows != NULL)
            info->rows[i] = row;
        if (status == BPCN_OK && info->names != NULL && info->names[i] != NULL)
            routing_name(transaction, info->names[i], &routed);
        if (status == BPCN_OK && info->codes != NULL)
            report_codes(model, &routed.change, info->codes + i * entries);
        if (status == BPCN_OK)
            status = transaction_apply(transaction, &routed.change);
        routed_free(&routed);
        if (status == BPCN_OK) {
            info->written++;
            info->evaluations += row.evaluations;
        }
    }
    return status;
}

/* Copies of rows with holes: 0 where not known, and 1 where known. -1 when out of memory. */
static int copy_known(const struct model *model, const float *x, const unsigned char *known, struct rows_to_write *rows)
{
    size_t entries = rows->n * model->width[0];
    rows->x = alloc_zeroed(entries, real_size(model));
    rows->known = alloc_zeroed(entries, 1);
    if (rows->x == NULL || rows->known == NULL)
        return -1;
    for (size_t j = 0; j < entries; j++) {
        rows->known[j] = known[j] != 0;
        if (known[j] && model->options.precision == BPCN_FLOAT64)
            ((double *)(void *)rows->x)[j] = (double)x[j];
        else if (known[j])
            ((float *)(void *)rows->x)[j] = x[j];
    }
    return 0;
}

static bpcn_status write_rows(bpcn_memory *m, const float *x, const unsigned char *known, size_t n,
                              bpcn_write_info *info)
{
    struct transaction transaction;
    struct rows_to_write rows = {.n = n};
    void *copy = NULL;
    size_t lost = 0;
    bpcn_status status = transaction_begin(&transaction, m, CHANGE_WRITE);
    if (status != BPCN_OK)
        return status;
    if (known == NULL)
        rows.x = to_real(shape_of(m), x, n * shape_of(m)->width[0], &copy);
    else if (copy_known(shape_of(m), x, known, &rows) != 0)
        status = BPCN_NO_MEMORY;
    if (status == BPCN_OK)
        status = rows.x != NULL ? write_each(&transaction, &rows, info) : BPCN_NO_MEMORY;
    status = transaction_end(&transaction, status, &lost);
    info->written -= lost < info->written ? lost : info->written;
    free(known == NULL ? copy : rows.x);
    free(rows.known);
    if (status == BPCN_NO_MEMORY)
        return out_of_memory();
    if (status == BPCN_NUMERIC)
        return bpcn_fail(status, "row %zu is too large: its energy is not finite", info->written);
    return status;
}

bpcn_status bpcn_memory_write(bpcn_memory *memory, const float *x, const unsigned char *known, size_t n,
                              bpcn_write_info *info)
{
    bpcn_write_info full;
    bpcn_write_info_default(&full, sizeof full);
    bpcn_status status = info != NULL ? abi_take(&abi_write_info, info, &full) : BPCN_OK;
    if (status != BPCN_OK)
        return status;
    full.written = 0;
    full.evaluations = 0;
    status = check_input(memory, x, known, n);
    if (status == BPCN_OK && known != NULL)
        status = check_known(known, n, shape_of(memory)->width[0]);
    if (status == BPCN_OK)
        status = check_names(full.names, n);
    if (status == BPCN_OK)
        status = write_rows(memory, x, known, n, &full);
    if (info != NULL)
        abi_give(&abi_write_info, &full, info, info->size);
    return status;
}

bpcn_status bpcn_memory_delete(bpcn_memory *memory, const float *x)
{
    bpcn_status status = check_input(memory, x, NULL, 1);
    return status == BPCN_OK ? delete_row(memory, x, NULL) : status;
}

/* ---- read */

/* answers or codes are what is wanted of the read; neither: the densities alone. */
static bpcn_status read_memory(const bpcn_memory *m, const float *x, const unsigned char *known, size_t n,
                               const bpcn_read_options *options, float *answers, float *codes, bpcn_read_info *info)
{
    int scored = answers == NULL && codes == NULL;
    const struct model *model = shape_of(m);
    size_t dim = model->width[0], entries = n * (answers ? dim : model->code_dim);
    struct read_request request = {.known = known, .n = n, .info = info};
    void *copy = NULL, *room = NULL, *out = NULL;
    bpcn_status status = read_options_check(m->contents.options.minimizer, options, &request.options);
    if (status == BPCN_OK && m->contents.options.kind == BPCN_TABLE && request.options.noise > 0)
        return bpcn_fail(BPCN_INVALID, "a table's memory takes what is known as exact: noise must be 0");
    if (status != BPCN_OK)
        return status;
    request.query = to_real(model, x, n * dim, &copy);
    if (!scored)
        out = room_real(model, answers ? answers : codes, entries, &room);
    *(answers ? &request.answers : &request.codes) = out;
    request.spread = answers ? request.options.spread : NULL;
    for (size_t j = 0; request.options.trace != NULL && j < n * request.options.trace_room; j++)
        request.options.trace[j] = NAN;
    if (request.query == NULL || (!scored && out == NULL))
        status = BPCN_NO_MEMORY;
    else {
        struct team *team = threads_borrow(m->threads);
        status = (scored ? routing_read_and_next : routing_read)(m, team, &request);
        threads_return(team);
    }
    if (status == BPCN_OK && answers != NULL && info != NULL)
        name_answers(m, &request, info);
    if (status == BPCN_OK)
        from_real(room, answers ? answers : codes, entries);
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
    if (status == BPCN_OK)
        status = check_pointer(out, "the pointer for the answers");
    if (status == BPCN_OK && known == NULL && memory->contents.options.kind == BPCN_TABLE)
        return bpcn_fail(BPCN_INVALID, "a table's memory fills what rows lack: the read must say which entries are known");
    return status == BPCN_OK ? read_memory(memory, query, known, n, options, out, NULL, info) : status;
}

bpcn_status bpcn_memory_infer(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n,
                              const bpcn_read_options *options, float *codes, bpcn_read_info *info)
{
    bpcn_status status = check_input(memory, x, known, n);
    if (status == BPCN_OK)
        status = check_pointer(codes, "the pointer for the codes");
    if (status == BPCN_OK)
        status = check_networks(memory, "codes");
    return status == BPCN_OK ? read_memory(memory, x, known, n, options, NULL, codes, info) : status;
}

bpcn_status bpcn_memory_score(const bpcn_memory *memory, const float *x, const unsigned char *known, size_t n,
                              double *log_density)
{
    bpcn_status status = check_input(memory, x, known, n);
    if (status == BPCN_OK)
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
    if (status == BPCN_OK)
        status = check_pointer(energy, "the pointer for the energies");
    if (status == BPCN_OK)
        status = check_networks(memory, "codes");
    if (status == BPCN_OK && shape_of(memory)->code_dim > 0)
        status = check_pointer(codes, "the pointer to the codes");
    for (size_t j = 0; status == BPCN_OK && j < n * shape_of(memory)->code_dim; j++)
        if (!(fabsf(codes[j]) <= largest))
            return bpcn_fail(BPCN_INVALID, "entry %zu of the codes is not a number, or too large", j);
    if (status != BPCN_OK)
        return status;
    const struct model *model = shape_of(memory);
    size_t entries = n * model->code_dim;
    struct energy_request request = {.known = known, .n = n, .energy = energy};
    void *copy, *code_copy, *room = NULL;
    status = read_options_check(memory->contents.options.minimizer, options, &request.options);
    if (status != BPCN_OK)
        return status;
    request.x = to_real(model, x, n * model->width[0], &copy);
    request.codes = to_real(model, codes, entries, &code_copy);
    request.grad = grad ? room_real(model, grad, entries, &room) : NULL;
    status = BPCN_NO_MEMORY;
    struct shards many;
    struct shard *shard = routing_shards(memory, NULL, &many);
    if (shard && request.x && (request.codes || entries == 0) && (grad == NULL || request.grad))
        status = many.count == 1 ? shard_ops_for(model)->energy(shard, NULL, &request) : shards_energy(&many, &request);
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
    if (status == BPCN_OK && (n == 0 || n > INT32_MAX))
        return bpcn_fail(BPCN_INVALID, "%zu samples cannot be drawn", n);
    if (status == BPCN_OK)
        status = check_pointer(out, "the pointer for the samples");
    if (status != BPCN_OK)
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
    return status == BPCN_NO_MEMORY ? out_of_memory() : status;
}
