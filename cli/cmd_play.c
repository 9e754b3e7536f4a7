/* bpcn play, locate and follow: episodes of a sequence played back, the place of cues, a stream of cues. */
#include "args.h"
#include "output.h"
#include "progress.h"
#include "query.h"
#include "sequence_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PLAY_BATCH = 256, PLACES_MOST = 64 };

/* ---- play */

struct playing {
    uint64_t from, count;
    bool from_given, count_given, backward;
    struct output_options output;
};

/* First place and number of frames; 0, or an exit status after a message. */
static int play_range(const struct sequence_file *f, size_t episode, struct playing *p)
{
    const bpcn_episode *e = &f->episode[episode];
    uint64_t most;
    if (e->dropped == e->frames)
        return console_error(f->console, "%s: all frames of the episode were recycled", f->path);
    if (!p->from_given)
        p->from = p->backward ? e->frames - 1 : e->dropped;
    if (p->from >= e->frames || p->from < e->dropped)
        return console_error(f->console, "%s: --from %" PRIu64 ": the episode has frames %" PRIu64 " to %" PRIu64, f->path, p->from,
                             e->dropped, e->frames - 1);
    most = p->backward ? p->from - e->dropped + 1 : e->frames - p->from;
    if (p->count_given && p->count > most)
        return console_error(f->console, "%s: --count %" PRIu64 ": only %" PRIu64 " frame%s from there on", f->path, p->count, most,
                             most == 1 ? "" : "s");
    if (!p->count_given)
        p->count = most;
    return 0;
}

static int play_frames(const struct sequence_file *f, size_t episode, const struct playing *p, struct output *out)
{
    struct progress progress;
    float *frames = malloc(PLAY_BATCH * f->fields.dim * sizeof *frames);
    int status = frames != NULL ? 0 : console_error(f->console, "out of memory");
    int64_t stride = p->backward ? -1 : 1;
    progress_begin(&progress, f->console, "playing", "frames");
    for (uint64_t done = 0; status == 0 && done < p->count; done += PLAY_BATCH) {
        size_t n = p->count - done < PLAY_BATCH ? (size_t)(p->count - done) : PLAY_BATCH;
        bpcn_status played = bpcn_sequence_play(f->sequence, episode, p->from + (uint64_t)stride * done, stride, n, frames, NULL);
        status = played == BPCN_OK ? output_add(out, NULL, NULL, n, frames, NULL) : sequence_file_error(f, played);
        progress_update(&progress, (size_t)done + n, (size_t)p->count);
        if (status == 0 && interrupted())
            status = EXIT_INTERRUPTED;
    }
    progress_clear(&progress);
    free(frames);
    return status != 0 ? status : output_finish(out);
}

int cmd_play(int argc, char **argv)
{
    struct args a;
    struct playing p = {0};
    struct sequence_file f;
    size_t episode = 0;
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == OPT_FROM) {
            p.from_given = true;
            p.from = args_whole(&a, optarg, 0, (uint64_t)1 << 62);
        } else if (c == OPT_COUNT) {
            p.count_given = true;
            p.count = args_whole(&a, optarg, 1, (uint64_t)1 << 40);
        } else if (c == OPT_BACKWARD)
            p.backward = true;
        else
            output_option(&a, c, &p.output);
    if (!args_expect(&a, 1, 2))
        return a.status;
    if (p.output.path == NULL)
        return console_usage(&a.console, "give an output, such as -o frames.npy");
    catch_interrupts();
    int status = sequence_file_open(&a.console, args_rest(&a)[0], false, &f);
    if (status != 0)
        return status;
    status = sequence_file_episode(&f, args_count(&a) > 1 ? args_rest(&a)[1] : NULL, &episode);
    if (status == 0)
        status = play_range(&f, episode, &p);
    struct output *out = NULL;
    if (status == 0) {
        out = output_open(&a.console, &f.fields, &p.output);
        status = out != NULL ? play_frames(&f, episode, &p, out) : EXIT_USAGE;
    }
    output_close(out);
    if (status == 0 && a.console.json) {
        fputs("{\"name\":", stdout);
        json_write_string(stdout, f.episode[episode].name);
        printf(",\"episode\":%zu,\"from\":%" PRIu64 ",\"frames\":%" PRIu64 "}\n", episode, p.from, p.count);
    } else if (status == 0 && strcmp(p.output.path, "-") != 0)
        console_print(&a.console, "%s: %" PRIu64 " frame%s from %" PRIu64 "%s\n", f.path, p.count, p.count == 1 ? "" : "s", p.from,
                      p.backward ? ", backward" : "");
    return console_flush(&a.console, sequence_file_close(&f, status));
}

