/* Records in bytes and back; nothing that is read is believed before it is checked. */
#include "log_record.h"

#include "names.h"
#include "store_bytes.h"
#include "store_crc.h"
#include "store_format.h"
#include "store_state.h"
#include "surprise.h"

#include <float.h>
#include <math.h>

/* Where the fields of a record's header are. */
enum { AT_MARK = 0, AT_KIND = 4, AT_OFFSET = 8, AT_SEQUENCE = 16, AT_SYNCED = 24, AT_BYTES = 32, AT_CHECKSUM = 40 };

static const uint32_t record_mark = 0x474f4c42; /* "BLOG" */

enum { MOST_ROWS = 1024 }; /* of one record */

static uint32_t header_checksum(const unsigned char *header, uint32_t salt)
{
    unsigned char salted[4];
    put32(salted, salt);
    return crc32c(crc32c(0, salted, sizeof salted), header, AT_CHECKSUM);
}

uint32_t record_encode(const struct record *record, uint32_t salt, unsigned char out[RECORD_BYTES])
{
    memset(out, 0, RECORD_BYTES);
    put32(out + AT_MARK, record_mark);
    put32(out + AT_KIND, record->kind);
    put64(out + AT_OFFSET, record->offset);
    put64(out + AT_SEQUENCE, record->sequence);
    put64(out + AT_SYNCED, record->synced);
    put64(out + AT_BYTES, record->bytes);
    uint32_t crc = header_checksum(out, salt);
    put32(out + AT_CHECKSUM, crc);
    return crc;
}

int record_decode(const unsigned char in[RECORD_BYTES], uint32_t salt, uint64_t offset, struct record *record,
                  uint32_t *crc)
{
    if (get32(in + AT_MARK) != record_mark || get64(in + AT_OFFSET) != offset)
        return -1;
    *crc = header_checksum(in, salt);
    if (*crc != get32(in + AT_CHECKSUM) || get32(in + AT_CHECKSUM + 4) != 0)
        return -1;
    *record = (struct record){get32(in + AT_KIND), offset, get64(in + AT_SEQUENCE), get64(in + AT_SYNCED),
                              get64(in + AT_BYTES)};
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
    return rows * (model->width[0] + (uint64_t)row_networks(&model->options) * model->code_dim) * real_size(model);
}

/* Bytes of a delete before its row. */
static uint64_t delete_words(const struct model *model)
{
    return (has_shards(&model->options) ? 8u : 0u) + (model->options.names > 0 ? 8u : 0u);
}

