/*
 * How much there is, how much of it agrees with the paper, and what the paper says of forgetting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "place_support.h"

#include "counts.h"
#include "forgetting.h"
#include "results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- what there is, and what agrees */

static void a_figure_agrees_within_a_tenth_or_two_deviations_of_what_has_the_printed_digits(void **state)
{
    static const struct {
        double ours, paper, deviation;
        int want;
    } cases[] = {
        {0.0371, 0.0337, 0.0007, 1}, {0.0372, 0.0337, 0.0007, 0}, /* a tenth of 0.03375 */
        {0.0302, 0.0337, NAN, 0},    {0.0303, 0.0337, NAN, 1},    /* and of 0.03365 */
        {0.0023, 0.0017, 0.0003, 1}, {0.0024, 0.0017, 0.0003, 0}, /* two deviations */
        {0.00038, 0.0003, 0, 1},     {0.00039, 0.0003, 0, 0},     /* a tenth of 0.00035 */
        {0.00005, 0.0000, 0, 1},     {0.00006, 0.0000, 0, 0},     /* what the paper has as 0.0000 */
        {0.00016, 0.0001, NAN, 1},   {0.00017, 0.0001, NAN, 0},   /* a tenth of 0.00015 */
        {0.000046, 0.0001, NAN, 1},  {0.000044, 0.0001, NAN, 0},  /* and of 0.00005: less is no agreement either */
        {NAN, 0.1, 0.1, 0},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        assert_int_equal(agrees(cases[k].ours, cases[k].paper, cases[k].deviation), cases[k].want);
}

/* The counts and the exceptions as text. */
static void counted(const struct place *p, char *text, size_t room)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    counts_markdown(file, &p->list, &p->plan);
    exceptions_markdown(file, &p->list, &p->plan);
    caught(file, text, room);
}

/* The paper, white noise: BayesPCN 0.0017 +- 0.0003 at 128 and 0.0085 +- 0.0002 at 256; GPCN online 0.0103. */
static void of_several_rows_for_a_figure_the_best_is_counted_once_and_exceptions_are_told(void **state)
{
    static char text[16384];
    struct place p;
    (void)state;
    open_place(&p, 1);
    struct agreement none = agreement_of(&p.list, &p.plan, "recall", "cifar10", PAPER_BAYESPCN);
    assert_true(none.planned == 24 && none.there == 0 && none.agree == 0); /* with and without forgetting, 12 each */
    put_row(&p, "bayespcn, 256x3 relu, N = 4, as the paper does it", 0, 0.0018);
    put_row(&p, "bayespcn, as the paper does it", 0, 0.0058);
    put_row(&p, "bayespcn, 256x3 relu, N = 4, as the paper does it", 1, 0.9);
    put_row(&p, "bayespcn, as the paper does it", 1, 0.0120);
    put_row(&p, "bayespcn", 2, 0.0146); /* ours: not the paper's method */
    put_row(&p, "gpcn online, 1024x3, as the paper does it", 0, 0.0104);
    put_row(&p, "mhn (true dot product)", 0, 0.0);
    p.row = row_called(p.table, "bayespcn, as the paper does it");
    put_queries(&p, 0, 0.0437, 0.02, 16); /* the paper: 0.0337 +- 0.0007; a standard error of 0.005 */
    struct agreement a = agreement_of(&p.list, &p.plan, "recall", "cifar10", PAPER_BAYESPCN);
    assert_true(a.planned == 24 && a.there == 3 && a.agree == 1);
    a = agreement_of(&p.list, &p.plan, "recall", "cifar10", PAPER_GPCN_ONLINE);
    assert_true(a.planned == 12 && a.there == 1 && a.agree == 1);
    assert_int_equal(agreement_of(&p.list, &p.plan, "recall", "cifar10", PAPER_MHN).there, 0);
    struct tally n = tally_of(&p.list, &p.plan, "recall", "cifar10");
    assert_true(n.figures == 9 && n.cells == 9 && /* two rows show one cell */ n.cells_planned == n.figures_planned &&
                n.figures_planned > 100);
    counted(&p, text, sizeof text);
    assert_non_null(strstr(text,
                           "\n2 do not agree: 0 are no further from the paper's figure than the spread of both, "
                           "0 are below it and 2 above. The marks of the tables go by that spread: 0 figures that "
                           "agree have one.\n"));
    assert_non_null(strstr(text,
                           "\nOf BayesPCN's figures that are above 0.0001 in the paper 1 of 3 agree. Of all 1 that "
                           "agree 1 are of one seed.\n"));
    assert_non_null(strstr(text, "| recall, cifar10, white0.2, bayespcn, as the paper does it | 256 | 0.0120° | "
                                 "0.0085 ± 0.0002 | +41 % | | |"));
    assert_non_null(strstr(text, "| 1024 | 0.0437° | 0.0337 ± 0.0007 | +30 % | 2.0 | |"));
    assert_null(strstr(text, "0.9"));
    close_place(&p);
}

