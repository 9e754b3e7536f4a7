/* As much of cmocka as tests/everywhere/run needs, for targets that Debian has no cmocka for. A test that fails ends its
   program. */
#ifndef EVERYWHERE_CMOCKA_H
#define EVERYWHERE_CMOCKA_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
    CMFixtureFunction setup_func, teardown_func;
    void *initial_state;
};

#define cmocka_unit_test(f) {.name = #f, .test_func = f}
#define cmocka_unit_test_setup_teardown(f, s, t) {.name = #f, .test_func = f, .setup_func = s, .teardown_func = t}
#define cmocka_unit_test_prestate(f, state) {.name = #f, .test_func = f, .initial_state = state}

static inline int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
                                          CMFixtureFunction setup, CMFixtureFunction teardown)
{
    void *of_group = NULL;
    if (setup != NULL && setup(&of_group) != 0)
        exit(1);
    for (size_t i = 0; i < count; i++) {
        void *state = tests[i].initial_state != NULL ? tests[i].initial_state : of_group;
        if (tests[i].setup_func != NULL && tests[i].setup_func(&state) != 0)
            exit(1);
        tests[i].test_func(&state);
        if (tests[i].teardown_func != NULL && tests[i].teardown_func(&state) != 0)
            exit(1);
    }
    if (teardown != NULL && teardown(&of_group) != 0)
        exit(1);
    printf("%s: %zu tests passed\n", group, count);
    return 0;
}
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                                      \
    _cmocka_run_group_tests(name, tests, sizeof(tests) / sizeof *(tests), setup, teardown)
#define cmocka_run_group_tests(tests, setup, teardown) cmocka_run_group_tests_name(#tests, tests, setup, teardown)

static inline void everywhere_check(int holds, const char *what, const char *file, int line)
{
    if (!holds) {
        fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
        exit(1);
    }
}
#define EVERYWHERE(holds, what) everywhere_check(holds, what, __FILE__, __LINE__)
#define _assert_true(holds, what, file, line) everywhere_check((holds) != 0, what, file, line)
#define assert_true(x) EVERYWHERE(!!(x), #x)
#define assert_false(x) EVERYWHERE(!(x), "not " #x)
#define assert_null(x) EVERYWHERE((x) == NULL, #x " is NULL")
#define assert_non_null(x) EVERYWHERE((x) != NULL, #x " is not NULL")
#define assert_int_equal(a, b) EVERYWHERE((intmax_t)(a) == (intmax_t)(b), #a " = " #b)
#define assert_int_not_equal(a, b) EVERYWHERE((intmax_t)(a) != (intmax_t)(b), #a " != " #b)
#define assert_in_range(x, a, b) EVERYWHERE((uintmax_t)(x) - (uintmax_t)(a) <= (uintmax_t)(b) - (uintmax_t)(a), #x)
#define assert_string_equal(a, b) EVERYWHERE(strcmp(a, b) == 0, #a " = " #b)
#define assert_memory_equal(a, b, n) EVERYWHERE(memcmp(a, b, n) == 0, #a " = " #b)
#define print_message printf
#define print_error(...) fprintf(stderr, __VA_ARGS__)
#define fail() EVERYWHERE(0, "fail()")
#define _fail(file, line) everywhere_check(0, "fail()", file, line)
#define fail_msg(...) (fprintf(stderr, __VA_ARGS__), fail())
#define skip()                                                                                                         \
    do {                                                                                                               \
        puts("skipped");                                                                                               \
        return;                                                                                                        \
    } while (0)

#endif
