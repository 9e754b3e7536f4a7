#!/bin/sh
# reproduce from end to end on a fraction of the quick tier: synthetic images in the layout of
# CIFAR-10, a run that is killed and goes on, every kind of output; and bpcn-paper-mpi with two ranks.
#
# usage: paper/tests/test_reproduce.sh BPCN_PAPER [BPCN_PAPER_MPI]
set -eu

bpcn=$1
mpi=${2:-}
report=$(cd "$(dirname "$0")/.." && pwd)/report.py
python=${PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
OPENBLAS_NUM_THREADS=1
export OPENBLAS_NUM_THREADS

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# 1060 smooth pictures: label, then red, green and blue planes of 32 x 32.
mkdir -p "$work/data/cifar-10-batches-bin"
awk 'BEGIN {
    for (i = 0; i < 1060; i++) {
        printf "%c", 1 + i % 9
        for (c = 0; c < 3; c++) {
            a = (i * 7 + c * 3) % 11; b = (i * 5 + c) % 13
            for (y = 0; y < 32; y++)
                for (x = 0; x < 32; x++)
                    printf "%c", 64 + int(60 * (1 + sin(a + x * (i % 17 + 3) / 40) * cos(b + y * (i % 23 + 2) / 50)) / 2)
        }
    }
}' > "$work/data/cifar-10-batches-bin/data_batch_1.bin"

run() {
    "$bpcn" reproduce "$@" --out "$work/out" --data-dir "$work/data" --datasets cifar10
}

# The mse of a cell: number CELL FOLDER, the last row of that key.
number() {
    awk -F, -v cell="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $1 == cell { mse = $at["mse"] } END { print mse }' "$2/cells.csv"
}

# A run that is killed leaves whole rows, and the next one goes on.
# setsid: a process group of its own, so that none of its processes goes on.
setsid "$bpcn" reproduce recall --longest 16 --limit-queries 4 --out "$work/out" --data-dir "$work/data" \
    --datasets cifar10 > /dev/null 2>&1 &
child=$!
until [ "$(wc -l 2> /dev/null < "$work/out/cells.csv" || echo 0)" -gt 1 ]; do
    kill -0 "$child" 2> /dev/null || fail "the run ended without a cell"
    sleep 0.02
done
kill -9 -- "-$child" 2> /dev/null || true
wait "$child" 2> /dev/null || true
# As if by a kill in the midst of the second row, whatever the first had time for.
head -n 2 "$work/out/cells.csv" > "$work/first"
{ cat "$work/first"; printf 'cifar10-torn,16,4,0.0'; } > "$work/out/cells.csv"

run recall --longest 16 --limit-queries 4 --jobs 2 > "$work/log" || fail "recall"
grep -q '^\([0-9]*\) of \1 cells are in ' "$work/log" || fail "it does not say what is there: $(cat "$work/log")"
head -n 2 "$work/out/cells.csv" | cmp -s - "$work/first" || fail "a finished cell was lost"
awk -F, 'NR == 1 { n = NF } NF != n || seen[$1]++ || /torn/ { exit 1 }' "$work/out/cells.csv" || fail "the table is torn"
"$python" "$report" "$work/out" || fail "no report"
for file in recall.csv recall.md charts/recall-cifar10.svg report.html; do
    [ -s "$work/out/$file" ] || fail "$file is missing"
done
grep -q '| bayespcn |' "$work/out/recall.md" || fail "the table has no row for bayespcn"
grep -q "$work" "$work/out/recall.md" "$work/out/recall.csv" "$work/out/report.html" && fail "a path of this machine"
grep -q '^|.*°\|(paper 0' "$work/out/recall.md" && fail "the quick tier is compared with the paper, or its new cells are stale"

# A cell is computed once: the same command adds no row.
cp "$work/out/cells.csv" "$work/before"
run recall --longest 16 --limit-queries 4 > /dev/null
cmp -s "$work/out/cells.csv" "$work/before" || fail "a cell was computed twice"

