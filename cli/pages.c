/* The list of commands and their help pages. man/ says the same at more length. */
#include "commands.h"
#include "help.h"

const char program_name[] = "bpcn";

#define COMMON                                                                                                         \
    "  -q, --quiet       errors only\n"                                                                                \
    "      --json        results as one JSON object per line\n"

#define INPUTS                                                                                                         \
    "Inputs: PNG, JPEG, PPM/PGM, folders of them, .npy, .npz, IDX (gzipped or not), CIFAR binary,\n"                   \
    "CSV, raw float32; - is standard input (raw float32; of a memory for tables: CSV). In a memory with\n"             \
    "fields say FIELD=INPUT, or let the shape decide; FIELD=3 is the class 3 itself. Columns of tables are\n"          \
    "found by their names; missing cells, and NaN in arrays, are unknown.\n"                                           \
    "      --rows A:B    only rows A to B-1 of every input, or pictures of a folder\n"                                 \
    "      --resize      bring pictures to the memory's size and colours\n"                                            \
    "      --pixels      bytes of arrays are pixels: map them to -1 .. 1\n"                                            \
    "      --channels-last   arrays of pictures are height x width x channels\n"                                       \
    "      --format KIND     any png jpeg pnm npy npz idx cifar csv raw\n"                                             \
    "      --member NAME     the array of an .npz\n"                                                                   \
    "      --clip            bring numbers further than 8 scales from their column's centre to that\n"                 \
    "      --skip-bad        pass over inputs that cannot be read; they are listed at the end (exit status 3)\n"

#define QUERIES                                                                                                        \
    "What is known of the rows (otherwise: every field that is given):\n"                                              \
    "      --known F,...     these fields; the others are asked for\n"                                                 \
    "      --mask FILE       entries that are not 0 (white pixels)\n"                                                  \
    "      --hide PART:SHARE hide right, left, top, bottom, center or random pixels\n"                                 \
    "      --noise S         add noise of S times the pixels' range (a memory without\n"                               \
    "                        pictures: of S)\n"                                                                        \
    "      --assume-noise S  the input itself carries that noise\n"                                                    \
    "      --seed N          of the noise and of random hiding\n"

#define OUTPUTS                                                                                                        \
    "  -o, --output OUT  by suffix: .png .jpg .ppm .pgm (a picture), .npy .npz .csv .f32, a folder/\n"                 \
    "                    (a picture each), - (raw float32 to standard output)\n"                                       \
    "      --output-format KIND  whatever the suffix\n"                                                                \
    "      --only FIELD  that part of the rows\n"                                                                      \
    "      --plain       answers alone, without truth and query beside them\n"

#define SHARDS_READ "      --shards-read N   shards that a row is read in, of those that could have it (0: at most 4)\n"

static const char create_page[] =
    "What a row is, one of:\n"
    "      --like TABLE.csv  columns of numbers and words, with the scales of its first rows\n"
    "      --image WxH[x3]   a picture, grey or colour\n"
    "      --dim N           N values\n"
    "      --fields F,...    named parts: image:28x28,label:10\n"
    "Of a table's columns, as often as wanted:\n"
    "      --column NAME:KIND    number, number:CENTRE:SCALE, category or ignored, whatever it looks like\n"
    "      --ignore NAME     not to be learnt: an id, a target\n"
    "      --missing WORD    means missing, as an empty cell, NA, N/A, NaN, null, None, ? do\n"
    "The network (of a table: 128,128 and sigma_x 0.1 unless said otherwise):\n"
    "      --hidden N,...    widths of the hidden layers from the bottom (256,256,256; of shards: 64 or\n"
    "                        less, see below); about as many rows fit as the narrowest is wide\n"
    "      --activation A    gelu relu tanh linear (gelu)\n"
    "      --particles N     mixture components (1)\n"
    "      --sigma-w S       prior spread of the weights (1)\n"
    "      --sigma-x S       noise of the layers (0.01)\n"
    "      --sigma-data S    noise of the rows (that of the layers)\n"
    "      --seed N          (0)\n"
    "      --resample        resample particles when few of them carry the weight\n"
    "      --precision P     float32 float64 (float32)\n"
    "Many rows, in narrow networks side by side that are begun as they are needed:\n"
    "      --capacity N      shards for N rows, three layers of 64 each, or less for rows of fewer than\n"
    "                        256 entries (pictures: 1024, unless --hidden or --shards is given)\n"
    "      --shards K        that many, for those who know\n"
    "      --shard-rows R    rows after which the next shard begins (as many as a layer has units)\n"
    "      --when-full WHAT  blur: write on, old and new blur (the default); recycle: the oldest shard is\n"
    "                        emptied; refuse: no more rows\n"
    "      --files F         a folder of F files that the shards are cut into, for bpcn-mpi too\n"
    "      --names N         of how many of the latest rows the names are kept (pictures and tables 1024, else 0)\n"
    "      --force           replace an existing one; make one that is larger than this machine's memory\n" COMMON;

