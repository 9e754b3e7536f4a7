/*
 * Every public function with arguments that are NULL, zero, negative, NaN, infinite, too large or
 * of the wrong shape: the right status, one sentence that names the culprit, nothing changed.
 */
#include "support.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* AddressSanitizer otherwise ends the program when an allocation is absurdly large. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

enum { DIM = 4, CODE = 5, PARTICLES = 2 };
static const size_t hidden[] = {3, 2};
static const float nan_f = NAN, inf_f = INFINITY;

static bpcn_options valid(void)
{
    bpcn_options o = network(DIM, 2, hidden);
    o.particles = PARTICLES;
    o.sigma_x = 0.3;
    return o;
}

struct scene {
    bpcn_memory *memory;
    struct snapshot *before;
    float x[2 * DIM], out[2 * DIM], codes[2 * CODE];
    double energy[2];
    unsigned char known[2 * DIM];
};

static int set_up(void **state)
{
    struct dice dice = {1};
    struct scene *s = room(1, sizeof *s);
    s->memory = make_memory(valid());
    dice_normals_f32(&dice, 2 * DIM, 1, s->x);
    memset(s->known, 1, sizeof s->known);
    assert_ok(bpcn_memory_write(s->memory, s->x, NULL, 2, NULL));
    s->before = snapshot_take(s->memory);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;
    snapshot_free(s->before);
    bpcn_memory_free(s->memory);
    free(s);
    return 0;
}

/* The sentence of some other failure, so that a stale one cannot be taken for the new. */
static void say_something_else(void)
{
    assert_status(bpcn_memory_set_minimizer(NULL, BPCN_ADAM), BPCN_INVALID);
    assert_string_equal(bpcn_error(), "the memory is NULL");
}

static void check_refusal(bpcn_status got, const char *word, const char *call, const struct scene *s, int line)
{
    const char *sentence = bpcn_error();
    size_t length = strlen(sentence);
    int good = got == BPCN_INVALID && length > 5 && length < 300 && strstr(sentence, word) != NULL &&
               strchr(sentence, '\n') == NULL && sentence[length - 1] != '.';
    if (!good) {
        print_error("%s: %s, \"%s\"; expected invalid and a sentence with \"%s\"\n", call, bpcn_status_name(got),
                    sentence, word);
        _fail(__FILE__, line);
    }
    if (s != NULL && !snapshot_same(s->before, s->memory)) {
        print_error("%s changed the memory\n", call);
        _fail(__FILE__, line);
    }
}

/* The call is refused with a sentence that has `word` in it, and the memory stays as it was. */
#define refuses(scene, word, call) (say_something_else(), check_refusal((call), (word), #call, (scene), __LINE__))

/* ---- create */

static bpcn_status create(const bpcn_options *o)
{
    bpcn_memory *memory = (bpcn_memory *)(uintptr_t)1;
    bpcn_status status = bpcn_memory_create(o, &memory);
    assert_true((status == BPCN_OK) == (memory != NULL)); /* NULL after a failure */
    bpcn_memory_free(memory);
    return status;
}

