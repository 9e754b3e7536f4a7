/* Writing rows: the scale that they are written in, their copies in the model's precision, and one change for each. */
#include "alloc.h"
#include "checks.h"
#include "error.h"
#include "format.h"
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

/* ---- rows */

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
    const float *given;   /* [n x dim] as the caller gave them */
    const float *first;   /* [n x dim] as the caller gave them, if they are to be kept as first rows; or NULL */
    void *copy;           /* to be freed */
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
        if (status == BPCN_OK && rows->first != NULL && !transaction->memory->contents.scale.settled)
            routed.change.first = rows->first + i * dim;
        struct fingerprint print = {{0}};
        if (status == BPCN_OK && whole && transaction->memory->contents.options.deletable > 0) {
            print = fingerprint_of(rows->given + i * dim, dim);
            routed.change.print = print.word;
        }
        if (status == BPCN_OK && info->codes != NULL)
            report_codes(model, &routed.change, info->codes + i * entries);
        if (status == BPCN_OK)
            status = transaction_apply(transaction, &routed.change);
        if (status == BPCN_OK) {
            info->written++;
            info->evaluations += row.evaluations;
        }
    }
    return status;
}

/* The rows as the model sees them, 0 where not known, and 1 where known. */
static bpcn_status rows_in(const bpcn_memory *m, const float *x, const unsigned char *known, struct rows_to_write *rows)
{
    const bpcn_options *o = &m->contents.options;
    size_t entries = rows->n * o->dim;
    rows->x = to_real(shape_of(m), &m->contents.scale, o->clip ? o->far : INFINITY, x, known, rows->n, &rows->copy);
    if (known != NULL && rows->copy == NULL) {
        rows->x = rows->copy = alloc_zeroed(entries, sizeof *x);
        for (size_t j = 0; rows->x != NULL && j < entries; j++)
            ((float *)rows->copy)[j] = known[j] ? x[j] : 0;
    }
    rows->known = known != NULL ? alloc_zeroed(entries, 1) : NULL;
    for (size_t j = 0; rows->known != NULL && j < entries; j++)
        rows->known[j] = known[j] != 0;
    return rows->x == NULL || (known != NULL && rows->known == NULL) ? BPCN_NO_MEMORY : BPCN_OK;
}

static bpcn_status write_rows(bpcn_memory *m, const float *x, const unsigned char *known, size_t n,
                              bpcn_write_info *info)
{
    struct transaction transaction;
    struct rows_to_write rows = {.n = n, .given = x};
    struct scale *scale = &m->contents.scale;
    size_t lost = 0;
    bpcn_status status = transaction_begin(&transaction, m, CHANGE_WRITE);
    if (status != BPCN_OK)
        return status;
    status = rows_in(m, x, known, &rows);
    if (!scale->settled && scale->rows + n < SCALE_SETTLED)
        rows.first = x;
    if (status == BPCN_OK)
        status = write_each(&transaction, &rows, info);
    status = transaction_end(&transaction, status, &lost);
    info->written -= lost < info->written ? lost : info->written;
    free(rows.copy);
    free(rows.known);
    if (status == BPCN_NO_MEMORY)
        return out_of_memory();
    if (status == BPCN_NUMERIC)
        return bpcn_fail(status, "row %zu is too large: its energy is not finite", info->written);
    return status;
}

/* ---- the scale of the data */

/* Contents and caches of two handles change places. */
static void swap_contents(bpcn_memory *a, bpcn_memory *b)
{
    struct contents contents = a->contents;
    struct cache **cache = a->cache;
    a->contents = b->contents;
    a->cache = b->cache;
    b->contents = contents;
    b->cache = cache;
}

/* The first rows again, into a memory that has none. */
static bpcn_status write_first_rows(bpcn_memory *to, const struct scale *from)
{
    float *x = alloc_zeroed(from->dim, sizeof *x);
    unsigned char *known = alloc_zeroed(from->dim, 1);
    bpcn_status status = x != NULL && known != NULL ? BPCN_OK : out_of_memory();
    for (size_t i = 0; status == BPCN_OK && i < from->rows; i++) {
        char name[NAME_ROOM];
        const char *names[] = {name};
        bpcn_write_info info;
        bpcn_write_info_default(&info, sizeof info);
        scale_first_row(from, i, x, known, name);
        info.names = name[0] != '\0' ? names : NULL;
        status = write_rows(to, x, memchr(known, 0, from->dim) != NULL ? known : NULL, 1, &info);
    }
    free(x);
    free(known);
    return status;
}

/* The memory becomes what it would be had it had this scale, which it takes over, from the start. In a file that is a
   checkpoint: whole or not at all. */