# Every cell says how it was computed.
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR > 1 && ($at["kernels"] == "" || $at["date"] !~ /^20/ || $at["cpu"] == "" || length($at["code"]) != 12) { exit 1 }' \
    "$work/out/cells.csv" || fail "a cell does not say how it was computed"

# Rows by name, in a table of their own; and a name that none has.
"$bpcn" reproduce recall --longest 16 --limit-queries 4 --rows 'n*' --out "$work/rows" --data-dir "$work/data" \
    --datasets cifar10 > /dev/null || fail "--rows"
[ "$(cut -d, -f1 "$work/rows/cells.csv" | grep -c nearest)" = 3 ] || fail "--rows left cells of its row out"
[ "$(wc -l < "$work/rows/cells.csv")" = 4 ] || fail "--rows computed other rows"
run recall --rows nobody > /dev/null 2> "$work/log" && fail "a row that is none was accepted"
grep -q 'no row is called nobody; there are: identity; nearest' "$work/log" || fail "no sentence for an unknown row"

# Tasks by name; and a name that none has.
"$bpcn" reproduce recall --longest 16 --limit-queries 4 --rows 'n*' --tasks 'mask*' --out "$work/tasks" \
    --data-dir "$work/data" --datasets cifar10 > /dev/null || fail "--tasks"
[ "$(cut -d, -f1 "$work/tasks/cells.csv" | grep -c 'nearest.*mask0.25')" = 1 ] || fail "--tasks left its task out"
[ "$(wc -l < "$work/tasks/cells.csv")" = 2 ] || fail "--tasks computed other tasks"
run recall --tasks 'mask*' --longest 1 > "$work/log" || fail "a task without a sequence that short"
grep -q '^0 of 0 cells' "$work/log" || fail "cells of no length"
run recall --tasks nobody > /dev/null 2> "$work/log" && fail "a task that is none was accepted"
grep -q 'no task is called nobody; there are: white0.2; drop0.25; mask0.25$' "$work/log" || fail "no sentence for an unknown task"

# Lengths from and to.
"$bpcn" reproduce recall --shortest 16 --longest 16 --limit-queries 4 --rows 'n*' --tasks 'mask*' --out "$work/lengths" \
    --data-dir "$work/data" --datasets cifar10 > /dev/null || fail "--shortest"
[ "$(cut -d, -f1 "$work/lengths/cells.csv" | grep -c 'T16-mask0.25')" = 1 ] || fail "--shortest left its length out"
run recall --tasks 'mask*' --rows 'n*' --shortest 17 --longest 31 > "$work/log" || fail "lengths between two sequences"
grep -q '^0 of 0 cells' "$work/log" || fail "--shortest did not leave the shorter out"
run recall --shortest 17 --longest 16 > /dev/null 2> "$work/log" && fail "--shortest above --longest was accepted"
grep -q 'at least 17 and at most 16 images' "$work/log" || fail "no sentence for --shortest above --longest"

"$python" "$report" "$work/tasks"
# Tables show all that the tier has, also after a part was computed: what is not there is a dash.
grep -q '^| images written | 16 | [0-9]' "$work/tasks/recall.md" || fail "a part has a table of its own"
grep -q '^| nearest | [0-9.°]* | – |' "$work/tasks/recall.md" || fail "no dash for what was not computed"

# Cells computed again come out as they were, and are missed where they are not there or not what they were. Without the
# rows of the paper's objective and method, "(paper objective)" and "as the paper does it": its many minima move the mean of four
# queries by any amount.
"$bpcn" reproduce recall --check --sample 40 --rows '*[!i][!)]' --longest 16 --limit-queries 4 --out "$work/out" --data-dir "$work/data" \
    --datasets cifar10 > "$work/log" || fail "--check: $(cat "$work/log")"
