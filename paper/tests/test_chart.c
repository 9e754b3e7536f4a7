/*
 * Charts of errors: what is drawn where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A chart of one line through these errors. */
static const char *drawn(const char *title, const double *errors, size_t count, struct axes *axes)
{
    static char svg[16384];
    struct chart chart = {.lines = 1};
    FILE *file = tmpfile();
    assert_non_null(file);
    snprintf(chart.title, sizeof chart.title, "%s", title);
    *axes = (struct axes){.x_title = "x", .y_title = "y", .ticks = count, .tick = {"1", "2", "3", "4"}};
    chart.line[0].points = count;
    for (size_t k = 0; k < count; k++) {
        chart.line[0].point[k].place = k;
        chart.line[0].point[k].y = errors[k];
        chart.line[0].point[k].deviation = NAN;
    }
    chart_measure(&chart, axes);
    chart_draw(file, &chart, axes);
    rewind(file);
    svg[fread(svg, 1, sizeof svg - 1, file)] = '\0';
    fclose(file);
    return svg;
}

/* The height of the n-th point, downwards from the top. */
static double height_of(const char *svg, int n)
{
    for (int k = 0; k <= n; k++) {
        svg = strstr(svg, "cy=");
        assert_non_null(svg);
        svg += 3;
    }
    return strtod(svg, NULL);
}

static void an_error_of_zero_is_drawn_at_the_axis_and_below_all_others(void **state)
{
    static const double errors[] = {0, 1e-9, 1e-4, 1e-2};
    struct axes axes;
    (void)state;
    const char *svg = drawn("a < b", errors, 4, &axes);
    assert_true(axes.zeros && axes.least == 1e-4 && axes.most == 1e-2);
    assert_true(height_of(svg, 0) == height_of(svg, 1));     /* less than can be told apart is none */
    assert_true(height_of(svg, 2) < height_of(svg, 0) - 10); /* downwards: the least error is well above the axis */
    assert_true(height_of(svg, 3) < height_of(svg, 2) - 50);
    assert_non_null(strstr(svg, "a &#60; b"));
}

static void an_axis_of_little_range_has_ticks_between_the_decades(void **state)
{
    static const double errors[][2] = {{0.0017, 0.034}, {0.0017, 3.4}};
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct axes axes;
        const char *svg = drawn("t", errors[wide], 2, &axes);
        assert_non_null(strstr(svg, ">0.01<"));
        assert_int_equal(strstr(svg, ">0.05<") != NULL, !wide);
        assert_int_equal(strstr(svg, ">10<") != NULL, wide);
        assert_int_equal(strstr(svg, ">0.1<") != NULL, wide); /* no higher than needed */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_of_zero_is_drawn_at_the_axis_and_below_all_others),
        cmocka_unit_test(an_axis_of_little_range_has_ticks_between_the_decades),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
