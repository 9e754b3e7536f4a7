/* The report: one HTML file with everything in it, for a person to read. */
#include "results.h"

#include "bayespcn.h"
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "<style>\n"
    ":root{color-scheme:light "
    "dark;--ink:#1d2129;--soft:#666f7d;--line:#dfe3e8;--ground:#fff;--good:#d9f2e1;--bad:#fbe3c8}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#9aa3af;--line:#3a404a;--ground:#16191d;"
    "--good:#1d4030;--bad:#5a3d1a}}\n"
    "body{font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:72rem;margin:2rem "
    "auto;"
    "padding:0 1.2rem}\n"
    "h1{font-size:2rem;margin-bottom:.2rem}h2{margin-top:3rem;border-top:1px solid var(--line);padding-top:1rem}\n"
    "h3{margin:1.6rem 0 .4rem}.soft{color:var(--soft)}nav a{margin-right:1rem}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.88rem}\n"
    ".wide{overflow-x:auto}th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:right}\n"
    "th:first-child,td:first-child{text-align:left}td small{display:block;color:var(--soft)}\n"
    "td.good{background:var(--good)}td.bad{background:var(--bad)}img{max-width:100%;border-radius:4px}\n"
    "img.pixels{image-rendering:pixelated;min-width:60%}\n"
    "</style>\n";

static void escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(file, "&#%d;", *text);
        else
            fputc(*text, file);
}

/* ---- pictures inside the page */

static void base64(FILE *out, FILE *in)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char b[3];
    size_t n;
    while ((n = fread(b, 1, 3, in)) > 0) {
        unsigned bits = (unsigned)b[0] << 16 | (n > 1 ? (unsigned)b[1] << 8 : 0) | (n > 2 ? b[2] : 0u);
        fputc(letters[bits >> 18], out);
        fputc(letters[bits >> 12 & 63], out);
        fputc(n > 1 ? letters[bits >> 6 & 63] : '=', out);
        fputc(n > 2 ? letters[bits & 63] : '=', out);
    }
}

/* Embeds a picture if it is there. */
static void embed(FILE *file, const char *path, const char *type, const char *class, const char *alt)
{
    FILE *picture = fopen(path, "rb");
    if (picture == NULL)
        return;
    fprintf(file, "<p><img class='%s' alt='%s' src='data:image/%s;base64,", class, alt, type);
    base64(file, picture);
    fputs("'></p>\n", file);
    fclose(picture);
}

static void embed_pictures(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t)
{
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->columns; c++) {
            struct cell cell;
            char path[2048];
            if (!plan_cell(plan, t, r, c, 0, &cell))
                continue;
            figure_path(list, &cell, path, sizeof path);
            if (!figure_there(list, &cell))
                continue;
            fprintf(file, "<p class=soft>%s, %zu images written</p>\n", t->row[r].label, t->lengths[c]);
            embed(file, path, "png", "pixels", t->experiment);
        }
}

/* ---- tables */

static void html_row(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t, size_t r,
                     const char *measure, const char *label)
{
    fputs("<tr><td>", file);
    escaped(file, label);
    fputs("</td>", file);
    for (size_t c = 0; c < t->columns; c++) {
        struct figure f = figure_of(list, plan, t, r, c, measure);
        char ours[64], paper[64];
        figure_text(&f, ours, sizeof ours);
        paper_text(&f, paper, sizeof paper);
        fprintf(file, "<td%s>%s", f.relation == ABOVE ? " class=bad" : f.relation == BELOW ? " class=good" : "", ours);
        if (!isnan(f.paper))
            fprintf(file, "<small>paper %s</small>", paper);
        fputs("</td>", file);
    }
    fputs("</tr>\n", file);
}

static void html_table(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t)
{
    const char *const *measures = figure_measures(t->kind);
    fprintf(file, "<h3>%s</h3>\n<div class=wide><table><tr><th>images written</th>", t->title);
    for (size_t c = 0; c < t->columns; c++)
        fprintf(file, "<th>%zu</th>", t->lengths[c]);
    fputs("</tr>\n", file);
    for (size_t r = 0; r < t->rows; r++) {
        if (measures == NULL)
            html_row(file, list, plan, t, r, t->measure, t->row[r].label);
        for (size_t m = 0; measures != NULL && measures[m] != NULL; m++) {
            char label[160];
            snprintf(label, sizeof label, "%s, %s", t->row[r].label, measures[m]);
            html_row(file, list, plan, t, r, measures[m], label);
        }
    }
    fputs("</table></div>\n", file);
}

/* ---- where we are worse */

