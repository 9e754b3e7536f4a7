/* Plots of the tables, drawn by gnuplot: a script with its data for each, kept beside the picture. */
#include "results.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const double least = 1e-7; /* the floor of logarithmic axes: an error of 0 is drawn there */

/* A table of two rows is no curve. */
static int is_collection(const struct table *t)
{
    return strcmp(t->experiment, "shards") == 0 && strcmp(t->dataset, "fashion-mnist") == 0 && t->kind == CELL_RECALL;
}

int plot_name(const struct table *t, char *name, size_t room)
{
    if (t->kind == CELL_ONESHOT || t->kind == CELL_SAMPLES)
        return -1;
    if (is_collection(t))
        return -1;
    if (t->kind == CELL_STREAM)
        snprintf(name, room, "%s-stream", t->experiment);
    else if (t->kind == CELL_GENERALIZATION)
        snprintf(name, room, "%s-%s", t->experiment, t->dataset);
    else
        snprintf(name, room, "%s-%s-%s", t->experiment, t->dataset, t->task.name);
    return 0;
}

static void heading(FILE *file, const struct table *t, const char *name, const char *x, const char *y, int log_y)
{
    static const char *const colours[] = {"#9aa3af", "#111827", "#d97706", "#fbbf24", "#7c3aed", "#c084fc",
                                          "#0891b2", "#dc2626", "#fb7185", "#15803d", "#65a30d", "#1d4ed8"};
    fprintf(file, "set terminal svg size 860,460 dynamic background rgb 'white' font 'Helvetica,12'\n");
    for (size_t k = 0; k < sizeof colours / sizeof colours[0]; k++)
        fprintf(file, "set linetype %zu lc rgb '%s' lw 1.6\n", k + 1, colours[k]);
    fprintf(file, "set output '%s.svg'\nset title '%s' noenhanced\n", name, t->title);
    fprintf(file,
            "set xlabel '%s'\nset ylabel '%s'\nset key outside right noenhanced width -4 samplen 2\nset grid lc rgb "
            "'#dddddd'\n",
            x, y);
    if (log_y)
        fputs("set logscale y\nset format y '10^{%L}'\n", file);
}

/* A series of points of one row over the columns; paper: the paper's figures instead of ours. */
static size_t column_series(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                            size_t r, const char *measure, int paper)
{
    size_t points = 0;
    fprintf(file, "$s%zu_%s%d << EOD\n", r, strcmp(measure, "noisy_mse") == 0 ? "n" : "", paper);
    for (size_t c = 0; c < t->columns; c++) {
        struct figure f = figure_of(list, plan, t, r, c, measure);
        double value = paper ? f.paper : f.mean;
        if (!isfinite(value))
            continue;
        fprintf(file, "%zu %.9g\n", t->lengths[c], strcmp(measure, "accuracy") ? fmax(value, least) : value);
        points++;
    }
    fputs("EOD\n", file);
    return points;
}

static void by_length(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                      const char *name)
{
    int accuracy = strcmp(t->measure, "accuracy") == 0;
    char commands[8192] = "plot ";
    size_t used = strlen(commands);
    heading(file, t, name, "images written", accuracy ? "accuracy" : "mean squared error", !accuracy);
    fputs("set logscale x 2\n", file);
    for (size_t r = 0; r < t->rows; r++)
        for (int paper = 0; paper < 2; paper++)
            if (column_series(file, list, plan, t, r, t->measure, paper) > 0 && used < sizeof commands - 200)
                used += (size_t)snprintf(commands + used, sizeof commands - used,
                                         "$s%zu_%d with linespoints lc %zu %s title '%.60s%s', ", r, paper, r + 1,
                                         paper ? "dt 2 pt 6" : "pt 7 ps 0.6", t->row[r].label, paper ? ", paper" : "");
    fprintf(file, "%s\n", commands);
}

static void by_age(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                   const char *name)
{
    heading(file, t, name, "age group, 1 the oldest, 16 the latest", "mean squared error", 1);
    for (size_t r = 0; r < t->rows; r++) {
        fprintf(file, "$s%zu << EOD\n", r);
        for (size_t a = 0; a < 16; a++) {
            char age[32];
            snprintf(age, sizeof age, "age_%zu", a);
            struct figure f = figure_of(list, plan, t, r, 0, age);
            if (isfinite(f.mean))
                fprintf(file, "%zu %.9g\n", a + 1, fmax(f.mean, least));
        }
        fputs("EOD\n", file);
    }
    fputs("plot ", file);
    for (size_t r = 0; r < t->rows; r++)
        fprintf(file, "$s%zu with linespoints pt 7 ps 0.5 title '%s', ", r, t->row[r].label);
    fputc('\n', file);
}

/* Rows come in threes: the memory, nearest in float32, nearest in bytes. */
static void by_bytes(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                     const char *name)
{
    static const char *const labels[] = {"bayespcn", "nearest, float32", "nearest, uint8"};
    heading(file, t, name, "bytes", "mean squared error over all images written", 1);
    fputs("set logscale x\nset format x '10^{%L}'\n", file);
    for (size_t k = 0; k < 3; k++) {
        fprintf(file, "$s%zu << EOD\n", k);
        for (size_t r = k; r < t->rows; r += 3) {
            struct figure error = figure_of(list, plan, t, r, 0, "mse");
            struct figure bytes = figure_of(list, plan, t, r - k, 0, "bytes"); /* the budget is the memory's */
            if (isfinite(error.mean) && isfinite(bytes.mean))
                fprintf(file, "%.9g %.9g\n", bytes.mean, fmax(error.mean, least));
        }
        fputs("EOD\n", file);
    }
    fputs("plot ", file);
    for (size_t k = 0; k < 3; k++)
        fprintf(file, "$s%zu with linespoints pt 7 ps 0.6 title '%s', ", k, labels[k]);
    fputc('\n', file);
}

