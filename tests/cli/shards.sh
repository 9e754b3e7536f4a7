# Memories of several shards: how they are chosen, shown, filled, read, moved and measured.

pictures photos 14 8
rows 14 64 >rows.csv

# ---- create
law "--capacity takes shards of 64 where rows have 256 entries or more" contains \
    "$(bpcn create a.mem --dim 256 --capacity 129)" \
    "a.mem: empty, row:256, 3 shards of 64, 64, 64: up to 192 rows, more rows blur; 1.1 MB now, 1.5 MB when full"
law "a quarter of the entries, in powers of two, where they have fewer" contains \
    "$(bpcn create a.mem --dim 255 --capacity 64 --force)" ", 2 shards of 32, 32, 32: up to 64 rows, "
law "and 16 at the least" contains "$(bpcn create a.mem --dim 4 --capacity 33 --force)" ", 3 shards of 16, 16, 16: up to 48 rows, "
law "--hidden goes before that" contains "$(bpcn create a.mem --dim 300 --capacity 100 --hidden 20,10 --force)" \
    ", 10 shards of 20, 10: up to 100 rows, "
law "--shard-rows too" contains "$(bpcn create a.mem --dim 300 --capacity 100 --shard-rows 30 --force)" \
    ", 4 shards of 30, 30, 30: up to 120 rows, "
law "--shards and --shard-rows are taken as they are" contains \
    "$(bpcn create a.mem --dim 300 --shards 5 --shard-rows 12 --hidden 24 --when-full recycle --force)" \
    ", 5 shards of 24: up to 60 rows, then the oldest shard is emptied; "
law "a picture has room for 1024" contains "$(bpcn create a.mem --fields image:16x16,label:3 --force)" \
    ", 16 shards of 64, 64, 64: up to 1024 rows, more rows blur; "
law "unless --hidden says otherwise" contains "$(bpcn create a.mem --image 16x16 --hidden 8 --force)" ", 1 hidden layer, "
law "values have one network" contains "$(bpcn create a.mem --dim 9 --force)" ", 3 hidden layers, 5.3 MB in memory, however much is written"
law "create --json has it too" contains "$(bpcn create a.mem --dim 300 --capacity 100 --force --json)" '"shards":2,"shard_rows":64,'
law "more rows than units get a note" says 0 \
    "a shard takes 20 rows, but its narrowest layer has 10 units: rows will blur before it is full" \
    bpcn create a.mem --dim 64 --shards 2 --hidden 10 --shard-rows 20 --force
law "recycling one shard gets a note" says 0 "with one shard --when-full recycle empties the whole memory after every 10 rows" \
    bpcn create a.mem --dim 64 --hidden 10 --when-full recycle --force
law "--capacity and --shards exclude each other" fails 2 \
    "bpcn create: give --capacity or --shards, not both: one follows from the other
(see: bpcn help create)" bpcn create b.mem --dim 64 --capacity 100 --shards 3
law "a capacity that is none" says 2 "--capacity: '0' is not a whole number from 1 to " bpcn create b.mem --dim 64 --capacity 0
law "a capacity that is too large" says 2 \
    "--capacity: 99999999 rows need 6250000 shards of 16 rows, but a memory has at most 262144" \
    bpcn create b.mem --dim 64 --capacity 99999999
law "shards that are none" says 2 "--shards: 'many' is not a whole number from 1 to 262144" bpcn create b.mem --dim 64 --shards many
law "rows of a shard that are none" says 2 "--shard-rows: '0' is not a whole number from 1 to " bpcn create b.mem --dim 64 --shard-rows 0
law "a way of being full that is none" says 2 "--when-full: 'burst' is none of blur recycle refuse" \
    bpcn create b.mem --dim 64 --when-full burst
law "and none of these made a file" test ! -e b.mem