static bpcn_status write_again(bpcn_memory *m, struct scale *scale)
{
    struct contents fresh;
    bpcn_memory *again = NULL;
    if (contents_create_empty(&fresh, &m->contents.options) != 0)
        return out_of_memory();
    scale_free(&fresh.scale);
    fresh.scale = *scale;
    *scale = (struct scale){.unit = 1};
    int noted = contents_keep_note(&fresh, m->contents.note, m->contents.note_bytes);
    bpcn_status status = handle_create(&fresh, NULL, &again);
    if (status != BPCN_OK)
        return status;
    again->threads = m->threads;
    again->contents.forgets = m->contents.forgets; /* while it was empty */
    again->contents.options.clip = 1; /* of rows that came before those that decide what is far */
    status = noted == 0 ? write_first_rows(again, &m->contents.scale) : out_of_memory();
    again->contents.options.clip = m->contents.options.clip;
    again->contents.writes = m->contents.writes; /* also of rows that were deleted since */
    again->contents.deletes = m->contents.deletes;
    if (!has_shards(&m->contents.options)) {
        again->contents.rows[0] = again->contents.shard[0]->writes = m->contents.writes;
        again->contents.shard[0]->deletes = m->contents.deletes;
        again->contents.shard[0]->forgets = m->contents.forgets;
    }
    if (status == BPCN_OK) {
        swap_contents(m, again);
        status = m->store != NULL ? store_checkpoint(m->store, &m->contents) : BPCN_OK;
        if (status != BPCN_OK)
            swap_contents(m, again);
    }
    bpcn_memory_free(again);
    return status;
}

/* Before n rows are written: the scale that they are to be written in, which the first rows decide, and whether they
   fit it. Of the first rows one after the other it is measured anew when their number doubles, when there are enough,
   and when one does not fit. */
static bpcn_status adapt_scale(bpcn_memory *m, const float *x, const unsigned char *known, size_t n)
{
    const bpcn_options *o = &m->contents.options;
    const struct scale *now = &m->contents.scale;
    double most = o->clip ? (double)LARGEST : o->far;
    struct scale measured;
    if (now->settled)
        return check_far(now, most, x, known, n);
    size_t before = now->rows, after = before + n;
    int doubled = (before ^ after) > before;
    if (!doubled && after < SCALE_SETTLED && check_far(now, o->far, x, known, n) == BPCN_OK)
        return BPCN_OK;
    bpcn_status status = store_begin(m->store, CHANGE_WRITE);
    if (status != BPCN_OK)
        return status;
    if (scale_measure(now, o, x, known, n, &measured) != 0)
        status = out_of_memory();
    if (status == BPCN_OK)
        status = check_far(&measured, most, x, known, n);
    if (status == BPCN_OK && !scale_same_pairs(now, &measured))
        status = write_again(m, &measured);
    scale_free(&measured);
    return status;
}

bpcn_status bpcn_memory_get_scale(const bpcn_memory *memory, double *centre, double *scale, size_t room, size_t *pairs,
                                  int *settled)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_pointer(pairs, "the pointer for the number of pairs");
    if (status == BPCN_OK && room > 0 && (centre == NULL || scale == NULL))
        return bpcn_fail(BPCN_INVALID, "the pointer for the centres or for the scales is NULL");
    if (status != BPCN_OK)
        return status;
    const struct scale *s = &memory->contents.scale;
    *pairs = s->pairs;
    if (settled != NULL)
        *settled = s->settled;
    for (size_t k = 0; k < s->pairs && k < room; k++) {
        centre[k] = s->pair[2 * k];
        scale[k] = s->pair[2 * k + 1];
    }
    return BPCN_OK;
}

bpcn_status bpcn_memory_set_scale(bpcn_memory *memory, const double *centre, const double *scale, size_t pairs)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && pairs > 0 && (centre == NULL || scale == NULL))
        return bpcn_fail(BPCN_INVALID, "the pointer to the centres or to the scales is NULL");
    if (status == BPCN_OK)
        status = store_begin(memory->store, CHANGE_WRITE);
    if (status != BPCN_OK)
        return status;
    const bpcn_options *o = &memory->contents.options;
    if (memory->contents.writes > 0)
        return bpcn_fail(BPCN_INVALID, "the memory was written already: its scale cannot be set any more");
    if (pairs > 1 ? pairs != o->dim || o->scale != BPCN_SCALE_AUTO_EACH : pairs > (o->scale != BPCN_SCALE_AS_GIVEN))
        return bpcn_fail(BPCN_INVALID, "%zu pairs of centre and scale do not suit the memory's options", pairs);
    struct scale wanted;
    scale_create(&wanted, o);
    if (scale_allocate(&wanted, pairs, 0) != 0)
        status = out_of_memory();
    for (size_t k = 0; status == BPCN_OK && k < pairs; k++) {
        wanted.pair[2 * k] = centre[k];
        wanted.pair[2 * k + 1] = scale[k];
    }
    wanted.unit = pairs == 1 && status == BPCN_OK ? scale[0] : 1;
    wanted.settled = 1;
    if (status == BPCN_OK && scale_wrong(&wanted) != NULL)
        status = bpcn_fail(BPCN_INVALID, "a centre is not finite, or a scale is not from 1e-30 to 1e30");
    if (status == BPCN_OK)
        status = write_again(memory, &wanted);
    scale_free(&wanted);
    return status;
}

/* ---- write */

/* Something of every row must be known. */
static bpcn_status check_known(const unsigned char *known, size_t n, size_t dim)
{
    for (size_t i = 0; i < n; i++)
        if (masks_count_known(dim, known + i * dim) == 0)
            return bpcn_fail(BPCN_INVALID, "nothing of row %zu is known", i);
    return BPCN_OK;
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
    if (status == BPCN_OK && n > 0)
        status = adapt_scale(memory, x, known, n);
    if (status == BPCN_OK && n > 0)
        status = write_rows(memory, x, known, n, &full);
    if (info != NULL)
        abi_give(&abi_write_info, &full, info, info->size);
    return status;
}

