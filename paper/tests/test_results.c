/*
 * The table of results, the plans, and how cells were computed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan_csv.h"
#include "reproduce.h"
#include "search.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the table of results */

/* A folder with an empty table; the path of the table goes into `path`. */
static struct results *new_table(char *path, size_t room)
{
    char folder[] = "/tmp/bpcn-test-XXXXXX";
    struct results *l;
    struct failure failure;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(results_open(folder, &l, &failure), 0);
    snprintf(path, room, "%s/cells.csv", folder);
    return l;
}

static void drop_table(struct results *l, char *path)
{
    results_free(l);
    unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
}

/* As a program of that commit would. */
static int add_as(struct results *l, const char *key, const struct record *record, const char *commit,
                  struct failure *failure)
{
    struct provenance p;
    provenance_here(&(struct method_spec){.kind = METHOD_MHN}, &p);
    snprintf(p.commit, sizeof p.commit, "%s", commit);
    return results_add(l, key, record, &p, failure);
}

static void add(struct results *l, const char *key, double mse)
{
    struct record record = {0};
    struct failure failure;
    record_set(&record, "mse", mse);
    assert_int_equal(add_as(l, key, &record, "", &failure), 0);
}

static void append_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void a_record_comes_back_from_the_table_as_it_was_added(void **state)
{
    char path[64];
    struct results *l = new_table(path, sizeof path);
    struct record record = {0}, back;
    struct failure failure;
    (void)state;
    record_set(&record, "mse", 0.1);
    record_set(&record, "mse", 1.0 / 3);
    record_set(&record, "mse_max", INFINITY);
    record_set(&record, "noisy_identity", 1e-300);
    add(l, "b", 7);
    assert_int_equal(add_as(l, "a", &record, "", &failure), 0);
    add(l, "b", 8); /* the last row of a key counts */
    for (int again = 0; again < 2; again++) {
        assert_true(results_find(l, "a", &back));
        assert_int_equal(back.count, 3);
        assert_true(record_get(&back, "mse") == 1.0 / 3);
        assert_true(isinf(record_get(&back, "mse_max")));
        assert_true(record_get(&back, "noisy_identity") == 1e-300);
        assert_true(isnan(record_get(&back, "bytes")));
        assert_true(results_find(l, "b", &back) && record_get(&back, "mse") == 8);
        assert_false(results_find(l, "", NULL) || results_find(l, "aa", NULL) || results_find(l, "c", NULL));
        assert_int_equal(results_read(l, &failure), 0);
    }
    drop_table(l, path);
}

static void a_torn_last_row_is_none_and_the_next_takes_its_place(void **state)
{
    char path[64];
    struct results *l = new_table(path, sizeof path);
    struct failure failure;
    (void)state;
    append_text(path, "cell,length,que"); /* killed in the heading */
    assert_int_equal(results_read(l, &failure), 0);
    add(l, "first", 1);
    append_text(path, "torn,16,4,0.5");
    assert_int_equal(results_read(l, &failure), 0);
    assert_true(results_find(l, "first", NULL));
    assert_false(results_find(l, "torn", NULL));
    add(l, "second", 2);
    assert_int_equal(results_read(l, &failure), 0);
    assert_true(results_find(l, "first", NULL) && results_find(l, "second", NULL));
    assert_false(results_find(l, "torn", NULL));
    drop_table(l, path);
}

/* Adds rows until it is killed or has added `rows`. */
static void add_apart(struct results *l, int process, int rows)
{
    for (int i = 0; i < rows; i++) {
        struct record record = {0};
        struct failure failure;
        char key[32];
        snprintf(key, sizeof key, "%d-%d", process, i);
        record_set(&record, "mse", process + 1.0 / (i + 1));
        if (add_as(l, key, &record, "", &failure) != 0)
            _exit(1);
    }
    _exit(0);
}