grep -q 'cells computed again, 0 moved' "$work/log" || fail "--check does not say what it found"
cmp -s "$work/out/cells.csv" "$work/before" || fail "--check wrote something"
[ ! -e "$work/out/checked.csv" ] || fail "--check recorded what it found, and was not asked to"
mkdir -p "$work/checked" && cp "$work/before" "$work/checked/cells.csv"
"$bpcn" reproduce recall --check --record --sample 6 --rows nearest --longest 16 --limit-queries 4 --out "$work/checked" \
    --data-dir "$work/data" --datasets cifar10 > /dev/null || fail "--record"
[ "$(grep -c '^cifar10-nearest.*,nearest,.*,unmoved,' "$work/checked/checked.csv")" = 3 ] || fail "--record does not say what --check found"
run recall --record > /dev/null 2> "$work/log" && fail "--record without --check was accepted"
grep -q 'give both' "$work/log" || fail "no sentence for --record without --check"
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } /mhn/ { $at["mse"] = 0.3; $at["code"] = "other" } { print }' \
    "$work/before" > "$work/rows/cells.csv"
"$bpcn" reproduce recall --check --sample 40 --rows 'mhn*' --longest 16 --limit-queries 4 --out "$work/rows" \
    --data-dir "$work/data" --datasets cifar10 > "$work/log" && fail "a cell that moved went unseen"
[ "$(grep -c '^MOVED .*mhn.*: 0.300000, now' "$work/log")" = "$(grep -c mhn "$work/before")" ] || fail "--check does not say which cells moved"
run sigma --check > /dev/null 2> "$work/log" && fail "a check of nothing was accepted"
grep -q 'has none of these cells' "$work/log" || fail "no sentence for a check of nothing"

# Cells of other code are computed again on demand: one more row each, and the same numbers.
"$bpcn" reproduce recall --stale --rows mhn --longest 16 --limit-queries 4 --out "$work/rows" --data-dir "$work/data" \
    --datasets cifar10 > /dev/null || fail "--stale"
for cell in $(cut -d, -f1 "$work/before" | grep mhn-euclidean); do
    [ "$(number "$cell" "$work/rows")" != 0.3 ] || fail "$cell is stale and was not computed again"
done
[ "$(wc -l < "$work/rows/cells.csv")" = $(($(wc -l < "$work/before") + 3)) ] || fail "--stale computed others again"

# The figures leave numbers and pictures; the report shows the pictures only when asked.
run oneshot --pictures > /dev/null || fail "oneshot"
run generalization --longest 8 > /dev/null || fail "generalization"
run samples --longest 4 > /dev/null || fail "samples"
run recalled --longest 16 > /dev/null || fail "recalled"
run metric --rows 'mhn*' > /dev/null || fail "metric"
"$python" "$report" "$work/out"
grep -q '| bayespcn, later_mask0.75 | [0-9]' "$work/out/recalled.md" || fail "recalled leaves no numbers"
grep -q "| mhn (the paper's dot), later_drop0.75 | [0-9]" "$work/out/metric.md" || fail "metric leaves no numbers"
[ "$(ls "$work/out/pictures" | grep -c -e ^recalled -e ^metric)" = 3 ] || fail "not a picture for each of recalled and metric"
[ -n "$(ls "$work/out/pictures"/oneshot-*.png)" ] || fail "there is no picture"
grep -q 'src=.pictures/' "$work/out/report.html" && fail "pictures in a report that should have none"
"$python" "$report" --pictures "$work/out"
grep -q 'src=.pictures/oneshot' "$work/out/report.html" || fail "no pictures in a report that should have them"
grep -q 'after_mask0.75' "$work/out/oneshot.md" || fail "oneshot leaves no numbers"

