/* Finds and runs a command; bpcn help, with pages from the table of options. */
#include "args.h"
#include "progress.h"

#include <errno.h>
#include <string.h>

/* Columns of a page: where an option's sentence begins, and where lines end. */
enum { HELP_INDENT = 26, HELP_WIDTH = 100 };

/* Prints words from column `at` on; lines that follow begin at column `indent`. */
static void put_wrapped(FILE *out, const char *text, int at, int indent)
{
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (at > indent && at + 1 + length > HELP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        at += fprintf(out, "%.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void help_option(FILE *out, const struct option_entry *o)
{
    char text[512];
    int at = o->letter != 0 ? fprintf(out, "  -%c, ", o->letter) : fprintf(out, "      ");
    at += fprintf(out, "--%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
    if (at + 2 > HELP_INDENT) {
        fputc('\n', out);
        at = 0;
    }
    fprintf(out, "%*s", HELP_INDENT - at, "");
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s", o->help, o->words ? ": " : "", o->words ? o->words : "",
             o->repeat ? " (repeatable)" : "", o->initial ? " (default: " : "", o->initial ? o->initial : "",
             o->initial ? ")" : "");
    put_wrapped(out, text, HELP_INDENT, HELP_INDENT);
}

static void help_group(FILE *out, const struct command *c, enum group_id group)
{
    bool begun = false;
    for (size_t i = 0; i < option_count; i++) {
        const struct option_entry *o = &option_entries[i];
        if (o->group != group || !command_has(c, o))
            continue;
        if (!begun)
            fprintf(out, "\n%s:\n", option_groups[group].title);
        if (!begun && option_groups[group].text_of >> (c - commands) & 1)
            put_wrapped(out, option_groups[group].text, 0, 0);
        begun = true;
        help_option(out, o);
    }
}

void help_command(FILE *out, const struct command *c)
{
    fprintf(out, "%s %s: %s\n\nusage: %s %s %s\n", program_name, c->name, c->summary, program_name, c->name, c->usage);
    if (c->note != NULL) {
        fputc('\n', out);
        put_wrapped(out, c->note, 0, 0);
    }
    for (int group = 0; group < GROUPS; group++)
        help_group(out, c, (enum group_id)group);
    if (c->examples != NULL)
        fputs("\nExamples:\n", out);
    for (const char *line = c->examples; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1)
        fprintf(out, "  %.*s\n", (int)strcspn(line, "\n"), line);
}

static void help_overview(FILE *out)
{
    fprintf(out,
            "%s: an associative memory in a file. Write things once, recall them from fragments.\n\n"
            "usage: %s COMMAND [ARGUMENTS]\n\n",
            program_name, program_name);
    for (size_t i = 0; i < COMMANDS; i++)
        if (has_command(&commands[i]))
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(out,
            "\n  %s help COMMAND shows the options of a command, %s --version the version.\n\n"
            "  bpcn create faces.mem --image 32x32x3\n"
            "  bpcn write  faces.mem photos/\n"
            "  bpcn read   faces.mem photos/ --hide right:0.5 -o recalled.png\n",
            program_name, program_name);
}

/* The command that an unknown word was probably meant to be, or NULL. */
static const char *nearest_command(const char *word)
{
    const char *names[COMMANDS];
    size_t count = 0;
    for (size_t i = 0; i < COMMANDS; i++)
        if (has_command(&commands[i]))
            names[count++] = commands[i].name;
    return nearest_word(word, names, count);
}

/* For the Makefile: help --man FILE, --bash, --zsh. */
static int generate(const struct console *console, const char *kind, const char *path)
{
    if (strcmp(kind, "--bash") == 0)
        bash_completion(stdout);
    else if (strcmp(kind, "--zsh") == 0)
        zsh_completion(stdout);
    else if (man_page(stdout, path) != 0)
        return console_error(console, "%s: cannot read: %s", path, strerror(errno));
    return console_flush(console, EXIT_DONE);
}

int cmd_help(int argc, char **argv)
{
    struct console console = console_default(NULL);
    if (argc < 2) {
        help_overview(stdout);
        return console_flush(&console, EXIT_DONE);
    }
    if (strcmp(argv[1], "--bash") == 0 || strcmp(argv[1], "--zsh") == 0 || (strcmp(argv[1], "--man") == 0 && argc > 2))
        return generate(&console, argv[1], argv[2]);
    const struct command *command = find_command(argv[1]);
    const char *nearest = nearest_command(argv[1]);
    if (command == NULL)
        return console_usage(&console, "no help on '%s'%s%s%s", argv[1], nearest ? "; did you mean '" : "",
                             nearest ? nearest : "", nearest ? "'?" : "");
    help_command(stdout, command);
    return console_flush(&console, EXIT_DONE);
}

static int version(void)
{
    struct console console = console_default(NULL);
    printf("%s %s\n", program_name, bpcn_version());
    return console_flush(&console, EXIT_DONE);
}

int run_command(int argc, char **argv)
{
    if (argc < 2) {
        help_overview(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return version();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return cmd_help(1, argv + 1);
    const struct command *command = find_command(argv[1]);
    struct console console = console_default(command != NULL ? argv[1] : NULL);
    if (command == NULL) {
        const char *nearest = nearest_command(argv[1]);
        return console_usage(&console, "unknown command '%s'%s%s%s", argv[1], nearest ? "; did you mean '" : "",
                             nearest ? nearest : "", nearest ? "'?" : "");
    }
    if (command->run == NULL)
        return console_error(&console, "this bpcn was built without its server: jansson was missing");
    return exit_status(command->run(argc - 1, argv + 1));
}