static void processes_that_add_at_once_tear_no_rows_even_when_killed(void **state)
{
    enum { PROCESSES = 4, ROWS = 25 };
    char path[64];
    struct results *l = new_table(path, sizeof path);
    struct failure failure;
    pid_t child[PROCESSES];
    (void)state;
    for (int p = 0; p < PROCESSES; p++) { /* the first would go on for ever */
        child[p] = fork();
        assert_true(child[p] >= 0);
        if (child[p] == 0)
            add_apart(l, p, p == 0 ? 1000000 : ROWS);
    }
    for (int p = PROCESSES - 1; p >= 0; p--) {
        int result;
        if (p == 0)
            kill(child[p], SIGKILL);
        assert_int_equal(waitpid(child[p], &result, 0), child[p]);
        assert_true(p == 0 || (WIFEXITED(result) && WEXITSTATUS(result) == 0));
    }
    add(l, "after", 1); /* takes away what the killed one may have left */
    assert_int_equal(results_read(l, &failure), 0);
    for (int p = 1; p < PROCESSES; p++)
        for (int i = 0; i < ROWS; i++) {
            struct record record;
            char key[32];
            snprintf(key, sizeof key, "%d-%d", p, i);
            assert_true(results_find(l, key, &record) && record_get(&record, "mse") == p + 1.0 / (i + 1));
        }
    drop_table(l, path);
}

static void a_table_that_is_none_of_ours_is_refused_with_a_sentence(void **state)
{
    char path[64];
    struct results *l = new_table(path, sizeof path);
    struct record record = {0};
    struct failure failure;
    (void)state;
    record_set(&record, "worst", 1);
    assert_int_equal(add_as(l, "a", &record, "", &failure), -1); /* there is no such column */
    assert_non_null(strstr(failure.text, "column"));
    assert_int_equal(access(path, F_OK), -1);
    add(l, "a", 1);
    append_text(path, "b,1,2\n");
    assert_int_equal(results_read(l, &failure), -1);
    assert_non_null(strstr(failure.text, "line 3"));
    unlink(path);
    append_text(path, "x,y\n1,2\n");
    assert_int_equal(results_read(l, &failure), -1);
    assert_non_null(strstr(failure.text, "columns"));
    drop_table(l, path);
}

/* ---- the plans */

static size_t row_called(const struct table *t, const char *label)
{
    size_t row = 0;
    while (strcmp(t->row[row].label, label) != 0)
        row++;
    return row;
}

static void cells_that_differ_have_different_keys(void **state)
{
    struct method_spec spec = method_spec_default(), other;
    char a[KEY_ROOM], b[KEY_ROOM], keys[12][KEY_ROOM];
    (void)state;
    method_key(&spec, a, sizeof a);
    assert_string_equal(a, "bayespcn-h256x3-gelu-n1-w1-x0.01-s0");
    for (int change = 0; change < 12; change++) {
        other = spec;
        switch (change) {
        case 0:
            other.hidden[1] = 128;
            break;
        case 1:
            other.layers = 2;
            break;
        case 2:
            other.activation = BPCN_RELU;
            break;
        case 3:
            other.particles = 4;
            break;
        case 4:
            other.sigma_x = 0.05;
            break;
        case 5:
            other.minimizer = BPCN_ADAM;
            break;
        case 6:
            other.forget_every = 64;
            other.beta = 0.001;
            break;
        case 7:
            other.shards = 2;
            break;
        case 8:
            other.shards = 2;
            other.shard_rows = 64;
            break;
        case 9:
            other.shards = 2;
            other.when_full = BPCN_RECYCLE;
            break;
        case 10:
            other.forget_every = 64;
            other.beta = 0.001;
            other.discount = 1;
            break;
        default:
            other.seed = 1;
        }
        method_key(&other, b, sizeof b);
        assert_string_not_equal(a, b);
        for (int before = 0; before < change; before++)
            assert_string_not_equal(keys[before], b);
        snprintf(keys[change], sizeof keys[change], "%s", b);
    }
    assert_string_equal(keys[8], "bayespcn-h256x3-k2r64-gelu-n1-w1-x0.01-s0");
}

/* The paper tier covers one row a unit and more, down to a single network, whose cell is that of other experiments. */
static void shards_are_planned_from_many_to_one(void **state)
{
    struct plan_request request = {.experiment = "shards", .tier = TIER_PAPER, .datasets = "cifar10", .seeds = 1};
    struct plan plan;
    struct failure failure;
    size_t single = 0;
    (void)state;
    assert_int_equal(plan_create(&request, &plan, &failure), 0);
    for (size_t k = 0; k < plan.tables; k++)
        for (size_t r = 0; r < plan.table[k].rows; r++) {
            const struct method_spec *s = &plan.table[k].row[r].spec;
            struct cell cell;
            char key[KEY_ROOM];
            if (s->kind != METHOD_BAYESPCN)
                continue;
            assert_int_equal(s->shards * s->shard_rows, 1024); /* every image has its place */
            assert_true(plan_cell(&plan, &plan.table[k], r, 0, 0, &cell));
            assert_int_equal(cell.limit, COMPARED_QUERIES);
            cell_key(&cell, key, sizeof key);
            assert_int_equal(strstr(key, "-k") == NULL, s->shards == 1);
            single += s->shards == 1;
        }
    assert_int_equal(single, 3 * plan.tables);
    plan_free(&plan);
}