/* The paper, white noise, sigma_w 5, sigma_x 0.005: 0.3738 at 16 images and 1.4906 at 32, 2.2916 at 64; no deviations.
 */
static void where_the_paper_has_no_deviation_our_seeds_tell_one(void **state)
{
    static const double by_seed[3][3] = {{1.3006, 0.6999, 0.1819}, {1.80, 1.81, 1.82}, {3.5, 1.9, NAN}};
    static char text[16384];
    struct place p;
    struct failure failure;
    (void)state;
    open_place_of(&p, "sigma", 3);
    p.row = row_called(p.table, "sigma_w 5, sigma_x 0.005, as the paper does it");
    for (size_t column = 0; column < 3; column++)
        for (size_t seed = 0; seed < 3 && !isnan(by_seed[column][seed]); seed++) {
            struct cell cell;
            struct record record = {0};
            assert_true(plan_cell(&p.plan, p.table, p.row, column, seed, &cell));
            record_set(&record, "mse", by_seed[column][seed]);
            record_set(&record, "identity_mse", 0.16);
            record_set(&record, "mse_max", 4 * by_seed[column][seed]);
            record_set(&record, "queries", 16);
            assert_int_equal(cell_save(&p.list, &cell, &record, &failure), 0);
        }
    struct agreement a = agreement_of(&p.list, &p.plan, "sigma", "cifar10", PAPER_BAYESPCN);
    assert_true(a.there == 3 && a.agree == 0 && a.by_seeds == 1); /* two seeds tell too little */
    counted(&p, text, sizeof text);
    assert_non_null(strstr(text,
                           "\nIt gives 3 without: 0 are within 10 %, and 1, 33 %, are within that or two deviations of "
                           "our own three seeds. By that rule 1 of all 3 agree, 33 %.\n"));
    assert_null(strstr(text, "with a deviation"));
    assert_non_null(strstr(text, "| all that agree, or are within the spread of both | | | | | **67 %**: 2 of 3,"));
    assert_non_null(strstr(text, "| Within two deviations of our seeds. By seed: 1.3006, 0.6999, 0.1819. Worse than "
                                 "the queries themselves, which were off by 0.1600. The worst of its 16 reads has 25 % "
                                 "of the error. |"));
    close_place(&p);
    open_place(&p, 3); /* the paper: 0.0337 +- 0.0007 */
    p.row = row_called(p.table, "bayespcn, as the paper does it");
    for (size_t seed = 0; seed < 3; seed++)
        put_mse(&p, seed, 0.03 + 0.03 * (double)seed);
    a = agreement_of(&p.list, &p.plan, "recall", "cifar10", PAPER_BAYESPCN);
    assert_true(a.there == 1 && a.agree == 0 && a.told == 1 && a.told_agree == 0 && a.by_seeds == 0);
    counted(&p, text, sizeof text);
    assert_non_null(
        strstr(text, "\nThe paper gives 1 of BayesPCN's figures with a deviation: 0 of them agree, 0 %.\n"));
    assert_null(strstr(text, "It gives"));
    close_place(&p);
}

