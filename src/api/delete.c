/* Taking rows back: which of the rows that the memory keeps they are, whether all of them can go, and then each. */
#include "alloc.h"
#include "checks.h"
#include "names.h"
#include "precision.h"
#include "symbols.h"
#include "transaction.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows to be taken back. */
struct removal {
    size_t n;
    const unsigned char *x;    /* real [n x dim] */
    struct change *change;     /* [n] */
    unsigned char *codes;      /* [n x held.codes] */
    size_t *shard;             /* [n] */
    const void **some, **code; /* [n]: rows of one shard */
};

static int removal_create(struct removal *r, const bpcn_memory *m, size_t n)
{
    const struct held *h = &m->contents.held;
    r->n = n;
    r->change = alloc_zeroed(n, sizeof *r->change);
    r->codes = alloc_zeroed(n, h->codes * h->size + 1);
    r->shard = alloc_zeroed(n, sizeof *r->shard);
    r->some = alloc_zeroed(n, 2 * sizeof *r->some);
    r->code = r->some + n;
    return r->change && r->codes && r->shard && r->some ? 0 : -1;
}

static void removal_free(struct removal *r)
{
    free(r->change);
    free(r->codes);
    free(r->shard);
    free(r->some);
}

/* Row i of them is the one in this slot. */
static void removal_set(struct removal *r, const bpcn_memory *m, size_t i, size_t slot)
{
    const struct contents *c = &m->contents;
    struct held_row row = held_at(&c->held, slot);
    unsigned char *codes = r->codes + i * c->held.codes * c->held.size;
    held_codes(&c->held, slot, codes);
    r->change[i] = (struct change){.kind = CHANGE_DELETE,
                                   .shard = row.shard,
                                   .rows = 1,
                                   .x = r->x + i * c->options.dim * real_size(shape_of(m)),
                                   .codes = codes,
                                   .held = row.number,
                                   .unnamed = names_held(&c->names, row.number)};
}

/* Whether each shard can lose all of its rows among them. */
static bpcn_status removal_check(const struct removal *r, struct transaction *transaction)
{
    struct writers *writers = &transaction->writers;
    bpcn_status status = BPCN_OK;
    for (size_t i = 0; i < r->n; i++)
        r->shard[i] = r->change[i].shard;
    for (size_t i = 0; status == BPCN_OK && i < r->n; i++) {
        size_t count = 0, shard = r->shard[i];
        for (size_t j = i; shard != SIZE_MAX && j < r->n; j++)
            if (r->shard[j] == shard) {
                r->some[count] = r->change[j].x;
                r->code[count++] = r->change[j].codes;
                r->shard[j] = SIZE_MAX; /* done */
            }
        struct writer *writer = count > 0 ? writers_of(writers, shard, 0) : NULL;
        if (count > 0)
            status = writer != NULL ? writers->core->can_delete(writer, r->some, r->code, count) : BPCN_NO_MEMORY;
    }
    return status;
}

static bpcn_status removal_apply(const struct removal *r, bpcn_memory *m)
{
    struct transaction transaction;
    bpcn_status status = transaction_begin(&transaction, m, CHANGE_DELETE);
    if (status != BPCN_OK)
        return status;
    status = removal_check(r, &transaction);
    for (size_t i = 0; status == BPCN_OK && i < r->n; i++)
        status = transaction_apply(&transaction, &r->change[i]);
    status = transaction_end(&transaction, status, NULL);
    if (status == BPCN_NO_MEMORY)
        return out_of_memory();
    if (status == BPCN_REFUSED)
        return bpcn_fail(status, "a covariance would be indefinite or larger than the prior's: nothing is taken back");
    return status;
}

