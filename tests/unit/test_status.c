/* test_status.c - status codes, lcsm_fail, the version. */
#include <stdio.h>
#include <string.h>

#include <lcsm/lcsm.h>

#include "base/error.h"
#include "test.h"

TEST(status_every_code_has_a_name_and_a_text)
{
    for (int j = 0; j < LCSM_STATUS_COUNT; j++) {
        assert_true(strlen(lcsm_status_name((lcsm_status)j)) > 1);
        assert_true(strlen(lcsm_status_text((lcsm_status)j)) > 1);
    }
    assert_string_equal(lcsm_status_name(LCSM_OK), "OK");
    assert_string_equal(lcsm_status_name(LCSM_ERR_CONFIG), "ERR_CONFIG");
}

TEST(status_out_of_range_is_named_so)
{
    assert_string_equal(lcsm_status_name((lcsm_status)LCSM_STATUS_COUNT), "?");
    assert_string_equal(lcsm_status_text((lcsm_status)1000), "an unknown status");
}

TEST(fail_fills_the_error_and_returns_the_status)
{
    lcsm_error err = {0};
    assert_int_equal(lcsm_fail(&err, LCSM_ERR_IO, "%s has %d", "x", 7), LCSM_ERR_IO);
    assert_int_equal(err.status, LCSM_ERR_IO);
    assert_string_equal(err.text, "x has 7");
}

TEST(fail_without_an_error_returns_the_status)
{
    assert_int_equal(lcsm_fail(NULL, LCSM_ERR_MEMORY, "x"), LCSM_ERR_MEMORY);
}

TEST(fail_with_a_long_text_cuts_it)
{
    lcsm_error err;
    char       text[1000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    lcsm_fail(&err, LCSM_ERR_IO, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

TEST(version_of_headers_and_library_agree)
{
    char parts[32];
    snprintf(parts, sizeof parts, "%d.%d.%d", LCSM_VERSION_MAJOR, LCSM_VERSION_MINOR,
             LCSM_VERSION_PATCH);
    assert_string_equal(lcsm_version(), LCSM_VERSION);
    assert_string_equal(parts, LCSM_VERSION);
}
