/* The public functions of the memory file: arguments checked, then store.c. */
#include "checks.h"
#include "cholesky.h"
#include "error.h"
#include "abi.h"
#include "store.h"
#include "transaction.h"

#include <stdlib.h>
#include <string.h>

static bpcn_status check_result(bpcn_memory **memory)
{
    if (memory == NULL)
        return bpcn_fail(BPCN_INVALID, "the pointer for the memory is NULL");
    *memory = NULL;
    return BPCN_OK;
}

static bpcn_status check_in_file(const bpcn_memory *memory)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && memory->store == NULL)
        return bpcn_fail(BPCN_INVALID, "the memory does not live in a file");
    return status;
}

static bpcn_status check_open_options(const bpcn_open_options *given, bpcn_open_options *options)
{
    bpcn_open_options_default(options, sizeof *options);
    bpcn_status status = given != NULL ? abi_take(&abi_open_options, given, options) : BPCN_OK;
    if (status != BPCN_OK)
        return status;
    if (options->read_only && options->create != NULL)
        return bpcn_fail(BPCN_INVALID, "a memory cannot be created and read-only");
    if ((unsigned)options->sync > BPCN_SYNC_MANUAL)
        return bpcn_fail(BPCN_INVALID, "sync %d does not exist", (int)options->sync);
    if (options->threads < 0 || options->threads > 1024)
        return bpcn_fail(BPCN_INVALID, "threads is %d, but must be 0 to 1024", options->threads);
    return BPCN_OK;
}

bpcn_status memory_open(const struct file_ops *ops, const char *path, const bpcn_open_options *options,
                        bpcn_memory **memory)
{
    struct contents contents;
    struct store *store;
    *memory = NULL;
    bpcn_status status = store_open(ops, path, options, &contents, &store);
    return status == BPCN_OK ? handle_create(&contents, store, memory) : status;
}

bpcn_status memory_load(const struct file_ops *ops, const char *path, bpcn_memory **memory, bpcn_file_info *info)
{
    struct contents contents;
    *memory = NULL;
    bpcn_status status = store_load(ops, path, &contents, info);
    return status == BPCN_OK ? handle_create(&contents, NULL, memory) : status;
}

bpcn_status memory_save(const struct file_ops *ops, const bpcn_memory *memory, const char *path)
{
    return store_save(ops, &memory->contents, path);
}

bpcn_status bpcn_memory_open(const char *path, const bpcn_open_options *options, bpcn_memory **memory)
{
    bpcn_open_options checked;
    bpcn_status status = check_result(memory);
    if (status == BPCN_OK)
        status = check_pointer(path, "the path");
    if (status == BPCN_OK)
        status = check_open_options(options, &checked);
    return status == BPCN_OK ? memory_open(&file_posix, path, &checked, memory) : status;
}

bpcn_status bpcn_memory_load(const char *path, bpcn_memory **memory)
{
    bpcn_status status = check_result(memory);
    if (status == BPCN_OK)
        status = check_pointer(path, "the path");
    return status == BPCN_OK ? memory_load(&file_posix, path, memory, NULL) : status;
}

bpcn_status bpcn_memory_save(const bpcn_memory *memory, const char *path)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_pointer(path, "the path");
    return status == BPCN_OK ? memory_save(&file_posix, memory, path) : status;
}

bpcn_status bpcn_memory_sync(bpcn_memory *memory)
{
    bpcn_status status = check_in_file(memory);
    return status == BPCN_OK ? store_sync(memory->store) : status;
}

bpcn_status bpcn_memory_checkpoint(bpcn_memory *memory)
{
    bpcn_status status = check_in_file(memory);
    return status == BPCN_OK ? store_checkpoint(memory->store, &memory->contents) : status;
}

bpcn_status bpcn_memory_get_file(const bpcn_memory *memory, bpcn_file_info *info)
{
    bpcn_file_info full;
    bpcn_status status = check_in_file(memory);
    if (status == BPCN_OK)
        status = check_pointer(info, "info");
    if (status == BPCN_OK)
        status = abi_check(&abi_file_info, info);
    if (status != BPCN_OK)
        return status;
    store_info(memory->store, &memory->contents, &full);
    abi_give(&abi_file_info, &full, info, info->size);
    return BPCN_OK;
}

static bpcn_status check_about(const char *path, const bpcn_file_info *info, const bpcn_options *options)
{
    bpcn_status status = check_pointer(path, "the path");
    if (status == BPCN_OK)
        status = abi_check(&abi_file_info, info);
    return status == BPCN_OK ? abi_check(&abi_options, options) : status;
}

