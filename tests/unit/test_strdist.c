/* test_strdist.c - the nearest name. */
#include "base/error.h"
#include "base/strdist.h"
#include "test.h"

TEST(strdist_counts_edits)
{
    static const struct {
        const char *a, *b;
        size_t      want;
    } CASES[] = {
        {"", "", 0},           {"", "abc", 3},    {"abc", "", 3},           {"abc", "abc", 0},
        {"abc", "abd", 1},     {"abc", "acb", 1}, {"abc", "bc", 1},         {"abc", "xabc", 1},
        {"train", "trian", 1}, {"ca", "abc", 3},  {"kitten", "sitting", 3}, {"GLA", "gla", 0},
    };
    for (size_t j = 0; j < COUNT(CASES); j++) {
        assert_int_equal(lcsm_strdist(CASES[j].a, CASES[j].b), CASES[j].want);
        assert_int_equal(lcsm_strdist(CASES[j].b, CASES[j].a), CASES[j].want);
    }
}

TEST(strdist_of_very_long_words_stays_inside)
{
    char a[200], b[200];
    for (size_t j = 0; j < sizeof a; j++) {
        a[j] = 'a';
        b[j] = 'b';
    }
    a[199] = b[199] = '\0';
    assert_int_equal(lcsm_strdist(a, b), LCSM_STRDIST_MAX);
}

TEST(suggest_takes_the_nearest_or_nothing)
{
    static const char *const NAMES[] = {"train", "eval", "generate", "check"};
    assert_string_equal(lcsm_suggest("trian", NAMES, 4), "train");
    assert_string_equal(lcsm_suggest("genrate", NAMES, 4), "generate");
    assert_string_equal(lcsm_suggest("chek", NAMES, 4), "check");
    assert_string_equal(lcsm_suggest("eval", NAMES, 4), "eval");
    assert_null(lcsm_suggest("serve", NAMES, 4));
    assert_null(lcsm_suggest("", NAMES, 4));
    assert_null(lcsm_suggest("x", NAMES, 0));
}
