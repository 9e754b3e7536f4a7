/*
 * A memory in a file. Opening reads the snapshot and repeats the log; every change is appended to the log before it is
 * made; a checkpoint replaces the file by a new snapshot.
 */
#include "store.h"

#include "alloc.h"
#include "error.h"
#include "format.h"
#include "log.h"
#include "options.h"
#include "place.h"
#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- reading a whole file */

enum {
    SMALLEST_LIMIT = 1 << 20, /* bytes of log below which no checkpoint is made by itself */
    MOST_READS = 100       /* each fails only because a writer was at the seal meanwhile */
};

/* No sequence of records may lead to a state that no snapshot may hold. */
static bpcn_status check_replayed(const struct contents *contents)
{
    char reason[256];
    if (snapshot_check(contents) == BPCN_OK)
        return BPCN_OK;
    snprintf(reason, sizeof reason, "%s", bpcn_error());
    return bpcn_fail(BPCN_CORRUPT, "the log leads to a state that cannot be: %s", reason);
}

/* The file's length, which is not less than when it was closed. */
static bpcn_status measure_file(const struct log *log, uint64_t *length)
{
    struct file_status is;
    const struct file_ops *ops = log->file.ops;
    if (ops->status(ops->context, log->file.fd, &is) != 0)
        return file_fail("find", log->path);
    *length = is.length;
    if (!log->seal.open && is.length < log->seal.length)
        return bpcn_fail(BPCN_CORRUPT, "the file is cut short: it has %llu bytes, and had %llu when it was closed",
                    (unsigned long long)is.length, (unsigned long long)log->seal.length);
    return BPCN_OK;
}

static uint64_t log_limit(uint64_t snapshot, uint64_t asked)
{
    return asked > 0 ? asked : snapshot > SMALLEST_LIMIT ? snapshot : SMALLEST_LIMIT;
}