static void give_about(const bpcn_file_info *ours, const bpcn_options *our_options, bpcn_file_info *info,
                       bpcn_options *options)
{
    if (info != NULL)
        abi_give(&abi_file_info, ours, info, info->size);
    if (options != NULL)
        abi_give(&abi_options, our_options, options, options->size);
}

bpcn_status bpcn_file_inspect(const char *path, bpcn_file_info *info, bpcn_options *options)
{
    bpcn_file_info full;
    bpcn_options all;
    bpcn_status status = check_about(path, info, options);
    if (status == BPCN_OK)
        status = store_inspect(&file_posix, path, &full, &all);
    if (status == BPCN_OK)
        give_about(&full, &all, info, options);
    return status;
}

/* Writing only ever narrows a covariance, and fading brings it towards the prior's: one that is wider comes of rows that
   were taken back though they had never been written. */
static bpcn_status check_within_prior(const struct contents *c)
{
    for (size_t k = 0; k < c->count && c->options.kind != BPCN_TABLE; k++)
        for (size_t n = 0; n < c->options.particles; n++)
            for (size_t l = 0; l < c->options.layers; l++) {
                const struct layer *layer = &c->shard[k]->particles[n].layer[l];
                int within = cholesky_within(layer->above, layer->root, model_prior_bound(c->shard[k]));
                if (within < 0)
                    return out_of_memory();
                if (!within)
                    return bpcn_fail(BPCN_CORRUPT, "the covariance of shard %zu, particle %zu, layer %zu is wider than the "
                                     "prior's: a row was taken back that the memory did not hold", k, n, l);
            }
    return BPCN_OK;
}

bpcn_status bpcn_file_check(const char *path, bpcn_file_info *info, bpcn_options *options)
{
    bpcn_file_info full;
    struct contents contents = {.count = 0};
    bpcn_status status = check_about(path, info, options);
    if (status == BPCN_OK)
        status = store_load(&file_posix, path, &contents, &full);
    if (status == BPCN_OK)
        status = check_within_prior(&contents);
    if (status == BPCN_OK)
        give_about(&full, &contents.options, info, options);
    contents_free(&contents);
    return status;
}

bpcn_status bpcn_file_recover(const char *from, const char *to, bpcn_recovery *report)
{
    bpcn_recovery full = {.size = sizeof full};
    bpcn_status status = check_pointer(from, "the path");
    if (status == BPCN_OK)
        status = check_pointer(to, "the path of the new file");
    if (status == BPCN_OK)
        status = abi_check(&abi_recovery, report);
    if (status != BPCN_OK)
        return status;
    if (report != NULL) {
        full.tell = report->tell;
        full.user = report->user;
    }
    status = store_recover(&file_posix, from, to, &full);
    if (report != NULL)
        abi_give(&abi_recovery, &full, report, report->size);
    return status;
}

bpcn_status bpcn_memory_set_note(bpcn_memory *memory, const void *note, size_t bytes)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && bytes > BPCN_MAX_NOTE)
        return bpcn_fail(BPCN_INVALID, "a note of %zu bytes is too long, at most %d are possible", bytes, BPCN_MAX_NOTE);
    if (status == BPCN_OK && bytes > 0 && note == NULL)
        return bpcn_fail(BPCN_INVALID, "the note is NULL");
    if (status != BPCN_OK)
        return status;
    struct transaction transaction;
    status = transaction_begin(&transaction, memory, CHANGE_NOTE);
    if (status != BPCN_OK)
        return status;
    status = transaction_apply(&transaction, &(struct change){.kind = CHANGE_NOTE, .note = note, .note_bytes = bytes});
    status = transaction_end(&transaction, status, NULL);
    return status == BPCN_NO_MEMORY ? out_of_memory() : status;
}

bpcn_status bpcn_memory_get_note(const bpcn_memory *memory, void *note, size_t room, size_t *bytes)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && (bytes == NULL || (note == NULL && room > 0)))
        return bpcn_fail(BPCN_INVALID, "the pointer for the note or for its length is NULL");
    if (status != BPCN_OK)
        return status;
    *bytes = memory->contents.note_bytes;
    size_t copied = room < *bytes ? room : *bytes;
    if (copied > 0)
        memcpy(note, memory->contents.note, copied);
    return BPCN_OK;
}
