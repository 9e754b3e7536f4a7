/* CSV and Markdown. */
#include "results.h"

#include "bayespcn.h"
#include "best.h"
#include "forgetting.h"
#include "formats.h"
#include "paper_figures.h"
#include "times.h"

#include <errno.h>
#include <math.h>
#include <string.h>

int check_output(const struct job_list *list, const char *name, struct failure *failure)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", list->out, name);
    return fmt_check_output(path) == BPCN_OK ? 0 : failed(failure, "%s", bpcn_error());
}

FILE *open_output(const struct job_list *list, const char *name, struct failure *failure)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", list->out, name);
    if (check_output(list, name, failure) != 0)
        return NULL;
    FILE *file = fopen(path, "w");
    if (file == NULL)
        failed(failure, "cannot write %s: %s", path, strerror(errno));
    return file;
}

int close_output(FILE *file, const char *name, struct failure *failure)
{
    int bad = ferror(file);
    bad = fclose(file) != 0 || bad;
    return bad ? failed(failure, "cannot write %s: the disk may be full", name) : 0;
}

void figure_text(const struct figure *f, char *text, size_t room)
{
    if (f->seeds == 0)
        snprintf(text, room, f->planned > 0 ? "–" : "");
    else if (isnan(f->deviation))
        snprintf(text, room, "%.4f%s", f->mean, f->stale > 0 ? "°" : "");
    else
        snprintf(text, room, "%.4f ± %.4f%s", f->mean, f->deviation, f->stale > 0 ? "°" : "");
}

void paper_text(const struct figure *f, char *text, size_t room)
{
    if (isnan(f->paper))
        snprintf(text, room, "–");
    else if (isnan(f->paper_deviation))
        snprintf(text, room, "%.4f", f->paper);
    else
        snprintf(text, room, "%.4f ± %.4f", f->paper, f->paper_deviation);
}

const char *experiment_text(const char *experiment)
{
    static const char *const texts[][2] = {
        {"recall", "Table 1 of the paper, with standard deviations: images are written one after the other, then all "
                   "are read back from corrupted copies. Mean squared error on the scale [-1, 1]; over the unknown "
                   "entries only for dropout and mask."},
        {"high-noise", "The same with far heavier corruption: noise of 0.8, three quarters of the image dropped or "
                       "masked."},
        {"depth", "Recall by depth: L2, L4 and L8 count the sensory layer."},
        {"sigma", "Recall by the strength of a write: prior uncertainty of the weights against observation noise."},
        {"search",
         "What the paper chose from: widths, activations and numbers of particles, by its method and by ours; 64 "
         "images of each length."},
        {"forget",
         "Recall by age: the memory forgets a little before every further batch of writes. Groups of images from the "
         "oldest (1) to the latest (16)."},
        {"scaling", "Accuracy (share of images recalled with an error below 0.01) by width and depth of the network."},
        {"oneshot", "One image read from ten corrupted copies: before it is written, right after one write, and after "
                    "more images have been written over it."},
        {"recalled", "The first image written, read from ten corrupted copies after all the others."},
        {"metric", "What is read from little of an image, by a network that keeps all images and compares them, and by "
                   "the memory; the errors are of four images each."},
        {"samples", "Ancestral samples from a memory: their mean square, and how far they are from the nearest stored "
                    "image."},
        {"generalization", "Images that were never written, read clean and with white noise of 0.2, by the number of "
                           "images written before."},
        {"equal-memory", "Not in the paper: the same number of bytes spent on a memory, or on the latest images kept "
                         "as they are (float32 or one byte per entry) and searched for the nearest."},
        {"shards", "Not in the paper: the rows shared out among several networks, a query answered by the one that "
                   "explains it best: by the width of the networks at one, two and four rows a unit; a whole "
                   "collection in hundreds of them; and a stream through a window of them."}};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
        if (strcmp(texts[k][0], experiment) == 0)
            return texts[k][1];
    return "";
}

