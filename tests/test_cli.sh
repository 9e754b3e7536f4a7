#!/bin/bash
# The bpcn program from the shell, as a user types it. Every law prints one line.
#   tests/test_cli.sh [BPCN] [GROUP...]      BPCN: the program (default build/bpcn)
# Groups are the files of tests/cli; without names all run. LONG=1 adds the stream of 2,048 pictures.
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
BPCN=${1:-${BPCN:-$root/build/bpcn}}
[ $# -gt 0 ] && shift
BPCN=$(cd "$(dirname "$BPCN")" && pwd)/$(basename "$BPCN")
[ -x "$BPCN" ] || { echo "$BPCN: no such program; build it first"; exit 1; }
export BPCN ROOT=$root
export LC_ALL=C TERM=xterm
unset NO_COLOR POSIXLY_CORRECT

total_passed=0 total_failed=0
for file in "$here"/cli/*.sh; do
    group=$(basename "$file" .sh)
    [ "$group" = lib ] && continue
    [ $# -gt 0 ] && [[ " $* " != *" $group "* ]] && continue
    folder=$(mktemp -d)
    (
        cd "$folder" || exit 1
        passed=0 failed=0
        # shellcheck source=/dev/null
        . "$here/cli/lib.sh"
        echo "== $group"
        . "$file"
        echo "$passed $failed" >"$folder/.count"
    )
    read -r p f <"$folder/.count" || { p=0 f=1; echo "FAIL $group did not finish"; }
    total_passed=$((total_passed + p)) total_failed=$((total_failed + f))
    rm -rf "$folder"
done
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ]
