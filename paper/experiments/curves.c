/* Which rows of the tables are drawn together: a figure for each group of rows, a panel for each task. */
#include "results.h"

#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURES = 24, PANELS = 8 };

/* Panels that share their legend and what is along x; each has its own range of errors. */
struct strip {
    char name[80];
    struct axes axes;
    size_t panels;
    struct chart panel[PANELS];
    const struct row *row[PANELS * CHART_LINES]; /* that are drawn, for the legend */
    char row_style[PANELS * CHART_LINES][24];
    size_t rows;
};

struct drawing {
    const struct job_list *list;
    const struct plan *plan;
    const struct table *table;
    size_t figures;
    struct strip *strip; /* [FIGURES] */
};

/* ---- groups */

static int is(const struct table *t, const char *experiment)
{
    return strcmp(t->experiment, experiment) == 0;
}

/* The name of the figure that a row is drawn in; "": in none. */
static void group_of(const struct table *t, const struct row *r, char *name, size_t room)
{
    enum role role = role_of(r);
    *name = '\0';
    if (r->spec.kind == METHOD_IDENTITY || (is(t, "recall") && strcmp(r->paper_table, "depth") == 0))
        return;
    if (is(t, "equal-memory") || is(t, "shards"))
        snprintf(name, room, "%s", t->kind == CELL_STREAM ? "a stream" : "by size");
    else if (is(t, "scaling"))
        snprintf(name, room, "L%zu", r->spec.layers + 1);
    else if (is(t, "search"))
        snprintf(name, room, "%s, %s", role == ROLE_PAPER ? "as the paper does it" : "ours",
                 bpcn_activation_name(r->spec.activation));
    else if (is(t, "forget"))
        snprintf(name, room, "%s",
                 role == ROLE_PAPER  ? "as the paper does it"
                 : role == ROLE_OURS ? "ours"
                                     : "the paper's objective");
    else if (role == ROLE_OPPONENT)
        snprintf(name, room, "%s",
                 r->spec.kind == METHOD_GPCN_OFFLINE || r->spec.kind == METHOD_GPCN_ONLINE ? "GPCN"
                                                                                           : "MHN and nearest");
    else if (is(t, "sigma"))
        snprintf(name, room, "sigma_w %g, sigma_x %g", r->spec.sigma_w, r->spec.sigma_x);
    else
        snprintf(name, room, "%s", r->paper_row[0] ? r->paper_row : "the memory");
}

/* The figure of that name with room for as many lines more in its last panel; more of them where it is full. */
static struct strip *strip_of(struct drawing *d, const char *name, size_t panel, size_t lines)
{
    char numbered[80];
    for (size_t part = 1; part < 9; part++) {
        size_t at = 0;
        snprintf(numbered, sizeof numbered, part > 1 ? "%s (%zu)" : "%s", name, part);
        while (at < d->figures && strcmp(d->strip[at].name, numbered) != 0)
            at++;
        if (at == FIGURES)
            return NULL;
        struct strip *s = &d->strip[at];
        if (at == d->figures) {
            *s = (struct strip){0};
            snprintf(s->name, sizeof s->name, "%s", numbered);
            d->figures++;
        }
        while (s->panels <= panel && s->panels < PANELS)
            snprintf(s->panel[s->panels++].title, sizeof s->panel[0].title, "%s", d->table->task.name);
        if (panel < PANELS && s->panel[panel].lines + lines <= CHART_LINES)
            return s;
    }
    return NULL;
}

/* ---- styles: a class for the colour, and one for the mark where several rows have the same colour */

/* The memory by whose it is; opponents each its own; otherwise by number. */
static void colour_of(const struct table *t, const struct row *r, size_t number, char *style, size_t room)
{
    static const char *const roles[] = {"ours", "objective", "papers"};
    enum role role = role_of(r);
    if (is(t, "search")) /* of each width one and four particles */
        snprintf(style, room, "s%zu", number / 2 % 6);
    else if (is(t, "forget") || t->kind == CELL_STREAM || (is(t, "scaling") && role != ROLE_PAPER))
        snprintf(style, room, "s%zu", number % 6);
    else if (role != ROLE_OPPONENT)
        snprintf(style, room, "%s", roles[role]);
    else
        snprintf(style, room, "%s",
                 r->spec.kind == METHOD_NEAREST        ? "s5"
                 : r->spec.kind == METHOD_GPCN_OFFLINE ? "s2"
                 : r->spec.kind == METHOD_GPCN_ONLINE  ? "s1"
                 : r->spec.metric == MHN_DOT           ? "s4"
                 : r->spec.metric == MHN_PAPER_DOT     ? "s3"
                                                       : "s0");
}