# ---- write, info
bpcn create m.mem --image 8x8 --shards 4 --shard-rows 5 --hidden 16,16 -q
run bpcn write m.mem photos
law "write fills one shard after the other" same "$(bpcn info m.mem --json | sed 's/.*"shards":\[\([^]]*\)\].*/\1/')" 5,5,4
law "full is the share of the rows" contains "$out" "; 70 % full, 14 of 14 probes recalled"
law "write --json names the shard" contains "$(cp m.mem j.mem; bpcn write j.mem rows.csv --rows 0:2 --json)" '"shard":3}'
law "a row in a shard that is no longer open is known" contains "$(cp m.mem j.mem; bpcn write j.mem photos/p000.pgm photos/p007.pgm)" \
    " 0 new, 2 already known"
law "info says how many have begun" contains "$(bpcn info m.mem)" "shards     3 of 4 begun, 5 rows each, when full: blur"
law "and how full they are, in numbers" contains "$(bpcn info m.mem)" $'\nfilled     5 5 4\n'
law "and which is open" contains "$(bpcn info m.mem)" $'\nopen       shard 2, which has 4 of 5 rows\n'
law "and bytes at most" contains "$(bpcn info m.mem)" " MB at most, "
law "info --json has it all" contains "$(bpcn info m.mem --json)" '"shards":[5,5,4],"shards_most":4,"open_shard":2,"shard_rows":5,"when_full":"blur"'
law "bytes grow to bytes_most" test "$(bpcn info m.mem --json | json bytes)" -lt "$(bpcn info m.mem --json | json bytes_most)"
law "the header knows the shards there may be" contains "$(bpcn info m.mem --header)" "shards     4, 5 rows each, when full: blur"
law "one network has no line about shards" same "$(bpcn create one.mem --dim 4 --hidden 4 -q; bpcn info one.mem | grep -c '^shards')" 0
bpcn create many.mem --dim 4 --shards 130 --shard-rows 1 --hidden 8 -q
rows 4 4 >four.csv
bpcn write many.mem four.csv -q
law "many shards are grouped" contains "$(bpcn info many.mem)" $'\nfilled     3 1 (3 shards each)\n'
if command -v script >/dev/null; then
    run script -qec "LC_ALL=C.UTF-8 $BPCN info m.mem" /dev/null
    law "a terminal with UTF-8 gets blocks" contains "$out" "filled     ██▆░"
    run script -qec "LC_ALL=C $BPCN info m.mem" /dev/null
    law "one without gets numbers" contains "$out" "filled     5 5 4"
else
    skip "a terminal session: no script(1)"
fi

# ---- read, score
run bpcn read m.mem photos --hide right:0.25
law "every row is answered by its shard" same "$(sed -n 's/.* known  error 0\.0.*  shard //p' <<<"$out" | tr '\n' ' ')" \
    "0 0 0 0 0 1 1 1 1 1 2 2 2 2 "
law "read --json names the shard" same "$(bpcn read m.mem photos/p007.pgm --json | json shard)" 1
law "score too" contains "$(bpcn score m.mem photos/p012.pgm)" " known  p012.pgm  shard 2"
law "one network names none" same "$(bpcn score one.mem four.csv --json | grep -c shard)" 0
bpcn read m.mem photos --hide right:0.25 -o few.csv -q
bpcn read m.mem photos --hide right:0.25 --shards-read 4 -o all.csv -q
law "--shards-read 4 finds the same" near few.csv all.csv 0.001
law "and looks at more" test "$(bpcn read m.mem photos/p003.pgm --hide right:0.25 --shards-read 4 --json | json evaluations)" -ge \
    "$(bpcn read m.mem photos/p003.pgm --hide right:0.25 --shards-read 1 --json | json evaluations)"
law "shards to read that are none" says 2 "--shards-read: '-1' is not a whole number from 0 to 262144" \
    bpcn score m.mem photos --shards-read -1

# ---- full
bpcn create refuse.mem --image 8x8 --shards 2 --shard-rows 5 --hidden 16 --when-full refuse -q
law "a full memory that refuses says so" fails 1 \
    "bpcn write: photos/p010.pgm: the memory is full: its 2 shards have their 5 rows each (create a memory with a larger --capacity, or with --when-full recycle or blur)