#define refuses_option(field, value)                                                                                   \
    do {                                                                                                               \
        bpcn_options wrong = valid();                                                                                  \
        wrong.field = (value);                                                                                         \
        refuses(NULL, #field, create(&wrong));                                                                         \
    } while (0)

static void create_refuses_bad_shapes(void **state)
{
    (void)state;
    bpcn_options o = valid();
    refuses(NULL, "options is NULL", create(NULL));
    refuses(NULL, "pointer", bpcn_memory_create(&o, NULL));
    refuses_option(size, 0);
    refuses_option(size, SIZE_MAX);
    refuses_option(dim, 0);
    refuses_option(dim, BPCN_MAX_WIDTH + 1);
    refuses_option(dim, SIZE_MAX);
    refuses_option(layers, BPCN_MAX_LAYERS + 1);
    refuses_option(layers, SIZE_MAX);
    refuses_option(hidden[1], 0);
    refuses_option(hidden[0], BPCN_MAX_WIDTH + 1);
    refuses_option(particles, 0);
    refuses_option(particles, BPCN_MAX_PARTICLES + 1);
    o.hidden[2] = 0; /* beyond the last layer: not looked at */
    assert_ok(create(&o));
}

static void create_refuses_bad_numbers(void **state)
{
    (void)state;
    static const double bad[] = {0, -1, NAN, INFINITY, -INFINITY, 1e-300, 1e300};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refuses_option(sigma_w, bad[i]);
        refuses_option(sigma_x, bad[i]);
        if (bad[i] != 0) /* 0 means sigma_x */
            refuses_option(sigma_data, bad[i]);
    }
    for (size_t i = 0; i < 5; i++)
        refuses_option(adam_rate, bad[i]);
    for (size_t i = 1; i < 5; i++)
        refuses_option(adam_stop, bad[i]);
    refuses_option(adam_steps, 0);
    refuses_option(adam_steps, SIZE_MAX);
    refuses_option(rounds, 0);
    refuses_option(rounds, SIZE_MAX);
    refuses_option(threads, -1);
    refuses_option(threads, 1 << 20);
}

static void create_refuses_choices_that_do_not_exist(void **state)
{
    (void)state;
    refuses_option(activation, (bpcn_activation)4);
    refuses_option(activation, (bpcn_activation)-1);
    refuses_option(minimizer, (bpcn_minimizer)2);
    refuses_option(minimizer, (bpcn_minimizer)-1);
    refuses_option(precision, (bpcn_precision)2);
    refuses_option(precision, (bpcn_precision)-1);
    refuses_option(resample, 2);
    refuses_option(resample, -1);
}

static void activations_with_a_name_exist_and_no_others(void **state)
{
    (void)state;
    bpcn_options o = valid();
    int last = BPCN_GELU;
    for (int i = BPCN_GELU; i < 100; i++) {
        o.activation = (bpcn_activation)i;
        const char *name = bpcn_activation_name(o.activation);
        assert_status(create(&o), name ? BPCN_OK : BPCN_INVALID);
        assert_true(name == NULL || i == BPCN_GELU || last == i - 1); /* no gaps */
        last = name ? i : last;
    }
    assert_true(last >= BPCN_LINEAR);
    assert_null(bpcn_activation_name((bpcn_activation)-1));
    assert_string_equal(bpcn_activation_name(BPCN_GELU), "gelu");
    assert_string_equal(bpcn_activation_name(BPCN_RELU), "relu");
    assert_string_equal(bpcn_activation_name(BPCN_TANH), "tanh");
    assert_string_equal(bpcn_activation_name(BPCN_LINEAR), "linear");
}

static void a_memory_too_large_for_the_machine_is_refused(void **state)
{
    (void)state;
    bpcn_options o = valid();
    o.dim = o.hidden[0] = o.hidden[1] = BPCN_MAX_WIDTH; /* 2^50 bytes a layer */
    say_something_else();
    assert_status(create(&o), BPCN_NO_MEMORY);
    assert_non_null(strstr(bpcn_error(), "GB, but this machine has")); /* both numbers */
}

static void what_options_take_is_known_before(void **state)
{
    (void)state;
    for (size_t k = 0; k < 5; k++) {
        bpcn_options o = valid();
        o.shards = k == 1 ? 4 : 1;
        o.precision = k == 3 ? BPCN_FLOAT64 : BPCN_FLOAT32;
        o.names = k == 3 ? 7 : 0;
        o.kind = k == 4 ? BPCN_TABLE : BPCN_NETWORKS;
        o.particles = k == 4 ? 1 : o.particles;
        uint64_t bytes, most;
        bpcn_stats stats = {.size = sizeof stats};
        assert_ok(bpcn_options_bytes(&o, &bytes, &most));
        bpcn_memory *m = make_memory(o);
        assert_ok(bpcn_memory_get_stats(m, &stats));
        assert_int_equal(bytes, stats.bytes);
        assert_int_equal(most, stats.bytes_most);
        bpcn_memory_free(m);
    }
    assert_ok(bpcn_options_bytes(&(bpcn_options){.size = 0}, NULL, NULL) == BPCN_INVALID ? BPCN_OK : BPCN_INVALID);
}

