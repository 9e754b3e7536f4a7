#!/bin/sh
# A folder of memory files: bpcn, and any number of ranks of bpcn-mpi, answer as bpcn does from one file with the same
# shards, to the bit; a rank that dies ends the job and loses nothing that was acknowledged; errors are one sentence and
# no hang.
#
# usage: tests/test_folder.sh BPCN BPCN_MPI short|long
set -eu

bpcn=$1
mpi=$2
form=$3
many=yes
if ! command -v mpirun > /dev/null || [ ! -x "$mpi" ]; then
    echo "skipped: bpcn-mpi, there is no mpirun or it was not built (make mpi)"
    many=
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# writes with another number of threads may differ in their last bits
export OPENBLAS_NUM_THREADS=1 BPCN_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
passed=0

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

ok() {
    echo "ok   $*"
    passed=$((passed + 1))
}

# ranks P ARGUMENTS...: a job of bpcn-mpi, or with 0 bpcn; one that hangs is ended, and fails
ranks() {
    n=$1
    shift
    if [ "$n" = 0 ]; then
        timeout 120 "$bpcn" "$@"
    else
        timeout 120 mpirun --oversubscribe -n "$n" "$mpi" "$@"
    fi
}

# only COUNTS...: of these numbers of ranks, those that can be had here
only() {
    for n; do
        [ "$n" = 0 ] || [ -n "$many" ] || continue
        echo "$n"
    done
}

# rows COUNT DIM SEED: random numbers between -1 and 1
rows() {
    awk -v n="$1" -v dim="$2" -v s="$3" 'BEGIN {
        srand(s)
        for (i = 0; i < n; i++)
            for (j = 0; j < dim; j++)
                printf "%.4f%s", 2 * rand() - 1, j < dim - 1 ? "," : "\n"
    }'
}

# What is said of a row does not depend on how many shards were looked at, but for the evaluations that took; a write by
# bpcn-mpi asks only the row's own shard whether it was known before.
without_effort() {
    sed '/"log_density"/!s/"familiarity":[^,]*,"verdict":[^,]*,"novel":[^,]*,//; s/"evaluations":[0-9]*,//; s/"rate":[^,]*,//
        s/"novel":[0-9]*,"known":[0-9]*,//; s/"fullness":[^,]*,//' "$1"
}

# what info says of the memory, whichever files it is in; fullness is of the last write, measured there
without_place() {
    sed 's/"file":[^,]*,//; s/"bytes":.*"shards":/"shards":/; s/"fullness":.*"kernels"/"kernels"/; s/,"files":4//'
}

same() {
    without_effort "$1" > left
    without_effort "$2" > right
    cmp -s left right || fail "$3: $(diff left right | head -4)"
}

# ---- the same answers

awk 'BEGIN { for (j = 0; j < 24; j++) printf "%d%s", j % 3 != 0, j < 23 ? "," : "\n" }' > mask.csv
rows 60 24 1 > all.csv
rows 6 24 2 > new.csv
head -10 all.csv > few.csv
sed -n '8p;20p;31p' all.csv > gone.csv
sed '8d;20d;31d' all.csv > kept.csv
shape="--dim 24 --hidden 8,8 --shards 8 --shard-rows 6 --seed 3"

# every command on one file, and then on folders of four
# whole NAME ROWS OPTIONS...; asked: a file of rows that it should know
asked=all.csv
whole() {
    name=$1 file=$2
    shift 2
    "$bpcn" create "$name.mem" $shape "$@" -q
    "$bpcn" write "$name.mem" "$file" --json > "$name.write"
    "$bpcn" read "$name.mem" "$asked" --mask mask.csv --json -o "$name.npy" > "$name.read"
    "$bpcn" read "$name.mem" "$asked" --noise 0.05 -q -o "$name.noisy.npy"
    # a folder keeps no surprises, by which one file tells how typical a row is
    "$bpcn" score "$name.mem" "$asked" --json | sed 's/,"typicality":[^,]*//' > "$name.score"
}

after() {
    name=$1
    "$bpcn" delete "$name.mem" gone.csv --json > "$name.delete"
    grep -q '"deleted":true' "$name.delete" || fail "nothing was deleted"
    "$bpcn" forget "$name.mem" --beta 0.01 -q
    "$bpcn" read "$name.mem" kept.csv --mask mask.csv -q -o "$name.after.npy"
}

# who RANKS: by name
who() {
    [ "$1" = 0 ] && echo bpcn || echo "$1 ranks"
}

