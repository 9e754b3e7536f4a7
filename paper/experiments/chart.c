/* Charts as SVG. Colours and dashes are the page's, so that they follow its light and dark. */
#include "chart.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 340, HEIGHT = 240, LEFT = 64, RIGHT = 10, TOP = 26, BOTTOM = 40, ZERO_GAP = 16 };

void escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"' || *text == '\'')
            fprintf(file, "&#%d;", *text);
        else
            fputc(*text, file);
}

void chart_measure(const struct chart *c, struct axes *a)
{
    for (size_t l = 0; l < c->lines; l++)
        for (size_t p = 0; p < c->line[l].points; p++) {
            double y = c->line[l].point[p].y, deviation = c->line[l].point[p].deviation;
            a->zeros |= y < CHART_LEAST;
            if (y < CHART_LEAST)
                continue;
            a->least = a->least == 0 || y < a->least ? y : a->least;
            y += deviation > 0 ? deviation : 0;
            a->most = y > a->most ? y : a->most;
        }
}

static double x_of(const struct axes *a, size_t place)
{
    double step = (double)(WIDTH - LEFT - RIGHT - 20) / (double)(a->ticks > 1 ? a->ticks - 1 : 1);
    return LEFT + 10 + step * (double)place;
}

/* The nearest of 1, 2, 5 and 10 times a power of ten that is not above y, or not below it. */
static double round_to(double y, int upwards)
{
    static const double steps[] = {1, 2, 5, 10};
    double decade = pow(10, floor(log10(y) + 1e-9)), found = upwards ? 10 : 1;
    for (size_t k = 0; k < 4; k++) {
        double step = steps[upwards ? 3 - k : k];
        if (upwards ? step * decade >= y * (1 - 1e-9) : step * decade <= y * (1 + 1e-9))
            found = step;
    }
    return found * decade;
}

/* Where an axis begins and ends: at whole decades where there are more than two. */
struct range {
    double low, high;
    int fine; /* 2 and 5 have ticks too */
};

#define PAPER_DIGIT 1e-4 /* its tables tell no less: no axis ends below it */

static struct range range_of(const struct axes *a)
{
    struct range r = {.low = 1e-5, .high = 1, .fine = 1};
    if (a->most > 0)
        r = (struct range){round_to(a->least, 0), fmax(round_to(a->most, 1), PAPER_DIGIT), 1};
    if (r.high > 101 * r.low) {
        r.low = pow(10, floor(log10(r.low) + 1e-9));
        r.high = pow(10, ceil(log10(r.high) - 1e-9));
        r.fine = 0;
    }
    if (r.high < 1.5 * r.low)
        r.high = round_to(1.5 * r.low, 1);
    return r;
}

static double y_of(const struct axes *a, double y)
{
    struct range r = range_of(a);
    double floor_y = HEIGHT - BOTTOM;
    if (a->linear)
        return floor_y - y * (floor_y - TOP);
    if (!(y >= CHART_LEAST))
        return floor_y;
    floor_y -= a->zeros ? ZERO_GAP : 0;
    return floor_y - fmax(0, log(y / r.low) / log(r.high / r.low)) * (floor_y - TOP);
}

static void y_tick(FILE *file, double y, const char *text)
{
    fprintf(file,
            "<line class=grid x1=%d x2=%d y1=%.1f y2=%.1f /><text class=tick x=%d y=%.1f text-anchor=end>%s</text>",
            LEFT, WIDTH - RIGHT, y, y, LEFT - 5, y + 3.5, text);
}

static void log_ticks(FILE *file, const struct axes *a)
{
    static const double steps[] = {1, 2, 5};
    struct range r = range_of(a);
    int decades = (int)round(log10(r.high / r.low)), every = r.fine || decades <= 6 ? 1 : 2;
    for (int d = (int)floor(log10(r.low) + 1e-9); pow(10, d) <= r.high * 1.001; d += every)
        for (size_t k = 0; k < (r.fine ? 3 : 1); k++) {
            double y = steps[k] * pow(10, d);
            char text[32];
            if (y < r.low * 0.999 || y > r.high * 1.001)
                continue;
            snprintf(text, sizeof text, "%.*f", d < 0 ? -d : 0, y);
            y_tick(file, y_of(a, y), text);
        }
    if (a->zeros)
        y_tick(file, y_of(a, 0), "0");
}

