# Terminals, pipes, full disks and Ctrl-C.

pictures photos 20 8
bpcn create m.mem --image 8x8 --hidden 64,64 -q
bpcn write m.mem photos -q

law "--quiet prints nothing" same "$(bpcn score m.mem photos --quiet 2>&1)" ""
law "no colours and no progress in a pipe" same "$(bpcn write m.mem photos 2>&1 | tr -d '[:print:]\n' | wc -c)" 0
law "a reader that goes away is an error, not a crash" sh -c '
    { "$BPCN" read m.mem photos -o - 2>err; echo $? >status; } | head -c 10 >/dev/null
    test "$(cat status)" -le 1'

if command -v script >/dev/null; then
    bpcn create big.mem --dim 2000 --hidden 300,300 -q
    rows 200 2000 >rows.csv
    run script -qec "$BPCN write big.mem rows.csv" /dev/null
    law "a terminal shows a bar with rate and time left" sh -c '
        tr "\r" "\n" <.out | grep -q "^writing \[#*\.*\] *[0-9]*% [0-9]*/200 rows, [0-9.e+]*/s, 0:[0-9][0-9] left"'
    law "the bar is gone at the end" contains "$out" $'\r\033[K'"big.mem: 200 rows written"
    run script -qec "$BPCN write big.mem rows.csv --quiet" /dev/null
    law "--quiet shows none" same "$out" ""
    run script -qec "$BPCN score m.mem photos/p000.pgm" /dev/null
    law "a terminal gets colours" contains "$out" $'\033[32m'
    run script -qec "$BPCN read m.mem photos/p000.pgm -o -" /dev/null
    law "raw numbers do not go to a terminal" same "$status $(tr -d '\r' <<<"$out" | head -1)" \
        "2 bpcn read: raw numbers do not go to a terminal: give an output, such as -o out.npy"
    run script -qec "NO_COLOR=1 $BPCN score m.mem photos/p000.pgm" /dev/null
    law "NO_COLOR switches them off" same "$(grep -c $'\033\[3' <<<"$out")" 0
else
    skip "a terminal session: no script(1)"
fi

# Ctrl-C. A shell without job control starts background jobs with SIGINT ignored, hence env.
bpcn create c.mem --dim 2000 --hidden 300,300 -q
rows 200 2000 >many.csv
many=$(printf 'many.csv %.0s' {1..200}) # minutes of work: it is never done when the signal comes
begun() { # begun SIZE: waits until a row has gone to the file
    local look
    for look in $(seq 1200); do
        [ "$(stat -c %s c.mem)" -ne "$1" ] && return
        sleep 0.05
    done
}
size=$(stat -c %s c.mem)
env --default-signal=INT "$BPCN" write c.mem $many >.out 2>.err &
pid=$!
begun "$size"
kill -INT $pid
wait $pid
status=$?
said=$(sed -n 's/.*interrupted; \([0-9]*\) rows* written before that .*/\1/p' .err)
law "Ctrl-C ends a write with 130" same "$status" 130
law "and says how many rows are in" test "$said" -gt 0 -a "$said" -lt 40000
law "and the memory is sound" bpcn check c.mem
law "and holds exactly those" same "$(bpcn info c.mem --json | json writes)" "$said"
before=$said
size=$(stat -c %s c.mem)
env --default-signal=INT "$BPCN" write c.mem $many --forget auto >.out 2>.err &
pid=$!
begun "$size"
kill -INT $pid
wait $pid
said=$(sed -n 's/.*interrupted; \([0-9]*\) rows* written before that .*/\1/p' .err)
law "the same with --forget auto" same "$(bpcn info c.mem --json | json writes)" "$((before + ${said:-0}))"
size=$(stat -c %s c.mem)
"$BPCN" write c.mem $many >.out 2>.err &
pid=$!
begun "$size"
kill -KILL $pid
wait $pid 2>/dev/null
run bpcn check c.mem
unfinished=$(cat .out .err | grep -c "unfinished")
law "even when killed the memory is whole, but for what was never finished" same "$status" "$((3 * (unfinished > 0)))"
law "and loads" bpcn score c.mem many.csv --rows 0:2
bpcn write c.mem many.csv --rows 0:1 -q
law "and the next write leaves it sound" bpcn check c.mem

mkfifo pipe
sleep 30 >pipe &
holder=$!
env --default-signal=INT "$BPCN" write m.mem - <pipe >waiting.out 2>waiting.err &
pid=$!
sleep 0.5
law "a memory that is being written elsewhere is busy" says 1 "m.mem is open for writing elsewhere" bpcn write m.mem photos
law "but can be read" bpcn score m.mem photos
kill -INT $pid
wait $pid
status=$?
kill $holder 2>/dev/null
law "Ctrl-C while waiting for a pipe ends it too" same "$status $(cat waiting.err)" "130 bpcn write: m.mem: interrupted; nothing was written"

# A full disk: a limit on the size of files stands for it everywhere, a small tmpfs where it may be mounted.
limited() { (ulimit -f "$1" && shift && "$@"); }
law "no room for an answer: said, and nothing half-written" sh -c '
    bash -c "ulimit -f 1; exec \"\$BPCN\" read m.mem photos -o big.csv" 2>err
    test $? -eq 1 && grep -q "big.csv" err && test ! -e big.csv'
law "standard output on a full device is an error" says 1 "standard output" bash -c '"$BPCN" score m.mem photos >/dev/full'
law "an answer to a full device is an error" says 1 "standard output" bash -c '"$BPCN" read m.mem photos -o - >/dev/full'
size=$(($(wc -c <m.mem) / 1024 + 1))
cp m.mem full.mem
rows 40 64 >more.csv
run limited $size "$BPCN" write full.mem more.csv
law "no room for a write: said" same "$status" 1
law "and the memory is sound" bpcn check full.mem
law "and holds what it says" bpcn score full.mem photos
if mkdir disk && mount -t tmpfs -o size=1200k tmpfs disk 2>/dev/null; then
    bpcn create disk/x.mem --dim 2000 --hidden 32 -q
    rows 300 2000 7 >lots.csv
    law "a small disk has the log folded before it is full" bpcn write disk/x.mem lots.csv -q
    head -c $(($(df -k --output=avail disk | tail -1) * 1024 - 100000)) /dev/zero >disk/other
    run bpcn write disk/x.mem lots.csv
    law "a disk that fills up is an error" contains "$err" "the disk is full"
    law "and the memory there is sound" bpcn check disk/x.mem
    law "and holds the rows that it says" same "$(bpcn info disk/x.mem --json | json writes)" \
        $((300 + $(sed -n 's/.*: \([0-9]*\) rows* written before that .*/\1/p' .err)))
    umount disk
else
    skip "a disk that fills up: tmpfs cannot be mounted here"
fi
