/*
 * corrupt: every truncation and every single flipped bit of a small file, and files made wrong by
 * hand whose checksums are right. Each is refused with its own sentence, or recovered to a state
 * that the memory once had. Usage: store_corrupt [every], to try only every so many-th truncation
 * and bit; 1 (default) is all.
 */
#include "store_image.h"
#include "store_seam.h"
#include "store_session.h"

#include "log_record.h"
#include "seal.h"
#include "store.h"
#include "store_bytes.h"
#include "store_crc.h"
#include "store_format.h"

#include <math.h>
#include <string.h>

enum { STEPS = 6 };

static unsigned char *good; /* whose writer died after the last record, until it is said to be sealed */
static size_t good_bytes;
static uint64_t log_start, record_at[STEPS + 1]; /* where each record begins; the last: the end */
static uint32_t sums[STEPS + 1];                 /* of the state after so many records */
static struct header header;
static unsigned char sealed[SEALS * SEAL_BYTES]; /* the seals of the file, had it been closed */

/* A file with a note, two particles and six records of every kind. Of the session with shards: with two of them in the
   snapshot, and a third that begins in the log. Of the one with surprises: five are in the snapshot, of twelve rows.
   With holes: they are in the first record's row. With names: those of three rows are in the snapshot. */
static void make_good(unsigned long session, int holes)
{
    session_choose(session);
    struct file_ops quick = file_without_sync();
    bpcn_options o = session_options();
    bpcn_open_options how;
    bpcn_file_info info = {.size = sizeof info};
    bpcn_memory *memory;
    float rows[10];
    bpcn_open_options_default(&how, sizeof how);
    how.create = &o;
    how.threads = 1;
    REQUIRE(memory_open(&quick, scratch("good"), &how, &memory) == BPCN_OK);
    for (uint64_t i = 0; i < (session == 0 ? 1 : session == 1 ? 3 : 12); i++)
        REQUIRE((session == 4 ? write_named : holes ? write_holes : write_row)(memory, 100 + i) == BPCN_OK);
    REQUIRE(bpcn_memory_set_note(memory, "a note to keep", 14) == BPCN_OK);
    REQUIRE(bpcn_memory_checkpoint(memory) == BPCN_OK);
    for (size_t i = 0; i < STEPS; i++) {
        store_info(memory->store, &memory->contents, &info);
        record_at[i] = info.file_bytes;
        sums[i] = state_sum(memory);
        make_row(i, 5, rows);
        make_row(i + 50, 5, rows + 5);
        bpcn_status status = i == 1            ? bpcn_memory_forget(memory, 0.25)
                             : i == 2          ? bpcn_memory_set_note(memory, "another", 7)
                             : i == 3          ? write_together(memory, rows, 2)
                             : i == 4          ? bpcn_memory_set_minimizer(memory, BPCN_ADAM)
                             : i == 0 && holes ? write_holes(memory, i)
                             : session == 4    ? write_named(memory, i)
                                               : bpcn_memory_write(memory, rows, NULL, 1, NULL);
        REQUIRE(status == BPCN_OK);
    }
    store_info(memory->store, &memory->contents, &info);
    record_at[STEPS] = info.file_bytes;
    sums[STEPS] = state_sum(memory);
    log_start = info.snapshot_bytes;
    bpcn_memory_free(memory);
    free(good);
    good = read_whole(scratch("good"), &good_bytes);
    remove(scratch("good"));
    REQUIRE(good_bytes == record_at[STEPS]);
    memcpy(sealed, good + HEADER_BYTES, sizeof sealed);
    leave_open(good);
    REQUIRE(header_decode(good, good_bytes, good_bytes, &header) == BPCN_OK);
}

/* Loads a file of these bytes. *sum is the state's when that succeeds. */
static bpcn_status load(unsigned char *bytes, size_t n, uint32_t *sum)
{
    struct image image = {bytes, n, n};
    struct file_ops ops = image_ops(&image);
    bpcn_memory *memory = NULL;
    bpcn_status status = memory_load(&ops, "image", &memory, NULL);
    if (status == BPCN_OK)
        *sum = state_sum(memory);
    REQUIRE((memory != NULL) == (status == BPCN_OK));
    REQUIRE(status == BPCN_OK || bpcn_error()[0] != '\0');
    bpcn_memory_free(memory);
    return status;
}

static int is_refusal(bpcn_status status)
{
    return status == BPCN_FORMAT || status == BPCN_NEWER || status == BPCN_CORRUPT;
}

/* Whole records before byte n. */
static size_t records_before(size_t n)
{
    size_t count = 0;
    while (count < STEPS && record_at[count + 1] <= n)
        count++;
    return count;
}

