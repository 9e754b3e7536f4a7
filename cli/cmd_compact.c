/* bpcn compact: the log of a memory file folded, so that the file is as small as it can be. */
#include "args.h"
#include "commands.h"
#include "upkeep.h"

int cmd_compact(int argc, char **argv)
{
    struct args a;
    args_begin(&a, argc, argv, &(struct option){NULL, 0, NULL, 0});
    while (args_next(&a) >= 0)
        ;
    if (!args_expect(&a, 1, 2, "MEM [OUT]"))
        return a.status;
    char **rest = args_rest(&a);
    int status = upkeep_compact(&a.say, rest[0], args_count(&a) > 1 ? rest[1] : NULL);
    return say_flush(&a.say, status);
}