/* 64 particles of which few are left: the effective number counts copies, ancestors do not. */
static void resampling_reports_distinct_ancestors(void **state)
{
    (void)state;
    bpcn_options o = valid();
    o.particles = 64;
    o.resample = 1;
    bpcn_memory *m = make_memory(o);
    struct dice dice = {9};
    float x[12 * DIM];
    bpcn_stats stats = {.size = sizeof stats};
    dice_normals_f32(&dice, 12 * DIM, 1, x);
    assert_ok(bpcn_memory_get_stats(m, &stats));
    assert_int_equal(stats.ancestors, 64);
    assert_ok(bpcn_memory_write(m, x, NULL, 12, NULL));
    assert_ok(bpcn_memory_get_stats(m, &stats));
    print_message("64 particles after 12 rows: %zu ancestors, effective number %.1f\n", stats.ancestors,
                  stats.effective_particles);
    assert_true(stats.ancestors >= 1 && stats.ancestors < 32);
    assert_true(stats.effective_particles > (double)stats.ancestors);
    bpcn_memory_free(m);
}

static void the_extremes_allowed_are_allowed(void **state)
{
    (void)state;
    bpcn_options o = network(1, BPCN_MAX_LAYERS, (size_t[BPCN_MAX_LAYERS]){0});
    for (size_t l = 0; l < BPCN_MAX_LAYERS; l++)
        o.hidden[l] = 1;
    o.sigma_x = 1e-18;
    o.sigma_w = 1e18;
    o.seed = UINT64_MAX;
    bpcn_memory *m = make_memory(o);
    bpcn_options back = {.size = sizeof back};
    assert_ok(bpcn_memory_get_options(m, &back));
    assert_true(back.sigma_data == 1e-18); /* filled in */
    bpcn_memory_free(m);
}

/* ---- looking and setting */

static void looking_refuses_bad_arguments(void **state)
{
    struct scene *s = *state;
    bpcn_options o = {.size = sizeof o}, small = {.size = 3};
    bpcn_stats stats = {.size = 0};
    refuses(s, "memory is NULL", bpcn_memory_get_options(NULL, &o));
    refuses(s, "options is NULL", bpcn_memory_get_options(s->memory, NULL));
    refuses(s, "bpcn_options.size is 3", bpcn_memory_get_options(s->memory, &small));
    refuses(s, "memory is NULL", bpcn_memory_get_stats(NULL, &stats));
    refuses(s, "stats", bpcn_memory_get_stats(s->memory, NULL));
    refuses(s, "stats", bpcn_memory_get_stats(s->memory, &stats));
    refuses(s, "minimizer 2", bpcn_memory_set_minimizer(s->memory, (bpcn_minimizer)2));
    refuses(s, "minimizer -1", bpcn_memory_set_minimizer(s->memory, (bpcn_minimizer)-1));
    assert_ok(bpcn_memory_get_options(s->memory, &o));
    assert_int_equal(o.minimizer, BPCN_LBFGS);
    bpcn_memory_free(NULL);
}

