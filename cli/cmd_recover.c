/* bpcn recover: what is intact of a damaged memory file, in a new one. */
#include "args.h"
#include "commands.h"
#include "upkeep.h"

int cmd_recover(int argc, char **argv)
{
    struct args a;
    args_begin(&a, argc, argv, &(struct option){NULL, 0, NULL, 0});
    while (args_next(&a) >= 0)
        ;
    if (!args_expect(&a, 2, 2, "IN OUT"))
        return a.status;
    int status = upkeep_recover(&a.say, args_rest(&a)[0], args_rest(&a)[1]);
    return say_flush(&a.say, status);
}
