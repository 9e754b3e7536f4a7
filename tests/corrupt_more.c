/* Files with holes, surprises, names and shards, made wrong by hand: see corrupt_common.h. */
#include "corrupt_common.h"

#include "log.h"
#include "format.h"

#include <math.h>
#include <string.h>

/* What the first record knows of its row: of 5 entries the second, third and last. */
void try_holes(void)
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

/* Five are kept. */
void try_surprises(void)
{
    size_t payload, write = (size_t)record_at[0] + RECORD_BYTES;
    REQUIRE(header.surprises == 5);
    refuse32(440, 65537, BPCN_CORRUPT, "surprises is 65537");
    refuse32(440, 4, BPCN_CORRUPT, "5 surprises of 4 are kept");
    refuse32(444, 6, BPCN_CORRUPT, "6 surprises of 5 are kept");
    refuse32(444, 2, BPCN_CORRUPT, "bytes for a memory of");
    refuse32(448, 1, BPCN_CORRUPT, "reserved byte 448");
    refuse32(452, 1, BPCN_CORRUPT, "its features are 0, but it keeps 1 names");
    refuse32(12, 1, BPCN_CORRUPT, "its features are 1, but it keeps 0 names");
    refuse32(12, 2, BPCN_CORRUPT, "its features are 2, but it keeps 0 names and is no table");
    refuse32(456, 1, BPCN_CORRUPT, "1 names of 0 are kept");
    refuse32(460, 1, BPCN_CORRUPT, "a table's memory has no shards and no particles");
    refuse32(460, 2, BPCN_CORRUPT, "kind 2 does not exist");
    refuse32(12, 16, BPCN_NEWER, "features 0x00000010");
    refuse32(464, 1, BPCN_CORRUPT, "its features are 0, but its index is of form 1");
    refuse32(468, 1, BPCN_CORRUPT, "its index of the rows is larger than the memory");
    refuse32(488, 70000, BPCN_CORRUPT, "deletable is 70000");
    refuse32(492, 9999, BPCN_CORRUPT, "9999 fingerprints of");
    refuse32(496, 1, BPCN_CORRUPT, "reserved byte 496");
    start();
    put32(file + 12, FEATURE_INDEX);
    put32(file + 464, INDEX_DECIDED);
    repair();
    refuse(BPCN_CORRUPT, "a memory of its options has no index of its rows");
    section_at(1, &payload);
    refuse_double(payload, NAN, "the surprises of the latest rows (section at byte 1728): what is kept of row 0");
    refuse_double(payload + 8 * 4, -1, "what is kept of row 1 cannot be");
    refuse_double(payload + 8 * 14, 1e301, "what is kept of row 4 cannot be");
    refuse_bytes(write + 15, "\x7f", 1, "a number in it is not finite"); /* the surprise becomes huge */
}

/* Three are kept, of rows in shards 2, 2 and 1; the first record has a fourth. */
void try_names(void)
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
    refuse64(payload + EACH + NUMBER, UINT64_C(1) << 63, BPCN_CORRUPT,
             "its number cannot be, of what is kept of row 1");
    refuse32(payload + SHARD, 3, BPCN_CORRUPT, "its shard cannot be, of what is kept of row 0");
    refuse32(payload + PARTICLE, 2, BPCN_CORRUPT, "its particle cannot be, of what is kept of row 0");
    refuse32(payload + SKETCHED, 0x7fc00000, BPCN_CORRUPT, "a number in it cannot be, of what is kept of row 0");
    refuse32(payload + EACH + CODE + 12, 0x7f800000, BPCN_CORRUPT,
             "a number in it cannot be, of what is kept of row 1");
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
    REQUIRE(load_image(file, file_bytes, &sum) == BPCN_OK && sum != sums[STEPS]);
    put32(file + 428, BPCN_BLUR);
    repair();
    refuse(BPCN_CORRUPT, "its shard has begun before");
}

/* A delete says of which shard it is. */
static void try_shard_deletes(void)
{
    size_t n, at;
    unsigned char *bytes = file_with_delete("shard-deletes", &n, &at), *record = bytes + at;
    REQUIRE(n == at + RECORD_BYTES + 96 + RECORD_END_BYTES);
    for (uint64_t shard = 1; shard <= 3; shard += 2) {
        put64(record + RECORD_BYTES, shard == 3 ? UINT64_MAX : shard);
        put64(record + RECORD_BYTES + 96, crc32c(get32(record + 40), record + RECORD_BYTES, 96));
        start();
        memcpy(file, bytes, n);
        file_bytes = n;
        refuse(BPCN_CORRUPT, shard == 3 ? "its shard cannot be" : "its shard has not begun");
    }
    free(bytes);
}

void try_shards(void)
{
    try_shard_headers();
    try_shard_sections();
    try_shard_records();
    try_shard_deletes();
}
