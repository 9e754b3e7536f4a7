/* Markdown as this folder's own files have it: headings, tables, lists, paragraphs, code, bold, links. */
#include "results.h"

#include "chart.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Bold, code and the text of links; a picture is left out. */
static void inline_text(FILE *out, const char *text, size_t length)
{
    int bold = 0, code = 0;
    for (size_t i = 0; i < length; i++) {
        const char *close;
        if (text[i] == '`') {
            fputs(code ? "</code>" : "<code>", out);
            code = !code;
        } else if (!code && i + 1 < length && text[i] == '*' && text[i + 1] == '*') {
            fputs(bold ? "</b>" : "<b>", out);
            bold = !bold;
            i++;
        } else if (!code && text[i] == '[' && (close = strstr(text + i, "](")) != NULL && close < text + length) {
            if (i > 0 && text[i - 1] == '!')
                close = text + i;
            inline_text(out, text + i + 1, (size_t)(close > text + i ? close - text - (ptrdiff_t)i - 1 : 0));
            i += strcspn(text + i, ")");
        } else if (!code && text[i] == '!' && text[i + 1] == '[') {
            continue;
        } else {
            char one[2] = {text[i], '\0'};
            escaped(out, one);
        }
    }
    fputs(code ? "</code>" : "", out);
    fputs(bold ? "</b>" : "", out);
}

enum block { NONE, PARAGRAPH, LIST, TABLE };

static void end_block(FILE *out, enum block *block)
{
    static const char *const ends[] = {"", "</p>\n", "</ul>\n", "</table></div>\n"};
    fputs(ends[*block], out);
    *block = NONE;
}

static void begin_block(FILE *out, enum block *block, enum block wanted)
{
    static const char *const begins[] = {"", "<p>", "<ul>\n", "<div class=wide><table>\n"};
    if (*block == wanted)
        return;
    end_block(out, block);
    fputs(begins[wanted], out);
    *block = wanted;
}

static void table_row(FILE *out, const char *line, const char *tag)
{
    if (strspn(line, "|-: ") == strlen(line))
        return; /* what divides the heading from the rows */
    fputs("<tr>", out);
    for (const char *cell = line + 1; *cell != '\0';) {
        size_t length = strcspn(cell, "|");
        fprintf(out, "<%s>", tag);
        inline_text(out, cell, length);
        fprintf(out, "</%s>", tag);
        cell += length + (cell[length] == '|');
        if (*cell == '\0' || strspn(cell, " ") == strlen(cell))
            break;
    }
    fputs("</tr>\n", out);
}

static void take_line(FILE *out, const char *line, enum block *block)
{
    size_t level = strspn(line, "#");
    if (*line == '\0' || strcmp(line, "---") == 0)
        end_block(out, block);
    else if (level == 1)
        end_block(out, block); /* the page has a title for it */
    else if (level > 1) {
        end_block(out, block);
        fprintf(out, "<h%zu>", level + 1);
        inline_text(out, line + level + 1, strlen(line + level + 1));
        fprintf(out, "</h%zu>\n", level + 1);
    } else if (*line == '|') {
        int first = *block != TABLE;
        begin_block(out, block, TABLE);
        table_row(out, line, first ? "th" : "td");
    } else if (strncmp(line, "- ", 2) == 0) {
        begin_block(out, block, LIST);
        fputs("<li>", out);
        inline_text(out, line + 2, strlen(line + 2));
        fputs("</li>\n", out);
    } else {
        begin_block(out, block, *block == LIST ? LIST : PARAGRAPH);
        inline_text(out, line, strlen(line));
        fputc('\n', out);
    }
}

void markdown_from(FILE *out, FILE *in)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    enum block block = NONE;
    while ((length = getline(&line, &room, in)) > 0) {
        line[length - (line[length - 1] == '\n')] = '\0';
        take_line(out, line, &block);
    }
    end_block(out, &block);
    free(line);
}

int markdown_html(FILE *out, const struct job_list *list, const char *name)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", list->out, name);
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return 0;
    markdown_from(out, in);
    fclose(in);
    return 1;
}
