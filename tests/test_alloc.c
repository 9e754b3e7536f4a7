/*
 * Running out of memory at every allocation there is. The library allocates in one place only
 * (alloc.c, by aligned_alloc), which the linker hands to this file: the k-th allocation of a call
 * fails, for k = 1, 2, ... until the call succeeds. Each time: the status says so, nothing leaks,
 * and the memory is as it was, to the bit.
 *
 * Link with -Wl,--wrap=aligned_alloc -Wl,--wrap=free against the static library.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *pointer);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *pointer);

/* ---- the allocator under the library */

enum { MOST_LIVE = 4096 };
static void *live[MOST_LIVE];
static size_t live_count, failing_at, asked; /* failing_at 0: none fails */

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    if (++asked == failing_at)
        return NULL;
    void *pointer = __real_aligned_alloc(alignment, size);
    if (pointer == NULL || live_count == MOST_LIVE)
        abort();                 /* the machine itself ran out, or the table is too small */
    memset(pointer, 0xA5, size); /* nothing may rest on fresh memory being zero */
    return live[live_count++] = pointer;
}

void __wrap_free(void *pointer)
{
    for (size_t i = live_count; pointer != NULL && i-- > 0;)
        if (live[i] == pointer) {
            live[i] = live[--live_count];
            break;
        }
    __real_free(pointer);
}

/* ---- the calls */

enum { MOST_DIM = 256, MOST_FIRST = 32, SECOND = 4, PARTICLES = 2, ROWS = 3 };

/* Networks that take their observations as they are, and through inner products. */
static const struct shape {
    const char *name;
    size_t dim, hidden[2];
} plain = {"plain", 6, {5, SECOND}}, through_g = {"through G", MOST_DIM, {MOST_FIRST, SECOND}};

struct scene {
    bpcn_memory *memory;
    size_t dim;
    float x[ROWS * MOST_DIM], out[ROWS * MOST_DIM], codes[ROWS * PARTICLES * (MOST_FIRST + SECOND)];
    unsigned char known[ROWS * MOST_DIM];
    double numbers[ROWS];
    bpcn_read_info info[ROWS];
    bpcn_write_row rows[ROWS];
};

static bpcn_options options(const struct shape *shape, bpcn_precision precision)
{
    bpcn_options o = network(shape->dim, 2, shape->hidden);
    o.particles = PARTICLES;
    o.precision = precision;
    o.sigma_x = 0.1;
    o.adam_steps = 5;
    o.rounds = 2;
    o.resample = 0; /* rows can be taken back */
    return o;
}

static struct scene *scene_create(const struct shape *shape, bpcn_precision precision)
{
    struct dice dice = {3};
    struct scene *s = room(1, sizeof *s);
    failing_at = 0;
    s->memory = make_memory(options(shape, precision));
    s->dim = shape->dim;
    dice_normals_f32(&dice, ROWS * s->dim, 1, s->x);
    for (size_t j = 0; j < ROWS * s->dim; j++)
        s->known[j] = j % s->dim % 3 != 0;
    assert_ok(bpcn_memory_write(s->memory, s->x, NULL, 2, NULL));
    return s;
}

static void scene_free(struct scene *s)
{
    bpcn_memory_free(s->memory);
    free(s);
}

static bpcn_status do_write(struct scene *s)
{
    bpcn_write_info info;
    bpcn_write_info_default(&info, sizeof info);
    info.rows = s->rows;
    info.codes = s->codes;
    bpcn_status status = bpcn_memory_write(s->memory, s->x, NULL, 1, &info);
    assert_int_equal(info.written, status == BPCN_OK);
    return status;
}

static bpcn_status do_write_adam(struct scene *s)
{
    s->memory->contents.shard[0]->options.minimizer = BPCN_ADAM;
    return bpcn_memory_write(s->memory, s->x, NULL, 1, NULL);
}

static bpcn_status do_delete(struct scene *s)
{
    return bpcn_memory_delete(s->memory, s->x);
}

static bpcn_status do_read_whole(struct scene *s)
{
    return bpcn_memory_read(s->memory, s->x, NULL, ROWS, NULL, s->out, s->info);
}

