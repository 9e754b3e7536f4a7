# Files that were damaged, torn or cut; small disks; outputs that are no files.

rows 12 16 >rows.csv
bpcn create m.mem --dim 16 --hidden 24,24 -q
bpcn write m.mem rows.csv -q

# Where the log begins, as the header says (u64 at byte 24), and the file's length.
log_at() { od -An -j24 -N8 -tu8 "$1" | tr -d ' '; }
bytes_of() { wc -c <"$1" | tr -d ' '; }
# put FILE AT OCTAL...: bytes written over those at AT
put() {
    local file=$1 at=$2
    shift 2
    printf "$(printf '\\%s' "$@")" | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
}
# flip FILE AT: one bit
flip() { put "$1" "$2" "$(printf '%03o' $(($(od -An -j"$2" -N1 -tu1 "$1") ^ 4)))"; }

middle=$((($(log_at m.mem) + $(bytes_of m.mem)) / 2))
law "what was closed is sound" prints "m.mem: sound" bpcn check m.mem
cp m.mem bit.mem
flip bit.mem $middle
for command in "read bit.mem rows.csv" "score bit.mem rows.csv" "write bit.mem rows.csv" "info bit.mem" "check bit.mem" \
    "sample bit.mem -o s.csv" "forget bit.mem --beta 0.1" "delete bit.mem rows.csv" "export bit.mem e.npz" "compact bit.mem"; do
    # shellcheck disable=SC2086
    law "one bit in the middle of a closed file's log: ${command%% *} refuses" says 4 \
        "it was damaged after the file had been closed" bpcn $command
done
law "and says what to do" says 4 "(bpcn recover FILE NEW saves what is intact)" bpcn read bit.mem rows.csv
law "check does not say sound" sh -c '! "$BPCN" check bit.mem | grep sound'
law "recover mends the bit" says 0 "had one wrong bit, which was put right" bpcn recover bit.mem bit2.mem
law "and all rows come back" contains "$(bpcn read bit2.mem rows.csv)" "12 rows, 12 known"

cp m.mem hole.mem
put hole.mem $middle 1 2 3 4 5 6 7 10 11 12 13 14 15 16 17 20
cp hole.mem kept.mem
law "a damaged record is refused" says 4 "record 6 of the log" bpcn read hole.mem rows.csv
law "recover says which is lost, with status 3" says 3 "1 record of the log from number 6 on" bpcn recover hole.mem hole2.mem
law "and brings back all others" contains "$(bpcn read hole2.mem rows.csv 2>&1)" "12 rows, 11 known"
law "even when quiet" says 3 "1 record of the log from number 6 on" bpcn recover hole.mem quiet.mem -q
law "recover does not touch the damaged file" cmp hole.mem kept.mem
law "recover takes a new name only" says 1 "is there already" bpcn recover hole.mem hole2.mem
law "recover in JSON" contains "$(bpcn recover hole.mem hole3.mem --json 2>/dev/null)" '"rows":11,"mended":0,"lost_records":1'
law "recover of a file that is no memory" says 4 "not a bayespcn memory" bpcn recover rows.csv no.mem

head -c $middle m.mem >cut.mem
law "a closed file that was cut is refused" says 4 "the file is cut short: it has $middle bytes" bpcn read cut.mem rows.csv
law "recover knows how many records it had" says 3 "7 records of the log from number 6 on" bpcn recover cut.mem cut2.mem
law "and brings back those before the cut" contains "$(bpcn read cut2.mem rows.csv 2>&1)" "12 rows, 6 known"

# Killed in the middle of the second of two writes: both slots of the seal as before it, and half a record at the end.
cp m.mem torn.mem
head -c 100 /dev/zero >>torn.mem
cp torn.mem torn2.mem
law "a torn end is told by a read" says 0 "left 100 unfinished bytes at the end" bpcn read torn.mem rows.csv
law "with the number of rows" contains "$err" "at most 1 row, none of them acknowledged"
law "once" same "$(bpcn info torn.mem --measure 2>&1 >/dev/null | grep -c 'unfinished')" 1
run bpcn check torn.mem
law "check says torn, not sound, with status 3" same "$status ${out%%:*} $(grep -c sound .out)" "3 torn.mem 0"
law "check in JSON" contains "$(bpcn check torn.mem --json)" '"sound":false,"closed":false'
law "a write tells it too" says 0 "unfinished" bpcn forget torn.mem --beta 0.001
law "and then it is gone" prints "torn.mem: sound" bpcn check torn.mem

law "-q does not hide what a crash left" says 3 "left 100 unfinished bytes at the end" bpcn check torn2.mem -q
law "compact makes a file without a log" bpcn compact m.mem
law "which is as long as its snapshot" same "$(bytes_of m.mem)" "$(log_at m.mem)"
law "and recalls the same" contains "$(bpcn read m.mem rows.csv)" "12 rows, 12 known"
law "compact to a new file" bpcn compact m.mem folded.mem
law "but not to one that is there" fails 1 "bpcn compact: folded.mem: already exists" bpcn compact m.mem folded.mem
cp m.mem private.mem
for mode in 600 640 664; do
    chmod $mode private.mem
    (umask 022 && bpcn compact private.mem "c$mode.mem" -q && bpcn recover private.mem "r$mode.mem" -q)
    law "a copy has the permissions of its source ($mode)" same "$(stat -c %a "c$mode.mem" "r$mode.mem" | tr '\n' ' ')" "$mode $mode "