static void parameters_refuse_bad_places(void **state)
{
    struct scene *s = *state;
    double v[16] = {0};
    refuses(s, "memory is NULL", bpcn_memory_get_layer(NULL, 0, 0, 0, v, NULL));
    refuses(s, "particle 2", bpcn_memory_get_layer(s->memory, 0, PARTICLES, 0, v, NULL));
    refuses(s, "layer 2", bpcn_memory_get_layer(s->memory, 0, 0, 2, v, NULL));
    refuses(s, "layer", bpcn_memory_get_layer(s->memory, 0, 0, SIZE_MAX, v, NULL));
    refuses(s, "particle", bpcn_memory_get_top(s->memory, 0, SIZE_MAX, v, NULL));
    refuses(s, "memory is NULL", bpcn_memory_get_top(NULL, 0, 0, v, NULL));
    refuses(s, "memory is NULL", bpcn_memory_get_weights(NULL, 0, v));
    refuses(s, "weights is NULL", bpcn_memory_get_weights(s->memory, 0, NULL));
    refuses(s, "memory is NULL", bpcn_memory_set_layer(NULL, 0, 0, 0, v, v));
    refuses(s, "particle 2", bpcn_memory_set_layer(s->memory, 0, PARTICLES, 0, v, v));
    refuses(s, "layer 2", bpcn_memory_set_layer(s->memory, 0, 0, 2, v, v));
    refuses(s, "memory is NULL", bpcn_memory_set_top(NULL, 0, 0, v, 1));
    refuses(s, "particle 2", bpcn_memory_set_top(s->memory, 0, PARTICLES, v, 1));
    refuses(s, "memory is NULL", bpcn_memory_set_weights(NULL, 0, v));
    assert_ok(bpcn_memory_get_layer(s->memory, 0, 0, 0, NULL, NULL)); /* either may be NULL */
    assert_ok(bpcn_memory_get_top(s->memory, 0, 0, NULL, NULL));
}

static void a_layer_refuses_bad_values(void **state)
{
    struct scene *s = *state;
    double mean[12] = {0}, u[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e300};
    refuses(s, "NULL", bpcn_memory_set_layer(s->memory, 0, 0, 0, NULL, u));
    refuses(s, "NULL", bpcn_memory_set_layer(s->memory, 0, 0, 0, mean, NULL));
    for (size_t i = 0; i < 4; i++) {
        mean[7] = bad[i];
        refuses(s, "entry 7 of the mean", bpcn_memory_set_layer(s->memory, 0, 1, 0, mean, u));
        mean[7] = 0;
        u[4] = bad[i];
        refuses(s, "covariance", bpcn_memory_set_layer(s->memory, 0, 1, 0, mean, u));
        u[4] = 1;
    }
    u[1] = 0.1;
    refuses(s, "symmetric", bpcn_memory_set_layer(s->memory, 0, 0, 0, mean, u));
    u[1] = u[3] = 1.0000001; /* symmetric, one eigenvalue just below 0 */
    refuses(s, "positive definite", bpcn_memory_set_layer(s->memory, 0, 0, 0, mean, u));
    u[1] = u[3] = 0;
    u[8] = 0;
    refuses(s, "positive definite", bpcn_memory_set_layer(s->memory, 0, 0, 0, mean, u));
    u[8] = -1;
    refuses(s, "positive definite", bpcn_memory_set_layer(s->memory, 0, 0, 0, mean, u));
}

static void a_top_and_weights_refuse_bad_values(void **state)
{
    struct scene *s = *state;
    static const double bad[] = {0, -1, NAN, INFINITY, -INFINITY, 1e300};
    double mean[2] = {0, 0};
    refuses(s, "mean is NULL", bpcn_memory_set_top(s->memory, 0, 0, NULL, 1));
    for (size_t i = 0; i < 6; i++)
        refuses(s, "variance", bpcn_memory_set_top(s->memory, 0, 0, mean, bad[i]));
    for (size_t i = 2; i < 6; i++) {
        mean[1] = bad[i];
        refuses(s, "entry 1 of the mean", bpcn_memory_set_top(s->memory, 0, 0, mean, 1));
    }
    refuses(s, "weights is NULL", bpcn_memory_set_weights(s->memory, 0, NULL));
    refuses(s, "weights", bpcn_memory_set_weights(s->memory, 0, (double[]){0, 0}));
    refuses(s, "weight 1", bpcn_memory_set_weights(s->memory, 0, (double[]){1, -1e-9}));
    refuses(s, "weight 0", bpcn_memory_set_weights(s->memory, 0, (double[]){NAN, 1}));
    refuses(s, "weight 1", bpcn_memory_set_weights(s->memory, 0, (double[]){1, INFINITY}));
    refuses(s, "weights", bpcn_memory_set_weights(s->memory, 0, (double[]){1e308, 1e308}));
}