const char *slip_text(const struct table *t)
{
    for (size_t r = 0; r < t->rows; r++) {
        const char *slip = paper_slip(t->row[r].paper_table, t->dataset, task_word(&t->task), t->row[r].paper_row);
        if (slip != NULL)
            return slip;
    }
    return "";
}

const char *marks_text(void)
{
    return "– is not computed yet, an empty place not planned. ▼ is below the paper's figure, ▲ above it, each by more "
           "than the two standard deviations together and what "
           "the paper's four digits hide; without a mark it is the same. In place of our deviation stands the standard "
           "error over the queries where there is one seed, and where it is larger and not every image was read. ° is "
           "stale: of an unknown commit, or older than the last change of what it depends on, and not vouched for by "
           "others of its kind that were computed again since.";
}

const char *const *figure_measures(enum cell_kind kind)
{
    static const char *const oneshot[] = {"before_white0",   "before_white0.2",
                                          "before_white0.8", "before_drop0.25",
                                          "before_drop0.75", "before_mask0.25",
                                          "before_mask0.75", "after_white0",
                                          "after_white0.2",  "after_white0.8",
                                          "after_drop0.25",  "after_drop0.75",
                                          "after_mask0.25",  "after_mask0.75",
                                          "later_white0",    "later_white0.2",
                                          "later_white0.8",  "later_drop0.25",
                                          "later_drop0.75",  "later_mask0.25",
                                          "later_mask0.75",  NULL};
    static const char *const recalled[] = {"later_white0",
                                           "later_white0.2",
                                           "later_white0.4",
                                           "later_white0.8",
                                           "later_drop0.25",
                                           "later_drop0.5",
                                           "later_drop0.75",
                                           "later_mask0.25",
                                           "later_mask0.5",
                                           "later_mask0.75",
                                           NULL};
    static const char *const metric[] = {"later_white0.8", "later_drop0.75", "later_mask0.75", NULL};
    static const char *const samples[] = {"mean_square", "nearest_mse", NULL};
    static const char *const generalization[] = {"clean_mse", "noisy_mse", "noisy_identity", NULL};
    if (kind == CELL_ONESHOT)
        return oneshot;
    if (kind == CELL_RECALLED)
        return recalled;
    if (kind == CELL_METRIC)
        return metric;
    if (kind == CELL_SAMPLES)
        return samples;
    return kind == CELL_GENERALIZATION ? generalization : NULL;
}

/* ---- CSV */

static const char *const columns[] = {"mse",          "mse_max",       "mse_std", "accuracy",       "identity_mse",
                                      "evaluations",  "above_stored",  "right",   "write_seconds",  "learn_seconds",
                                      "read_seconds", "again_seconds", "bytes",   "prepared_bytes", "queries"};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void csv_number(FILE *file, double value)
{
    if (isnan(value))
        fputc(',', file);
    else
        fprintf(file, ",%.9g", value);
}

static void csv_recall(FILE *file, const struct record *record, const struct figure *figure)
{
    for (size_t k = 0; k < COLUMNS; k++)
        csv_number(file, record_get(record, columns[k]));
    csv_number(file, figure->paper);
    csv_number(file, figure->paper_deviation);
    for (size_t a = 0; a < 16; a++) {
        char name[RECORD_NAME];
        snprintf(name, sizeof name, "age_%zu", a);
        csv_number(file, record_get(record, name));
    }
    fputc('\n', file);
}

/* One line per cell, or per number of a figure's cell. */
static void csv_cell(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t, size_t r,
                     size_t c, size_t seed)
{
    struct cell cell;
    struct record record;
    if (!plan_cell(plan, t, r, c, seed, &cell) || !cell_load(list, &cell, &record))
        return;
    struct figure figure = figure_of(list, plan, t, r, c, "mse");
    int recall = is_recall(t->kind);
    size_t lines = recall ? 1 : record.count;
    for (size_t k = 0; k < lines; k++) {
        fprintf(file, "%s,%s,\"%s\",%zu,%zu", t->dataset, recall ? t->task.name : record.item[k].name, t->row[r].label,
                t->lengths[c], seed);
        if (recall)
            csv_recall(file, &record, &figure);
        else
            fprintf(file, ",%.9g\n", record.item[k].value);
    }
}

