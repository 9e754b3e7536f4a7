/* The steps of a session and the memory they are compared with. */
#include "store_session.h"

#include <string.h>

enum kind { ROW, HOLES, BLOCK, FORGET, DISCOUNT, NOTE, MINIMIZER };

static enum kind kind_of(uint64_t step)
{
    static const enum kind kinds[] = {ROW, ROW, ROW, ROW, ROW, ROW, HOLES, BLOCK, FORGET, DISCOUNT, NOTE, MINIMIZER};
    uint64_t state = step * 3 + 1;
    return kinds[next_random(&state) % 12];
}

static unsigned chosen;

void session_choose(unsigned long which)
{
    chosen = (unsigned)(which % SESSIONS);
}

bpcn_options session_options(void)
{
    bpcn_options o = small_options();
    o.particles = 2;
    o.resample = 1;
    o.adam_steps = 5;
    if (chosen == 1 || chosen == 4)
        shard(&o);
    if (chosen == 4)
        o.names = 3;
    if (chosen >= 2)
        o.surprises = 5;
    if (chosen == 3) {
        o.kind = BPCN_TABLE;
        o.particles = 1;
        o.dim = 2; /* a smaller file */
    }
    return o;
}

static bpcn_status make_rows(bpcn_memory *memory, uint64_t step, size_t n, int block)
{
    float rows[MOST_TOGETHER * 16];
    char name[MOST_TOGETHER][32];
    const char *names[MOST_TOGETHER];
    bpcn_write_info info;
    size_t dim = memory->contents.shard[0]->width[0];
    for (size_t i = 0; i < n; i++)
        make_row(1000 * (uint64_t)block + step + i, dim, rows + i * dim);
    for (size_t i = 0; i < n; i++) {
        snprintf(name[i], sizeof name[i], "row %llu", (unsigned long long)(step + i) % 20);
        names[i] = (step + i) % 4 < 3 ? name[i] : NULL;
    }
    bpcn_write_info_default(&info, sizeof info);
    info.names = names;
    return block ? write_together(memory, rows, n) : bpcn_memory_write(memory, rows, NULL, n, &info);
}

static bpcn_status make_note(bpcn_memory *memory, uint64_t step)
{
    char note[64];
    int n = snprintf(note, sizeof note, "note of step %llu", (unsigned long long)step);
    return bpcn_memory_set_note(memory, note, step % 5 == 0 ? 0 : (size_t)n);
}

bpcn_status session_call(bpcn_memory *memory, uint64_t step, size_t *made)
{
    *made = 1;
    switch (kind_of(step)) {
    case ROW:
        while (*made < MOST_TOGETHER && step % 2 == 0 && kind_of(step + *made) == ROW)
            ++*made;
        return make_rows(memory, step, *made, 0);
    case HOLES:
        return write_holes(memory, step);
    case BLOCK: /* several rows together are of earlier versions, which had no tables */
        return make_rows(memory, step, chosen == 3 ? 1 : 2, chosen != 3);
    case FORGET:
        return bpcn_memory_forget(memory, step % 7 == 0 ? 1 : 0.02);
    case DISCOUNT:
        return bpcn_memory_discount(memory, 0.05);
    case NOTE:
        return make_note(memory, step);
    case MINIMIZER:
        break;
    }
    if (chosen == 3) /* it has no minimizer */
        return bpcn_memory_discount(memory, 0.01);
    return bpcn_memory_set_minimizer(memory, step % 2 == 0 ? BPCN_LBFGS : BPCN_ADAM);
}

/* One step alone, as a memory without a file makes it. */
static void make_step(bpcn_memory *memory, uint64_t step)
{
    size_t made;
    if (kind_of(step) == ROW)
        REQUIRE(make_rows(memory, step, 1, 0) == BPCN_OK);
    else
        REQUIRE(session_call(memory, step, &made) == BPCN_OK);
}

/* A session as far as it was lived, without a file. */
struct life {
    bpcn_memory *memory;
    uint32_t *sums;
    uint64_t known, room;
};

uint32_t session_sum(uint64_t steps)
{
    static struct life lives[SESSIONS];
    struct life *life = &lives[chosen];
    bpcn_options o = session_options();
    if (life->memory == NULL) {
        REQUIRE(bpcn_memory_create(&o, &life->memory) == BPCN_OK);
        life->sums = malloc(sizeof *life->sums);
        life->room = 1;
        life->sums[0] = state_sum(life->memory);
    }
    while (life->known < steps) {
        make_step(life->memory, life->known++);
        if (life->known == life->room) {
            life->room *= 2;
            life->sums = realloc(life->sums, life->room * sizeof *life->sums);
            REQUIRE(life->sums != NULL);
        }
        life->sums[life->known] = state_sum(life->memory);
    }
    return life->sums[steps];
}

long session_find(const bpcn_memory *memory, uint64_t least, uint64_t most)
{
    uint32_t sum = state_sum(memory);
    for (uint64_t steps = least; steps <= most; steps++)
        if (session_sum(steps) == sum)
            return (long)steps;
    return -1;
}
