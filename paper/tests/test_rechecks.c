/*
 * Whether cells are still what the code of today gives, told by computing some of them again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells computed again */

static struct record recalled(double mse, double accuracy, double identity)
{
    struct record r = {0};
    record_set(&r, "queries", 100);
    record_set(&r, "mse", mse);
    record_set(&r, "mse_max", 0.1);
    record_set(&r, "accuracy", accuracy);
    record_set(&r, "identity_mse", identity);
    return r;
}

/* 100 queries of at most 0.1: three may go elsewhere, 0.003 together, but not more than a quarter of the mean. */
static void a_cell_has_moved_beyond_what_rounding_explains(void **state)
{
    static const struct {
        double mse, accuracy, identity;
        enum verdict want;
    } again[] = {{0.04, 0.5, 1, UNMOVED},          {0.043, 0.5, 1, ROUNDED},   {0.0431, 0.5, 1, MOVED},
                 {0.0369, 0.5, 1, MOVED},          {0.0401, 0.53, 1, ROUNDED}, {0.0401, 0.54, 1, MOVED},
                 {0.04, 0.5, 1.00001, OTHER_DATA}, {NAN, 0.5, 1, MOVED}};
    struct record before = recalled(0.04, 0.5, 1), small = recalled(0.0001, 1, 1);
    (void)state;
    for (size_t k = 0; k < sizeof again / sizeof again[0]; k++) {
        struct record r = recalled(again[k].mse, again[k].accuracy, again[k].identity);
        assert_int_equal(verdict_of(&before, &r), again[k].want);
    }
    struct record third = recalled(0.00014, 1, 1);
    assert_int_equal(verdict_of(&small, &third), MOVED);
}

/* ---- by others of their kind */

/* The memory's cells of the first row of recall that has this objective and minimiser, at the shortest length. */
static struct cell cell_of(const struct plan *plan, bpcn_objective objective, bpcn_minimizer minimizer, size_t seed)
{
    struct cell cell = {0};
    const struct table *t = &plan->table[0];
    for (size_t r = 0; r < t->rows; r++)
        if (t->row[r].spec.kind == METHOD_BAYESPCN && t->row[r].objective == objective &&
            t->row[r].spec.minimizer == minimizer && plan_cell(plan, t, r, 0, seed, &cell))
            return cell;
    fail_msg("no such row");
    return cell;
}

static void recheck_as(struct job_list *list, const struct cell *cell, const char *word, const char *code)
{
    struct failure failure;
    struct provenance p = {.commit = "0123456789ab"};
    snprintf(p.code, sizeof p.code, "%s", code);
    assert_int_equal(rechecks_add(list->rechecks, cell, 1, 1, word, &p, &failure), 0);
}

/* The cell as other code than today's left it. */
static void put_stale(struct job_list *list, const struct cell *cell)
{
    char key[KEY_ROOM];
    struct record record = recalled(0.04, 0.5, 1);
    struct failure failure;
    cell_key(cell, key, sizeof key);
    assert_int_equal(results_add(list->results, key, &record, &(struct provenance){.code = "older"}, &failure), 0);
}

static void a_shell(const char *format, const char *folder)
{
    char line[256];
    snprintf(line, sizeof line, format, folder);
    assert_int_equal(system(line), 0);
}

static void five_of_its_kind_vouch_for_a_stale_cell_unless_one_has_moved(void **state)
{
    char folder[] = "/tmp/bpcn-test-XXXXXX";
    struct plan_request request = {.experiment = "recall", .tier = TIER_PAPER, .datasets = "cifar10"};
    struct plan plan;
    struct job_list list, again;
    struct failure failure;
    struct record record = recalled(0.04, 0.5, 1);
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(plan_create(&request, &plan, &failure), 0);
    assert_int_equal(job_list_create(&plan, folder, NULL, &list, &failure), 0);
    struct cell ours = cell_of(&plan, BPCN_OBJECTIVE_DEFAULT, BPCN_LBFGS, 0),
                other = cell_of(&plan, BPCN_OBJECTIVE_DEFAULT, BPCN_LBFGS, 1),
                papers = cell_of(&plan, BPCN_OBJECTIVE_PAPER, BPCN_ADAM, 0), samples = ours;
    samples.kind = CELL_SAMPLES;
    const char *today = provenance_code(&ours.spec);
    put_stale(&list, &ours);
    put_stale(&list, &other);
    put_stale(&list, &papers);
    put_stale(&list, &samples);
    assert_int_equal(cell_freshness(&list, &ours), STALE);
    for (int k = 0; k < 4; k++)
        recheck_as(&list, &other, k % 2 ? "unmoved" : "rounded", today);
    recheck_as(&list, &other, "unmoved", "older"); /* by code that is not today's */
    assert_int_equal(cell_freshness(&list, &ours), STALE);
    recheck_as(&list, &other, "unmoved", today);
    assert_int_equal(cell_freshness(&list, &ours), VOUCHED);
    assert_int_equal(cell_freshness(&list, &papers), STALE);
    assert_int_equal(cell_freshness(&list, &samples), STALE);
    recheck_as(&list, &other, "MOVED", today);
    assert_int_equal(cell_freshness(&list, &ours), STALE);
    assert_int_equal(cell_save(&list, &other, &record, &failure), 0); /* what moved is computed anew */
    assert_int_equal(cell_freshness(&list, &other), FRESH);
    assert_int_equal(cell_freshness(&list, &ours), VOUCHED);
    assert_int_equal(job_list_create(&plan, folder, NULL, &again, &failure), 0); /* from the file */
    assert_int_equal(cell_freshness(&again, &ours), VOUCHED);
    a_shell("printf torn,bayes >> %s/checked.csv", folder); /* by a process that was killed */
    job_list_free(&again);
    assert_int_equal(job_list_create(&plan, folder, NULL, &again, &failure), 0);
    recheck_as(&again, &other, "unmoved", today);
    a_shell("awk -F, 'NF != 10 || /torn/ { exit 1 } END { exit NR != 9 }' %s/checked.csv", folder);
    job_list_free(&again);
    job_list_free(&list);
    a_shell("echo nonsense > %s/checked.csv", folder);
    assert_int_equal(job_list_create(&plan, folder, NULL, &again, &failure), -1);
    assert_non_null(strstr(failure.text, "/checked.csv are not those of this version"));
    plan_free(&plan);
    a_shell("rm -r %s", folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_has_moved_beyond_what_rounding_explains),
        cmocka_unit_test(five_of_its_kind_vouch_for_a_stale_cell_unless_one_has_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
