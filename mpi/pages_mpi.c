/* The commands of bpcn-mpi: those of bpcn that know folders, with short pages. */
#include "commands.h"
#include "help.h"
#include "console.h"

const char program_name[] = "bpcn-mpi";

static const char as_bpcn[] = "Options are those of the same command of bpcn; the memory is a folder.\n";

static const char create_page[] =
    "Options are those of bpcn create; of them\n"
    "      --files N     files that the folder has, at least as many as ranks will be started (the ranks now)\n"
    "      --shards N    in all files together (one a file)\n";

const struct command commands[] = {
    {"create", cmd_create, "make a new memory in a folder",
     "FOLDER --image 32x32x3 | --dim N | --fields F,... [--files N] [--shards N] [OPTIONS]", create_page},
    {"write", cmd_write, "write every row or picture, once", "FOLDER INPUT... [OPTIONS]", as_bpcn},
    {"read", cmd_read, "recall rows from fragments or noisy copies", "FOLDER INPUT... [OPTIONS] [-o OUT]", as_bpcn},
    {"score", cmd_score, "tell how familiar rows are", "FOLDER INPUT... [OPTIONS]", as_bpcn},
    {"forget", cmd_forget, "let everything fade a little", "FOLDER --beta B [--times N]", as_bpcn},
    {"delete", cmd_delete, "take written rows back", "FOLDER INPUT... | NAME... [OPTIONS]", as_bpcn},
    {"list", cmd_list, "the names of the latest rows", "FOLDER", as_bpcn},
    {"info", cmd_info, "shape, counts, bytes, how full", "FOLDER [--measure] [--json]", as_bpcn},
    {"help", cmd_help, "this, or the page of a command", "[COMMAND]", ""},
};

const size_t command_count = sizeof commands / sizeof *commands;
