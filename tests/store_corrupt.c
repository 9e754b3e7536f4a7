/*
 * corrupt: every truncation and every single flipped bit of a small file, and files made wrong by
 * hand whose checksums are right. Each is refused with its own sentence, or recovered to a state
 * that the memory once had. Usage: store_corrupt [every], to try only every so many-th truncation
 * and bit; 1 (default) is all.
 */
#include "corrupt_common.h"
#include "store_session.h"

#include <string.h>

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
        bpcn_status status = load_image(good, n, &sum);
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
        bpcn_status status = load_image(good, good_bytes, &sum);
        good[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (bit / 8 >= HEADER_BYTES && bit / 8 < SECTIONS_AT)
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
    try_network();
    make_good(0, 1);
    try_damage(every, &cut, &flipped);
    try_holes();
    make_good(2, 0);
    try_damage(every, &cut, &flipped);
    try_surprises();
    make_good(4, 0);
    try_damage(every, &cut, &flipped);
    try_names();
    make_good(1, 0);
    try_damage(every, &cut, &flipped);
    try_shards();
    printf("store_corrupt: files of up to %zu bytes, %lu truncations, %lu flipped bits, %lu files made by hand: all "
           "refused with their own sentence or safely recovered\n",
           good_bytes, cut, flipped, made);
    free(good);
    free(file);
    return 0;
}
