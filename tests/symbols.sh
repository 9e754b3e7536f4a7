#!/bin/sh
# symbols.sh LIBRARY HEADERS ARCHIVE: the shared library exports exactly the functions that the headers of this folder
# declare with BPCN_API, no more and no fewer; every other global name of the static one begins with bpcn_internal_.
set -eu

[ $# -eq 3 ] || { echo "usage: symbols.sh LIBRARY HEADERS ARCHIVE" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A declaration may span lines: join them, split at semicolons, take the name before the '('.
cat "$2"/*.h | grep -v '^ *#' | tr '\n' ' ' | tr ';' '\n' |
    sed -n 's/.*BPCN_API [^(]*[ *]\(bpcn_[a-z0-9_]*\)(.*/\1/p' | sort -u > "$work/declared"

# Addresses that the linker itself adds to every library are not ours.
nm -D --defined-only "$1" | awk '{ print $NF }' | sed 's/@.*//' |
    grep -vxE '_init|_fini|__bss_start|_edata|_end' | sort -u > "$work/exported"

[ -s "$work/declared" ] || { echo "symbols: no BPCN_API function found in $2" >&2; exit 1; }
if ! diff "$work/declared" "$work/exported" > "$work/diff"; then
    echo "symbols: the headers declare (<) and the library exports (>):" >&2
    grep '^[<>]' "$work/diff" >&2
    exit 1
fi
nm -g --defined-only "$3" | awk 'NF == 3 { print $3 }' | sort -u > "$work/static"
[ -s "$work/static" ] || { echo "symbols: no symbol found in $3" >&2; exit 1; }
if grep -v '^bpcn_internal_' "$work/static" | grep -vxFf "$work/declared" > "$work/foreign"; then
    echo "symbols: $3 has global names that are neither declared nor begin with bpcn_internal_ (make symbols adds it):" >&2
    cat "$work/foreign" >&2
    exit 1
fi
echo "symbols: $(wc -l < "$work/declared") functions declared and exported, nothing else"