/* The paper: three widths, three depths, on both datasets; its figures of recalled images and of the metric. */
static void every_figure_of_the_paper_has_its_plan(void **state)
{
    static const size_t widths[] = {256, 512, 1024}, layers[] = {1, 3, 7};
    static const char *const pictures[] = {"oneshot", "recalled", "metric", "samples", "generalization"};
    struct plan_request request = {.experiment = "scaling", .tier = TIER_PAPER};
    struct plan plan;
    struct failure failure;
    (void)state;
    assert_int_equal(plan_create(&request, &plan, &failure), 0);
    assert_int_equal(plan.tables, 6);
    for (size_t k = 0; k < plan.tables; k++)
        for (size_t at = 0; at < 9; at++) {
            size_t found = 0;
            for (size_t r = 0; r < plan.table[k].rows; r++)
                found += plan.table[k].row[r].spec.hidden[0] == widths[at % 3] &&
                         plan.table[k].row[r].spec.layers == layers[at / 3] &&
                         plan.table[k].row[r].spec.minimizer != BPCN_ADAM;
            assert_int_equal(found, 1);
        }
    plan_free(&plan);
    for (size_t e = 0; e < sizeof pictures / sizeof pictures[0]; e++) {
        request.experiment = pictures[e];
        assert_int_equal(plan_create(&request, &plan, &failure), 0);
        assert_string_equal(plan.table[0].dataset, "cifar10");
        plan_free(&plan);
    }
}

static void shared_cells_are_listed_once(void **state)
{
    char folder[] = "/tmp/bpcn-test-XXXXXX", cells[64];
    struct plan_request request = {.experiment = "all", .tier = TIER_QUICK, .datasets = "cifar10"};
    struct plan plan;
    struct job_list list;
    struct failure failure;
    size_t named = 0;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(plan_create(&request, &plan, &failure), 0);
    assert_int_equal(job_list_create(&plan, folder, NULL, &list, &failure), 0);
    for (size_t k = 0; k < plan.tables; k++)
        named += plan.table[k].rows * plan.table[k].columns;
    assert_true(list.cells < named);
    for (size_t i = 0; i < list.cells; i++)
        for (size_t j = 0; j < i; j++) {
            char a[KEY_ROOM], b[KEY_ROOM];
            cell_key(&list.cell[i], a, sizeof a);
            cell_key(&list.cell[j], b, sizeof b);
            assert_string_not_equal(a, b);
        }
    job_list_free(&list);
    plan_free(&plan);
    snprintf(cells, sizeof cells, "%s/cells", folder);
    rmdir(cells);
    rmdir(folder);
}

static void an_unknown_experiment_is_refused_with_a_sentence(void **state)
{
    struct plan_request request = {.experiment = "recal"};
    struct plan plan;
    struct failure failure;
    (void)state;
    assert_int_equal(plan_create(&request, &plan, &failure), -1);
    assert_non_null(strstr(failure.text, "recal"));
    request = (struct plan_request){.experiment = "sigma", .datasets = "tiny-imagenet"};
    assert_int_equal(plan_create(&request, &plan, &failure), -1);
}

/* ---- the search */

static void the_best_of_the_search_is_a_row_of_recall_unless_it_is_one_already(void **state)
{
    struct plan_request request = {.experiment = "recall", .tier = TIER_PAPER};
    struct best_rows best = {0};
    struct plan plan, search;
    struct failure failure;
    struct cell cell;
    (void)state;
    assert_int_equal(plan_create(&(struct plan_request){.experiment = "search", .tier = TIER_PAPER}, &search, &failure),
                     0);
    static const char *const labels[] = {"512x3 relu, N = 4, as the paper does it", "1024x3 gelu, N = 1"};
    for (size_t k = 0; k < 2; k++) {
        snprintf(best.item[k].dataset, sizeof best.item[k].dataset, "cifar10");
        best.item[best.count++].row = search.table[0].row[row_called(&search.table[0], labels[k])];
    }
    assert_int_equal(plan_create(&request, &plan, &failure), 0);
    size_t before = plan.table[0].rows;
    plan_free(&plan);
    request.best = &best;
    assert_int_equal(plan_create(&request, &plan, &failure), 0);
    assert_int_equal(plan.table[0].rows, before + 1); /* the second is the row bayespcn */
    assert_int_equal(plan.table[3].rows, before);     /* Tiny ImageNet has had no search */
    assert_string_equal(plan.table[3].dataset, "tiny-imagenet");
    size_t row = row_called(&plan.table[0], "best of search: 512x3 relu, N = 4, as the paper does it");
    assert_true(plan_cell(&plan, &plan.table[0], row, 3, 2, &cell)); /* in full: every length and seed */
    assert_int_equal(cell.objective, BPCN_OBJECTIVE_PAPER);
    assert_int_equal(cell.spec.minimizer, BPCN_ADAM);
    plan_free(&plan);
    plan_free(&search);
}

