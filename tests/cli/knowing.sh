# How well the memory knows, on real pictures: labels of Fashion-MNIST, familiarity on CIFAR10, and a
# long stream (LONG=1).

auc() { # of the familiarity between rows before $1 and the rest; JSON lines on standard input
    sed 's/.*"row":\([0-9]*\),"familiarity":\([^,]*\),.*/\1 \2/' | sort -k2,2g |
        awk -v n="$1" '{ r[NR] = $1; v[NR] = $2 + 0 } END {
            for (i = 1; i <= NR; i = j) { same_u = same_w = 0
                for (j = i; j <= NR && v[j] == v[i]; j++) if (r[j] < n) same_w++; else same_u++
                area += same_w * (below + same_u / 2); below += same_u; written += same_w }
            printf "%.5f\n", area / written / below }'
}
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { print a; exit !(a >= b) }'; }

if [ -r $FASHION/train-images-idx3-ubyte.gz ]; then
    bpcn create f.mem --fields image:28x28,label:10 -q
    bpcn write f.mem $FASHION/train-images-idx3-ubyte.gz $FASHION/train-labels-idx1-ubyte.gz --rows 0:256 -q 2>/dev/null
    run bpcn read f.mem $FASHION/train-images-idx3-ubyte.gz $FASHION/train-labels-idx1-ubyte.gz --rows 0:256 --known image -o a.npy
    right=$(sed -n 's/.*; \([0-9]*\) of 256 labels right/\1/p' <<<"$out")
    echo "     labels right: $right of 256"
    law "a label that many share brings a blend" contains "$(bpcn read f.mem label=9)" "blend"
    law "256 items of Fashion-MNIST: the label is read from the image for 99 %" test "${right:-0}" -ge 254
else
    skip "Fashion-MNIST is not installed (dataset-fashion-mnist)"
fi

if [ -r "$CIFAR" ]; then
    bpcn create c.mem --image 32x32x3 --hidden 256,256,256 -q
    bpcn write c.mem "$CIFAR" --rows 0:128 -q
    for part in "" "--hide random:0.25" "--hide random:0.75"; do
        for command in score read; do
            area=$(bpcn $command c.mem "$CIFAR" --rows 0:256 --json $part | auc 128)
            echo "     AUC $area ($command $part)"
            law "128 of CIFAR10: $command tells written from unseen (${part:-clean})" at_least "$area" 0.999
        done
    done
    law "at most one in a hundred is on the wrong side of 0.5" contains \
        "$(bpcn score c.mem "$CIFAR" --rows 0:256 --hide random:0.5)" "256 rows, 128 known"
    # the share of the range is doubled on the scale from -1 to 1: 0.1 is noise 0.2
    law "written rows under noise are known" contains \
        "$(bpcn score c.mem "$CIFAR" --rows 0:128 --noise 0.1)" "128 rows, 128 known"
    law "unseen rows under noise are not" contains "$(bpcn score c.mem "$CIFAR" --rows 128:256 --noise 0.1)" "128 rows, 0 known"
    for noise in 0.1 0.2 0.3; do
        bpcn read c.mem "$CIFAR" --rows 128:256 --assume-noise $noise -o x.npy >said
        law "noise of $noise that is assumed makes no unseen row known" grep -qE "^128 rows( read|, 0 known)" said
        law "and leaves those known that were written" contains \
            "$(bpcn read c.mem "$CIFAR" --rows 0:128 --assume-noise $noise -o x.npy)" "128 rows, 128 known"
    done
    cp c.mem faded.mem
    bpcn forget faded.mem --beta 0.003 -q
    law "what has faded by 0.003 is recalled and known" contains \
        "$(bpcn read faded.mem "$CIFAR" --rows 0:128 --hide right:0.25 -o x.npy)" "128 rows, 128 known; 128 of 128 recalled"
    law "and nothing else is" contains "$(bpcn score faded.mem "$CIFAR" --rows 128:256)" "128 rows, 0 known"
    law "half-full is half full" at_least "$(bpcn info c.mem --json | json fullness)" 0.45
    bpcn create k.mem --image 32x32x3 --capacity 128 --when-full recycle -q
    bpcn write k.mem "$CIFAR" --rows 0:192 -q
    for part in "" "--hide random:0.25" "--hide random:0.75"; do
        law "two shards that recycle know the latest 128 of 192 and nothing else (${part:-clean})" same \
            "$(bpcn score k.mem "$CIFAR" --rows 0:64 $part | tail -1) $(bpcn score k.mem "$CIFAR" --rows 64:192 $part | tail -1)" \
            "64 rows, 0 known 128 rows, 128 known"
    done
    law "each comes back from noise of a tenth of the range" contains \
        "$(bpcn read k.mem "$CIFAR" --rows 64:192 --noise 0.1 -o x.npy)" "128 of 128 recalled"
else
    skip "CIFAR10 is not here ($CIFAR)"
fi

if [ -r "$CIFAR" ] && [ -n "$LONG" ]; then
    bpcn create s.mem --image 32x32x3 --hidden 256,256,256 -q
    bpcn write s.mem "$CIFAR" --forget auto -q
    recalled() { bpcn read s.mem "$CIFAR" --rows $((2048 - $1)):2048 --hide right:0.25 -o x.npy | sed -n 's/.*; \([0-9]*\) of .*/\1/p'; }
    last16=$(recalled 16) last64=$(recalled 64) last128=$(recalled 128)
    echo "     of the latest 16, 64, 128: $last16 $last64 $last128"
    law "--forget auto: of 2,048 pictures 95 % of the latest 16 are recalled" test "$last16" -ge 16
    law "--forget auto: and 60 % of the latest 64" test "$last64" -ge 39
else
    skip "the stream of 2,048 pictures (LONG=1 and CIFAR10)"
fi