/* One curve for each number of rows a unit; the last point of each is a single network. */
static void by_width(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                     const char *name)
{
    heading(file, t, name, "width of a shard, down to a single network", "mean squared error", 1);
    fputs("set logscale x 2\n", file);
    for (size_t load = 1; load <= 4; load *= 2) {
        fprintf(file, "$s%zu << EOD\n", load);
        for (size_t r = 0; r < t->rows; r++) {
            const struct method_spec *s = &t->row[r].spec;
            struct figure f = figure_of(list, plan, t, r, 0, "mse");
            if (s->kind == METHOD_BAYESPCN && s->shard_rows == load * s->hidden[0] && isfinite(f.mean))
                fprintf(file, "%zu %.9g\n", s->hidden[0], fmax(f.mean, least));
        }
        fputs("EOD\n", file);
    }
    fputs(
        "plot $s1 with linespoints lc 10 pt 7 title 'one row a unit', $s2 with linespoints lc 3 pt 7 title 'two', $s4 "
        "with linespoints lc 8 pt 7 title 'four'\n",
        file);
}

/* The share of images recalled by their age, the latest at the left. */
static void by_recent_age(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                          const char *name)
{
    heading(file, t, name, "images written since", "share of images recalled", 0);
    fputs("set yrange [-0.02:1.02]\n", file);
    for (size_t r = 0; r < t->rows; r++) {
        fprintf(file, "$s%zu << EOD\n", r);
        for (size_t a = 16; a-- > 0;) {
            char exact[32];
            snprintf(exact, sizeof exact, "exact_%zu", a);
            struct figure f = figure_of(list, plan, t, r, 0, exact);
            if (isfinite(f.mean))
                fprintf(file, "%zu %.9g\n", t->latest * (31 - 2 * a) / 32, f.mean);
        }
        fputs("EOD\n", file);
    }
    fputs("plot ", file);
    for (size_t r = 0; r < t->rows; r++)
        fprintf(file, "$s%zu with linespoints lc %d pt 7 ps 0.5 title '%s', ", r, r == 0 ? 10 : 8, t->row[r].label);
    fputc('\n', file);
}

static void unseen(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                   const char *name)
{
    heading(file, t, name, "images written", "mean squared error of unseen images", 1);
    fputs("set logscale x 2\n", file);
    column_series(file, list, plan, t, 0, "clean_mse", 0);
    column_series(file, list, plan, t, 0, "noisy_mse", 0);
    fputs("plot $s0_0 with linespoints pt 7 title 'read clean', $s0_n0 with linespoints pt 7 title 'read with noise "
          "0.2'\n",
          file);
}

static void script(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                   const char *name)
{
    if (t->kind == CELL_GENERALIZATION)
        unseen(file, list, plan, t, name);
    else if (t->kind == CELL_STREAM)
        by_recent_age(file, list, plan, t, name);
    else if (strcmp(t->experiment, "shards") == 0)
        by_width(file, list, plan, t, name);
    else if (strcmp(t->experiment, "forget") == 0)
        by_age(file, list, plan, t, name);
    else if (strcmp(t->experiment, "equal-memory") == 0)
        by_bytes(file, list, plan, t, name);
    else
        by_length(file, list, plan, t, name);
}

/* Runs gnuplot on a script in the folder of plots: 0, or 127 when there is no gnuplot. */
static int run_gnuplot(const char *folder, const char *name)
{
    pid_t child = fork();
    int result = 1;
    if (child == 0) {
        if (chdir(folder) == 0 && freopen("/dev/null", "w", stderr) != NULL)
            execlp("gnuplot", "gnuplot", name, (char *)NULL);
        _exit(errno == ENOENT ? 127 : 126);
    }
    if (child < 0 || waitpid(child, &result, 0) < 0 || !WIFEXITED(result))
        return 1;
    return WEXITSTATUS(result);
}

int draw_plots(const struct job_list *list, const struct plan *plan, int *drawn, struct failure *failure)
{
    char folder[1200], name[128], path[160];
    snprintf(folder, sizeof folder, "%s/plots", list->out);
    *drawn = 1;
    if (make_folder(folder, failure) != 0)
        return -1;
    for (size_t k = 0; k < plan->tables && *drawn; k++) {
        const struct table *t = &plan->table[k];
        if (plot_name(t, name, sizeof name) != 0 || !table_there(list, plan, t))
            continue;
        snprintf(path, sizeof path, "plots/%s.gp", name);
        FILE *file = open_output(list, path, failure);
        if (file == NULL)
            return -1;
        snprintf(path, sizeof path, "plots/%s.svg", name); /* which gnuplot writes */
        if (check_output(list, path, failure) != 0) {
            fclose(file);
            return -1;
        }
        script(file, list, plan, t, name);
        if (close_output(file, path, failure) != 0)
            return -1;
        snprintf(path, sizeof path, "%s.gp", name);
        int result = run_gnuplot(folder, path);
        *drawn = result != 127;
        if (result != 0 && result != 127)
            return failed(failure, "gnuplot could not draw %s/%s", folder, path);
    }
    return 0;
}
