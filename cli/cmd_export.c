/* bpcn export, bpcn import: parameters to and from NumPy. */
#include "archive.h"
#include "args.h"
#include "commands.h"
#include "memfile.h"

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
    char fields[FIELDS_TEXT_MOST];
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
    fields_format(&file.remark.fields, fields, sizeof fields);
    const bpcn_memory *memory = memfile_memory(&file);
    status = memory ? archive_save(&a.say, path, memory, fields) : EXIT_FAILED;
    memfile_close(&file);
    if (status == 0)
        say_result(&a.say, "%s: parameters of %s\n", path, args_rest(&a)[0]);
    return status ? status : say_flush(&a.say);
}

static int adopt(const struct say *say, const char *from, const char *to, bool force)
{
    bpcn_memory *memory;
    bpcn_options o = {.size = sizeof o};
    struct fields fields;
    char text[FIELDS_TEXT_MOST], why[200], size[32];
    int status = archive_load(say, from, &memory, text, sizeof text);
    if (status != 0)
        return status;
    bpcn_memory_get_options(memory, &o);
    snprintf(size, sizeof size, "%zu", o.dim);
    int failed = text[0] ? fields_parse(text, &fields, why, sizeof why)
                         : fields_parse_shape("row", size, &fields, why, sizeof why);
    if (failed || fields.dim != o.dim) {
        bpcn_memory_free(memory);
        return say_error(say, "%s: fields: %s", from, failed ? why : "not the memory's number of entries");
    }
    return memfile_adopt(say, to, memory, &fields, force);
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
    return status ? status : say_flush(&a.say);
}
