# What the groups share. bpcn runs the program; law states something and says whether it holds.

bpcn() { "$BPCN" "$@"; }

law() { # law NAME COMMAND...: the command succeeds
    local name=$1
    shift
    if "$@" >.law 2>&1; then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        sed 's/^/       /' .law | head -20
    fi
}

skip() { echo "skip $1"; }

# Runs a command; its output is in $out (standard output), $err (standard error), $status.
run() {
    "$@" >.out 2>.err
    status=$?
    out=$(tr -d '\0' <.out) err=$(cat .err)
}

same() { # same GOT WANTED
    [ "$1" = "$2" ] && return 0
    printf 'got    %s\nwanted %s\n' "$1" "$2"
    return 1
}

contains() { # contains TEXT PART
    [[ $1 == *"$2"* ]] && return 0
    printf 'in     %s\nno     %s\n' "$1" "$2"
    return 1
}

# fails STATUS MESSAGE COMMAND...: exits with the status and says exactly that on standard error
fails() {
    local wanted_status=$1 wanted=$2
    shift 2
    run "$@"
    same "$status" "$wanted_status" && same "$err" "$wanted"
}

# says STATUS PART COMMAND...: the same, with a part of it
says() {
    local wanted_status=$1 wanted=$2
    shift 2
    run "$@"
    same "$status" "$wanted_status" && contains "$err" "$wanted"
}

# prints TEXT COMMAND...: succeeds and prints exactly that on standard output
prints() {
    local wanted=$1
    shift
    run "$@"
    same "$status" 0 && same "$out" "$wanted"
}

# json NAME: the value of a number or word in a JSON line on standard input
json() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }

# Smooth pictures that differ: picture NUMBER SIDE > x.pgm
picture() {
    awk -v n="$1" -v side="$2" 'BEGIN {
        srand(n * 7919 + 17); a = rand() * 6; b = rand() * 6; c = rand() * 4 + 1; d = rand() * 4 + 1
        printf "P2\n%d %d\n255\n", side, side
        for (y = 0; y < side; y++) for (x = 0; x < side; x++)
            printf "%d\n", 127.5 + 70 * sin(a + c * x / side * 3) + 55 * cos(b + d * y / side * 3 + x * y / side / side) }'
}

pictures() { # pictures FOLDER COUNT SIDE [FIRST]
    mkdir -p "$1"
    local i
    for ((i = ${4:-0}; i < ${4:-0} + $2; i++)); do
        picture "$i" "$3" >"$1/$(printf 'p%03d' "$i").pgm"
    done
}

rows() { # rows COUNT WIDTH [FIRST]: comma-separated values in -1 .. 1
    awk -v n="$1" -v w="$2" -v first="${3:-0}" 'BEGIN {
        for (i = first; i < first + n; i++) { srand(i * 104729 + 5)
            for (j = 0; j < w; j++) printf "%s%.6f", j ? "," : "", 2 * rand() - 1
            print "" } }'
}

# near FILE FILE TOLERANCE: two CSV files hold the same numbers
near() {
    awk -F, -v t="$3" 'NR == FNR { a[FNR] = $0; n = FNR; next }
        { k = split(a[FNR], u, ","); if (k != NF) { print "row " FNR ": " k " and " NF " values"; bad = 1; exit }
          for (j = 1; j <= NF; j++) { d = u[j] - $j; if (d < 0) d = -d
              if (!(d <= t)) { print "row " FNR ", value " j ": " u[j] " and " $j; bad = 1; exit } } m = FNR }
        END { if (!bad && n != m) { print n " and " m " rows"; bad = 1 } exit bad }' "$1" "$2"
}

numpy() { # a Python with NumPy, or nothing
    local p
    for p in python3 /usr/bin/python3; do
        "$p" -c 'import numpy' 2>/dev/null && { echo "$p"; return; }
    done
}

FASHION=/usr/share/datasets/fashion-mnist
DATA=${BPCN_DATA_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/bayespcn}
CIFAR=$DATA/cifar-10-batches-bin/data_batch_1.bin
