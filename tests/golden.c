/*
 * golden DIR: checks the library against every number in a folder of golden vectors, which an
 * independent implementation made (DIR/README.md says what each tensor is). One test per case of
 * DIR/manifest.json. The shapes come from the arrays, so any widths, depths, numbers of particles
 * and numbers of writes will do. A tensor that no check looked at is a failure.
 *
 * The memory starts from the case's own prior and then runs on by itself: what is compared after
 * write k is the outcome of k + 1 inferences and updates, not of one.
 */
#include "support.h"

#include "shard.h"
#include "golden_case.h"


#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORGET_MANY = 400 };

/* ---- the memory of a case */

static bpcn_activation activation_of(const struct golden_case *c)
{
    const char *name = json_string(c->about, "act", "");
    for (int i = 0; bpcn_activation_name((bpcn_activation)i) != NULL; i++)
        if (strcmp(name, bpcn_activation_name((bpcn_activation)i)) == 0)
            return (bpcn_activation)i;
    fail_msg("%s: activation \"%s\" is unknown", c->name, name);
    return BPCN_GELU;
}

static size_t count_particles(struct golden_case *c)
{
    char name[64];
    size_t n = 0;
    while (snprintf(name, sizeof name, "init_p%zu_l0_R", n), find(c, name) != NULL)
        n++;
    return n;
}

/* init_p0_lL_R is [above x below] below the top and a vector at the top. */
static bpcn_options options_of(struct golden_case *c)
{
    bpcn_options o;
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.layers = (size_t)json_number(c->about, "hidden_layers", 0);
    assert_in_range(o.layers, 0, BPCN_MAX_LAYERS);
    for (size_t l = 0; l <= o.layers; l++) {
        const fmt_array *mean = required(c, "init_p0_l%zu_R", l);
        size_t width = mean->shape[mean->ndim - 1];
        *(l == 0 ? &o.dim : &o.hidden[l - 1]) = width;
    }
    o.particles = count_particles(c);
    assert_int_equal(o.particles, (size_t)json_number(c->about, "particles", (double)o.particles));
    o.activation = activation_of(c);
    o.sigma_w = json_number(c->about, "sigma_w", 1);
    o.sigma_x = json_number(c->about, "sigma_x", NAN);
    o.adam_rate = json_number(c->about, "adam_lr", 0.01);
    o.adam_steps = (size_t)json_number(c->about, "adam_steps", 500);
    o.adam_stop = json_number(c->about, "early_stop", 1e-3);
    o.rounds = 1;
    o.minimizer = BPCN_ADAM;
    o.precision = BPCN_FLOAT64;
    o.threads = 1;
    return o;
}

static void set_prior(struct golden_case *c, bpcn_memory *memory)
{
    const struct model *m = memory->contents.shard[0];
    size_t top = m->options.layers;
    for (size_t n = 0; n < m->options.particles; n++) {
        for (size_t l = 0; l < top; l++) {
            const fmt_array *mean = required(c, "init_p%zu_l%zu_R", n, l);
            const fmt_array *u = required(c, "init_p%zu_l%zu_U", n, l);
            assert_int_equal(mean->count, m->width[l] * m->width[l + 1]);
            assert_int_equal(u->count, m->width[l + 1] * m->width[l + 1]);
            assert_ok(bpcn_memory_set_layer(memory, 0, n, l, mean->data, u->data));
        }
        const fmt_array *mean = required(c, "init_p%zu_l%zu_R", n, top);
        const fmt_array *u = required(c, "init_p%zu_l%zu_U", n, top);
        assert_int_equal(mean->count, m->width[top]);
        assert_ok(bpcn_memory_set_top(memory, 0, n, mean->data, u->data[0]));
    }
    const fmt_array *log_weights = required(c, "init_logw");
    assert_int_equal(log_weights->count, m->options.particles);
    memcpy(memory->contents.shard[0]->log_weights, log_weights->data, log_weights->count * sizeof(double));
}

/* What forgetting changed the means by, beyond what golden's did: golden mixes its own prior in,
   we mix in ours, which is drawn from the seed. Both mix (1 - r) of it. */
struct prior_swap {
    const bpcn_memory *ours;
    double mixed; /* 1 - r */
};

static void swap_prior(struct golden_case *c, const struct prior_swap *swap, size_t n, size_t l, size_t count,
                       double *mean)
{
    double *ours = room(count, sizeof *ours);
    const fmt_array *theirs = required(c, "init_p%zu_l%zu_R", n, l);
    if (l < swap->ours->contents.shard[0]->options.layers)
        assert_ok(bpcn_memory_get_layer(swap->ours, 0, n, l, ours, NULL));
    else
        assert_ok(bpcn_memory_get_top(swap->ours, 0, n, ours, NULL));
    for (size_t j = 0; j < count; j++)
        mean[j] += swap->mixed * (theirs->data[j] - ours[j]);
    free(ours);
}