static size_t count_cells(const struct job_list *list, const struct plan *plan, int worse_only)
{
    size_t count = 0;
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; r < plan->table[k].rows; r++)
            for (size_t c = 0; c < plan->table[k].columns; c++) {
                struct figure f = figure_of(list, plan, &plan->table[k], r, c, "mse");
                count += f.seeds > 0 && !isnan(f.paper) && (!worse_only || f.relation == ABOVE);
            }
    return count;
}

static void html_worse(FILE *file, const struct job_list *list, const struct plan *plan)
{
    size_t worse = count_cells(list, plan, 1), all = count_cells(list, plan, 0);
    fprintf(file,
            "<h2 id=worse>Where the paper is ahead</h2>\n<p>Of %zu cells with a figure in the paper, %zu are worse "
            "here by more than the paper's standard deviation plus 10 %%.</p>\n<ul>\n",
            all, worse);
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; r < plan->table[k].rows; r++) {
            const struct table *t = &plan->table[k];
            size_t found = 0;
            for (size_t c = 0; c < t->columns; c++) {
                struct figure f = figure_of(list, plan, t, r, c, "mse");
                if (f.relation != ABOVE)
                    continue;
                if (found++ == 0) {
                    fprintf(file, "<li><b>%s: %s, ", t->experiment, t->title);
                    escaped(file, t->row[r].label);
                    fputs("</b> — ", file);
                }
                fprintf(file, "%zu: %.4f against %.4f; ", t->lengths[c], f.mean, f.paper);
            }
            if (found > 0) {
                fputs("</li>\n", file);
            }
        }
    fputs("</ul>\n", file);
}

/* ---- the page */

static void html_experiment(FILE *file, const struct job_list *list, const struct plan *plan, const char *experiment,
                            int pictures)
{
    int headed = 0;
    for (size_t k = 0; k < plan->tables; k++) {
        const struct table *t = &plan->table[k];
        char name[128], path[2048];
        if (strcmp(t->experiment, experiment) != 0 || !table_there(list, plan, t))
            continue;
        if (!headed) {
            fprintf(file, "<h2 id=%s>%s</h2>\n<p>", experiment, experiment);
            escaped(file, experiment_text(experiment));
            fprintf(file, "</p>\n<p class=soft>%.2f hours of computing.</p>\n",
                    experiment_seconds(list, plan, experiment) / 3600);
        }
        headed = 1;
        html_table(file, list, plan, t);
        if (plot_name(t, name, sizeof name) == 0) {
            snprintf(path, sizeof path, "%s/plots/%s.svg", list->out, name);
            embed(file, path, "svg+xml", "plot", name);
        }
        if (pictures && !is_recall(t->kind))
            embed_pictures(file, list, plan, t);
    }
}

static void html_heading(FILE *file, const struct plan *plan, const struct provenance *p)
{
    fputs("<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\n"
          "<title>bayespcn: the paper's experiments</title>\n",
          file);
    fputs(style, file);
    fputs("<h1>The paper's experiments, again</h1>\n<p class=soft>", file);
    fprintf(file, "bayespcn %s, %s, %s; ", bpcn_version(), p->date, p->machine);
    escaped(file, p->command);
    fputs(
        "</p>\n<p>BayesPCN is an associative memory: a small network that takes in an image in one shot and gives it "
        "back from a noisy or incomplete copy. Every number of the paper's tables stands here under ours. "
        "<b>bayespcn</b> is this library with its defaults; <b>paper objective</b> is the same memory read the way the "
        "paper defines it; <b>nearest</b> keeps every image and is the opponent to beat. Figures are mean squared "
        "errors "
        "on the scale [-1, 1], ± the standard deviation over seeds. Green is better than the paper, amber is worse by "
        "more than its deviation plus 10 %.",
        file);
    fputs("</p>\n", file);
    if (plan->tier == TIER_QUICK)
        fputs("<p><b>This is the quick tier:</b> small networks and short sequences, to see that everything runs. The "
              "paper's figures do not apply and are left out.</p>\n",
              file);
}

int write_report(const struct job_list *list, const struct plan *plan, const struct provenance *p, int pictures,
                 struct failure *failure)
{
    const char *const *names = plan_experiments();
    FILE *file = open_output(list, "report.html", failure);
    if (file == NULL)
        return -1;
    html_heading(file, plan, p);
    fputs("<nav>", file);
    for (size_t e = 0; names[e] != NULL; e++)
        fprintf(file, "<a href='#%s'>%s</a>", names[e], names[e]);
    fputs("<a href='#worse'>where the paper is ahead</a></nav>\n", file);
    for (size_t e = 0; names[e] != NULL; e++)
        html_experiment(file, list, plan, names[e], pictures);
    if (plan->tier == TIER_PAPER)
        html_worse(file, list, plan);
    fputs("</html>\n", file);
    return close_output(file, "report.html", failure);
}
