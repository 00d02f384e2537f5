/* jinja_cases.h - templates with what jinja2 makes of them, in the environment that Hugging Face
 * gives chat templates (trim_blocks, lstrip_blocks, its tojson). */
#ifndef LCSM_JINJA_CASES_H
#define LCSM_JINJA_CASES_H

#define VARIABLES                                                                                  \
    "{\"a\": [1, 2, 3, 4, 5], \"s\": \"Hello w\xC3\xB6rld \xF0\x9F\x98\x80 x\", \"d\": {\"k\": "   \
    "\"v\", \"n\": 2, \"l\": [1, \"b\", null, true, 2.5]}, \"e\": [], \"n\": null, \"t\": true, "  \
    "\"f\": 1.5, \"i\": -7, \"ms\": [{\"role\": \"user\", \"n\": 1}, {\"role\": \"tool\", \"n\": " \
    "2}, {\"role\": \"user\", \"n\": 3}]}"
static const struct {
    const char *template, *text;
} CASES[] = {
    {"{{ a[1:3] }}|{{ a[::-1] }}|{{ a[-2:] }}|{{ a[:-1] }}|{{ s[0] }}{{ s[-1] }}{{ s[1:8] }}{{ "
     "s[::-1] }}",
     "[2, 3]|[5, 4, 3, 2, 1]|[4, 5]|[1, 2, 3, 4]|Hxello w\xC3\xB6x \xF0\x9F\x98\x80 dlr\xC3\xB6w "
     "olleH"},
    {"{{ d }} {{ d.l }} {{ d['k'] }} {{ d.get('z', 'def') }} {{ d.get('z') }}",
     "{'k': 'v', 'n': 2, 'l': [1, 'b', None, True, 2.5]} [1, 'b', None, True, 2.5] v def None"},
    {"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
     "k=v;n=2;l=[1, 'b', None, True, 2.5];"},
    {"{% for k, v in d|items %}{{ loop.index }}{{ k }}{% if not loop.last %}, {% endif %}{% endfor "
     "%}",
     "1k, 2n, 3l"},
    {"{{ s|length }} {{ a|length }} {{ d|length }} {{ e|length }}", "15 5 3 0"},
    {"{{ a|join(', ') }} {{ ms|map(attribute='role')|join('/') }} {{ ', '.join(['x','y']) }}",
     "1, 2, 3, 4, 5 user/tool/user x, y"},
    {"{{ ms|selectattr('role','equalto','user')|list|length }} {{ "
     "ms|rejectattr('role','==','user')|list }}",
     "2 [{'role': 'tool', 'n': 2}]"},
    {"{{ a|select('odd')|list }} {{ a|reject('even')|map('string')|join }} {{ e|first is defined "
     "}} {{ a|last }}",
     "[1, 3, 5] 135 False 5"},
    {"{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 * 3.0 }} {{ 1 + 2 * 3 - 4 }} {{ "
     "'ab' * 3 }} {{ 'a' ~ 1 ~ none ~ 2.0 ~ true }}",
     "3 -4 2 3.5 6.0 3 ababab a1None2.0True"},
    {"{{ undefinedvar }}|{{ undefinedvar is defined }}|{{ undefinedvar|default('x') }}|{{ "
     "''|default('y', true) }}|{{ n or 'z' }}",
     "|False|x|y|z"},
    {"{{ 'x' if e else 'y' }} {{ 'only' if e }} {{ not e }} {{ e and 1 }} {{ 1 and 2 }} {{ 0 or "
     "'q' }}",
     "y  True [] 2 q"},
    {"{{ 'w\xC3\xB6r' in s }} {{ 3 in a }} {{ 'k' in d }} {{ 9 not in a }} {{ 2 is in a }} {{ a is "
     "iterable }} {{ d is mapping }} {{ s is sequence }} {{ i is number }} {{ f is float }}",
     "True True True True True True True True True True"},
    {"{{ d|tojson }} {{ d|tojson(indent=2) }} {{ e|tojson }} {{ {}|tojson(indent=4) }} {{ "
     "\"\xC3\xA9\\u2028<&>'\"|tojson }}",
     "{\"k\": \"v\", \"n\": 2, \"l\": [1, \"b\", null, true, 2.5]} {\n  \"k\": \"v\",\n  \"n\": "
     "2,\n  \"l\": [\n    1,\n    \"b\",\n    null,\n    true,\n    2.5\n  ]\n} [] {} "
     "\"\xC3\xA9\xE2\x80\xA8<&>'\""},
    {"{%- for x in a if x > 2 -%} {{ x }}{{ loop.first }}{{ loop.length }}{{ loop.previtem }} {%- "
     "else -%} none {%- endfor %}",
     "3True34False335False34"},
    {"{% for x in e %}x{% else %}empty{% endfor %}", "empty"},
    {"{% for x in a %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif "
     "%}{{ x }}{% endfor %}",
     "13"},
    {"{% set q = 1 %}{% for x in a %}{% set q = x %}{% endfor %}{{ q }}", "1"},
    {"{% set ns = namespace(c=0, l=[]) %}{% for x in a %}{% set ns.c = ns.c + x %}{% set ns.l = "
     "ns.l + [x * 2] %}{% endfor %}{{ ns.c }} {{ ns.l }}",
     "15 [2, 4, 6, 8, 10]"},
    {"{% set block %}  inner {{ s|upper if false else 'zz' }}  {% endset %}[{{ block|trim }}]",
     "[inner zz]"},
    {"{% macro m(x, y='dy') %}<{{ x }}-{{ y }}>{% endmacro %}{{ m(1) }}{{ m(2, y='q') }}{{ "
     "m('a','b')|upper }}",
     "<1-dy><2-q><A-B>"},
    {"{% set x, y = 1, 'two' %}{{ x }}{{ y }}", "1two"},
    {"  {# comment #}", ""},
    {"  {%+ if true %} keep {% endif +%}", "   keep "},
    {"after", "after"},
    {"{{ s.split() }} {{ 'a,b,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ '  pad '.strip() }}| "
     "{{ 'xxhixx'.strip('x') }} {{ 'abc'.replace('b','ZZ') }} {{ 'Hello World'.lower() }} {{ "
     "'hello world'.title() }} {{ 'aXb'|replace('X','-') }}",
     "['Hello', 'w\xC3\xB6rld', '\xF0\x9F\x98\x80', 'x'] ['a', 'b', 'c'] ['a', 'b,c'] pad| hi aZZc "
     "hello world Hello World a-b"},
    {"{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('c','d')) }} {{ 'abc'.find('c') }} {{ "
     "'aba'.count('a') }} {{ \"line1\\nline2\".splitlines() }} {{ 'a\\nb'|indent(2) }}",
     "True True 2 2 ['line1', 'line2'] a\n  b"},
    {"{{ range(3)|list }} {{ range(1, 10, 3)|list }} {% for j in range(2) %}{{ j }}{% endfor %}",
     "[0, 1, 2] [1, 4, 7] 01"},
    {"{{ dict(a=1, b='x') }} {{ 1.0 }} {{ 1e3 if false else 1000000.0 }} {{ 0.1 }} {{ 123456789012 "
     "}} {{ d.missing is defined }} {{ (d.missing or 'dflt') }} {{ '%d' if false else '%' }}",
     "{'a': 1, 'b': 'x'} 1.0 1000000.0 0.1 123456789012 False dflt %"},
    {"{{- '  x' }}   {{ 'y' -}}   z", "  x   yz"},
    {"  {% if true %}\n  a\n  {% endif %}\nb\n", "  a\nb"},
    {"{% for x in a %}\n{{ x }}\n{% endfor %}\n", "1\n2\n3\n4\n5\n"},
    {"  {# c #}\n x {%- if true %} y\n{%+ endif %}\n", " x y\n"},
    {"a\x0D\n{% if t %}\x0D\nb\x0D\n{% endif %}\x0D\n", "a\nb\n"},
    {"x {{- ' y ' -}} z\n\n", "x y z\n"},
    {"{% set b | upper %}\nq{% endset %}{{ b }}", "Q"},
    {"{% generation %}\nq\n{% endgeneration %}\n", "q\n"},
};
#define TALK                                                                                       \
    "{%- set ns = namespace(system='', turns=0) -%}\n{%- for m in messages if m.role == 'system' " \
    "%}{% set ns.system = m.content | trim %}{% endfor -%}\n{{ bos_token }}[{{ ns.system or "      \
    "'none' }}]\n{% for m in messages %}\n  {% if m['role'] == 'system' %}{% continue %}{% endif " \
    "%}\n  {% set ns.turns = ns.turns + 1 %}\n  {%- if m.role not in ['user', 'assistant'] %}\n  " \
    "  {{- raise_exception('unknown role ' ~ m.role) }}\n  {%- endif %}\n<{{ m.role }} {{ "        \
    "loop.index0 }}>{{ m.content.strip() }}{{ '' if m.role == 'user' else eos_token }}\n{% "       \
    "endfor %}\n{%- if add_generation_prompt %}\n<assistant {{ messages | length }}>\n{%- endif "  \
    "%}\n{{ ns.turns }} turns\n"
#define TALK_0_1 "<s>[none]\n<user 0>Hi\n<assistant 1>1 turns"
#define TALK_0_0 "<s>[none]\n<user 0>Hi\n1 turns"
#define TALK_1_1 "<s>[Be brief.]\n<user 1>a\n<assistant 2>b</s>\n<user 3>c\n<assistant 4>3 turns"
#define TALK_1_0 "<s>[Be brief.]\n<user 1>a\n<assistant 2>b</s>\n<user 3>c\n3 turns"

#endif