/* Ours at 0.01, but for a row that is best at 128 images and another that is best at 512 by more; dropout so small that
   the paper's digits show none of it counts for nothing. */
static void the_best_of_the_search_has_the_least_mean_logarithm_and_needs_every_cell(void **state)
{
    struct plan_request request = {.experiment = "search", .tier = TIER_PAPER, .datasets = "cifar10"};
    char folder[] = "/tmp/bpcn-test-XXXXXX", path[64];
    struct plan plan;
    struct job_list list;
    struct failure failure;
    struct best_rows best;
    struct cell cell;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(plan_create(&request, &plan, &failure), 0);
    assert_int_equal(job_list_create(&plan, folder, NULL, &list, &failure), 0);
    const struct table *first = &plan.table[0];
    size_t early = row_called(first, "256x3 relu, N = 4"), late = row_called(first, "512x3 gelu, N = 1"),
           tiny = row_called(first, "1024x3 relu, N = 1");
    for (size_t k = 0; k < plan.tables; k++)
        for (size_t r = 0; r < first->rows; r++)
            for (size_t c = 0; row_role(&first->row[r]) == ROLE_OURS && c < 2; c++) {
                struct record record = {0};
                double error = r == (c == 0 ? early : late) ? 0.005 - 0.001 * (double)c : 0.01;
                record_set(&record, "mse", k != 1 ? error : r == tiny ? 1e-9 : 4e-5);
                if (k == 2 && r == early && c == 1) { /* not yet there */
                    best = search_best_rows(&list, &plan);
                    assert_int_equal(best.count, 0);
                }
                assert_true(plan_cell(&plan, &plan.table[k], r, c, 0, &cell));
                assert_int_equal(cell_save(&list, &cell, &record, &failure), 0);
            }
    best = search_best_rows(&list, &plan);
    assert_int_equal(best.count, 1); /* of ours alone: the paper's method has no cell */
    assert_string_equal(best.item[0].row.label, "512x3 gelu, N = 1");
    job_list_free(&list);
    plan_free(&plan);
    snprintf(path, sizeof path, "%s/cells.csv", folder);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- how cells were computed */

static void cells_say_how_they_were_computed_and_older_ones_less(void **state)
{
    char path[64], old[96];
    struct results *l = new_table(path, sizeof path);
    struct record record = {0};
    struct provenance made;
    struct failure failure;
    (void)state;
    record_set(&record, "mse", 2);
    assert_int_equal(add_as(l, "told", &record, "0123456789ab", &failure), 0);
    memset(old, ',', 84); /* as many as results_csv.c has columns for numbers */
    old[84] = '\0';
    append_text(path, "untold");
    append_text(path, old);
    append_text(path, "\nolder");
    append_text(path, old);
    append_text(path, ",fedcba,avx2,2026-11-16,AMD\n"); /* before there was a column for the code */
    assert_int_equal(results_read(l, &failure), 0);
    assert_true(results_provenance(l, "told", &made));
    assert_string_equal(made.commit, "0123456789ab");
    assert_true(strcmp(made.kernels, "portable") == 0 || strncmp(made.kernels, "avx", 3) == 0);
    assert_int_equal(strlen(made.date), 10);
    assert_int_equal(strlen(made.code), 12);
    assert_true(made.cpu[0] != '\0');
    assert_true(results_find(l, "told", &record) && record_get(&record, "mse") == 2 && record.count == 1);
    assert_true(results_provenance(l, "untold", &made) && made.commit[0] == '\0' && made.code[0] == '\0');
    assert_true(results_provenance(l, "older", &made) && strcmp(made.commit, "fedcba") == 0 && made.code[0] == '\0');
    assert_false(results_provenance(l, "none", &made));
    drop_table(l, path);
}

static void what_a_method_depends_on_has_a_digest_of_its_own(void **state)
{
    struct method_spec memory = {.kind = METHOD_BAYESPCN}, gpcn = {.kind = METHOD_GPCN_ONLINE},
                       mhn = {.kind = METHOD_MHN};
    (void)state;
    assert_string_not_equal(provenance_code(&memory), provenance_code(&gpcn));
    assert_string_not_equal(provenance_code(&memory), provenance_code(&mhn));
    assert_string_not_equal(provenance_code(&gpcn), provenance_code(&mhn));
    assert_string_equal(provenance_code(&mhn), provenance_code(&(struct method_spec){.kind = METHOD_NEAREST}));
}

/* At the paper's sizes the paper's objective reads some of the images back, for every seed; GPCN offline some, for the
   first, and with the widths that suit the length; the paper's minimiser fewer, but for GPCN's shortest sequence, and
   fewest where the strength of writes is varied; the rest all of them, for every seed. */
static void slow_rows_are_cut_down_and_no_others(void **state)
{
    static const struct {
        const char *experiment, *label;
        size_t column, seeds, queries;
    } rows[] = {{"recall", "bayespcn", 1, 3, 0},
                {"recall", "bayespcn (paper objective)", 1, 3, COMPARED_QUERIES},
                {"recall", "bayespcn, as the paper does it", 1, 3, ADAM_QUERIES},
                {"recall", "gpcn offline, 256x3 relu, 200 steps, best version", 0, 1, COMPARED_QUERIES},
                {"recall", "gpcn offline, 256x3 relu, 200 steps, best version", 1, 0, 0},
                {"recall", "gpcn offline, 1024x3 gelu, 1200 steps, best version", 2, 0, 0},
                {"recall", "gpcn offline, 1024x3 gelu, 1200 steps, best version", 3, 1, COMPARED_QUERIES},
                {"recall", "gpcn online, 1024x3, as the paper does it", 0, 3, 0},
                {"recall", "gpcn online, 1024x3, as the paper does it", 1, 3, ADAM_QUERIES},
                {"recall", "gpcn online, 256x3, our minimiser", 1, 3, 0},
                {"recall", "mhn", 1, 3, 0},
                {"high-noise", "bayespcn, as the paper does it", 1, 3, 0},
                {"sigma", "sigma_w 1, sigma_x 0.01, as the paper does it", 1, 3, ADAM_QUERIES},
                {"sigma", "sigma_w 5, sigma_x 0.01, as the paper does it", 1, 3, ADAM_QUERIES / 2},
                {"sigma", "sigma_w 5, sigma_x 0.01", 1, 3, 0}};
    struct failure failure;
    struct cell cell;
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct plan_request request = {.experiment = rows[k].experiment, .tier = TIER_PAPER, .datasets = "cifar10"};
        struct plan plan;
        assert_int_equal(plan_create(&request, &plan, &failure), 0);
        size_t row = row_called(&plan.table[0], rows[k].label), seeds = 0;
        while (seeds < 9 && plan_cell(&plan, &plan.table[0], row, rows[k].column, seeds, &cell)) {
            assert_int_equal(cell.limit, rows[k].queries);
            seeds++;
        }
        assert_int_equal(seeds, seeds < 9 ? rows[k].seeds : 0);
        plan_free(&plan);
    }
}

