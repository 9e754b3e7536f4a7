/*
 * Records of the log: in bytes and back, found in a file that may be torn, appended, and repeated. Nothing that is read
 * is believed before it is checked.
 */
#include "log.h"

#include "alloc.h"
#include "error.h"
#include "format.h"
#include "name_table.h"
#include "novelty_history.h"
#include "snapshot.h"
#include "table.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- records in bytes and back */

/* Where the fields of a record's header are. */
enum { RECORD_AT_MARK = 0, RECORD_AT_KIND = 4, RECORD_AT_OFFSET = 8, RECORD_AT_SEQUENCE = 16, RECORD_AT_SYNCED = 24, RECORD_AT_BYTES = 32, RECORD_AT_CHECKSUM = 40 };

static const uint32_t record_mark = 0x474f4c42; /* "BLOG" */

enum { RECORD_MOST_ROWS = 1024 }; /* of one record */

static uint32_t record_checksum(const unsigned char *header, uint32_t salt)
{
    unsigned char salted[4];
    put32(salted, salt);
    return crc32c(crc32c(0, salted, sizeof salted), header, RECORD_AT_CHECKSUM);
}

uint32_t record_encode(const struct record *record, uint32_t salt, unsigned char out[RECORD_BYTES])
{
    memset(out, 0, RECORD_BYTES);
    put32(out + RECORD_AT_MARK, record_mark);
    put32(out + RECORD_AT_KIND, record->kind);
    put64(out + RECORD_AT_OFFSET, record->offset);
    put64(out + RECORD_AT_SEQUENCE, record->sequence);
    put64(out + RECORD_AT_SYNCED, record->synced);
    put64(out + RECORD_AT_BYTES, record->bytes);
    uint32_t crc = record_checksum(out, salt);
    put32(out + RECORD_AT_CHECKSUM, crc);
    return crc;
}

int record_decode(const unsigned char in[RECORD_BYTES], uint32_t salt, uint64_t offset, struct record *record,
                  uint32_t *crc)
{
    if (get32(in + RECORD_AT_MARK) != record_mark || get64(in + RECORD_AT_OFFSET) != offset)
        return -1;
    *crc = record_checksum(in, salt);
    if (*crc != get32(in + RECORD_AT_CHECKSUM) || get32(in + RECORD_AT_CHECKSUM + 4) != 0)
        return -1;
    *record = (struct record){get32(in + RECORD_AT_KIND), offset, get64(in + RECORD_AT_SEQUENCE), get64(in + RECORD_AT_SYNCED),
                              get64(in + RECORD_AT_BYTES)};
    return 0;
}

/* ---- payloads */