/* The style of a row, the same in all panels of a figure, and no other row's; the row is kept for the legend. */
static const char *style_of(struct strip *s, const struct table *t, const struct row *row)
{
    char colour[16];
    size_t same = 0;
    for (size_t k = 0; k < s->rows; k++)
        if (strcmp(s->row[k]->label, row->label) == 0)
            return s->row_style[k];
    colour_of(t, row, s->rows, colour, sizeof colour);
    for (size_t k = 0; k < s->rows; k++)
        same += strncmp(s->row_style[k], colour, strcspn(s->row_style[k], " ")) == 0;
    snprintf(s->row_style[s->rows], sizeof s->row_style[0], same > 0 ? "%s m%zu" : "%s", colour, same > 2 ? 2 : same);
    s->row[s->rows] = row;
    return s->row_style[s->rows++];
}

/* ---- lines */

static struct chart_line *new_line(struct strip *s, size_t panel, const char *style, const char *name)
{
    struct chart *c = &s->panel[panel];
    struct chart_line *l = &c->line[c->lines++];
    *l = (struct chart_line){0};
    snprintf(l->style, sizeof l->style, "%s", style);
    snprintf(l->name, sizeof l->name, "%.76s", name);
    return l;
}

static void add_point(struct chart_line *l, size_t place, double y, double deviation)
{
    if (!isfinite(y) || l->points == CHART_POINTS)
        return;
    l->point[l->points].place = place;
    l->point[l->points].y = y;
    l->point[l->points++].deviation = deviation;
}

static int has_line(const struct chart *c, const char *name)
{
    for (size_t k = 0; k < c->lines; k++)
        if (strcmp(c->line[k].name, name) == 0)
            return 1;
    return 0;
}

/* A row by length, with the paper's figures, once for all rows that have the same. */
static void by_length(struct drawing *d, size_t panel)
{
    const struct table *t = d->table;
    for (size_t r = 0; r < t->rows; r++) {
        char group[80], name[96];
        struct chart_line run = {0}, paper = {0};
        group_of(t, &t->row[r], group, sizeof group);
        for (size_t c = 0; c < t->columns && group[0] != '\0'; c++) {
            struct figure f = figure_of(d->list, d->plan, t, r, c, t->measure);
            add_point(&run, c, f.mean, f.spread);
            add_point(&paper, c, f.paper, f.paper_deviation);
        }
        snprintf(name, sizeof name, "the paper's %s", t->row[r].paper_row);
        struct strip *s = run.points > 0 ? strip_of(d, group, panel, 1) : NULL;
        if (s != NULL && paper.points > 0 && !has_line(&s->panel[panel], name))
            s = strip_of(d, group, panel, 2);
        if (s == NULL)
            continue;
        const char *style = style_of(s, t, &t->row[r]);
        struct chart_line *l = new_line(s, panel, style, t->row[r].label);
        l->points = run.points;
        memcpy(l->point, run.point, sizeof run.point);
        if (paper.points > 0 && !has_line(&s->panel[panel], name)) {
            char dashed[32];
            snprintf(dashed, sizeof dashed, "%s dash", role_of(&t->row[r]) == ROLE_OPPONENT ? style : "paper");
            l = new_line(s, panel, dashed, name);
            l->points = paper.points;
            memcpy(l->point, paper.point, sizeof paper.point);
        }
    }
}

/* A row by the age of the images, oldest first: their error, or the share recalled. */
static void by_age(struct drawing *d, size_t panel, const char *measure)
{
    const struct table *t = d->table;
    for (size_t r = 0; r < t->rows; r++) {
        char group[80];
        group_of(t, &t->row[r], group, sizeof group);
        if (figure_of(d->list, d->plan, t, r, 0, "mse").seeds == 0)
            continue;
        struct strip *s = strip_of(d, group, panel, 1);
        if (s == NULL)
            continue;
        struct chart_line *l = new_line(s, panel, style_of(s, t, &t->row[r]), t->row[r].label);
        for (size_t a = 0; a < 16; a++) {
            char name[32];
            snprintf(name, sizeof name, "%s_%zu", measure, a);
            struct figure f = figure_of(d->list, d->plan, t, r, 0, name);
            add_point(l, a, f.mean, f.deviation);
        }
    }
}