static void compare_layer(struct golden_case *c, const char *tag, const bpcn_memory *memory, size_t n, size_t l,
                          const struct prior_swap *swap)
{
    const struct model *m = memory->contents.shard[0];
    int top = l == m->options.layers;
    size_t below = m->width[l], above = top ? below : m->width[l + 1], entries = top ? below : above * below;
    double *mean = room(entries, sizeof *mean), *u = room(above * above, sizeof *u), variance = 0;
    char name[160];
    if (top)
        assert_ok(bpcn_memory_get_top(memory, 0, n, mean, &variance));
    else
        assert_ok(bpcn_memory_get_layer(memory, 0, n, l, mean, u));
    for (size_t j = 0; top && j < above; j++)
        u[j * above + j] = variance;
    if (swap != NULL)
        swap_prior(c, swap, n, l, entries, mean);
    snprintf(name, sizeof name, "%s_p%zu_l%zu_R", tag, n, l);
    compare(c, name, entries, mean);
    snprintf(name, sizeof name, "%s_p%zu_l%zu_U", tag, n, l);
    compare(c, name, above * above, u);
    free(mean);
    free(u);
}

static void compare_state(struct golden_case *c, const char *tag, const bpcn_memory *memory,
                          const struct prior_swap *swap)
{
    const struct model *m = memory->contents.shard[0];
    char name[160];
    for (size_t n = 0; n < m->options.particles; n++)
        for (size_t l = 0; l <= m->options.layers; l++)
            compare_layer(c, tag, memory, n, l, swap);
    snprintf(name, sizeof name, "%s_logw", tag);
    compare(c, name, m->options.particles, m->log_weights);
}

/* ---- codes: the layers' arrays [n x width] side by side, [n x code_dim] */

static size_t gather(struct golden_case *c, const struct model *m, const char *prefix, double **codes)
{
    size_t n = 0;
    *codes = NULL;
    for (size_t l = 1; l <= m->options.layers; l++) {
        const fmt_array *a = input(c, "%s_x%zu", prefix, l);
        if (a == NULL) {
            free(*codes);
            *codes = NULL;
            return 0;
        }
        assert_int_equal(a->count % m->width[l], 0);
        if (*codes == NULL) {
            n = a->count / m->width[l];
            *codes = room(n * m->code_dim, sizeof **codes);
        }
        assert_int_equal(a->count, n * m->width[l]);
        for (size_t i = 0; i < n; i++)
            memcpy(*codes + i * m->code_dim + m->offset[l], a->data + i * m->width[l], m->width[l] * sizeof(double));
    }
    return n;
}

static void compare_codes(struct golden_case *c, const struct model *m, const char *prefix, size_t n, double sign,
                          const double *codes)
{
    char name[160];
    for (size_t l = 1; l <= m->options.layers; l++) {
        double *layer = room(n * m->width[l], sizeof *layer);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < m->width[l]; j++)
                layer[i * m->width[l] + j] = sign * codes[i * m->code_dim + m->offset[l] + j];
        snprintf(name, sizeof name, "%s_x%zu", prefix, l);
        compare(c, name, n * m->width[l], layer);
        free(layer);
    }
}

/* ---- the operations */

/* Row k with its recorded starts; 0 when the folder has no write k. */
static int check_write(struct golden_case *c, bpcn_memory *memory, size_t k)
{
    struct model *m = memory->contents.shard[0];
    const fmt_array *x = required(c, "x");
    char tag[64], prefix[96];
    double *starts = room(m->options.particles * m->code_dim, sizeof *starts);
    snprintf(tag, sizeof tag, "write%zu", k);
    snprintf(prefix, sizeof prefix, "%s_logw", tag);
    int exists = find(c, prefix) != NULL && (k + 1) * m->width[0] <= x->count;
    for (size_t n = 0; exists && n < m->options.particles && m->code_dim > 0; n++) {
        double *start = NULL;
        snprintf(prefix, sizeof prefix, "%s_init_p%zu", tag, n);
        if (gather(c, m, prefix, &start) == 1)
            memcpy(starts + n * m->code_dim, start, m->code_dim * sizeof *start);
        else
            fail_msg("%s: the starts of %s are missing", c->name, tag);
        free(start);
    }
    if (exists) {
        struct transaction edit;
        struct change change;
        bpcn_write_row row;
        assert_ok(transaction_begin(&edit, memory, CHANGE_WRITE));
        assert_ok(shard_ops_for(m)->find_write(writers_of(&edit.writers, 0, 0), x->data + k * m->width[0], NULL, starts,
                                          &change, &row));
        assert_ok(transaction_apply(&edit, &change));
        assert_ok(transaction_end(&edit, BPCN_OK, NULL));
        compare_state(c, tag, memory, NULL);
    }
    free(starts);
    return exists;
}

