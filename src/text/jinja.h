/*
 * jinja.h - templates in the part of Jinja that chat templates are written in.
 *
 * A template comes with a model from a stranger, so it can do nothing but make text: it sees the
 * variables it is given, and has a limit on its size, on its steps and on what it makes. Values are
 * those of JSON; NULL is the undefined value. Whatever is not supported is an error that names it
 * and its line.
 *
 *     {{ expression }}  {# comment #}  {% if elif else %}  {% for else %} with break and continue
 *     {% set x = ... %}  {% set ns.x = ... %}  {% set x %}...{% endset %}  {% macro %}
 *     {% generation %}, which changes nothing
 *
 * White space is that of the environment that Hugging Face gives templates: the line end behind a
 * block goes, and so do the spaces before one that begins its line.
 */
#ifndef LCSM_TEXT_JINJA_H
#define LCSM_TEXT_JINJA_H
#include <jansson.h>

#include "base/error.h"
#include "base/strbuf.h"

typedef enum {
    /* statements; a chain by `next` */
    JINJA_TEXT, /* value */
    JINJA_PRINT,
    JINJA_IF,       /* a, then b, else c */
    JINJA_FOR,      /* target a in b: c, else d; `e` is what picks items */
    JINJA_SET,      /* target a, from b */
    JINJA_SET_TEXT, /* target a, from the text of b through the filters of c */
    JINJA_MACRO,    /* value: its name; a: parameters, b: body */
    JINJA_BREAK,
    JINJA_CONTINUE,
    /* expressions */
    JINJA_LITERAL, /* value; NULL: the text of a set block */
    JINJA_NAME,    /* value */
    JINJA_LIST,    /* a chain from a */
    JINJA_DICT,    /* keys and values in turns from a */
    JINJA_ATTR,    /* a.value */
    JINJA_ITEM,    /* a[b] */
    JINJA_SLICE,   /* a[b:c:d] */
    JINJA_CALL,    /* a(arguments from b) */
    JINJA_KEYWORD, /* value = a, an argument or a parameter */
    JINJA_FILTER,  /* a | value(arguments from b) */
    JINJA_TEST,    /* a is value(arguments from b) */
    JINJA_NOT,
    JINJA_NEGATE,
    JINJA_AND,
    JINJA_OR,
    JINJA_CHOICE, /* a if b else c */
    JINJA_BINARY, /* a op b */
} jinja_kind;

typedef enum {
    JINJA_ADD,
    JINJA_SUBTRACT,
    JINJA_MULTIPLY,
    JINJA_DIVIDE,
    JINJA_FLOOR,
    JINJA_MODULO,
    JINJA_CONCAT,
    JINJA_EQ,
    JINJA_NE,
    JINJA_LT,
    JINJA_LE,
    JINJA_GT,
    JINJA_GE,
    JINJA_IN,
    JINJA_NOT_IN,
} jinja_op;

typedef struct jinja_node {
    jinja_kind         kind;
    jinja_op           op;
    size_t             line;
    json_t            *value; /* a text or number of the source */
    struct jinja_node *a, *b, *c, *d, *e, *next;
    struct jinja_node *all; /* the list of all nodes, to free them */
} jinja_node;

/* A template. {0} is empty and may be freed. */
typedef struct {
    char       *label; /* its name in messages */
    jinja_node *body, *all;
} lcsm_jinja;

enum {
    LCSM_JINJA_SOURCE = 1 << 20, /* bytes of a template */
    LCSM_JINJA_OUTPUT = 16 << 20,
    LCSM_JINJA_STEPS  = 2000000,
    LCSM_JINJA_DEPTH  = 64, /* of blocks and brackets, of values, of calls */
};

lcsm_status lcsm_jinja_parse(lcsm_jinja *out, const char *label, const char *source, size_t size,
                             lcsm_error *err);
void        lcsm_jinja_free(lcsm_jinja *t);

/* The text for these variables, an object; appended to out. */
lcsm_status lcsm_jinja_render(const lcsm_jinja *t, const json_t *variables, lcsm_strbuf *out,
                              lcsm_error *err);

#endif