static uint64_t sum_most(uint64_t a, uint64_t b)
{
    return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

static void fill_info(const struct header *header, uint64_t length, const struct log *log, uint64_t asked,
               bpcn_file_info *info)
{
    uint64_t snapshot = snapshot_most(header),
             most_log = sum_most(log_limit(snapshot, asked), log_record_most(&header->options));
    *info = (bpcn_file_info){.size = sizeof *info,
                             .version = STORE_VERSION,
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

static bpcn_status read_file(struct log *log, const char *path, struct contents *contents, struct header *header)
{
    struct file_status is;
    const struct file_ops *ops = log->file.ops;
    log->path = path;
    log->buffer = alloc_zeroed(1, LOG_BUFFER_BYTES);
    if (log->buffer == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (ops->status(ops->context, log->file.fd, &is) != 0)
        return file_fail("find", path);
    if (!is.regular)
        return bpcn_fail(BPCN_FORMAT, "not a bayespcn memory: %s is not a file", path);
    bpcn_status status = snapshot_header(&log->file, path, is.length, header);
    if (status == BPCN_OK)
        status = snapshot_seal(&log->file, path, header, &log->seal);
    log->torn_seal = status == BPCN_OK && log->seal.doubtful;
    if (status == BPCN_OK)
        status = measure_file(log, &is.length); /* after the seal: what was sealed is there, whatever a writer does */
    if (status == BPCN_OK)
        status = snapshot_read(&log->file, path, header, contents);
    if (status != BPCN_OK)
        return status;
    bpcn_file_info info;
    fill_info(header, is.length, log, 0, &info);
    log->tail_most = info.file_most;
    log->salt = header->salt;
    log->start = log->end = header->snapshot;
    status = log_replay(log, is.length, contents);
    return status == BPCN_OK && log->records > 0 ? check_replayed(contents) : status;
}

static bpcn_status open_to_read(const struct file_ops *ops, const char *path, struct file *file)
{
    if (file_open(file, ops, path, O_RDONLY | O_NONBLOCK, 0) != 0)
        return file_fail("open", path);
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
        status = file_fail("find", path);
    else if (!is.regular)
        status = bpcn_fail(BPCN_FORMAT, "not a bayespcn memory: %s is not a file", path);
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
static bpcn_status read_unlocked(const struct file_ops *ops, const char *path, struct log *log, struct contents *contents,
                          struct header *header)
{
    for (int attempt = 1;; attempt++) {
        *log = (struct log){.file = {ops, -1}};
        *contents = (struct contents){.count = 0};
        bpcn_status status = open_to_read(ops, path, &log->file);
        if (status == BPCN_OK)
            status = read_file(log, path, contents, header);
        int again = status == BPCN_CORRUPT && attempt < MOST_READS && seal_moved(log, header);
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
        snapshot_describe(contents, header.generation, &header); /* the state after the log, and the snapshot's length */
        header.snapshot = log.start;
        fill_info(&header, log.end + log.dropped, &log, 0, info);
    }
    return BPCN_OK;
}

/* ---- writing */

struct store {
    struct place place;
    struct log log; /* with the open and locked file; fd = -1 for a reader */
    uint64_t generation;
    uint64_t dropped; /* bytes of the torn end that opening found */
    uint64_t dropped_rows;
    int torn_seal;     /* that opening found */
    uint64_t replayed; /* records that opening repeated */
    uint64_t limit;    /* bytes of log that make a checkpoint happen */
    uint64_t asked;    /* for that; 0: as long as the snapshot */
    uint64_t handled;  /* records up to the last store_finish */
    bpcn_sync sync;
    int read_only;
    int made;         /* there was no file before */
    int broken;       /* the file may differ from what this handle assumes: no more is written */
    int gone;         /* it is no longer at its path */
    pid_t process;    /* that opened it: after a fork the child's copy writes no more */
    int suspect;      /* the last record may have spoilt the state */
    int everywhere;   /* that record may have changed any shard */
    size_t last_rows; /* that it wrote */
    size_t last_shard; /* that it changed, where it is of one */
};

bpcn_status store_save(const struct file_ops *ops, const struct contents *contents, const char *path)
{
    struct header header;
    struct file old = {ops, -1}, file = {ops, -1};
    struct file_status is;
    int moved;
    struct place *place = alloc_zeroed(1, sizeof *place);
    if (place == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    bpcn_status status = place_find(path, place);
    if (status == BPCN_OK && snapshot_check(contents) != BPCN_OK)
        status = BPCN_NUMERIC;
    if (status == BPCN_OK && ops->find(ops->context, place->path, &is) == 0 && !is.regular)
        status = bpcn_fail(BPCN_INVALID, "%s is not a file: it is not replaced by one", path);
    if (status == BPCN_OK)
        status = place_lock(ops, place, O_RDONLY, &old);
    if (status == BPCN_OK) {
        status = place_replace(place, &old, NULL, contents, 0, &file, &header, &moved);
        status = place_explain(ops, place, contents, "write", status);
    }
    file_close(&file);
    file_close(&old);
    free(place);
    return status;
}

/* ---- changes */

/* What the records since the last check have changed. */
static bpcn_status check_changed(const struct store *store, const struct contents *contents)
{
    if (store->everywhere)
        return snapshot_check(contents);
    return store->last_rows > 0 ? snapshot_check_shard(contents, store->last_shard) : BPCN_OK;
}

/* Where the disk is small, the log is folded while a new file still fits beside it: half of what that leaves free is
   for the log. Where none fits the log is all there is, and has what there is. */
static void set_limit(struct store *store, uint64_t snapshot)
{
    uint64_t there, bytes = store->log.end - store->log.start;
    const struct file_ops *ops = store->log.file.ops;
    store->limit = log_limit(snapshot, store->asked);
    if (store->asked > 0 || store->read_only || ops->room(ops->context, store->place.folder, &there) != 0)
        return;
    if (there > snapshot && bytes + (there - snapshot) / 2 < store->limit)
        store->limit = bytes + (there - snapshot) / 2;
}

/* Folds the log where it is due. A log that cannot be folded grows on, and folding is tried again after every quarter of
   its usual length, until one more record could make the file longer than file_most: then this fails. */
static bpcn_status checkpoint_when_due(struct store *store, const struct contents *contents)
{
    char reason[BPCN_MAX_ERROR + 1];
    bpcn_file_info info;
    uint64_t bytes = store->log.end - store->log.start, usual = log_limit(store->log.start, store->asked);
    if (bytes < store->limit || store->limit == UINT64_MAX)
        return BPCN_OK;
    bpcn_status status = store_checkpoint(store, contents);
    if (status == BPCN_OK || store->broken || store->gone)
        return status;
    snprintf(reason, sizeof reason, "%s", bpcn_error());
    store_info(store, contents, &info);
    uint64_t most = info.file_most - log_record_most(&contents->options) - store->log.start;
    store->limit = bytes < most && most - bytes > usual / 4 ? bytes + usual / 4 : most;
    if (bytes < most || status == BPCN_NUMERIC)
        return bytes < most ? BPCN_OK : status;
    return bpcn_fail(status, "the log of %s is as long as it may get, and cannot be folded: %s", store->place.path, reason);
}

bpcn_status store_append(struct store *store, const struct contents *contents, const struct change *change)
{
    bpcn_status status = store_begin(store, change->kind);
    if (store == NULL || store->read_only || status != BPCN_OK)
        return status;
    /* What a forest learns was checked when it was found, and its sums cannot overflow. */
    int numbers = change->kind != CHANGE_NOTE && change->kind != CHANGE_MINIMIZER && contents->options.kind != BPCN_TABLE;
    if (!log_change_sound(contents->shard[0], change))
        return bpcn_fail(BPCN_NUMERIC, "a code is not finite");
    if (store->suspect && (change->rows == 0 || change->shard != store->last_shard)) {
        /* only the last record can be taken back: what it made must be sound before another shard's follows */
        if (check_changed(store, contents) != BPCN_OK)
            return BPCN_NUMERIC;
        store->suspect = store->everywhere = 0;
    }
    status = checkpoint_when_due(store, contents); /* a call of many rows does not make the log longer than others do */
    if (status != BPCN_OK)
        return status;
    status = log_append(&store->log, contents->shard[0], change, &store->broken);
    status = place_explain(store->log.file.ops, &store->place, contents, "append to", status);
    if (status == BPCN_OK && store->sync == BPCN_SYNC_EACH)
        status = store_sync(store);
    if (status == BPCN_OK) {
        store->everywhere |= numbers && change->rows == 0;
        store->suspect |= numbers;
        store->last_shard = change->shard;
        store->last_rows = change->rows;
    }
    return status;
}

bpcn_status store_begin(const struct store *store, enum change_kind kind)
{
    if (store != NULL && store->read_only)
        return kind == CHANGE_MINIMIZER ? BPCN_OK : bpcn_fail(BPCN_READ_ONLY, "the memory was opened read-only");
    if (store != NULL && store->process != getpid())
        return bpcn_fail(BPCN_INVALID, "%s was opened by another process, which forked this one: open it here to write",
                         store->place.path);
    if (store != NULL && store->gone)
        return file_fail_gone(&store->log.file, store->place.path);
    if (store != NULL && store->broken)
        return bpcn_fail(BPCN_IO,
                    "an earlier write or sync of %s failed: no more is written to it; save elsewhere or open "
                    "it again",
                    store->place.path);
    return BPCN_OK;
}

bpcn_status store_refuse_set(const struct store *store)
{
    if (store == NULL)
        return BPCN_OK;
    return bpcn_fail(BPCN_READ_ONLY, "the parameters of a memory that lives in a file cannot be set: load it, set them, "
                                "and save it");
}

/* What is synced counts only in the file at the path. */
static bpcn_status check_path(struct store *store)
{
    int here = file_is_at(&store->log.file, store->place.path);
    if (here < 0)
        return file_fail("find", store->place.path);
    store->gone = !here;
    return here ? BPCN_OK : file_fail_gone(&store->log.file, store->place.path);
}

bpcn_status store_sync(struct store *store)
{
    bpcn_status status = store_begin(store, CHANGE_WRITE);
    if (status == BPCN_OK)
        status = log_sync(&store->log);
    if (status == BPCN_OK)
        status = check_path(store);
    store->broken |= status != BPCN_OK;
    return status;
}

/* Takes the last record out of the file and the contents back to what the file then holds. */
static bpcn_status undo_last(struct store *store, struct contents *contents)
{
    struct log log = {.file = store->log.file};
    struct header header;
    struct contents before = {.count = 0};
    store->broken = 1; /* until the memory is whole again */
    if (log_cut(&store->log, store->log.last) != 0)
        return file_fail("cut", store->place.path);
    bpcn_status status = read_file(&log, store->place.path, &before, &header);
    free(log.buffer);
    if (status != BPCN_OK) {
        contents_free(&before);
        return status;
    }
    before.options.threads = contents->options.threads;
    contents_free(contents);
    *contents = before;
    store->log.records = store->log.synced = store->handled = log.records;
    store->log.last = log.last;
    store->log.sum = log.sum;
    store->suspect = store->everywhere = 0;
    store->broken = 0;
    return bpcn_fail(BPCN_NUMERIC, "the change was taken back: the memory's numbers overflowed");
}

bpcn_status store_finish(struct store *store, struct contents *contents, bpcn_status status, size_t *lost)
{
    if (store == NULL || store->log.records == store->handled)
        return status;
    store->handled = store->log.records;
    if (store->suspect && check_changed(store, contents) != BPCN_OK) {
        if (lost != NULL)
            *lost = store->last_rows;
        return undo_last(store, contents);
    }
    store->suspect = store->everywhere = 0;
    if (store->sync == BPCN_SYNC_CALL && !store->broken) {
        bpcn_status synced = store_sync(store);
        status = synced != BPCN_OK ? synced : status;
    }
    if (status == BPCN_OK)
        (void)checkpoint_when_due(store, contents); /* the log has everything; the next change says what is wrong */
    return status;
}

/* The empty log of a new file. */
static void begin_log(struct log *log, struct file file, const struct header *header)
{
    *log = (struct log){.file = file,
                        .path = log->path,
                        .buffer = log->buffer,
                        .salt = header->salt,
                        .start = header->snapshot,
                        .end = header->snapshot,
                        .last = header->snapshot,
                        .seal = seal_first(header->snapshot)};
}

bpcn_status store_checkpoint(struct store *store, const struct contents *contents)
{
    struct file file;
    struct header header;
    int moved;
    bpcn_status status = store_begin(store, CHANGE_WRITE);
    if (status == BPCN_OK && snapshot_check(contents) != BPCN_OK)
        return BPCN_NUMERIC;
    if (status == BPCN_OK)
        status = check_path(store);
    if (status != BPCN_OK)
        return status;
    status = place_replace(&store->place, &store->log.file, NULL, contents, store->generation + 1, &file, &header, &moved);
    if (status != BPCN_OK) {
        store->broken |= moved; /* what we hold open may be at the path no more */
        return place_explain(store->log.file.ops, &store->place, contents, "fold the log of", status);
    }
    file_close(&store->log.file);
    begin_log(&store->log, file, &header);
    store->handled = 0;
    store->suspect = store->everywhere = 0; /* the state was looked at */
    store->generation++;
    set_limit(store, header.snapshot);
    return BPCN_OK;
}

bpcn_status store_close(struct store *store)
{
    bpcn_status status = BPCN_OK;
    if (store == NULL)
        return BPCN_OK;
    if (!store->read_only && !store->broken) {
        status = store_sync(store);
        if (status == BPCN_OK)
            status = log_seal(&store->log); /* after the sync: what a seal says must be durable before it */
    }
    if (store->log.file.fd >= 0 && store->process == getpid())
        (void)store->log.file.ops->unlock(store->log.file.ops->context, store->log.file.fd); /* a child may hold a copy */
    file_close(&store->log.file);
    free(store->log.buffer);
    free(store);
    return status;
}

void store_abandon(struct store *store)
{
    if (store == NULL)
        return;
    const struct file_ops *ops = store->log.file.ops;
    store->broken = 1; /* nothing of it is to be synced */
    if (store->made)
        ops->remove(ops->context, store->place.path);
    store_close(store);
}

/* ---- opening */

/* Makes an empty memory and its file. */
static bpcn_status create_file(struct store *store, const bpcn_options *options, struct contents *contents,
                          struct header *header)
{
    struct file none = store->log.file, file;
    bpcn_options checked;
    int moved;
    bpcn_status status = options_check(options, &checked);
    if (status != BPCN_OK)
        return status;
    store->log.buffer = alloc_zeroed(1, LOG_BUFFER_BYTES);
    if (contents_create_empty(contents, &checked) != 0 || store->log.buffer == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    status = place_replace(&store->place, &none, NULL, contents, 0, &file, header, &moved);
    if (status != BPCN_OK)
        return status;
    store->made = 1;
    begin_log(&store->log, file, header);
    return BPCN_OK;
}

/* Makes the file what the memory is: without the torn end, and durable as far as it was read. A file that is not just
   as it was closed, or of which a crash tore a seal, is open from now on; of the two seals only one is ever undecided.
 */
static bpcn_status open_recovered(struct log *log)
{
    const struct seal *seal = &log->seal;
    int as_closed = !seal->open && log->dropped == 0 && log->end == seal->length;
    if (log->dropped > 0 && log_cut(log, log->end) != 0)
        return file_fail("cut the torn end off", log->path);
    if ((log->records > 0 || seal->epoch > FIRST_EPOCH) && file_sync(&log->file) != 0)
        return file_fail("sync", log->path);
    if (seal->epoch > 0 && (seal->doubtful || (!seal->open && !as_closed)) &&
        (log_unseal(log) != 0 || file_sync(&log->file) != 0))
        return file_fail("open the seal of", log->path);
    log->synced = log->records;
    return BPCN_OK;
}

static bpcn_status open_to_write(struct store *store, const struct file_ops *ops, const bpcn_options *options,
                                 struct contents *contents, struct header *header)
{
    bpcn_status status = place_lock(ops, &store->place, O_RDWR, &store->log.file);
    if (status != BPCN_OK)
        return status;
    if (store->log.file.fd < 0) {
        if (options != NULL)
            return create_file(store, options, contents, header);
        errno = ENOENT;
        return file_fail("open", store->place.path);
    }
    status = read_file(&store->log, store->place.path, contents, header);
    if (status == BPCN_OK)
        status = open_recovered(&store->log);
    if (status == BPCN_OK)
        place_clean(ops, &store->place);
    return status;
}

static bpcn_status give_up(struct store *store, struct contents *contents, bpcn_status status)
{
    store->broken = 1; /* nothing of it is to be synced */
    store_close(store);
    contents_free(contents);
    return status;
}

bpcn_status store_open(const struct file_ops *ops, const char *path, const bpcn_open_options *options,
                       struct contents *contents, struct store **opened)
{
    struct header header;
    struct store *store = alloc_zeroed(1, sizeof *store);
    *contents = (struct contents){.count = 0};
    *opened = NULL;
    if (store == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    store->log.file = (struct file){ops, -1};
    store->log.path = store->place.path;
    store->read_only = options->read_only;
    store->process = getpid();
    bpcn_status status = place_find(path, &store->place);
    if (status == BPCN_OK)
        status = options->read_only ? read_unlocked(ops, store->place.path, &store->log, contents, &header)
                                    : open_to_write(store, ops, options->create, contents, &header);
    if (status != BPCN_OK)
        return give_up(store, contents, status);
    store->generation = header.generation;
    store->sync = options->sync;
    store->replayed = store->handled = store->log.records;
    store->dropped = store->log.dropped;
    store->dropped_rows = store->log.dropped_rows;
    store->torn_seal = store->log.torn_seal;
    store->asked = options->checkpoint_bytes;
    set_limit(store, header.snapshot);
    if (options->threads > 0)
        contents->options.threads = options->threads;
    *opened = store;
    return BPCN_OK;
}

void store_info(const struct store *store, const struct contents *contents, bpcn_file_info *info)
{
    struct header header;
    snapshot_describe(contents, store->generation, &header);
    header.snapshot = store->log.start;
    fill_info(&header, store->log.end, &store->log, store->asked, info);
    info->replayed = store->replayed;
    info->dropped_bytes = store->dropped;
    info->dropped_rows = store->dropped_rows;
    info->torn_seal = store->torn_seal != 0;
}