static void draw_axes(FILE *file, const struct axes *a)
{
    char text[64];
    for (int k = 0; a->linear && k <= 4; k++) {
        snprintf(text, sizeof text, "%g", k / 4.0);
        y_tick(file, y_of(a, k / 4.0), text);
    }
    if (!a->linear)
        log_ticks(file, a);
    for (size_t k = 0; k < a->ticks; k++)
        fprintf(file, "<text class=tick x=%.1f y=%d text-anchor=middle>%s</text>", x_of(a, k), HEIGHT - BOTTOM + 14,
                a->tick[k]);
    fprintf(file, "<text class=axis x=%d y=%d text-anchor=middle>", (WIDTH + LEFT) / 2, HEIGHT - 8);
    escaped(file, a->x_title);
    fprintf(file, "</text><text class=axis x=10 y=%d text-anchor=middle transform='rotate(-90 10 %d)'>",
            (HEIGHT - BOTTOM + TOP) / 2, (HEIGHT - BOTTOM + TOP) / 2);
    escaped(file, a->y_title);
    fputs("</text>", file);
}

void chart_mark(FILE *file, const char *style, double x, double y)
{
    if (strstr(style, " m1") != NULL)
        fprintf(file, "<rect x=%.1f y=%.1f width=5 height=5 />", x - 2.5, y - 2.5);
    else if (strstr(style, " m2") != NULL)
        fprintf(file, "<path d='M%.1f %.1fl3.4 6h-6.8z'/>", x, y - 3.6);
    else
        fprintf(file, "<circle cx=%.1f cy=%.1f r=2.6 />", x, y);
}

/* What is below a line by its deviation: not below what can be drawn. */
static double below(const struct axes *a, double y, double deviation)
{
    return a->linear ? fmax(y - deviation, 0) : fmax(y - deviation, CHART_LEAST);
}

static double above(const struct axes *a, double y, double deviation)
{
    return a->linear ? fmin(y + deviation, 1) : y + deviation;
}

static void draw_band(FILE *file, const struct chart_line *l, const struct axes *a)
{
    fputs("<polygon points='", file);
    for (size_t p = 0; p < 2 * l->points; p++) {
        size_t at = p < l->points ? p : 2 * l->points - 1 - p;
        double y = l->point[at].y, deviation = l->point[at].deviation >= 0 ? l->point[at].deviation : 0;
        double edge = deviation == 0 ? y : p < l->points ? above(a, y, deviation) : below(a, y, deviation);
        fprintf(file, "%.1f,%.1f ", x_of(a, l->point[at].place), y_of(a, edge));
    }
    fputs("'/>", file);
}

static void draw_line(FILE *file, const struct chart_line *l, const struct axes *a)
{
    fprintf(file, "<g class='%s'>", l->style);
    if (a->bands)
        draw_band(file, l, a);
    fputs("<polyline points='", file);
    for (size_t p = 0; p < l->points; p++)
        fprintf(file, "%.1f,%.1f ", x_of(a, l->point[p].place), y_of(a, l->point[p].y));
    fputs("'/>", file);
    for (size_t p = 0; p < l->points; p++) {
        double x = x_of(a, l->point[p].place), y = l->point[p].y, deviation = l->point[p].deviation;
        if (!a->bands && deviation > 0 && (a->linear || y >= CHART_LEAST))
            fprintf(file, "<line x1=%.1f x2=%.1f y1=%.1f y2=%.1f />", x, x, y_of(a, below(a, y, deviation)),
                    y_of(a, above(a, y, deviation)));
        fputs("<g><title>", file);
        escaped(file, l->name);
        fprintf(file, ", %s: %.5f", a->tick[l->point[p].place], y);
        if (deviation >= 0)
            fprintf(file, " ± %.5f", deviation);
        fputs("</title>", file);
        chart_mark(file, l->style, x, y_of(a, y));
        fputs("</g>", file);
    }
    fputs("</g>\n", file);
}

void chart_draw(FILE *file, const struct chart *c, const struct axes *a)
{
    fprintf(file, "<svg viewBox='0 0 %d %d' role=img aria-label='", WIDTH, HEIGHT);
    escaped(file, c->title);
    fprintf(file, "'><text class=head x=%d y=15>", LEFT);
    escaped(file, c->title);
    fputs("</text>\n", file);
    draw_axes(file, a);
    for (size_t l = 0; l < c->lines; l++)
        draw_line(file, &c->line[l], a);
    fputs("</svg>\n", file);
}