/* Of a file that was closed all is refused; of another what follows the last whole record is dropped. */
static unsigned long try_truncations(size_t every, int closed)
{
    unsigned long tried = 0;
    uint32_t sum = 0;
    for (size_t n = 0; n < good_bytes; n += every, tried++) {
        bpcn_status status = load(good, n, &sum);
        if (n < log_start || closed)
            REQUIRE(is_refusal(status));
        else
            REQUIRE(status == BPCN_OK && sum == sums[records_before(n)]);
    }
    return tried;
}

/* A bit of one seal leaves the other, and the state as it is; any other is refused. */
static unsigned long try_bits(size_t every)
{
    unsigned long tried = 0;
    uint32_t sum = 0;
    for (size_t bit = 0; bit < 8 * good_bytes; bit += every, tried++) {
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
        bpcn_status status = load(good, good_bytes, &sum);
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (bit / 8 >= HEADER_BYTES && bit / 8 < sections_at(&header))
            REQUIRE(status == BPCN_OK && sum == sums[STEPS]);
        else
            REQUIRE(is_refusal(status));
    }
    return tried;
}

/* Both, of the file closed and not. */
static void try_damage(size_t every, unsigned long *cut, unsigned long *flipped)
{
    unsigned char open[SEALS * SEAL_BYTES];
    memcpy(open, good + HEADER_BYTES, sizeof open);
    for (int closed = 0; closed < 2; closed++) {
        memcpy(good + HEADER_BYTES, closed ? sealed : open, sizeof open);
        *cut += try_truncations(every > 1 ? 7 : 1, closed);
        *flipped += try_bits(every);
    }
    memcpy(good + HEADER_BYTES, open, sizeof open);
}

/* ---- files made by hand */

static unsigned char *file;
static size_t file_bytes;

/* Puts every checksum right that can be found by the layout of the good file. */
static void repair(void)
{
    unsigned char salt[4];
    put32(file + 508, crc32c(0, file, 508));
    memcpy(salt, file + 508, 4);
    for (unsigned char *slot = file + HEADER_BYTES; slot < file + sections_at(&header); slot += SEAL_BYTES)
        put32(slot + 60, crc32c(crc32c(0, salt, 4), slot, 60));
    struct section s = {.offset = sections_at(&header)};
    for (uint64_t i = 0; i < section_count(&header); i++) {
        section_describe(&header, i, &s);
        unsigned char *head = file + s.offset, *table = head + SECTION_BYTES;
        unsigned char *payload = table + section_table(&s);
        for (uint64_t b = 0; b < section_blocks(&s); b++)
            put32(table + 4 * b, crc32c(0, payload, (size_t)section_payload(&s))); /* one block each */
        uint32_t crc = crc32c(crc32c(0, salt, 4), head, 60);
        put32(head + 60, crc32c(crc, table, (size_t)section_table(&s)));
        s.offset += section_length(&s);
    }
    for (size_t i = 0; i < STEPS; i++) {
        unsigned char *record = file + record_at[i];
        size_t payload = (size_t)(record_at[i + 1] - record_at[i]) - RECORD_BYTES - RECORD_END_BYTES;
        uint32_t crc = crc32c(crc32c(0, salt, 4), record, 40);
        put32(record + 40, crc);
        put64(record + RECORD_BYTES + payload, crc32c(crc, record + RECORD_BYTES, payload));
    }
}

static void start(void)
{
    file = realloc(file, good_bytes + 4096);
    memcpy(file, good, good_bytes);
    memset(file + good_bytes, 0, 4096);
    file_bytes = good_bytes;
}

/* Where section number i begins, and its payload. */
static size_t section_at(uint64_t index, size_t *payload)
{
    struct section s = {.offset = sections_at(&header)};
    for (uint64_t i = 0; i <= index; i++) {
        section_describe(&header, i, &s);
        *payload = (size_t)(s.offset + SECTION_BYTES + section_table(&s));
        if (i < index)
            s.offset += section_length(&s);
    }
    return (size_t)s.offset;
}

static unsigned long made;
static char seen[160][512];

/* The file must be refused so; its sentence must hold `words` and be like no other's. */
static void refuse(bpcn_status expected, const char *words)
{
    uint32_t sum;
    bpcn_status status = load(file, file_bytes, &sum);
    if (status != expected || strstr(bpcn_error(), words) == NULL) {
        fprintf(stderr, "wanted %s with \"%s\", got %s: %s\n", bpcn_status_name(expected), words,
                bpcn_status_name(status), bpcn_error());
        exit(1);
    }
    for (unsigned long i = 0; i < made; i++)
        REQUIRE(strcmp(seen[i], bpcn_error()) != 0);
    REQUIRE(made < 160);
    snprintf(seen[made++], sizeof seen[0], "%s", bpcn_error());
}

