#!/bin/sh
# The layers of src: every file calls only into its own folder and those before it, and no files call each other in a
# circle. Usage: tests/layers.sh BUILD
build=$1
calls=$(mktemp) || exit 1
trap 'rm -f "$calls"' EXIT
public=$(grep -ohE '\bbpcn_[a-z_]+\(' include/*.h | tr -d '(' | sort -u | tr '\n' ' ')

# "user definer" for every call between two files; of the two precisions one will do. A call of a public function counts
# for its layer, not for a circle: the header stands between the two files.
for object in "$build"/src/*/*.o; do
    case $object in *.f32.o) continue ;; esac
    nm "$object" | sed "s|^|${object#"$build"/src/} |"
done | awk -v public="$public" '
    BEGIN { split(public, names); for (i in names) is_public[names[i]] = 1 }
    NF == 4 && $3 ~ /^[TDRBVW]$/ { defined[$4] = $1 }
    NF == 3 && $2 == "U" { user[++n] = $1; name[n] = $3 }
    END { for (i = 1; i <= n; i++) if (name[i] in defined && defined[name[i]] != user[i]) print user[i], defined[name[i]], name[i] in is_public }
' | sort -u >"$calls"

failed=0
[ "$(wc -l <"$calls")" -gt 100 ] || { echo "wanted the calls between the files of $build/src, got few"; failed=1; }
awk '
    BEGIN { split("math model infer ops store api", layers); for (i in layers) place[layers[i]] = i + 0 }
    { split($1, from, "/"); split($2, to, "/"); if (place[to[1]] > place[from[1]]) { print "a look upwards: " $0; bad = 1 } }
    END { exit bad }' "$calls" || failed=1
if ! loops=$(awk '!$3 { print $1, $2 }' "$calls" | tsort 2>&1 >/dev/null) || [ -n "$loops" ]; then
    echo "files that call each other in a circle:"
    echo "$loops"
    failed=1
fi
[ $failed -eq 0 ] && echo "2 passed, 0 failed"
exit $failed
