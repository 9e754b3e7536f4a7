/*
 * What is told of the cells: beside the paper's figures, the best of the search, the page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "place_support.h"

#include "best.h"
#include "paper_figures.h"
#include "caption.h"
#include "results.h"
#include "times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- beside the paper */

/* The paper: 0.0337 +- 0.0007 at 1024, and a unit of its last digit between figure and deviation. */
static void a_figure_is_above_or_below_beyond_both_deviations_together(void **state)
{
    static const struct {
        double mse;
        enum relation want;
    } alone[] = {{0.0328, BELOW}, {0.03291, SAME}, {0.0337, SAME}, {0.03449, SAME}, {0.0346, ABOVE}};
    struct place p;
    (void)state;
    open_place(&p, 2);
    for (size_t k = 0; k < sizeof alone / sizeof alone[0]; k++) {
        put_mse(&p, 0, alone[k].mse);
        struct figure f = figure_of(&p.list, &p.plan, p.table, p.row, 3, "mse");
        assert_int_equal(f.relation, alone[k].want);
        assert_true(f.paper == 0.0337 && isnan(f.deviation));
    }
    put_mse(&p, 1, 0.0356); /* 0.0346 and 0.0356: their own deviation counts too, and divides by n - 1 */
    struct figure f = figure_of(&p.list, &p.plan, p.table, p.row, 3, "mse");
    assert_true(fabs(f.deviation - 0.001 / sqrt(2)) < 1e-12);
    assert_int_equal(f.relation, SAME);
    close_place(&p);
    assert_int_equal(relation_of(NAN, NAN, 0.1, NAN), NOT_COMPARED);
    assert_int_equal(relation_of(0.1, NAN, NAN, NAN), NOT_COMPARED);
}

static void the_reason_of_a_figure_above_names_the_best_of_the_other_rows_alone(void **state)
{
    char text[512];
    struct place p;
    (void)state;
    open_place(&p, 1); /* the paper: 0.0337 +- 0.0007 */
    put_row(&p, "bayespcn (paper objective)", 3, 0.0300);
    put_row(&p, "bayespcn", 3, 0.0290);
    put_row(&p, "bayespcn, 256x3 gelu, as the paper does it", 3, 0.5);
    put_row(&p, "bayespcn, as the paper does it", 3, 0.4);
    reason_text(&p.list, &p.plan, p.table, p.row, 3, text, sizeof text);
    assert_string_equal(text, "The row bayespcn has 0.0290.");
    close_place(&p);
    open_place(&p, 1);
    put_row(&p, "bayespcn", 3, 0.4);
    put_row(&p, "bayespcn, as the paper does it", 3, 0.5); /* the other is above too */
    reason_text(&p.list, &p.plan, p.table, p.row, 3, text, sizeof text);
    assert_string_equal(text, "");
    close_place(&p);
}

/* The paper: 0.0337 +- 0.0007 of 1024 images. Ours is 0.0020 above, of queries with a standard error of 0.0020. */
static void the_queries_tell_the_spread_where_the_seeds_do_not(void **state)
{
    struct place p;
    struct figure f;
    (void)state;
    open_place(&p, 3);
    put_queries(&p, 0, 0.0357, 0.064, 1024); /* one seed */
    f = figure_of(&p.list, &p.plan, p.table, p.row, 3, "mse");
    assert_true(isnan(f.deviation) && fabs(f.spread - 0.002) < 1e-12);
    assert_int_equal(f.relation, SAME);
    assert_true(isnan(figure_of(&p.list, &p.plan, p.table, p.row, 3, "queries").spread)); /* of the error alone */
    put_queries(&p, 0, 0.0357, 0.0064, 1024);
    assert_int_equal(figure_of(&p.list, &p.plan, p.table, p.row, 3, "mse").relation, ABOVE);
    for (size_t seed = 0; seed < 3; seed++) /* every image read, three seeds: theirs alone */
        put_queries(&p, seed, 0.0357, 0.064, 1024);
    f = figure_of(&p.list, &p.plan, p.table, p.row, 3, "mse");
    assert_true(f.spread == f.deviation && f.deviation < 1e-9);
    assert_int_equal(f.relation, ABOVE);
    for (size_t seed = 0; seed < 3; seed++) /* few images read: the larger of the two */
        put_queries(&p, seed, 0.0357, 0.016, 64);
    f = figure_of(&p.list, &p.plan, p.table, p.row, 3, "mse");
    assert_true(fabs(f.spread - 0.002) < 1e-12);
    assert_int_equal(f.relation, SAME);
    close_place(&p);
}

