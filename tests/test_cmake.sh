#!/usr/bin/env bash
# Another project takes the library by add_subdirectory, installs it, and a second one finds it there:
# tests/test_cmake.sh BUILD
set -eu
cd "$(dirname "$0")/.."
command -v cmake >/dev/null || { echo "skipped: there is no cmake"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/first" "$work/second"
cat >"$work/first/main.c" <<'END'
#include <bayespcn.h>
#include <stdio.h>

int main(void)
{
    bpcn_options options;
    bpcn_memory *memory;
    float row[4] = {1, -1, 0.5f, 0}, answer[4];
    unsigned char known[4] = {1, 1, 1, 0};
    bpcn_options_default(&options, sizeof options);
    options.dim = 4;
    options.layers = 1;
    options.hidden[0] = 8;
    if (bpcn_memory_create(&options, &memory) != BPCN_OK ||
        bpcn_memory_write(memory, row, NULL, 1, NULL) != BPCN_OK ||
        bpcn_memory_read(memory, row, known, 1, NULL, answer, NULL) != BPCN_OK) {
        fprintf(stderr, "%s\n", bpcn_error());
        return 1;
    }
    printf("%s %.1f\n", bpcn_version(), answer[0]);
    bpcn_memory_free(memory);
    return 0;
}
END
cp "$work/first/main.c" "$work/second/"
project() {
    echo "cmake_minimum_required(VERSION 3.16)
project(user C)
$1
add_executable(user main.c)
target_link_libraries(user PRIVATE bayespcn::bayespcn)"
}
project "add_subdirectory($PWD bayespcn)" >"$work/first/CMakeLists.txt"
project "find_package(bayespcn REQUIRED)" >"$work/second/CMakeLists.txt"
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }
for shared in OFF ON; do
    quietly cmake -S "$work/first" -B "$work/first/$shared" -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=$shared -DCMAKE_INSTALL_PREFIX="$work/$shared"
    quietly cmake --build "$work/first/$shared" -j "$(nproc)"
    quietly cmake --install "$work/first/$shared"
    quietly cmake -S "$work/second" -B "$work/second/$shared" -DCMAKE_PREFIX_PATH="$work/$shared"
    quietly cmake --build "$work/second/$shared"
    for user in "$work/first/$shared/user" "$work/second/$shared/user"; do
        [ "$("$user")" = "0.1.0 1.0" ] || { echo "$user says $("$user")"; exit 1; }
    done
done
echo "4 passed, 0 failed"
