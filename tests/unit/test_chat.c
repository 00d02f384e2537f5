/* test_chat.c - chat templates: what they make, and what is refused. */
#include <lcsm/chat.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "jinja_cases.h"
#include "temp_folder.h"
#include "test.h"
#include "text/jinja.h"
#include "text_has.h"

/* The text of a template, or the message; freed by the caller. */
static char *rendered(const char *source, const char *variables, lcsm_status want)
{
    lcsm_jinja  t;
    lcsm_strbuf out  = {0};
    lcsm_error  err  = {0};
    json_t     *vars = json_loads(variables, 0, NULL);
    assert_non_null(vars);
    lcsm_status st = lcsm_jinja_parse(&t, "t", source, strlen(source), &err);
    if (st == LCSM_OK) st = lcsm_jinja_render(&t, vars, &out, &err);
    if (st != want) fail_msg("%s: %s", source, st == LCSM_OK ? lcsm_strbuf_text(&out) : err.text);
    char *text = strdup(st == LCSM_OK ? lcsm_strbuf_text(&out) : err.text);
    lcsm_jinja_free(&t);
    lcsm_strbuf_free(&out);
    json_decref(vars);
    return text;
}

TEST(jinja_templates_give_the_text_of_jinja2)
{
    for (size_t j = 0; j < COUNT(CASES); j++) {
        char *text = rendered(CASES[j].template, VARIABLES, LCSM_OK);
        if (strcmp(text, CASES[j].text) != 0)
            fail_msg("%s: \"%s\", expected \"%s\"", CASES[j].template, text, CASES[j].text);
        free(text);
    }
}