# folder RANKS NAME ROWS OPTIONS...
folder() {
    p=$1 name=$2 file=$3 dir=$2.$1
    shift 3
    ranks "$p" create "$dir" $shape "$@" --files 4 -q
    ranks "$p" write "$dir" "$file" --json > mine
    same "$name.write" mine "write, $p ranks, $name"
    ranks "$p" read "$dir" "$asked" --mask mask.csv --json -o mine.npy > mine
    cmp "$name.npy" mine.npy || fail "answers to fragments, $p ranks, $name"
    same "$name.read" mine "read, $p ranks, $name"
    ranks "$p" read "$dir" "$asked" --noise 0.05 -q -o mine.npy
    cmp "$name.noisy.npy" mine.npy || fail "answers to noisy rows, $p ranks, $name"
    ranks "$p" score "$dir" "$asked" --json > mine
    same "$name.score" mine "score, $p ranks, $name"
    # for rows that nobody knows a better shard may be found than one process does, which looks at four in all; but
    # every number of ranks finds the same
    ranks "$p" score "$dir" new.csv --json > mine
    [ -f "$name.new" ] || cp mine "$name.new"
    cmp "$name.new" mine || fail "score of new rows, $p ranks, $name"
    grep -q '"verdict":"known"' mine && fail "a new row is known"
    # nor does it matter who wrote the folder
    "$bpcn" read "$dir" "$asked" --mask mask.csv -q -o mine.npy
    cmp "$name.npy" mine.npy || fail "answers to fragments, by bpcn, of a folder of $p ranks, $name"
    ok "$(who "$p"): writes, reads and scores as one file does, $name"
}

folder_after() {
    p=$1 name=$2 dir=$2.$1
    ranks "$p" delete "$dir" gone.csv --json > mine
    cmp "$name.delete" mine || fail "delete, $p ranks"
    ranks "$p" forget "$dir" --beta 0.01 -q
    ranks "$p" read "$dir" kept.csv --mask mask.csv -q -o mine.npy
    cmp "$name.after.npy" mine.npy || fail "answers after forget and delete, $p ranks"
    ranks "$p" info "$dir" --json > mine
    grep -q '"writes":60,"forgets":1,"deletes":3,.*"files":4}' mine || fail "info: $(cat mine)"
    "$bpcn" info "$name.mem" --json | without_place > left
    without_place < mine > right
    cmp -s left right || fail "info, $p ranks: $(diff left right)"
    ok "$(who "$p"): forgets, deletes and tells as one file does"
}

whole blur all.csv
after blur
counts="0 3"
[ "$form" = long ] && counts="0 1 2 3 4"
for p in $(only $counts); do
    folder "$p" blur all.csv
    folder_after "$p" blur
done
asked=few.csv
whole part few.csv # two shards have begun: two files are empty
for p in $(only 0 3); do
    folder "$p" part few.csv
done
tail -48 all.csv > asked.csv # what the first two shards had is gone
asked=asked.csv
whole recycle all.csv --when-full recycle
for p in $(only 0 2); do
    folder "$p" recycle all.csv --when-full recycle
done
if [ "$form" = long ]; then
    for p in $(only 1 4); do
        folder "$p" recycle all.csv --when-full recycle
    done
    asked=few.csv
    for p in $(only 1 4); do
        folder "$p" part few.csv
    done
    asked=all.csv
    whole double all.csv --precision float64 --particles 2
    for p in $(only 0 1 4); do
        folder "$p" double all.csv --precision float64 --particles 2
    done
fi

# where every shard is read the answer is the same for any row, also where several are within a nat of each other
near="--dim 3 --hidden 2 --shards 6 --shard-rows 4 --sigma-x 0.2 --seed 3"
rows 24 3 7 > near.csv
rows 200 3 8 > far.csv
"$bpcn" create near.mem $near -q
"$bpcn" write near.mem near.csv -q
"$bpcn" read near.mem far.csv --assume-noise 0.3 --shards-read 6 --json -o near.npy > near.read
for p in $(only 0 3); do
    "$bpcn" create near.$p $near --files 3 -q
    ranks "$p" write near.$p near.csv -q
    ranks "$p" read near.$p far.csv --assume-noise 0.3 --shards-read 6 --json -o mine.npy > mine
    cmp near.npy mine.npy || fail "answers to new rows where all shards are read, $(who "$p")"
    same near.read mine "read where all shards are read, $(who "$p")"
done
[ "$(sed 's/.*"shard":\([0-9]*\).*/\1/' near.read | sort -u | wc -l)" = 6 ] || fail "not every shard answers some row"
ok "where every shard is read, a folder answers any row as one file does"

# the files do not know how many ranks made them
if [ -n "$many" ]; then
    for p in 0 2; do
        ranks 4 read recycle.$p asked.csv --mask mask.csv -q -o mine.npy
        cmp recycle.npy mine.npy || fail "a folder that $p ranks wrote, read by 4"
    done
    ok "a folder that bpcn or two ranks wrote is read by four"