/* ---- write, delete, forget, sample */

static void write_refuses_bad_arguments(void **state)
{
    struct scene *s = *state;
    float x[2 * DIM] = {0};
    bpcn_write_info info;
    bpcn_write_info_default(&info, sizeof info);
    refuses(s, "memory is NULL", bpcn_memory_write(NULL, s->x, NULL, 1, NULL));
    refuses(s, "rows is NULL", bpcn_memory_write(s->memory, NULL, NULL, 1, NULL));
    refuses(s, "too many", bpcn_memory_write(s->memory, s->x, NULL, SIZE_MAX, NULL));
    refuses(s, "too many", bpcn_memory_write(s->memory, s->x, NULL, SIZE_MAX / sizeof(float) / DIM, NULL));
    x[5] = nan_f;
    refuses(s, "row 1, entry 1 is NaN", bpcn_memory_write(s->memory, x, NULL, 2, NULL));
    x[5] = -inf_f;
    refuses(s, "row 1, entry 1 is infinite", bpcn_memory_write(s->memory, x, NULL, 2, NULL));
    info.size = 3;
    refuses(s, "size", bpcn_memory_write(s->memory, s->x, NULL, 1, &info));
}

static void delete_refuses_bad_arguments(void **state)
{
    struct scene *s = *state;
    float x[DIM] = {0, 0, inf_f};
    refuses(s, "row 0, entry 2 is infinite", bpcn_memory_delete(s->memory, x));
    refuses(s, "memory is NULL", bpcn_memory_delete(NULL, s->x));
    refuses(s, "NULL", bpcn_memory_delete(s->memory, NULL));
}

/* No pointer is looked at. */
static void no_rows_are_fine_everywhere(void **state)
{
    struct scene *s = *state;
    assert_ok(bpcn_memory_write(s->memory, NULL, NULL, 0, NULL));
    assert_ok(bpcn_memory_read(s->memory, NULL, NULL, 0, NULL, NULL, NULL));
    assert_ok(bpcn_memory_infer(s->memory, NULL, NULL, 0, NULL, NULL, NULL));
    assert_ok(bpcn_memory_score(s->memory, NULL, NULL, 0, NULL));
    assert_ok(bpcn_memory_energy(s->memory, NULL, NULL, NULL, 0, NULL, NULL, NULL));
    assert_ok(bpcn_memory_typicality(s->memory, NULL, 0, NULL));
    assert_ok(bpcn_memory_sample(s->memory, 0, 0, NULL));
    assert_true(snapshot_same(s->before, s->memory));
    bpcn_options_default(NULL, sizeof(bpcn_options));
    bpcn_read_options_default(NULL, sizeof(bpcn_read_options));
    bpcn_open_options_default(NULL, sizeof(bpcn_open_options));
    bpcn_write_info_default(NULL, sizeof(bpcn_write_info));
}

static void forget_and_sample_refuse_bad_arguments(void **state)
{
    struct scene *s = *state;
    static const double bad[] = {-1e-9, 1.0000001, -1, 2, NAN, INFINITY, -INFINITY};
    refuses(s, "memory is NULL", bpcn_memory_forget(NULL, 0.5));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(s, "beta", bpcn_memory_forget(s->memory, bad[i]));
    refuses(s, "memory is NULL", bpcn_memory_sample(NULL, 1, 0, s->out));
    refuses(s, "samples is NULL", bpcn_memory_sample(s->memory, 1, 0, NULL));
    refuses(s, "samples", bpcn_memory_sample(s->memory, SIZE_MAX, 0, s->out));
}

