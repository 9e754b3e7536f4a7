# A memory in a folder of files: all of them are of one state, or it is refused.

rows 40 16 >first.csv
rows 32 16 40 >second.csv
shape="--dim 16 --hidden 8 --shards 8 --shard-rows 10 --files 4"
# shellcheck disable=SC2086
bpcn create whole $shape -q
bpcn write whole first.csv -q 2>/dev/null # more than it recalls
cp -r whole old
bpcn write whole second.csv -q 2>/dev/null
law "a folder that was closed is sound" fails 0 "" bpcn check whole
for part in 0 1 2 3; do
    name=part-0000$part-of-00004.mem
    rm -rf mixed && cp -r whole mixed && cp old/$name mixed/
    law "check names file $part put back from an old copy" says 4 "mixed/$name: it is older than the folder's other files" bpcn check mixed
    law "read refuses it" says 4 "$name" bpcn read mixed first.csv
    law "write refuses it" says 4 "$name" bpcn write mixed first.csv
    rm -rf mixed && cp -r old mixed && cp whole/$name mixed/
    law "and a new file among old ones ($part)" says 4 "it is older than the folder's other files" bpcn check mixed
done
rm -rf mixed && cp -r whole mixed && cp old/part-00001-of-00004.mem old/part-00002-of-00004.mem mixed/
law "two old files are refused too" says 4 "part-00001-of-00004.mem" bpcn check mixed
law "recover makes one memory of what is there" fails 0 "" bpcn recover mixed mended
law "which is sound" fails 0 "" bpcn check mended
law "has the rows that are in its files" test "$(bpcn info mended --json | json writes)" -lt 72 -a "$(bpcn info mended --json | json writes)" -ge 40
law "and takes more" bpcn write mended second.csv -q
law "recover takes a new folder only" says 1 "File exists" bpcn recover mixed mended
cp whole/part-0000[12]-of-00004.mem mixed/
law "the right files put back are sound" fails 0 "" bpcn check mixed
# shellcheck disable=SC2086
bpcn create other $shape -q
bpcn write other first.csv -q 2>/dev/null
rm -rf mixed && cp -r whole mixed && cp other/part-00003-of-00004.mem mixed/
law "a file of another memory of the same shape is refused" says 4 "it is of another memory than the folder's first file" bpcn check mixed

# A writer that is killed leaves files that are open: they are one state, and old ones among them are told.
if grep -q . /proc/self/syscall 2>/dev/null; then
    mkfifo pipe
    "$BPCN" write whole - <pipe >.out 2>.err &
    pid=$!
    exec 9>pipe
    head -c $((24 * 16 * 4)) /dev/zero >&9
    for look in $(seq 1200); do
        grep -q '^[0-9]* 0x0 ' /proc/$pid/syscall && break
        sleep 0.05
    done
    cp -r whole live
    kill -KILL $pid
    wait $pid 2>/dev/null
    exec 9>&-
    law "a folder whose writer was killed is one state" fails 0 "" bpcn check whole -q
    law "and has at least what was acknowledged" test "$(bpcn info whole --json | json writes)" -ge 72
    rm -rf mixed && cp -r whole mixed && cp old/part-00002-of-00004.mem mixed/
    law "an old file in it is told" says 4 "part-00002-of-00004.mem: it is older" bpcn check mixed
    law "the next writer takes it" bpcn write whole second.csv -q
    rm -rf mixed && cp -r whole mixed && cp live/part-00002-of-00004.mem mixed/
    law "a file copied while a writer was at work is told later" says 4 "part-00002-of-00004.mem: it is older" bpcn check mixed
else
    skip "a folder whose writer is killed: this system does not say what a process waits for"
fi
