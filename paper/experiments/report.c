/* The report: one HTML file with everything in it, for a person to read. */
#include "results.h"

#include "bayespcn.h"
#include "best.h"
#include "chart.h"
#include "counts.h"
#include "figure.h"
#include "forgetting.h"
#include "times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark;--ink:#1d2129;--soft:#5d6675;--line:#dde1e7;--ground:#fff;--panel:#f6f7f9;"
    "--good:#d9f2e1;--bad:#fbe3c8;--ours:#1d5fd1;--papers:#c2570c;--objective:#0f8a8a;--s0:#15803d;--s1:#7c3aed;"
    "--s2:#c026a3;--s3:#b45309;--s4:#0e7490;--s5:#6b7280}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#a3adba;--line:#3a404a;--ground:#14171b;"
    "--panel:#1c2026;--good:#1d4030;--bad:#5a3d1a;--ours:#6ea8ff;--papers:#ff9d57;--objective:#4fd1c5;--s0:#5ed48a;"
    "--s1:#b79bff;--s2:#f58fdd;--s3:#f2b36b;--s4:#67c9e0;--s5:#9ca3af}}\n"
    "body{font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:74rem;"
    "margin:2rem auto;padding:0 1.2rem}\n"
    "h1{font-size:2rem;margin-bottom:.2rem}h2{margin-top:3rem;border-top:1px solid var(--line);padding-top:1rem}\n"
    "h3{margin:1.6rem 0 .4rem}h4{margin:.2rem 0 .4rem;font-size:1rem}.soft{color:var(--soft)}\n"
    "nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem}a{color:var(--ours)}code{overflow-wrap:anywhere}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.86rem}\n"
    ".wide{overflow-x:auto}th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:right}\n"
    "th:first-child,td:first-child{text-align:left}td:not(:first-child){white-space:nowrap}td "
    "small{display:block;color:var(--soft)}\n"
    "td.good{background:var(--good)}td.bad{background:var(--bad)}img{max-width:100%;border-radius:4px}\n"
    "img.pixels{image-rendering:pixelated;width:100%;max-width:46rem}\n"
    "details{margin:.6rem 0}summary{cursor:pointer;color:var(--ours)}\n"
    "figure{margin:1rem 0;padding:.8rem 1rem;background:var(--panel);border-radius:8px}\n"
    ".panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(19rem,100%),1fr));gap:.4rem 1rem}\n"
    ".panels svg{width:100%;max-width:26rem;height:auto}\n"
    "svg text{fill:var(--ink);font:11px system-ui,sans-serif}svg .tick,svg .axis{fill:var(--soft);font-size:10px}\n"
    "svg .head{font-weight:600;font-size:12px}svg .grid{stroke:var(--line);stroke-width:1}\n"
    "svg g{stroke:currentColor}svg polyline{fill:none;stroke-width:1.8}\n"
    "svg circle,svg rect,svg path{fill:currentColor;stroke:none}svg "
    "polygon{fill:currentColor;stroke:none;opacity:.16}\n"
    "svg g.dash polyline{stroke-dasharray:5 3}svg g.dash :is(circle,rect,path){fill:var(--panel);stroke:currentColor}\n"
    "svg g.m1 polyline{stroke-width:1.2}svg g.m2 polyline{stroke-width:1.2;stroke-dasharray:9 3}\n"
    "svg g.objective polyline{stroke-dasharray:1.5 2.5}\n"
    ".ours{color:var(--ours)}.objective{color:var(--objective)}.papers{color:var(--papers)}.paper{color:var(--ink)}\n"
    ".s0{color:var(--s0)}.s1{color:var(--s1)}.s2{color:var(--s2)}.s3{color:var(--s3)}.s4{color:var(--s4)}"
    ".s5{color:var(--s5)}\n"
    ".key{list-style:none;margin:.4rem 0 0;padding:0;font-size:.82rem;color:var(--soft)}.key b{color:var(--ink);"
    "font-weight:600}\n"
    ".swatch{width:26px;height:10px;vertical-align:middle}\n"
    "</style>\n";

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
            fprintf(file, "<p class=soft>%s, %s, %zu images written.", t->dataset, t->row[r].label, t->lengths[c]);
            if (t->kind == CELL_ONESHOT)
                fputs(
                    " From above: the queries; read before the write; read after it; images written later; read after "
                    "those.",
                    file);
            if (t->kind == CELL_RECALLED || t->kind == CELL_METRIC)
                fputs(" Above the queries, below what is read from them.", file);
            fputs("</p>\n", file);
            embed(file, path, "png", "pixels", t->experiment);
        }
}

/* ---- tables */