static void refuse32(size_t at, uint32_t value, bpcn_status expected, const char *words)
{
    start();
    put32(file + at, value);
    repair();
    refuse(expected, words);
}

static void refuse64(size_t at, uint64_t value, bpcn_status expected, const char *words)
{
    start();
    put64(file + at, value);
    repair();
    refuse(expected, words);
}

static void refuse_double(size_t at, double value, const char *words)
{
    start();
    put_double(file + at, value);
    repair();
    refuse(BPCN_CORRUPT, words);
}

static void try_headers(void)
{
    start();
    memcpy(file, "\x89PNG\r\n\x1a\n", 8);
    repair();
    refuse(BPCN_FORMAT, "does not begin like one");
    start();
    file_bytes = 0;
    refuse(BPCN_FORMAT, "empty");
    refuse32(8, 4, BPCN_NEWER, "version 4");
    refuse32(8, 0, BPCN_CORRUPT, "no format version 0");
    refuse32(12, 4, BPCN_NEWER, "features 0x00000004");
    refuse32(12, 0x80000000u, BPCN_NEWER, "features 0x80000000");
    refuse32(16, 1024, BPCN_CORRUPT, "its own length as 1024");
    refuse32(20, 4096, BPCN_CORRUPT, "blocks of 4096");
    refuse64(24, log_start + 64, BPCN_CORRUPT, "bytes for a memory of");
    refuse64(24, UINT64_MAX, BPCN_CORRUPT, "it gives 18446744073709551615 bytes");
    refuse64(32, UINT64_MAX, BPCN_CORRUPT, "generation");
    refuse64(40, UINT64_MAX, BPCN_CORRUPT, "writes");
    refuse64(48, UINT64_MAX, BPCN_CORRUPT, "forgets");
    refuse64(56, UINT64_MAX, BPCN_CORRUPT, "deletes");
    refuse_double(72, NAN, "sigma_w");
    refuse_double(80, -1, "sigma_x");
    refuse_double(88, 0, "sigma_data is 0");
    refuse_double(88, INFINITY, "sigma_data is inf");
    refuse_double(96, 0, "adam_rate");
    refuse_double(104, NAN, "adam_stop");
    refuse64(112, UINT64_MAX, BPCN_CORRUPT, "at most 1000000000");
    refuse64(120, 0, BPCN_CORRUPT, "at least 1");
    refuse32(128, 17, BPCN_CORRUPT, "activation");
    refuse32(132, 17, BPCN_CORRUPT, "minimizer");
    refuse32(136, 17, BPCN_CORRUPT, "precision");
    refuse32(140, 2, BPCN_CORRUPT, "resample");
    refuse32(144, 0, BPCN_CORRUPT, "particles is 0");
    refuse32(144, 0xffffffffu, BPCN_CORRUPT, "particles is 4294967295");
    refuse32(144, 65536, BPCN_CORRUPT, "for a memory of"); /* possible, but not in this file */
    refuse32(148, 65, BPCN_CORRUPT, "layers is 65");
    refuse32(148, 1, BPCN_CORRUPT, "hidden[1] is set");
    refuse32(152, 0, BPCN_CORRUPT, "dim is 0");
    refuse32(152, 1u << 25, BPCN_CORRUPT, "dim is 33554432");
    refuse32(156, 70000, BPCN_CORRUPT, "note of 70000");
    refuse32(160, 0, BPCN_CORRUPT, "hidden[0] is 0");
    refuse32(164, 0xffffffffu, BPCN_CORRUPT, "hidden[1] is 4294967295");
    refuse32(168, 4, BPCN_CORRUPT, "hidden[2] is set");
    refuse32(504, 1, BPCN_CORRUPT, "reserved byte 504");
    start();
    for (size_t l = 0; l < 64; l++)
        put32(file + 160 + 4 * l, 1u << 24);
    put32(file + 148, 64);
    put32(file + 144, 65536);
    repair();
    refuse(BPCN_CORRUPT, "fits no file"); /* 2^73 bytes */
    start();
    file[300]++;
    refuse(BPCN_CORRUPT, "the header is damaged");
}

/* A header that promises what the file does not have: refused before anything is asked for. */
static void try_promises(void)
{
    struct header huge = header;
    start();
    huge.options.dim = huge.options.hidden[0] = huge.options.hidden[1] = 1u << 24;
    header_encode(&huge, file);
    refuse(BPCN_CORRUPT, "cut short");
    huge = header;
    huge.options.particles = 65536;
    header_encode(&huge, file);
    refuse(BPCN_CORRUPT, "its header says");
    start();
    file_bytes = (size_t)log_start - 1;
    refuse(BPCN_CORRUPT, "cut short");
    start();
    file_bytes = 100;
    refuse(BPCN_CORRUPT, "it has 100 bytes, its header alone");
    start();
    file_bytes = 15;
    refuse(BPCN_CORRUPT, "it has 15 bytes");
}

