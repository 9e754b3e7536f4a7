/* Reading a memory file, in whatever way it was opened: snapshot, seal, log. */
#include "store_read.h"

#include "alloc.h"
#include "error.h"
#include "log_record.h"
#include "store.h"
#include "store_snapshot.h"
#include "store_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SMALLEST_LIMIT = 1 << 20, /* bytes of log below which no checkpoint is made by itself */
    MOST_ATTEMPTS = 100       /* each fails only because a writer was at the seal meanwhile */
};

/* No sequence of records may lead to a state that no snapshot may hold. */
static bpcn_status check_replayed(const struct contents *contents)
{
    char reason[256];
    if (state_check(contents) == BPCN_OK)
        return BPCN_OK;
    snprintf(reason, sizeof reason, "%s", bpcn_error());
    return fail(BPCN_CORRUPT, "the log leads to a state that cannot be: %s", reason);
}

/* The file's length, which is not less than when it was closed. */
static bpcn_status measure(const struct log *log, uint64_t *length)
{
    struct file_status is;
    const struct file_ops *ops = log->file.ops;
    if (ops->status(ops->context, log->file.fd, &is) != 0)
        return fail_io("find", log->path);
    *length = is.length;
    if (!log->seal.open && is.length < log->seal.length)
        return fail(BPCN_CORRUPT, "the file is cut short: it has %llu bytes, and had %llu when it was closed",
                    (unsigned long long)is.length, (unsigned long long)log->seal.length);
    return BPCN_OK;
}

bpcn_status read_all(struct log *log, const char *path, struct contents *contents, struct header *header)
{
    struct file_status is;
    const struct file_ops *ops = log->file.ops;
    log->path = path;
    log->buffer = alloc_zeroed(1, LOG_BUFFER_BYTES);
    if (log->buffer == NULL)
        return fail(BPCN_NO_MEMORY, "out of memory");
    if (ops->status(ops->context, log->file.fd, &is) != 0)
        return fail_io("find", path);
    if (!is.regular)
        return fail(BPCN_FORMAT, "not a bayespcn memory: %s is not a file", path);
    bpcn_status status = snapshot_header(&log->file, path, is.length, header);
    if (status == BPCN_OK)
        status = snapshot_seal(&log->file, path, header, &log->seal);
    log->torn_seal = status == BPCN_OK && log->seal.doubtful;
    if (status == BPCN_OK)
        status = measure(log, &is.length); /* after the seal: what was sealed is there, whatever a writer does */
    if (status == BPCN_OK)
        status = snapshot_read(&log->file, path, header, contents);
    if (status != BPCN_OK)
        return status;
    log->version = header->version;
    log->salt = header->salt;
    log->start = log->end = header->snapshot;
    status = log_replay(log, is.length, contents);
    return status == BPCN_OK && log->records > 0 ? check_replayed(contents) : status;
}

uint64_t log_limit(uint64_t snapshot, uint64_t asked)
{
    return asked > 0 ? asked : snapshot > SMALLEST_LIMIT ? snapshot : SMALLEST_LIMIT;
}

static uint64_t sum_most(uint64_t a, uint64_t b)
{
    return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

void fill_info(const struct header *header, uint64_t length, const struct log *log, uint64_t asked,
               bpcn_file_info *info)
{
    uint64_t snapshot = snapshot_most(header),
             most_log = sum_most(log_limit(snapshot, asked), record_most(&header->options));
    *info = (bpcn_file_info){.size = sizeof *info,
                             .version = header->version,
                             .generation = header->generation,
                             .writes = header->writes,
                             .forgets = header->forgets,
                             .deletes = header->deletes,
                             .note_bytes = header->note_bytes,
                             .file_bytes = length,
                             .snapshot_bytes = header->snapshot,
                             .log_bytes = length - header->snapshot,
                             .records = log->records,
                             .dropped_bytes = log->dropped,
                             .dropped_rows = log->dropped_rows,
                             .sealed = !log->seal.open && log->end == log->seal.length && log->dropped == 0,
                             .file_most = sum_most(snapshot, most_log),
                             .disk_most = sum_most(sum_most(snapshot, most_log), snapshot),
                             .torn_seal = log->torn_seal != 0};
}

static bpcn_status open_to_read(const struct file_ops *ops, const char *path, struct file *file)
{
    if (file_open(file, ops, path, O_RDONLY | O_NONBLOCK, 0) != 0)
        return fail_io("open", path);
    return BPCN_OK;
}

bpcn_status store_inspect(const struct file_ops *ops, const char *path, bpcn_file_info *info, bpcn_options *options)
{
    struct file_status is;
    struct header header;
    struct log none = {0};
    bpcn_status status = open_to_read(ops, path, &none.file);
    if (status != BPCN_OK)
        return status;
    if (ops->status(ops->context, none.file.fd, &is) != 0)
        status = fail_io("find", path);
    else if (!is.regular)
        status = fail(BPCN_FORMAT, "not a bayespcn memory: %s is not a file", path);
    else
        status = snapshot_header(&none.file, path, is.length, &header);
    file_close(&none.file);
    if (status != BPCN_OK)
        return status;
    fill_info(&header, is.length, &none, 0, info);
    info->sealed = 0; /* not looked at */
    *options = header.options;
    return BPCN_OK;
}

/* Whether a writer has opened or closed the file since its seal was read. */
static int seal_moved(const struct log *log, const struct header *header)
{
    struct seal now, then = log->seal;
    if (then.epoch == 0 || snapshot_seal(&log->file, log->path, header, &now) != BPCN_OK)
        return 0;
    return now.epoch != then.epoch || now.doubtful != then.doubtful;
}

/* What looks like damage may be a seal that was half written when it was read: then it is read again. */
bpcn_status read_unlocked(const struct file_ops *ops, const char *path, struct log *log, struct contents *contents,
                          struct header *header)
{
    for (int attempt = 1;; attempt++) {
        *log = (struct log){.file = {ops, -1}};
        *contents = (struct contents){.count = 0};
        bpcn_status status = open_to_read(ops, path, &log->file);
        if (status == BPCN_OK)
            status = read_all(log, path, contents, header);
        int again = status == BPCN_CORRUPT && attempt < MOST_ATTEMPTS && seal_moved(log, header);
        file_close(&log->file); /* the memory is as it was now, whatever a writer does next */
        if (!again)
            return status;
        free(log->buffer);
        contents_free(contents);
    }
}

bpcn_status store_load(const struct file_ops *ops, const char *path, struct contents *contents, bpcn_file_info *info)
{
    struct header header;
    struct log log;
    bpcn_status status = read_unlocked(ops, path, &log, contents, &header);
    free(log.buffer);
    if (status != BPCN_OK) {
        contents_free(contents);
        return status;
    }
    if (info != NULL) {
        state_header(contents, header.generation, &header); /* the state after the log, and the snapshot's length */
        header.snapshot = log.start;
        header.version = log.version;
        fill_info(&header, log.end + log.dropped, &log, 0, info);
    }
    return BPCN_OK;
}
