# Sequences: episodes are written, played, found, followed, deleted.

frames() { # frames FROM COUNT NOISE: rows of 40 smooth values that no other row has
    awk -v from="$1" -v count="$2" -v noise="$3" 'BEGIN { srand(3); for (i = from; i < from + count; i++) { line = ""
        for (j = 0; j < 40; j++) line = line (j ? "," : "") sprintf("%.6f", sin(i * i * 0.7 + j * (1 + i % 7) * 0.3) + cos(i * 1.3 + j * 0.5) + noise * (rand() - 0.5))
        print line } }'
}
frames 0 90 0 >film.csv
frames 90 50 0 >second.csv
frames 140 10 0 >more.csv
frames 40 4 0.6 >cues.csv
sed '2s/[^,]*/nan/g' cues.csv >gaps.csv

law "create makes a sequence" contains "$(bpcn create ep.mem --sequence --dim 40 --capacity 600)" "0 frames of at most 600"
law "a sequence takes no options of networks" says 2 "--hidden does not apply to a sequence" bpcn create x.mem --sequence --dim 4 --hidden 8
law "a sequence wants the shape of a frame" says 2 "what a frame is" bpcn create x.mem --sequence
law "create does not replace a sequence" says 1 "exists already" bpcn create ep.mem --sequence --dim 40
law "no episodes, nothing to play" says 1 "no episodes yet" bpcn play ep.mem -o x.csv
law "a call of write is an episode" contains "$(bpcn write ep.mem film.csv)" "90 frames written to episode #0 film.csv"
law "an episode has the name that --name says" contains "$(bpcn write ep.mem second.csv --name second --json)" '"name":"second"'
law "--continue appends to the latest" contains "$(bpcn write ep.mem more.csv --continue)" "10 frames written to episode #1 second, which has 60"
law "an episode that goes on keeps its name" says 2 "its name already" bpcn write ep.mem more.csv --continue --name other
law "info lists the episodes" contains "$(bpcn info ep.mem)" "#1 second: 60 frames"
law "info says it in JSON" contains "$(bpcn info ep.mem --json)" '"frames":150,"capacity":600'

# the greatest difference of two tables of numbers is below a hundredth: recall is exact to about 1e-4
alike() {
    paste -d, "$1" "$2" | awk -F, 'NF % 2 { exit 1 } { for (j = 1; j <= NF / 2; j++) { d = $j - $(j + NF / 2); if (d > 0.01 || d < -0.01) exit 1 } n++ } END { exit n == 0 }'
}
bpcn play ep.mem film.csv -o out.csv -q
law "an episode plays as it was written" alike out.csv film.csv
bpcn play ep.mem film.csv --from 30 --count 20 -o out.csv -q
sed -n 31,50p film.csv >part.csv
law "it plays from any place" alike out.csv part.csv
bpcn play ep.mem --backward --count 15 -o out.csv -q
cat second.csv more.csv | tail -15 | tac >part.csv
law "it plays backward from its end" alike out.csv part.csv
law "play wants an output" says 2 "give an output" bpcn play ep.mem
law "a place beyond the end is refused" says 1 "frames 0 to 89" bpcn play ep.mem film.csv --from 90 -o x.csv
law "more frames than there are are refused" says 1 "only 60 frames from there on" bpcn play ep.mem '#1' --count 61 -o x.csv
law "an unknown name is refused" says 1 "no episode has the name third" bpcn play ep.mem third -o x.csv

law "locate finds noisy cues" contains "$(bpcn locate ep.mem cues.csv --json | head -1)" '"place":43,"name":"film.csv","episode":0'
law "locate finds half of each cue" contains "$(bpcn locate ep.mem cues.csv --hide right:0.5 --json | head -1)" '"place":43,"name":"film.csv"'
law "locate finds what is made noisy" contains "$(bpcn locate ep.mem film.csv --rows 10:14 --noise 0.3)" "frame 13 of #0 film.csv"
law "locate adds up to -k places" same "$(bpcn locate ep.mem cues.csv -k 1 --json | wc -l)" 1
law "locate says whether the cue was written: 40 entries do not tell" contains "$(bpcn locate ep.mem film.csv --rows 5 --json | head -1)" '"verdict":"cannot tell"'
law "follow goes on through a missing frame" same "$(bpcn follow ep.mem gaps.csv --json -o clean.csv | grep -c '"name":"film.csv"')" 4
sed -n 41,44p film.csv >part.csv
law "follow cleans the frames, and fills the missing one" alike clean.csv part.csv
law "follow tells a missing frame" contains "$(bpcn follow ep.mem gaps.csv)" "1: frame 41 of #0 film.csv, probability"

law "other commands refuse a sequence" says 1 "holds a sequence of frames" bpcn read ep.mem cues.csv
bpcn create plain.mem --dim 40 --hidden 48,48 -q
law "commands of sequences refuse other memories" says 1 "holds no sequence" bpcn play plain.mem -o x.csv
law "--continue is for sequences" says 2 "no sequence" bpcn write plain.mem film.csv --continue
law "a sequence fades" contains "$(bpcn forget ep.mem --beta 0)" "forgot by 0"

cp film.csv pixels.csv
awk -F, '{ line = ""; for (j = 1; j <= NF; j++) line = line (j > 1 ? "," : "") int(($j + 2) * 60); print line }' film.csv >pixels.csv
bpcn create pix.mem --sequence --dim 40 --capacity 600 -q
bpcn write pix.mem pixels.csv --name a -q
bpcn write pix.mem pixels.csv --name b -q
law "an episode of whole numbers is deleted by its name" contains "$(bpcn delete pix.mem a)" "a deleted, 90 frames"
law "the other one stays" contains "$(bpcn info pix.mem)" "#0 b: 90 frames"
law "other numbers must be given, and are not deleted" says 3 "not deleted" bpcn delete ep.mem film.csv
law "the file is sound" contains "$(bpcn check pix.mem)" "sound"

bpcn create ring.mem --sequence --dim 40 --capacity 120 --when-full recycle -q
for i in 1 2 3; do bpcn write ring.mem film.csv -q; done
law "a window over a stream drops the oldest" contains "$(bpcn info ring.mem)" "recycled"
law "a full sequence refuses frames" says 1 "has room for 60 more frames, not for 90" bash -c '"$BPCN" create full.mem --sequence --dim 40 --capacity 60 -q && "$BPCN" write full.mem film.csv'
