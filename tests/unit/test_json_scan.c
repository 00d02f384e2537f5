/* test_json_scan.c - what is JSON passes, what is not is placed, and a walk sees every value. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/json_scan.h"
#include "test.h"

/* A copy without a final zero, so that the sanitizer sees a read behind the end. */
static const char *check(const char *text, size_t size, unsigned depth, size_t *at)
{
    char *copy = malloc(size == 0 ? 1 : size);
    assert_non_null(copy);
    memcpy(copy, text, size);
    *at                 = 0;
    const char *problem = lcsm_json_check(copy, size, depth, at);
    free(copy);
    return problem;
}

TEST(json_check_takes_every_kind_of_value)
{
    static const char *const GOOD[] = {
        "{}",
        "[]",
        "0",
        "-0",
        "-1.5e+30",
        "12E5",
        "1.0e-7",
        "true",
        "false",
        "null",
        "\"\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\"",
        "{\"a\":[1,2,{\"b\":null}],\"c\":\"d\"}",
        "[ 1 ,\t2\r\n, [ ] , { } ]",
        "{ \"a\" : 1 , \"\" : 2 }",
        "[[[[]]]]",
    };
    for (size_t j = 0; j < COUNT(GOOD); j++) {
        size_t at = 0, size = strlen(GOOD[j]);
        assert_null(check(GOOD[j], size, 4, &at));
        assert_int_equal(at, size);
    }
}

TEST(json_check_places_what_is_no_json)
{
    static const struct {
        const char *text;
        size_t      at;
        const char *problem;
    } BAD[] = {
        {"", 0, "the text ends where a value is expected"},
        {"nul", 0, "not a JSON value"},
        {"NaN", 0, "not a JSON value"},
        {"-Infinity", 1, "a digit is missing"},
        {"+1", 0, "not a JSON value"},
        {"01", 1, "a number has a leading zero"},
        {"-01", 2, "a number has a leading zero"},
        {"1.", 2, "a digit is missing"},
        {".5", 0, "not a JSON value"},
        {"1e", 2, "a digit is missing"},
        {"[1,]", 3, "not a JSON value"},
        {"[1 2]", 3, "a comma or a closing bracket is missing"},
        {"[1", 2, "a comma or a closing bracket is missing"},
        {"[1}", 2, "a comma or a closing bracket is missing"},
        {"[", 1, "the text ends where a value is expected"},
        {"{", 1, "a member without a name in quotes"},
        {"{\"a\"}", 4, "a colon is missing"},
        {"{\"a\":}", 5, "not a JSON value"},
        {"{\"a\":1,}", 7, "a member without a name in quotes"},
        {"{a:1}", 1, "a member without a name in quotes"},
        {"{\"a\":1 // x\n}", 7, "a comma or a closing bracket is missing"},
        {"/**/{}", 0, "not a JSON value"},
        {"\"a", 2, "a string that does not end"},
        {"\"\\", 2, "an unknown escape in a string"},
        {"\"\\x\"", 2, "an unknown escape in a string"},
        {"\"\n\"", 1, "a control character in a string"},
        {"\"\\u12g4\"", 2, "\\u needs four hexadecimal digits"},
        {"\"\\u12", 2, "\\u needs four hexadecimal digits"},
        {"\"\\ud800\"", 2, "half a surrogate pair"},
        {"\"\\ud800\\u0041\"", 2, "half a surrogate pair"},
        {"\"\\udc00\"", 2, "half a surrogate pair"},
        {"[[[[[]]]]]", 4, "the nesting is too deep"},
    };
    for (size_t j = 0; j < COUNT(BAD); j++) {
        size_t      at      = 0;
        const char *problem = check(BAD[j].text, strlen(BAD[j].text), 4, &at);
        assert_non_null(problem);
        assert_string_equal(problem, BAD[j].problem);
        assert_int_equal(at, BAD[j].at);
    }
    size_t at;
    assert_non_null(check("\"\0\"", 3, 4, &at));
    assert_non_null(check("\"\\\0\"", 4, 4, &at));
    assert_non_null(check("\0", 1, 4, &at));
}