static void check_points(struct golden_case *c, const bpcn_memory *memory)
{
    struct shard shard = shard_of(memory, 0);
    const struct model *m = shard.model;
    double *codes = NULL;
    const fmt_array *x0 = input(c, "point_x0");
    size_t n = gather(c, m, "point", &codes);
    if (x0 == NULL || (n == 0 && m->code_dim > 0))
        return;
    n = x0->count / m->width[0];
    double *energy = room(n, sizeof *energy), *grad = room(n * m->code_dim, sizeof *grad);
    double *grad_x = room(n * m->width[0], sizeof *grad_x);
    struct energy_request request = {
        .x = x0->data, .codes = codes, .n = n, .energy = energy, .grad = grad, .grad_x = grad_x};
    bpcn_read_options_default(&request.options, sizeof request.options);
    assert_ok(shard_ops_for(m)->energy(&shard, NULL, &request));
    for (size_t i = 0; i < n; i++)
        energy[i] = -energy[i]; /* the tensors are of the log joint */
    for (size_t j = 0; j < n * m->width[0]; j++)
        grad_x[j] = -grad_x[j];
    compare(c, "point_logjoint", n, energy);
    compare(c, "point_grad_x0", n * m->width[0], grad_x);
    compare_codes(c, m, "point_grad", n, -1, grad);
    free(codes);
    free(energy);
    free(grad);
    free(grad_x);
}

static void check_infer(struct golden_case *c, const bpcn_memory *memory)
{
    struct shard shard = shard_of(memory, 0);
    const struct model *m = shard.model;
    double *starts = NULL;
    size_t n = gather(c, m, "infer_init", &starts), steps = m->options.adam_steps;
    if (n == 0)
        return;
    double *codes = room(n * m->code_dim, sizeof *codes), *losses = room(steps, sizeof *losses);
    for (size_t t = 0; t < steps; t++)
        losses[t] = NAN;
    struct read_request request = {
        .query = required(c, "x")->data, .n = n, .starts = starts, .losses = losses, .codes = codes};
    bpcn_read_options_default(&request.options, sizeof request.options);
    assert_ok(shard_ops_for(m)->read(&shard, NULL, &request));
    for (size_t t = 1; t < steps; t++)
        if (isnan(losses[t]))
            losses[t] = losses[t - 1]; /* an early stop repeats the last, as the golden ones do */
    compare_codes(c, m, "infer_final", n, 1, codes);
    compare(c, "infer_mean_losses", steps, losses);
    free(starts);
    free(codes);
    free(losses);
}

static void check_hetero(struct golden_case *c, const bpcn_memory *memory)
{
    struct shard shard = shard_of(memory, 0);
    struct model *m = shard.model;
    double *starts = NULL;
    size_t n = gather(c, m, "hetero_init", &starts), steps = m->options.adam_steps, dim = m->width[0];
    const fmt_array *query = input(c, "hetero_query"), *mask = input(c, "hetero_known");
    if (n == 0 || query == NULL || mask == NULL) {
        free(starts);
        return;
    }
    assert_int_equal(query->count, n * dim);
    assert_int_equal(mask->count, n * dim);
    unsigned char *known = room(n * dim, 1);
    double *answers = room(n * dim, sizeof *answers);
    for (size_t j = 0; j < n * dim; j++)
        known[j] = mask->data[j] != 0;
    m->options.adam_steps = (size_t)json_number(c->about, "hetero_steps", (double)(30 * steps)); /* of one round */
    struct read_request request = {.query = query->data, .known = known, .n = n, .starts = starts, .answers = answers};
    bpcn_read_options_default(&request.options, sizeof request.options);
    assert_ok(shard_ops_for(m)->read(&shard, NULL, &request));
    m->options.adam_steps = steps;
    compare(c, "hetero_out", n * dim, answers);
    free(starts);
    free(known);
    free(answers);
}

