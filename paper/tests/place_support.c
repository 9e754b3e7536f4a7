/* Cells that a test makes up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "place_support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t row_called(const struct table *t, const char *label)
{
    size_t row = 0;
    while (strcmp(t->row[row].label, label) != 0)
        row++;
    return row;
}

void append_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

void caught(FILE *file, char *text, size_t room)
{
    rewind(file);
    text[fread(text, 1, room - 1, file)] = '\0';
    fclose(file);
}

void open_place_of(struct place *p, const char *experiment, size_t seeds)
{
    struct plan_request request = {.experiment = experiment, .tier = TIER_PAPER, .datasets = "cifar10", .seeds = seeds};
    struct failure failure;
    snprintf(p->folder, sizeof p->folder, "/tmp/bpcn-test-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    assert_int_equal(plan_create(&request, &p->plan, &failure), 0);
    assert_int_equal(job_list_create(&p->plan, p->folder, NULL, &p->list, &failure), 0);
    p->table = &p->plan.table[0];
}

void open_place(struct place *p, size_t seeds)
{
    open_place_of(p, "recall", seeds);
    p->row = row_called(p->table, "bayespcn");
}

void close_place(struct place *p)
{
    char path[64];
    job_list_free(&p->list);
    plan_free(&p->plan);
    snprintf(path, sizeof path, "%s/cells.csv", p->folder);
    unlink(path);
    assert_int_equal(rmdir(p->folder), 0);
}

void put_mse(struct place *p, size_t seed, double mse)
{
    struct cell cell;
    struct record record = {0};
    struct failure failure;
    assert_true(plan_cell(&p->plan, p->table, p->row, 3, seed, &cell));
    record_set(&record, "mse", mse);
    assert_int_equal(cell_save(&p->list, &cell, &record, &failure), 0);
}

void put_queries(struct place *p, size_t seed, double mse, double deviation, double queries)
{
    struct cell cell;
    struct record record = {0};
    struct failure failure;
    assert_true(plan_cell(&p->plan, p->table, p->row, 3, seed, &cell));
    record_set(&record, "mse", mse);
    record_set(&record, "mse_std", deviation);
    record_set(&record, "queries", queries);
    assert_int_equal(cell_save(&p->list, &cell, &record, &failure), 0);
}

void put_row(struct place *p, const char *label, size_t column, double mse)
{
    p->row = row_called(p->table, label);
    struct cell cell;
    struct record record = {0};
    struct failure failure;
    assert_true(plan_cell(&p->plan, p->table, p->row, column, 0, &cell));
    record_set(&record, "mse", mse);
    assert_int_equal(cell_save(&p->list, &cell, &record, &failure), 0);
}
