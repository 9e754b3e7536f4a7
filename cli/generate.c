/* Man pages and completions from the table of options. `make` runs this program to write them. */
#include "options.h"

#include <ctype.h>
#include <string.h>

/* ---- man pages */

/* Text for roff: hyphens that stay hyphens; options and names of pages, such as bpcn-read(1), in bold. */
static void put_roff(FILE *out, const char *text)
{
    bool word = true; /* a word begins here */
    while (*text != '\0') {
        size_t bold = 0;
        if (word && strncmp(text, "--", 2) == 0 && isalpha((unsigned char)text[2]))
            bold = 2 + strspn(text + 2, "abcdefghijklmnopqrstuvwxyz-");
        else if (word && strncmp(text, "bpcn-", 5) == 0) {
            size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyz-");
            bold = strncmp(text + name, "(1)", 3) == 0 ? name : 0;
        }
        if (bold > 0)
            fputs("\\fB", out);
        for (size_t i = 0; i < (bold > 0 ? bold : 1); i++, text++) {
            word = *text == ' ' || *text == '(' || *text == '\n';
            if (*text == '-')
                fputs("\\-", out);
            else if (*text == '\\')
                fputs("\\e", out);
            else if (*text == '\'')
                fputs("\\(aq", out);
            else
                fputc(*text, out);
        }
        if (bold > 0)
            fputs("\\fR", out);
    }
}

static void man_option(FILE *out, const struct option_entry *o)
{
    fputs(".TP\n.B ", out);
    if (o->letter != 0)
        fprintf(out, "\\-%c%s%s, ", o->letter, o->argument ? " " : "", o->argument ? o->argument : "");
    fputs("\\-\\-", out);
    for (const char *c = o->name; *c != '\0'; c++)
        fputs(*c == '-' ? "\\-" : (char[]){*c, '\0'}, out);
    fprintf(out, "%s%s\n%c", o->argument ? " " : "", o->argument ? o->argument : "", toupper((unsigned char)*o->help));
    put_roff(out, o->help + 1);
    if (o->words != NULL)
        fprintf(out, ": %s", o->words);
    if (o->repeat)
        fputs(" (repeatable)", out);
    if (o->initial != NULL) {
        fputs(" (default: ", out);
        put_roff(out, o->initial);
        fputc(')', out);
    }
    fputs(".\n", out);
    if (o->more != NULL) {
        put_roff(out, o->more);
        fputc('\n', out);
    }
}

static void man_group(FILE *out, const struct command *c, enum group_id group)
{
    const struct option_group *g = &option_groups[group];
    bool begun = false;
    for (size_t i = 0; i < option_count; i++) {
        const struct option_entry *o = &option_entries[i];
        if (o->group != group || !command_has(c, o))
            continue;
        if (!begun && group != GROUP_OWN)
            fprintf(out, ".SS %s\n", g->title);
        if (!begun && g->text_of >> (c - commands) & 1) {
            put_roff(out, g->text);
            fputc('\n', out);
        }
        begun = true;
        man_option(out, o);
    }
}

static void man_head(FILE *out, const struct command *c)
{
    char name[32];
    snprintf(name, sizeof name, "%s", c->name);
    for (char *at = name; *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    fprintf(out, ".TH BPCN\\-%s 1 \"\" \"bayespcn\" \"User Commands\"\n.SH NAME\nbpcn\\-%s \\- ", name, c->name);
    put_roff(out, c->summary);
    fprintf(out, "\n.SH SYNOPSIS\n.B bpcn %s\n", c->name);
    put_roff(out, c->usage);
    fputc('\n', out);
}

static void man_options(FILE *out, const struct command *c)
{
    fputs(".SH OPTIONS\n", out);
    man_group(out, c, GROUP_OWN); /* before the first heading */
    for (int group = 0; group < GROUPS; group++)
        if (group != GROUP_OWN)
            man_group(out, c, (enum group_id)group);
    if (c->examples != NULL) {
        fputs(".SH EXAMPLES\n.nf\n", out);
        put_roff(out, c->examples);
        fputs(".fi\n", out);
    }
}

static void man_commands(FILE *out, bool ranks)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (ranks && !commands[i].ranks)
            continue;
        if (i == CMD_HELP)
            fputs(".TP\n.B bpcn help\n", out);
        else
            fprintf(out, ".TP\n.BR bpcn\\-%s (1)\n", commands[i].name);
        put_roff(out, commands[i].summary);
        fputc('\n', out);
    }
}