/* The slot of a row, the latest of those that were written before row `before`. */
static bpcn_status find_held(const bpcn_memory *m, const struct fingerprint *print, uint64_t before, size_t i, size_t n,
                             size_t *slot)
{
    const struct contents *c = &m->contents;
    char which[32] = "this row", place[32] = "";
    if (n > 1) {
        snprintf(which, sizeof which, "row %zu", i);
        snprintf(place, sizeof place, "row %zu", i);
    }
    *slot = held_find(&c->held, print, before);
    if (c->options.resample)
        return bpcn_fail(BPCN_NOT_HELD, "a memory that resamples its particles takes no row back");
    if (c->options.deletable == 0)
        return bpcn_fail(BPCN_NOT_HELD, "the memory keeps nothing by which rows could be taken back (deletable is 0)");
    if (*slot == c->held.count)
        return bpcn_fail_at(BPCN_NOT_HELD, place, "the memory does not hold %s, or not among the latest %zu, which alone can "
                            "be taken back", which, c->options.deletable);
    if (held_at(&c->held, *slot).fades != c->forgets)
        return bpcn_fail_at(BPCN_NOT_HELD, place, "%s has faded since it was written: it cannot be taken back exactly", which);
    return BPCN_OK;
}

bpcn_status bpcn_memory_delete_rows(bpcn_memory *memory, const float *x, size_t n)
{
    struct removal r = {.n = 0};
    void *copy = NULL;
    bpcn_status status = check_input(memory, x, NULL, n);
    if (status == BPCN_OK)
        status = store_begin(memory->store, CHANGE_DELETE);
    if (status == BPCN_OK)
        status = check_far(&memory->contents.scale, (double)LARGEST, x, NULL, n);
    if (status != BPCN_OK || n == 0)
        return status;
    const bpcn_options *o = &memory->contents.options;
    r.x = to_real(shape_of(memory), &memory->contents.scale, o->clip ? o->far : INFINITY, x, NULL, n, &copy);
    if (removal_create(&r, memory, n) != 0 || r.x == NULL)
        status = out_of_memory();
    for (size_t i = 0; status == BPCN_OK && i < n; i++) {
        struct fingerprint print = fingerprint_of(x + i * o->dim, o->dim);
        uint64_t before = UINT64_MAX;
        for (size_t j = i; j-- > 0;) /* what was given twice must be held twice */
            if (memcmp(x + j * o->dim, x + i * o->dim, o->dim * sizeof *x) == 0) {
                before = r.change[j].held;
                break;
            }
        size_t slot;
        status = find_held(memory, &print, before, i, n, &slot);
        if (status == BPCN_OK)
            removal_set(&r, memory, i, slot);
    }
    if (status == BPCN_OK)
        status = removal_apply(&r, memory);
    removal_free(&r);
    free(copy);
    return status;
}

bpcn_status bpcn_memory_delete(bpcn_memory *memory, const float *x)
{
    bpcn_status status = check_memory(memory);
    return status == BPCN_OK ? bpcn_memory_delete_rows(memory, x, 1) : status;
}

bpcn_status delete_named(bpcn_memory *memory, const void *x, uint64_t number)
{
    struct removal r = {.x = x};
    const struct held *h = &memory->contents.held;
    size_t slot = 0;
    while (slot < h->count && (held_at(h, slot).gone || (uint32_t)(held_at(h, slot).number + 1) != (uint32_t)number))
        slot++;
    if (slot == h->count || number == 0)
        return bpcn_fail(BPCN_NOT_HELD, "the row of this name is not among the latest %zu, which alone can be taken back",
                         memory->contents.options.deletable);
    if (held_at(h, slot).fades != memory->contents.forgets)
        return bpcn_fail(BPCN_NOT_HELD, "the row of this name has faded since it was written: it cannot be taken back exactly");
    bpcn_status status = removal_create(&r, memory, 1) == 0 ? BPCN_OK : out_of_memory();
    if (status == BPCN_OK) {
        removal_set(&r, memory, 0, slot);
        status = removal_apply(&r, memory);
    }
    removal_free(&r);
    return status;
}