static void try_sections(void)
{
    size_t payload, other, at;
    at = section_at(1, &payload);
    refuse32(at, 0x45544f4e, BPCN_CORRUPT, "byte 0 of its header"); /* a second note */
    refuse32(at + 4, 1, BPCN_CORRUPT, "byte 4 of its header");
    refuse32(at + 8, 1, BPCN_CORRUPT, "byte 8 of its header");
    refuse64(at + 16, 1u << 30, BPCN_CORRUPT, "byte 16 of its header");     /* larger than it can be */
    refuse64(at + 24, HEADER_BYTES, BPCN_CORRUPT, "byte 24 of its header"); /* on top of another */
    refuse32(at + 32, 1, BPCN_CORRUPT, "byte 32 of its header");
    refuse32(at + SECTION_BYTES + 8, 7, BPCN_CORRUPT, "padding of its checksums");
    refuse_double(payload, NAN, "the weights (section at byte 1728): they do not add up");
    at = section_at(2, &payload);
    refuse64(payload, 2, BPCN_CORRUPT, "origin");
    refuse_double(payload + 8, 0, "variance");
    refuse_double(payload + 16, INFINITY, "its mean is not finite");
    refuse_double(payload + 40, 1, "padding is not zero");
    at = section_at(3, &payload);
    refuse32(payload + 8, 0x7f800000, BPCN_CORRUPT, "the mean of particle 0, layer 0 (section at byte 2112): entry 2");
    section_at(5, &payload);
    refuse32(payload, 0x7fc00000, BPCN_CORRUPT, "the mean of particle 0, layer 1");
    section_at(4, &payload);
    refuse_double(payload, -0.5, "not positive definite, entry 0 of the diagonal is -0.5");
    refuse_double(payload + 8 * 4, 0, "entry 1 of the diagonal is 0");
    refuse_double(payload + 8, NAN, "the root of particle 0, layer 0 (section at byte 2368): entry 1");
    refuse_double(payload + 16, 1e39, "entry 2 is not finite or too large");
    at = section_at(3, &payload);
    start();
    other = section_at(5, &payload); /* two sections of a size, each in the other's place */
    unsigned char kept[256];
    memcpy(kept, file + at, 64);
    memcpy(file + at, file + other, 64);
    memcpy(file + other, kept, 64);
    repair();
    refuse(BPCN_CORRUPT, "byte 8 of its header does not agree");
    start();
    file[section_at(6, &payload)] ^= 1;
    refuse(BPCN_CORRUPT, "its header or its checksums are damaged");
    start();
    section_at(6, &payload);
    file[payload] ^= 1;
    refuse(BPCN_CORRUPT, "is damaged, its checksum does not fit");
}

/* A section of another memory of the same shape, its own checksums right. */
static void try_foreign_section(void)
{
    bpcn_options o = session_options();
    bpcn_memory *memory;
    size_t n, payload, at = section_at(3, &payload), length = section_at(4, &payload) - at;
    o.seed = 99;
    REQUIRE(bpcn_memory_create(&o, &memory) == BPCN_OK);
    REQUIRE(bpcn_memory_set_note(memory, "a note to keep", 14) == BPCN_OK);
    REQUIRE(bpcn_memory_save(memory, scratch("foreign")) == BPCN_OK);
    bpcn_memory_free(memory);
    unsigned char *foreign = read_whole(scratch("foreign"), &n);
    start();
    memcpy(file + at, foreign + at, length);
    refuse(BPCN_CORRUPT, "the mean of particle 0, layer 0 (section at byte 2112): its header");
    free(foreign);
}

/* Seals of a closed file that are whole, and say what is not so. */
static void try_seals(void)
{
    size_t newer = HEADER_BYTES, older = HEADER_BYTES + SEAL_BYTES;
    uint32_t sum;
    memcpy(good + HEADER_BYTES, sealed, sizeof sealed);
    REQUIRE(get64(good + newer + 8) == 4 && get64(good + older + 8) == 3);
    refuse64(newer + 16, good_bytes + 8, BPCN_CORRUPT, "when it was closed");
    refuse64(newer + 16, good_bytes - 8, BPCN_CORRUPT, "is not the one that was sealed");
    refuse64(newer + 16, log_start - 8, BPCN_CORRUPT, "6 records up to byte");
    refuse64(newer + 24, STEPS - 1, BPCN_CORRUPT, "5 records up to byte");
    refuse32(newer + 32, 7, BPCN_CORRUPT, "6 records up to byte");
    start();
    file[newer + 40] = 1; /* its padding, under a right checksum */
    put64(file + older + 8, UINT64_MAX);
    repair();
    refuse(BPCN_CORRUPT, "both seals (at bytes 512 and 1024) are damaged");
    start();
    memcpy(file + newer, good + older, SEAL_BYTES); /* each in the other's place */
    memcpy(file + older, good + newer, SEAL_BYTES);
    REQUIRE(load(file, file_bytes, &sum) == BPCN_CORRUPT);
    start();
    file[newer] ^= 1; /* of which a crash would have left the log whole */
    memset(file + record_at[STEPS - 1] + 50, 0, 60);
    refuse(BPCN_CORRUPT, "and so is a seal");
    leave_open(good);
}

