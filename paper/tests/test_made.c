/*
 * Whether cells are still what the code of today gives: by their commit, and by computing some of them again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- by their commit */

static void run_git(const char *folder, const char *command)
{
    char line[512];
    snprintf(line, sizeof line,
             "cd %s && git -c user.name=t -c user.email=t@localhost -c init.defaultBranch=main %s >/dev/null 2>&1",
             folder, command);
    assert_int_equal(system(line), 0);
}

static void note_commit(const char *folder, struct made *made)
{
    char line[256];
    snprintf(line, sizeof line, "git -C %s rev-parse --short=12 HEAD", folder);
    FILE *from = popen(line, "r");
    assert_non_null(from);
    *made = (struct made){0};
    assert_int_equal(fscanf(from, "%40s", made->commit), 1);
    assert_int_equal(pclose(from), 0);
}

/* A tree of one commit; the test is skipped where there is no git. */
static void plant(char *folder, struct made *first)
{
    if (system("git --version >/dev/null 2>&1") != 0)
        skip();
    assert_non_null(mkdtemp(folder));
    run_git(folder, "init -q");
    run_git(folder, "commit -q --allow-empty -m 1");
    note_commit(folder, first);
}

static void fell(const char *folder)
{
    char line[256];
    snprintf(line, sizeof line, "rm -rf %s", folder);
    assert_int_equal(system(line), 0);
}

/* One commit more, of a new file there. */
static void grow(const char *folder, const char *place, const char *name, struct made *made)
{
    char line[256];
    snprintf(line, sizeof line, "mkdir -p %s/%s && touch %s/%s/%s", folder, place, folder, place, name);
    assert_int_equal(system(line), 0);
    run_git(folder, "add .");
    run_git(folder, "commit -q -m more");
    note_commit(folder, made);
}

/* In a tree of three commits: the first, one of what the memory depends on, one of what nothing does. */
static void a_cell_is_stale_when_what_it_depends_on_has_changed_since(void **state)
{
    char folder[] = "/tmp/bpcn-test-XXXXXX";
    struct made first, second, third, unknown = {.commit = "feedfeedfeed"}, dirty;
    const char *const *memory = method_paths(&(struct method_spec){.kind = METHOD_BAYESPCN});
    const char *const *mhn = method_paths(&(struct method_spec){.kind = METHOD_MHN});
    const char *const *gpcn = method_paths(&(struct method_spec){.kind = METHOD_GPCN_ONLINE, .minimizer = BPCN_LBFGS});
    const char *const *gpcn_by_adam =
        method_paths(&(struct method_spec){.kind = METHOD_GPCN_ONLINE, .minimizer = BPCN_ADAM});
    struct freshness_cache asked = {0};
    (void)state;
    plant(folder, &first);
    grow(folder, "src/infer", "adam.c", &second);
    grow(folder, "docs", "a.md", &third);
    assert_int_equal(freshness_of(&first, memory, folder, "", &asked), STALE);
    assert_int_equal(freshness_of(&first, gpcn, folder, "", &asked), STALE);
    assert_int_equal(freshness_of(&first, mhn, folder, "", &asked), FRESH);
    assert_int_equal(freshness_of(&second, memory, folder, "", &asked), FRESH);
    assert_int_equal(freshness_of(&unknown, memory, folder, "", &asked), UNTOLD);
    assert_int_equal(freshness_of(&unknown, memory, folder, "feedfeedfeed", &asked), FRESH);
    dirty = second;
    strcat(dirty.commit, "+");
    assert_int_equal(freshness_of(&dirty, memory, folder, dirty.commit, &asked), UNTOLD);
    assert_int_equal(freshness_of(&(struct made){0}, mhn, folder, "", &asked), UNTOLD);
    assert_int_equal(freshness_of(&first, mhn, "/", "", &(struct freshness_cache){0}), UNTOLD);
    grow(folder, "src/ops", "paper.c", &dirty); /* GPCN as the paper does it reads by the library */
    asked = (struct freshness_cache){0};
    assert_int_equal(freshness_of(&third, gpcn_by_adam, folder, "", &asked), STALE);
    assert_int_equal(freshness_of(&third, gpcn, folder, "", &asked), FRESH);
    assert_int_equal(freshness_of(&third, mhn, folder, "", &asked), FRESH);
    fell(folder);
}

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

static void check_as(struct job_list *list, const struct cell *cell, const char *word, const struct made *made)
{
    struct failure failure;
    assert_int_equal(checked_add(list->checked, cell, 1, 1, word, made, &failure), 0);
}

