/*
 * damage: closed files of one and of many shards, with a log and without, are damaged at random: bits flipped, the end
 * cut off, blocks swapped, blocks doubled. Each is refused, or opens to the very state that was closed; what is
 * recovered of it is a sound file that has at least every row whose record is whole, and the damaged file is not
 * touched. Usage: store_damage [damages].
 */
#include "store_seam.h"
#include "store_session.h"

#include "log.h"
#include "store.h"
#include "format.h"

#include <string.h>
#include <unistd.h>

enum { MOST_RECORDS = 64, STEPS = 24 };

/* A closed file. */
struct sealed {
    unsigned char *bytes;
    size_t n, log;                        /* the log begins there */
    size_t records, at[MOST_RECORDS + 1]; /* where each begins; the last: the end */
    size_t rows[MOST_RECORDS];            /* in each */
    uint32_t sum;                         /* of the state */
};

static struct file_ops quick;

static void find_records(struct sealed *s, uint32_t salt)
{
    s->at[0] = s->log;
    for (s->records = 0; s->at[s->records] < s->n; s->records++) {
        struct record record;
        uint32_t crc;
        size_t at = s->at[s->records];
        REQUIRE(s->records < MOST_RECORDS);
        REQUIRE(record_decode(s->bytes + at, salt, at, &record, &crc) == 0);
        s->rows[s->records] = record.kind == CHANGE_WRITE ? s->bytes[at + RECORD_BYTES] : 0;
        s->at[s->records + 1] = at + RECORD_BYTES + (size_t)record.bytes + RECORD_END_BYTES;
    }
}

static struct sealed make_sealed(unsigned long session, int fold)
{
    struct sealed s = {0};
    struct header header;
    bpcn_open_options how;
    bpcn_memory *memory;
    size_t made;
    session_choose(session);
    bpcn_options o = session_options();
    bpcn_open_options_default(&how, sizeof how);
    how.create = &o;
    how.threads = 1;
    how.sync = BPCN_SYNC_MANUAL; /* all records under one sync */
    how.checkpoint_bytes = UINT64_MAX;
    unlink(scratch("whole"));
    REQUIRE(memory_open(&quick, scratch("whole"), &how, &memory) == BPCN_OK);
    for (uint64_t step = 0; step < STEPS; step += made) {
        REQUIRE(session_call(memory, step, &made) == BPCN_OK);
        if (step == 0 || fold)
            REQUIRE(bpcn_memory_checkpoint(memory) == BPCN_OK);
    }
    s.sum = state_sum(memory);
    REQUIRE(bpcn_memory_close(memory) == BPCN_OK);
    s.bytes = read_whole(scratch("whole"), &s.n);
    REQUIRE(header_decode(s.bytes, s.n, s.n, &header) == BPCN_OK);
    s.log = (size_t)header.snapshot;
    find_records(&s, header.salt);
    REQUIRE(fold ? s.records == 0 : s.records > 10);
    return s;
}

/* ---- damages: *n bytes, with room for twice as many */

static size_t below(uint64_t *random, size_t n)
{
    return (size_t)(next_random(random) % n);
}

static void flip_bits(unsigned char *bytes, size_t *n, uint64_t *random)
{
    for (size_t count = 1 + below(random, 4); count > 0; count--)
        bytes[below(random, *n)] ^= (unsigned char)(1u << below(random, 8));
}

static void cut(const struct sealed *s, size_t *n, uint64_t *random)
{
    if (s->records > 0 && below(random, 3) == 0)
        *n = s->at[below(random, s->records)]; /* just behind a record */
    else
        *n = below(random, *n);
}

/* A block: mostly sectors, as a disk would confuse them. */
static size_t block(uint64_t *random, size_t n, size_t *length)
{
    static const size_t units[] = {512, 512, 64, 8};
    size_t unit = units[below(random, 4)];
    *length = unit * (1 + below(random, 3));
    return below(random, (n - *length) / unit + 1) * unit;
}

static void swap_blocks(unsigned char *bytes, size_t *n, uint64_t *random)
{
    unsigned char kept[1536];
    size_t length, a = block(random, *n, &length), b = below(random, (*n - length) / 8 + 1) * 8;
    b = length % 512 == 0 ? b / 512 * 512 : b;
    memcpy(kept, bytes + a, length);
    memmove(bytes + a, bytes + b, length);
    memcpy(bytes + b, kept, length);
}

