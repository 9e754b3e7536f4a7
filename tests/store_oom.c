/*
 * Out of memory: the k-th allocation of every call on a memory file fails, for every k: creating,
 * opening with recovery, writing, reading, forgetting, deleting, notes, checkpoints, saving,
 * loading and checking. No crash, no leak, the memory and the file as before; and small files do
 * not make the loader ask for much. Link with -Wl,--wrap=aligned_alloc,--wrap=free.
 */
#include "store_seam.h"
#include "store_session.h"

#include "store.h"

#include <malloc.h>
#include <string.h>
#include <unistd.h>

void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void __real_free(void *pointer);
void __wrap_free(void *pointer);

/* ---- the library's allocations: all go through aligned_alloc (src/math/alloc.c) */

enum { SLOTS = 1 << 17 };

static void *live[SLOTS]; /* open addressing */
static size_t live_count, live_bytes, most_bytes;
static long allocations, fail_at = -1;

static size_t slot_of(const void *pointer)
{
    size_t i = ((uintptr_t)pointer >> 6) * UINT64_C(0x9E3779B97F4A7C15) % SLOTS;
    while (live[i] != NULL && live[i] != pointer)
        i = (i + 1) % SLOTS;
    return i;
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    if (allocations++ == fail_at)
        return NULL;
    void *pointer = __real_aligned_alloc(align, bytes);
    REQUIRE(pointer != NULL && live_count < SLOTS / 2);
    live[slot_of(pointer)] = pointer;
    live_count++;
    live_bytes += malloc_usable_size(pointer) + sizeof(size_t);
    most_bytes = live_bytes > most_bytes ? live_bytes : most_bytes;
    return pointer;
}

/* Takes a pointer out of the table, closing the gap behind it. */
static void forget(void *pointer)
{
    size_t i = slot_of(pointer);
    if (live[i] == NULL)
        return; /* not the library's */
    live[i] = NULL;
    live_count--;
    live_bytes -= malloc_usable_size(pointer) + sizeof(size_t);
    for (size_t j = (i + 1) % SLOTS; live[j] != NULL; j = (j + 1) % SLOTS) {
        void *moved = live[j];
        live[j] = NULL;
        live[slot_of(moved)] = moved;
    }
}

void __wrap_free(void *pointer)
{
    if (pointer != NULL)
        forget(pointer);
    __real_free(pointer);
}

/* ---- calls */

static struct file_ops quick;
static char path[512];
static unsigned long failures;

static bpcn_memory *open_it(int read_only)
{
    bpcn_open_options how;
    bpcn_memory *memory = NULL;
    bpcn_open_options_default(&how, sizeof how);
    how.threads = 1;
    how.read_only = read_only;
    return memory_open(&quick, path, &how, &memory) == BPCN_OK ? memory : NULL;
}

static bpcn_status call_create(bpcn_memory *memory)
{
    bpcn_options o = session_options();
    bpcn_open_options how;
    bpcn_memory *made = NULL;
    bpcn_open_options_default(&how, sizeof how);
    (void)memory;
    how.create = &o;
    unlink(scratch("created"));
    bpcn_status status = memory_open(&quick, scratch("created"), &how, &made);
    bpcn_memory_free(made);
    REQUIRE((access(scratch("created"), F_OK) == 0) == (status == BPCN_OK));
    return status;
}

static bpcn_status call_write(bpcn_memory *memory)
{
    return write_row(memory, 5);
}

static bpcn_status call_forget(bpcn_memory *memory)
{
    return bpcn_memory_forget(memory, 0.1);
}

static bpcn_status call_discount(bpcn_memory *memory)
{
    return bpcn_memory_discount(memory, 0.1);
}

static bpcn_status call_delete(bpcn_memory *memory)
{
    float row[5];
    make_row(1, 5, row);
    return bpcn_memory_delete(memory, row);
}

static bpcn_status call_note(bpcn_memory *memory)
{
    return bpcn_memory_set_note(memory, "a new note", 10);
}

static bpcn_status call_read(bpcn_memory *memory)
{
    float row[5], out[5];
    unsigned char known[5] = {1, 0, 1, 1, 0}; /* a table wants to know */
    make_row(1, 5, row);
    return bpcn_memory_read(memory, row, memory->contents.options.kind == BPCN_TABLE ? known : NULL, 1, NULL, out, NULL);
}

static bpcn_status call_infer(bpcn_memory *memory)
{
    unsigned char known[2 * 5] = {1, 1, 0, 1, 0, 0, 1, 1, 1, 0}; /* a mask each: the quick look takes steps */
    float rows[2 * 5], codes[2 * 7];
    bpcn_read_options one;
    bpcn_read_options_default(&one, sizeof one);
    one.shards = 1;
    make_row(1, 5, rows);
    make_row(2, 5, rows + 5);
    return bpcn_memory_infer(memory, rows, known, 2, &one, codes, NULL);
}

