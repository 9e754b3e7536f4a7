/* How a cell was computed. paper.mk compiles this file anew for every commit and every change of the sources that cells
   depend on: it defines PROGRAM_COMMIT and the three digests. */
#include "provenance.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

const char *const provenance_names[PROVENANCE_FIELDS] = {"commit", "kernels", "date", "cpu", "code"};

const char *provenance_field(const struct provenance *p, size_t field)
{
    const char *const fields[PROVENANCE_FIELDS] = {p->commit, p->kernels, p->date, p->cpu, p->code};
    return fields[field];
}

static const char *take_field(const char *text, char *field, size_t room)
{
    size_t length = strcspn(text, ",");
    snprintf(field, room, "%.*s", (int)length, text);
    return text + length + (text[length] == ',');
}

void provenance_parse(const char *text, struct provenance *p)
{
    text = take_field(text, p->commit, sizeof p->commit);
    text = take_field(text, p->kernels, sizeof p->kernels);
    text = take_field(text, p->date, sizeof p->date);
    text = take_field(text, p->cpu, sizeof p->cpu);
    take_field(text, p->code, sizeof p->code);
}

/* "model name" of the first processor, without what would end a field of CSV. */
static void processor_name(char *name, size_t room)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, room, "unknown processor");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, room, "%.90s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (file != NULL)
        fclose(file);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == ',' || *c == '"' ? ' ' : *c;
}

/* The kernels that a memory has on this CPU. */
static void kernels_name(char *name, size_t room)
{
    bpcn_options o;
    bpcn_memory *memory = NULL;
    bpcn_stats stats = {.size = sizeof stats};
    bpcn_options_default(&o, sizeof o);
    o.scale = BPCN_SCALE_AS_GIVEN;
    o.dim = o.layers = o.hidden[0] = 1;
    if (bpcn_memory_create(&o, &memory) == BPCN_OK && bpcn_memory_get_stats(memory, &stats) == BPCN_OK)
        snprintf(name, room, "%s", stats.kernels);
    bpcn_memory_free(memory);
}

void provenance_here(const struct method_spec *spec, struct provenance *p)
{
    time_t now = time(NULL);
    struct tm day;
    *p = (struct provenance){.commit = PROGRAM_COMMIT};
    kernels_name(p->kernels, sizeof p->kernels);
    if (gmtime_r(&now, &day) == NULL || strftime(p->date, sizeof p->date, "%Y-%m-%d", &day) == 0)
        p->date[0] = '\0';
    processor_name(p->cpu, sizeof p->cpu);
    snprintf(p->code, sizeof p->code, "%s", provenance_code(spec));
}

const char *provenance_code(const struct method_spec *spec)
{
    if (spec->kind == METHOD_BAYESPCN)
        return CODE_MEMORY;
    return spec->kind == METHOD_GPCN_OFFLINE || spec->kind == METHOD_GPCN_ONLINE ? CODE_GPCN : CODE_KEPT;
}
