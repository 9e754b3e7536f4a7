/* From arguments to cells. */
#include "reproduce.h"

#include "plan_csv.h"
#include "search.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *reproduce_usage(void)
{
    return "usage: bpcn-paper reproduce NAME [options]\n"
           "\n"
           "Regenerates tables and figures of the paper. NAME is recall, high-noise, depth, sigma,\n"
           "search, forget, scaling, oneshot, recalled, metric, samples, generalization, equal-memory, shards,\n"
           "or all.\n"
           "\n"
           "  --tier quick|paper    quick (default): small sizes, minutes; paper: the paper's, hours\n"
           "  --out DIR             where results go; default paper/results\n"
           "  --jobs N              processes; default 1, which uses all cores for its matrix products\n"
           "  --data-dir DIR        where datasets are; default $BPCN_DATA_DIR, else the user's data folder,\n"
           "                        ~/.local/share/bayespcn\n"
           "  --datasets LIST       only these of cifar10,tiny-imagenet,fashion-mnist\n"
           "  --rows GLOB           compute only the rows of the tables whose names match, such as 'bayespcn*'\n"
           "  --tasks GLOB          compute only the tasks whose names match, such as 'white*'\n"
           "  --seeds N             default 1 (quick) or 3 (paper)\n"
           "  --shortest T          leave out sequences shorter than T\n"
           "  --longest T           and those longer than T\n"
           "  --limit-queries N     read back only N images per cell\n"
           "  --pictures            compute figures again whose picture is missing from DIR/pictures\n"
           "  --plan-only           compute nothing, write DIR/plan.csv\n"
           "  --stale               compute cells again that were computed by other code than this program's\n"
           "  --check               compute some of the cells there are again, by one thread, say how far\n"
           "                        they moved, and write nothing; status 1 when one moved by more than\n"
           "                        rounding does\n"
           "  --record              with --check: add what was found to DIR/checked.csv; cells of other code are\n"
           "                        vouched for by five or more of their kind that came out the same\n"
           "  --sample K            how many of them; default 5\n"
           "  --seed S              which of them; default 0\n"
           "  --verbose             a line on stderr for every cell; default on a terminal\n"
           "\n"
           "Every cell is a row of DIR/cells.csv when it is finished and never computed again: a run that\n"
           "was stopped goes on where it was. At the end DIR/plan.csv says which cell stands in which table,\n"
           "and paper/report.py DIR writes tables, charts and a page from both.\n";
}

enum {
    OPT_TIER = 256,
    OPT_OUT,
    OPT_JOBS,
    OPT_DATA_DIR,
    OPT_DATASETS,
    OPT_SEEDS,
    OPT_SHORTEST,
    OPT_LONGEST,
    OPT_LIMIT,
    OPT_PICTURES,
    OPT_PLAN,
    OPT_ROWS,
    OPT_TASKS,
    OPT_STALE,
    OPT_CHECK,
    OPT_RECORD,
    OPT_SAMPLE,
    OPT_SEED,
    OPT_VERBOSE,
    OPT_HELP
};

static const struct option options[] = {{"tier", required_argument, NULL, OPT_TIER},
                                        {"out", required_argument, NULL, OPT_OUT},
                                        {"jobs", required_argument, NULL, OPT_JOBS},
                                        {"data-dir", required_argument, NULL, OPT_DATA_DIR},
                                        {"datasets", required_argument, NULL, OPT_DATASETS},
                                        {"seeds", required_argument, NULL, OPT_SEEDS},
                                        {"shortest", required_argument, NULL, OPT_SHORTEST},
                                        {"longest", required_argument, NULL, OPT_LONGEST},
                                        {"limit-queries", required_argument, NULL, OPT_LIMIT},
                                        {"pictures", no_argument, NULL, OPT_PICTURES},
                                        {"plan-only", no_argument, NULL, OPT_PLAN},
                                        {"rows", required_argument, NULL, OPT_ROWS},
                                        {"tasks", required_argument, NULL, OPT_TASKS},
                                        {"stale", no_argument, NULL, OPT_STALE},
                                        {"check", no_argument, NULL, OPT_CHECK},
                                        {"record", no_argument, NULL, OPT_RECORD},
                                        {"sample", required_argument, NULL, OPT_SAMPLE},
                                        {"seed", required_argument, NULL, OPT_SEED},
                                        {"verbose", no_argument, NULL, OPT_VERBOSE},
                                        {"help", no_argument, NULL, OPT_HELP},
                                        {NULL, 0, NULL, 0}};

static int whole(const char *text, const char *what, size_t least, size_t *value, struct failure *failure)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || number < least || number > 1000000 || text[0] == '-')
        return failed(failure, "%s must be a whole number from %zu to 1000000, but is %s", what, least, text);
    *value = number;
    return 0;
}

static int positive(const char *text, const char *what, size_t *value, struct failure *failure)
{
    return whole(text, what, 1, value, failure);
}

static int take_tier(struct reproduction *r, const char *text, struct failure *failure)
{
    if (strcmp(text, "quick") != 0 && strcmp(text, "paper") != 0)
        return failed(failure, "--tier must be quick or paper, but is %s", text);
    r->request.tier = strcmp(text, "paper") == 0 ? TIER_PAPER : TIER_QUICK;
    return 0;
}

