# Everyday mishaps: signals, pipes that close, names that are wrong, sizes and scales that cannot be meant.

pictures photos 20 8
bpcn create m.mem --image 8x8 --hidden 64,64 -q
bpcn write m.mem photos -q

# SIGTERM, and an interrupted read. The program waits for a pipe that stays open, so that the signal finds it at work.
mkfifo pipe
signalled() { # signalled SIGNAL ROWS COMMAND...: the command reads that many rows from its standard input, then gets it
    local signal=$1 rows=$2 pid look
    shift 2
    env --default-signal=INT "$BPCN" "$@" <pipe >.out 2>.err &
    pid=$!
    exec 9>pipe
    head -c $((rows * 64 * 4)) /dev/zero >&9
    for look in $(seq 1200); do # until it waits for more of it: in a call about descriptor 0
        grep -q '^[0-9]* 0x0 ' /proc/$pid/syscall && break
        sleep 0.05
    done
    kill -"$signal" $pid
    wait $pid
    status=$?
    exec 9>&-
    err=$(cat .err)
}
if grep -q . /proc/self/syscall 2>/dev/null; then
    signalled TERM 64 write m.mem - --json
    law "SIGTERM ends a write with 143 and says what was written" same "$status $err" \
        "143 bpcn write: m.mem: terminated; 64 rows written before that are in the memory"
    signalled INT 64 score m.mem -
    law "an interrupted read says so" same "$status $err" "130 bpcn score: m.mem: interrupted after 64 rows"
    signalled TERM 64 score m.mem - -o scores.csv --json
    law "and the rows that were scored stay in its output" same "$status $err $(wc -l <scores.csv)" \
        "143 bpcn score: m.mem: terminated after 64 rows, which scores.csv has 65"
    signalled TERM 0 read m.mem - -o answers.npy
    law "also before its first row" same "$status $err" \
        "143 bpcn read: m.mem: terminated after 0 rows; answers.npy was not written"
    disturbed() { # disturbed ACTION...: what is done to the file while a writer waits for more rows
        local pid look
        bpcn create z.mem --dim 64 --hidden 16 -q
        cp z.mem backup.mem
        "$BPCN" write z.mem - <pipe >.out 2>.err &
        pid=$!
        exec 9>pipe
        head -c $((64 * 64 * 4)) /dev/zero >&9
        for look in $(seq 1200); do
            grep -q '^[0-9]* 0x0 ' /proc/$pid/syscall && break
            sleep 0.05
        done
        "$@"
        exec 9>&-
        wait $pid
        status=$?
        err=$(cat .err)
        rm -f z.mem backup.mem
    }
    disturbed rm z.mem
    law "a file removed under a writer fails the write" same "$status" 1
    law "and it says that the rows are lost" contains "$err" "was removed while the memory was open"
    disturbed mv backup.mem z.mem
    law "so does a file put in its place" same "$status" 1
    law "and that it was" contains "$err" "was replaced by another file while the memory was open"
    disturbed mv z.mem elsewhere.mem
    law "a file moved under a writer fails the write" same "$status" 1
    law "and it says where the rows are" contains "$err" "its rows are in $PWD/elsewhere.mem"
    law "which holds them" same "$(bpcn info elsewhere.mem --json | json writes)" 64
else
    skip "signals: this system does not say what a process waits for"
fi

# A pipe whose reader has gone: opened for both, then for writing alone.
mkfifo gone
closed() { # closed COMMAND...: its standard error and status, with nobody at the other end of standard output
    exec 7<>gone 8>gone 7<&-
    "$BPCN" "$@" >&8 2>.err
    same "$? $(wc -l <.err)" "1 1" && contains "$(cat .err)" "standard output"
}
law "a closed pipe is one error of read" closed read m.mem photos -o -
law "and of score" closed score m.mem photos
law "and of write" closed write m.mem photos --json
rows 20 4 >table.csv
bpcn create table.mem --like table.csv -q
bpcn write table.mem table.csv -q
law "and of a table that is filled" closed fill table.mem table.csv

law "a field that the memory does not have is named" fails 1 \
    "bpcn score: nofield=photos/p000.pgm: this memory has no field 'nofield' (its rows are image:8x8)" \
    bpcn score m.mem nofield=photos/p000.pgm
cp photos/p000.pgm a=b.pgm
law "but a file may be called so" bpcn score m.mem a=b.pgm
echo '"1,2,3"' >quoted.csv
bpcn create three.mem --dim 3 --hidden 4 -q
law "a row in quotes is told apart from no rows" says 1 \
    "quoted.csv: line 1 begins with '1,2,3', not a number, so that it is a header, and no row follows" \
    bpcn write three.mem quoted.csv

law "a memory beyond the machine's is refused without --force" says 1 "of memory (narrower layers" \
    bpcn create vast.mem --dim 16777216 --hidden 65536,65536
law "and is not there" test ! -e vast.mem
big() { (ulimit -v 4000000 && bpcn create big.mem --dim 16777216 --force); }
law "a large one is announced before it is begun" says 1 "big.mem: needs 17.2 GB of memory and of disk" big

rows 40 64 | awk -F, -v OFS=, '{ for (j = 1; j <= NF; j++) $j *= 0.01; print }' >small.csv
bpcn create small.mem --dim 64 --hidden 64 --scale as-given -q
law "rows of a scale far from 1 are not told to fade" says 0 \
    "probably because its values are about 0.0058 and should be about 1" bpcn write small.mem small.csv
law "info says so too" contains "$(bpcn info small.mem)" "advice     it does not recall what was written, probably because"
rows 200 64 >many.csv
bpcn create full.mem --dim 64 --hidden 16 -q
law "-q does not hide that rows are lost" says 0 "it no longer recalls what was written" bpcn write full.mem many.csv -q
law "rows of a scale of about 1 are" says 0 "it no longer recalls what was written: let old rows fade" \
    bpcn write full.mem many.csv