static void the_folders_page_is_changed_between_its_marks_alone(void **state)
{
    static char text[16384];
    struct place p;
    struct failure failure;
    char path[64];
    (void)state;
    open_place(&p, 1);
    snprintf(path, sizeof path, "%s/README.md", p.folder);
    assert_int_equal(counts_readme(&p.list, &p.plan, &failure), 0); /* there is none: none is made */
    assert_int_equal(access(path, F_OK), -1);
    for (int open = 1; open >= 0; open--) { /* a mark that has no end is left alone */
        unlink(path);
        append_text(path, "before\n<!-- counted -->\nold\n");
        append_text(path, open ? "after\n" : "<!-- end -->\nafter\n");
        assert_int_equal(counts_readme(&p.list, &p.plan, &failure), 0);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        caught(file, text, sizeof text);
        assert_true(strncmp(text, "before\n<!-- counted -->\n", 24) == 0);
        assert_int_equal(strstr(text, "old\n") != NULL, open);
        assert_int_equal(strstr(text, "| recall | cifar10 | 0 of ") != NULL, !open);
        assert_string_equal(text + strlen(text) - 6, "after\n");
    }
    unlink(path);
    close_place(&p);
}

/* ---- forgetting */

/* Our rows: without forgetting 0.010 for the oldest to 0.025 for the latest; with it falling with age, and the latest
   group the lower the stronger, but for one step. */
static void what_the_paper_says_of_forgetting_is_held_against_the_cells(void **state)
{
    static const double latest[] = {0.025, 0.008, 0.006, 0.007, 0.004, 0.003},
                        all[] = {0.02, 0.01, 0.011, 0.012, 0.013, 0.02};
    static char text[8192];
    struct place p;
    struct failure failure;
    size_t number = 0;
    (void)state;
    open_place_of(&p, "forget", 1);
    const struct table *t = &p.plan.table[0];
    for (size_t r = 0; r < t->rows; r++) {
        struct cell cell;
        struct record record = {0};
        if (role_of(&t->row[r]) != ROLE_OURS)
            continue;
        record_set(&record, "mse", all[number]);
        for (size_t a = 0; a < 16; a++) {
            char name[16];
            double oldest = number == 0 ? 0.01 : 0.05;
            snprintf(name, sizeof name, "age_%zu", a);
            record_set(&record, name, oldest + (latest[number] - oldest) * (double)a / 15);
        }
        assert_true(plan_cell(&p.plan, t, r, 0, 0, &cell));
        assert_int_equal(cell_save(&p.list, &cell, &record, &failure), 0);
        number++;
    }
    struct forgetting f = forgetting_of(&p.list, &p.plan, t, ROLE_OURS);
    assert_true(f.there == 6 && f.planned == 6 && fabs(f.flat - 2.5) < 1e-12);
    assert_true(f.newer == 5 && f.forgetting == 5 && f.rises == 1);
    assert_true(t->row[f.rise].spec.beta == 0.005 && t->row[f.best].spec.beta == 0.001);
    FILE *file = tmpfile();
    assert_non_null(file);
    forget_markdown(file, &p.list, &p.plan);
    caught(file, text, sizeof text);
    assert_non_null(strstr(text, "| cifar10, white0.2 | as the paper does it | not all computed: 0 of 6 rows |"));
    assert_non_null(strstr(text,
                           "| cifar10, white0.2 | ours | 2.50 | 5 of 5 strengths | not at 1 of 5 steps, first to beta "
                           "0.005 (0.00700) | beta 0.001 |"));
    close_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_figure_agrees_within_a_tenth_or_two_deviations_of_what_has_the_printed_digits),
        cmocka_unit_test(of_several_rows_for_a_figure_the_best_is_counted_once_and_exceptions_are_told),
        cmocka_unit_test(where_the_paper_has_no_deviation_our_seeds_tell_one),
        cmocka_unit_test(the_folders_page_is_changed_between_its_marks_alone),
        cmocka_unit_test(what_the_paper_says_of_forgetting_is_held_against_the_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