static int take_option(struct reproduction *r, int option, char *text, struct failure *failure)
{
    switch (option) {
    case OPT_TIER:
        return take_tier(r, text, failure);
    case OPT_OUT:
        r->out = text;
        return 0;
    case OPT_JOBS:
        return positive(text, "--jobs", &r->processes, failure);
    case OPT_DATA_DIR:
        r->data_dir = text;
        return 0;
    case OPT_DATASETS:
        r->request.datasets = text;
        return 0;
    case OPT_SEEDS:
        return positive(text, "--seeds", &r->request.seeds, failure);
    case OPT_SHORTEST:
        return positive(text, "--shortest", &r->request.shortest, failure);
    case OPT_LONGEST:
        return positive(text, "--longest", &r->request.longest, failure);
    case OPT_LIMIT:
        return positive(text, "--limit-queries", &r->request.limit, failure);
    case OPT_PICTURES:
        r->pictures = 1;
        return 0;
    case OPT_PLAN:
        r->plan_only = 1;
        return 0;
    case OPT_ROWS:
        r->request.rows = text;
        return 0;
    case OPT_TASKS:
        r->request.tasks = text;
        return 0;
    case OPT_STALE:
        r->again = 1;
        return 0;
    case OPT_CHECK:
        r->check = 1;
        return 0;
    case OPT_RECORD:
        r->record = 1;
        return 0;
    case OPT_SAMPLE:
        return positive(text, "--sample", &r->sample, failure);
    case OPT_SEED:
        return whole(text, "--seed", 0, &r->seed, failure);
    case OPT_VERBOSE:
        r->verbose = 1;
        return 0;
    default:
        return failed(failure, "see bpcn-paper reproduce --help");
    }
}

int reproduce_parse(int argc, char **argv, struct reproduction *r, struct failure *failure)
{
    int option, status = 0;
    *r = (struct reproduction){.out = "paper/results", .processes = 1, .sample = 5, .verbose = isatty(STDERR_FILENO)};
    optind = 1;
    while (status == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == OPT_HELP)
            return 1;
        status = take_option(r, option, optarg, failure);
    }
    if (status == 0 && optind + 1 != argc)
        return failed(failure, "give the name of one experiment, or all; see bpcn-paper reproduce --help");
    if (status == 0)
        r->request.experiment = argv[optind];
    if (status == 0 && r->check && (r->plan_only || r->again || r->pictures))
        return failed(failure, "--check writes nothing: give it without --plan-only, --stale and --pictures");
    if (status == 0 && r->request.longest > 0 && r->request.shortest > r->request.longest)
        return failed(failure, "no sequence has at least %zu and at most %zu images: --shortest is above --longest",
                      r->request.shortest, r->request.longest);
    if (status == 0 && r->record && !r->check)
        return failed(failure, "--record says what --check found: give both");
    return status;
}

/* What the search found best, from its cells in the folder. */
static int find_best(struct reproduction *r, struct failure *failure)
{
    struct plan_request request = r->request;
    struct plan plan;
    struct job_list list;
    request.experiment = "search";
    request.datasets = request.rows = request.tasks = NULL;
    request.shortest = request.longest = 0;
    if (plan_create(&request, &plan, failure) != 0)
        return -1;
    int status = job_list_create(&plan, r->out, r->data_dir, &list, failure);
    if (status == 0) {
        r->best = search_best_rows(&list, &plan);
        r->request.best = &r->best;
        job_list_free(&list);
    }
    plan_free(&plan);
    return status;
}

int reproduce_prepare(struct reproduction *r, struct failure *failure)
{
    if (find_best(r, failure) != 0 || plan_create(&r->request, &r->plan, failure) != 0)
        return -1;
    if (job_list_create(&r->plan, r->out, r->data_dir, &r->list, failure) != 0)
        return -1;
    /* long runs are of several processes with a thread each, and more threads round sums in another order */
    r->list.threads = r->processes > 1 || r->check ? 1 : 0;
    r->list.again = r->again;
    r->list.pictures = r->pictures;
    r->list.verbose = r->verbose;
    return 0;
}

void reproduce_free(struct reproduction *r)
{
    job_list_free(&r->list);
    plan_free(&r->plan);
}

/* The report shows all cells of the tier that there are, whichever of them were asked for this time. With fewer
   queries than usual cells are others. */
int reproduce_finish(const struct reproduction *r, struct failure *failure)
{
    struct plan_request request = r->request;
    struct plan all;
    request.experiment = "all";
    request.datasets = request.rows = request.tasks = NULL;
    request.shortest = request.longest = 0;
    if (request.seeds < plan_seeds(request.tier))
        request.seeds = 0;
    if (results_read(r->list.results, failure) != 0 || plan_create(&request, &all, failure) != 0)
        return -1;
    int status = plan_csv_write(&r->list, &all, failure);
    plan_free(&all);
    return status;
}

void reproduce_tell(const struct reproduction *r, FILE *out)
{
    size_t there = 0;
    for (size_t i = 0; i < r->list.cells; i++)
        there += (size_t)cell_load(&r->list, &r->list.cell[i], NULL);
    fprintf(out, "%zu of %zu cells are in %s/cells.csv; paper/report.py %s writes the report\n", there, r->list.cells,
            r->out, r->out);
}