static bpcn_status call_score(bpcn_memory *memory)
{
    float row[5];
    double score;
    make_row(1, 5, row);
    return bpcn_memory_score(memory, row, NULL, 1, &score);
}

static bpcn_status call_energy(bpcn_memory *memory)
{
    float row[5], codes[7] = {0}, grad[7];
    double energy;
    make_row(1, 5, row);
    return bpcn_memory_energy(memory, row, NULL, codes, 1, NULL, &energy, grad);
}

static bpcn_status call_sample(bpcn_memory *memory)
{
    float rows[2 * 5];
    return bpcn_memory_sample(memory, 2, 1, rows);
}

static bpcn_status call_checkpoint(bpcn_memory *memory)
{
    return bpcn_memory_checkpoint(memory);
}

static bpcn_status call_save(bpcn_memory *memory)
{
    return memory_save(&quick, memory, scratch("saved"));
}

static bpcn_status call_load(bpcn_memory *memory)
{
    bpcn_memory *copy = NULL;
    (void)memory;
    bpcn_status status = memory_load(&quick, path, &copy, NULL);
    REQUIRE((copy != NULL) == (status == BPCN_OK));
    bpcn_memory_free(copy);
    return status;
}

static bpcn_status call_check(bpcn_memory *memory)
{
    (void)memory;
    return bpcn_file_check(path, NULL, NULL);
}

static bpcn_status call_recover(bpcn_memory *memory)
{
    (void)memory;
    unlink(scratch("recovered"));
    return store_recover(&quick, path, scratch("recovered"), &(bpcn_recovery){.size = sizeof(bpcn_recovery)});
}

/* What is held without what is prepared for later calls. */
static size_t held_by(bpcn_memory *memory)
{
    if (memory != NULL) {
        for (size_t k = 0; k < memory->contents.count; k++)
            shard_ops_for(memory->contents.shard[k])->reset_cache(memory->cache[k], memory->contents.shard[k]);
    }
    return live_count;
}

/* Fails every allocation of a call in turn, until the call succeeds. */
static void attack(const char *name, bpcn_status (*call)(bpcn_memory *memory), bpcn_memory *memory)
{
    uint32_t sum = memory != NULL ? state_sum(memory) : 0;
    for (long k = 0;; k++) {
        size_t before = held_by(memory);
        allocations = 0;
        fail_at = k;
        bpcn_status status = call(memory);
        fail_at = -1;
        int reached = allocations > k;
        if (!reached) {
            REQUIRE(status == BPCN_OK);
            return;
        }
        REQUIRE(held_by(memory) == before);
        failures++;
        if (status == BPCN_OK) { /* what could not be had was done without */
            if (call == call_delete)
                REQUIRE(write_row(memory, 1) == BPCN_OK);
            sum = memory != NULL ? state_sum(memory) : 0;
            continue;
        }
        if (status != BPCN_NO_MEMORY)
            fprintf(stderr, "%s, allocation %ld: %s\n", name, k, bpcn_status_name(status));
        REQUIRE(status == BPCN_NO_MEMORY);
        REQUIRE(strstr(bpcn_error(), "out of memory") != NULL);
        REQUIRE(memory == NULL || state_sum(memory) == sum);
    }
}

/* Opening with recovery: the torn end is there again each time. */
static void attack_opening(const unsigned char *bytes, size_t n, int read_only)
{
    for (long k = 0;; k++) {
        size_t before = live_count;
        write_whole(path, bytes, n);
        allocations = 0;
        fail_at = k;
        bpcn_memory *memory = open_it(read_only);
        fail_at = -1;
        int reached = allocations > k;
        bpcn_memory_free(memory);
        REQUIRE(live_count == before);
        if (!reached) {
            REQUIRE(memory != NULL);
            return;
        }
        failures++;
    }
}

/* A change that spoilt the memory is taken back; when there is no memory to do that, the handle
   refuses further changes and the file is as before. */
static void attack_taking_back(size_t shard)
{
    float row[5] = {0}, codes[2 * 7] = {0};
    const double half = -0.69314718055994530942;
    double weights[] = {half, half, half, half};
    struct change change = {.kind = CHANGE_WRITE,
                            .shard = shard,
                            .begin = shard > 0, /* and is gone again afterwards */
                            .rows = 1,
                            .x = row,
                            .codes = codes,
                            .log_weights = weights};
    bpcn_memory *memory = open_it(0);
    REQUIRE(memory != NULL);
    uint32_t sum = state_sum(memory);
    for (long k = 0, reached = 1; reached; k++) {
        struct transaction edit;
        REQUIRE(transaction_begin(&edit, memory, CHANGE_WRITE) == BPCN_OK &&
                transaction_apply(&edit, &change) == BPCN_OK);
        memory->contents.shard[shard]->particles[0].top_variance = -1;
        allocations = 0;
        fail_at = k;
        bpcn_status status = transaction_end(&edit, BPCN_OK, NULL);
        fail_at = -1;
        reached = allocations > k;
        REQUIRE(status == (reached ? BPCN_NO_MEMORY : BPCN_NUMERIC));
        if (reached)
            REQUIRE(write_row(memory, 3) == BPCN_IO);
        else
            REQUIRE(state_sum(memory) == sum);
        bpcn_memory_free(memory);
        memory = open_it(0);
        REQUIRE(memory != NULL && state_sum(memory) == sum);
        failures++;
    }
    bpcn_memory_free(memory);
}

