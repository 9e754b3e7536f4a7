/* bpcn create: a new, empty memory file. */
#include "args.h"
#include "commands.h"
#include "memfile.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPT_IMAGE = 400,
    OPT_DIM,
    OPT_FIELDS,
    OPT_HIDDEN,
    OPT_ACTIVATION,
    OPT_PARTICLES,
    OPT_SIGMA_W,
    OPT_SIGMA_X,
    OPT_SIGMA_DATA,
    OPT_CREATE_SEED,
    OPT_RESAMPLE,
    OPT_PRECISION,
    OPT_FORCE,
    OPT_SHARDS,
    OPT_SHARD_ROWS,
    OPT_WHEN_FULL
};

static const struct option own[] = {{"image", required_argument, NULL, OPT_IMAGE},
                                    {"dim", required_argument, NULL, OPT_DIM},
                                    {"fields", required_argument, NULL, OPT_FIELDS},
                                    {"hidden", required_argument, NULL, OPT_HIDDEN},
                                    {"activation", required_argument, NULL, OPT_ACTIVATION},
                                    {"particles", required_argument, NULL, OPT_PARTICLES},
                                    {"sigma-w", required_argument, NULL, OPT_SIGMA_W},
                                    {"sigma-x", required_argument, NULL, OPT_SIGMA_X},
                                    {"sigma-data", required_argument, NULL, OPT_SIGMA_DATA},
                                    {"seed", required_argument, NULL, OPT_CREATE_SEED},
                                    {"resample", no_argument, NULL, OPT_RESAMPLE},
                                    {"precision", required_argument, NULL, OPT_PRECISION},
                                    {"force", no_argument, NULL, OPT_FORCE},
                                    {"shards", required_argument, NULL, OPT_SHARDS},
                                    {"shard-rows", required_argument, NULL, OPT_SHARD_ROWS},
                                    {"when-full", required_argument, NULL, OPT_WHEN_FULL},
                                    {NULL, 0, NULL, 0}};

struct plan {
    bpcn_options options;
    struct fields fields;
    int shapes; /* of --image, --dim and --fields, how many were given */
    bool force;
    size_t files; /* of bpcn-mpi; 0: unsaid */
};

static void parse_hidden(struct args *a, bpcn_options *o)
{
    const char *at = optarg;
    char word[32];
    o->layers = 0;
    while (a->status < 0) {
        size_t length = strcspn(at, ",");
        if (o->layers == BPCN_MAX_LAYERS || length >= sizeof word) {
            a->status =
                say_usage(&a->say, "--hidden: '%s' is not a list of at most %d widths", optarg, BPCN_MAX_LAYERS);
            return;
        }
        memcpy(word, at, length);
        word[length] = '\0';
        o->hidden[o->layers++] = (size_t)args_whole(a, "--hidden", word, 1, BPCN_MAX_WIDTH);
        if (at[length] == '\0')
            return;
        at += length + 1;
    }
}

/* The place of the word in the list, or a usage error. */
static int parse_word(struct args *a, const char *option, const char *const *words)
{
    char list[256] = "";
    int place = word_place(optarg, words);
    if (place >= 0)
        return place;
    for (size_t i = 0; words[i] != NULL; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), " %s", words[i]);
    a->status = say_usage(&a->say, "%s: '%s' is none of%s", option, optarg, list);
    return 0;
}

static void parse_shape(struct args *a, int c, struct plan *plan)
{
    char why[200];
    int failed = c == OPT_IMAGE ? fields_parse_shape("image", optarg, &plan->fields, why, sizeof why)
                 : c == OPT_DIM ? fields_parse_shape("row", optarg, &plan->fields, why, sizeof why)
                                : fields_parse(optarg, &plan->fields, why, sizeof why);
    plan->shapes++;
    if (failed)
        a->status = say_usage(&a->say, "--%s: %s", c == OPT_IMAGE ? "image" : c == OPT_DIM ? "dim" : "fields", why);
}