/* ---- locate, follow */

struct following {
    struct sequence_file file;
    struct input_options input;
    struct query_options query;
    struct output_options output;
    struct output *out;
    bpcn_follower *follower; /* from the first cue on */
    bool locate;
    size_t best, cues, found;
    bpcn_verdict verdict; /* on the latest cue */
};

static void print_place(const struct sequence_file *f, const bpcn_place *p)
{
    const char *name = f->episode[p->episode].name;
    if (!f->console->json) {
        console_print(f->console, "frame %" PRIu64 " of #%" PRIu64 "%s%s, probability %.4f", p->place, p->episode,
                      name[0] != '\0' ? " " : "", name, p->probability);
        return;
    }
    printf("\"place\":%" PRIu64 ",\"name\":", p->place);
    json_write_string(stdout, name);
    printf(",\"episode\":%" PRIu64 ",\"probability\":%.6g,\"residual\":%.6g", p->episode, p->probability, p->residual);
}

static void print_step(const struct following *g, const bpcn_step *step)
{
    const struct console *console = g->file.console;
    if (console->json)
        printf("{\"cue\":%zu,", g->cues);
    else
        console_print(console, "%zu: ", g->cues);
    if (step->place.probability > 0)
        print_place(&g->file, &step->place);
    else if (console->json)
        fputs("\"place\":null", stdout);
    else
        console_print(console, "no place");
    if (console->json) {
        fputs(",\"surprise\":", stdout);
        json_write_number(stdout, step->surprise);
        printf(",\"misfit\":%.6g,\"noise\":%.6g,\"verdict\":\"%s\",\"known\":%s}\n", step->misfit, step->noise,
               bpcn_verdict_name(step->verdict), step->known ? "true" : "false");
    } else if (step->known)
        console_print(console, ", surprise %.1f, misfit %.1f, noise %.3f, %s\n", step->surprise, step->misfit, step->noise,
                      bpcn_verdict_name(step->verdict));
    else
        console_print(console, ", missing\n");
}

static int follow_batch(struct following *g, struct query_maker *maker, const struct batch *batch)
{
    const struct sequence_file *f = &g->file;
    size_t dim = f->fields.dim;
    struct query query;
    if (query_make(maker, batch, &query) != 0)
        return EXIT_FAILED;
    float *cleaned = g->out != NULL ? malloc(batch->rows * dim * sizeof *cleaned) : NULL;
    int status = g->out != NULL && cleaned == NULL ? console_error(f->console, "out of memory") : 0;
    bpcn_status followed = BPCN_OK;
    if (g->follower == NULL) {
        bpcn_follow_options options;
        bpcn_follow_options_default(&options, sizeof options);
        options.noise = query.noise;
        followed = bpcn_follower_create(f->sequence, &options, &g->follower);
    }
    for (size_t i = 0; status == 0 && followed == BPCN_OK && i < batch->rows; i++, g->cues++) {
        bpcn_step step;
        followed = bpcn_follower_step(g->follower, query.x + i * dim, query.known + i * dim, &step,
                                      cleaned != NULL ? cleaned + i * dim : NULL, NULL, NULL);
        if (followed == BPCN_OK)
            g->verdict = step.verdict;
        if (followed == BPCN_OK && !g->locate)
            print_step(g, &step);
        if (interrupted())
            status = EXIT_INTERRUPTED;
    }
    if (status == 0 && followed != BPCN_OK)
        status = sequence_file_error(f, followed);
    if (status == 0 && g->out != NULL)
        status = output_add(g->out, batch, &query, batch->rows, cleaned, NULL);
    free(cleaned);
    query_free(&query);
    return status;
}

