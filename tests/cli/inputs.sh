# Every kind of input and output, fields, pipes.

pictures photos 6 8
bpcn create m.mem --image 8x8 --hidden 32 -q
bpcn write m.mem photos -q
bpcn create v.mem --dim 5 --hidden 32 -q
rows 8 5 >rows.csv
bpcn write v.mem rows.csv -q

hidden='--hide right:0.25'
bpcn read m.mem photos $hidden -o a.csv -q
for suffix in npy npz f32 raw; do
    bpcn read m.mem photos $hidden -o "a.$suffix" -q
done
for suffix in npy f32; do
    bpcn read m.mem a.$suffix $hidden -o b.csv -q
    law "what is written as .$suffix is read back" near a.csv b.csv 0.02
done
bpcn read m.mem a.npz --member answer $hidden -o b.csv -q
law "what is written as .npz is read back" near a.csv b.csv 0.02
bpcn read m.mem a.csv $hidden -o b.csv -q
law "what is written as .csv is read back" near a.csv b.csv 0.02
law ".f32 and .raw are the same bytes" cmp a.f32 a.raw
law "raw float32 has four bytes per entry" same "$(wc -c <a.f32)" $((6 * 64 * 4))

law "a pipe carries raw float32 from read to score" contains \
    "$(bpcn read m.mem photos $hidden -o - | bpcn score m.mem -)" "6 rows, 6 known"
law "rows of a pipe are numbered" contains "$(bpcn score m.mem - <a.f32)" "standard input row 5  "
bpcn create p.mem --image 8x8 --hidden 32 -q
law "a pipe can be written" contains "$(bpcn write p.mem - <a.f32)" "6 rows written"
law "standard output is nothing but the data" same "$(bpcn read m.mem photos -o - | wc -c)" $((6 * 64 * 4))
law "csv to standard output" same "$(bpcn read v.mem rows.csv -o - --output-format csv | wc -l)" 8
law "half a row in a pipe is an error" says 1 "standard input: " sh -c 'head -c 100 a.f32 | "$BPCN" score m.mem -'
law "an empty pipe is an error" says 1 "standard input: no rows" sh -c '"$BPCN" score m.mem - </dev/null'

bpcn read m.mem photos/p002.pgm --hide bottom:0.5 --plain -o one.png -q
bpcn read m.mem photos/p002.pgm --hide bottom:0.5 --plain -o one.pgm -q
bpcn read m.mem photos/p002.pgm --hide bottom:0.5 --plain -o one.jpg -q
law "a PNG that was written is recognised" contains "$(bpcn score m.mem one.png)" " known"
law "a PGM that was written is recognised" contains "$(bpcn score m.mem one.pgm)" " known"
law "a JPEG is read" contains "$(bpcn read m.mem one.jpg --assume-noise 0.1 --json)" '"input":"one.jpg"'
law "--rows takes a part of every input" contains "$(bpcn score v.mem rows.csv --rows 2:5)" "rows.csv row 2  "
law "--rows N takes one" contains "$(bpcn score v.mem rows.csv --rows 7)" "rows.csv row 7  "
law "names with = that are no field are files" sh -c 'cp photos/p001.pgm a=b.pgm && "$BPCN" score m.mem a=b.pgm | grep -q known'
law "a name with spaces and quotes is printed in JSON" same "$(cp one.png 'a "b".png'; bpcn score m.mem 'a "b".png' --json | cut -c 1-23)" '{"input":"a \"b\".png",'

# fields
awk 'BEGIN { for (i = 0; i < 6; i++) print i % 3 }' >labels.csv
bpcn create f.mem --fields image:8x8,label:3 --hidden 64,64 -q
law "fields are written from two files" contains "$(bpcn write f.mem image=photos label=labels.csv)" "6 rows written"
run bpcn read f.mem image=photos label=labels.csv --known image
law "--known image asks for the label" same "$(grep -o 'label [0-9]' <<<"$out" | tr '\n' ' ')" "label 0 label 1 label 2 label 0 label 1 label 2 "
law "and counts the right ones" contains "$out" "6 of 6 labels right"
law "an image alone asks for the label" contains "$(bpcn read f.mem image=photos/p004.pgm)" "  label 1"
law "JSON names class and value" contains "$(bpcn read f.mem image=photos/p004.pgm --json)" '"answer":{"label":{"class":1,"value":'
bpcn read f.mem label=2 -o two.pgm -q
law "--known label shows a picture" same "$(head -c 11 two.pgm | tr '\n' ' ')" "P5 8 8 255 "
bpcn read f.mem image=photos --only label -o l.csv -q
law "--only writes one field" same "$(awk -F, '{ m = 1; for (j = 2; j <= NF; j++) if ($j > $m) m = j; print m - 1 }' l.csv | tr '\n' ' ')" "0 1 2 0 1 2 "
law "fields are found by their shapes" contains "$(bpcn read f.mem photos/p003.pgm)" "  label 0"