static uint64_t round8(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* x and codes of so many rows. */
static uint64_t row_bytes(const struct model *model, uint64_t rows)
{
    return rows * (model->width[0] + (uint64_t)log_row_networks(&model->options) * model->code_dim) * real_size(model);
}

static int is_table(const struct model *model)
{
    return model->options.kind == BPCN_TABLE;
}

/* Bytes of a delete before its row. */
static uint64_t delete_words(const struct model *model)
{
    return (has_shards(&model->options) ? 8u : 0u) + (model->options.names > 0 ? 8u : 0u) + 8;
}

uint64_t log_change_bytes(const struct model *model, const struct change *change)
{
    switch (change->kind) {
    case CHANGE_WRITE:
        return 8 + (is_table(model) ? 8 + 8 * (uint64_t)change->numbers : 0) + (change->surprise != NULL ? 8u : 0u) + 8 * (uint64_t)log_row_networks(&model->options) +
               round8(row_bytes(model, change->rows) + (change->known != NULL ? model->width[0] : 0) +
                      (change->first != NULL ? 4 * model->width[0] : 0) + (change->print != NULL ? 16 : 0) +
                      (change->name != NULL ? NAME_ROOM : 0));
    case CHANGE_DELETE:
        return delete_words(model) + round8(row_bytes(model, 1));
    case CHANGE_NOTE:
        return 8 + round8(change->note_bytes);
    case CHANGE_FORGET:
    case CHANGE_DISCOUNT:
    case CHANGE_MINIMIZER:
        break;
    }
    return 8;
}

uint64_t log_record_most(const bpcn_options *o)
{
    uint64_t numbers = o->dim + (o->kind == BPCN_TABLE ? 1 + forest_entry_most(o->dim) : 0), note = 8 + BPCN_MAX_NOTE;
    for (size_t l = 0; l < o->layers; l++)
        numbers += (uint64_t)log_row_networks(o) * o->hidden[l];
    uint64_t row =
        32 + 8 * (uint64_t)log_row_networks(o) + round8(numbers * (o->precision == BPCN_FLOAT64 ? 8 : 4) + 5 * o->dim + NAME_ROOM);
    return RECORD_BYTES + (row > note ? row : note) + RECORD_END_BYTES;
}

static int padding_is_zero(const unsigned char *payload, uint64_t used, uint64_t bytes)
{
    for (uint64_t i = used; i < bytes; i++)
        if (payload[i] != 0)
            return 0;
    return 1;
}

int log_change_sound(const struct model *model, const struct change *change)
{
    size_t size = real_size(model);
    if (change->kind != CHANGE_WRITE && change->kind != CHANGE_DELETE)
        return 1;
    size_t x = change->rows * model->width[0], networks = log_row_networks(&model->options);
    size_t codes = change->rows * networks * model->code_dim, particles = model->options.particles;
    for (size_t k = 0; change->kind == CHANGE_WRITE && k < networks; k += particles)
        if (!snapshot_weights_sound(particles, change->log_weights + k))
            return 0;
    if (change->surprise != NULL && !(fabs(*change->surprise) <= NOVELTY_MOST))
        return 0;
    if (change->first != NULL && snapshot_first_unsound(change->first, x, 4, DBL_MAX) != x)
        return 0;
    return snapshot_first_unsound(change->x, x, size, DBL_MAX) == x &&
           snapshot_first_unsound(change->codes, codes, size, DBL_MAX) == codes;
}

/* x, codes and what is known, from `at` on. */
static int decode_rows(const struct model *model, unsigned char *payload, uint64_t at, uint64_t bytes,
                       struct change *change)
{
    size_t size = real_size(model), x = change->rows * model->width[0];
    uint64_t used = at + row_bytes(model, change->rows) + 8 * (uint64_t)change->numbers;
    get_reals(payload + at, payload + at, (size_t)(used - at) / size, size);
    change->x = payload + at;
    change->codes = payload + at + x * size;
    if (change->first != NULL) {
        get_reals(payload + used, payload + used, x, 4);
        change->first = (const float *)(const void *)(payload + used);
        used += 4 * x;
    }
    if (change->known != NULL) {
        change->known = payload + used;
        used += model->width[0];
    }
    if (change->name != NULL) {
        change->name = (const char *)payload + used;
        used += NAME_ROOM;
    }
    return padding_is_zero(payload, used, bytes);
}

/* Of a row with holes something is known, not all is, and x is 0 where it is not. */
static int holes_sound(const struct model *model, const struct change *change)
{
    size_t dim = model->width[0], size = real_size(model), count = 0;
    static const unsigned char zero[8] = {0};
    for (size_t j = 0; change->known != NULL && j < dim; j++) {
        if (change->known[j] > 1 ||
            (!change->known[j] && memcmp((const unsigned char *)change->x + j * size, zero, size) != 0))
            return 0;
        count += change->known[j];
    }
    return change->known == NULL || (count > 0 && count < dim);
}

static const char *decode_write(const struct model *model, uint64_t bytes, unsigned char *payload,
                                struct change *change)
{
    size_t networks = log_row_networks(&model->options);
    uint64_t word = bytes < 8 ? 0 : get64(payload), rows = word & INT32_MAX >> 4, at = 8;
    change->begin = word >> 63 != 0;
    change->shard = (size_t)(word >> 32 & INT32_MAX);
    change->surprise = word >> 30 & 1 ? (const double *)(const void *)payload : NULL; /* where, is said below */
    change->known = word >> 31 & 1 ? payload : NULL; /* where, decode_rows says; the name too */
    change->name = word >> 29 & 1 ? (const char *)payload : NULL;
    change->print = word >> 27 & 1 ? (const uint64_t *)(const void *)payload : NULL;
    change->first = word >> 28 & 1 ? (const float *)(const void *)payload : NULL;
    int alone = change->known || change->surprise || change->name || change->first || change->print || is_table(model);
    if (rows < 1 || rows > (alone ? 1 : RECORD_MOST_ROWS))
        return "its number of rows cannot be";
    if (change->shard >= model->options.shards)
        return "its shard cannot be";
    change->rows = (size_t)rows;
    if (is_table(model)) {
        at += 8;
        if (bytes < at || get64(payload + 8) > forest_entry_most(model->width[0]))
            return "its entry is too long";
        change->numbers = (size_t)get64(payload + 8);
    }
    if (log_change_bytes(model, change) != bytes)
        return "its length does not fit its rows";
    uint64_t before = at;
    if (change->surprise != NULL) {
        change->surprise = (const double *)(const void *)(payload + at);
        at += 8;
    }
    if (change->print != NULL) {
        change->print = (const uint64_t *)(const void *)(payload + at);
        at += 16;
    }
    get_reals(payload + before, payload + before, networks + (size_t)(at - before) / 8, 8);
    change->log_weights = (const double *)(const void *)(payload + at);
    if (!decode_rows(model, payload, at + 8 * (uint64_t)networks, bytes, change))
        return "its padding is not zero";
    if (!holes_sound(model, change))
        return "what it knows of its row cannot be";
    if (change->name != NULL && !name_padded(change->name))
        return "its name cannot be";
    if (is_table(model) && !forest_entry_sound(model->width[0], change->known, change->codes, change->numbers))
        return "what was found of its row cannot be";
    return log_change_sound(model, change) ? NULL : "a number in it is not finite, or its weights do not add up to one";
}

static const char *decode_delete(const struct model *model, uint64_t bytes, unsigned char *payload,
                                 struct change *change)
{
    uint64_t at = delete_words(model), shard = !has_shards(&model->options) || bytes < 8 ? 0 : get64(payload);
    change->rows = 1;
    change->shard = (size_t)shard;
    if (log_change_bytes(model, change) != bytes)
        return "its length does not fit a row";
    if (shard >= model->options.shards)
        return "its shard cannot be";
    change->unnamed = model->options.names > 0 ? get64(payload + at - 16) : 0;
    change->held = get64(payload + at - 8);
    if (!decode_rows(model, payload, at, bytes, change))
        return "its padding is not zero";
    return log_change_sound(model, change) ? NULL : "a number in it is not finite";
}

static const char *decode_note(const struct model *model, uint64_t bytes, unsigned char *payload, struct change *change)
{
    uint64_t length = bytes < 8 ? UINT64_MAX : get64(payload);
    if (length > BPCN_MAX_NOTE)
        return "its note is too long";
    change->note = payload + 8;
    change->note_bytes = (size_t)length;
    if (log_change_bytes(model, change) != bytes)
        return "its length does not fit its note";
    return padding_is_zero(payload, 8 + length, bytes) ? NULL : "its padding is not zero";
}

bpcn_status log_change_decode(const struct model *model, const struct record *record, unsigned char *payload,
                          struct change *change, const char **what)
{
    *what = NULL;
    *change = (struct change){.kind = (enum change_kind)record->kind};
    if (record->kind == CHANGE_WRITE) {
        *what = decode_write(model, record->bytes, payload, change);
    } else if (record->kind == CHANGE_DELETE) {
        *what = decode_delete(model, record->bytes, payload, change);
    } else if (record->kind == CHANGE_NOTE) {
        *what = decode_note(model, record->bytes, payload, change);
    } else if (record->bytes != 8) {
        *what = "its length is wrong";
    } else if (record->kind == CHANGE_FORGET) {
        change->beta = get_double(payload);
        if (!(change->beta > 0 && change->beta <= 1))
            *what = "its beta is not in 0 to 1";
    } else if (record->kind == CHANGE_DISCOUNT) {
        change->beta = get_double(payload);
        if (!(change->beta > 0 && change->beta < 1))
            *what = "its beta is not in 0 to below 1";
    } else if (record->kind == CHANGE_MINIMIZER) {
        change->minimizer = get64(payload) == BPCN_ADAM ? BPCN_ADAM : BPCN_LBFGS;
        if (get64(payload) > BPCN_ADAM)
            *what = "its minimizer does not exist";
    } else {
        *what = "its kind does not exist";
    }
    return *what == NULL ? BPCN_OK : BPCN_CORRUPT;
}

/* ---- finding records */

/* A longer payload is not mended. Of random damage one in 2^32 looks like one flipped bit for every bit that there is:
   of 64 KiB one in 8192. */
enum { MOST_MENDED = 1 << 16 };

bpcn_status log_fail_record(const struct log *log, const char *what)
{
    return bpcn_fail(BPCN_CORRUPT, "record %llu of the log (at byte %llu): %s", (unsigned long long)log->records,
                (unsigned long long)log->end, what);
}

/* Reads up to n bytes of a file that had `length`. Fewer than it should have is an error, never a
   torn end, which would be cut off; unless a writer has just cut it. */
static bpcn_status log_read(const struct log *log, uint64_t length, void *bytes, size_t n, uint64_t at, size_t *got)
{
    struct file_status is;
    uint64_t there = length - at < n ? length - at : n;
    const struct file_ops *ops = log->file.ops;
    if (file_read(&log->file, bytes, (size_t)there, at, got) != 0)
        return file_fail("read", log->path);
    if (*got == there)
        return BPCN_OK;
    if (ops->status(ops->context, log->file.fd, &is) != 0)
        return file_fail("find", log->path);
    return is.length < at + there ? BPCN_OK : file_fail_early_end(log->path, at + *got);
}

bpcn_status log_scan_headers(const struct log *log, uint64_t length, uint64_t from,
                         int (*visit)(void *user, const struct record *record), void *user)
{
    const uint64_t step = (LOG_BUFFER_BYTES - RECORD_BYTES) / 8 * 8;
    bpcn_status status = BPCN_OK;
    int stop = 0;
    for (uint64_t at = from; status == BPCN_OK && !stop && at + RECORD_BYTES <= length; at += step) {
        size_t got = 0;
        status = log_read(log, length, log->buffer, LOG_BUFFER_BYTES, at, &got);
        for (size_t i = 0; status == BPCN_OK && !stop && i < step && i + RECORD_BYTES <= got; i += 8) {
            struct record record;
            uint32_t crc;
            stop = record_decode(log->buffer + i, log->salt, at + i, &record, &crc) == 0 && visit(user, &record);
        }
    }
    return status;
}

/* ---- one flipped bit */

static void flip_bit(unsigned char *bytes, uint64_t bit)
{
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

/* -1 when it takes more than one bit to make a header of it. */
static int record_mend_header(const struct log *log, unsigned char *header, struct record *record, uint32_t *crc)
{
    for (uint64_t bit = 0; bit < 8 * RECORD_BYTES; bit++) {
        flip_bit(header, bit);
        if (record_decode(header, log->salt, log->end, record, crc) == 0)
            return 0;
        flip_bit(header, bit);
    }
    return -1;
}

/* Likewise of a payload of n bytes with its checksum, which is `sum` and is kept behind it. */
static int record_mend_payload(unsigned char *payload, size_t n, uint32_t sum)
{
    uint64_t kept = get64(payload + n), wrong = kept ^ sum;
    if ((wrong & (wrong - 1)) == 0) /* of the checksum itself */
        return 0;
    uint64_t bit = n <= MOST_MENDED && kept >> 32 == 0 ? crc32c_flipped((uint32_t)wrong, n) : UINT64_MAX;
    if (bit == UINT64_MAX)
        return -1;
    flip_bit(payload, bit);
    return 0;
}

bpcn_status log_scan_record(const struct log *log, uint64_t length, struct record *record, unsigned char **payload,
                        enum found *found)
{
    unsigned char header[RECORD_BYTES];
    size_t got;
    uint32_t crc;
    *payload = NULL;
    *found = FOUND_NONE;
    bpcn_status status = log_read(log, length, header, sizeof header, log->end, &got);
    if (status != BPCN_OK || got < sizeof header)
        return status;
    int right = record_decode(header, log->salt, log->end, record, &crc) == 0;
    if (!right && record_mend_header(log, header, record, &crc) != 0)
        return BPCN_OK;
    if (record->bytes % 8 != 0)
        return log_fail_record(log, "its length is no multiple of 8");
    uint64_t room = length - log->end - RECORD_BYTES;
    if (room < RECORD_END_BYTES || record->bytes > room - RECORD_END_BYTES)
        return BPCN_OK;
    size_t n = (size_t)record->bytes, want = n + RECORD_END_BYTES;
    *payload = alloc_zeroed(1, want);
    if (*payload == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    status = log_read(log, length, *payload, want, log->end + RECORD_BYTES, &got);
    if (status != BPCN_OK || got < want)
        return status;
    uint32_t sum = crc32c(crc, *payload, n);
    if (get64(*payload + n) == sum)
        *found = right ? FOUND_WHOLE : FOUND_FLIPPED;
    else if (right && record_mend_payload(*payload, n, sum) == 0)
        *found = FOUND_FLIPPED;
    return BPCN_OK;
}

/* ---- appending and repeating */

/* ---- appending */

/* A record on its way out. */
struct outlet {
    struct log *log;
    uint64_t at; /* where the buffer's first byte goes */
    size_t used; /* of the buffer */
    uint32_t crc;
    int failed;
};

static void outlet_flush(struct outlet *out)
{
    if (!out->failed && out->used > 0)
        out->failed = file_write(&out->log->file, out->log->buffer, out->used, out->at) != 0;
    out->at += out->used;
    out->used = 0;
}

/* n numbers of 1, 4 or 8 bytes. */
static void outlet_put(struct outlet *out, const void *array, size_t n, size_t size)
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
            outlet_flush(out);
    }
}

static void outlet_put_word(struct outlet *out, uint64_t word)
{
    outlet_put(out, &word, 1, sizeof word);
}

static void outlet_put_rows(struct outlet *out, const struct model *model, const struct change *change)
{
    size_t size = real_size(model);
    outlet_put(out, change->x, change->rows * model->width[0], size);
    outlet_put(out, change->codes, change->rows * log_row_networks(&model->options) * model->code_dim, size);
    if (change->numbers > 0)
        outlet_put(out, change->codes, change->numbers, 8);
}

static void outlet_put_change(struct outlet *out, const struct model *model, const struct change *change)
{
    uint64_t bits;
    switch (change->kind) {
    case CHANGE_WRITE:
        outlet_put_word(out, change->rows | (uint64_t)(change->print != NULL) << 27 | (uint64_t)(change->first != NULL) << 28 | (uint64_t)(change->name != NULL) << 29 | (uint64_t)(change->surprise != NULL) << 30 |
                          (uint64_t)(change->known != NULL) << 31 | (uint64_t)change->shard << 32 |
                          (uint64_t)(change->begin != 0) << 63);
        if (is_table(model))
            outlet_put_word(out, change->numbers);
        if (change->surprise != NULL)
            outlet_put(out, change->surprise, 1, 8);
        if (change->print != NULL)
            outlet_put(out, change->print, 2, 8);
        outlet_put(out, change->log_weights, log_row_networks(&model->options), 8);
        outlet_put_rows(out, model, change);
        if (change->first != NULL)
            outlet_put(out, change->first, model->width[0], 4);
        if (change->known != NULL)
            outlet_put(out, change->known, model->width[0], 1);
        if (change->name != NULL)
            outlet_put(out, change->name, NAME_ROOM, 1);
        break;
    case CHANGE_DELETE:
        if (has_shards(&model->options))
            outlet_put_word(out, change->shard);
        if (model->options.names > 0)
            outlet_put_word(out, change->unnamed);
        outlet_put_word(out, change->held);
        outlet_put_rows(out, model, change);
        break;
    case CHANGE_NOTE:
        outlet_put_word(out, change->note_bytes);
        outlet_put(out, change->note, change->note_bytes, 1);
        break;
    case CHANGE_FORGET:
    case CHANGE_DISCOUNT:
        memcpy(&bits, &change->beta, sizeof bits);
        outlet_put_word(out, bits);
        break;
    case CHANGE_MINIMIZER:
        outlet_put_word(out, (uint64_t)change->minimizer);
        break;
    }
}

/* Zeros up to the payload's full length, then its checksum, which is returned. */
static uint32_t outlet_put_end(struct outlet *out, uint64_t end)
{
    static const unsigned char zeros[8] = {0};
    uint64_t here = out->at + out->used;
    outlet_put(out, zeros, (size_t)(end - here), 1);
    uint32_t crc = out->crc;
    outlet_put_word(out, crc);
    outlet_flush(out);
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
static int log_put_seal(struct log *log, struct seal seal)
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
    return log_put_seal(log, (struct seal){.open = 1});
}

bpcn_status log_seal(struct log *log)
{
    struct seal seal = {.length = log->end, .records = log->records, .sum = log->sum};
    if (!log->seal.open)
        return BPCN_OK;
    if (log_put_seal(log, seal) != 0)
        return file_fail("seal", log->path);
    return file_sync(&log->file) == 0 ? BPCN_OK : file_fail("sync", log->path);
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
    struct record record = {(uint32_t)change->kind, log->end, log->records, log->synced, log_change_bytes(model, change)};
    struct outlet out = {.log = log, .at = log->end, .used = RECORD_BYTES};
    if (!log->seal.open && log_unseal(log) != 0)
        return file_fail("open the seal of", log->path);
    out.crc = record_encode(&record, log->salt, log->buffer);
    outlet_put_change(&out, model, change);
    uint32_t sum = outlet_put_end(&out, log->end + RECORD_BYTES + record.bytes);
    if (out.failed) {
        int reason = errno;
        bpcn_status status = file_fail("append to", log->path);
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
        return file_fail("sync", log->path);
    log->synced = log->records;
    return BPCN_OK;
}

/* ---- repeating */

bpcn_status log_repeat(struct writers *writers, const struct change *change)
{
    struct contents *contents = writers->contents;
    if (change->kind == CHANGE_NOTE && contents_keep_note(contents, change->note, change->note_bytes) != 0)
        return BPCN_NO_MEMORY;
    bpcn_status status = writers_reserve(writers, change);
    if (status == BPCN_OK)
        writers_apply(writers, change);
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

static int look_at_tail(void *user, const struct record *record)
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
        return log_fail_record(log, "it was damaged after the file had been closed");
    if (log->tail_most > 0 && length - log->end > log->tail_most)
        return bpcn_fail(BPCN_CORRUPT,
                         "the file has %llu bytes behind its last whole record, and one of this shape never has more than "
                         "%llu bytes in all",
                         (unsigned long long)(length - log->end), (unsigned long long)log->tail_most);
    if (found == FOUND_FLIPPED)
        return log_fail_record(log, "one bit of it is wrong, which no crash leaves behind");
    bpcn_status status = log_scan_headers(log, length, log->end, look_at_tail, &tail);
    if (status == BPCN_OK && tail.witness)
        return log_fail_record(log, "it is damaged, and others follow that were written after it was safe");
    if (status == BPCN_OK && log->seal.open && log->seal.doubtful)
        return log_fail_record(log, "it is damaged, and so is a seal, which is only written to a file that is whole");
    log->dropped = length - log->end;
    log->dropped_rows = tail.rows + !tail.headed; /* without a header it may be one */
    return status;
}

static bpcn_status replay_record(struct log *log, const struct record *record, unsigned char *payload,
                                 struct writers *writers)
{
    const struct contents *contents = writers->contents;
    struct change change;
    const char *what;
    uint64_t kept = get64(payload + record->bytes);
    if (record->sequence != log->records)
        return log_fail_record(log, "its sequence number is wrong");
    if (record->synced > log->records || record->synced < log->synced)
        return log_fail_record(log, "its count of synced records is wrong");
    bpcn_status status = log_change_decode(contents->shard[0], record, payload, &change, &what);
    if (status != BPCN_OK)
        return log_fail_record(log, what);
    if (change.surprise != NULL && contents->options.surprises == 0)
        return log_fail_record(log, "its row's surprise is given, but none are kept");
    if (change.name != NULL && contents->options.names == 0)
        return log_fail_record(log, "its row's name is given, but none are kept");
    if (change.print != NULL && (contents->options.deletable == 0 || change.known != NULL))
        return log_fail_record(log, "its row's fingerprint is given, but it cannot be taken back");
    if (change.first != NULL && (contents->scale.settled || contents->scale.rows + 1 >= SCALE_SETTLED))
        return log_fail_record(log, "it is one of the first rows, but those have all been");
    if (change.shard > contents->count || (change.shard == contents->count && !change.begin))
        return log_fail_record(log, "its shard has not begun");
    if (change.begin && change.shard < contents->count && contents->options.when_full != BPCN_RECYCLE)
        return log_fail_record(log, "its shard has begun before, and is not to begin anew");
    status = log_repeat(writers, &change);
    if (status != BPCN_OK)
        return bpcn_fail(status, "out of memory");
    log_count(log, log->end + RECORD_BYTES + record->bytes + RECORD_END_BYTES, kept);
    log->synced = record->synced;
    return BPCN_OK;
}

/* A file that was closed must have what it then had; what follows was begun since. */
static bpcn_status log_check_seal(const struct log *log, int *passed)
{
    const struct seal *seal = &log->seal;
    if (*passed || log->end < seal->length)
        return BPCN_OK;
    *passed = log->end == seal->length && log->records == seal->records && log->sum == seal->sum;
    return *passed ? BPCN_OK
                   : bpcn_fail(BPCN_CORRUPT,
                          "the log is not the one that was sealed when the file was closed, with %llu records up to "
                          "byte %llu",
                          (unsigned long long)seal->records, (unsigned long long)seal->length);
}

bpcn_status log_replay(struct log *log, uint64_t length, struct contents *contents)
{
    struct writers writers;
    enum found found = FOUND_WHOLE;
    int passed = log->seal.open;
    bpcn_status status = log_check_seal(log, &passed);
    if (writers_create(&writers, contents, NULL, NULL, 1) != 0)
        status = bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    while (status == BPCN_OK && found == FOUND_WHOLE && log->end < length) {
        struct record record;
        unsigned char *payload;
        status = log_scan_record(log, length, &record, &payload, &found);
        if (status == BPCN_OK && found == FOUND_WHOLE)
            status = replay_record(log, &record, payload, &writers);
        if (status == BPCN_OK && found == FOUND_WHOLE)
            status = log_check_seal(log, &passed);
        free(payload);
    }
    writers_free(&writers);
    return status == BPCN_OK && found != FOUND_WHOLE ? torn_or_damaged(log, length, found) : status;
}
