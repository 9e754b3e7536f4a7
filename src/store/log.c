/* Appending records, and repeating them. */
#include "log.h"

#include "alloc.h"
#include "editing.h"
#include "error.h"
#include "log_scan.h"
#include "store_bytes.h"
#include "store_crc.h"
#include "store_format.h"
#include "store_snapshot.h"

#include <errno.h>
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
    put_array(out, change->codes, change->rows * row_networks(&model->options) * model->code_dim, size);
}

static void put_payload(struct outlet *out, const struct model *model, const struct change *change)
{
    uint64_t bits;
    switch (change->kind) {
    case CHANGE_WRITE:
        put_word(out, change->rows | (uint64_t)(change->name != NULL) << 29 | (uint64_t)(change->surprise != NULL) << 30 |
                          (uint64_t)(change->known != NULL) << 31 | (uint64_t)change->shard << 32 |
                          (uint64_t)(change->begin != 0) << 63);
        if (change->surprise != NULL)
            put_array(out, change->surprise, 1, 8);
        put_array(out, change->log_weights, row_networks(&model->options), 8);
        put_rows(out, model, change);
        if (change->known != NULL)
            put_array(out, change->known, model->width[0], 1);
        if (change->name != NULL)
            put_array(out, change->name, NAME_ROOM, 1);
        break;
    case CHANGE_DELETE:
        if (has_shards(&model->options))
            put_word(out, change->shard);
        if (model->options.names > 0)
            put_word(out, change->unnamed);
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

/* Zeros up to the payload's full length, then its checksum, which is returned. */
static uint32_t put_end(struct outlet *out, uint64_t end)
{
    static const unsigned char zeros[8] = {0};
    uint64_t here = out->at + out->used;
    put_array(out, zeros, (size_t)(end - here), 1);
    uint32_t crc = out->crc;
    put_word(out, crc);
    flush(out);
    return crc;
}

/* One more record, whose own checksum this is. */
static void log_count(struct log *log, uint64_t end, uint64_t crc)
{
    unsigned char bytes[8];
    put64(bytes, crc);
    log->sum = crc32c(log->sum, bytes, sizeof bytes);
    log->last = log->end;
    log->end = end;
    log->records++;
}

/* Writes the next seal over the older of the two slots: the one in force stays as it is. */
static int put_seal(struct log *log, struct seal seal)
{
    unsigned char bytes[SEAL_BYTES];
    seal.epoch = log->seal.epoch + 1;
    seal_encode(&seal, log->salt, bytes);
    if (file_write(&log->file, bytes, sizeof bytes, seal_offset(&seal)) != 0)
        return -1;
    log->seal = seal;
    return 0;
}

int log_unseal(struct log *log)
{
    return put_seal(log, (struct seal){.open = 1});
}

bpcn_status log_seal(struct log *log)
{
    struct seal seal = {.length = log->end, .records = log->records, .sum = log->sum};
    if (!log->seal.open)
        return BPCN_OK;
    if (put_seal(log, seal) != 0)
        return fail_io("seal", log->path);
    return file_sync(&log->file) == 0 ? BPCN_OK : fail_io("sync", log->path);
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
    if (!log->seal.open && log_unseal(log) != 0)
        return fail_io("open the seal of", log->path);
    out.crc = record_encode(&record, log->salt, log->buffer);
    put_payload(&out, model, change);
    uint32_t sum = put_end(&out, log->end + RECORD_BYTES + record.bytes);
    if (out.failed) {
        int reason = errno;
        bpcn_status status = fail_io("append to", log->path);
        *broken = log_cut(log, log->end) != 0;
        errno = reason;
        return status;
    }
    log_count(log, out.at, sum);
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

bpcn_status log_repeat(struct editing *editing, const struct change *change)
{
    struct contents *contents = editing->contents;
    if (change->kind == CHANGE_NOTE && contents_keep_note(contents, change->note, change->note_bytes) != 0)
        return BPCN_NO_MEMORY;
    bpcn_status status = editing_ready(editing, change);
    if (status == BPCN_OK)
        editing_make(editing, change);
    return status;
}

/* What is in a file behind the last whole record. */
struct tail {
    uint64_t records; /* before it */
    int witness;      /* a record that was written after the first one missing had been synced */
    uint64_t end;     /* where it begins */
    int headed;       /* there is a header */
    uint64_t rows;    /* records of rows */
};

static int look(void *user, const struct record *record)
{
    struct tail *tail = user;
    tail->rows += record->kind == CHANGE_WRITE;
    tail->headed |= record->offset == tail->end;
    return tail->witness = record->synced > tail->records;
}

/* What is at log->end is not a whole record. Only what was never synced can be torn by a crash, and that in sectors:
   what is otherwise is damaged, and to drop it would lose what the memory promised to keep. */
static bpcn_status torn_or_damaged(struct log *log, uint64_t length, enum found found)
{
    struct tail tail = {.records = log->records, .end = log->end};
    if (!log->seal.open && log->end < log->seal.length)
        return fail_record(log, "it was damaged after the file had been closed");
    if (found == FOUND_FLIPPED)
        return fail_record(log, "one bit of it is wrong, which no crash leaves behind");
    bpcn_status status = scan_headers(log, length, log->end, look, &tail);
    if (status == BPCN_OK && tail.witness)
        return fail_record(log, "it is damaged, and others follow that were written after it was safe");
    if (status == BPCN_OK && log->seal.open && log->seal.doubtful)
        return fail_record(log, "it is damaged, and so is a seal, which is only written to a file that is whole");
    log->dropped = length - log->end;
    log->dropped_rows = tail.rows + !tail.headed; /* without a header it may be one */
    return status;
}

static bpcn_status replay_record(struct log *log, const struct record *record, unsigned char *payload,
                                 struct editing *editing)
{
    const struct contents *contents = editing->contents;
    struct change change;
    const char *what;
    uint64_t kept = get64(payload + record->bytes);
    if (record->sequence != log->records)
        return fail_record(log, "its sequence number is wrong");
    if (record->synced > log->records || record->synced < log->synced)
        return fail_record(log, "its count of synced records is wrong");
    bpcn_status status = change_decode(contents->shard[0], record, payload, &change, &what);
    if (status != BPCN_OK)
        return fail_record(log, what);
    if (change.known != NULL && log->version < VERSION_HOLES)
        return fail_record(log, "its row has holes, which the file's version does not know");
    if (change.surprise != NULL && contents->options.surprises == 0)
        return fail_record(log, "its row's surprise is given, but none are kept");
    if (change.name != NULL && contents->options.names == 0)
        return fail_record(log, "its row's name is given, but none are kept");
    if (change.shard > contents->count || (change.shard == contents->count && !change.begin))
        return fail_record(log, "its shard has not begun");
    if (change.begin && change.shard < contents->count && contents->options.when_full != BPCN_RECYCLE)
        return fail_record(log, "its shard has begun before, and is not to begin anew");
    status = log_repeat(editing, &change);
    if (status != BPCN_OK)
        return fail(status, "out of memory");
    log_count(log, log->end + RECORD_BYTES + record->bytes + RECORD_END_BYTES, kept);
    log->synced = record->synced;
    return BPCN_OK;
}

/* A file that was closed must have what it then had; what follows was begun since. */
static bpcn_status check_seal(const struct log *log, int *passed)
{
    const struct seal *seal = &log->seal;
    if (*passed || log->end < seal->length)
        return BPCN_OK;
    *passed = log->end == seal->length && log->records == seal->records && log->sum == seal->sum;
    return *passed ? BPCN_OK
                   : fail(BPCN_CORRUPT,
                          "the log is not the one that was sealed when the file was closed, with %llu records up to "
                          "byte %llu",
                          (unsigned long long)seal->records, (unsigned long long)seal->length);
}

bpcn_status log_replay(struct log *log, uint64_t length, struct contents *contents)
{
    struct editing editing;
    enum found found = FOUND_WHOLE;
    int passed = log->seal.open;
    bpcn_status status = check_seal(log, &passed);
    if (editing_create(&editing, contents, NULL, NULL, 1) != 0)
        status = fail(BPCN_NO_MEMORY, "out of memory");
    while (status == BPCN_OK && found == FOUND_WHOLE && log->end < length) {
        struct record record;
        unsigned char *payload;
        status = scan_record(log, length, &record, &payload, &found);
        if (status == BPCN_OK && found == FOUND_WHOLE)
            status = replay_record(log, &record, payload, &editing);
        if (status == BPCN_OK && found == FOUND_WHOLE)
            status = check_seal(log, &passed);
        free(payload);
    }
    editing_free(&editing);
    return status == BPCN_OK && found != FOUND_WHOLE ? torn_or_damaged(log, length, found) : status;
}
