/* The public functions of the memory file: arguments checked, then store.c. */
#include "store.h"

#include "checks.h"
#include "error.h"
#include "log.h"
#include "sized.h"

#include <stdlib.h>
#include <string.h>

static bpcn_status check_result(bpcn_memory **memory)
{
    if (memory == NULL)
        return fail(BPCN_INVALID, "the pointer for the memory is NULL");
    *memory = NULL;
    return BPCN_OK;
}

static bpcn_status check_in_file(const bpcn_memory *memory)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && memory->store == NULL)
        return fail(BPCN_INVALID, "the memory does not live in a file");
    return status;
}

static bpcn_status check_open_options(const bpcn_open_options *given, bpcn_open_options *options)
{
    bpcn_open_options_default(options, sizeof *options);
    bpcn_status status = given != NULL ? sized_take(&sized_open_options, given, options) : BPCN_OK;
    if (status != BPCN_OK)
        return status;
    if (options->read_only && options->create != NULL)
        return fail(BPCN_INVALID, "a memory cannot be created and read-only");
    if ((unsigned)options->sync > BPCN_SYNC_MANUAL)
        return fail(BPCN_INVALID, "sync %d does not exist", (int)options->sync);
    if (options->threads < 0 || options->threads > 1024)
        return fail(BPCN_INVALID, "threads is %d, but must be 0 to 1024", options->threads);
    return BPCN_OK;
}

bpcn_status bpcn_memory_open(const char *path, const bpcn_open_options *options, bpcn_memory **memory)
{
    bpcn_open_options checked;
    bpcn_status status = check_result(memory);
    if (status == BPCN_OK)
        status = check_pointer(path, "the path");
    if (status == BPCN_OK)
        status = check_open_options(options, &checked);
    return status == BPCN_OK ? store_open(&file_posix, path, &checked, memory) : status;
}

bpcn_status bpcn_memory_load(const char *path, bpcn_memory **memory)
{
    bpcn_status status = check_result(memory);
    if (status == BPCN_OK)
        status = check_pointer(path, "the path");
    return status == BPCN_OK ? store_load(&file_posix, path, memory, NULL) : status;
}

bpcn_status bpcn_memory_save(const bpcn_memory *memory, const char *path)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK)
        status = check_pointer(path, "the path");
    return status == BPCN_OK ? store_save(&file_posix, memory, path) : status;
}

bpcn_status bpcn_memory_sync(bpcn_memory *memory)
{
    bpcn_status status = check_in_file(memory);
    return status == BPCN_OK ? store_sync(memory->store) : status;
}

bpcn_status bpcn_memory_checkpoint(bpcn_memory *memory)
{
    bpcn_status status = check_in_file(memory);
    return status == BPCN_OK ? store_checkpoint(memory) : status;
}

bpcn_status bpcn_memory_close(bpcn_memory *memory)
{
    if (memory == NULL)
        return BPCN_OK;
    bpcn_status status = store_close(memory->store);
    memory->store = NULL;
    bpcn_memory_free(memory);
    return status;
}

bpcn_status bpcn_memory_get_file(const bpcn_memory *memory, bpcn_file_info *info)
{
    bpcn_file_info full;
    bpcn_status status = check_in_file(memory);
    if (status == BPCN_OK)
        status = check_pointer(info, "info");
    if (status == BPCN_OK)
        status = sized_check(&sized_file_info, info);
    if (status != BPCN_OK)
        return status;
    store_info(memory, &full);
    sized_give(&sized_file_info, &full, info, info->size);
    return BPCN_OK;
}

static bpcn_status check_about(const char *path, const bpcn_file_info *info, const bpcn_options *options)
{
    bpcn_status status = check_pointer(path, "the path");
    if (status == BPCN_OK)
        status = sized_check(&sized_file_info, info);
    return status == BPCN_OK ? sized_check(&sized_options, options) : status;
}

static void give_about(const bpcn_file_info *ours, const bpcn_options *our_options, bpcn_file_info *info,
                       bpcn_options *options)
{
    if (info != NULL)
        sized_give(&sized_file_info, ours, info, info->size);
    if (options != NULL)
        sized_give(&sized_options, our_options, options, options->size);
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

bpcn_status bpcn_file_check(const char *path, bpcn_file_info *info, bpcn_options *options)
{
    bpcn_file_info full;
    bpcn_memory *memory = NULL;
    bpcn_status status = check_about(path, info, options);
    if (status == BPCN_OK)
        status = store_load(&file_posix, path, &memory, &full);
    if (status == BPCN_OK)
        give_about(&full, &memory->model->options, info, options);
    bpcn_memory_free(memory);
    return status;
}

bpcn_status bpcn_memory_set_note(bpcn_memory *memory, const void *note, size_t bytes)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && bytes > BPCN_MAX_NOTE)
        return fail(BPCN_INVALID, "a note of %zu bytes is too long, at most %d are possible", bytes, BPCN_MAX_NOTE);
    if (status == BPCN_OK && bytes > 0 && note == NULL)
        return fail(BPCN_INVALID, "the note is NULL");
    if (status != BPCN_OK)
        return status;
    bpcn_memory copy = {0}; /* made first: what is in the log must not fail afterwards */
    if (memory_keep_note(&copy, note, bytes) != 0)
        return fail(BPCN_NO_MEMORY, "out of memory");
    status = model_commit(memory->model, &(struct change){.kind = CHANGE_NOTE, .note = note, .note_bytes = bytes});
    void *other = status == BPCN_OK ? memory->note : copy.note;
    if (status == BPCN_OK) {
        memory->note = copy.note;
        memory->note_bytes = bytes;
    }
    free(other);
    return store_finish(memory, status, NULL);
}

bpcn_status bpcn_memory_get_note(const bpcn_memory *memory, void *note, size_t room, size_t *bytes)
{
    bpcn_status status = check_memory(memory);
    if (status == BPCN_OK && (bytes == NULL || (note == NULL && room > 0)))
        return fail(BPCN_INVALID, "the pointer for the note or for its length is NULL");
    if (status != BPCN_OK)
        return status;
    *bytes = memory->note_bytes;
    size_t copied = room < *bytes ? room : *bytes;
    if (copied > 0)
        memcpy(note, memory->note, copied);
    return BPCN_OK;
}
