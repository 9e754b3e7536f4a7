#!/bin/sh
# The library, where it does as the paper does, beside the paper's formulas alone (paper/tests/precision.c), in float and in
# double: they leave the same of white noise. Usage: paper/tests/test_precision.sh BUILD
build=$1
passed=0
failed=0

# within WANTED GOT WHO: other priors are drawn, which moves the error by some hundredths
within() {
    if awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0.001 && b > 0.9 * a && b < 1.1 * a) }'; then
        passed=$((passed + 1))
    else
        echo "wanted $1 within a tenth, got $2 of $3"
        failed=$((failed + 1))
    fi
}

for seed in 0 1; do
    library=$("$build/bpcn-paper" eval --data fashion-mnist --hidden 64,64,64 --length 16 --tasks white0.2 --objective paper \
        --minimizer adam --seed $seed --threads 1 --json | sed 's/.*"mse": *\([0-9.e-]*\).*/\1/')
    for bits in 32 64; do
        plain=$("$build/paper/tests/precision$bits" fashion-mnist 64 1 0.01 $seed 16 16:white0.2 |
            sed -n 's/.*error \([0-9.]*\),.* 0 variances not positive$/\1/p')
        within "$library" "${plain:-none}" "$bits bits, seed $seed"
    done
done

# One sentence and status 2 for what it cannot do.
for wrong in "" "fashion-mnist 64 1 0.01 0 1 16:white0.2" "fashion-mnist 64 1 0.01 0 16 8:white0.2" \
    "fashion-mnist 64 1 0.01 0 16 16:blur"; do
    # shellcheck disable=SC2086
    said=$("$build/paper/tests/precision32" $wrong 2>&1 >/dev/null)
    if [ $? -eq 2 ] && [ "$(printf '%s\n' "$said" | wc -l)" -eq 1 ]; then
        passed=$((passed + 1))
    else
        echo "wanted one sentence and status 2 for '$wrong', got: $said"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
