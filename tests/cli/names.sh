# Names of rows: of pictures their files, of tables a column; which one answered, and deleting by one.

# Pictures that differ in every pixel: rough NUMBER SIDE > x.pgm
rough() {
    awk -v n="$1" -v side="$2" 'BEGIN {
        srand(n * 7919 + 17); printf "P2\n%d %d\n255\n", side, side
        for (i = 0; i < side * side; i++) printf "%d\n", 256 * rand() }'
}
mkdir photos large
for i in $(seq 0 11); do rough "$i" 16 >"$(printf 'photos/p%03d.pgm' "$i")"; done
for i in 0 1 2; do rough "$i" 40 >"large/p00$i.pgm"; done
bpcn create m.mem --image 16x16 -q
law "create says what the names take" contains "$(bpcn create other.mem --image 16x16)" \
    "; up to 0.5 MB hold the names of the latest 1024 rows"
bpcn write m.mem photos -q
law "pictures have the names of their files" same "$(bpcn list m.mem | tr '\n' ' ')" \
    "$(cd photos && ls | tr '\n' ' ')"
law "search takes the options of inputs: a part of a folder" same "$(bpcn search m.mem photos --rows 3:5 -k 1 | sed -n 's/.*  \(p0.*\)/\1/p' | tr '\n' ' ')" \
    "p003.pgm p004.pgm "
law "and another size" contains "$(bpcn search m.mem large --resize --rows 0:1)" "distance"
law "--hide must hide something" says 2 "'right:0.01' hides nothing of a row" bpcn read m.mem photos --hide right:0.01
bpcn create anonymous.mem --image 16x16 -q
law "list says where no row has a name" says 0 "anonymous.mem: no row has a name" bpcn list anonymous.mem
law "list --json has the shards too" same "$(bpcn list m.mem --json | sed -n 1p)" '{"name":"p000.pgm","shard":0}'
run bpcn read m.mem photos --hide right:0.5 --json
law "a read from halves says which one answered" same "$(sed -n 's/.*photos.\(p0...pgm\).*"name":"\([^"]*\)".*/\1 \2/p' .out |
    awk '$1 == $2' | wc -l)" 12
law "also in words" contains "$(bpcn read m.mem photos/p003.pgm --hide right:0.5)" "  p003.pgm"
rough 99 16 >new.pgm
run bpcn read m.mem new.pgm --json
law "a row that was never written has no name" same "${out/\"name\"/}" "$out"
bpcn compact m.mem -q
law "names outlast compact" same "$(bpcn list m.mem | wc -l)" 12
cp m.mem again.mem
law "delete takes a name" prints "m.mem: 1 row deleted" bpcn delete m.mem p003.pgm
law "and the name is gone with the row" same "$(bpcn list m.mem | grep -c p003) $(bpcn score m.mem photos/p003.pgm --json | json verdict)" \
    "0 new"
bpcn delete again.mem photos/p003.pgm -q
law "as it is when the file is given" same "$(bpcn list m.mem)" "$(bpcn list again.mem)"
law "both leave the same answers" same "$(bpcn read m.mem photos -o - --plain -q | cksum)" \
    "$(bpcn read again.mem photos -o - --plain -q | cksum)"
law "what is neither a file nor a name is said" fails 1 \
    "bpcn delete: p003.pgm: is neither a file nor the name of a row" bpcn delete m.mem p003.pgm
law "several names, and --json" prints '{"name":"p004.pgm","deleted":true}
{"name":"p005.pgm","deleted":true}' bpcn delete m.mem p004.pgm p005.pgm --json

# resized pictures; long names, and some that are no UTF-8
bpcn create small.mem --image 16x16 -q
cp large/p000.pgm "$(printf 'large/%070d.pgm' 7)"
cp large/p001.pgm "$(printf 'large/caf\351.pgm')"
bpcn write small.mem large --resize -q
law "of a long name the end is kept" contains "$(bpcn list small.mem)" "...$(printf '%056d' 7).pgm"
law "what is no UTF-8 becomes a question mark" contains "$(bpcn list small.mem)" "caf?.pgm"
law "resized pictures are deleted by name too" prints "small.mem: 1 row deleted" bpcn delete small.mem p002.pgm

# the latest N, and none
bpcn create few.mem --image 16x16 --names 5 -q
bpcn write few.mem photos -q
law "the latest are kept" same "$(bpcn list few.mem | tr '\n' ' ')" "p007.pgm p008.pgm p009.pgm p010.pgm p011.pgm "
bpcn create none.mem --image 16x16 --names 0 -q
bpcn write none.mem photos -q
law "a memory without names says so" fails 0 \
    "bpcn list: none.mem: keeps no names (see bpcn create --names)" bpcn list none.mem

# tables
printf 'id,a,b,c\nx1,1,2,3\n,2,3,4.5\nx3,3,5,1\nx4,9,1,2\n' >t.csv
bpcn create t.mem --like t.csv --ignore id -q
bpcn write t.mem t.csv --name id -q
law "a column has the names of a table's rows, an empty cell is none" same "$(bpcn list t.mem | tr '\n' ' ')" "x1 x3 x4 "
law "and a row of a table is deleted by its name" prints "t.mem: 1 row deleted" bpcn delete t.mem x3
law "a column that is not there is said" says 1 "t.csv: has no column 'nr'" bpcn write t.mem t.csv --name nr
law "--name is for tables" says 1 "--name id needs a CSV table" bpcn write m.mem photos --name id

# a folder of files
bpcn create folder --image 16x16 --capacity 64 --files 2 -q
bpcn write folder photos photos -q
law "a folder of files keeps names" same "$(bpcn list folder | sort | uniq -c | awk '$1 == 2' | wc -l)" 12
law "and says which one answered" contains "$(bpcn read folder photos/p003.pgm --hide right:0.5)" "  p003.pgm"
bpcn create folder2 --image 16x16 --capacity 64 --files 2 -q
bpcn write folder2 photos -q
law "and deletes by name" prints "folder2: 1 row deleted" bpcn delete folder2 p002.pgm
law "there too the name is gone" same "$(bpcn list folder2 | wc -l)" 11

# damage
cp m.mem torn.mem
size=$(stat -c %s torn.mem)
truncate -s $((size - 40)) torn.mem
law "what is recovered has its names" contains "$(bpcn recover torn.mem mended.mem 2>&1; bpcn list mended.mem)" p011.pgm