static bpcn_status do_read_masked(struct scene *s)
{
    return bpcn_memory_read(s->memory, s->x, s->known, ROWS, NULL, s->out, s->info);
}

/* Every row knows other entries. */
static bpcn_status do_read_apart(struct scene *s)
{
    unsigned char known[ROWS * MOST_DIM];
    for (size_t j = 0; j < ROWS * s->dim; j++)
        known[j] = j % s->dim % (2 + j / s->dim) != 0;
    return bpcn_memory_read(s->memory, s->x, known, ROWS, NULL, s->out, NULL);
}

/* More masks than stay prepared for, one after the other. */
static bpcn_status do_read_in_turn(struct scene *s)
{
    bpcn_status status = BPCN_OK;
    for (size_t mask = 0; status == BPCN_OK && mask < 5; mask++) {
        unsigned char known[MOST_DIM];
        for (size_t j = 0; j < s->dim; j++)
            known[j] = j % 5 != mask;
        status = bpcn_memory_read(s->memory, s->x, known, 1, NULL, s->out, NULL);
    }
    return status;
}

static bpcn_status do_read_modes(struct scene *s)
{
    bpcn_read_options o;
    bpcn_read_options_default(&o, sizeof o);
    o.objective = BPCN_OBJECTIVE_PAPER;
    return bpcn_memory_read(s->memory, s->x, NULL, ROWS, &o, s->out, s->info);
}

static bpcn_status do_read_adam_whole(struct scene *s)
{
    s->memory->contents.shard[0]->options.minimizer = BPCN_ADAM;
    return bpcn_memory_read(s->memory, s->x, NULL, ROWS, NULL, s->out, s->info);
}

static bpcn_status do_read_adam_masked(struct scene *s)
{
    s->memory->contents.shard[0]->options.minimizer = BPCN_ADAM;
    return bpcn_memory_read(s->memory, s->x, s->known, ROWS, NULL, s->out, s->info);
}

static bpcn_status do_infer(struct scene *s)
{
    return bpcn_memory_infer(s->memory, s->x, s->known, ROWS, NULL, s->codes, s->info);
}

static bpcn_status do_score(struct scene *s)
{
    return bpcn_memory_score(s->memory, s->x, s->known, ROWS, s->numbers);
}

static bpcn_status do_energy(struct scene *s)
{
    float grad[ROWS * (MOST_FIRST + SECOND)];
    return bpcn_memory_energy(s->memory, s->x, s->known, s->codes, ROWS, NULL, s->numbers, grad);
}

static bpcn_status do_forget(struct scene *s)
{
    return bpcn_memory_forget(s->memory, 0.1);
}

static bpcn_status do_sample(struct scene *s)
{
    return bpcn_memory_sample(s->memory, ROWS, 1, s->out);
}

static bpcn_status do_discount(struct scene *s)
{
    return bpcn_memory_discount(s->memory, 0.1);
}

static bpcn_status do_set_layer(struct scene *s)
{
    double mean[SECOND * MOST_FIRST], u[SECOND * SECOND] = {0};
    for (size_t i = 0; i < SECOND * MOST_FIRST; i++)
        mean[i] = 0.1 * (double)i;
    for (size_t i = 0; i < SECOND; i++)
        u[i * SECOND + i] = 2;
    return bpcn_memory_set_layer(s->memory, 0, 1, 1, mean, u);
}

static const struct call {
    const char *name;
    bpcn_status (*run)(struct scene *scene);
    bpcn_status result; /* when nothing fails */
} calls[] = {
    {"write", do_write, BPCN_OK},
    {"write by Adam", do_write_adam, BPCN_OK},
    {"delete", do_delete, BPCN_OK},
    {"read whole", do_read_whole, BPCN_OK},
    {"read masked", do_read_masked, BPCN_OK},
    {"read apart", do_read_apart, BPCN_OK},
    {"read masks in turn", do_read_in_turn, BPCN_OK},
    {"read by modes", do_read_modes, BPCN_OK},
    {"read whole by Adam", do_read_adam_whole, BPCN_OK},
    {"read masked by Adam", do_read_adam_masked, BPCN_OK},
    {"infer", do_infer, BPCN_OK},
    {"score", do_score, BPCN_OK},
    {"energy", do_energy, BPCN_OK},
    {"forget", do_forget, BPCN_OK},
    {"discount", do_discount, BPCN_OK},
    {"sample", do_sample, BPCN_OK},
    {"set_layer", do_set_layer, BPCN_OK},
};