int man_page(FILE *out, const char *path)
{
    char line[4096], name[64];
    FILE *in = fopen(path, "r");
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (in == NULL)
        return -1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "."), base);
    const struct command *c = strncmp(name, "bpcn-", 5) == 0 ? find_command(name + 5) : NULL;
    if (c != NULL)
        man_head(out, c);
    while (fgets(line, sizeof line, in) != NULL)
        if (c != NULL && strcmp(line, "@OPTIONS@\n") == 0)
            man_options(out, c);
        else if (strcmp(line, "@COMMANDS@\n") == 0)
            man_commands(out, strcmp(name, "bpcn-mpi") == 0);
        else
            fputs(line, out);
    int failed = ferror(in);
    fclose(in);
    return failed ? -1 : 0;
}

/* ---- completions */

void bash_completion(FILE *out)
{
    fputs("# bash completion for bpcn, generated by `bpcn help --bash`.\n\n"
          "_bpcn() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} options=\n"
          "    local commands='",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "%s%s", i ? " " : "", commands[i].name);
    fputs("'\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W \"$commands --version --help\" -- \"$current\"))\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]}:$previous in\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        for (size_t k = 0; k < option_count; k++) {
            const struct option_entry *o = &option_entries[k];
            if (o->argument == NULL || !command_has(&commands[i], o))
                continue;
            if (o->letter != 0)
                fprintf(out, "        %s:-%c | %s:--%s)", commands[i].name, o->letter, commands[i].name, o->name);
            else
                fprintf(out, "        %s:--%s)", commands[i].name, o->name);
            if (o->words != NULL || o->suggest != NULL)
                fprintf(out, " COMPREPLY=($(compgen -W '%s' -- \"$current\"));", o->words ? o->words : o->suggest);
            else if (o->value == OPTION_FILES)
                fputs(" COMPREPLY=($(compgen -f -- \"$current\"));", out);
            fputs(" return ;;\n", out);
        }
    fputs("    esac\n    case ${COMP_WORDS[1]} in\n", out);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "        %s)", commands[i].name);
        if (i == CMD_HELP) {
            fputs(" COMPREPLY=($(compgen -W \"$commands\" -- \"$current\")); return ;;\n", out);
            continue;
        }
        fputs(" options='", out);
        for (size_t k = 0, some = 0; k < option_count; k++)
            if (command_has(&commands[i], &option_entries[k]))
                fprintf(out, "%s--%s", some++ ? " " : "", option_entries[k].name);
        fputs("' ;;\n", out);
    }
    fputs("    esac\n"
          "    if [[ $current == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
          "    fi\n"
          "}\n\n"
          "complete -o filenames -o bashdefault -F _bpcn bpcn\n",
          out);
}

/* Inside a quoted specification of _arguments: its own marks get a backslash, a quote ends and begins the string. */
static void put_zsh(FILE *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fprintf(out, "%s%c", strchr("[]:\\", *text) ? "\\" : "", *text);
}

static void zsh_option(FILE *out, const struct option_entry *o)
{
    if (o->letter != 0)
        fprintf(out, " \\\n            '(-%c --%s)'{-%c,--%s}'[", o->letter, o->name, o->letter, o->name);
    else
        fprintf(out, " \\\n            '%s--%s[", o->repeat ? "*" : "", o->name);
    put_zsh(out, o->help);
    fputc(']', out);
    if (o->argument != NULL) {
        fputc(':', out);
        put_zsh(out, o->argument);
        fputc(':', out);
        if (o->words != NULL || o->suggest != NULL) {
            fputc('(', out);
            put_zsh(out, o->words ? o->words : o->suggest);
            fputc(')', out);
        } else if (o->value == OPTION_FILES) {
            fputs("_files", out);
        }
    }
    fputc('\'', out);
}

void zsh_completion(FILE *out)
{
    fputs("#compdef bpcn\n# zsh completion for bpcn, generated by `bpcn help --zsh`.\n\n"
          "_bpcn() {\n    local -a commands\n    commands=(\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(out, "        '%s:", commands[i].name);
        put_zsh(out, commands[i].summary);
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    if ((CURRENT == 2)); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $command in\n",
          out);
    for (size_t i = 0; i < CMD_HELP; i++) {
        fprintf(out, "        %s) _arguments", commands[i].name);
        for (size_t k = 0; k < option_count; k++)
            if (command_has(&commands[i], &option_entries[k]))
                zsh_option(out, &option_entries[k]);
        fputs(" \\\n            '*:file:_files' ;;\n", out);
    }
    fputs("        help) _describe command commands ;;\n    esac\n}\n\n_bpcn \"$@\"\n", out);
}
