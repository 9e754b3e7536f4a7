/* One line a row. */
#include "scores.h"

#include <stdlib.h>
#include <string.h>

struct scores {
    const struct say *say;
    fmt_output *out;
    fmt_error error;
    double alarm;
};

struct scores *scores_open(const struct say *say, const char *path, double alarm)
{
    const char *header = alarm < 0 ? "row,log_density,familiarity,verdict,typicality\n"
                                   : "row,log_density,familiarity,verdict,typicality,alarm\n";
    struct scores *s = calloc(1, sizeof *s);
    if (s == NULL) {
        say_error(say, "out of memory");
        return NULL;
    }
    s->say = say;
    s->alarm = alarm;
    s->out = fmt_output_open(path, &s->error);
    if (s->out != NULL && fmt_output_put(s->out, header, strlen(header)) == FMT_OK)
        return s;
    say_error(say, "%s", s->error.message);
    scores_close(s, false);
    return NULL;
}

int scores_add(struct scores *s, size_t row, const bpcn_read_info *info, double typicality)
{
    char line[160], share[32] = "";
    bool alarm = typicality >= 0 && typicality <= s->alarm;
    if (typicality >= 0)
        snprintf(share, sizeof share, "%.6g", typicality);
    int size = snprintf(line, sizeof line, "%zu,%.6f,%.6g,%s,%s%s\n", row, info->log_density, info->familiarity,
                        bpcn_verdict_name(info->verdict), share,
                        s->alarm < 0 ? ""
                        : alarm      ? ",1"
                                     : ",0");
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