/* Written over what follows, or put in before it. */
static void double_block(unsigned char *bytes, size_t *n, uint64_t *random)
{
    size_t length, a = block(random, *n, &length), b = a + length;
    unsigned char kept[1536];
    memcpy(kept, bytes + a, length);
    if (b + length > *n || below(random, 2) == 0) {
        memmove(bytes + b + length, bytes + b, *n - b);
        *n += length;
    }
    memcpy(bytes + b, kept, length);
}

/* ---- laws */

static int is_refusal(bpcn_status status)
{
    return (status == BPCN_FORMAT || status == BPCN_NEWER || status == BPCN_CORRUPT) && bpcn_error()[0] != '\0';
}

/* Returns whether it was refused, however it is opened. */
static int check_opening(const struct sealed *s, const char *path, int read_only)
{
    bpcn_open_options how;
    bpcn_memory *memory = NULL;
    bpcn_open_options_default(&how, sizeof how);
    how.threads = 1;
    how.read_only = read_only;
    bpcn_status status = memory_open(&quick, path, &how, &memory);
    REQUIRE(is_refusal(status) || (status == BPCN_OK && state_sum(memory) == s->sum));
    bpcn_memory_free(memory);
    return status != BPCN_OK;
}

static void check_recovery(const struct sealed *s, const unsigned char *bytes, size_t n)
{
    bpcn_recovery report = {.size = sizeof report};
    bpcn_file_info info = empty_info();
    uint64_t rows = 0;
    size_t after;
    write_whole(scratch("damaged"), bytes, n);
    unlink(scratch("recovered"));
    bpcn_status status = store_recover(&quick, scratch("damaged"), scratch("recovered"), &report);
    unsigned char *same = read_whole(scratch("damaged"), &after);
    REQUIRE(after == n && memcmp(same, bytes, n) == 0);
    free(same);
    int headed = n >= HEADER_BYTES && memcmp(bytes, s->bytes, HEADER_BYTES) == 0;
    int enough = n >= s->at[0] / 64; /* of the snapshot: recover refuses less, docs/FORMAT.md */
    REQUIRE(status == BPCN_OK || (is_refusal(status) && !(headed && enough)));
    if (status != BPCN_OK)
        return;
    for (size_t i = 0; i < s->records && headed && s->at[i + 1] <= n; i++)
        rows += memcmp(bytes + s->at[i], s->bytes + s->at[i], s->at[i + 1] - s->at[i]) == 0 ? s->rows[i] : 0;
    REQUIRE(report.rows >= rows);
    REQUIRE(bpcn_file_check(scratch("recovered"), &info, NULL) == BPCN_OK && info.sealed);
}

static int damage(const struct sealed *s, unsigned long kind, uint64_t *random)
{
    size_t n = s->n;
    unsigned char *bytes = malloc(2 * n);
    REQUIRE(bytes != NULL);
    memcpy(bytes, s->bytes, n);
    if (kind == 0)
        flip_bits(bytes, &n, random);
    else if (kind == 1)
        cut(s, &n, random);
    else if (kind == 2)
        swap_blocks(bytes, &n, random);
    else
        double_block(bytes, &n, random);
    write_whole(scratch("damaged"), bytes, n);
    int refused = check_opening(s, scratch("damaged"), 1);
    REQUIRE(check_opening(s, scratch("damaged"), 0) == refused);
    check_recovery(s, bytes, n);
    free(bytes);
    return refused;
}

int main(int argc, char **argv)
{
    unsigned long damages = count_argument(argc, argv, 400), refused = 0;
    uint64_t random = 17;
    quick = file_without_sync();
    for (unsigned long which = 0; which < 2 * SESSIONS; which++) {
        struct sealed s = make_sealed(which / 2, which % 2 != 0);
        for (unsigned long i = 0; i < damages / (2 * SESSIONS); i++)
            refused += (unsigned long)damage(&s, i % 4, &random);
        free(s.bytes);
    }
    printf(
        "store_damage: %lu damages of closed files, %lu refused, the others without effect; what is intact of each was "
        "recovered\n",
        damages / (2 * SESSIONS) * (2 * SESSIONS), refused);
    return 0;
}
