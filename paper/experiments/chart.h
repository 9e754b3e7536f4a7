/* Small charts as SVG inside the report: panels side by side, at most CHART_LINES lines each. */
#ifndef EXPERIMENTS_CHART_H
#define EXPERIMENTS_CHART_H

#include <stddef.h>
#include <stdio.h>

enum { CHART_LINES = 7, CHART_POINTS = 16 };

struct chart_line {
    char style[40]; /* classes of the page's style sheet, such as "s0" or "s0 dash"; with m1 or m2 the marks are others
                     */
    char name[80];
    size_t points;
    struct {
        size_t place; /* among the chart's ticks along x */
        double y, deviation;
    } point[CHART_POINTS];
};

struct chart {
    char title[96];
    size_t lines;
    struct chart_line line[CHART_LINES];
};

struct axes {
    int linear; /* from 0 to 1; otherwise logarithmic, what is below CHART_LEAST at 0 */
    int bands;  /* deviations as bands, where there are many points; otherwise as bars */
    const char *x_title, *y_title;
    size_t ticks;
    char tick[CHART_POINTS][16]; /* along x, evenly spaced */
    double least, most;          /* of what is drawn: chart_measure */
    int zeros;                   /* whether some of it is 0 */
};

#define CHART_LEAST 1e-5 /* the paper's four digits tell less than ten times this from 0 */

/* Widens the axes to what a chart shows. */
void chart_measure(const struct chart *chart, struct axes *axes);
void chart_draw(FILE *file, const struct chart *chart, const struct axes *axes);

/* The mark of a point: a disc; m1: a square; m2: a triangle. */
void chart_mark(FILE *file, const char *style, double x, double y);

/* Text in a page. */
void escaped(FILE *file, const char *text);

#endif