static void try_records(void)
{
    size_t write = (size_t)record_at[0], forget = (size_t)record_at[1], note = (size_t)record_at[2];
    size_t block = (size_t)record_at[3], minimizer = (size_t)record_at[4], payload = RECORD_BYTES;
    refuse32(forget + 4, 99, BPCN_CORRUPT, "its kind does not exist");
    refuse32(write + 4, 99, BPCN_CORRUPT, "its length is wrong");
    refuse64(write + 16, 5, BPCN_CORRUPT, "its sequence number is wrong");
    refuse64(forget + 24, 7, BPCN_CORRUPT, "its count of synced records is wrong");
    refuse64(note + 24, 0, BPCN_CORRUPT, "record 2 of the log"); /* fewer than the record before */
    refuse64(forget + 32, 12, BPCN_CORRUPT, "no multiple of 8");
    refuse64(forget + 32, 16, BPCN_CORRUPT, "record 1 of the log");            /* a length that is not its own */
    refuse64(write + 32, UINT64_MAX - 7, BPCN_CORRUPT, "record 0 of the log"); /* beyond the file */
    refuse64(write + payload, 0, BPCN_CORRUPT, "its number of rows cannot be");
    refuse64(write + payload, 1 | UINT64_C(1) << 32, BPCN_CORRUPT, "its shard cannot be"); /* there is but one */
    refuse64(write + payload, 1 | UINT64_C(1) << 63, BPCN_CORRUPT, "its shard has begun before");
    refuse64(block + payload, 1, BPCN_CORRUPT, "its length does not fit its rows");
    refuse64(block + payload, 1025, BPCN_CORRUPT, "record 3 of the log");
    refuse_double(write + payload + 8, 3, "or its weights do not add up to one");
    refuse32(block + payload + 8 + 16, 0x7fc00000, BPCN_CORRUPT, "a number in it is not finite");
    refuse32(forget - RECORD_END_BYTES - 4, 1, BPCN_CORRUPT, "its padding is not zero"); /* of the write */
    refuse_double(forget + payload, 1.5, "its beta is not in 0 to 1");
    start();
    put32(file + forget + 4, CHANGE_DISCOUNT);
    put_double(file + forget + payload, 1); /* a forget may, a discount may not */
    repair();
    refuse(BPCN_CORRUPT, "record 1 of the log");
    refuse64(note + payload, 70000, BPCN_CORRUPT, "its note is too long");
    refuse64(note + payload, 100, BPCN_CORRUPT, "its length does not fit its note");
    refuse64(note + payload, 5, BPCN_CORRUPT, "record 2 of the log (at byte"); /* the rest is padding, but not zero */
    refuse64(minimizer + payload, 2, BPCN_CORRUPT, "its minimizer does not exist");
    refuse32(note + 4, CHANGE_DELETE, BPCN_CORRUPT, "its length does not fit a row");
    refuse32(forget + 4, CHANGE_WRITE, BPCN_CORRUPT, "its number of rows cannot be");
    refuse32(minimizer + 4, CHANGE_NOTE, BPCN_CORRUPT, "record 4 of the log");
}

/* The bytes of a file with one delete in its log, to be freed: the numbers need not be true to be read. */
static unsigned char *file_with_delete(const char *name, size_t *n, size_t *record)
{
    struct file_ops quick = file_without_sync();
    bpcn_options o = session_options();
    bpcn_open_options how;
    bpcn_file_info info = {.size = sizeof info};
    bpcn_memory *memory;
    float x[5] = {0}, codes[14] = {0};
    struct change change = {.kind = CHANGE_DELETE, .rows = 1, .x = x, .codes = codes};
    bpcn_open_options_default(&how, sizeof how);
    how.create = &o;
    REQUIRE(memory_open(&quick, scratch(name), &how, &memory) == BPCN_OK);
    REQUIRE(store_append(memory->store, &memory->contents, &change) == BPCN_OK);
    store_info(memory->store, &memory->contents, &info);
    bpcn_memory_free(memory);
    *record = (size_t)info.snapshot_bytes;
    return read_whole(scratch(name), n);
}