/* Rows in threes: the memory, as many bytes of images, as many of one byte an entry. */
static void by_bytes(struct drawing *d, size_t panel)
{
    static const char *const styles[] = {"ours", "s5", "s1"}, *const names[] = {"bayespcn", "nearest, float32",
                                                                                "nearest, uint8"};
    const struct table *t = d->table;
    struct strip *s = strip_of(d, "by size", panel, 3);
    for (size_t k = 0; k < 3 && s != NULL; k++) {
        struct chart_line *l = new_line(s, panel, styles[k], names[k]);
        for (size_t r = k; r < t->rows; r += 3) {
            struct figure f = figure_of(d->list, d->plan, t, r, 0, "mse"),
                          bytes = figure_of(d->list, d->plan, t, r - k, 0, "bytes");
            add_point(l, r / 3, f.mean, f.deviation);
            if (isfinite(bytes.mean))
                snprintf(s->axes.tick[r / 3], sizeof s->axes.tick[0], "%.3g", bytes.mean / 1e6);
        }
    }
    if (s != NULL)
        s->axes.ticks = t->rows / 3;
}

/* A line for each number of rows a unit, by width; the last point is a single network. */
static void by_width(struct drawing *d, size_t panel)
{
    static const size_t widths[] = {8, 16, 32, 64, 128, 256, 512, 1024};
    static const char *const names[] = {"one row a unit", "two rows a unit", "four rows a unit"};
    const struct table *t = d->table;
    size_t first = d->plan->tier == TIER_PAPER; /* whose narrowest is 16 */
    struct strip *s = strip_of(d, "by size", panel, 3);
    for (size_t k = 0; k < 3 && s != NULL; k++) {
        char style[24];
        snprintf(style, sizeof style, "s%zu", k);
        struct chart_line *l = new_line(s, panel, style, names[k]);
        for (size_t w = first; w < 8; w++)
            for (size_t r = 0; r < t->rows; r++) {
                const struct method_spec *m = &t->row[r].spec;
                if (m->kind == METHOD_BAYESPCN && m->hidden[0] == widths[w] && m->shard_rows == widths[w] << k)
                    add_point(l, w - first, figure_of(d->list, d->plan, t, r, 0, "mse").mean, NAN);
            }
    }
    for (size_t w = first; w < 8 && s != NULL; w++)
        snprintf(s->axes.tick[w - first], sizeof s->axes.tick[0], "%zu", widths[w]);
    if (s != NULL)
        s->axes.ticks = 8 - first;
}

static void unseen(struct drawing *d)
{
    static const char *const measures[] = {"clean_mse", "noisy_mse", "noisy_identity"};
    static const char *const names[] = {"read clean", "read with noise 0.2", "the noisy query itself"};
    struct strip *s = strip_of(d, "unseen images", 0, 3);
    for (size_t k = 0; k < 3 && s != NULL; k++) {
        char style[24];
        snprintf(style, sizeof style, "s%zu", k);
        struct chart_line *l = new_line(s, 0, style, names[k]);
        for (size_t c = 0; c < d->table->columns; c++) {
            struct figure f = figure_of(d->list, d->plan, d->table, 0, c, measures[k]);
            add_point(l, c, f.mean, f.deviation);
        }
    }
}

static void add_panel(struct drawing *d, size_t panel)
{
    const struct table *t = d->table;
    if (t->kind == CELL_GENERALIZATION)
        unseen(d);
    else if (t->kind == CELL_STREAM)
        by_age(d, 0, "exact");
    else if (is(t, "shards"))
        by_width(d, panel);
    else if (is(t, "forget"))
        by_age(d, panel, "age");
    else if (is(t, "equal-memory"))
        by_bytes(d, panel);
    else if (t->kind == CELL_RECALL)
        by_length(d, panel);
}

/* ---- the page */

static void set_axes(const struct table *t, struct axes *a)
{
    int ages = is(t, "forget") || t->kind == CELL_STREAM;
    a->bands = ages;
    a->linear = strcmp(t->measure, "accuracy") == 0 || t->kind == CELL_STREAM;
    a->y_title = a->linear ? "share recalled" : "mean squared error";
    a->x_title = ages                    ? "age group, 1 the oldest"
                 : is(t, "equal-memory") ? "MB"
                 : is(t, "shards")       ? "width of a shard"
                                         : "images written";
    if (ages)
        a->ticks = 16;
    for (size_t k = 0; ages && k < 16; k += 3)
        snprintf(a->tick[k], sizeof a->tick[0], "%zu", k + 1);
    if (ages || is(t, "equal-memory") || is(t, "shards"))
        return;
    a->ticks = t->columns;
    for (size_t c = 0; c < t->columns; c++)
        snprintf(a->tick[c], sizeof a->tick[0], "%zu", t->lengths[c]);
}