/* `times` forgets of beta from the state after the last write. */
static void check_forget(struct golden_case *c, bpcn_memory *memory, const struct snapshot *written, const char *tag,
                         double beta, size_t times)
{
    bpcn_memory *fresh = make_memory(memory->contents.shard[0]->options);
    struct prior_swap swap = {fresh, 1 - pow(1 - beta, 0.5 * (double)times)};
    snapshot_restore(written, memory);
    for (size_t t = 0; t < times; t++)
        assert_ok(bpcn_memory_forget(memory, beta));
    compare_state(c, tag, memory, &swap);
    snapshot_restore(written, memory);
    bpcn_memory_free(fresh);
}

/* forget<beta>_logw for any beta; forget_many is FORGET_MANY more after the first of them. */
static void check_forgets(struct golden_case *c, bpcn_memory *memory)
{
    struct snapshot *written = snapshot_take(memory);
    double first = 0.1;
    for (struct tensor *t = c->tensors; t != NULL; t = t->next) {
        char *end = NULL, tag[128];
        double beta = strncmp(t->name, "forget", 6) == 0 ? strtod(t->name + 6, &end) : NAN;
        if (end == NULL || end == t->name + 6 || strcmp(end, "_logw") != 0)
            continue;
        snprintf(tag, sizeof tag, "%.*s", (int)(end - t->name), t->name);
        check_forget(c, memory, written, tag, beta, 1);
        first = beta;
    }
    check_forget(c, memory, written, "forget_many", first, FORGET_MANY + 1);
    snapshot_free(written);
}

/* ---- a case */

/* What was listed but is not there is said aloud; what is there but was not looked at fails. */
static void check_coverage(struct golden_case *c)
{
    size_t compared = 0, inputs = 0;
    const struct json *listed = json_member(c->about, "tensors");
    for (const struct json *name = listed ? listed->first : NULL; name != NULL; name = name->next)
        if (name->kind == JSON_STRING && find(c, name->text) == NULL)
            print_message("%s: %s is in the manifest but not in the folder\n", c->name, name->text);
    for (const struct tensor *t = c->tensors; t != NULL; t = t->next) {
        compared += t->seen == COMPARED;
        inputs += t->seen == INPUT;
        if (t->seen == UNSEEN) {
            print_error("%s.%s: no check knows this tensor\n", c->name, t->name);
            c->failures++;
        }
    }
    print_message("%s: %zu tensors compared, %zu used as inputs, worst difference %.2g (%s)\n", c->name, compared,
                  inputs, c->worst, c->worst_name);
}

static void check_bayes_case(struct golden_case *c)
{
    bpcn_memory *memory = make_memory(options_of(c));
    set_prior(c, memory);
    compare_state(c, "init", memory, NULL);
    for (size_t k = 0; check_write(c, memory, k); k++)
        ;
    check_points(c, memory);
    check_infer(c, memory);
    check_hetero(c, memory);
    check_forgets(c, memory);
    bpcn_memory_free(memory);
    check_coverage(c);
}

static void golden_case_agrees(void **state)
{
    struct golden_case *c = *state;
    load_tensors(c);
    check_bayes_case(c);
    assert_int_equal(c->failures, 0);
}

static int forget_case(void **state)
{
    struct golden_case *c = *state;
    while (c->tensors != NULL) {
        struct tensor *t = c->tensors;
        c->tensors = t->next;
        fmt_array_free(&t->array);
        free(t);
    }
    return 0;
}

static int run(const char *folder, const struct json *manifest)
{
    size_t count = 0, n = 0;
    for (const struct json *about = manifest->first; about != NULL; about = about->next)
        count++;
    if (count == 0) {
        fprintf(stderr, "golden: the manifest lists no cases\n");
        return 1;
    }
    struct golden_case *cases = calloc(count, sizeof *cases);
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    for (const struct json *about = manifest->first; cases && tests && about != NULL; about = about->next, n++) {
        cases[n] = (struct golden_case){.folder = folder, .name = about->key, .about = about};
        tests[n] = (struct CMUnitTest){about->key, golden_case_agrees, NULL, forget_case, &cases[n]};
    }
    int failed = n == count ? _cmocka_run_group_tests("golden", tests, count, NULL, NULL) : 1;
    free(cases);
    free(tests);
    return failed;
}

int main(int argc, char **argv)
{
    char path[1024], error[1400];
    if (argc != 2) {
        fprintf(stderr, "usage: golden FOLDER\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/manifest.json", argv[1]);
    struct json *manifest = json_read(path, error, sizeof error);
    if (manifest == NULL || manifest->kind != JSON_OBJECT) {
        fprintf(stderr, "golden: %s\n", manifest ? "the manifest is not an object" : error);
        json_free(manifest);
        return 2;
    }
    int failed = run(argv[1], manifest);
    json_free(manifest);
    return failed;
}