fi
"$bpcn" check recycle.0 > mine
[ "$(cat mine)" = "recycle.0: sound" ] || fail "check: $(cat mine)"
for f in 0 1 2 3; do
    "$bpcn" check "recycle.0/part-0000$f-of-00004.mem" -q || fail "file $f is no memory file of its own"
done
ok "a folder is sound, and its files are memory files"

# ---- what only bpcn does with a folder

"$bpcn" sample part.0 -n 64 -o some.npy -q
"$bpcn" sample part.0 -n 64 -o again.npy -q
cmp some.npy again.npy || fail "samples of the same seed differ"
"$bpcn" sample part.0 -n 64 --seed 1 -o again.npy -q
cmp -s some.npy again.npy && fail "samples of another seed are the same"
ok "samples of a folder follow from their seed"
rows 3 24 6 > three.csv
"$bpcn" create three --dim 24 --hidden 1 --shards 3 --shard-rows 1 --files 3 -q
"$bpcn" write three three.csv -q
"$bpcn" sample three -n 60 -o drawn.csv -q
"$bpcn" score three drawn.csv --json | sed 's/.*"shard":\([0-9]*\).*/\1/' | sort | uniq -c > drawn
[ "$(awk '$1 >= 8' drawn | wc -l)" = 3 ] || fail "samples by file: $(cat drawn)"
ok "every file of a folder has its share of the samples"

# ---- errors

# refuses RANKS STATUS SENTENCE ARGUMENTS...
refuses() {
    p=$1 wanted=$2 sentence=$3
    shift 3
    status=0
    ranks "$p" "$@" > said 2>&1 || status=$?
    [ "$status" = "$wanted" ] || fail "status $status, not $wanted: $* ($(cat said))"
    grep -q "^bpcn.*$sentence" said || fail "'$sentence' is not in: $(cat said)"
    [ "$(grep -c "^bpcn" said)" = 1 ] || fail "more than one sentence: $(cat said)"
    ok "$sentence"
}

mkdir nothing
cp -r blur.0 damaged
printf 'x' | dd of=damaged/part-00003-of-00004.mem bs=1 seek=3000 conv=notrunc 2> /dev/null
cp -r blur.0 missing
rm missing/part-00001-of-00004.mem
"$bpcn" create other --dim 25 --shards 8 --files 4 -q
cp -r blur.0 mixed
cp other/part-00002-of-00004.mem mixed/
cp -r blur.0 twice
cp blur.0/part-00002-of-00004.mem twice/part-00001-of-00004.mem
cp -r blur.0 two
cp blur.0/part-00002-of-00004.mem two/part-00002-of-00005.mem
for p in $(only 0 2); do
    refuses "$p" 1 "No such file or directory" read nowhere all.csv
    refuses "$p" 4 "has no files" read nothing all.csv
    refuses "$p" 1 "already has a memory" create blur.0 $shape --files 4
    refuses "$p" 1 "3 shards cannot be cut into 4 files" create fresh --dim 4 --shards 3 --files 4
    refuses "$p" 4 "damaged" read damaged all.csv
    refuses "$p" 1 "part-00001-of-00004.mem.*No such file" read missing all.csv
    [ "$p" = 0 ] || [ "$form" = long ] || continue
    refuses "$p" 4 "its shape differs from that of the folder's first file" score mixed all.csv
    refuses "$p" 4 "its shards are not those of its name" score twice all.csv
    refuses "$p" 4 "files of two memories" score two all.csv
    refuses "$p" 3 "not deleted" delete blur.0 new.csv --rows 0:1
done
for of in damaged mixed twice two nothing; do
    refuses 0 4 "$of" check "$of"
done
refuses 0 1 "blur.0: is a folder; give its files one by one" export blur.0 out.npz
refuses 0 1 "already exists" create blur.0 $shape
refuses 0 1 "Not a directory" create blur.mem $shape --files 4 --force
"$bpcn" create other $shape --files 3 --force -q
[ "$(ls other | tr '\n' ' ')" = "part-00000-of-00003.mem part-00001-of-00003.mem part-00002-of-00003.mem " ] ||
    fail "--force left old files: $(ls other)"