/* ---- every allocation fails once */

/* What a memory holds without what is prepared of it for later calls. */
static size_t held_by(const struct scene *s)
{
    shard_ops_for(s->memory->contents.shard[0])->reset_cache(s->memory->cache[0], s->memory->contents.shard[0]);
    return live_count;
}

/* Runs the call on a fresh scene with allocation k failing; 0 once there is no k-th. */
static int fails_at(const struct call *call, const struct shape *shape, bpcn_precision precision, size_t k,
                    size_t *refusals)
{
    struct scene *s = scene_create(shape, precision);
    struct snapshot *before = snapshot_take(s->memory);
    size_t held = held_by(s);
    asked = 0;
    failing_at = k;
    bpcn_status status = call->run(s);
    int reached = asked >= k;
    failing_at = 0;
    if (status == BPCN_NO_MEMORY) {
        (*refusals)++;
        assert_non_null(strstr(bpcn_error(), "memory"));
        assert_true(snapshot_same(before, s->memory));
        assert_true(reached);
        /* and the memory still works: the same call goes through */
        assert_status(call->run(s), call->result);
    } else {
        assert_status(status, call->result); /* it did without, or none failed */
    }
    assert_int_equal(held_by(s), held); /* nothing leaks */
    snapshot_free(before);
    scene_free(s);
    return reached;
}

static void check_calls(const struct shape *shape, bpcn_precision precision)
{
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        size_t k = 1, refusals = 0;
        while (fails_at(&calls[c], shape, precision, k, &refusals))
            k++;
        print_message("%s, %s, float%d: %zu allocations, %zu of them refused\n", calls[c].name, shape->name,
                      precision == BPCN_FLOAT64 ? 64 : 32, k - 1, refusals);
        assert_true(refusals > 0);
    }
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    check_calls(&plain, BPCN_FLOAT32);
    check_calls(&plain, BPCN_FLOAT64);
    check_calls(&through_g, BPCN_FLOAT32);
}

static void every_failed_allocation_of_create_is_survived(void **state)
{
    (void)state;
    for (int precision = BPCN_FLOAT32; precision <= BPCN_FLOAT64; precision++) {
        bpcn_options o = options(&plain, (bpcn_precision)precision);
        bpcn_status status = BPCN_NO_MEMORY;
        size_t k = 1;
        for (; status == BPCN_NO_MEMORY; k++) {
            bpcn_memory *m = (bpcn_memory *)(uintptr_t)1;
            asked = 0;
            failing_at = k;
            status = bpcn_memory_create(&o, &m);
            failing_at = 0;
            assert_true((m == NULL) == (status != BPCN_OK));
            if (status == BPCN_OK)
                bpcn_memory_free(m);
            assert_int_equal(live_count, 0);
        }
        assert_ok(status);
        assert_in_range(k, 10, 1000); /* layers and particles have their own */
    }
}