static void try_deletes(void)
{
    size_t n, at;
    unsigned char *bytes = file_with_delete("deletes", &n, &at), *record = bytes + at;
    for (int i = 0; i < 3; i++) {
        put32(record + RECORD_BYTES + 4, i == 1 ? 0x7fc00000 : 0);
        put32(record + RECORD_BYTES + 76, i == 0 ? 1 : 0); /* 19 numbers and 4 bytes of padding */
        put64(record + RECORD_BYTES + 80, crc32c(get32(record + 40), record + RECORD_BYTES, 80));
        start();
        memcpy(file, bytes, n);
        file_bytes = n;
        refuse(BPCN_CORRUPT, i == 0   ? "padding is not zero"
                             : i == 1 ? "a number in it is not finite"
                                      : "that cannot be: the top");
    }
    free(bytes);
}

/* Records whose arithmetic, though each number in them is finite, overflows the memory. */
static void try_overflow(void)
{
    start();
    for (size_t i = 0; i < 5 + 14; i++)
        put32(file + record_at[0] + RECORD_BYTES + 24 + 4 * i, 0x7f7fffff);
    repair();
    refuse(BPCN_CORRUPT, "is not finite");
}

/* Bytes of the first record, put there and repaired, that make it refused: its sentences are those of other records. */
static void refuse_bytes(size_t at, const void *bytes, size_t n, const char *words)
{
    uint32_t sum;
    start();
    memcpy(file + at, bytes, n);
    repair();
    REQUIRE(load(file, file_bytes, &sum) == BPCN_CORRUPT && strstr(bpcn_error(), words) != NULL);
}

/* What the first record knows of its row: of 5 entries the second, third and last. */
static void try_holes(void)
{
    size_t write = (size_t)record_at[0] + RECORD_BYTES, x = write + 24, known = x + 4 * (5 + 14);
    REQUIRE(memcmp(good + known, "\0\1\1\0\1\0\0\0", 8) == 0);
    refuse_bytes(known, "\0\2\1\0\1", 5, "what it knows of its row cannot be");
    refuse_bytes(known, "\0\0\0\0\0", 5, "what it knows of its row cannot be");
    refuse_bytes(known, "\1\1\1\1\1", 5, "what it knows of its row cannot be");
    refuse_bytes(known, "\0\1\1\0\1\0\0\1", 8, "its padding is not zero");
    refuse_bytes(x, "\1", 1, "what it knows of its row cannot be"); /* a number where nothing is known */
    refuse_bytes(x + 4, "\0\0\x80\x7f", 4, "a number in it is not finite");
    refuse_bytes(write, "\2", 1, "its number of rows cannot be");
    refuse_bytes(write + 3, "\0", 1, "its length does not fit its rows");
}

/* The file as one of version 1, which has no seals, but a row with holes all the same. */
static void try_old_holes(void)
{
    const size_t less = SEALS * SEAL_BYTES;
    start();
    memmove(file + HEADER_BYTES, file + HEADER_BYTES + less, file_bytes - HEADER_BYTES - less);
    file_bytes -= less;
    header.version = 1;
    put32(file + 8, 1);
    put64(file + 24, log_start - less);
    for (uint64_t i = 0; i < section_count(&header); i++) {
        size_t payload, at = section_at(i, &payload);
        put64(file + at + 24, at);
    }
    for (size_t i = 0; i <= STEPS; i++)
        record_at[i] -= less;
    for (size_t i = 0; i < STEPS; i++)
        put64(file + record_at[i] + 8, record_at[i]);
    repair();
    refuse(BPCN_CORRUPT, "its row has holes, which the file's version does not know");
}

/* Five are kept. */
static void try_surprises(void)
{
    size_t payload, write = (size_t)record_at[0] + RECORD_BYTES;
    REQUIRE(header.surprises == 5);
    refuse32(440, 65537, BPCN_CORRUPT, "surprises is 65537");
    refuse32(440, 4, BPCN_CORRUPT, "5 surprises of 4 are kept");
    refuse32(444, 6, BPCN_CORRUPT, "6 surprises of 5 are kept");
    refuse32(444, 2, BPCN_CORRUPT, "bytes for a memory of");
    refuse32(448, 1, BPCN_CORRUPT, "with 1 views");
    refuse32(452, 1, BPCN_CORRUPT, "its features are 0, but it keeps 1 names");
    refuse32(12, 1, BPCN_CORRUPT, "its features are 1, but it keeps 0 names");
    refuse32(12, 2, BPCN_NEWER, "features 0x00000002");
    refuse32(456, 1, BPCN_CORRUPT, "1 names of 0 are kept");
    refuse32(460, 1, BPCN_CORRUPT, "reserved byte 460");
    section_at(1, &payload);
    refuse_double(payload, NAN, "the surprises of the latest rows (section at byte 1728): what is kept of row 0");
    refuse_double(payload + 8 * 4, -1, "what is kept of row 1 cannot be");
    refuse_double(payload + 8 * 14, 1e301, "what is kept of row 4 cannot be");
    refuse_bytes(write + 15, "\x7f", 1, "a number in it is not finite"); /* the surprise becomes huge */
}

