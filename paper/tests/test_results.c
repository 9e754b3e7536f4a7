/*
 * The table of results, the plans, and how cells were made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "paper_figures.h"
#include "reproduce.h"

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
static struct ledger *new_table(char *path, size_t room)
{
    char folder[] = "/tmp/bpcn-test-XXXXXX";
    struct ledger *l;
    struct failure failure;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(ledger_open(folder, &l, &failure), 0);
    snprintf(path, room, "%s/cells.csv", folder);
    return l;
}

static void drop_table(struct ledger *l, char *path)
{
    ledger_free(l);
    unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
}

static void add(struct ledger *l, const char *key, double mse)
{
    struct record record = {0};
    struct failure failure;
    record_set(&record, "mse", mse);
    assert_int_equal(ledger_add(l, key, &record, &failure), 0);
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
    struct ledger *l = new_table(path, sizeof path);
    struct record record = {0}, back;
    struct failure failure;
    (void)state;
    record_set(&record, "mse", 0.1);
    record_set(&record, "mse", 1.0 / 3);
    record_set(&record, "mse_max", INFINITY);
    record_set(&record, "noisy_identity", 1e-300);
    add(l, "b", 7);
    assert_int_equal(ledger_add(l, "a", &record, &failure), 0);
    add(l, "b", 8); /* the last row of a key counts */
    for (int again = 0; again < 2; again++) {
        assert_true(ledger_find(l, "a", &back));
        assert_int_equal(back.count, 3);
        assert_true(record_get(&back, "mse") == 1.0 / 3);
        assert_true(isinf(record_get(&back, "mse_max")));
        assert_true(record_get(&back, "noisy_identity") == 1e-300);
        assert_true(isnan(record_get(&back, "bytes")));
        assert_true(ledger_find(l, "b", &back) && record_get(&back, "mse") == 8);
        assert_false(ledger_find(l, "", NULL) || ledger_find(l, "aa", NULL) || ledger_find(l, "c", NULL));
        assert_int_equal(ledger_read(l, &failure), 0);
    }
    drop_table(l, path);
}

static void a_torn_last_row_is_none_and_the_next_takes_its_place(void **state)
{
    char path[64];
    struct ledger *l = new_table(path, sizeof path);
    struct failure failure;
    (void)state;
    append_text(path, "cell,length,que"); /* killed in the heading */
    assert_int_equal(ledger_read(l, &failure), 0);
    add(l, "first", 1);
    append_text(path, "torn,16,4,0.5");
    assert_int_equal(ledger_read(l, &failure), 0);
    assert_true(ledger_find(l, "first", NULL));
    assert_false(ledger_find(l, "torn", NULL));
    add(l, "second", 2);
    assert_int_equal(ledger_read(l, &failure), 0);
    assert_true(ledger_find(l, "first", NULL) && ledger_find(l, "second", NULL));
    assert_false(ledger_find(l, "torn", NULL));
    drop_table(l, path);
}

/* Adds rows until it is killed or has added `rows`. */
static void add_apart(struct ledger *l, int process, int rows)
{
    for (int i = 0; i < rows; i++) {
        struct record record = {0};
        struct failure failure;
        char key[32];
        snprintf(key, sizeof key, "%d-%d", process, i);
        record_set(&record, "mse", process + 1.0 / (i + 1));
        if (ledger_add(l, key, &record, &failure) != 0)
            _exit(1);
    }
    _exit(0);
}

static void processes_that_add_at_once_tear_no_rows_even_when_killed(void **state)
{
    enum { PROCESSES = 4, ROWS = 25 };
    char path[64];
    struct ledger *l = new_table(path, sizeof path);
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
    assert_int_equal(ledger_read(l, &failure), 0);
    for (int p = 1; p < PROCESSES; p++)
        for (int i = 0; i < ROWS; i++) {
            struct record record;
            char key[32];
            snprintf(key, sizeof key, "%d-%d", p, i);
            assert_true(ledger_find(l, key, &record) && record_get(&record, "mse") == p + 1.0 / (i + 1));
        }
    drop_table(l, path);
}

static void a_table_that_is_none_of_ours_is_refused_with_a_sentence(void **state)
{
    char path[64];
    struct ledger *l = new_table(path, sizeof path);
    struct record record = {0};
    struct failure failure;
    (void)state;
    record_set(&record, "worst", 1);
    assert_int_equal(ledger_add(l, "a", &record, &failure), -1); /* there is no such column */
    assert_non_null(strstr(failure.text, "column"));
    assert_int_equal(access(path, F_OK), -1);
    add(l, "a", 1);
    append_text(path, "b,1,2\n");
    assert_int_equal(ledger_read(l, &failure), -1);
    assert_non_null(strstr(failure.text, "line 3"));
    unlink(path);
    append_text(path, "x,y\n1,2\n");
    assert_int_equal(ledger_read(l, &failure), -1);
    assert_non_null(strstr(failure.text, "columns"));
    drop_table(l, path);
}

/* ---- the paper's figures and the plans */

