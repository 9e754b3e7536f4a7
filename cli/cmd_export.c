/* bpcn export, bpcn import: parameters to and from NumPy. */
#include "archive.h"
#include "args.h"
#include "commands.h"
#include "memfile.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { OPT_FORCE = 400 };

static bool is_archive(const char *path)
{
    size_t length = strlen(path);
    return length >= 4 && strcasecmp(path + length - 4, ".npz") == 0;
}

int cmd_export(int argc, char **argv)
{
    struct args a;
    struct memfile file;
    args_begin(&a, argc, argv, &(struct option){NULL, 0, NULL, 0});
    while (args_next(&a) >= 0)
        ;
    if (!args_expect(&a, 2, 2, "MEM OUT.npz"))
        return a.status;
    const char *path = args_rest(&a)[1];
    if (!is_archive(path))
        return say_usage(&a.say, "%s: an export is written as .npz", path);
    int status = memfile_open(&a.say, args_rest(&a)[0], TO_LOOK, &file);
    if (status != 0)
        return status;
    char *schema = fmt_schema_format(&file.remark.fields), *text = schema;
    if (schema != NULL && strncmp(schema, "fields=", 7) == 0) { /* the short form goes without its key */
        schema[strcspn(schema, "\n")] = '\0';
        text = schema + 7;
    }
    const bpcn_memory *memory = schema ? memfile_memory(&file) : NULL;
    if (schema == NULL)
        say_error(&a.say, "out of memory");
    status = memory ? archive_save(&a.say, path, memory, text) : EXIT_FAILED;
    free(schema);
    memfile_close(&file);
    if (status == 0)
        say_result(&a.say, "%s: parameters of %s\n", path, args_rest(&a)[0]);
    return say_flush(&a.say, status);
}

static int adopt(const struct say *say, const char *from, const char *to, bool force)
{
    bpcn_memory *memory;
    bpcn_options o = {.size = sizeof o};
    fmt_schema fields;
    fmt_error why;
    char text[NOTE_MOST], size[32];
    int status = archive_load(say, from, &memory, text, sizeof text);
    if (status != 0)
        return status;
    bpcn_memory_get_options(memory, &o);
    snprintf(size, sizeof size, "%zu", o.dim);
    bool lines = strncmp(text, "columns=", 8) == 0 || strncmp(text, "missing=", 8) == 0;
    int failed = lines     ? fmt_schema_parse(text, &fields, &why) != FMT_OK
                 : text[0] ? fmt_schema_parse_fields(text, &fields, &why) != FMT_OK
                           : fields_parse_shape("row", size, &fields, &why);
    if (failed || fields.dim != o.dim) {
        bpcn_memory_free(memory);
        status = say_error(say, "%s: fields: %s", from, failed ? why.message : "not the memory's number of entries");
    } else {
        status = memfile_adopt(say, to, memory, &fields, force);
    }
    if (!failed)
        fmt_schema_free(&fields);
    return status;
}

int cmd_import(int argc, char **argv)
{
    static const struct option own[] = {{"force", no_argument, NULL, OPT_FORCE}, {NULL, 0, NULL, 0}};
    struct args a;
    bool force = false;
    args_begin(&a, argc, argv, own);
    while (args_next(&a) >= 0)
        force = true;
    if (!args_expect(&a, 2, 2, "MEM IN.npz"))
        return a.status;
    const char *memory = args_rest(&a)[0], *archive = args_rest(&a)[1];
    if (is_archive(memory) && !is_archive(archive)) { /* the other order is plain enough */
        archive = memory;
        memory = args_rest(&a)[1];
    }
    int status = adopt(&a.say, archive, memory, force);
    if (status == 0)
        say_result(&a.say, "%s: parameters of %s\n", memory, archive);
    return say_flush(&a.say, status);
}