/* Three are kept, of rows in shards 2, 2 and 1; the first record has a fourth. */
static void try_names(void)
{
    enum { EACH = 232, NUMBER = 64, SHARD = 72, PARTICLE = 76, SKETCHED = 88, CODE = 216 };
    size_t payload, write = (size_t)record_at[0] + RECORD_BYTES, name = (size_t)record_at[1] - RECORD_END_BYTES - 64;
    REQUIRE(header.names == 3 && name_bytes(&header.options) == EACH);
    refuse32(452, 65537, BPCN_CORRUPT, "names is 65537");
    refuse32(452, 2, BPCN_CORRUPT, "3 names of 2 are kept");
    refuse32(456, 2, BPCN_CORRUPT, "bytes for a memory of");
    refuse32(12, 0, BPCN_CORRUPT, "its features are 0, but it keeps 3 names");
    section_at(3, &payload);
    refuse_bytes(payload, "\xc3(", 2, "the names (section at byte 2240): its name cannot be, of what is kept of row 0");
    refuse_bytes(payload + EACH + 63, "x", 1, "its name cannot be, of what is kept of row 1");
    refuse_bytes(payload + 2 * EACH, "\xed\xa0\x80", 3, "its name cannot be, of what is kept of row 2");
    refuse64(payload + NUMBER, 0, BPCN_CORRUPT, "its number cannot be, of what is kept of row 0");
    refuse64(payload + EACH + NUMBER, UINT64_C(1) << 63, BPCN_CORRUPT, "its number cannot be, of what is kept of row 1");
    refuse32(payload + SHARD, 3, BPCN_CORRUPT, "its shard cannot be, of what is kept of row 0");
    refuse32(payload + PARTICLE, 2, BPCN_CORRUPT, "its particle cannot be, of what is kept of row 0");
    refuse32(payload + SKETCHED - 4, 1, BPCN_CORRUPT, "its padding cannot be, of what is kept of row 0");
    refuse32(payload + SKETCHED, 0x7fc00000, BPCN_CORRUPT, "a number in it cannot be, of what is kept of row 0");
    refuse32(payload + EACH + CODE + 12, 0x7f800000, BPCN_CORRUPT, "a number in it cannot be, of what is kept of row 1");
    refuse_bytes(name + 40, "x", 1, "its name cannot be");
    refuse64(write, get64(good + write) & ~(UINT64_C(1) << 29), BPCN_CORRUPT, "its length does not fit its rows");
    refuse64(write, get64(good + write) + 1, BPCN_CORRUPT, "its number of rows cannot be");
}

/* ---- shards */

static const uint64_t begins = UINT64_C(1) << 63;

static uint64_t in_shard(uint64_t shard)
{
    return 1 | shard << 32;
}

static void try_shard_headers(void)
{
    refuse32(416, 0, BPCN_CORRUPT, "shards is 0");
    refuse32(416, 1u << 19, BPCN_CORRUPT, "shards is 524288");
    refuse32(416, 1, BPCN_CORRUPT, "2 shards of 1 have begun");
    refuse32(420, 0, BPCN_CORRUPT, "0 shards of 3 have begun");
    refuse32(420, 4, BPCN_CORRUPT, "4 shards of 3 have begun");
    refuse32(420, 1, BPCN_CORRUPT, "for a memory of"); /* possible, but not in this file */
    refuse32(420, 3, BPCN_CORRUPT, "for a memory of");
    refuse32(424, 0, BPCN_CORRUPT, "shard_rows is 0");
    refuse32(428, 3, BPCN_CORRUPT, "when_full 3");
    refuse32(8, 1, BPCN_CORRUPT, "reserved byte 416"); /* version 1 has no shards */
    start();
    put32(file + 416, 1);
    put32(file + 420, 1);
    put32(file + 428, BPCN_BLUR);
    repair();
    refuse(BPCN_CORRUPT, "it speaks of shards");
    struct header huge = header;
    start();
    huge.options.shards = huge.shards = BPCN_MAX_SHARDS;
    header_encode(&huge, file);
    refuse(BPCN_CORRUPT, "cut short");
}

