/* Named numbers in a text file, "name value" per line, closed by "end". */
#include "record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void record_set(struct record *r, const char *name, double value)
{
    size_t at = 0;
    while (at < r->count && strcmp(r->item[at].name, name) != 0)
        at++;
    if (at == RECORD_ITEMS)
        return;
    snprintf(r->item[at].name, sizeof r->item[at].name, "%.*s", RECORD_NAME - 1, name);
    r->item[at].value = value;
    r->count += at == r->count;
}

double record_get(const struct record *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->item[i].name, name) == 0)
            return r->item[i].value;
    return NAN;
}

int record_save(const struct record *r, const char *path, struct failure *failure)
{
    char temporary[2048];
    snprintf(temporary, sizeof temporary, "%s.%ld.part", path, (long)getpid());
    FILE *file = fopen(temporary, "w");
    if (file == NULL)
        return failed(failure, "cannot write %s: %s", temporary, strerror(errno));
    for (size_t i = 0; i < r->count; i++)
        fprintf(file, "%s %.17g\n", r->item[i].name, r->item[i].value);
    fputs("end\n", file);
    int bad = fflush(file) != 0 || fsync(fileno(file)) != 0;
    bad = fclose(file) != 0 || bad;
    if (!bad && rename(temporary, path) == 0)
        return 0;
    failed(failure, "cannot write %s: %s", path, strerror(errno));
    unlink(temporary);
    return -1;
}

int record_load(struct record *r, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256];
    int whole = 0;
    *r = (struct record){0};
    if (file == NULL)
        return -1;
    while (!whole && fgets(line, sizeof line, file) != NULL) {
        char *space = strchr(line, ' ');
        whole = strcmp(line, "end\n") == 0;
        if (whole || space == NULL)
            continue;
        *space = '\0';
        record_set(r, line, strtod(space + 1, NULL));
    }
    fclose(file);
    return whole ? 0 : -1;
}
