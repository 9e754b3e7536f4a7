# Every command does what its page says.

pictures photos 12 8
pictures others 4 8 100

run bpcn create m.mem --image 8x8 --hidden 32,32 --seed 3
law "create says what it made" contains "$status $out" "0 m.mem: empty, image:8x8, 2 hidden layers, "
law "and how much of the disk it takes at most" contains "$out" " kB now, at most 1.9 MB with its log; folding the log needs 2.7 MB of disk; up to 0.4 MB hold the names of the latest 1024 rows"
law "create does not replace a file" fails 1 "bpcn create: m.mem: already exists (use --force to replace it)" bpcn create m.mem --dim 4
law "create --force replaces it" prints "" bpcn create m.mem --image 8x8 --hidden 32,32 --seed 3 --force --quiet
law "an empty memory is 0 % full" same "$(bpcn info m.mem --json | json fullness)" 0

run bpcn write m.mem photos
law "write counts rows, what was new, and how full it is" contains "$out" "m.mem: 12 rows written at "
law "write finds twelve new pictures" contains "$out" "/s, 12 new; "
law "write asks for its rows again" contains "$out" " full, 12 of 12 probes recalled"
run bpcn write m.mem photos/p003.pgm
law "write knows what was written before" contains "$out" "1 row written at "
law "write says that nothing was new" contains "$out" " 0 new, 1 already known"

law "info --json has dim hidden particles writes bytes fullness" same \
    "$(bpcn info m.mem --json | grep -o '"\(dim\|hidden\|particles\|writes\|bytes\|fullness\)":' | tr -d '\n')" \
    '"dim":"hidden":"particles":"writes":"bytes":"fullness":'
law "info counts the writes" same "$(bpcn info m.mem --json | json writes)" 13
law "info names the shape" contains "$(bpcn info m.mem)" "rows       image:8x8 (64 entries)"
law "info names the network" contains "$(bpcn info m.mem)" "network    32, 32, gelu, 1 particle, float32"
law "check finds nothing wrong" bpcn check m.mem

