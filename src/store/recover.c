/*
 * What is intact of a damaged file, in a new one. Sections of the snapshot are read one by one: a shard of which one is
 * damaged begins empty. Records of the log are repeated one by one, over gaps: each has the code of its row, and the
 * update by it is the same whatever rows are missing.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "alloc.h"
#include "contents.h"
#include "error.h"
#include "format.h"
#include "log.h"
#include "place.h"
#include "shards.h"
#include "snapshot.h"
#include "store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST_SHARE = 64 }; /* of the snapshot, that must be there for anything to be recovered */

struct recovery {
    struct log log; /* `records`: the number of the record that should be next */
    uint64_t length;
    struct header header;
    struct contents contents;
    bpcn_recovery report;
    FILE *words;           /* what is to be told, a line each */
    unsigned char *bad;    /* [header.shards]: of each shard, whether it is lost */
    int bad_counts;        /* of the shards */
    int bad_surprises;     /* none of the snapshot's are kept */
    int bad_names;         /* likewise */
    int bad_index;         /* likewise */
    int bad_held;          /* likewise */
    int bad_scale;         /* the scale of the data is lost */
    uint64_t beyond;       /* sections of which the file has nothing */
    int gap;               /* records are missing before the one at hand */
    int without_deletes;   /* those after a gap are left out: what they take back may be missing */
    int deletes_are_wrong; /* they would have to be */
};

