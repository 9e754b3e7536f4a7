/* One line a row. */
#include "scores.h"

#include <stdlib.h>
#include <string.h>

struct scores {
    const struct say *say;
    fmt_output *out;
    fmt_error error;
};

static const char header[] = "row,log_density\n";

struct scores *scores_open(const struct say *say, const char *path)
{
    struct scores *s = calloc(1, sizeof *s);
    if (s == NULL) {
        say_error(say, "out of memory");
        return NULL;
    }
    s->say = say;
    s->out = fmt_output_open(path, &s->error);
    if (s->out != NULL && fmt_output_put(s->out, header, strlen(header)) == FMT_OK)
        return s;
    say_error(say, "%s", s->error.message);
    scores_close(s, false);
    return NULL;
}

int scores_add(struct scores *s, size_t row, const bpcn_read_info *info)
{
    char line[80];
    int size = snprintf(line, sizeof line, "%zu,%.6f\n", row, info->log_density);
    if (fmt_output_put(s->out, line, (size_t)size) == FMT_OK)
        return 0;
    return say_error(s->say, "%s", s->error.message);
}

int scores_close(struct scores *s, bool keep)
{
    int status = 0;
    if (s == NULL)
        return 0;
    if (fmt_output_close(s->out, keep ? FMT_OK : FMT_ERR_ARGUMENT) != FMT_OK && keep)
        status = say_error(s->say, "%s", s->error.message);
    free(s);
    return status;
}
