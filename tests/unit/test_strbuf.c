/* test_strbuf.c - a string grows, and a failure stays. */
#include <string.h>

#include "base/strbuf.h"
#include "test.h"

TEST(strbuf_empty_reads_as_an_empty_string)
{
    lcsm_strbuf s = {0};
    assert_string_equal(lcsm_strbuf_text(&s), "");
    lcsm_strbuf_free(&s);
}

TEST(strbuf_appends_what_it_is_given)
{
    lcsm_strbuf s = {0};
    lcsm_strbuf_add(&s, "ab");
    lcsm_strbuf_bytes(&s, "cdef", 2);
    lcsm_strbuf_bytes(&s, NULL, 0);
    lcsm_strbuf_printf(&s, "-%d-%s", 12, "x");
    assert_string_equal(lcsm_strbuf_text(&s), "abcd-12-x");
    assert_int_equal(s.size, 9);
    lcsm_strbuf_free(&s);
    assert_null(s.text);
}

TEST(strbuf_grows_past_every_capacity)
{
    lcsm_strbuf s = {0};
    for (int j = 0; j < 1000; j++) lcsm_strbuf_printf(&s, "%03d", j);
    assert_false(s.failed);
    assert_int_equal(s.size, 3000);
    assert_memory_equal(s.text + 2997, "999", 4);
    lcsm_strbuf_free(&s);
}

TEST(strbuf_failure_is_sticky)
{
    lcsm_strbuf s = {0};
    lcsm_strbuf_add(&s, "a");
    lcsm_strbuf_bytes(&s, "b", SIZE_MAX);
    assert_true(s.failed);
    lcsm_strbuf_add(&s, "c");
    assert_true(s.failed);
    assert_string_equal(lcsm_strbuf_text(&s), "");
    lcsm_strbuf_free(&s);
}