/* ---- reading */

static void read_refuses_bad_arguments(void **state)
{
    struct scene *s = *state;
    float x[2 * DIM] = {0};
    refuses(s, "memory is NULL", bpcn_memory_read(NULL, s->x, NULL, 1, NULL, s->out, NULL));
    refuses(s, "NULL", bpcn_memory_read(s->memory, NULL, NULL, 1, NULL, s->out, NULL));
    refuses(s, "answers is NULL", bpcn_memory_read(s->memory, s->x, NULL, 1, NULL, NULL, NULL));
    refuses(s, "too many", bpcn_memory_read(s->memory, s->x, NULL, SIZE_MAX, NULL, s->out, NULL));
    x[6] = nan_f;
    refuses(s, "row 1, entry 2 is NaN", bpcn_memory_read(s->memory, x, NULL, 2, NULL, s->out, NULL));
    refuses(s, "row 1, entry 2 is NaN", bpcn_memory_read(s->memory, x, s->known, 2, NULL, s->out, NULL));
    refuses(s, "row 1, entry 2 is NaN", bpcn_memory_infer(s->memory, x, NULL, 2, NULL, s->codes, NULL));
    refuses(s, "row 1, entry 2 is NaN", bpcn_memory_score(s->memory, x, NULL, 2, s->energy));
    refuses(s, "row 1, entry 2 is NaN", bpcn_memory_energy(s->memory, x, NULL, s->codes, 2, NULL, s->energy, NULL));
    s->known[6] = 0;
    assert_ok(bpcn_memory_read(s->memory, x, s->known, 2, NULL, s->out, NULL));
}

static void infer_score_and_energy_refuse_bad_arguments(void **state)
{
    struct scene *s = *state;
    refuses(s, "memory is NULL", bpcn_memory_infer(NULL, s->x, NULL, 1, NULL, s->codes, NULL));
    refuses(s, "rows is NULL", bpcn_memory_infer(s->memory, NULL, NULL, 1, NULL, s->codes, NULL));
    refuses(s, "codes is NULL", bpcn_memory_infer(s->memory, s->x, NULL, 1, NULL, NULL, NULL));
    refuses(s, "memory is NULL", bpcn_memory_score(NULL, s->x, NULL, 1, s->energy));
    refuses(s, "rows is NULL", bpcn_memory_score(s->memory, NULL, NULL, 1, s->energy));
    refuses(s, "densities is NULL", bpcn_memory_score(s->memory, s->x, NULL, 1, NULL));
    refuses(s, "memory is NULL", bpcn_memory_energy(NULL, s->x, NULL, s->codes, 1, NULL, s->energy, NULL));
    refuses(s, "rows is NULL", bpcn_memory_energy(s->memory, NULL, NULL, s->codes, 1, NULL, s->energy, NULL));
    refuses(s, "codes is NULL", bpcn_memory_energy(s->memory, s->x, NULL, NULL, 1, NULL, s->energy, NULL));
    refuses(s, "energies is NULL", bpcn_memory_energy(s->memory, s->x, NULL, s->codes, 1, NULL, NULL, NULL));
}

static void energy_refuses_codes_that_are_not_numbers(void **state)
{
    struct scene *s = *state;
    s->codes[CODE + 3] = nan_f;
    refuses(s, "code", bpcn_memory_energy(s->memory, s->x, NULL, s->codes, 2, NULL, s->energy, NULL));
    s->codes[CODE + 3] = inf_f;
    refuses(s, "code", bpcn_memory_energy(s->memory, s->x, NULL, s->codes, 2, NULL, s->energy, NULL));
}

