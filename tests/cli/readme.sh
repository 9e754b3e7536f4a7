# The README's shell lines work as printed: the first ```sh block that has "bpcn create" in it.

awk '/^```/ { if (inside) { if (text ~ /bpcn create/) { printf "%s", text; exit } inside = 0 } else if ($0 ~ /^```(sh|bash|shell)/) { inside = 1; text = "" } next }
     inside { text = text $0 "\n" }' "$ROOT/README.md" 2>/dev/null | grep -v '^ *make\b' >lines
if [ ! -s lines ]; then
    skip "README.md has no shell block with bpcn create"
elif [ ! -r $FASHION/train-images-idx3-ubyte.gz ]; then
    skip "README.md's shell lines: Fashion-MNIST is not installed (dataset-fashion-mnist)"
else
    mkdir -p build && ln -sf "$BPCN" build/bpcn
    law "README.md's shell lines work as printed" env PATH="$PWD/build:$PATH" bash -ex ./lines
    for picture in $(grep -o '[a-z0-9_-]*\.png' lines | sort -u); do
        law "and make $picture" contains "$(file "$picture")" "PNG image data"
    done
fi
