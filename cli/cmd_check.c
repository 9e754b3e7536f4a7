/* bpcn check: verifies a memory file from end to end. */
#include "args.h"
#include "commands.h"
#include "upkeep.h"

int cmd_check(int argc, char **argv)
{
    struct args a;
    args_begin(&a, argc, argv, &(struct option){NULL, 0, NULL, 0});
    while (args_next(&a) >= 0)
        ;
    if (!args_expect(&a, 1, 1, "MEM"))
        return a.status;
    int status = upkeep_check(&a.say, args_rest(&a)[0]);
    return say_flush(&a.say, status);
}