static void key(FILE *file, const char *style, const char *name, const char *caption)
{
    fprintf(file, "<li><svg class=swatch viewBox='0 0 26 10'><g class='%s'><polyline points='1,5 25,5'/>", style);
    chart_mark(file, style, 13, 5);
    fputs("</g></svg> <b>", file);
    escaped(file, name);
    fputs("</b> ", file);
    escaped(file, caption);
    fputs("</li>\n", file);
}

/* Lines that are of several rows: what those have in common. */
static void made_of(FILE *file, const struct drawing *d)
{
    struct facts facts = facts_of(d->list, d->plan, d->table->experiment, d->table->dataset, NULL);
    char text[128];
    size_t r = 0;
    while (r + 1 < d->table->rows && d->table->row[r].spec.kind != METHOD_BAYESPCN)
        r++;
    const struct method_spec *s = &d->table->row[r].spec;
    fprintf(file, "<p class=soft>Networks of %zu hidden layers, %s, N %zu; %zu images", s->layers,
            bpcn_activation_name(s->activation), s->particles, d->table->lengths[d->table->columns - 1]);
    facts_text(&facts, text, sizeof text);
    fprintf(file, "%s.</p>\n", text);
}

/* Rows with how they were made; lines that are no rows, the paper's among them, by name. */
static void legend(FILE *file, const struct drawing *d, const struct strip *s)
{
    const char *papers = NULL;
    fputs("<ul class=key>\n", file);
    for (size_t k = 0; k < s->rows; k++) {
        char caption[400];
        struct facts facts = facts_of(d->list, d->plan, d->table->experiment, d->table->dataset, s->row[k]->label);
        row_caption(s->row[k], &facts, caption, sizeof caption);
        key(file, s->row_style[k], s->row[k]->label, caption);
    }
    for (size_t p = 0; p < s->panels; p++)
        for (size_t l = 0; l < s->panel[p].lines; l++)
            if (strstr(s->panel[p].line[l].style, "dash") != NULL)
                papers = s->panel[p].line[l].style;
    if (papers != NULL)
        key(file, papers, "the paper's figures", "with deviations where it gives them");
    for (size_t l = 0; s->rows == 0 && l < s->panel[0].lines; l++)
        if (s->panel[0].line[l].points > 0)
            key(file, s->panel[0].line[l].style, s->panel[0].line[l].name, "");
    fputs("</ul>\n", file);
    if (s->rows == 0)
        made_of(file, d);
}

static void draw_strip(FILE *file, const struct drawing *d, struct strip *s)
{
    set_axes(d->table, &s->axes);
    fputs("<figure><h4>", file);
    escaped(file, s->name);
    fputs("</h4><div class=panels>\n", file);
    for (size_t p = 0; p < s->panels; p++) {
        struct axes axes = s->axes;
        chart_measure(&s->panel[p], &axes);
        if (s->panel[p].lines > 0)
            chart_draw(file, &s->panel[p], &axes);
    }
    fputs("</div><figcaption>", file);
    legend(file, d, s);
    fputs("</figcaption></figure>\n", file);
}

int draw_curves(FILE *file, const struct job_list *list, const struct plan *plan, const char *experiment,
                const char *dataset, struct failure *failure)
{
    struct drawing d = {.list = list, .plan = plan, .strip = calloc(FIGURES, sizeof *d.strip)};
    size_t panel = 0;
    if (d.strip == NULL)
        return failed(failure, "out of memory for the charts");
    for (size_t k = 0; k < plan->tables; k++) {
        const struct table *t = &plan->table[k];
        int collection = is(t, "shards") && strcmp(t->dataset, "fashion-mnist") == 0 && t->kind == CELL_RECALL;
        if (!is(t, experiment) || strcmp(t->dataset, dataset) != 0 || collection || !table_there(list, plan, t))
            continue;
        d.table = t;
        add_panel(&d, panel++);
    }
    for (int opponents = 0; opponents < 2; opponents++) /* after the memory */
        for (size_t k = 0; k < d.figures; k++)
            if (opponents == (d.strip[k].rows > 0 && role_of(d.strip[k].row[0]) == ROLE_OPPONENT))
                draw_strip(file, &d, &d.strip[k]);
    free(d.strip);
    return 0;
}