static void html_row(FILE *file, const struct job_list *list, const struct plan *plan, const struct table *t, size_t r,
                     const char *measure, const char *label)
{
    int memory = role_of(&t->row[r]) != ROLE_OPPONENT;
    fputs("<tr><td>", file);
    escaped(file, label);
    fputs("</td>", file);
    for (size_t c = 0; c < t->columns; c++) {
        struct figure f = figure_of(list, plan, t, r, c, measure);
        char ours[64], paper[64];
        figure_text(&f, ours, sizeof ours);
        paper_text(&f, paper, sizeof paper);
        fprintf(file, "<td%s>%s%s",
                !memory               ? ""
                : f.relation == ABOVE ? " class=bad"
                : f.relation == BELOW ? " class=good"
                                      : "",
                ours,
                f.relation == ABOVE   ? " ▲"
                : f.relation == BELOW ? " ▼"
                                      : "");
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
    fprintf(file, "</table></div>\n<p class=soft>%s</p>\n", slip_text(t));
}

/* ---- how it compares */

/* Figures by whose they are and where they are. */
struct counts {
    size_t in[4], all;
};

static struct counts count_figures(const struct job_list *list, const struct plan *plan, enum role role)
{
    struct counts n = {0};
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; r < plan->table[k].rows; r++)
            for (size_t c = 0; role_of(&plan->table[k].row[r]) == role && c < plan->table[k].columns; c++) {
                struct figure f = figure_of(list, plan, &plan->table[k], r, c, "mse");
                n.in[f.relation]++;
                n.all += f.relation != NOT_COMPARED;
            }
    return n;
}

static void html_counts(FILE *file, const struct job_list *list, const struct plan *plan)
{
    static const char *const names[] = {"the memory, ours", "the paper's objective, our minimiser",
                                        "the memory as the paper does it", "opponents and identity"};
    fputs("<h2 id=compared>Beside the paper</h2>\n<div class=wide><table><tr><th>figures with one in the paper</th>"
          "<th>all</th><th>below</th><th>the same</th><th>above</th></tr>\n",
          file);
    for (enum role role = ROLE_OURS; role <= ROLE_OPPONENT; role++) {
        struct counts n = count_figures(list, plan, role);
        if (n.all > 0)
            fprintf(file, "<tr><td>%s</td><td>%zu</td><td>%zu</td><td>%zu</td><td>%zu</td></tr>\n", names[role], n.all,
                    n.in[BELOW], n.in[SAME], n.in[ABOVE]);
    }
    fputs("</table></div>\n<p class=soft>Each row is counted in every experiment that shows it.</p>\n", file);
}

static void html_above(FILE *file, const struct job_list *list, const struct plan *plan)
{
    fputs("<details><summary>Where the memory is above the paper's figure, and what was measured there</summary><ul>\n",
          file);
    for (size_t k = 0; k < plan->tables; k++)
        for (size_t r = 0; r < plan->table[k].rows; r++) {
            const struct table *t = &plan->table[k];
            for (size_t c = 0; role_of(&t->row[r]) != ROLE_OPPONENT && c < t->columns; c++) {
                struct figure f = figure_of(list, plan, t, r, c, "mse");
                char reason[1024];
                if (f.relation != ABOVE)
                    continue;
                reason_text(list, plan, t, r, c, reason, sizeof reason);
                fprintf(file, "<li>%s: %s, <b>", t->experiment, t->title);
                escaped(file, t->row[r].label);
                fprintf(file, "</b>, %zu images: %.4f against %.4f. ", t->lengths[c], f.mean, f.paper);
                escaped(file, reason);
                fputs("</li>\n", file);
            }
        }
    fputs("</ul></details>\n", file);
}

/* ---- the page */

/* Fashion-MNIST may be shown to anyone. */
static void experiment_pictures(FILE *file, const struct job_list *list, const struct plan *plan,
                                const char *experiment, int pictures)
{
    for (size_t k = 0; k < plan->tables; k++) {
        const struct table *t = &plan->table[k];
        if (strcmp(t->experiment, experiment) == 0 && !is_recall(t->kind) &&
            (pictures || strcmp(t->dataset, "fashion-mnist") == 0))
            embed_pictures(file, list, plan, t);
    }
}

static void all_times(FILE *file, const struct job_list *list, const struct plan *plan)
{
    times_markdown(file, list, plan, NULL);
}

/* What a function writes in Markdown, into the page. */
static void from_markdown(FILE *file, void (*write)(FILE *, const struct job_list *, const struct plan *),
                          const struct job_list *list, const struct plan *plan)
{
    FILE *markdown = tmpfile();
    if (markdown == NULL)
        return;
    write(markdown, list, plan);
    rewind(markdown);
    markdown_from(file, markdown);
    fclose(markdown);
}

static void experiment_tables(FILE *file, const struct job_list *list, const struct plan *plan, const char *experiment)
{
    fputs("<details><summary>The tables</summary>\n", file);
    if (strcmp(experiment, "shards") == 0)
        markdown_html(file, list, "shards.md");
    else
        for (size_t k = 0; k < plan->tables; k++)
            if (strcmp(plan->table[k].experiment, experiment) == 0 && table_there(list, plan, &plan->table[k]))
                html_table(file, list, plan, &plan->table[k]);
    fputs("</details>\n", file);
}