uint64_t change_bytes(const struct model *model, const struct change *change)
{
    switch (change->kind) {
    case CHANGE_WRITE:
        return 8 + (change->surprise != NULL ? 8u : 0u) + 8 * (uint64_t)row_networks(&model->options) +
               round8(row_bytes(model, change->rows) + (change->known != NULL ? model->width[0] : 0) +
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

uint64_t record_most(const bpcn_options *o)
{
    uint64_t numbers = o->dim, note = 8 + BPCN_MAX_NOTE;
    for (size_t l = 0; l < o->layers; l++)
        numbers += (uint64_t)row_networks(o) * o->hidden[l];
    uint64_t row =
        16 + 8 * (uint64_t)row_networks(o) + round8(numbers * (o->precision == BPCN_FLOAT64 ? 8 : 4) + o->dim + NAME_ROOM);
    return RECORD_BYTES + (row > note ? row : note) + RECORD_END_BYTES;
}

static int padding_is_zero(const unsigned char *payload, uint64_t used, uint64_t bytes)
{
    for (uint64_t i = used; i < bytes; i++)
        if (payload[i] != 0)
            return 0;
    return 1;
}

int change_sound(const struct model *model, const struct change *change)
{
    size_t size = real_size(model);
    if (change->kind != CHANGE_WRITE && change->kind != CHANGE_DELETE)
        return 1;
    size_t x = change->rows * model->width[0], networks = row_networks(&model->options);
    size_t codes = change->rows * networks * model->code_dim, particles = model->options.particles;
    for (size_t k = 0; change->kind == CHANGE_WRITE && k < networks; k += particles)
        if (!weights_sound(particles, change->log_weights + k))
            return 0;
    if (change->surprise != NULL && !(fabs(*change->surprise) <= SURPRISE_MOST))
        return 0;
    return first_unsound(change->x, x, size, DBL_MAX) == x &&
           first_unsound(change->codes, codes, size, DBL_MAX) == codes;
}

/* x, codes and what is known, from `at` on. */
static int decode_rows(const struct model *model, unsigned char *payload, uint64_t at, uint64_t bytes,
                       struct change *change)
{
    size_t size = real_size(model), x = change->rows * model->width[0];
    uint64_t used = at + row_bytes(model, change->rows);
    get_reals(payload + at, payload + at, (size_t)(used - at) / size, size);
    change->x = payload + at;
    change->codes = payload + at + x * size;
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
    size_t networks = row_networks(&model->options);
    uint64_t word = bytes < 8 ? 0 : get64(payload), rows = word & INT32_MAX >> 2, at = 8;
    change->begin = word >> 63 != 0;
    change->shard = (size_t)(word >> 32 & INT32_MAX);
    change->surprise = word >> 30 & 1 ? (const double *)(const void *)(payload + 8) : NULL;
    change->known = word >> 31 & 1 ? payload : NULL; /* where, decode_rows says; the name too */
    change->name = word >> 29 & 1 ? (const char *)payload : NULL;
    int alone = change->known || change->surprise || change->name || model->options.views;
    if (rows < 1 || rows > (alone ? 1 : MOST_ROWS))
        return "its number of rows cannot be";
    if (change->shard >= (model->options.views > 0 ? 1 : model->options.shards))
        return "its shard cannot be";
    change->rows = (size_t)rows;
    if (change_bytes(model, change) != bytes)
        return "its length does not fit its rows";
    at += change->surprise != NULL ? 8 : 0;
    get_reals(payload + 8, payload + 8, networks + (size_t)(at - 8) / 8, 8);
    change->log_weights = (const double *)(const void *)(payload + at);
    if (!decode_rows(model, payload, at + 8 * (uint64_t)networks, bytes, change))
        return "its padding is not zero";
    if (!holes_sound(model, change))
        return "what it knows of its row cannot be";
    if (change->name != NULL && !name_padded(change->name))
        return "its name cannot be";
    return change_sound(model, change) ? NULL : "a number in it is not finite, or its weights do not add up to one";
}

static const char *decode_delete(const struct model *model, uint64_t bytes, unsigned char *payload,
                                 struct change *change)
{
    uint64_t at = delete_words(model), shard = !has_shards(&model->options) || bytes < 8 ? 0 : get64(payload);
    change->rows = 1;
    change->shard = (size_t)shard;
    if (change_bytes(model, change) != bytes)
        return "its length does not fit a row";
    if (shard >= (model->options.views > 0 ? 1 : model->options.shards))
        return "its shard cannot be";
    change->unnamed = model->options.names > 0 ? get64(payload + at - 8) : 0;
    if (!decode_rows(model, payload, at, bytes, change))
        return "its padding is not zero";
    return change_sound(model, change) ? NULL : "a number in it is not finite";
}

static const char *decode_note(const struct model *model, uint64_t bytes, unsigned char *payload, struct change *change)
{
    uint64_t length = bytes < 8 ? UINT64_MAX : get64(payload);
    if (length > BPCN_MAX_NOTE)
        return "its note is too long";
    change->note = payload + 8;
    change->note_bytes = (size_t)length;
    if (change_bytes(model, change) != bytes)
        return "its length does not fit its note";
    return padding_is_zero(payload, 8 + length, bytes) ? NULL : "its padding is not zero";
}

bpcn_status change_decode(const struct model *model, const struct record *record, unsigned char *payload,
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