/* ---- what a small file may make the loader use */

static void limit_of(const char *name, const bpcn_options *o, int records)
{
    bpcn_memory *memory;
    bpcn_open_options how;
    bpcn_open_options_default(&how, sizeof how);
    how.create = o;
    how.threads = 1;
    unlink(scratch("small"));
    REQUIRE(memory_open(&quick, scratch("small"), &how, &memory) == BPCN_OK);
    for (int i = 0; i < records; i++)
        REQUIRE(bpcn_memory_forget(memory, 0.1) == BPCN_OK);
    bpcn_memory_free(memory);
    size_t n, before = live_bytes;
    __real_free(read_whole(scratch("small"), &n));
    REQUIRE(n < 1000000);
    most_bytes = live_bytes;
    REQUIRE(memory_load(&quick, scratch("small"), &memory, NULL) == BPCN_OK);
    bpcn_memory_free(memory);
    printf("store_oom: a file of %zu bytes (%s) made the loader use %zu\n", n, name, most_bytes - before);
    REQUIRE(most_bytes - before <= n + 16000000);
}

static void limits(void)
{
    bpcn_options o = small_options();
    o.layers = 0;
    o.dim = 1;
    o.particles = 4970; /* the file's smallest particles, as many as fit */
    limit_of("many particles", &o, 0);
    o.layers = 64;
    o.particles = 38;
    for (size_t l = 0; l < 64; l++)
        o.hidden[l] = 1;
    limit_of("many layers", &o, 1);
    o = small_options();
    o.layers = 1;
    o.particles = 1;
    o.hidden[0] = 490;
    o.precision = BPCN_FLOAT64;
    limit_of("one wide layer", &o, 1);
    o = small_options();
    o.shards = BPCN_MAX_SHARDS; /* that may come */
    limit_of("shards that have not begun", &o, 1);
}

/* All calls on the memory of a session. With shards, as many as there may be have begun, each of one row: every write
   begins one anew. */
static void attack_all(unsigned long session)
{
    bpcn_options o;
    bpcn_open_options how;
    bpcn_memory *memory;
    size_t n;
    bpcn_open_options_default(&how, sizeof how);
    session_choose(session);
    o = session_options();
    snprintf(path, sizeof path, "%s%lu", scratch("memory"), session);
    o.particles = 1;
    o.resample = 0;
    if (session == 1 || session == 4) {
        o.shards = 2;
        o.shard_rows = 1;
    }
    how.create = &o;
    how.threads = 1;
    REQUIRE(memory_open(&quick, path, &how, &memory) == BPCN_OK);
    for (uint64_t i = 0; i < 2; i++)
        REQUIRE(write_row(memory, i) == BPCN_OK);
    REQUIRE(bpcn_memory_set_note(memory, "a note", 6) == BPCN_OK);
    REQUIRE(bpcn_memory_checkpoint(memory) == BPCN_OK);
    attack("create", call_create, NULL);
    attack("delete", call_delete, memory);
    attack("write", call_write, memory);
    attack("forget", call_forget, memory);
    attack("discount", call_discount, memory);
    attack("note", call_note, memory);
    attack("read", call_read, memory);
    attack("score", call_score, memory);
    if (o.kind == BPCN_NETWORKS) {
        attack("infer", call_infer, memory);
        attack("energy", call_energy, memory);
    }
    attack("sample", call_sample, memory);
    attack("save", call_save, memory);
    attack("load", call_load, memory);
    attack("check", call_check, memory);
    attack("recover", call_recover, memory);
    bpcn_memory_free(memory);
    unsigned char *bytes = read_whole(path, &n);
    leave_open(bytes);
    attack_opening(bytes, n - 3, 0);
    attack_opening(bytes, n - 3, 1);
    __real_free(bytes);
    memory = open_it(0);
    attack("checkpoint", call_checkpoint, memory);
    bpcn_memory_free(memory);
    o = session_options();
    unlink(path);
    REQUIRE(memory_open(&quick, path, &how, &memory) == BPCN_OK);
    bpcn_memory_free(memory);
    if (o.kind == BPCN_NETWORKS) /* the trees of a table cannot be spoilt */
        attack_taking_back(session == 1); /* a shard that begins */
    REQUIRE(live_count == 0);
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    quick = file_without_sync();
    for (unsigned long session = 0; session < SESSIONS; session++)
        attack_all(session);
    printf("store_oom: %lu allocations failed in turn, 0 crashes, 0 leaks, state unchanged\n", failures);
    limits();
    return 0;
}
