/* bpcn help. */
#include "help.h"

#include "args.h"
#include "commands.h"

#include <string.h>

const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

int help_command(FILE *out, const char *name)
{
    const struct command *c = find_command(name);
    if (c == NULL)
        return -1;
    fprintf(out, "%s %s: %s\n\nusage: %s %s %s\n", program_name, c->name, c->summary, program_name, c->name, c->usage);
    fprintf(out, "\n%s", c->details);
    return 0;
}

void help_overview(FILE *out)
{
    fputs("bpcn: an associative memory in a file. Write things once, recall them from fragments.\n\n"
          "usage: bpcn COMMAND [ARGUMENTS]\n\n",
          out);
    for (size_t i = 0; i < command_count; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n  bpcn help COMMAND tells more, bpcn --version the version.\n\n"
          "  bpcn create faces.mem --image 32x32x3\n"
          "  bpcn write  faces.mem photos/\n"
          "  bpcn read   faces.mem photos/ --hide right:0.5 -o recalled.png\n",
          out);
}

int cmd_help(int argc, char **argv)
{
    struct console console = console_default(NULL);
    if (argc < 2) {
        help_overview(stdout);
        return console_flush(&console, EXIT_DONE);
    }
    if (help_command(stdout, argv[1]) != 0) {
        const char *names[32], *nearest;
        for (size_t i = 0; i < command_count && i < 32; i++)
            names[i] = commands[i].name;
        nearest = nearest_word(argv[1], names, command_count);
        return console_usage(&console, "no help on '%s'%s%s%s", argv[1], nearest ? "; did you mean '" : "",
                             nearest ? nearest : "", nearest ? "'?" : "");
    }
    return console_flush(&console, EXIT_DONE);
}
