/* bpcn: finds the command and runs it. */
#include "args.h"
#include "bayespcn.h"
#include "commands.h"
#include "help.h"
#include "progress.h"

#include <signal.h>
#include <string.h>

const char program_name[] = "bpcn";

static int unknown_command(const char *name)
{
    struct console console = console_default(NULL);
    const char *nearest = nearest_command(name);
    return console_usage(&console, "unknown command '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
                         nearest ? nearest : "", nearest ? "'?" : "");
}

static int missing_command(const char *name)
{
    struct console console = console_default(name);
    return console_error(&console, "this bpcn was built without its server: jansson was missing");
}

static int version(void)
{
    struct console console = console_default(NULL);
    printf("bpcn %s\n", bpcn_version());
    return console_flush(&console, EXIT_DONE);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a closed pipe and a limit on file sizes are */
    signal(SIGXFSZ, SIG_IGN); /* errors to report, not reasons to end midway */
    if (argc < 2) {
        help_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return version();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return cmd_help(1, argv + 1);
    const struct command *command = find_command(argv[1]);
    if (command == NULL)
        return unknown_command(argv[1]);
    return command->run != NULL ? exit_status(command->run(argc - 1, argv + 1)) : missing_command(argv[1]);
}
