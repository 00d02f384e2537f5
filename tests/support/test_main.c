/* test_main.c - the tests that registered themselves, and main(). */
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

enum { MAX_TESTS = 512 };

static struct CMUnitTest TESTS[MAX_TESTS];
static size_t            test_count;

void test_register(const char *name, CMUnitTestFunction run)
{
    if (test_count == MAX_TESTS) {
        fprintf(stderr, "more than %d tests in one program\n", MAX_TESTS);
        abort();
    }
    TESTS[test_count++] = (struct CMUnitTest){.name = name, .test_func = run};
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(argv[0], TESTS, test_count, NULL, NULL);
}