static void try_shard_sections(void)
{
    size_t payload, at = section_at(1, &payload), other;
    refuse32(at, 0x45544f4e, BPCN_CORRUPT, "the counts of the shards (section at byte 1728): byte 0 of its header");
    refuse64(payload, UINT64_C(1) << 63, BPCN_CORRUPT, "count 0 of shard 0 is more than can be");
    refuse64(payload + 72, UINT64_MAX, BPCN_CORRUPT, "count 4 of shard 1 is more than can be");
    refuse64(payload, 4, BPCN_CORRUPT, "shard 0 has more rows than were written since it began");
    refuse64(payload + 48, 3, BPCN_CORRUPT, "shard 1 has more rows than were written since it began");
    refuse64(payload + 80, 1, BPCN_CORRUPT, "the counts of the shards (section at byte 1728): its padding is not zero");
    at = section_at(2 + sections_of_shard(&header), &payload);
    refuse32(at + 12, 0, BPCN_CORRUPT, "byte 12 of its header");
    refuse_double(payload, NAN, "shard 1, the weights");
    section_at(2 + sections_of_shard(&header) + 2, &payload);
    refuse32(payload, 0x7f800000, BPCN_CORRUPT, "shard 1, the mean of particle 0, layer 0");
    start();
    section_at(1, &payload);
    file[payload] ^= 1;
    refuse(BPCN_CORRUPT, "the counts of the shards (section at byte 1728): the block");
    start(); /* the weights of the two shards, each in the other's place */
    at = section_at(2, &payload);
    other = section_at(2 + sections_of_shard(&header), &payload);
    unsigned char kept[SECTION_BYTES];
    memcpy(kept, file + at, sizeof kept);
    memcpy(file + at, file + other, sizeof kept);
    memcpy(file + other, kept, sizeof kept);
    repair();
    refuse(BPCN_CORRUPT, "byte 12 of its header does not agree");
}

static void try_shard_records(void)
{
    size_t write = (size_t)record_at[0] + RECORD_BYTES, last = (size_t)record_at[STEPS - 1] + RECORD_BYTES;
    refuse64(write, in_shard(3), BPCN_CORRUPT, "its shard cannot be");
    refuse64(write, in_shard(2), BPCN_CORRUPT, "its shard has not begun");
    refuse64(last, in_shard(2), BPCN_CORRUPT, "record 5 of the log");
    start();
    REQUIRE(get64(file + last) == (in_shard(2) | begins));
    uint32_t sum = 0;
    put64(file + last, in_shard(1) | begins); /* not what was lived, but what can be: shards are recycled */
    repair();
    REQUIRE(load(file, file_bytes, &sum) == BPCN_OK && sum != sums[STEPS]);
    put32(file + 428, BPCN_BLUR);
    repair();
    refuse(BPCN_CORRUPT, "its shard has begun before");
}

/* A delete says of which shard it is. */
static void try_shard_deletes(void)
{
    size_t n, at;
    unsigned char *bytes = file_with_delete("shard-deletes", &n, &at), *record = bytes + at;
    REQUIRE(n == at + RECORD_BYTES + 88 + RECORD_END_BYTES);
    for (uint64_t shard = 1; shard <= 3; shard += 2) {
        put64(record + RECORD_BYTES, shard == 3 ? UINT64_MAX : shard);
        put64(record + RECORD_BYTES + 88, crc32c(get32(record + 40), record + RECORD_BYTES, 88));
        start();
        memcpy(file, bytes, n);
        file_bytes = n;
        refuse(BPCN_CORRUPT, shard == 3 ? "its shard cannot be" : "its shard has not begun");
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    unsigned long every = count_argument(argc, argv, 1);
    bpcn_options o = session_options();
    bpcn_memory *warm;
    REQUIRE(bpcn_memory_create(&o, &warm) == BPCN_OK); /* sets the number of threads */
    bpcn_memory_free(warm);
    unsigned long cut = 0, flipped = 0;
    make_good(0, 0);
    try_damage(every, &cut, &flipped);
    try_headers();
    try_promises();
    try_sections();
    try_foreign_section();
    try_seals();
    try_records();
    try_deletes();
    try_overflow();
    make_good(0, 1);
    try_damage(every, &cut, &flipped);
    try_holes();
    try_old_holes();
    make_good(2, 0);
    try_damage(every, &cut, &flipped);
    try_surprises();
    make_good(4, 0);
    try_damage(every, &cut, &flipped);
    try_names();
    make_good(1, 0);
    try_damage(every, &cut, &flipped);
    try_shard_headers();
    try_shard_sections();
    try_shard_records();
    try_shard_deletes();
    printf("store_corrupt: files of up to %zu bytes, %lu truncations, %lu flipped bits, %lu files made by hand: all "
           "refused with their own sentence or safely recovered\n",
           good_bytes, cut, flipped, made);
    free(good);
    free(file);
    return 0;
}
