/*
 * test.h - cmocka with less to write.
 *
 *     TEST(strbuf_failure_is_sticky)
 *     {
 *         assert_null(...);
 *     }
 *
 * That is all: a test registers itself, and main() is in test_main.c. Names say what must be
 * true: <unit>_<condition>_<expectation>. A test program takes a pattern that picks tests by
 * name, as in build/tests/test_strbuf 'strbuf_*'.
 */
#ifndef LCSM_TEST_H
#define LCSM_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name)                                                                                 \
    static void                              name(void **state);                                   \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        test_register(#name, name);                                                                \
    }                                                                                              \
    static void name(void **state __attribute__((unused)))

void test_register(const char *name, CMUnitTestFunction run);

#endif
