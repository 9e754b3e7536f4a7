/* Charts as SVG. Colours and dashes are the page's, so that they follow its light and dark. */
#include "chart.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 340, HEIGHT = 240, LEFT = 56, RIGHT = 10, TOP = 26, BOTTOM = 40, ZERO_GAP = 16 };

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
            double y = c->line[l].point[p].y;
            a->zeros |= y < CHART_LEAST;
            if (y < CHART_LEAST)
                continue;
            a->least = a->least == 0 || y < a->least ? y : a->least;
            a->most = y > a->most ? y : a->most;
        }
}

static double x_of(const struct axes *a, size_t place)
{
    double step = (double)(WIDTH - LEFT - RIGHT - 20) / (double)(a->ticks > 1 ? a->ticks - 1 : 1);
    return LEFT + 10 + step * (double)place;
}

/* The lowest decade and the one above the highest; at least one apart. */
static int lowest(const struct axes *a)
{
    return a->least > 0 ? (int)floor(log10(a->least)) : -5;
}

static int highest(const struct axes *a)
{
    int top = a->most > 0 ? (int)ceil(log10(a->most)) : 0;
    return top > lowest(a) ? top : lowest(a) + 1;
}

static double y_of(const struct axes *a, double y)
{
    double floor_y = HEIGHT - BOTTOM;
    if (a->linear)
        return floor_y - y * (floor_y - TOP);
    if (!(y >= CHART_LEAST))
        return floor_y;
    floor_y -= a->zeros ? ZERO_GAP : 0;
    return floor_y - (log10(y) - lowest(a)) / (highest(a) - lowest(a)) * (floor_y - TOP);
}

static void y_tick(FILE *file, double y, const char *text)
{
    fprintf(file,
            "<line class=grid x1=%d x2=%d y1=%.1f y2=%.1f /><text class=tick x=%d y=%.1f text-anchor=end>%s</text>",
            LEFT, WIDTH - RIGHT, y, y, LEFT - 5, y + 3.5, text);
}

static void draw_axes(FILE *file, const struct axes *a)
{
    char text[64];
    if (a->linear)
        for (int k = 0; k <= 4; k++) {
            snprintf(text, sizeof text, "%g", k / 4.0);
            y_tick(file, y_of(a, k / 4.0), text);
        }
    else {
        int step = highest(a) - lowest(a) > 6 ? 2 : 1;
        for (int d = lowest(a); d <= highest(a); d += step) {
            if (d >= -3 && d <= 1)
                snprintf(text, sizeof text, "%g", pow(10, d));
            else
                snprintf(text, sizeof text, "10<tspan dy='-4' font-size='7'>%d</tspan>", d);
            y_tick(file, y_of(a, pow(10, d) * (1 + 1e-12)), text);
        }
        if (a->zeros)
            y_tick(file, y_of(a, 0), "0");
    }
    for (size_t k = 0; k < a->ticks; k++)
        fprintf(file, "<text class=tick x=%.1f y=%d text-anchor=middle>%s</text>", x_of(a, k), HEIGHT - BOTTOM + 14,
                a->tick[k]);
    fprintf(file, "<text class=axis x=%d y=%d text-anchor=middle>", (WIDTH + LEFT) / 2, HEIGHT - 8);
    escaped(file, a->x_title);
    fprintf(file, "</text><text class=axis x=11 y=%d text-anchor=middle transform='rotate(-90 11 %d)'>",
            (HEIGHT - BOTTOM + TOP) / 2, (HEIGHT - BOTTOM + TOP) / 2);
    escaped(file, a->y_title);
    fputs("</text>", file);
}

static void draw_line(FILE *file, const struct chart_line *l, const struct axes *a)
{
    fprintf(file, "<g class='%s'><polyline points='", l->style);
    for (size_t p = 0; p < l->points; p++)
        fprintf(file, "%.1f,%.1f ", x_of(a, l->point[p].place), y_of(a, l->point[p].y));
    fputs("'/>", file);
    for (size_t p = 0; p < l->points; p++) {
        double x = x_of(a, l->point[p].place), y = l->point[p].y, deviation = l->point[p].deviation;
        if (deviation > 0 && y >= CHART_LEAST)
            fprintf(file, "<line x1=%.1f x2=%.1f y1=%.1f y2=%.1f />", x, x, y_of(a, fmax(y - deviation, CHART_LEAST)),
                    y_of(a, y + deviation));
        fprintf(file, "<circle cx=%.1f cy=%.1f r=2.6><title>", x, y_of(a, y));
        escaped(file, l->name);
        fprintf(file, ", %s: %.5f", a->tick[l->point[p].place], y);
        if (deviation >= 0)
            fprintf(file, " ± %.5f", deviation);
        fputs("</title></circle>", file);
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
