/* See corrupt_common.h. */
#include "corrupt_common.h"

#include "store_image.h"
#include "store_seam.h"
#include "store_session.h"

#include "log.h"
#include "store.h"
#include "format.h"

#include <string.h>

unsigned char *good;
size_t good_bytes;
uint64_t log_start, record_at[STEPS + 1];
uint32_t sums[STEPS + 1];
struct header header;
unsigned char sealed[SEALS * SEAL_BYTES];

void make_good(unsigned long session, int holes)
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

bpcn_status load_image(unsigned char *bytes, size_t n, uint32_t *sum)
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

size_t section_at(uint64_t index, size_t *payload)
{
    struct section s = {.offset = SECTIONS_AT};
    for (uint64_t i = 0; i <= index; i++) {
        section_describe(&header, i, &s);
        *payload = (size_t)(s.offset + SECTION_BYTES + section_table(&s));
        if (i < index)
            s.offset += section_length(&s);
    }
    return (size_t)s.offset;
}

unsigned char *file_with_delete(const char *name, size_t *n, size_t *record)
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

/* ---- files made by hand */

unsigned char *file;
size_t file_bytes;

void start(void)
{
    file = realloc(file, good_bytes + 4096);
    memcpy(file, good, good_bytes);
    memset(file + good_bytes, 0, 4096);
    file_bytes = good_bytes;
}

void repair(void)
{
    unsigned char salt[4];
    put32(file + 508, crc32c(0, file, 508));
    memcpy(salt, file + 508, 4);
    for (unsigned char *slot = file + HEADER_BYTES; slot < file + SECTIONS_AT; slot += SEAL_BYTES)
        put32(slot + 60, crc32c(crc32c(0, salt, 4), slot, 60));
    struct section s = {.offset = SECTIONS_AT};
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

unsigned long made;
static char seen[256][512];

void refuse(bpcn_status expected, const char *words)
{
    uint32_t sum;
    bpcn_status status = load_image(file, file_bytes, &sum);
    if (status != expected || strstr(bpcn_error(), words) == NULL) {
        fprintf(stderr, "wanted %s with \"%s\", got %s: %s\n", bpcn_status_name(expected), words,
                bpcn_status_name(status), bpcn_error());
        exit(1);
    }
    for (unsigned long i = 0; i < made; i++)
        REQUIRE(strcmp(seen[i], bpcn_error()) != 0);
    REQUIRE(made < 170);
    snprintf(seen[made++], sizeof seen[0], "%s", bpcn_error());
}

void refuse32(size_t at, uint32_t value, bpcn_status expected, const char *words)
{
    start();
    put32(file + at, value);
    repair();
    refuse(expected, words);
}

void refuse64(size_t at, uint64_t value, bpcn_status expected, const char *words)
{
    start();
    put64(file + at, value);
    repair();
    refuse(expected, words);
}

void refuse_double(size_t at, double value, const char *words)
{
    start();
    put_double(file + at, value);
    repair();
    refuse(BPCN_CORRUPT, words);
}

void refuse_bytes(size_t at, const void *bytes, size_t n, const char *words)
{
    uint32_t sum;
    start();
    memcpy(file + at, bytes, n);
    repair();
    REQUIRE(load_image(file, file_bytes, &sum) == BPCN_CORRUPT && strstr(bpcn_error(), words) != NULL);
}
