/* Appending records, and repeating them. */
#include "log.h"

#include "alloc.h"
#include "editing.h"
#include "error.h"
#include "log_record.h"
#include "store_bytes.h"
#include "store_crc.h"
#include "store_format.h"
#include "store_snapshot.h"

#include <stdlib.h>

/* ---- appending */

/* A record on its way out. */
struct outlet {
    struct log *log;
    uint64_t at; /* where the buffer's first byte goes */
    size_t used; /* of the buffer */
    uint32_t crc;
    int failed;
};

static void flush(struct outlet *out)
{
    if (!out->failed && out->used > 0)
        out->failed = file_write(&out->log->file, out->log->buffer, out->used, out->at) != 0;
    out->at += out->used;
    out->used = 0;
}

/* n numbers of 1, 4 or 8 bytes. */
static void put_array(struct outlet *out, const void *array, size_t n, size_t size)
{
    const unsigned char *from = array;
    while (n > 0) {
        size_t room = (LOG_BUFFER_BYTES - out->used) / size, some = n < room ? n : room;
        unsigned char *to = out->log->buffer + out->used;
        if (size == 1)
            memcpy(to, from, some);
        else
            put_reals(to, from, some, size);
        out->crc = crc32c(out->crc, to, some * size);
        out->used += some * size;
        from += some * size;
        n -= some;
        if (LOG_BUFFER_BYTES - out->used < 8)
            flush(out);
    }
}

static void put_word(struct outlet *out, uint64_t word)
{
    put_array(out, &word, 1, sizeof word);
}

static void put_rows(struct outlet *out, const struct model *model, const struct change *change)
{
    size_t size = real_size(model);
    put_array(out, change->x, change->rows * model->width[0], size);
    put_array(out, change->codes, change->rows * model->options.particles * model->code_dim, size);
}

static void put_payload(struct outlet *out, const struct model *model, const struct change *change)
{
    size_t particles = model->options.particles;
    uint64_t bits;
    switch (change->kind) {
    case CHANGE_WRITE:
        put_word(out, change->rows | (uint64_t)(change->surprise != NULL) << 30 |
                          (uint64_t)(change->known != NULL) << 31 | (uint64_t)change->shard << 32 |
                          (uint64_t)(change->begin != 0) << 63);
        if (change->surprise != NULL)
            put_array(out, change->surprise, 1, 8);
        put_array(out, change->log_weights, particles, 8);
        put_rows(out, model, change);
        if (change->known != NULL)
            put_array(out, change->known, model->width[0], 1);
        break;
    case CHANGE_DELETE:
        if (has_shards(&model->options))
            put_word(out, change->shard);
        put_rows(out, model, change);
        break;
    case CHANGE_NOTE:
        put_word(out, change->note_bytes);
        put_array(out, change->note, change->note_bytes, 1);
        break;
    case CHANGE_FORGET:
    case CHANGE_DISCOUNT:
        memcpy(&bits, &change->beta, sizeof bits);
        put_word(out, bits);
        break;
    case CHANGE_MINIMIZER:
        put_word(out, (uint64_t)change->minimizer);
        break;
    }
}

/* Zeros up to the payload's full length, then its checksum. */
static void put_end(struct outlet *out, uint64_t end)
{
    static const unsigned char zeros[8] = {0};
    uint64_t here = out->at + out->used;
    put_array(out, zeros, (size_t)(end - here), 1);
    put_word(out, out->crc);
    flush(out);
}

int log_cut(struct log *log, uint64_t end)
{
    if (file_truncate(&log->file, end) != 0 || file_sync(&log->file) != 0)
        return -1;
    log->end = end;
    return 0;
}

bpcn_status log_append(struct log *log, const struct model *model, const struct change *change, int *broken)
{
    struct record record = {(uint32_t)change->kind, log->end, log->records, log->synced, change_bytes(model, change)};
    struct outlet out = {.log = log, .at = log->end, .used = RECORD_BYTES};
    out.crc = record_encode(&record, log->salt, log->buffer);
    put_payload(&out, model, change);
    put_end(&out, log->end + RECORD_BYTES + record.bytes);
    if (out.failed) {
        bpcn_status status = fail_io("append to", log->path);
        *broken = log_cut(log, log->end) != 0;
        return status;
    }
    log->last = log->end;
    log->end = out.at;
    log->records++;
    return BPCN_OK;
}

bpcn_status log_sync(struct log *log)
{
    if (log->synced == log->records)
        return BPCN_OK;
    if (file_sync(&log->file) != 0)
        return fail_io("sync", log->path);
    log->synced = log->records;
    return BPCN_OK;
}

/* ---- repeating */

/* Made as it was made before: by the same call, of what the record holds. */
static bpcn_status repeat(struct editing *editing, const struct change *change)
{
    struct contents *contents = editing->contents;
    if (change->kind == CHANGE_NOTE && contents_keep_note(contents, change->note, change->note_bytes) != 0)
        return BPCN_NO_MEMORY;
    bpcn_status status = editing_ready(editing, change);
    if (status == BPCN_OK)
        editing_make(editing, change);
    return status;
}

static bpcn_status damaged(const struct log *log, const char *what)
{
    return fail(BPCN_CORRUPT, "record %llu of the log (at byte %llu): %s", (unsigned long long)log->records,
                (unsigned long long)log->end, what);
}

/* Reads up to n bytes of a file that had `length`. Fewer than it should have is an error, never a
   torn end, which would be cut off; unless a writer has just cut it. */