static void csv_heading(FILE *file, enum cell_kind kind)
{
    if (!is_recall(kind)) {
        fputs("dataset,measure,row,length,seed,value\n", file);
        return;
    }
    fputs("dataset,task,row,length,seed", file);
    for (size_t k = 0; k < COLUMNS; k++)
        fprintf(file, ",%s", columns[k]);
    fputs(",paper_mse,paper_std", file);
    for (size_t a = 0; a < 16; a++)
        fprintf(file, ",age_%zu", a);
    fputc('\n', file);
}

int write_csv(const struct job_list *list, const struct plan *plan, const char *experiment, const struct provenance *p,
              struct failure *failure)
{
    char name[64];
    int headed = 0;
    snprintf(name, sizeof name, "%s.csv", experiment);
    FILE *file = open_output(list, name, failure);
    if (file == NULL)
        return -1;
    fprintf(file, "# %s\n# bayespcn %s, %s, %s; the cells took %.2f hours\n", p->command, bpcn_version(), p->date,
            p->machine, experiment_seconds(list, plan, experiment) / 3600);
    for (size_t k = 0; k < plan->tables; k++) {
        const struct table *t = &plan->table[k];
        if (strcmp(t->experiment, experiment) != 0)
            continue;
        if (!headed)
            csv_heading(file, t->kind);
        headed = 1;
        for (size_t r = 0; r < t->rows; r++)
            for (size_t c = 0; c < t->columns; c++)
                for (size_t seed = 0; seed < plan->seeds; seed++)
                    csv_cell(file, list, plan, t, r, c, seed);
    }
    return close_output(file, name, failure);
}

/* ---- Markdown */

static void markdown_cell(FILE *file, const struct figure *f, int with_paper)
{
    char ours[64], paper[64];
    figure_text(f, ours, sizeof ours);
    paper_text(f, paper, sizeof paper);
    fprintf(file, " %s%s", ours, f->relation == ABOVE ? " ▲" : f->relation == BELOW ? " ▼" : "");
    if (with_paper && !isnan(f->paper))
        fprintf(file, " (paper %s)", paper);
    fputs(" |", file);
}

static void markdown_rows(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t,
                          size_t r, const char *measure, const char *suffix)
{
    fprintf(file, "| %s%s |", t->row[r].label, suffix);
    for (size_t c = 0; c < t->columns; c++) {
        struct figure f = figure_of(list, plan, t, r, c, measure);
        markdown_cell(file, &f, 1);
    }
    fputc('\n', file);
}

static void markdown_table(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t)
{
    const char *const *measures = figure_measures(t->kind);
    fprintf(file, "\n## %s%s\n\n| images written |", t->title, strcmp(t->measure, "accuracy") ? "" : ", accuracy");
    for (size_t c = 0; c < t->columns; c++)
        fprintf(file, " %zu |", t->lengths[c]);
    fputs("\n|---|", file);
    for (size_t c = 0; c < t->columns; c++)
        fputs("---|", file);
    fputc('\n', file);
    for (size_t r = 0; r < t->rows; r++) {
        if (measures == NULL)
            markdown_rows(file, list, plan, t, r, t->measure, "");
        for (size_t m = 0; measures != NULL && measures[m] != NULL; m++) {
            char suffix[64];
            snprintf(suffix, sizeof suffix, ", %s", measures[m]);
            markdown_rows(file, list, plan, t, r, measures[m], suffix);
        }
    }
    if (*slip_text(t) != '\0')
        fprintf(file, "\n%s\n", slip_text(t));
}