/* ---- the results of this tree */

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The keys of all planned cells, in order. */
static char (*planned_keys(const struct job_list *list))[KEY_ROOM]
{
    char(*keys)[KEY_ROOM] = calloc(list->cells, sizeof *keys);
    assert_non_null(keys);
    for (size_t i = 0; i < list->cells; i++)
        cell_key(&list->cell[i], keys[i], sizeof keys[i]);
    qsort(keys, list->cells, sizeof *keys, by_text);
    return keys;
}

/* Sums are rounded in an order that depends on the threads: a check is of the code and the CPU, not of their number. */
static void a_check_has_a_thread_for_each_cell_as_runs_of_several_processes_have(void **state)
{
    static const struct {
        const char *option, *value;
        int threads;
    } cases[] = {{"--jobs", "1", 0}, {"--jobs", "2", 1}, {"--check", NULL, 1}};
    char folder[] = "/tmp/bpcn-check-XXXXXX", program[] = "reproduce", name[] = "recall", out[] = "--out";
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t k = 0; k < 3; k++) {
        char option[16], value[16];
        char *arguments[] = {program, name, out, folder, option, value};
        struct reproduction r;
        struct failure failure;
        snprintf(option, sizeof option, "%s", cases[k].option);
        snprintf(value, sizeof value, "%s", cases[k].value != NULL ? cases[k].value : "");
        assert_int_equal(reproduce_parse(cases[k].value != NULL ? 6 : 5, arguments, &r, &failure), 0);
        assert_int_equal(reproduce_prepare(&r, &failure), 0);
        assert_int_equal(r.list.threads, cases[k].threads);
        reproduce_free(&r);
    }
    rmdir(folder);
}