static bpcn_status read_some(const struct log *log, uint64_t length, void *bytes, size_t n, uint64_t at, size_t *got)
{
    struct file_status is;
    uint64_t there = length - at < n ? length - at : n;
    const struct file_ops *ops = log->file.ops;
    if (file_read(&log->file, bytes, (size_t)there, at, got) != 0)
        return fail_io("read", log->path);
    if (*got == there)
        return BPCN_OK;
    if (ops->status(ops->context, log->file.fd, &is) != 0)
        return fail_io("find", log->path);
    return is.length < at + there ? BPCN_OK : fail_early_end(log->path, at + *got);
}

/* Looks for a later record that was written after the one at log->end had been synced. */
static bpcn_status find_witness(struct log *log, uint64_t length, int *found)
{
    const uint64_t step = (LOG_BUFFER_BYTES - RECORD_BYTES) / 8 * 8;
    bpcn_status status = BPCN_OK;
    *found = 0;
    for (uint64_t at = log->end + 8; status == BPCN_OK && !*found && at + RECORD_BYTES <= length; at += step) {
        size_t got = 0;
        status = read_some(log, length, log->buffer, LOG_BUFFER_BYTES, at, &got);
        for (size_t i = 0; !*found && i < step && i + RECORD_BYTES <= got; i += 8) {
            struct record record;
            uint32_t crc;
            *found =
                record_decode(log->buffer + i, log->salt, at + i, &record, &crc) == 0 && record.synced > log->records;
        }
    }
    return status;
}

/* What is at log->end is not a whole record. Only what was never synced can be torn by a crash:
   a record that was is damaged, and to drop it would lose what the memory promised to keep. */
static bpcn_status torn_or_damaged(struct log *log, uint64_t length)
{
    int found;
    bpcn_status status = find_witness(log, length, &found);
    if (status == BPCN_OK && found)
        return damaged(log, "it is damaged, and others follow that were written after it was safe");
    log->dropped = length - log->end;
    return status;
}

/* Reads the record at log->end. *whole is 0 when there is none there. *payload is the caller's to
   free. */
static bpcn_status read_record(struct log *log, uint64_t length, struct record *record, unsigned char **payload,
                               int *whole)
{
    unsigned char header[RECORD_BYTES];
    size_t got, want;
    uint32_t crc;
    *whole = 0;
    bpcn_status status = read_some(log, length, header, sizeof header, log->end, &got);
    if (status != BPCN_OK || got < sizeof header || record_decode(header, log->salt, log->end, record, &crc) != 0)
        return status;
    uint64_t room = length - log->end - RECORD_BYTES;
    if (record->bytes % 8 != 0)
        return damaged(log, "its length is no multiple of 8");
    if (room < RECORD_END_BYTES || record->bytes > room - RECORD_END_BYTES)
        return BPCN_OK;
    want = (size_t)record->bytes + RECORD_END_BYTES;
    *payload = alloc_zeroed(1, want);
    if (*payload == NULL)
        return fail(BPCN_NO_MEMORY, "out of memory");
    status = read_some(log, length, *payload, want, log->end + RECORD_BYTES, &got);
    *whole = status == BPCN_OK && got == want &&
             get64(*payload + record->bytes) == crc32c(crc, *payload, (size_t)record->bytes);
    return status;
}

static bpcn_status replay_record(struct log *log, const struct record *record, unsigned char *payload,
                                 struct editing *editing)
{
    const struct contents *contents = editing->contents;
    struct change change;
    const char *what;
    if (record->sequence != log->records)
        return damaged(log, "its sequence number is wrong");
    if (record->synced > log->records || record->synced < log->synced)
        return damaged(log, "its count of synced records is wrong");
    bpcn_status status = change_decode(contents->shard[0], record, payload, &change, &what);
    if (status != BPCN_OK)
        return damaged(log, what);
    if (change.known != NULL && log->version < VERSION_HOLES)
        return damaged(log, "its row has holes, which the file's version does not know");
    if (change.surprise != NULL && contents->options.surprises == 0)
        return damaged(log, "its row's surprise is given, but none are kept");
    if (change.shard > contents->count || (change.shard == contents->count && !change.begin))
        return damaged(log, "its shard has not begun");
    if (change.begin && change.shard < contents->count && contents->options.when_full != BPCN_RECYCLE)
        return damaged(log, "its shard has begun before, and is not to begin anew");
    status = repeat(editing, &change);
    if (status != BPCN_OK)
        return fail(status, "out of memory");
    log->last = log->end;
    log->end += RECORD_BYTES + record->bytes + RECORD_END_BYTES;
    log->records++;
    log->synced = record->synced;
    return BPCN_OK;
}

bpcn_status log_replay(struct log *log, uint64_t length, struct contents *contents)
{
    struct editing editing;
    bpcn_status status = BPCN_OK;
    int whole = 1;
    if (editing_create(&editing, contents, NULL, NULL, 1) != 0)
        status = fail(BPCN_NO_MEMORY, "out of memory");
    while (status == BPCN_OK && whole && log->end < length) {
        struct record record;
        unsigned char *payload = NULL;
        status = read_record(log, length, &record, &payload, &whole);
        if (status == BPCN_OK && whole)
            status = replay_record(log, &record, payload, &editing);
        free(payload);
    }
    editing_free(&editing);
    return status == BPCN_OK && !whole ? torn_or_damaged(log, length) : status;
}