bpcn write: refuse.mem: 10 rows written before that are in the memory" bpcn write refuse.mem photos
law "and the rows before stay" contains "$(bpcn score refuse.mem photos)" "14 rows, 10 known"
bpcn create window.mem --image 8x8 --shards 2 --shard-rows 5 --hidden 16 --when-full recycle -q
run bpcn write window.mem photos
law "recycling keeps the latest" contains "$(bpcn score window.mem photos)" "14 rows, 9 known"
law "probes are taken of those, and being full is no reason for advice" contains "$out.$err" " 5 of 5 probes recalled."
bpcn create blur.mem --image 8x8 --shards 2 --shard-rows 5 --hidden 6 -q
run bpcn write blur.mem photos
law "a blurring one has more than its rows" contains "$(bpcn info blur.mem)" "filled     7 7"
law "and advises shards" contains "$err" "create a memory with a larger --capacity, or with --when-full recycle"
law "so does info" contains "$(bpcn info blur.mem)" "or with --when-full recycle"
law "--forget auto recommends to recycle" says 0 \
    "fade.mem: instead of --forget auto, create the memory with --when-full recycle: several shards then keep the recent past sharper" \
    sh -c 'cp m.mem fade.mem; "$BPCN" write fade.mem photos/p000.pgm --forget auto'
law "and is not needed where that is done" says 0 "window.mem: --forget auto is not needed: when all shards are full, the oldest is emptied" \
    bpcn write window.mem photos/p000.pgm --forget auto

# ---- export, import
for memory in m refuse window blur; do
    bpcn export $memory.mem $memory.npz -q
    bpcn import $memory-back.mem $memory.npz -q
    law "$memory: an import has the same shards" same \
        "$(bpcn info $memory-back.mem --json | sed 's/.*"shards":\(.*\),"fullness.*/\1/')" \
        "$(bpcn info $memory.mem --json | sed 's/.*"shards":\(.*\),"fullness.*/\1/')"
    bpcn read $memory.mem photos --hide right:0.5 -o x.csv -q
    bpcn read $memory-back.mem photos --hide right:0.5 -o y.csv -q
    # the roots of covariances are made again from their products: the last digits of float32 may differ
    law "$memory: and gives the same answers" near x.csv y.csv 0.001
    law "$memory: from the same shards" same "$(bpcn score $memory-back.mem photos | sed -n 's/.*shard //p')" \
        "$(bpcn score $memory.mem photos | sed -n 's/.*shard //p')"
done
law "the next row goes where it would have gone" same "$(bpcn write m-back.mem rows.csv --rows 0:2 --json | json shard)" \
    "$(cp m.mem j.mem; bpcn write j.mem rows.csv --rows 0:2 --json | json shard)"
PYTHON=$(numpy)
if [ -n "$PYTHON" ]; then
    law "NumPy sees every shard by name" "$PYTHON" -c "
import numpy as np
p = np.load('m.npz')
assert p['rows'].tolist() == [5, 5, 4] and int(p['shards']) == 4 and int(p['open_shard']) == 2
assert p['mean0'].shape == p['shard2.mean0'].shape == (1, 16, 64) and 'shard3.mean0' not in p
q = dict(p); q['rows'] = np.array([5., 4.5, 5.]); np.savez('odd.npz', **q)
q = dict(p); q['shard1.cov0'] = -q['shard1.cov0']; np.savez('bad.npz', **q)
q = dict(p); del q['shard1.weights']; np.savez('less.npz', **q)"
    law "counts that shards cannot have are refused" says 1 "odd.npz: rows: not numbers of rows" \
        bpcn import odd.mem odd.npz
    law "what is wrong with a shard names it" says 1 "bad.npz: shard 1, layer 0 of particle 0: " bpcn import bad.mem bad.npz
    law "a part that is missing too" says 1 "shard1.weights" bpcn import less.mem less.npz
else
    skip "archives seen by NumPy: no Python with NumPy here"
fi