static void every_read_refuses_bad_read_options(void **state)
{
    struct scene *s = *state;
    static const struct {
        size_t size;
        int objective;
        double noise;
        const char *word;
    } bad[] = {
        {0, 0, -1, "size"},
        {sizeof(bpcn_read_options), 4, -1, "objective"},
        {sizeof(bpcn_read_options), -1, -1, "objective"},
        {sizeof(bpcn_read_options), 0, NAN, "noise"},
        {sizeof(bpcn_read_options), 0, INFINITY, "noise"},
        {sizeof(bpcn_read_options), 0, 1e300, "noise"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bpcn_read_options o = {
            .size = bad[i].size, .objective = (bpcn_objective)bad[i].objective, .noise = bad[i].noise};
        refuses(s, bad[i].word, bpcn_memory_read(s->memory, s->x, NULL, 1, &o, s->out, NULL));
        refuses(s, bad[i].word, bpcn_memory_infer(s->memory, s->x, NULL, 1, &o, s->codes, NULL));
        refuses(s, bad[i].word, bpcn_memory_energy(s->memory, s->x, NULL, s->codes, 1, &o, s->energy, NULL));
    }
    bpcn_read_options marginal;
    bpcn_read_options_default(&marginal, sizeof marginal);
    marginal.objective = BPCN_OBJECTIVE_MARGINAL;
    assert_ok(bpcn_memory_set_minimizer(s->memory, BPCN_ADAM));
    refuses(s, "marginal", bpcn_memory_read(s->memory, s->x, NULL, 1, &marginal, s->out, NULL));
}

/* Finite, but far outside anything: a status, no crash, and the memory as it was. */
static void huge_queries_fail_cleanly_or_are_answered(void **state)
{
    struct scene *s = *state;
    float x[2 * DIM];
    for (float size = 1e5f; size < FLT_MAX / 1e4f; size *= 1e4f)
        for (int minimizer = BPCN_LBFGS; minimizer <= BPCN_ADAM; minimizer++) {
            for (size_t j = 0; j < 2 * DIM; j++)
                x[j] = j % 2 ? size : -size;
            assert_ok(bpcn_memory_set_minimizer(s->memory, (bpcn_minimizer)minimizer));
            s->memory->contents.shard[0]->options.rounds = 2;
            bpcn_status status = bpcn_memory_read(s->memory, x, NULL, 2, NULL, s->out, NULL);
            assert_true(status == BPCN_OK || status == BPCN_NUMERIC || (size > 1e15f && status == BPCN_INVALID));
            for (size_t j = 0; status == BPCN_OK && j < 2 * DIM; j++)
                assert_true(isfinite(s->out[j]));
            assert_true(snapshot_same(s->before, s->memory));
        }
}

/* ---- status and sentences */

static void every_status_has_its_pinned_number_and_a_name(void **state)
{
    (void)state;
    static const struct {
        bpcn_status status;
        const char *name;
    } pinned[] = {{BPCN_OK, "ok"},           {BPCN_INVALID, "invalid"},     {BPCN_NO_MEMORY, "no_memory"},
                  {BPCN_NUMERIC, "numeric"}, {BPCN_REFUSED, "refused"},     {BPCN_IO, "io"},
                  {BPCN_FORMAT, "format"},   {BPCN_NEWER, "newer"},         {BPCN_CORRUPT, "corrupt"},
                  {BPCN_BUSY, "busy"},       {BPCN_READ_ONLY, "read_only"}, {BPCN_FULL, "full"},
                  {BPCN_NO_SPACE, "no_space"}, {BPCN_GONE, "gone"},         {BPCN_NOT_HELD, "not_held"}};
    for (int i = 0; i < 15; i++) {
        assert_int_equal((int)pinned[i].status, i);
        assert_string_equal(bpcn_status_name((bpcn_status)i), pinned[i].name);
    }
    for (int i = 15; i < 300; i++)
        assert_string_equal(bpcn_status_name((bpcn_status)i), "unknown");
    assert_true(bpcn_status_name((bpcn_status)-1)[0] != '\0');
    assert_string_equal(bpcn_version(), BPCN_VERSION);
}

static void *fail_elsewhere(void *argument)
{
    const char **first = argument;
    *first = bpcn_error()[0] == '\0' ? "" : "not empty";
    (void)bpcn_memory_forget(NULL, 0.5);
    return NULL;
}

static void sentences_are_of_the_thread_that_failed(void **state)
{
    struct scene *s = *state;
    pthread_t thread;
    const char *first = NULL;
    assert_status(bpcn_memory_forget(s->memory, 7), BPCN_INVALID);
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &first), 0);
    pthread_join(thread, NULL);
    assert_string_equal(first, ""); /* a thread in which nothing failed has none */
    assert_non_null(strstr(bpcn_error(), "beta is 7"));
}