static const char write_page[] =
    INPUTS "      --forget auto     let old rows fade so that a stream of any length stays recallable for\n"
           "                        its recent past (of several shards, rather create one that recycles)\n"
           "      --forget BETA     forget by BETA before every write\n"
           "      --name COLUMN     of a table that has the names of its rows (pictures have those of their files)\n"
           "      --skip-known      do not write again what the memory knows already\n" COMMON
           "\nCtrl-C ends after the row at hand; finished rows are in the file. The same command with --skip-known\n"
           "goes on where it stopped.\n"
           "\n  bpcn write digits.mem image=train-images.gz label=train-labels.gz --rows 0:256\n";

static const char read_page[] = INPUTS QUERIES OUTPUTS
    "      --refuse-below P  leave rows of a familiarity below P unanswered (exit status 3)\n" SHARDS_READ COMMON
    "\n  bpcn read faces.mem faces/ --hide right:0.5 -o recalled.png\n"
    "  bpcn read digits.mem image=seven.png            which label?\n"
    "  bpcn read digits.mem label=7 -o seven.png       show me one\n";

static const char score_page[] = INPUTS QUERIES SHARDS_READ
    "  -o, --output OUT  a CSV file of row number and log density (- is standard output)\n"
    "      --alarm P     say which rows are of typicality P or less\n"
    "      --write       learn every row after it was scored\n" COMMON
    "\nEvery row gets a familiarity from 0 (never seen) to 1 (written), 0.5 is the border,\n"
    "and a word: known, new, blend (several written rows share what is known) or cannot tell.\n";

static const char fill_page[] =
    "Fills every missing cell of a CSV table (or every NaN of an array) and leaves the rest as it is, byte for byte.\n"
    "- is standard input.\n"
    "  -o, --output OUT  (standard output)\n"
    "      --spread FILE a table of the same shape with the standard deviation of every filled cell\n"
    "                    (of a category: the chance that another word is right)\n"
    "      --write       learn every row after it was filled\n"
    "      --clip        bring numbers further than 8 scales from their column's centre to that\n"
    "      --format KIND, --member NAME, --pixels, --channels-last   as for read\n" COMMON
    "\n  bpcn create t.mem --like table.csv && bpcn write t.mem table.csv\n"
    "  bpcn fill t.mem gaps.csv -o filled.csv\n";

static const char serve_page[] =
    "      --listen A:P          address and port (127.0.0.1:8765; port 0: a free one)\n"
    "      --token TEXT          that requests must carry; --token-file FILE: its first line. Needed to\n"
    "                            listen beyond this machine\n"
    "      --allow-host H:P      a name that requests may call the server by\n"
    "      --allow-origin O      pages from there may ask\n"
    "      --read-only           no writes, forgets and deletes\n"
    "      --examples INPUT      up to 256 rows for the page to show and play with\n"
    "      --max-body BYTES      of a request (67108864); --max-rows N: of a request (4096)\n"
    "      --max-connections N   (128); --queue N: requests that may wait (256)\n"
    "      --batch N             rows that are read together (256); --gather MS: that a read waits for\n"
    "                            others at most (1)\n"
    "      --timeout S           without a byte (30); a request may take twice that to arrive\n" COMMON
    "\nSIGTERM and Ctrl-C end it when what has begun is answered and on disk.\n";