bpcn read m.mem photos --hide right:0.5 -o half.csv -q
cat photos/*.pgm | awk '/^P2/ { skip = 3 } skip-- > 0 { next } { v[n++] = 2 * $1 / 255 - 1 }
    END { for (i = 0; i < n; i++) printf "%.6f%s", v[i], i % 64 == 63 ? "\n" : "," }' >truth.csv
law "read recalls pictures from their left halves" near half.csv truth.csv 0.3
run bpcn read m.mem photos --hide right:0.5
law "read gives every row a verdict" same "$(grep -c ' known  error 0\.0' <<<"$out")" 12
law "read sums up" contains "$out" "12 rows, 12 known; 12 of 12 recalled, mean square error 0.0"
bpcn read m.mem photos --hide right:0.5 -o grid.png -q
law "read -o .png draws truth, query and answer" contains "$(file grid.png)" "PNG image data"
bpcn read m.mem photos/p000.pgm -o one.pgm -q
law "one answer without a truth is a picture of its own size" same "$(head -c 11 one.pgm | tr '\n' ' ')" "P5 8 8 255 "
bpcn read m.mem photos -o answers/ -q
law "read -o folder/ writes a picture for each row" same "$(ls answers | tr '\n' ' ')" \
    "p000.png p001.png p002.png p003.png p004.png p005.png p006.png p007.png p008.png p009.png p010.png p011.png "
run bpcn read m.mem photos/p001.pgm photos/p002.pgm --noise 0.2 --json
law "read --json gives one object per row" same "$(grep -c '^{"input":"photos/p00[12].pgm","row":0,"familiarity":.*}$' <<<"$out")" 2
law "the same seed adds the same noise" same "$(bpcn read m.mem photos --noise 0.2 --seed 5 -o - | cksum)" \
    "$(bpcn read m.mem photos --noise 0.2 --seed 5 -o - | cksum)"

picture 0 8 >mask.pgm
awk 'NR <= 3 { print; next } { print (NR - 4) % 8 < 4 ? 255 : 0 }' mask.pgm >left.pgm
bpcn read m.mem photos --mask left.pgm -o masked.csv -q
law "a noisy copy of unsaid noise gets a hint" says 0 "if it is a noisy copy, add --assume-noise 0." bpcn read m.mem others/p100.pgm
law "a mask of the left half is the same as hiding the right" near masked.csv half.csv 0.0001
law "score tells known from new" same "$(bpcn score m.mem photos others | sed -n 's/  p[0-9]*.pgm$//; s/.*pgm  [0-9.]* //p' | uniq -c | tr -s ' \n' ' ')" \
    " 12 known 4 new "
law "score prints the name of a known row" contains "$(bpcn score m.mem photos/p003.pgm)" "known  p003.pgm"
law "score sums up" contains "$(bpcn score m.mem photos others)" "16 rows, 12 known"
run bpcn read m.mem photos/p000.pgm others/p100.pgm --refuse-below 0.5
law "read --refuse-below leaves unknown rows unanswered" contains "$out" "others/p100.pgm  0.0000 new  not answered"
law "and exits with 3" same "$status" 3
run bpcn read m.mem photos/p000.pgm others/p100.pgm --refuse-below 0.5 -o refused.csv
law "and writes no answer for them" same "$(tail -1 refused.csv | tr ',' '\n' | sort -u)" nan
law "and says so" contains "$err" "1 of 2 rows are less familiar than --refuse-below and were not answered"

cp m.mem d.mem
run bpcn delete d.mem photos/p005.pgm
law "delete takes a row back" same "$status $out" "0 d.mem: 1 row deleted"
law "a deleted row is new again" contains "$(bpcn score d.mem photos/p005.pgm)" " new"
law "the others stay known" contains "$(bpcn score d.mem photos)" "12 rows, 11 known"
law "delete refuses what was never written" says 3 "others/p101.pgm: not deleted: the memory does not hold this row" bpcn delete d.mem others/p101.pgm

bpcn sample m.mem -n 4 -o s.npy
law "sample is reproducible" cmp s.npy <(bpcn sample m.mem -n 4 -o s2.npy && cat s2.npy)
bpcn sample m.mem -n 9 --seed 2 -o s.png
law "sample draws a picture" contains "$(file s.png)" "PNG image data"

bpcn export m.mem p.npz -q
bpcn import back.mem p.npz -q
bpcn read back.mem photos --hide right:0.5 -o back.csv -q
law "export and import give a memory that answers the same" near back.csv half.csv 0.001
law "an import knows how full it is" same "$(bpcn info back.mem --json | json fullness)" "$(bpcn info m.mem --json | json fullness)"
law "import does not replace a file" fails 1 "bpcn import: back.mem: already exists (use --force to replace it)" bpcn import back.mem p.npz

cp m.mem f.mem
run bpcn forget f.mem --beta 0.01 --times 3
law "forget says what it did" contains "$out" "f.mem: forgot by 0.01, 3 times"
law "info counts the forgettings" same "$(bpcn info f.mem --json | json forgets)" 3
bpcn forget f.mem --beta 1 -q
law "forgetting everything leaves nothing known" contains "$(bpcn score f.mem photos)" "12 rows scored"
law "and nothing full" same "$(bpcn info f.mem --json | json fullness)" 0

law "--version prints the version" contains "$(bpcn --version)" "bpcn 0."
law "no arguments: the overview, exit 2" says 2 "usage: bpcn COMMAND" bpcn

# how full
bpcn create small.mem --image 8x8 --hidden 12 -q
run bpcn write small.mem photos
law "write warns when the memory is nearly full" contains "$err" "let old rows fade (bpcn forget, or bpcn write --forget auto), or create a wider memory"
law "info gives the same advice" contains "$(bpcn info small.mem)" "advice     "
law "a memory with room gets no advice" same "$(bpcn info m.mem | grep -c advice)" 0
pictures stream 150 8 500
bpcn create s.mem --image 8x8 --hidden 24,24 -q
bpcn write s.mem stream --forget auto -q
law "--forget auto keeps the latest known" contains "$(bpcn score s.mem stream/p649.pgm stream/p648.pgm stream/p647.pgm)" "3 rows, 3 known"
law "and lets the oldest go" test "$(bpcn score s.mem stream/p50?.pgm | sed -n 's/.*rows, \([0-9]*\) known/\1/p')" -le 3

bpcn create header.mem --dim 4 --hidden 3 -q
law "info --header needs nothing but the header" sh -c '
    cp header.mem whole.mem
    dd if=/dev/zero of=whole.mem bs=1 seek=600 count=40 conv=notrunc 2>/dev/null
    "$BPCN" info whole.mem --header | grep -q "4 entries"'