/* The figures of the memory that are above the paper's, and what was measured there. */
static void markdown_above(FILE *file, const struct job_list *list, const struct plan *plan, const char *experiment)
{
    size_t found = 0;
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; r < plan->table[k].rows; r++)
            for (size_t c = 0; c < plan->table[k].columns; c++) {
                const struct table *t = &plan->table[k];
                struct figure f = figure_of(list, plan, t, r, c, "mse");
                char reason[1024];
                if (strcmp(t->experiment, experiment) != 0 || f.relation != ABOVE ||
                    role_of(&t->row[r]) == ROLE_OPPONENT)
                    continue;
                if (found++ == 0)
                    fputs("\n## The memory above the paper's figure\n\n", file);
                reason_text(list, plan, t, r, c, reason, sizeof reason);
                fprintf(file, "- %s, %s, %zu images: %.4f against %.4f. %s\n", t->title, t->row[r].label, t->lengths[c],
                        f.mean, f.paper, reason);
            }
}

/* How each row was made: once for each label. */
static void markdown_captions(FILE *file, const struct job_list *list, const struct plan *plan, const char *experiment)
{
    fputs("\n## How the rows were made\n\n", file);
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; r < plan->table[k].rows; r++) {
            const struct row *row = &plan->table[k].row[r];
            char caption[400];
            if (strcmp(plan->table[k].experiment, experiment) != 0 || !first_of_label(plan, k, r))
                continue;
            struct facts facts = facts_of(list, plan, experiment, NULL, row->label);
            if (facts.cells == 0)
                continue;
            row_caption(row, &facts, caption, sizeof caption);
            fprintf(file, "- %s: %s\n", row->label, caption);
        }
}

static void markdown_makers(FILE *file, const struct job_list *list, const struct plan *plan, const char *experiment)
{
    struct maker maker[32];
    size_t makers = makers_of(list, plan, experiment, maker, 32);
    struct facts facts = facts_of(list, plan, experiment, NULL, NULL);
    char stale[256];
    stale_text(&facts, stale, sizeof stale);
    fprintf(file, "\n%s\n\n", stale);
    for (size_t m = 0; m < makers; m++)
        if (maker[m].made.commit[0] != '\0')
            fprintf(file, "- %zu cells of commit %s: %s kernels, %s, %s\n", maker[m].cells, maker[m].made.commit,
                    maker[m].made.kernels, maker[m].made.cpu, maker[m].made.date);
        else
            fprintf(file, "- %zu cells that do not say how they were made\n", maker[m].cells);
}

int write_markdown(const struct job_list *list, const struct plan *plan, const char *experiment,
                   const struct provenance *p, struct failure *failure)
{
    char name[64];
    snprintf(name, sizeof name, "%s.md", experiment);
    FILE *file = open_output(list, name, failure);
    if (file == NULL)
        return -1;
    fprintf(file, "# %s\n\n%s\n", experiment, experiment_text(experiment));
    int shards = strcmp(experiment, "shards") == 0;
    if (shards)
        shards_markdown(file, list, plan);
    for (size_t k = 0; k < plan->tables && !shards; k++)
        if (strcmp(plan->table[k].experiment, experiment) == 0 && table_there(list, plan, &plan->table[k]))
            markdown_table(file, list, plan, &plan->table[k]);
    if (strcmp(experiment, "search") == 0)
        best_markdown(file, list, plan);
    if (strcmp(experiment, "forget") == 0)
        forget_markdown(file, list, plan);
    if (strcmp(experiment, "recall") == 0 || strcmp(experiment, "search") == 0) {
        fputs("\n## Time\n", file);
        times_markdown(file, list, plan, experiment);
    }
    markdown_above(file, list, plan, experiment);
    markdown_captions(file, list, plan, experiment);
    markdown_makers(file, list, plan, experiment);
    fprintf(
        file,
        "\n---\nWritten by `%s` with bayespcn %s on %s, %s; its cells took %.2f hours, by their own account. Mean ± "
        "standard deviation (of n - 1) over seeds. %s\n",
        p->command, bpcn_version(), p->date, p->machine, experiment_seconds(list, plan, experiment) / 3600,
        marks_text());
    return close_output(file, name, failure);
}
