/* Files of one network made wrong by hand: see corrupt_common.h. */
#include "corrupt_common.h"
#include "store_session.h"

#include "log.h"
#include "format.h"

#include <math.h>
#include <string.h>

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
    refuse32(8, 0, BPCN_FORMAT, "version 0, this program reads version 3");
    refuse32(8, 2, BPCN_FORMAT, "version 2, this program reads version 3"); /* never released */
    refuse32(12, 8, BPCN_NEWER, "features 0x00000008");
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
    REQUIRE(load_image(file, file_bytes, &sum) == BPCN_CORRUPT);
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

static void try_deletes(void)
{
    size_t n, at;
    unsigned char *bytes = file_with_delete("deletes", &n, &at), *record = bytes + at;
    for (int i = 0; i < 3; i++) {
        put32(record + RECORD_BYTES + 12, i == 1 ? 0x7fc00000 : 0);
        put32(record + RECORD_BYTES + 84, i == 0 ? 1 : 0); /* 19 numbers and 4 bytes of padding */
        put64(record + RECORD_BYTES + 88, crc32c(get32(record + 40), record + RECORD_BYTES, 88));
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

void try_network(void)
{
    try_headers();
    try_promises();
    try_sections();
    try_foreign_section();
    try_seals();
    try_records();
    try_deletes();
    try_overflow();
}