static void a_caller_sets_and_extends_the_sentence_and_its_place(void **state)
{
    char longest[3 * BPCN_MAX_ERROR];
    (void)state;
    assert_int_equal(bpcn_fail_at(BPCN_FORMAT, "a.csv:7", "'%s' is not a number", "x"), BPCN_FORMAT);
    assert_string_equal(bpcn_error(), "'x' is not a number");
    assert_string_equal(bpcn_error_place(), "a.csv:7");
    assert_int_equal(bpcn_fail_at(BPCN_FORMAT, bpcn_error_place(), "import: %s", bpcn_error()), BPCN_FORMAT);
    assert_string_equal(bpcn_error(), "import: 'x' is not a number");
    assert_string_equal(bpcn_error_place(), "a.csv:7");
    assert_int_equal(bpcn_fail(BPCN_NOT_HELD, "%s: %s", bpcn_error_place(), bpcn_error()), BPCN_NOT_HELD);
    assert_string_equal(bpcn_error(), "a.csv:7: import: 'x' is not a number");
    assert_string_equal(bpcn_error_place(), "");
    /* what is too long is cut before a character of several bytes, not inside it */
    memset(longest, 'a', sizeof longest);
    memcpy(longest + BPCN_MAX_ERROR - 1, "\xe2\x82\xac", 3);
    longest[sizeof longest - 1] = '\0';
    (void)bpcn_fail_at(BPCN_INVALID, longest, "%s", longest);
    assert_int_equal(strlen(bpcn_error()), BPCN_MAX_ERROR - 1);
    assert_string_equal(bpcn_error(), bpcn_error_place());
}

#define with_scene(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create_refuses_bad_shapes),
        cmocka_unit_test(create_refuses_bad_numbers),
        cmocka_unit_test(create_refuses_choices_that_do_not_exist),
        cmocka_unit_test(activations_with_a_name_exist_and_no_others),
        cmocka_unit_test(a_memory_too_large_for_the_machine_is_refused),
        cmocka_unit_test(what_options_take_is_known_before),
        cmocka_unit_test(resampling_reports_distinct_ancestors),
        cmocka_unit_test(the_extremes_allowed_are_allowed),
        cmocka_unit_test(a_caller_sets_and_extends_the_sentence_and_its_place),
        with_scene(no_rows_are_fine_everywhere),
        with_scene(looking_refuses_bad_arguments),
        with_scene(parameters_refuse_bad_places),
        with_scene(a_layer_refuses_bad_values),
        with_scene(a_top_and_weights_refuse_bad_values),
        with_scene(write_refuses_bad_arguments),
        with_scene(delete_refuses_bad_arguments),
        with_scene(forget_and_sample_refuse_bad_arguments),
        with_scene(read_refuses_bad_arguments),
        with_scene(infer_score_and_energy_refuse_bad_arguments),
        with_scene(energy_refuses_codes_that_are_not_numbers),
        with_scene(every_read_refuses_bad_read_options),
        with_scene(huge_queries_fail_cleanly_or_are_answered),
        cmocka_unit_test(every_status_has_its_pinned_number_and_a_name),
        with_scene(sentences_are_of_the_thread_that_failed),
    };
    return cmocka_run_group_tests_name("bad_input", tests, NULL, NULL);
}