static void the_plan_as_a_table_names_every_cell_of_the_plan(void **state)
{
    char folder[] = "/tmp/bpcn-test-XXXXXX", path[64], line[4096];
    struct plan_request request = {.experiment = "recall", .tier = TIER_PAPER, .datasets = "cifar10", .seeds = 1};
    struct plan plan;
    struct job_list list;
    struct failure failure;
    size_t lines = 0, found = 0;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(plan_create(&request, &plan, &failure), 0);
    assert_int_equal(job_list_create(&plan, folder, NULL, &list, &failure), 0);
    assert_int_equal(plan_csv_write(&list, &plan, &failure), 0);
    char(*keys)[KEY_ROOM] = planned_keys(&list);
    snprintf(path, sizeof path, "%s/plan.csv", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char key[KEY_ROOM], *seed = strstr(line, "-s{seed}-T");
        lines++;
        if (seed == NULL)
            continue;
        char *start = seed;
        while (start[-1] != ',')
            start--;
        snprintf(key, sizeof key, "%.*s-s0%.*s", (int)(seed - start), start, (int)strcspn(seed + 8, ","), seed + 8);
        found += bsearch(key, keys, list.cells, sizeof *keys, by_text) != NULL;
    }
    fclose(file);
    assert_int_equal(lines - 1, 4 * (plan.table[0].rows + plan.table[1].rows + plan.table[2].rows));
    assert_true(found >= list.cells && found < lines - 1); /* some places stay empty, some show the same cell */
    free(keys);
    job_list_free(&list);
    plan_free(&plan);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* Cells of plans that are no more are nobody's. */
static void every_committed_cell_is_planned(void **state)
{
    char program[] = "reproduce", all[] = "all", tier[] = "--tier", paper[] = "paper", out[] = "--out",
         folder[] = "paper/results", only[] = "--plan-only";
    char *arguments[] = {program, all, tier, paper, out, folder, only};
    struct reproduction r;
    struct failure failure;
    char line[4096];
    size_t strangers = 0;
    (void)state;
    FILE *file = fopen("paper/results/cells.csv", "r");
    if (file == NULL)
        skip(); /* not in the tree */
    assert_int_equal(reproduce_parse(7, arguments, &r, &failure), 0);
    assert_int_equal(reproduce_prepare(&r, &failure), 0);
    char(*keys)[KEY_ROOM] = planned_keys(&r.list);
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, ",")] = '\0';
        if (bsearch(line, keys, r.list.cells, sizeof *keys, by_text) == NULL) {
            print_message("nobody's: %s\n", line);
            strangers++;
        }
    }
    fclose(file);
    free(keys);
    reproduce_free(&r);
    assert_int_equal(strangers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_back_from_the_table_as_it_was_added),
        cmocka_unit_test(a_torn_last_row_is_none_and_the_next_takes_its_place),
        cmocka_unit_test(processes_that_add_at_once_tear_no_rows_even_when_killed),
        cmocka_unit_test(a_table_that_is_none_of_ours_is_refused_with_a_sentence),
        cmocka_unit_test(cells_that_differ_have_different_keys),
        cmocka_unit_test(shards_are_planned_from_many_to_one),
        cmocka_unit_test(every_figure_of_the_paper_has_its_plan),
        cmocka_unit_test(shared_cells_are_listed_once),
        cmocka_unit_test(an_unknown_experiment_is_refused_with_a_sentence),
        cmocka_unit_test(cells_say_how_they_were_computed_and_older_ones_less),
        cmocka_unit_test(what_a_method_depends_on_has_a_digest_of_its_own),
        cmocka_unit_test(the_best_of_the_search_is_a_row_of_recall_unless_it_is_one_already),
        cmocka_unit_test(the_best_of_the_search_has_the_least_mean_logarithm_and_needs_every_cell),
        cmocka_unit_test(the_plan_as_a_table_names_every_cell_of_the_plan),
        cmocka_unit_test(slow_rows_are_cut_down_and_no_others),
        cmocka_unit_test(a_check_has_a_thread_for_each_cell_as_runs_of_several_processes_have),
        cmocka_unit_test(every_committed_cell_is_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