const struct command commands[] = {
    {"create", cmd_create, "make a new memory file",
     "MEM --like TABLE.csv | --image 32x32x3 | --dim N | --fields F,... [OPTIONS]", create_page},
    {"write", cmd_write, "write every row or picture, once", "MEM INPUT... [OPTIONS]", write_page},
    {"read", cmd_read, "recall rows from fragments or noisy copies", "MEM INPUT... [OPTIONS] [-o OUT]", read_page},
    {"score", cmd_score, "tell how familiar rows are", "MEM INPUT... [OPTIONS] [-o SCORES.csv]", score_page},
    {"fill", cmd_fill, "fill in what is missing in a table", "MEM TABLE.csv [-o OUT] [--spread FILE]", fill_page},
    {"forget", cmd_forget, "let everything fade a little", "MEM --beta B [--times N]",
     "      --beta B      0 forgets nothing, 1 everything\n      --times N     repeat (1)\n" COMMON},
    {"delete", cmd_delete, "take written rows back", "MEM INPUT... | NAME... [OPTIONS]",
     INPUTS COMMON
     "\nWhat is no file, but the name of a row (bpcn list), is the latest row of that name: it is had again\n"
     "from the memory itself, or refused if that is not possible exactly.\n"
     "A row that the memory does not hold is refused (exit status 3).\n"},
    {"sample", cmd_sample, "draw what the memory imagines", "MEM [-n 16] [--seed N] -o OUT",
     "  -n, --number N    how many (16)\n      --seed N      another draw (0)\n" OUTPUTS COMMON},
    {"list", cmd_list, "the names of the latest rows", "MEM", COMMON},
    {"info", cmd_info, "shape, counts, bytes, how full", "MEM [--measure] [--header] [--json]",
     "      --measure     load the memory and see how full it is now\n"
     "      --header      read the header alone: the state at the last checkpoint\n" COMMON},
    {"check", cmd_check, "verify a memory file", "MEM",
     "Says what is wrong and where (exit status 4), or what a crash left (exit status 3).\n" COMMON},
    {"recover", cmd_recover, "save what is intact of a damaged file", "IN OUT",
     "IN is only read; OUT must be a new name. Says what is lost (exit status 3).\n" COMMON},
    {"compact", cmd_compact, "fold the log: a smaller file", "MEM [OUT]",
     "With OUT the folded memory goes to that new file, say on another disk, and MEM stays as it is.\n" COMMON},
    {"export", cmd_export, "parameters to NumPy", "MEM OUT.npz", COMMON},
    {"import", cmd_import, "a memory from NumPy parameters", "MEM IN.npz [--force]",
     "      --force       replace an existing file\n" COMMON},
    {"bench", cmd_bench, "measure speed", "[--data PATH] [--json]",
     "Reads and writes against what this machine can do at most and against the paper's schedule, and how cost\n"
     "grows; under five minutes. Speeds are ratios within one run.\n"
     "      --data PATH   measure with the first 80 rows of a file or folder instead of smooth random ones\n" COMMON},
    {"demo", cmd_demo, "64 pictures written and recalled", "[OUT.png] | --serve [--listen 127.0.0.1:8765]",
     "Needs Fashion-MNIST (the Debian package dataset-fashion-mnist); draws demo.png.\n"
     "      --serve       rather serves a memory of these pictures, to look at in a browser, until Ctrl-C\n"
     "      --listen A:P  where (127.0.0.1:8765)\n"},
    {"serve", cmd_serve, "a memory over HTTP, with a page to look at it", "MEM [--listen 127.0.0.1:8765] [OPTIONS]",
     serve_page},
    {"help", cmd_help, "this, or the page of a command", "[COMMAND]", ""},
};

const size_t command_count = sizeof commands / sizeof *commands;
