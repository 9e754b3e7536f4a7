# bpcn-paper eval: where it looks for datasets, and what it tells a method.
# Usage: bash paper/tests/test_eval.sh BPCN_PAPER
BPCN=$(realpath "$1")
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
passed=0 failed=0
. "$ROOT/tests/cli/lib.sh"

# Where datasets are looked for: $BPCN_DATA_DIR, else $XDG_DATA_HOME/bayespcn, else ~/.local/share/bayespcn.

# Two dark images in the layout of CIFAR-10.
place() {
    mkdir -p "$1/cifar-10-batches-bin"
    awk 'BEGIN { for (i = 0; i < 2 * 3073; i++) printf "%c", 1 + i % 7 }' >"$1/cifar-10-batches-bin/data_batch_1.bin"
}
place given
place xdg/bayespcn
place home/.local/share/bayespcn
mkdir -p empty

# look [NAME=VALUE...]: eval with these variables alone
look() { env -u BPCN_DATA_DIR -u XDG_DATA_HOME -u HOME "$@" "$BPCN" eval --model nearest --length 2 --tasks mask0.25; }
missing() { says 1 "$PWD/$1/cifar-10-batches-bin/data_batch_1.bin is missing" look "${@:2}"; }

law "BPCN_DATA_DIR is where datasets are" look BPCN_DATA_DIR="$PWD/given" XDG_DATA_HOME="$PWD/empty" HOME="$PWD/empty"
law "and nowhere else when it is set" missing empty BPCN_DATA_DIR="$PWD/empty" XDG_DATA_HOME="$PWD/xdg" HOME="$PWD/home"
law "then XDG_DATA_HOME" look BPCN_DATA_DIR= XDG_DATA_HOME="$PWD/xdg" HOME="$PWD/empty"
law "and not HOME when that is set" missing empty/bayespcn XDG_DATA_HOME="$PWD/empty" HOME="$PWD/home"
law "then HOME" look HOME="$PWD/home"
law "a relative XDG_DATA_HOME is ignored" look XDG_DATA_HOME=empty HOME="$PWD/home"
law "an option goes before all of them" bpcn eval --data-dir given --model nearest --length 2 --tasks mask0.25
path=$PWD/empty/.local/share/bayespcn
law "a missing dataset says what to do" fails 1 \
    "bpcn-paper eval: $path/cifar-10-batches-bin/data_batch_1.bin is missing: run scripts/fetch-data cifar10, or download the binary version of CIFAR-10 from its home page (https://www.cs.toronto.edu/~kriz/cifar.html) and unpack it in $path, or set BPCN_DATA_DIR to the folder that has it" \
    look HOME="$PWD/empty"
law "no variable at all" fails 1 \
    "bpcn-paper eval: BPCN_DATA_DIR, XDG_DATA_HOME and HOME are not set: give the folder of datasets by one" look

if command -v python3 >/dev/null; then
    # fetch NAME=VALUE...: the folder that fetch-data would fill
    fetch() { env -u BPCN_DATA_DIR -u XDG_DATA_HOME COLUMNS=2000 "$@" "$ROOT/scripts/fetch-data" --help | sed -n 's/.*default: \(\/.*\)$/\1/p'; }
    law "fetch-data puts them into BPCN_DATA_DIR" same "$(fetch BPCN_DATA_DIR=/a XDG_DATA_HOME=/b HOME=/c)" /a
    law "or below XDG_DATA_HOME" same "$(fetch XDG_DATA_HOME=/b HOME=/c)" /b/bayespcn
    law "or below HOME" same "$(fetch XDG_DATA_HOME=b HOME=/c)" /c/.local/share/bayespcn
else
    skip "where fetch-data puts datasets: there is no python3"
fi

# ---- what eval is told, the model is told
pictures photos 8 8
offline() { bpcn eval --data photos --model gpcn-offline --hidden 8,8 --length 8 --iterations 60 --tasks mask0.25 --json "$@"; }
law "eval: momentum changes how GPCN learns" test "$(offline --momentum 0.9 | json mse)" != "$(offline | json mse)"
law "eval: none is what it has" test "$(offline --momentum 0 | json mse)" = "$(offline | json mse)"
law "eval: a momentum that never ends is refused" fails 1 \
    "bpcn-paper eval: gpcn-offline: a GPCN wants a momentum from 0 to below 1, not 1" offline --momentum 1
law "eval: offline, learning is timed" awk "BEGIN { exit !($(offline | json learn_seconds) > 0) }"
learnt() { bpcn eval --data photos --model nearest --length 2 --tasks mask0.25 --json | grep -o '"learn_seconds": [^,]*'; }
law "eval: others have learnt when they have written" test "$(learnt)" = '"learn_seconds": null'

pictures shards 14 8
law "eval measures shards" contains \
    "$(bpcn eval --data shards --hidden 16,16 --shards 4 --shard-rows 5 --length 14 --tasks mask0.25 --json)" '"right": 1,'
law "eval: shards that are none" fails 1 "bpcn-paper eval: bayespcn: shards is 0, but must be 1 to 262144" \
    bpcn eval --data shards --shards 0 --length 2

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
