# Errors name the file, the row and the reason; exit statuses are as documented.

pictures photos 3 8
picture 1 8 >square.pgm
printf 'P2\n64 48\n255\n' >photo.pgm
awk 'BEGIN { for (i = 0; i < 64 * 48; i++) print i % 256 }' >>photo.pgm
printf 'P3\n8 8\n255\n' >colour.ppm
awk 'BEGIN { for (i = 0; i < 192; i++) print i }' >>colour.ppm
bpcn create m.mem --image 8x8 --hidden 16 -q
bpcn create v.mem --dim 4 --hidden 16 -q
bpcn create f.mem --fields image:8x8,label:4 --hidden 16 -q

law "a picture of another size" fails 1 \
    "bpcn write: photo.pgm: 64x48, but this memory takes 8x8 (use --resize)
bpcn write: m.mem: nothing was written" bpcn write m.mem photo.pgm
law "--resize takes it" bpcn write m.mem photo.pgm --resize
law "a colour picture for a grey memory" says 1 \
    "colour.ppm: colour, but this memory takes grey (use --resize, which converts colours too)" bpcn write m.mem colour.ppm
law "rows of another length" says 1 "r.csv: 3 values per row, but this memory takes 4" \
    sh -c 'echo 1,2,3 >r.csv; "$BPCN" write v.mem r.csv'
law "a file that is not there" says 1 "nowhere.png: cannot open: No such file or directory" bpcn write m.mem nowhere.png
law "a file that is no picture" says 1 "junk.png" sh -c 'echo junk >junk.png; "$BPCN" write m.mem junk.png'
law "a value that is no number names its line" says 1 "bad.csv" sh -c 'printf "1,2,3,4\n1,x,3,4\n" >bad.csv; "$BPCN" write v.mem bad.csv'
law "infinity is refused with its line" says 1 "inf.csv: line 2, column 2 is infinite" sh -c 'printf "1,2,3,4\n1,inf,3,4\n" >inf.csv; "$BPCN" write v.mem inf.csv'
law "a folder without pictures" says 1 "empty" sh -c 'mkdir -p empty; "$BPCN" write m.mem empty'
law "a memory that is not there" says 1 "none.mem: " bpcn info none.mem
law "a file that is no memory" says 4 "square.pgm: " bpcn info square.pgm
law "check of a file that is no memory" says 4 "square.pgm: " bpcn check square.pgm
law "a label beyond the classes" says 1 "labels.csv row 1: label 7, but field label has the classes 0 to 3" \
    sh -c 'printf "1\n7\n2\n" >labels.csv; "$BPCN" write f.mem image=photos label=labels.csv'
law "a field that is missing" says 1 "field label is missing (give label=FILE)" bpcn write f.mem image=square.pgm
law "fields of different lengths" says 1 "photos has 3 rows, but labels2.csv has 2" \
    sh -c 'printf "1\n2\n" >labels2.csv; "$BPCN" write f.mem image=photos label=labels2.csv'
law "a field that does not exist" says 2 "--known: this memory has no field 'imgae' (it has image:8x8,label:4)" \
    bpcn read f.mem image=square.pgm --known imgae
law "a value that is neither file nor number" says 1 "label=boot: is neither a file nor a value of the field" bpcn read f.mem label=boot
law "an input that fails midway says how many rows were written" says 1 \
    "m.mem: 3 rows written before that are in the memory" bpcn write m.mem photos photo.pgm square.pgm
law "and the memory holds exactly those" same "$(bpcn info m.mem --json | json writes)" 4

law "an unknown option suggests the nearest" fails 2 \
    "bpcn write: unknown option --resise; did you mean --resize?
(see: bpcn help write)" bpcn write m.mem --resise photo.pgm
law "an unknown command suggests the nearest" fails 2 \
    "bpcn: unknown command 'wriet'; did you mean 'write'?
(see: bpcn help)" bpcn wriet m.mem
law "a word like nothing gets no suggestion" fails 2 "bpcn: unknown command 'xylophone'
(see: bpcn help)" bpcn xylophone
law "an option without its value" says 2 "--beta needs a value" bpcn forget m.mem --beta
law "a number that is none" says 2 "--beta: '1.5' is not a number from 0 to 1" bpcn forget m.mem --beta 1.5
law "a shape that is none" says 2 "--image: '8by8' is not WIDTHxHEIGHT" bpcn create x.mem --image 8by8
law "fields that are none" says 2 "--fields: 'label' is not NAME:SHAPE" bpcn create x.mem --fields image:8x8,label
law "two fields of one name" says 2 "two fields are called 'a'" bpcn create x.mem --fields a:2,a:3
law "no shape at all" says 2 "x.mem: give one of --like" bpcn create x.mem
law "hidden widths that are none" says 2 "--hidden: 'wide' is not a whole number" bpcn create x.mem --dim 3 --hidden wide
law "an activation that is none" says 2 "--activation: 'swish' is none of gelu relu tanh linear" bpcn create x.mem --dim 3 --activation swish
law "a part that cannot be hidden" says 2 "--hide: 'sideways:0.5' is not right, left" bpcn read m.mem square.pgm --hide sideways:0.5
law "a mask of another shape" says 1 "r.csv: a mask of 3 values, but a row of this memory has 64" bpcn read m.mem square.pgm --mask r.csv
law "an output of no type" says 2 "out.xyz: the suffix is none of png" bpcn read m.mem square.pgm -o out.xyz
law "a picture of values" says 2 "out.png: is a picture, but this memory does not have the shape of one" sh -c 'echo 1,2,3,4 >v.csv; "$BPCN" read v.mem v.csv -o out.png'
law "rows that are none" says 2 "--rows: '5:2' is not FIRST:END" bpcn write m.mem photos --rows 5:2
law "too few arguments" says 2 "too few arguments; usage: bpcn write MEM INPUT..." bpcn write m.mem
law "bytes in a picture get a hint" contains "$(printf '%s,' $(seq 100 162) >b.csv; echo 200 >>b.csv; bpcn score m.mem b.csv 2>&1)" "(for bytes use --pixels)"

# ---- the environment
sets=$(for set in portable avx2 avx512; do BPCN_KERNELS=$set bpcn info v.mem >/dev/null 2>&1 && echo $set; done)
for set in $sets; do
    law "BPCN_KERNELS=$set is what runs" same "$(BPCN_KERNELS=$set bpcn info v.mem --json | json kernels)" "$set"
done
law "without it the best runs" same "$(env -u BPCN_KERNELS "$BPCN" info v.mem --json | json kernels)" "$(echo "$sets" | tail -1)"
law "kernels that do not exist" says 1 "v.mem: BPCN_KERNELS is sse9, but this CPU has only portable" \
    env BPCN_KERNELS=sse9 "$BPCN" info v.mem
law "a number of threads that is none" fails 1 "bpcn info: v.mem: BPCN_THREADS is many, but must be 1 to 1024" \
    env BPCN_THREADS=many "$BPCN" info v.mem
if [ -d /usr/share/datasets/fashion-mnist ] && bpcn help | grep -q 'serve '; then
    law "a demo without a place for its memory" says 1 "bpcn demo: cannot make a folder in \$TMPDIR" \
        env TMPDIR="$PWD/nowhere" "$BPCN" demo --serve --listen 127.0.0.1:0
fi
