/* fuzz_jinja.c - a template that is accepted makes text, or fails with a message. */
#include <jansson.h>
#include <string.h>

#include "fuzz.h"
#include "text/jinja.h"

bool fuzz_one(const unsigned char *data, size_t size)
{
    static const char VARIABLES[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a b\"},{\"role\":\"assistant\","
        "\"content\":\"\xC3\xA9\"}],\"a\":[1,2.5,null],\"s\":\"x\",\"add_generation_prompt\":true}";
    lcsm_jinja  t;
    lcsm_error  err  = {0};
    lcsm_strbuf out  = {0};
    json_t     *vars = json_loads(VARIABLES, 0, NULL);
    lcsm_status st   = lcsm_jinja_parse(&t, "fuzz", (const char *)data, size, &err);
    bool        good = st == LCSM_OK;
    PROMISE(good || (t.all == NULL && err.text[0] != '\0'));
    if (good) st = lcsm_jinja_render(&t, vars, &out, &err);
    PROMISE(st == LCSM_OK || err.status == st);
    PROMISE(out.size <= (size_t)LCSM_JINJA_OUTPUT + (1 << 20));
    lcsm_jinja_free(&t);
    lcsm_strbuf_free(&out);
    json_decref(vars);
    return good;
}

static const char *const SEEDS[] = {
    "{% for m in messages %}{{ m.role ~ ': ' + m['content'] | trim }}\n{% endfor %}",
    "{%- set ns = namespace(n=0) -%}{% for x in a[::-1] if x %}{% set ns.n = ns.n + x %}"
    "{% else %}none{% endfor %}{{ ns.n if ns.n is defined else 'q' }}",
    "{% macro m(x, y='d') %}<{{ x }}{{ y }}>{% endmacro %}{{ m(s, y=s.split('x')[0]) | tojson }}",
    "{# c #}{% if not a or s in 'xyz' and a | length >= 2 %}{{ range(3) | list | join(',') }}"
    "{% elif a is mapping %}{{ {'k': [1, 'v']}.items() }}{% endif %}{% set b %}t{% endset %}{{ b "
    "}}",
};

size_t fuzz_seed(size_t n, unsigned char *out, size_t capacity)
{
    if (n >= sizeof SEEDS / sizeof SEEDS[0]) return 0;
    size_t size = strlen(SEEDS[n]);
    PROMISE(size <= capacity);
    memcpy(out, SEEDS[n], size);
    return size;
}
