/* test_log.c - messages reach the function that was given. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "test.h"

typedef struct {
    int            calls;
    lcsm_log_level level;
    char           text[600];
} capture;

static void keep(void *user, lcsm_log_level level, const char *text)
{
    capture *c = user;
    c->calls++;
    c->level = level;
    snprintf(c->text, sizeof c->text, "%s", text);
}

TEST(log_formats_and_hands_over)
{
    capture       c    = {0};
    lcsm_log_sink sink = {keep, &c};
    lcsm_log(&sink, LCSM_LOG_WARNING, "step %d", 3);
    assert_int_equal(c.calls, 1);
    assert_int_equal(c.level, LCSM_LOG_WARNING);
    assert_string_equal(c.text, "step 3");
}

TEST(log_without_a_function_is_silent)
{
    lcsm_log_sink sink = {0};
    lcsm_log(&sink, LCSM_LOG_INFO, "x");
    lcsm_log(NULL, LCSM_LOG_INFO, "x");
}

TEST(log_cuts_a_long_line)
{
    capture       c    = {0};
    lcsm_log_sink sink = {keep, &c};
    lcsm_log(&sink, LCSM_LOG_INFO, "%600d", 1);
    assert_int_equal(strlen(c.text), 511);
}