static int print_places(struct following *g)
{
    bpcn_place place[PLACES_MOST];
    const struct console *console = g->file.console;
    bpcn_status status = bpcn_follower_places(g->follower, place, g->best, &g->found);
    if (status != BPCN_OK)
        return sequence_file_error(&g->file, status);
    for (size_t i = 0; i < g->found; i++) {
        if (console->json)
            putchar('{');
        print_place(&g->file, &place[i]);
        if (console->json)
            printf(",\"verdict\":\"%s\"}\n", bpcn_verdict_name(g->verdict));
        else
            console_print(console, ", residual %.4f\n", place[i].residual);
    }
    if (g->verdict == BPCN_NEW)
        console_note(console, "%s: the last cue is new to the memory: these are the places that it is most like", g->file.path);
    if (g->found == 0)
        console_error(console, "%s: no place, because nothing of the cues is known or the episode has ended", g->file.path);
    return g->found > 0 ? 0 : EXIT_REFUSED;
}

static int follow_inputs(struct following *g, struct query_maker *maker, struct input *input)
{
    struct batch batch;
    int status = 0, got = 0;
    while (status == 0 && (got = input_next(input, &batch)) > 0) {
        status = follow_batch(g, maker, &batch);
        batch_free(&batch);
        if (input_pauses(input))
            fflush(stdout);
    }
    if (got < 0)
        status = interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
    if (status == 0 && g->cues == 0)
        status = console_error(g->file.console, "the inputs have no frames");
    if (status == 0 && g->locate)
        status = print_places(g);
    if (status == 0 && g->out != NULL)
        status = output_finish(g->out);
    return status != 0 ? status : input_tell_skipped(input);
}

static int locate_or_follow(int argc, char **argv, bool locate)
{
    struct args a;
    struct following g = {.query = query_options_default(), .locate = locate, .best = 5};
    struct query_maker *maker = NULL;
    struct input *input = NULL;
    args_begin(&a, argc, argv);
    for (int c; (c = args_next(&a)) >= 0;)
        if (c == OPT_BEST)
            g.best = (size_t)args_whole(&a, optarg, 1, PLACES_MOST);
        else if (!input_option(&a, c, &g.input) && !output_option(&a, c, &g.output))
            query_option(&a, c, &g.query);
    if (!args_expect(&a, 2, 1 << 30))
        return a.status;
    catch_interrupts();
    int status = sequence_file_open(&a.console, args_rest(&a)[0], false, &g.file);
    if (status != 0)
        return status;
    if (g.output.path != NULL) {
        g.out = output_open(&a.console, &g.file.fields, &g.output);
        status = g.out != NULL ? 0 : EXIT_USAGE;
    }
    if (status == 0)
        maker = query_open(&a.console, &g.file.fields, &g.query, &status);
    if (maker != NULL) {
        input = input_open(&a.console, &g.file.fields, &g.input, args_rest(&a) + 1, args_count(&a) - 1);
        status = input != NULL ? follow_inputs(&g, maker, input) : EXIT_FAILED;
    }
    input_close(input);
    query_close(maker);
    output_close(g.out);
    bpcn_follower_free(g.follower);
    return console_flush(&a.console, sequence_file_close(&g.file, status));
}

int cmd_locate(int argc, char **argv)
{
    return locate_or_follow(argc, argv, true);
}

int cmd_follow(int argc, char **argv)
{
    return locate_or_follow(argc, argv, false);
}
