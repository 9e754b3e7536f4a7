/*
 * The loader and the log under any bytes. The mutator puts checksums and redundant fields right
 * again, most of the time, so that what lies behind them is reached. What loads must be a sound
 * state; opened to be written, changed and closed, it must load again to the same state. Whatever it is, recovering it
 * ends with a sound state or a refusal.
 */
#include "../store_image.h"

#include "log.h"
#include "transaction.h"
#include "format.h"
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most); /* libFuzzer's */

static void require(int holds)
{
    if (!holds)
        abort();
}

/* The bytes of the memory's snapshot, as a sum of its state. */
static uint32_t sum_of(const bpcn_memory *memory)
{
    static unsigned char block[BLOCK_BYTES];
    struct header header;
    uint32_t sum = 0;
    snapshot_describe(&memory->contents, 0, &header);
    for (uint64_t i = 0; i < section_count(&header); i++) {
        struct section s;
        section_describe(&header, i, &s);
        for (uint64_t at = 0; at < s.bytes; at += BLOCK_BYTES) {
            size_t n = s.bytes - at < BLOCK_BYTES ? (size_t)(s.bytes - at) : BLOCK_BYTES;
            state_encode(&memory->contents, &s, at, n, block);
            sum = crc32c(sum, block, n);
        }
    }
    return sum;
}

/* Opens a copy to be written, forgets a little, and compares what was closed with what loads. */
static void use(const uint8_t *data, size_t size, uint32_t loaded)
{
    struct image image = {0};
    bpcn_open_options how;
    bpcn_memory *memory = NULL;
    bpcn_open_options_default(&how, sizeof how);
    image_grow(&image, size + 1);
    memcpy(image.bytes, data, size);
    image.length = size;
    struct file_ops ops = image_ops(&image);
    how.threads = 1;
    bpcn_status opened = memory_open(&ops, "image", &how, &memory);
    require(opened == BPCN_OK);
    require(sum_of(memory) == loaded);
    require(bpcn_memory_set_note(memory, "fuzz", 4) == BPCN_OK);
    bpcn_status status = bpcn_memory_forget(memory, 0.5);
    uint32_t sum = sum_of(memory);
    require(bpcn_memory_close(memory) == BPCN_OK);
    bpcn_file_info info = {.size = sizeof info};
    bpcn_status again = memory_load(&ops, "image", &memory, &info);
    require(again == BPCN_OK && info.sealed);
    require(status == BPCN_OK && sum_of(memory) == sum);
    bpcn_memory_free(memory);
    free(image.bytes);
}