static void five_of_its_kind_vouch_for_a_stale_cell_unless_one_has_moved(void **state)
{
    char folder[] = "/tmp/bpcn-test-XXXXXX", line[256];
    struct plan_request request = {.experiment = "recall", .tier = TIER_PAPER, .datasets = "cifar10"};
    struct plan plan;
    struct job_list list, again;
    struct failure failure;
    struct made first, second, third;
    struct record record = recalled(0.04, 0.5, 1);
    (void)state;
    plant(folder, &first);
    grow(folder, "src/infer", "adam.c", &second);
    assert_int_equal(plan_create(&request, &plan, &failure), 0);
    assert_int_equal(job_list_create(&plan, folder, NULL, &list, &failure), 0);
    struct cell ours = cell_of(&plan, BPCN_OBJECTIVE_DEFAULT, BPCN_LBFGS, 0),
                other = cell_of(&plan, BPCN_OBJECTIVE_DEFAULT, BPCN_LBFGS, 1),
                papers = cell_of(&plan, BPCN_OBJECTIVE_PAPER, BPCN_ADAM, 0), samples = ours;
    samples.kind = CELL_SAMPLES;
    ledger_made_by(list.ledger, first.commit);
    assert_int_equal(cell_save(&list, &ours, &record, &failure), 0);
    assert_int_equal(cell_save(&list, &other, &record, &failure), 0);
    assert_int_equal(cell_save(&list, &papers, &record, &failure), 0);
    assert_int_equal(cell_save(&list, &samples, &record, &failure), 0);
    ledger_made_by(list.ledger, second.commit);
    assert_int_equal(cell_freshness(&list, &ours, NULL), STALE);
    for (int k = 0; k < 4; k++)
        check_as(&list, &other, k % 2 ? "unmoved" : "rounded", &second);
    check_as(&list, &other, "unmoved", &first); /* by code that is not today's */
    assert_int_equal(cell_freshness(&list, &ours, NULL), STALE);
    check_as(&list, &other, "unmoved", &second);
    assert_int_equal(cell_freshness(&list, &ours, NULL), VOUCHED);
    assert_int_equal(cell_freshness(&list, &papers, NULL), STALE);
    assert_int_equal(cell_freshness(&list, &samples, NULL), STALE);
    check_as(&list, &other, "MOVED", &second);
    assert_int_equal(cell_freshness(&list, &ours, NULL), STALE);
    assert_int_equal(cell_save(&list, &other, &record, &failure), 0); /* what moved is computed anew */
    assert_int_equal(cell_freshness(&list, &other, NULL), FRESH);
    assert_int_equal(cell_freshness(&list, &ours, NULL), VOUCHED);
    assert_int_equal(job_list_create(&plan, folder, NULL, &again, &failure), 0); /* from the file */
    ledger_made_by(again.ledger, second.commit);
    assert_int_equal(cell_freshness(&again, &ours, NULL), VOUCHED);
    grow(folder, "src/infer", "lbfgs.c", &third);
    *again.asked = (struct freshness_cache){0};
    ledger_made_by(again.ledger, third.commit);
    assert_int_equal(cell_freshness(&again, &ours, NULL), STALE);
    snprintf(line, sizeof line, "printf torn,bayes >> %s/checked.csv", folder); /* by a process that was killed */
    assert_int_equal(system(line), 0);
    job_list_free(&again);
    assert_int_equal(job_list_create(&plan, folder, NULL, &again, &failure), 0);
    check_as(&again, &other, "unmoved", &third);
    snprintf(line, sizeof line, "awk -F, 'NF != 9 || /torn/ { exit 1 } END { exit NR != 9 }' %s/checked.csv", folder);
    assert_int_equal(system(line), 0);
    job_list_free(&again);
    job_list_free(&list);
    snprintf(line, sizeof line, "echo nonsense > %s/checked.csv", folder);
    assert_int_equal(system(line), 0);
    assert_int_equal(job_list_create(&plan, folder, NULL, &again, &failure), -1);
    assert_non_null(strstr(failure.text, "/checked.csv are not those of this version"));
    plan_free(&plan);
    fell(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_is_stale_when_what_it_depends_on_has_changed_since),
        cmocka_unit_test(a_cell_has_moved_beyond_what_rounding_explains),
        cmocka_unit_test(five_of_its_kind_vouch_for_a_stale_cell_unless_one_has_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