/* Of which there are pictures and tables, and nothing to draw. */
static int is_picture(const char *experiment)
{
    static const char *const names[] = {"oneshot", "recalled", "metric", "samples"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (strcmp(names[k], experiment) == 0)
            return 1;
    return 0;
}

static int html_experiment(FILE *file, const struct job_list *list, const struct plan *plan, const char *experiment,
                           int pictures, struct failure *failure)
{
    struct facts facts = facts_of(list, plan, experiment, NULL, NULL);
    char stale[256];
    int status = 0;
    if (facts.cells == 0)
        return 0;
    stale_text(&facts, stale, sizeof stale);
    fprintf(file, "<h2 id=%s>%s</h2>\n<p>", experiment, experiment);
    escaped(file, experiment_text(experiment));
    fprintf(file, "</p>\n<p class=soft>The cells took %.2f hours. %s</p>\n",
            experiment_seconds(list, plan, experiment) / 3600, stale);
    for (size_t d = 0; status == 0 && d < PLAN_DATASETS; d++) {
        facts = facts_of(list, plan, experiment, plan_datasets[d], NULL);
        if (facts.cells == 0 || is_picture(experiment))
            continue;
        fprintf(file, "<h3>%s</h3>\n", plan_datasets[d]);
        status = draw_curves(file, list, plan, experiment, plan_datasets[d], failure);
    }
    if (strcmp(experiment, "search") == 0)
        from_markdown(file, best_markdown, list, plan);
    if (strcmp(experiment, "forget") == 0)
        from_markdown(file, forget_markdown, list, plan);
    experiment_pictures(file, list, plan, experiment, pictures);
    experiment_tables(file, list, plan, experiment);
    return status;
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
        "back from a noisy or incomplete copy. In the charts, <b class=ours>blue</b> is the memory with this library's "
        "defaults, <b class=papers>orange</b> the memory as the paper does it, <b class=objective>dotted</b> the "
        "paper's objective with our minimiser, and dashed the paper's own figures. <b>nearest</b> keeps every image. "
        "Figures are mean squared errors on the scale [-1, 1], ± the standard deviation (of n - 1) over seeds; what is "
        "less than 0.00001 is drawn at 0. Bars and bands are deviations, or where there is one seed the standard error "
        "over its queries; every panel has its own range. ",
        file);
    fputs(marks_text(), file);
    fputs(" Green and amber are those marks on the memory's own rows.</p>\n", file);
    if (plan->tier == TIER_QUICK)
        fputs("<p><b>This is the quick tier:</b> small networks and short sequences, to see that everything runs. The "
              "paper's figures do not apply and are left out.</p>\n",
              file);
}

/* What scripts/compare-tables left in the folder. */
static void html_tables(FILE *file, const struct job_list *list)
{
    char path[2048];
    FILE *there = NULL;
    snprintf(path, sizeof path, "%s/tables.md", list->out);
    if ((there = fopen(path, "r")) == NULL)
        return;
    fclose(there);
    fputs("<h2 id=tables>tables</h2>\n<p>Not in the paper: gaps of tables filled and odd rows told, beside "
          "scikit-learn.</p>\n",
          file);
    snprintf(path, sizeof path, "%s/tables-fill.png", list->out);
    embed(file, path, "png", "plot", "tables filled, beside scikit-learn");
    fputs("<details><summary>The tables</summary>\n", file);
    markdown_html(file, list, "tables.md");
    fputs("</details>\n", file);
}

int write_report(const struct job_list *list, const struct plan *plan, const struct provenance *p, int pictures,
                 struct failure *failure)
{
    const char *const *names = plan_experiments();
    FILE *file = open_output(list, "report.html", failure);
    int status = 0;
    if (file == NULL)
        return -1;
    html_heading(file, plan, p);
    fputs("<nav>", file);
    if (plan->tier == TIER_PAPER)
        fputs("<a href='#counted'>what agrees</a>", file);
    for (size_t e = 0; names[e] != NULL; e++)
        if (facts_of(list, plan, names[e], NULL, NULL).cells > 0)
            fprintf(file, "<a href='#%s'>%s</a>", names[e], names[e]);
    fputs("<a href='#time'>time</a><a href='#tables'>tables</a></nav>\n", file);
    if (plan->tier == TIER_PAPER) {
        fputs("<h2 id=counted>What is here, and what agrees with the paper</h2>\n", file);
        from_markdown(file, counts_markdown, list, plan);
        fputs("<details><summary>Those that do not agree</summary>\n", file);
        from_markdown(file, exceptions_markdown, list, plan);
        fputs("</details>\n", file);
        html_counts(file, list, plan);
        html_above(file, list, plan);
    }
    for (size_t e = 0; status == 0 && names[e] != NULL; e++)
        status = html_experiment(file, list, plan, names[e], pictures, failure);
    fputs("<h2 id=time>Time</h2>\n", file);
    from_markdown(file, all_times, list, plan);
    html_tables(file, list);
    fputs("</html>\n", file);
    int closed = close_output(file, "report.html", failure);
    return status == 0 ? closed : status;
}
