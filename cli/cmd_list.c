/* bpcn list: the names that a memory keeps. */
#include "args.h"
#include "commands.h"
#include "memfile.h"

#include <inttypes.h>
#include <stdlib.h>

static int list(struct memfile *file)
{
    const struct say *say = file->say;
    bpcn_options options;
    size_t count;
    bpcn_name *names = memfile_names(file, &count);
    if (names == NULL)
        return memfile_error(file);
    memfile_options(file, &options);
    for (size_t i = 0; i < count && !ferror(stdout); i++) {
        if (!say->json) {
            puts(names[i].name);
            continue;
        }
        fputs("{\"name\":", stdout);
        json_string(stdout, names[i].name);
        printf(",\"shard\":%" PRIu64 "}\n", names[i].shard);
    }
    free(names);
    if (options.names == 0)
        say_note(say, "%s: keeps no names (bpcn create --names N makes a memory that does)", file->path);
    return 0;
}

int cmd_list(int argc, char **argv)
{
    struct args a;
    struct memfile file;
    args_begin(&a, argc, argv, &(struct option){NULL, 0, NULL, 0});
    while (args_next(&a) >= 0)
        ;
    if (!args_expect(&a, 1, 1, "MEM"))
        return a.status;
    int status = memfile_open(&a.say, args_rest(&a)[0], TO_LOOK, &file);
    if (status != 0)
        return status;
    status = list(&file);
    memfile_close(&file);
    return say_flush(&a.say, status);
}