ok "--force replaces a folder of more files"
# what cannot be made leaves what is there, and nothing of its own
before=$(cat other/* | cksum)
BPCN_KERNELS=none refuses 0 1 "other: .*none" create other $shape --files 3 --force
[ "$(cat other/* | cksum)" = "$before" ] || fail "a create that was refused changed the folder"
mkdir -p half/part-00002-of-00004.mem/x
refuses 0 1 "half/part-00002-of-00004.mem" create half $shape --files 4 --force
[ "$(ls half)" = part-00002-of-00004.mem ] || fail "half a folder was left: $(ls half)"
ok "a create that fails leaves nothing behind"

# a folder has one writer at a time
mkfifo rows.f32
"$bpcn" write blur.0 rows.f32 -q 2> /dev/null &
writer=$!
exec 9> rows.f32 # waits until the writer, which has the folder, opens it
refuses 0 1 "blur.0.*is open for writing elsewhere" write blur.0 new.csv
exec 9>&-
wait $writer || true
ok "a folder has one writer at a time"

if [ "$form" = long ] && [ -n "$many" ]; then
    refuses 5 1 "5 processes cannot share 4 files: start at most 4" read blur.0 all.csv
    refuses 4 1 "4 processes cannot share 2 files" create fresh $shape --files 2
    refuses 2 2 "no command 'eval'" eval
fi
# a bad row is named, and none of its file is written
sed '8s/^[^,]*/1e16/' all.csv > bad.csv
for p in file $(only 0 2); do
    rm -rf fresh
    files="--files 4"
    [ "$p" = file ] && p=0 files=
    "$bpcn" create fresh $shape $files -q
    ranks "$p" write fresh bad.csv > said 2>&1 && fail "a row that no memory takes was written"
    grep -q "bad.csv: line 8, column 1 is 1e+16" said || fail "no word of the bad row: $(cat said)"
    ranks "$p" info fresh --json | grep -q '"writes":0,' || fail "rows beside a bad one were written"
done
ok "a bad row is named, and none of its file is written"

# ---- a rank dies in the midst of writing

# how many rows were acknowledged: lines of rows in the answer
acknowledged() {
    grep -c '"row":[0-9]*,"familiarity"' "$1" || true
}

# dies RANKS WHO: rank WHO is killed after some rows; the job ends, and nothing acknowledged is lost
dies() {
    p=$1 who=$2
    rm -rf crash
    ranks "$p" create crash --dim 128 --hidden 64,64 --shards 16 --shard-rows 64 --when-full refuse --files 4 -q
    timeout 120 mpirun --oversubscribe -n "$p" "$mpi" write crash long.csv --json > said 2> why &
    job=$!
    tries=0
    while [ "$(acknowledged said)" -lt 100 ] && [ $tries -lt 1000 ]; do
        sleep 0.01
        tries=$((tries + 1))
    done
    victim=
    for pid in $(pgrep -f "$mpi write crash" || true); do
        if tr '\0' '\n' < "/proc/$pid/environ" 2> /dev/null | grep -q "^OMPI_COMM_WORLD_RANK=$who\$"; then
            [ "$(readlink "/proc/$pid/cwd")" = "$PWD" ] && victim=$pid
        fi
    done
    [ -n "$victim" ] && kill -9 "$victim" || fail "no rank $who to kill: $(tail -1 said)"
    start=$(date +%s)
    status=0
    wait $job || status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] || fail "status $status after rank $who was killed"
    [ $(($(date +%s) - start)) -lt 60 ] || fail "the job took a minute to end"
    grep -q "rank $who .*signal 9" why || fail "no word of rank $who: $(cat why)"
    count=$(acknowledged said)
    [ "$count" -ge 100 ] && [ "$count" -lt 1024 ] || fail "$count rows acknowledged: too early or too late"
    # fewer ranks go on
    ranks 1 info crash --json > said
    there=$(sed 's/.*"writes":\([0-9]*\),.*/\1/' said)
    [ "$there" -ge "$count" ] || fail "$count rows acknowledged, $there there"
    ranks 2 score crash long.csv --rows "0:$count" --json > said
    [ "$(grep -c '"verdict":"known"' said)" = "$count" ] || fail "of $count acknowledged rows not all are known"
    # what the crash left unfilled is filled: the memory takes all of its 16 x 64 rows, and then no more
    rows $((1024 - there)) 128 9 > rest.csv
    ranks 2 write crash rest.csv -q || fail "$there rows there, but $((1024 - there)) more were refused"
    status=0
    ranks 2 write crash new128.csv > said 2>&1 || status=$?
    [ $status = 1 ] && grep -q "the memory is full" said || fail "more rows than there is room for: $(cat said)"
    ok "rank $who of $p killed after $count rows: $there are there, and the rest is taken"
}

if [ -z "$many" ]; then
    echo "$passed passed"
    exit 0
fi
rows 1024 128 4 > long.csv
rows 1 128 5 > new128.csv
dies 3 1
if [ "$form" = long ]; then
    dies 2 0
    dies 4 3
    dies 4 2
fi
echo "$passed passed"