TEST(utf8_check_knows_every_ill_formed_class)
{
    static const char *const GOOD[] = {"",
                                       "a",
                                       "\xC2\x80",
                                       "\xDF\xBF",
                                       "\xE0\xA0\x80",
                                       "\xED\x9F\xBF",
                                       "\xEE\x80\x80",
                                       "\xF0\x90\x80\x80",
                                       "\xF4\x8F\xBF\xBF"};
    static const char *const BAD[]  = {
         "\x80",             /* a continuation alone */
         "\xC0\xAF",         /* overlong, two bytes */
         "\xC1\xBF",         /* the same */
         "\xE0\x9F\xBF",     /* overlong, three bytes */
         "\xF0\x8F\xBF\xBF", /* overlong, four bytes */
         "\xED\xA0\x80",     /* a surrogate */
         "\xF4\x90\x80\x80", /* above 10FFFF */
         "\xF5\x80\x80\x80", /* the same */
         "\xFF",             /* no byte of UTF-8 */
         "\xC2",             /* cut */
         "\xE2\x82",         /* cut */
         "\xF0\x90\x80",     /* cut */
         "\xC2\x41",         /* no continuation */
    };
    for (size_t j = 0; j < COUNT(GOOD); j++)
        assert_int_equal(lcsm_utf8_check(GOOD[j], strlen(GOOD[j])), strlen(GOOD[j]));
    for (size_t j = 0; j < COUNT(BAD); j++) {
        char text[16] = "ab";
        strcat(text, BAD[j]);
        assert_int_equal(lcsm_utf8_check(text, strlen(text)), 2);
    }
}

static lcsm_json_span span(const char *text)
{
    return (lcsm_json_span){.at = text, .end = text + strlen(text)};
}

TEST(json_walk_sees_members_and_items_in_order)
{
    const char *text = "{ \"a\" : -1.5e3 , \"b]\":[1,true,\"x,\\\"}\", {\"q\":[]} ] ,\"\":null}";
    static const char *const KEYS[]   = {"\"a\"", "\"b]\"", "\"\""};
    static const char *const VALUES[] = {"-1.5e3", "[1,true,\"x,\\\"}\", {\"q\":[]} ]", "null"};
    static const char *const ITEMS[]  = {"1", "true", "\"x,\\\"}\"", "{\"q\":[]}"};
    lcsm_json_walk           w        = lcsm_json_enter(span(text)), items;
    lcsm_json_span           key, value, array = {0};
    for (size_t j = 0; j < 3; j++) {
        assert_true(lcsm_json_step(&w, &key, &value));
        assert_int_equal(key.end - key.at, strlen(KEYS[j]));
        assert_memory_equal(key.at, KEYS[j], strlen(KEYS[j]));
        assert_int_equal(value.end - value.at, strlen(VALUES[j]));
        assert_memory_equal(value.at, VALUES[j], strlen(VALUES[j]));
        if (j == 1) array = value;
    }
    assert_false(lcsm_json_step(&w, &key, &value));
    items = lcsm_json_enter(array);
    for (size_t j = 0; j < 4; j++) {
        assert_true(lcsm_json_step(&items, &key, &value));
        assert_int_equal(key.end - key.at, 0);
        assert_int_equal(value.end - value.at, strlen(ITEMS[j]));
        assert_memory_equal(value.at, ITEMS[j], strlen(ITEMS[j]));
    }
    assert_false(lcsm_json_step(&items, &key, &value));
}

TEST(json_unescape_gives_the_letters_of_every_escape)
{
    static const struct {
        const char *string, *means;
    } CASES[] = {
        {"\"\"", ""},
        {"\"plain\"", "plain"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0061\\u00E9\\u20ac\\uD83D\\uDE00\"", "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
    };
    for (size_t j = 0; j < COUNT(CASES); j++) {
        char   out[64];
        size_t size = lcsm_json_unescape(out, span(CASES[j].string));
        assert_int_equal(size, strlen(CASES[j].means));
        assert_int_equal(size, lcsm_json_unescape(NULL, span(CASES[j].string)));
        assert_memory_equal(out, CASES[j].means, size);
    }
}

TEST(json_natural_takes_only_digits_below_2_to_the_63)
{
    static const char *const BAD[] = {"-1",   "-0",    "1.0", "1e3", "9223372036854775808",
                                      "true", "\"1\"", "[]",  "",    "99999999999999999999"};
    uint64_t                 value = 7;
    assert_true(lcsm_json_natural(&value, span("0")));
    assert_int_equal(value, 0);
    assert_true(lcsm_json_natural(&value, span("9223372036854775807")));
    assert_true(value == INT64_MAX);
    for (size_t j = 0; j < COUNT(BAD); j++) assert_false(lcsm_json_natural(&value, span(BAD[j])));
}