static void a_slip_of_the_paper_is_told_and_not_compared(void **state)
{
    struct plan_request request = {.experiment = "high-noise", .tier = TIER_PAPER, .datasets = "cifar10", .seeds = 1};
    struct place p;
    struct failure failure;
    (void)state;
    open_place(&p, 1);
    job_list_free(&p.list);
    plan_free(&p.plan);
    assert_int_equal(plan_create(&request, &p.plan, &failure), 0);
    assert_int_equal(job_list_create(&p.plan, p.folder, NULL, &p.list, &failure), 0);
    p.table = &p.plan.table[0];
    p.row = row_called(p.table, "mhn");
    put_mse(&p, 0, 0);
    assert_int_equal(figure_of(&p.list, &p.plan, p.table, p.row, 3, "mse").relation, NOT_COMPARED);
    assert_non_null(strstr(slip_text(p.table), "slip"));
    assert_string_equal(slip_text(&p.plan.table[1]), "");
    for (size_t c = 0; c < 4; c++) { /* it is what its sentence says */
        double slip, identity, deviation;
        paper_figure("high-noise", "cifar10", "white", "MHN", p.table->lengths[c], &slip, &deviation);
        paper_figure("high-noise", "cifar10", "white", "Identity", p.table->lengths[c], &identity, &deviation);
        assert_true(slip == deviation && slip < identity / 100);
    }
    close_place(&p);
}

/* ---- the best of the search */