static void parse_option(struct args *a, int c, struct plan *plan)
{
    static const char *const precisions[] = {"float32", "float64", NULL};
    static const char *const when_full[] = {"blur", "recycle", "refuse", NULL};
    bpcn_options *o = &plan->options;
    switch (c) {
    case OPT_HIDDEN:
        parse_hidden(a, o);
        break;
    case OPT_ACTIVATION:
        o->activation = (bpcn_activation)parse_word(a, "--activation", activation_words());
        break;
    case OPT_PARTICLES:
        o->particles = (size_t)args_whole(a, "--particles", optarg, 1, BPCN_MAX_PARTICLES);
        break;
    case OPT_SIGMA_W:
        o->sigma_w = args_number(a, "--sigma-w", optarg, 1e-12, 1e12);
        break;
    case OPT_SIGMA_X:
        o->sigma_x = args_number(a, "--sigma-x", optarg, 1e-12, 1e12);
        break;
    case OPT_SIGMA_DATA:
        o->sigma_data = args_number(a, "--sigma-data", optarg, 0, 1e12);
        break;
    case OPT_CREATE_SEED:
        o->seed = args_whole(a, "--seed", optarg, 0, UINT64_MAX);
        break;
    case OPT_RESAMPLE:
        o->resample = 1;
        break;
    case OPT_PRECISION:
        o->precision = (bpcn_precision)parse_word(a, "--precision", precisions);
        break;
    case OPT_SHARDS: /* of bpcn-mpi: of all files together */
        o->shards = (size_t)args_whole(a, "--shards", optarg, 1, UINT32_MAX);
        break;
    case OPT_SHARD_ROWS:
        o->shard_rows = (size_t)args_whole(a, "--shard-rows", optarg, 1, UINT32_MAX);
        break;
    case OPT_WHEN_FULL:
        o->when_full = (bpcn_when_full)parse_word(a, "--when-full", when_full);
        break;
    case OPT_FILES:
        plan->files = (size_t)args_whole(a, "--files", optarg, 1, 99999);
        break;
    case OPT_FORCE:
        plan->force = true;
        break;
    default:
        parse_shape(a, c, plan);
    }
}

static void tell(const struct args *a, const char *path)
{
    struct memhead head;
    char fields[FIELDS_TEXT_MOST];
    if (a->say.quiet || memfile_head(&a->say, path, &head) != 0)
        return;
    fields_format(&head.remark.fields, fields, sizeof fields);
    if (a->say.json) {
        fputs("{\"created\":", stdout);
        json_string(stdout, path);
        printf(",\"dim\":%zu,\"bytes\":%zu}\n", head.options.dim, head.stats.bytes);
        return;
    }
    say_result(&a->say, "%s: empty, %s, %zu hidden layers, %.1f MB whatever is written\n", path, fields,
               head.options.layers, (double)head.stats.bytes / 1e6);
}

int cmd_create(int argc, char **argv)
{
    struct args a;
    struct plan plan = {0};
    bpcn_options_default(&plan.options, sizeof plan.options);
    args_begin(&a, argc, argv, own);
    args_add(&a, memfile_create_list);
    for (int c; (c = args_next(&a)) >= 0;)
        parse_option(&a, c, &plan);
    if (!args_expect(&a, 1, 1, "MEM --image 32x32x3 | --dim N | --fields image:28x28,label:10"))
        return a.status;
    if (plan.shapes != 1)
        return say_usage(&a.say,
                         "%s: say what a row is with one of --image 32x32x3, --dim 3072, "
                         "--fields image:28x28,label:10",
                         args_rest(&a)[0]);
    plan.options.dim = plan.fields.dim;
    int status = memfile_create(&a.say, args_rest(&a)[0], &plan.options, &plan.fields, plan.force, plan.files);
    if (status == 0)
        tell(&a, args_rest(&a)[0]);
    return status ? status : say_flush(&a.say);
}