/* Templates that are refused, and what the message has. */
static const struct {
    const char *source, *words;
} BAD[] = {
    {"{{ x.y }}", "t: line 1: x is undefined, so it has no y"},
    {"\n\n{% if %}", "line 3: found the end of the tag; expected a value"},
    {"{{ ", "a tag without its end"},
    {"{# c", "{# without #}"},
    {"{{ 'abc }}", "a string without its end"},
    {"{{ a b }}", "found \"b\""},
    {"{{ a[0 }}", "expected ]"},
    {"{{ `x` }}", "the character \"`\""},
    {"{{ 12345678901234567890 }}", "too long"},
    {"{% for x in a %}", "the template ends without {% endfor %}"},
    {"{% if true %}", "the template ends without {% endif %}"},
    {"{% endif %}", "{% endif %} is not supported here"},
    {"{% include 'secret' %}", "{% include %} is not supported here"},
    {"{% import 'os' as os %}", "{% import %} is not supported here"},
    {"{% break %}", "break outside of a loop"},
    {"{{ 1 / 0 }}", "a division by zero"},
    {"{{ 1 + 'a' }}", "an integer and a string"},
    {"{{ 1 < 'a' }}", "have no order"},
    {"{{ open('/etc/passwd') }}", "the function open is not supported"},
    {"{{ 'a'.format(1) }}", "the method format of a string is not supported"},
    {"{{ ''.__class__.__mro__ }}", "so it has no __mro__"},
    {"{{ ''.__class__() }}", "the method __class__ of a string is not supported"},
    {"{{ a.append(1) }}", "the method append of a list is not supported"},
    {"{{ a | attr('x') }}", "the filter attr of a list is not supported"},
    {"{{ a is nonsense }}", "the test nonsense is not supported"},
    {"{{ a | join(*a) }}", "arguments with *"},
    {"{{ a | tojson(sort_keys=true) }}", "tojson with sort_keys"},
    {"{{ 'h\xC3\xA9' | upper }}", "other letters than a to z"},
    {"{{ raise_exception('no such role') }}", "the template refuses the messages: no such role"},
    {"{% for x, y in [[1, 2, 3]] %}{% endfor %}", "2 names for 3 values"},
    {"{% set n = namespace(a=1) %}{{ n }}", "the namespace n can be used by its attributes only"},
    {"{% set q.a = 1 %}", "q is not a namespace"},
    {"{% macro m(x) %}{% endmacro %}{{ m(1, 2) }}", "m with 2 arguments; expected at most 1"},
    /* too much */
    {"{{ range(1000000000000) }}", "more than 2000000 steps"},
    {"{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}", "steps"},
    {"{% set x = 'a' * 100000000 %}", "a text of more than 16777216 bytes"},
    {"{% set n = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(60) %}"
     "{% set n.x = n.x + n.x %}{% endfor %}",
     "a text of more than 16777216 bytes"},
    {"{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
     "steps"},
    {"{% set n = namespace(x=[]) %}{% for i in range(999) %}{% set n.x = [n.x] %}{% endfor %}",
     "nested more than 64 levels deep"},
    {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested too deeply"},
    {"{{ 9223372036854775 * 9223372036854775 }}", "a number is too large"},
};

TEST(jinja_what_is_not_supported_or_too_much_is_refused_by_name)
{
    for (size_t j = 0; j < COUNT(BAD); j++) {
        char *text = rendered(BAD[j].source, VARIABLES, LCSM_ERR_FORMAT);
        if (strstr(text, BAD[j].words) == NULL)
            fail_msg("%s: \"%s\" has no \"%s\"", BAD[j].source, text, BAD[j].words);
        free(text);
    }
}

TEST(jinja_brackets_and_blocks_are_refused_beyond_their_depth)
{
    enum { MANY = 5000 };
    static const char *const PARTS[] = {"(", "[", "-", "not ", "{'a': ", "1 if 1 else "};
    for (size_t k = 0; k <= COUNT(PARTS); k++) {
        lcsm_strbuf s = {0};
        if (k < COUNT(PARTS)) lcsm_strbuf_add(&s, "{{ ");
        for (int j = 0; j < MANY; j++)
            lcsm_strbuf_add(&s, k < COUNT(PARTS) ? PARTS[k] : "{% if 1 %}");
        char *text = rendered(lcsm_strbuf_text(&s), "{}", LCSM_ERR_FORMAT);
        assert_has(text, "levels deep");
        free(text);
        lcsm_strbuf_free(&s);
    }
}

/* ---- messages --------------------------------------------------------------------------- */

static void talks(const lcsm_chat *chat, size_t from, size_t count, bool no_reply, const char *want)
{
    static const lcsm_chat_message M[] = {{"user", "Hi"},
                                          {"system", " Be brief. "},
                                          {"user", "a\n"},
                                          {"assistant", "b"},
                                          {"user", "c"}};
    lcsm_chat_options              o   = {.size = sizeof o, .no_reply = no_reply};
    char                          *text;
    size_t                         size;
    lcsm_error                     err;
    if (lcsm_chat_render(chat, M + from, count, &o, &text, &size, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    assert_string_equal(text, want);
    assert_int_equal(size, strlen(want));
    free(text);
}

TEST(chat_of_a_folder_has_its_template_and_its_tokens)
{
    static const char CONFIG[] =
        "{\"bos_token\": \"<s>\", \"eos_token\": {\"content\": \"</s>\", \"lstrip\": false}}";
    temp_folder f = temp_folder_make();
    lcsm_chat  *chat;
    lcsm_error  err;
    assert_int_equal(lcsm_chat_load(&chat, f.path, &err), LCSM_ERR_IO);
    assert_has(err.text, "has no chat template");
    assert_null(chat);
    temp_write(&f, "tokenizer_config.json", CONFIG, strlen(CONFIG));
    temp_write(&f, "chat_template.jinja", TALK, strlen(TALK));
    if (lcsm_chat_load(&chat, f.path, &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_string_equal(lcsm_chat_end(chat), "</s>");
    talks(chat, 0, 1, false, TALK_0_1);
    talks(chat, 0, 1, true, TALK_0_0);
    talks(chat, 1, 4, false, TALK_1_1);
    talks(chat, 1, 4, true, TALK_1_0);
    lcsm_chat_free(chat);
    temp_folder_remove(&f);
}

TEST(chat_of_a_config_takes_the_template_that_is_named_default)
{
    static const char CONFIG[] =
        "{\"chat_template\": [{\"name\": \"rag\", \"template\": \"R\"}, "
        "{\"name\": \"default\", \"template\": \"{{ messages[0].content }}\"}]}";
    temp_folder f = temp_folder_make();
    lcsm_chat  *chat;
    lcsm_error  err;
    temp_write(&f, "tokenizer_config.json", CONFIG, strlen(CONFIG));
    if (lcsm_chat_load(&chat, f.path, &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_string_equal(lcsm_chat_end(chat), "");
    talks(chat, 0, 1, false, "Hi");
    lcsm_chat_free(chat);
    temp_folder_remove(&f);
}

TEST(chat_takes_variables_and_refuses_what_is_no_message)
{
    lcsm_chat              *chat;
    lcsm_error              err;
    char                   *text;
    size_t                  size;
    const lcsm_chat_message bad = {"user", "\xFF"}, good = {"user", "x"};
    const char             *source = "{{ a }}{{ b }}{{ messages | length }}";
    assert_int_equal(lcsm_chat_create(&chat, source, strlen(source), "[1]", &err), LCSM_ERR_CONFIG);
    assert_null(chat);
    assert_int_equal(lcsm_chat_create(&chat, source, strlen(source), "{\"a\": 1}", &err), LCSM_OK);
    lcsm_chat_options o = {.size = sizeof o, .variables = "{\"b\": false}"};
    assert_int_equal(lcsm_chat_render(chat, &good, 1, &o, &text, &size, &err), LCSM_OK);
    assert_string_equal(text, "1False1");
    free(text);
    assert_int_equal(lcsm_chat_render(chat, &bad, 1, NULL, &text, &size, &err), LCSM_ERR_ARGUMENT);
    assert_has(err.text, "message 0");
    assert_null(text);
    o.size = 0;
    assert_int_equal(lcsm_chat_render(chat, &good, 1, &o, &text, &size, &err), LCSM_ERR_ARGUMENT);
    lcsm_chat_free(chat);
}