static void open_search(struct place *p)
{
    struct plan_request request = {.experiment = "search", .tier = TIER_PAPER, .datasets = "cifar10"};
    struct failure failure;
    snprintf(p->folder, sizeof p->folder, "/tmp/bpcn-test-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    assert_int_equal(plan_create(&request, &p->plan, &failure), 0);
    assert_int_equal(job_list_create(&p->plan, p->folder, NULL, &p->list, &failure), 0);
}

static void put_search(struct place *p, size_t table, size_t row, size_t column, double mse)
{
    struct cell cell;
    struct record record = {0};
    struct failure failure;
    assert_true(plan_cell(&p->plan, &p->plan.table[table], row, column, 0, &cell));
    record_set(&record, "mse", mse);
    assert_int_equal(cell_save(&p->list, &cell, &record, &failure), 0);
}

/* Our rows at 0.01, but for one that is best at 128, by less than the other is at 512; and a dropout so small that the
   paper's digits show none of it, which counts for nothing. */
static void fill_search(struct place *p, size_t short_best, size_t long_best, size_t tiny_best)
{
    const struct table *t = &p->plan.table[0];
    for (size_t k = 0; k < 3; k++)
        for (size_t r = 0; r < t->rows; r++)
            for (size_t c = 0; role_of(&t->row[r]) == ROLE_OURS && c < 2; c++)
                put_search(p, k, r, c,
                           k == 1                                   ? (r == tiny_best ? 1e-9 : 4e-5)
                           : r == (c == 0 ? short_best : long_best) ? 0.005 - 0.001 * (double)c
                                                                    : 0.01);
}

static void the_best_of_the_search_has_the_least_mean_logarithm_and_needs_every_cell(void **state)
{
    static char text[8192];
    struct place p;
    (void)state;
    open_search(&p);
    const struct table *t = &p.plan.table[0];
    assert_int_equal(p.plan.tables, 3);
    size_t early = row_called(t, "256x3 relu, N = 4"), late = row_called(t, "512x3 gelu, N = 1"),
           tiny = row_called(t, "1024x3 relu, N = 1");
    fill_search(&p, early, late, tiny);
    assert_int_equal(search_best(&p.list, &p.plan, "cifar10", ROLE_OURS, ALL, 0).row, early);
    assert_int_equal(search_best(&p.list, &p.plan, "cifar10", ROLE_OURS, 0, 1).row, late);
    struct best all = search_best(&p.list, &p.plan, "cifar10", ROLE_OURS, ALL, ALL);
    assert_int_equal(all.row, late);
    assert_true(fabs(all.error - pow(0.01 * 0.01 * 0.004 * 0.004 * 5e-5 * 5e-5, 1.0 / 6)) < 1e-9);
    assert_true(all.there == 72 && all.planned == 72);
    struct best_rows rows = search_best_rows(&p.list, &p.plan); /* of ours alone: the paper's method has no cell */
    assert_int_equal(rows.count, 1);
    assert_string_equal(rows.item[0].row.label, "512x3 gelu, N = 1");
    FILE *file = tmpfile();
    assert_non_null(file);
    best_markdown(file, &p.list, &p.plan);
    caught(file, text, sizeof text);
    assert_non_null(strstr(text, "cifar10, as the paper does it: not all computed: 0 of 72 cells."));
    assert_non_null(strstr(text, "cifar10, ours: **512x3 gelu, N = 1**"));
    assert_non_null(strstr(text, "| white0.2 | 256x3 relu, N = 4: 0.0050 | 512x3 gelu, N = 1: 0.0040 |"));
    put_search(&p, 2, late, 1, NAN); /* a cell without an error can be no best */
    assert_int_equal(search_best(&p.list, &p.plan, "cifar10", ROLE_OURS, ALL, ALL).row, early);
    close_place(&p);
}

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

/* ---- time */

/* learn: NAN when that was not timed. */
static void put_seconds(struct place *p, const char *label, size_t table, size_t column, double write, double learn,
                        double read, double queries)
{
    struct cell cell;
    struct record record = {0};
    struct failure failure;
    const struct table *t = &p->plan.table[table];
    assert_true(plan_cell(&p->plan, t, row_called(t, label), column, 0, &cell));
    record_set(&record, "mse", 0.01);
    record_set(&record, "write_seconds", write);
    if (!isnan(learn))
        record_set(&record, "learn_seconds", learn);
    record_set(&record, "read_seconds", read);
    record_set(&record, "queries", queries);
    assert_int_equal(cell_save(&p->list, &cell, &record, &failure), 0);
}

/* Three tasks at 256 images, and two of them at 512: the whole schedule is of 256, written once and read three times.
 */
static void hours_are_of_the_longest_length_that_all_tasks_have_and_writes_count_once(void **state)
{
    static char text[8192];
    struct place p;
    (void)state;
    open_place(&p, 1);
    for (size_t k = 0; k < 3; k++)
        put_seconds(&p, "bayespcn", k, 1, 512, NAN, 36, 32);
    for (size_t k = 0; k < 2; k++)
        put_seconds(&p, "bayespcn", k, 2, 9999, NAN, 9999, 32);
    struct times s = times_of(&p.list, &p.plan, "recall", "cifar10", "bayespcn");
    assert_true(s.images == 256 && s.tasks == 3 && s.write == 512 && s.read == 108 && s.queries == 96);
    assert_string_equal(s.cpu, "not told");
    assert_int_equal(times_of(&p.list, &p.plan, "recall", "cifar10", "mhn").images, 0);
    FILE *file = tmpfile();
    assert_non_null(file);
    times_markdown(file, &p.list, &p.plan, "recall");
    caught(file, text, sizeof text);
    /* 2 s an image; 1.125 s a query, 768 of them 0.24 hours */
    assert_non_null(strstr(text, "| cifar10 | 256 | 0.142 | 2 | 96 | 0.03 | 1.12 | 0.24 | not told |"));
    assert_non_null(strstr(text, "4 particles | not told | 1024 | 3 | 10.5 | not told | 3 |"));
    assert_null(strstr(text, "mhn"));
    close_place(&p);
}

static void what_an_offline_network_learns_counts_as_writing_or_is_said_to_be_not_timed(void **state)
{
    static const char label[] = "gpcn offline, 256x3 relu, 200 steps, best version";
    static char text[8192];
    (void)state;
    for (int timed = 0; timed < 2; timed++) {
        struct place p;
        open_place(&p, 1);
        for (size_t k = 0; k < 3; k++)
            put_seconds(&p, label, k, 0, 0.5, timed ? 255.5 : NAN, 36, 128);
        FILE *file = tmpfile();
        assert_non_null(file);
        times_markdown(file, &p.list, &p.plan, "recall");
        caught(file, text, sizeof text);
        /* 256 s of 128 images; 108 s of 384 queries, which are all there are */
        assert_non_null(strstr(text, timed ? "| cifar10 | 128 | 0.0711 | 2 | 384 | 0.03 | 0.281 | 0.03 | not told |"
                                           : "| cifar10 | 128 | not timed | not timed | 384 | 0.03 | 0.281 | 0.03 |"));
        assert_null(strstr(text, "included"));
        close_place(&p);
    }
}

/* ---- the page */

static void rows_of_one_colour_have_marks_of_their_own(void **state)
{
    static char html[65536];
    struct place p;
    struct failure failure;
    (void)state;
    open_place(&p, 1);
    for (size_t k = 0; k < 3; k++) { /* all tasks: a row looks the same in each */
        p.table = &p.plan.table[k];
        put_row(&p, "bayespcn, 256x3 relu, N = 4, as the paper does it", 0, 0.0018);
        put_row(&p, "bayespcn, as the paper does it", 0, 0.0058);
        put_row(&p, "bayespcn", 0, 0.0051);
    }
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(draw_curves(file, &p.list, &p.plan, "recall", "cifar10", &failure), 0);
    caught(file, html, sizeof html);
    static const char *const classes[] = {"<g class='papers'>", "<g class='papers m1'>", "<g class='ours'>"};
    for (size_t k = 0; k < 3; k++) {
        size_t found = 0;
        for (const char *at = html; (at = strstr(at, classes[k])) != NULL; at++)
            found++;
        assert_int_equal(found, 4); /* three panels and the legend */
    }
    close_place(&p);
}

static void a_row_of_one_seed_has_bars_of_its_queries(void **state)
{
    static char html[65536];
    struct place p;
    struct failure failure;
    (void)state;
    open_place(&p, 3);
    put_queries(&p, 0, 0.0357, 0.064, 1024);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(draw_curves(file, &p.list, &p.plan, "recall", "cifar10", &failure), 0);
    caught(file, html, sizeof html);
    assert_non_null(strstr(html, "0.03570 ± 0.00200"));
    close_place(&p);
}

static void markdown_of_the_folder_becomes_a_page_of_its_own(void **state)
{
    static char html[4096];
    struct place p;
    char path[64];
    (void)state;
    open_place(&p, 1);
    snprintf(path, sizeof path, "%s/a.md", p.folder);
    append_text(
        path,
        "# title\n\n## part\n\nSome **bold** `a<b` and [a link](there).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- x\n");
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(markdown_html(file, &p.list, "a.md"));
    assert_false(markdown_html(file, &p.list, "none.md"));
    caught(file, html, sizeof html);
    assert_string_equal(html, "<h3>part</h3>\n<p>Some <b>bold</b> <code>a&#60;b</code> and a link.\n</p>\n"
                              "<div class=wide><table>\n<tr><th> a </th><th> b </th></tr>\n"
                              "<tr><td> 1 </td><td> 2 </td></tr>\n</table></div>\n<ul>\n<li>x</li>\n</ul>\n");
    unlink(path);
    close_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_figure_is_above_or_below_beyond_both_deviations_together),
        cmocka_unit_test(the_reason_of_a_figure_above_names_the_best_of_the_other_rows_alone),
        cmocka_unit_test(the_queries_tell_the_spread_where_the_seeds_do_not),
        cmocka_unit_test(a_slip_of_the_paper_is_told_and_not_compared),
        cmocka_unit_test(the_best_of_the_search_has_the_least_mean_logarithm_and_needs_every_cell),
        cmocka_unit_test(the_best_of_the_search_is_a_row_of_recall_unless_it_is_one_already),
        cmocka_unit_test(hours_are_of_the_longest_length_that_all_tasks_have_and_writes_count_once),
        cmocka_unit_test(what_an_offline_network_learns_counts_as_writing_or_is_said_to_be_not_timed),
        cmocka_unit_test(rows_of_one_colour_have_marks_of_their_own),
        cmocka_unit_test(a_row_of_one_seed_has_bars_of_its_queries),
        cmocka_unit_test(markdown_of_the_folder_becomes_a_page_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
