/* The table of commands and options. */
#include "options.h"

#include <stdio.h>
#include <string.h>

/* Short names for options.def: a bit for each command, the groups, the kinds of values. */
#define COMMAND(id, ...) id = 1 << CMD_##id,
#define GROUP(id, ...)
#define OPTION(id, ...)
enum {
#include "options.def"
    WITH_INPUTS = WRITE | READ | SCORE | SEARCH | DELETE | LOCATE | FOLLOW,
    WITH_QUERIES = READ | SCORE | SEARCH | LOCATE | FOLLOW,
    WITH_OUTPUTS = READ | SAMPLE | PLAY | FOLLOW,
    EVERY = (1 << COMMANDS) - 1 - HELP
};
#undef COMMAND
#undef GROUP
#undef OPTION

#define COMMAND(ID, function, ...) [CMD_##ID] = {.name = #function, .run = cmd_##function, __VA_ARGS__},
#define GROUP(id, ...)
#define OPTION(id, ...)
const struct command commands[COMMANDS] = {
#include "options.def"
};
#undef COMMAND
#undef GROUP
#undef OPTION

#define COMMAND(id, ...)
#define GROUP(ID, ...) [GROUP_##ID] = {__VA_ARGS__},
#define OPTION(id, ...)
const struct option_group option_groups[GROUPS] = {
#include "options.def"
};
#undef GROUP
#undef OPTION

#define GROUP(id, ...)
#define OPTION(ID, ...) {.id = OPT_##ID, __VA_ARGS__},
const struct option_entry option_entries[] = {
#include "options.def"
};

const size_t option_count = sizeof option_entries / sizeof *option_entries;

const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return has_command(&commands[i]) ? &commands[i] : NULL;
    return NULL;
}

bool command_has(const struct command *command, const struct option_entry *option)
{
    return option->commands >> (command - commands) & 1;
}

bool has_command(const struct command *command)
{
    return command->ranks || strcmp(program_name, "bpcn") == 0;
}

const char *option_word(enum option_id id, size_t place)
{
    static char word[32];
    const char *words = option_entries[id - OPT_BEFORE_FIRST - 1].words;
    while (place-- > 0)
        words += strcspn(words, " ") + 1;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(words, " "), words);
    return word;
}
