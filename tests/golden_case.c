/* Tensors of a case: loading, looking up and comparing (see golden_case.h). */
#include "support.h"

#include "golden_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Relative to the largest entry of the tensor (at least 1). Both sides are float64, so one
   operation agrees to about 1e-15; Adam divides by sqrt(v) + 1e-8 and can amplify the rounding of
   entries whose gradient nearly vanishes, hence the room. Measured: 6e-15 at worst. */
static const double tolerance = 1e-12;

void load_tensors(struct golden_case *c)
{
    fmt_names names;
    if (golden_names(c->folder, c->name, &names) != BPCN_OK)
        fail_msg("%s", bpcn_error());
    for (size_t k = 0; k < names.count; k++) {
        struct tensor *t = room(1, sizeof *t);
        assert_true(strlen(names.name[k]) < sizeof t->name);
        strcpy(t->name, names.name[k]);
        t->next = c->tensors;
        c->tensors = t;
        if (golden_tensor(c->folder, c->name, t->name, &t->array) != BPCN_OK)
            fail_msg("%s", bpcn_error());
    }
    fmt_names_free(&names);
}

struct tensor *find(const struct golden_case *c, const char *name)
{
    struct tensor *t = c->tensors;
    while (t != NULL && strcmp(t->name, name) != 0)
        t = t->next;
    return t;
}

static const fmt_array *vinput(struct golden_case *c, const char *format, va_list arguments)
{
    char name[160];
    vsnprintf(name, sizeof name, format, arguments);
    struct tensor *t = find(c, name);
    if (t != NULL && t->seen == UNSEEN)
        t->seen = INPUT;
    return t ? &t->array : NULL;
}

const fmt_array *input(struct golden_case *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const fmt_array *a = vinput(c, format, arguments);
    va_end(arguments);
    return a;
}

const fmt_array *required(struct golden_case *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const fmt_array *a = vinput(c, format, arguments);
    va_end(arguments);
    if (a == NULL)
        fail_msg("%s: %s is missing", c->name, format);
    return a;
}

void compare(struct golden_case *c, const char *name, size_t count, const double *got)
{
    struct tensor *t = find(c, name);
    if (t == NULL)
        return;
    t->seen = COMPARED;
    if (t->array.count != count) {
        print_error("%s.%s has %zu entries, expected %zu\n", c->name, name, t->array.count, count);
        c->failures++;
        return;
    }
    double off = greatest_difference(count, got, t->array.data) / fmax(1, greatest_size(count, t->array.data));
    if (!(off <= c->worst)) {
        c->worst = off;
        snprintf(c->worst_name, sizeof c->worst_name, "%s", name);
    }
    if (!(off <= tolerance)) {
        print_error("%s.%s is off by %g, more than %g\n", c->name, name, off, tolerance);
        c->failures++;
    }
}