# Shards: by width, a collection and a stream that goes on into the test images. 60 and 10 pictures in the layout of MNIST.
mkdir -p "$work/data/fashion-mnist"
pictures() { # FROM TO
    awk -v from="$1" -v to="$2" 'BEGIN {
        for (i = from; i < to; i++)
            for (y = 0; y < 28; y++)
                for (x = 0; x < 28; x++)
                    printf "%c", 64 + int(60 * (1 + sin(i * i % 19 + x * (i % 7 + 2) / 9) * cos(i * 5 % 13 + y * (i % 11 + 2) / 9)) / 2)
    }'
}
{ printf '\000\000\010\003\000\000\000\074\000\000\000\034\000\000\000\034'; pictures 0 60; } \
    > "$work/data/fashion-mnist/train-images-idx3-ubyte"
{ printf '\000\000\010\003\000\000\000\012\000\000\000\034\000\000\000\034'; pictures 60 70; } \
    > "$work/data/fashion-mnist/t10k-images-idx3-ubyte"
"$bpcn" reproduce shards --out "$work/out" --data-dir "$work/data" --datasets cifar10,fashion-mnist > "$work/log" ||
    fail "shards"
"$python" "$report" "$work/out"
for row in '4 x 8x3, 1 row a unit' '1 x 8x3, 4 rows a unit' 'nearest, by matrix products'; do
    grep -q "| $row |" "$work/out/shards.md" || fail "shards.md lacks $row"
done
grep -q '^| mask0.5 | 8 x 8x3 | 1.0000 | 1.0000 |' "$work/out/shards.md" || fail "a collection is not recalled"
grep -q '^| 0 – 2 | 1.000 | 0.00000 |' "$work/out/shards.md" || fail "the latest of a stream are not recalled"
grep -q 'k3r8-recycle.*latest44,' "$work/out/cells.csv" || fail "there is no cell of the stream"
grep -q 'one row a unit' "$work/out/charts/shards-cifar10.svg" || fail "there is no chart by width"
grep -q 'a stream' "$work/out/charts/shards-fashion-mnist.svg" || fail "there is no chart of the stream"
grep -q '<td>mask0.5</td>' "$work/out/report.html" || fail "the report lacks the tables of shards.md"

# Mistakes get a sentence and a status.
run nothing > /dev/null 2> "$work/log" && fail "an unknown experiment was accepted"
grep -q 'no experiment called nothing' "$work/log" || fail "no sentence for an unknown experiment"
"$bpcn" reproduce recall --out "$work/other" --data-dir "$work/none" > /dev/null 2> "$work/log" &&
    fail "a missing dataset was accepted"
grep -q 'missing' "$work/log" || fail "no sentence for a missing dataset"

# eval: JSON, one object per line.
"$bpcn" eval --data-dir "$work/data" --model nearest --length 8 --tasks white0.2,mask0.25 --json > "$work/log"
[ "$(grep -c '^{"model": "nearest".*"mse": .*}$' "$work/log")" = 2 ] || fail "eval --json"
"$bpcn" eval --data-dir "$work/data" --length 0 > /dev/null 2>&1 && fail "a length of 0 was accepted"

# Two ranks give the cells that one process gives.
if [ -n "$mpi" ]; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        mpirun --oversubscribe -n 2 "$mpi" reproduce recall --longest 16 --limit-queries 4 --out "$work/mpi" \
        --data-dir "$work/data" --datasets cifar10 > "$work/log" 2>&1 || fail "bpcn-mpi: $(cat "$work/log")"
    for cell in $(cut -d, -f1 "$work/before" | grep -E 'nearest.*T16|bayespcn-h96x3-gelu-n1-w1-x0.01-s0-T16.*q4$'); do
        one=$(number "$cell" "$work/out") two=$(number "$cell" "$work/mpi")
        [ -n "$two" ] || fail "$cell is missing under MPI"
        awk -v a="$one" -v b="$two" 'BEGIN { d = a - b; exit !(d < 1e-4 && d > -1e-4) }' ||
            fail "$cell: $one alone, $two under MPI"
    done
    [ -s "$work/mpi/plan.csv" ] || fail "bpcn-paper-mpi wrote no plan"
fi
echo "reproduce: all passed"
