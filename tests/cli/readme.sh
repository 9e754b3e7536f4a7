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

# The README's C is a whole program, built by what `make install` leaves and says, in a place of its own.
awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$ROOT/README.md" >prog.c
if ! { command -v cc && command -v pkg-config && command -v make; } >/dev/null; then
    skip "README.md's C program: cc, pkg-config and make are needed"
else
    law "make install into a PREFIX of one's own" make -C "$ROOT" -s install BUILD="$(dirname "$BPCN")" PREFIX="$PWD/own"
    grep '^  export ' .law >exports
    law "says what to export" same "$(grep -o '[A-Z_]*=' exports | tr -d '\n')" "PATH=LD_LIBRARY_PATH=PKG_CONFIG_PATH=MANPATH="
    law "README.md's C compiles as printed" bash -c '. ./exports; cc -Wall -Werror prog.c $(pkg-config --cflags --libs bayespcn) -o prog'
    run bash -c '. ./exports; ./prog'
    law "and runs, and recalls the row" same "$status $(awk '{ print ($5 + 0) - ($7 + 0) == 0, ($9 > 0.99) }' <<<"$out")" "0 1 1"
    law "the program is found" bash -c '. ./exports; [ "$(command -v bpcn)" = "$PWD/own/bin/bpcn" ] && bpcn --version'
    run make -C "$ROOT" -s install BUILD="$(dirname "$BPCN")" PREFIX=/usr DESTDIR="$PWD/package"
    law "a place of the system needs none" same "$status $out" "0 "
fi
