/* bpcn search lists the rows of a memory that come nearest to each input, best first. */
#include "args.h"
#include "memory_file.h"
#include "progress.h"
#include "query.h"
#include "read_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct searching {
    struct memory_file file;
    const bpcn_memory *memory;
    struct input_options input;
    struct query_options query;
    struct query_maker *maker;
    size_t k;
};

/* The name of an answer, "" for none. */
static void match_name(const bpcn_memory *memory, const bpcn_match *match, char name[NAME_ROOM])
{
    bpcn_name found = {.number = 0};
    if (match->name > 0)
        bpcn_memory_get_name(memory, match->name, &found);
    memcpy(name, found.name, NAME_ROOM);
}

static void print_matches(const struct searching *s, const struct batch *batch, size_t row, const bpcn_match *matches,
                          size_t found)
{
    const struct console *console = s->file.console;
    char name[4096];
    if (console->json) {
        fputs("{\"input\":", stdout);
        json_write_string(stdout, batch->name);
        printf(",\"row\":%zu,\"matches\":[", batch->first + row);
    } else {
        batch_row_name(batch, row, name, sizeof name);
        console_print(console, "%s%s\n", name, found > 0 ? "" : "  no answer");
    }
    for (size_t i = 0; i < found; i++) {
        match_name(s->memory, &matches[i], name);
        if (!console->json) {
            console_print(console, "  %2zu  distance %.4f  log density %.1f  shard %" PRIu64 "%s%s\n", i + 1,
                          matches[i].distance, matches[i].log_density, matches[i].shard, name[0] != '\0' ? "  " : "", name);
            continue;
        }
        fputs(i > 0 ? ",{\"name\":" : "{\"name\":", stdout);
        if (name[0] != '\0')
            json_write_string(stdout, name);
        else
            fputs("null", stdout);
        fputs(",\"distance\":", stdout);
        json_write_number(stdout, matches[i].distance);
        fputs(",\"log_density\":", stdout);
        json_write_number(stdout, matches[i].log_density);
        fputs(",\"noise\":", stdout);
        json_write_number(stdout, matches[i].noise);
        printf(",\"shard\":%" PRIu64 "}", matches[i].shard);
    }
    if (console->json)
        puts("]}");
}

static int search_batch(const struct searching *s, const struct batch *batch)
{
    size_t dim = s->file.note.fields.dim;
    bpcn_match matches[BPCN_MAX_MATCHES];
    struct query query;
    int status = 0;
    if (query_make(s->maker, batch, &query) != 0)
        return EXIT_FAILED;
    bpcn_read_options options;
    bpcn_read_options_default(&options, sizeof options);
    options.noise = query.noise;
    for (size_t i = 0; i < batch->rows && status == 0; i++) {
        size_t found;
        if (interrupted()) {
            status = EXIT_INTERRUPTED;
            break;
        }
        if (batch->bad != NULL && batch->bad[i])
            continue; /* it was said */
        bpcn_status searched = bpcn_memory_search(s->memory, query.x + i * dim, query.all_known ? NULL : query.known + i * dim,
                                                  1, s->k, &options, matches, NULL, &found);
        if (searched != BPCN_OK)
            status = console_error(s->file.console, "%s row %zu: %s", batch->name, batch->first + i, bpcn_error());
        else
            print_matches(s, batch, i, matches, found);
    }
    query_free(&query);
    return status;
}

static int search_inputs(struct searching *s, struct input *input)
{
    struct batch batch;
    int status = 0, got = 0;
    while (status == 0 && (got = input_next(input, &batch)) > 0) {
        status = search_batch(s, &batch);
        batch_free(&batch);
        if (input_pauses(input))
            fflush(stdout);
    }
    if (got < 0)
        status = interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
    return status != 0 ? status : input_tell_skipped(input);
}

int cmd_search(int argc, char **argv)
{
    struct args a;
    struct searching s = {.query = query_options_default(), .k = 5};
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == OPT_BEST)
            s.k = (size_t)args_whole(&a, optarg, 1, BPCN_MAX_MATCHES);
        else if (!input_option(&a, c, &s.input))
            query_option(&a, c, &s.query);
    if (!args_expect(&a, 2, 1 << 30))
        return a.status;
    catch_interrupts();
    int status = memory_file_open(&a.console, args_rest(&a)[0], TO_LOOK, &s.file);
    if (status != 0)
        return status;
    s.memory = memory_file_memory(&s.file);
    if (s.memory == NULL)
        status = EXIT_FAILED;
    else
        s.maker = query_open(&a.console, &s.file.note.fields, &s.query, &status);
    struct input *input =
        s.maker ? input_open(&a.console, &s.file.note.fields, &s.input, args_rest(&a) + 1, args_count(&a) - 1) : NULL;
    if (s.maker != NULL)
        status = input ? search_inputs(&s, input) : EXIT_FAILED;
    input_close(input);
    query_close(s.maker);
    memory_file_close(&s.file);
    return console_flush(&a.console, status);
}
