# A folder of pictures: bad ones, known ones, a run that was interrupted, and some of its rows.

pictures photos 12 8
fresh() { bpcn create "$1" --image 8x8 --hidden 64,64 --force -q; }
writes() { bpcn info "$1" --json | json writes; }
echo "no picture" >photos/p004b.png
head -c 40 photos/p007.pgm >photos/p007b.pgm
fresh m.mem
law "a folder with a bad picture stops there" says 1 "p004b.png" bpcn write m.mem photos
law "--skip-bad goes on, and ends with status 3 and a list" says 3 "2 inputs were skipped:
  photos/p004b.png
  photos/p007b.pgm" bpcn write m.mem photos --skip-bad --skip-known
law "and says what was wrong with each" same "$(grep -c '^bpcn write: photos/p00[47]b' .err)" 2
law "and writes every other picture once" same "$(writes m.mem)" 12
law "reads go on too" says 3 "2 inputs were skipped" bpcn read m.mem photos --skip-bad -o answers.npy
law "and answer the others" contains "$(head -c 128 answers.npy | tr -d '\0')" "(12, 64)"
law "without a bad one it is silent" fails 0 "" bpcn score m.mem photos/p000.pgm --skip-bad
law "a file that is not there is passed over" says 3 "  nowhere.png" bpcn score m.mem photos/p000.pgm nowhere.png --skip-bad
bpcn create fields.mem --fields image:8x8,label:10 --hidden 16 -q
law "inputs that belong together are not" says 1 "--skip-bad: rows of several fields" \
    bpcn write fields.mem image=photos/p000.pgm label=3 --skip-bad
rm photos/p004b.png photos/p007b.pgm

run bpcn write m.mem photos --skip-known
law "--skip-known writes nothing twice" same "$status $(writes m.mem)" "0 12"
law "and says so" contains "$out" "0 rows written" && law "and how many" contains "$out" "12 already known and skipped"
fresh m.mem
run bpcn write m.mem photos photos --skip-known --json
law "nor what the same run has written" same "$(writes m.mem) $(grep -c '"skipped":true' .out)" "12 12"
bpcn create shards.mem --image 8x8 --hidden 8,8 --shards 4 --shard-rows 8 -q
bpcn write shards.mem photos photos --skip-known -q
law "in any of several shards" same "$(writes shards.mem)" 12
rows 20 4 >table.csv
bpcn create views.mem --like table.csv -q
law "a memory that does not tell rows apart refuses it" says 2 "cannot tell whether it knows a row" bpcn write views.mem table.csv --skip-known

# Interrupted between two rows: a pipe among the pictures, where it waits.
fresh i.mem
mkfifo pipe
env --default-signal=INT "$BPCN" write i.mem photos/p00[0-4].pgm pipe >.out 2>.err &
pid=$!
exec 9>pipe # returns when the program has come to it
kill -INT $pid
exec 9>&-
wait $pid
status=$?
law "an interrupted run keeps its rows" same "$status $(writes i.mem)" "130 5"
bpcn write i.mem photos --skip-known -q
law "and goes on where it stopped with --skip-known" same "$(writes i.mem)" 12
law "and knows them all" same "$(bpcn score i.mem photos --json | json verdict | sort | uniq -c | tr -d ' ')" 12known

fresh r.mem
bpcn write r.mem photos --rows 2:5 -q
law "--rows takes those pictures of a folder" same "$(writes r.mem)" 3
bpcn score r.mem photos --rows 1:6 --json >scores
law "when it is read, too" same "$(json input <scores | tr '\n' ' ')" \
    "photos/p001.pgm photos/p002.pgm photos/p003.pgm photos/p004.pgm photos/p005.pgm "
law "the same ones" same "$(json verdict <scores | tr '\n' ' ')" "new known known known new "
law "the last of them" same "$(bpcn score r.mem photos --rows 10: | grep -c '^photos/p01')" 2
law "and says when there are none" says 1 "photos: has 12 pictures, none from number 30 on" bpcn score r.mem photos --rows 30:40

# Kinds of pictures that are not read are named, and not passed over in silence.
refused() { # refused KIND SUFFIX BYTES
    mkdir "as$2"
    printf "$3%64s" >"as$2/x.$2"
    says 1 "as$2/x.$2: is a $1 picture, which is not read here" bpcn score m.mem "as$2" &&
        says 1 "is a $1 picture" bpcn score m.mem "as$2/x.$2"
}
law "WebP is refused by its name" refused WebP webp 'RIFFxxxxWEBPVP8 '
law "GIF" refused GIF gif 'GIF89a'
law "TIFF" refused TIFF tif 'II*\0'
law "TIFF of the other order" refused TIFF tiff 'MM\0*'
law "BMP" refused BMP bmp 'BMxxxx\0\0\0\0'
law "HEIF" refused HEIF heic '\0\0\0\030ftypheic'
law "a text that begins with BM is none" says 1 "line 1" sh -c 'echo "BM,1,2,3,4,5,6,7,8,9,10,11,12" >bm.csv; "$BPCN" score m.mem bm.csv'