static void recover_say(struct recovery *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void recover_say(struct recovery *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(s->words, format, args);
    va_end(args);
    fputc('\n', s->words);
}

/* ---- the header, the seal and the snapshot */

/* Puts one wrong bit of the header right, if that is all that is wrong with it. */
static void recover_mend_header(struct recovery *s, unsigned char *bytes)
{
    uint32_t sum = crc32c(0, bytes, HEADER_BYTES - 4), kept = get32(bytes + HEADER_BYTES - 4), wrong = sum ^ kept;
    if (wrong == 0)
        return;
    uint64_t bit = (wrong & (wrong - 1)) == 0 ? 0 : crc32c_flipped(wrong, HEADER_BYTES - 4);
    if (bit == UINT64_MAX)
        return;
    if ((wrong & (wrong - 1)) == 0)
        put32(bytes + HEADER_BYTES - 4, sum);
    else
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    recover_say(s, "the header had one wrong bit, which was put right");
}

static bpcn_status recover_header(struct recovery *s)
{
    unsigned char bytes[HEADER_BYTES];
    size_t got;
    if (file_read(&s->log.file, bytes, sizeof bytes, 0, &got) != 0)
        return file_fail("read", s->log.path);
    if (got == sizeof bytes)
        recover_mend_header(s, bytes);
    bpcn_status status = header_decode(bytes, got, UINT64_MAX / 4, &s->header);
    if (status != BPCN_OK)
        return status;
    if (s->header.snapshot / LEAST_SHARE > s->length) /* the header alone must not make us take what it promises */
        return bpcn_fail(BPCN_CORRUPT, "the file is cut short: of the %llu bytes of its snapshot not even a %dth is there",
                    (unsigned long long)s->header.snapshot, LEAST_SHARE);
    s->log.salt = s->header.salt;
    if (snapshot_seal(&s->log.file, s->log.path, &s->header, &s->log.seal) != BPCN_OK) {
        recover_say(s, "%s", bpcn_error());
        s->log.seal = (struct seal){.open = 1};
    } else if (s->log.seal.doubtful) {
        recover_say(s, "one of the two seals is damaged, or a crash tore it");
    }
    return BPCN_OK;
}

static void lose_section(void *user, const struct section *section)
{
    struct recovery *s = user;
    if (section->offset < s->length)
        recover_say(s, "%s", bpcn_error());
    else
        s->beyond++;
    if (section->tag == SECTION_NOTE)
        s->report.lost_note = 1;
    else if (section->tag == SECTION_SHARDS)
        s->bad_counts = 1;
    else if (section->tag == SECTION_SURPRISES)
        s->bad_surprises = 1;
    else if (section->tag == SECTION_NAMES)
        s->bad_names = 1;
    else if (section->tag == SECTION_INDEX)
        s->bad_index = 1;
    else if (section->tag == SECTION_HELD)
        s->bad_held = 1;
    else if (section->tag == SECTION_SCALE || section->tag == SECTION_FIRST)
        s->bad_scale |= section->tag == SECTION_SCALE ? 2 : 1;
    else
        s->bad[section->shard] = 1;
}

/* Shards that are lost one after the other are told together: a few bytes may promise many. */
static void tell_lost_shards(struct recovery *s)
{
    const struct contents *c = &s->contents;
    for (size_t k = 0, next; k < s->header.shards; k = next) {
        uint64_t rows = 0;
        for (next = k; next < s->header.shards && s->bad[next]; next++)
            rows += c->rows[next];
        if (next == k + 1)
            recover_say(s, "shard %zu is lost, with %" PRIu64 " rows", k, rows);
        else if (next > k)
            recover_say(s, "shards %zu to %zu are lost, with %" PRIu64 " rows", k, next - 1, rows);
        next += next == k;
    }
}

/* As they are if rows were only ever written, and no shard began anew. */
static void guess_counts(struct contents *c)
{
    uint64_t each = c->options.shard_rows;
    for (size_t k = 0; k < c->count; k++) {
        c->begun[k] = k * each < c->writes ? k * each : c->writes;
        c->rows[k] = c->writes - c->begun[k] < each ? c->writes - c->begun[k] : each;
        c->shard[k]->writes = c->rows[k];
        c->shard[k]->forgets = c->forgets;
        c->shard[k]->deletes = 0;
    }
}

/* Shard k begins, empty, in the place of a lost one or as the next. */
static bpcn_status begin_empty(struct contents *c, size_t k)
{
    bpcn_options options = contents_shard_options(&c->options, k);
    struct model *model = shard_prior(&options);
    if (model == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (k == 0 && !has_shards(&c->options))
        c->writes = c->forgets = c->deletes = 0; /* they are its own */
    contents_begin(c, k, model);
    return BPCN_OK;
}

static bpcn_status recover_snapshot(struct recovery *s)
{
    struct contents *c = &s->contents;
    s->bad = alloc_zeroed(s->header.shards, 1);
    if (s->bad == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    bpcn_status status = snapshot_recover(&s->log.file, s->log.path, &s->header, c, lose_section, s);
    if (status == BPCN_OK && s->report.lost_note)
        contents_keep_note(c, NULL, 0);
    if (status == BPCN_OK && s->bad_counts)
        guess_counts(c);
    if (s->bad_surprises)
        c->surprises.count = 0;
    if (s->bad_names)
        c->names.count = 0;
    if (s->bad_index && contents_lose_index(c) != 0)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (s->bad_held)
        c->held.count = 0;
    if (s->bad_scale > 0)
        scale_settle(&c->scale);
    if (s->bad_scale > 1) {
        recover_say(s, "the scale of the data is lost: entries are now in units of it");
        c->scale.pairs = 0;
        c->scale.unit = 1;
    }
    if (s->beyond > 0)
        recover_say(s, "the file ends at byte %" PRIu64 ": %" PRIu64 " section%s of its snapshot %s behind that", s->length,
            s->beyond, s->beyond == 1 ? "" : "s", s->beyond == 1 ? "was" : "were");
    s->report.shards = s->header.shards;
    if (status == BPCN_OK)
        tell_lost_shards(s);
    for (size_t k = 0; status == BPCN_OK && k < s->header.shards; k++)
        if (s->bad[k]) {
            s->report.lost_shards++;
            status = begin_empty(c, k);
        }
    return status;
}

/* ---- the log */

/* Room and place for a change whose shard may have begun in a record that is lost. */
static bpcn_status make_room(struct contents *c, struct change *change)
{
    bpcn_status status = BPCN_OK;
    while (status == BPCN_OK && change->kind == CHANGE_WRITE && c->count < change->shard)
        status = begin_empty(c, c->count);
    if (change->kind == CHANGE_WRITE)
        change->begin = change->shard == c->count || (change->begin && c->options.when_full == BPCN_RECYCLE);
    return status;
}

static bpcn_status recover_record(struct recovery *s, struct writers *writers, const struct record *record,
                          unsigned char *payload)
{
    struct change change;
    const char *what;
    int wrong = log_change_decode(s->contents.shard[0], record, payload, &change, &what) != BPCN_OK;
    if (!wrong && change.surprise != NULL && s->contents.options.surprises == 0)
        what = "its row's surprise is given, but none are kept";
    if (!wrong && change.name != NULL && s->contents.options.names == 0)
        what = "its row's name is given, but none are kept";
    if (!wrong && change.print != NULL && (s->contents.options.deletable == 0 || change.known != NULL))
        what = "its row's fingerprint is given, but it cannot be taken back";
    if (!wrong && change.first != NULL && (s->contents.scale.settled || s->contents.scale.rows + 1 >= SCALE_SETTLED))
        change.first = NULL;
    wrong |= what != NULL;
    if (wrong ||
        (change.kind == CHANGE_DELETE && (change.shard >= s->contents.count || (s->gap && s->without_deletes)))) {
        recover_say(s, "record %" PRIu64 " of the log (at byte %" PRIu64 ") is left out: %s", record->sequence, record->offset,
            wrong ? what : "it is a delete, and what it takes back may be missing");
        s->report.lost_records++;
        s->gap = 1;
        return BPCN_OK;
    }
    bpcn_status status = make_room(&s->contents, &change);
    if (status == BPCN_OK && log_repeat(writers, &change) != BPCN_OK)
        status = bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (status != BPCN_OK)
        return status;
    s->report.records++;
    s->report.rows += change.kind == CHANGE_WRITE ? change.rows : 0;
    s->deletes_are_wrong |=
        change.kind == CHANGE_DELETE && s->gap && snapshot_check_shard(&s->contents, change.shard) != BPCN_OK;
    return BPCN_OK;
}

/* Records up to number `next` are missing, in the bytes from `from` on. */
static void lose_records(struct recovery *s, uint64_t next, uint64_t from, uint64_t to)
{
    if (next > s->log.records) {
        recover_say(s,
            "%" PRIu64 " record%s of the log from number %" PRIu64 " on (bytes %" PRIu64 " to %" PRIu64 "), "
            "after %" PRIu64 " rows, %s lost",
            next - s->log.records, next - s->log.records == 1 ? "" : "s", s->log.records, from, to, s->contents.writes,
            next - s->log.records == 1 ? "is" : "are");
        s->report.lost_records += next - s->log.records;
        s->gap = 1;
    }
}

static int stop_at(void *user, const struct record *record)
{
    *(uint64_t *)user = record->offset;
    return 1;
}

/* The next whole record from log->end on, or the file's end. */
static bpcn_status find_record(struct recovery *s, struct record *record, unsigned char **payload, enum found *found)
{
    bpcn_status status = log_scan_record(&s->log, s->length, record, payload, found);
    while (status != BPCN_NO_MEMORY && status != BPCN_IO && *found == FOUND_NONE && s->log.end < s->length) {
        uint64_t next = s->length;
        free(*payload);
        *payload = NULL;
        status = log_scan_headers(&s->log, s->length, s->log.end + 8, stop_at, &next);
        s->log.end = next;
        if (status == BPCN_OK && next < s->length)
            status = log_scan_record(&s->log, s->length, record, payload, found);
    }
    return *found == FOUND_NONE && status == BPCN_CORRUPT ? BPCN_OK : status;
}

static bpcn_status recover_log(struct recovery *s)
{
    struct writers writers;
    bpcn_status status = BPCN_OK;
    uint64_t from = s->log.end = s->header.snapshot;
    if (writers_create(&writers, &s->contents, NULL, NULL, 1) != 0)
        status = bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    while (status == BPCN_OK && !s->deletes_are_wrong && s->log.end < s->length) {
        struct record record;
        unsigned char *payload = NULL;
        enum found found = FOUND_NONE;
        status = find_record(s, &record, &payload, &found);
        if (status == BPCN_OK && found != FOUND_NONE && record.sequence >= s->log.records) {
            lose_records(s, record.sequence, from, s->log.end);
            if (found == FOUND_FLIPPED)
                recover_say(s, "record %" PRIu64 " of the log (at byte %" PRIu64 ") had one wrong bit, which was put right",
                    record.sequence, record.offset);
            s->report.mended += found == FOUND_FLIPPED;
            s->log.records = record.sequence + 1;
            status = recover_record(s, &writers, &record, payload);
        }
        if (found != FOUND_NONE)
            from = s->log.end += RECORD_BYTES + record.bytes + RECORD_END_BYTES;
        free(payload);
    }
    writers_free(&writers);
    if (status == BPCN_OK && !s->log.seal.open)
        lose_records(s, s->log.seal.records, from, s->log.seal.length);
    else if (status == BPCN_OK && from < s->length)
        lose_records(s, s->log.records + 1, from, s->length);
    return status;
}

/* ---- all of it */

static void recover_clear(struct recovery *s)
{
    contents_free(&s->contents);
    free(s->bad);
    free(s->log.buffer);
    file_close(&s->log.file);
}

/* Reads the file; *s->words is open. */
static bpcn_status read_damaged(struct recovery *s, const struct file_ops *ops, const char *path)
{
    struct file_status is;
    s->log.path = path;
    if (file_open(&s->log.file, ops, path, O_RDONLY | O_NONBLOCK, 0) != 0)
        return file_fail("open", path);
    if (ops->status(ops->context, s->log.file.fd, &is) != 0)
        return file_fail("find", path);
    if (!is.regular)
        return bpcn_fail(BPCN_FORMAT, "not a bayespcn memory: %s is not a file", path);
    s->length = is.length;
    s->log.buffer = alloc_zeroed(1, LOG_BUFFER_BYTES);
    if (s->log.buffer == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    bpcn_status status = recover_header(s);
    if (status == BPCN_OK)
        status = recover_snapshot(s);
    return status == BPCN_OK ? recover_log(s) : status;
}

/* A new file with the contents, and the permissions of the damaged one. */
static bpcn_status save_new(const struct file_ops *ops, const char *path, const struct recovery *s)
{
    struct header header;
    struct file_status like;
    struct file none = {ops, -1}, file = {ops, -1};
    int moved;
    struct place *place = alloc_zeroed(1, sizeof *place);
    if (place == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    bpcn_status status = place_find(path, place);
    if (status == BPCN_OK && ops->status(ops->context, s->log.file.fd, &like) != 0)
        status = file_fail("find", s->log.path);
    if (status == BPCN_OK)
        status = place_replace(place, &none, &like, &s->contents, s->header.generation + 1, &file, &header, &moved);
    file_close(&file);
    free(place);
    return status;
}

static void recover_tell(const bpcn_recovery *report, char *words)
{
    for (char *line = words, *end; report->tell != NULL && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        report->tell(report->user, line);
    }
}

/* One pass over the damaged file, to the new one. */
static bpcn_status recover_pass(const struct file_ops *ops, const char *from, const char *to, int without_deletes,
                           bpcn_recovery *report, int *again)
{
    char *words = NULL;
    size_t bytes;
    struct recovery s = {.log.file = {ops, -1}, .report = *report, .without_deletes = without_deletes};
    s.words = open_memstream(&words, &bytes);
    if (s.words == NULL)
        return bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    bpcn_status status = read_damaged(&s, ops, from);
    *again = status == BPCN_OK && (s.deletes_are_wrong || snapshot_check(&s.contents) != BPCN_OK) && !without_deletes;
    if (status == BPCN_OK && !*again)
        status = snapshot_check(&s.contents);
    if (fclose(s.words) != 0 && status == BPCN_OK)
        status = bpcn_fail(BPCN_NO_MEMORY, "out of memory");
    if (status == BPCN_OK && !*again)
        status = save_new(ops, to, &s);
    if (status == BPCN_OK && !*again) {
        s.report.writes = s.contents.writes;
        *report = s.report;
        recover_tell(report, words);
    }
    recover_clear(&s);
    free(words);
    return status;
}

bpcn_status store_recover(const struct file_ops *ops, const char *from, const char *to, bpcn_recovery *report)
{
    int again;
    struct file_status is;
    if (ops->find(ops->context, to, &is) == 0)
        return bpcn_fail(BPCN_INVALID, "%s is there already: what is recovered goes to a new file", to);
    bpcn_status status = recover_pass(ops, from, to, 0, report, &again);
    return status == BPCN_OK && again ? recover_pass(ops, from, to, 1, report, &again) : status;
}