done
law "create says how long the file may get" contains "$(bpcn create c.mem --dim 16 --hidden 24)" "with its log"
law "info too" contains "$(bpcn info c.mem)" "at most"
law "and in JSON" contains "$(bpcn info c.mem --json)" '"file_most":'

# A disk on which no second file fits: rows go on until it is full, and then it is said what is needed.
mkdir disk
if mount -t tmpfs -o size=4m none disk 2>/dev/null; then
    rows 200 3072 >wide.csv
    bpcn create disk/m.mem --dim 3072 --hidden 128,128 -q
    law "a small disk is never filled as long as a second file fits" bpcn write disk/m.mem wide.csv -q
    law "and the file is sound" prints "disk/m.mem: sound" bpcn check disk/m.mem
    head -c 1400000 /dev/zero >disk/other
    law "a disk that is full says what is needed" says 1 "bytes must fit beside the old one, and" \
        sh -c 'for i in 1 2 3 4; do "$BPCN" write disk/m.mem wide.csv || exit; done'
    law "what was written until then is there" prints "disk/m.mem: sound" bpcn check disk/m.mem
    law "compact says it as well" says 1 "cannot fold the log of" bpcn compact disk/m.mem
    law "compact to another disk helps" bpcn compact disk/m.mem elsewhere.mem
    mount -o remount,size=8m none disk
    law "and so does room" bpcn compact disk/m.mem
    umount disk
else
    skip "laws about a small disk: this user may not mount one"
fi

if mknod device b 7 250 2>/dev/null; then
    bpcn create d.mem --image 4x4 --hidden 8 -q
    picture 1 4 >p.pgm
    bpcn write d.mem p.pgm -q
    ln -s device link.png
    mknod d.npz b 7 250
    law "create --force leaves a device alone" fails 1 "bpcn create: device is not a file: it is not replaced by one" \
        bpcn create device --dim 3 --force
    law "compact too" says 1 "device: already exists" bpcn compact d.mem device
    law "recover too" says 1 "is there already" bpcn recover d.mem device
    law "arrays are not written to one" says 2 "device: is a device, which is neither written to nor replaced" \
        bpcn read d.mem p.pgm -o device --output-format csv
    law "nor pictures, through a link" says 2 "link.png: is a device, which is neither written to nor replaced" bpcn read d.mem p.pgm -o link.png
    law "nor samples" says 2 "link.png: is a device, which is neither written to nor replaced" bpcn sample d.mem -o link.png
    law "nor exports" says 1 "d.npz: is a device, which is neither written to nor replaced" bpcn export d.mem d.npz
    law "it is still a device" test -b device
else
    skip "laws about devices: this user may not make one"
fi
law "/dev/stdout is a stream" same "$(bpcn read m.mem rows.csv -q -o /dev/stdout --output-format csv | wc -l | tr -d ' ')" 12
law "to a file too, at its end" sh -c '{ echo first; "$BPCN" read m.mem rows.csv -q -o /dev/stdout --output-format csv; } >all.csv
    [ "$(head -1 all.csv)" = first ] && [ "$(wc -l <all.csv)" -eq 13 ]'

# One seal alone: nothing is missing, but a disk that spoils sectors is to be known of.
for at in 520 1030; do
    bpcn create seal.mem --dim 8 --hidden 8 --force -q
    printf '\377' | dd of=seal.mem bs=1 seek=$at conv=notrunc status=none
    law "check says that a seal is damaged (byte $at)" says 3 "seal.mem: one of its two seals is damaged" bpcn check seal.mem
    law "so does every command that opens it, and does its work" says 0 "seal.mem: one of its two seals is damaged" bpcn info seal.mem
done
bpcn forget seal.mem --beta 0.001 -q
law "the next write makes it anew" fails 0 "" bpcn check seal.mem -q

# A file that grew, by a disk or a hand, far beyond what its header allows.
bpcn create grown.mem --dim 4 --hidden 4 -q
bpcn write grown.mem <(rows 3 4) -q
if truncate -s 100G grown.mem 2>/dev/null; then
    law "a file of 100 GB that a small memory cannot have is refused at once" \
        says 4 "never has more than" timeout 10 "$BPCN" check grown.mem
else
    skip "a file of 100 GB: this file system has none"
fi
rm -f grown.mem

# A file that is cut short: however much its header promises, what is lost is said once.
bpcn create many.mem --dim 1 --hidden 1 --shards 3 --shard-rows 1 --names 0 -q
printf '1\n2\n3\n' >three.csv
bpcn write many.mem three.csv -q
bpcn compact many.mem -q
head -c 3000 many.mem >short.mem
run bpcn recover short.mem short2.mem
law "what is behind the end of a file is told once, with how much it is" same \
    "$(grep -c 'sections of its snapshot were behind that' .err) $(grep -c 'are lost, with' .err)" "1 1"
