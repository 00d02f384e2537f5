/* test_command.c - commands as lines, and what they differ in. */
#include <string.h>

#include "experiment/command.h"
#include "test.h"

TEST(a_line_has_the_words_that_it_was_made_of)
{
    static const char *const words[] = {"lcsm",   "train", "--data", "a b",
                                        "--stop", "it's",  "-x",     ""};
    lcsm_command             c       = {0};
    lcsm_strbuf              line    = {0};
    for (size_t j = 0; j < COUNT(words); j++) lcsm_command_add(&c, words[j]);
    lcsm_command_put(&line, &c);
    assert_string_equal(lcsm_strbuf_text(&line), "lcsm train --data 'a b' --stop 'it'\\''s' -x ''");
    lcsm_command back = lcsm_command_split(lcsm_strbuf_text(&line));
    assert_int_equal(back.count, COUNT(words));
    for (size_t j = 0; j < COUNT(words); j++) assert_string_equal(back.words[j], words[j]);
    lcsm_command_free(&back);
    lcsm_command_free(&c);
    lcsm_strbuf_free(&line);
}

TEST(the_first_flag_that_differs_is_named)
{
    static const struct {
        const char *before, *now, *flag, *old_value, *new_value;
    } cases[] = {
        {"lcsm train --a 1 --b 2", "lcsm train --b 2 --a 1", NULL, "", ""},
        {"lcsm train --a 1 --b 2", "lcsm train --b 3 --a 1", "--b", "2", "3"},
        {"lcsm train --a 1", "lcsm train --a 1 --b 3", "--b", NULL, "3"},
        {"lcsm train --a 1 --b 2", "lcsm train --a 1", "--b", "2", NULL},
        {"lcsm train --data x --data y", "lcsm train --data x --data z", "--data", "y", "z"},
        {"lcsm train --data x --data y", "lcsm train --data x", "--data", "y", NULL},
        {"lcsm train --data x", "lcsm train --data x --data 'x y'", "--data", NULL, "x y"},
        {"", "lcsm train", NULL, "", ""},
    };
    for (size_t j = 0; j < COUNT(cases); j++) {
        lcsm_command        before = lcsm_command_split(cases[j].before);
        lcsm_command        now    = lcsm_command_split(cases[j].now);
        lcsm_command_change change;
        bool                differs = lcsm_command_differs(&change, &before, &now);
        assert_int_equal(differs, cases[j].flag != NULL);
        if (differs) {
            assert_string_equal(change.flag, cases[j].flag);
            assert_int_equal(change.before == NULL, cases[j].old_value == NULL);
            assert_int_equal(change.now == NULL, cases[j].new_value == NULL);
            if (change.before != NULL) assert_string_equal(change.before, cases[j].old_value);
            if (change.now != NULL) assert_string_equal(change.now, cases[j].new_value);
        }
        lcsm_command_free(&before);
        lcsm_command_free(&now);
    }
}