/* A table is made, written to with gaps, read and scored. */
static void every_failed_allocation_of_a_table_is_survived(void **state)
{
    (void)state;
    enum { DIM = 3, LEARNT = 40 };
    struct dice dice = {5};
    float x[LEARNT * DIM], answer[LEARNT * DIM];
    double density[LEARNT];
    unsigned char known[LEARNT * DIM];
    dice_normals_f32(&dice, LEARNT * DIM, 1, x);
    for (size_t i = 0; i < LEARNT * DIM; i++)
        known[i] = i % 4 != 1;
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.kind = BPCN_TABLE;
    o.dim = DIM;
    o.threads = 1;
    size_t refusals = 0;
    for (size_t k = 1, reached = 1; reached; k += 1 + k / 16) {
        bpcn_memory *m = NULL;
        asked = 0;
        failing_at = k;
        bpcn_status status = bpcn_memory_create(&o, &m);
        if (status == BPCN_OK)
            status = bpcn_memory_write(m, x, known, LEARNT, NULL);
        if (status == BPCN_OK)
            status = bpcn_memory_read(m, x, known, LEARNT, NULL, answer, NULL);
        if (status == BPCN_OK)
            status = bpcn_memory_score(m, x, known, LEARNT, density);
        failing_at = 0;
        reached = asked >= k;
        assert_true(status == (reached ? BPCN_NO_MEMORY : BPCN_OK));
        refusals += reached;
        bpcn_memory_free(m);
        assert_int_equal(live_count, 0);
    }
    print_message("a table: %zu allocations, %zu of them were refused\n", asked, refusals);
    assert_true(refusals > 20);
}

/* A write of several rows keeps the rows before the one that failed, and says how many. */
static void rows_written_before_the_failure_stay(void **state)
{
    (void)state;
    size_t partial = 0;
    for (size_t k = 1;; k++) {
        struct scene *s = scene_create(&plain, BPCN_FLOAT32), *want = scene_create(&plain, BPCN_FLOAT32);
        bpcn_write_info info;
        bpcn_write_info_default(&info, sizeof info);
        asked = 0;
        failing_at = k;
        bpcn_status status = bpcn_memory_write(s->memory, s->x, NULL, ROWS, &info);
        failing_at = 0;
        assert_true(status == BPCN_OK ? info.written == ROWS : status == BPCN_NO_MEMORY && info.written < ROWS);
        if (info.written > 0)
            assert_ok(bpcn_memory_write(want->memory, s->x, NULL, info.written, NULL));
        struct snapshot *expected = snapshot_take(want->memory);
        assert_true(snapshot_same(expected, s->memory));
        partial += info.written > 0 && status != BPCN_OK;
        snapshot_free(expected);
        scene_free(s);
        scene_free(want);
        if (asked < k)
            break;
    }
    print_message("%zu failures came after the first row\n", partial);
}

/* The same of rows that are written through inner products; without memory for those they go without. */
static void a_long_write_survives_every_failed_allocation(void **state)
{
    (void)state;
    enum { MANY = 3 * ROWS };
    for (size_t k = 1, failed = 1; failed; k++) {
        struct scene *s = scene_create(&through_g, BPCN_FLOAT32);
        bpcn_write_info info;
        float x[MANY * MOST_DIM];
        bpcn_write_info_default(&info, sizeof info);
        for (size_t j = 0; j < MANY * MOST_DIM; j++)
            x[j] = s->x[j % (ROWS * MOST_DIM)];
        size_t held = held_by(s);
        asked = 0;
        failing_at = k;
        bpcn_status status = bpcn_memory_write(s->memory, x, NULL, MANY, &info);
        failing_at = 0;
        failed = asked >= k;
        assert_true(status == BPCN_OK ? info.written == MANY : status == BPCN_NO_MEMORY && info.written < MANY);
        assert_int_equal(s->memory->contents.shard[0]->writes, 2 + info.written);
        assert_int_equal(held_by(s), held);
        scene_free(s);
    }
}

/* Also what reads and writes have left prepared. */
static void freeing_a_memory_returns_everything(void **state)
{
    (void)state;
    struct scene *s = scene_create(&through_g, BPCN_FLOAT64);
    assert_ok(do_read_whole(s));
    assert_ok(do_read_masked(s));
    assert_ok(do_read_in_turn(s));
    assert_ok(do_write(s));
    assert_true(live_count > 0);
    scene_free(s);
    assert_int_equal(live_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(every_failed_allocation_of_create_is_survived),
        cmocka_unit_test(every_failed_allocation_of_a_table_is_survived),
        cmocka_unit_test(rows_written_before_the_failure_stay),
        cmocka_unit_test(a_long_write_survives_every_failed_allocation),
        cmocka_unit_test(freeing_a_memory_returns_everything),
    };
    return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