static void the_papers_figures_are_where_they_should_be(void **state)
{
    double value, deviation;
    (void)state;
    assert_int_equal(paper_figure("recall", "cifar10", "white", "BayesPCN", 1024, &value, &deviation), 0);
    assert_true(value == 0.0337 && deviation == 0.0007);
    assert_int_equal(paper_figure("depth", "tiny-imagenet", "white", "BayesPCN L4", 1024, &value, &deviation), 0);
    assert_true(value == 12.4499);
    assert_int_equal(paper_figure("high-noise", "cifar10", "mask", "MHN", 16, &value, &deviation), 0);
    assert_true(value == 0.3361);
    assert_int_equal(paper_figure("sigma", "cifar10", "mask", "5.0 0.005", 1024, &value, &deviation), 0);
    assert_true(value == 6.8712 && isnan(deviation));
    assert_int_equal(paper_figure("recall", "cifar10", "white", "BayesPCN", 100, &value, &deviation), -1);
}

/* Every row that names a figure of the paper finds one at every length of the paper's tier. */
static void every_row_of_the_plan_finds_its_figure(void **state)
{
    struct plan_request request = {.experiment = "all", .tier = TIER_PAPER};
    struct plan plan;
    struct failure failure;
    size_t found = 0;
    (void)state;
    assert_int_equal(plan_create(&request, &plan, &failure), 0);
    for (size_t k = 0; k < plan.tables; k++)
        for (size_t r = 0; r < plan.table[k].rows; r++)
            for (size_t c = 0; plan.table[k].row[r].paper_row[0] != '\0' && c < plan.table[k].columns; c++) {
                static const char *const words[] = {"white", "drop", "mask"};
                const struct table *t = &plan.table[k];
                double value, deviation;
                assert_int_equal(paper_figure(t->row[r].paper_table, t->dataset, words[t->task.kind],
                                              t->row[r].paper_row, t->lengths[c], &value, &deviation),
                                 0);
                found++;
            }
    assert_true(found > 500);
    plan_free(&plan);
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

static size_t row_called(const struct table *t, const char *label)
{
    size_t row = 0;
    while (strcmp(t->row[row].label, label) != 0)
        row++;
    return row;
}

/* ---- how cells were made */

static void cells_say_how_they_were_made_and_older_ones_nothing(void **state)
{
    char path[64], line[256];
    struct ledger *l = new_table(path, sizeof path);
    struct record record;
    struct made made;
    struct failure failure;
    (void)state;
    add(l, "untold", 1);
    ledger_made_by(l, "0123456789ab");
    add(l, "told", 2);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    FILE *file = fopen(path, "r+"); /* a row as older tables have them: nothing behind the numbers */
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    fputs("old", file);
    for (size_t k = 0; k < 84; k++) /* as many as ledger.c has */
        fputc(',', file);
    fputs("\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(ledger_read(l, &failure), 0);
    assert_true(ledger_made(l, "told", &made));
    assert_string_equal(made.commit, "0123456789ab");
    snprintf(line, sizeof line, "%s", made.kernels);
    assert_true(strcmp(line, "portable") == 0 || strcmp(line, "avx2") == 0 || strcmp(line, "avx512") == 0);
    assert_int_equal(strlen(made.date), 10);
    assert_true(made.cpu[0] != '\0');
    assert_true(ledger_find(l, "told", &record) && record_get(&record, "mse") == 2 && record.count == 1);
    assert_true(ledger_made(l, "untold", &made) && made.commit[0] == '\0');
    assert_true(ledger_made(l, "old", &made) && made.commit[0] == '\0');
    assert_false(ledger_made(l, "none", &made));
    drop_table(l, path);
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
        assert_int_equal(reproduce_prepare(&r, "", &failure), 0);
        assert_int_equal(r.list.threads, cases[k].threads);
        reproduce_free(&r);
    }
    rmdir(folder);
}

/* Cells of plans that are no more are nobody's. */
static void every_committed_cell_is_planned(void **state)
{
    char program[] = "reproduce", all[] = "all", tier[] = "--tier", paper[] = "paper", out[] = "--out",
         folder[] = "paper/results", only[] = "--report-only";
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
    assert_int_equal(reproduce_prepare(&r, "", &failure), 0);
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
        cmocka_unit_test(the_papers_figures_are_where_they_should_be),
        cmocka_unit_test(every_row_of_the_plan_finds_its_figure),
        cmocka_unit_test(cells_that_differ_have_different_keys),
        cmocka_unit_test(shards_are_planned_from_many_to_one),
        cmocka_unit_test(every_figure_of_the_paper_has_its_plan),
        cmocka_unit_test(shared_cells_are_listed_once),
        cmocka_unit_test(an_unknown_experiment_is_refused_with_a_sentence),
        cmocka_unit_test(cells_say_how_they_were_made_and_older_ones_nothing),
        cmocka_unit_test(slow_rows_are_cut_down_and_no_others),
        cmocka_unit_test(a_check_has_a_thread_for_each_cell_as_runs_of_several_processes_have),
        cmocka_unit_test(every_committed_cell_is_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