/* There is no place for a new file in an image: to have failed for that is to have read all that can be. */
static void recover(const struct file_ops *ops)
{
    bpcn_recovery report = {.size = sizeof report};
    bpcn_status status = store_recover(ops, "image", "image.bpcn-new", &report);
    require(status == BPCN_IO || status == BPCN_FORMAT || status == BPCN_NEWER || status == BPCN_CORRUPT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image image = {(unsigned char *)(uintptr_t)data, size, size}; /* read only */
    struct file_ops ops = image_ops(&image);
    bpcn_memory *memory = NULL;
    bpcn_file_info info = {.size = sizeof info};
    recover(&ops);
    bpcn_status status = memory_load(&ops, "image", &memory, &info);
    require((memory != NULL) == (status == BPCN_OK));
    if (status != BPCN_OK)
        return 0;
    require(snapshot_check(&memory->contents) == BPCN_OK && info.file_bytes == size);
    uint32_t sum = sum_of(memory);
    bpcn_memory_free(memory);
    use(data, size, sum);
    return 0;
}

/* ---- the mutator */

static uint64_t next(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *random >> 33;
}

/* Most of the time. */
static int rather(uint64_t *random)
{
    return next(random) % 16 != 0;
}

/* The header's checksum and length; whether the file can then be what the header says. */
static int repair_header(uint8_t *data, size_t size, struct header *header, uint64_t *random)
{
    unsigned char scratch[HEADER_BYTES];
    if (size < HEADER_BYTES)
        return 0;
    put32(data + 508, crc32c(0, data, 508));
    header_decode(data, size, UINT64_MAX / 4, header); /* fills the header even when it refuses it */
    if (header->options.particles < 1 || header->options.layers > BPCN_MAX_LAYERS || header->shards < 1)
        return 0;
    if (rather(random)) {
        struct header same = *header;
        header_encode(&same, scratch);
        put64(data + 24, same.snapshot);
        put32(data + 508, crc32c(0, data, 508));
    }
    return header_decode(data, size, size, header) == BPCN_OK;
}

static void repair_section(uint8_t *data, const struct section *s, const struct header *header, uint64_t *random)
{
    uint8_t *head = data + s->offset, *table = head + SECTION_BYTES, *payload = table + section_table(s), salt[4];
    put32(salt, header->salt);
    if (rather(random)) {
        memset(head, 0, SECTION_BYTES);
        put32(head, (uint32_t)s->tag);
        put32(head + 4, (uint32_t)s->particle);
        put32(head + 8, (uint32_t)s->layer);
        put32(head + 12, (uint32_t)s->shard);
        put64(head + 16, s->bytes);
        put64(head + 24, s->offset);
    }
    for (uint64_t b = 0; b < section_blocks(s); b++) {
        uint64_t left = section_payload(s) - b * BLOCK_BYTES;
        size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        if (rather(random) && b + 1 == section_blocks(s))
            memset(payload + s->bytes, 0, (size_t)(section_payload(s) - s->bytes));
        put32(table + 4 * b, crc32c(0, payload + b * BLOCK_BYTES, n));
    }
    if (rather(random))
        memset(table + 4 * section_blocks(s), 0, (size_t)(section_table(s) - 4 * section_blocks(s)));
    uint32_t crc = crc32c(crc32c(0, salt, 4), head, 60);
    put32(head + 60, crc32c(crc, table, (size_t)section_table(s)));
}

/* A seal of what the log now is, or only the checksums of those there are. */
static void repair_seals(uint8_t *data, const struct header *header, const struct seal *now, uint64_t *random)
{
    uint8_t salt[4], *slots = data + HEADER_BYTES;
    put32(salt, header->salt);
    for (int i = 0; i < SEALS; i++, slots += SEAL_BYTES)
        if (rather(random)) {
            memset(slots + 64, 0, SEAL_BYTES - 64);
            put32(slots + 60, crc32c(crc32c(0, salt, 4), slots, 60));
        }
    if (next(random) % 2 == 0)
        seal_encode(now, header->salt, data + seal_offset(now));
}

/* Records one after the other to the end, of whatever lengths they give; *seal is what would seal them. */
static void repair_log(uint8_t *data, size_t size, const struct header *header, struct seal *seal, uint64_t *random)
{
    uint64_t at = header->snapshot, sequence = 0, synced = 0;
    while (at + RECORD_BYTES + RECORD_END_BYTES <= size) {
        uint64_t room = size - at - RECORD_BYTES - RECORD_END_BYTES, bytes = get64(data + at + 32);
        struct record record = {get32(data + at + 4) % 7, at, sequence, get64(data + at + 24), bytes};
        if (bytes > room && rather(random))
            record.bytes = bytes = room / 8 * 8;
        if ((record.synced > sequence || record.synced < synced) && rather(random))
            record.synced = sequence;
        uint32_t crc = record_encode(&record, header->salt, data + at);
        if (bytes > room)
            return;
        put64(data + at + RECORD_BYTES + bytes, crc32c(crc, data + at + RECORD_BYTES, (size_t)bytes));
        seal->sum = crc32c(seal->sum, data + at + RECORD_BYTES + bytes, RECORD_END_BYTES);
        synced = record.synced;
        sequence++;
        at += RECORD_BYTES + bytes + RECORD_END_BYTES;
        seal->records = sequence;
        seal->length = at;
        if (bytes % 8 != 0)
            return;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    uint64_t random = seed;
    struct header header;
    size = LLVMFuzzerMutate(data, size, most);
    if (!rather(&random) || !repair_header(data, size, &header, &random))
        return size;
    struct section s = {.offset = SECTIONS_AT};
    for (uint64_t i = 0; i < section_count(&header); i++) {
        section_describe(&header, i, &s);
        if (rather(&random))
            repair_section(data, &s, &header, &random);
        s.offset += section_length(&s);
    }
    struct seal seal = {.epoch = 2 * (1 + next(&random) % 4), .length = header.snapshot};
    if (rather(&random))
        repair_log(data, size, &header, &seal, &random);
    if (rather(&random))
        repair_seals(data, &header, &seal, &random);
    return size;
}
