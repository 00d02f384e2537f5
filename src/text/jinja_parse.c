/* jinja_parse.c - a template as a tree: one function for each rule of the grammar. */
#include <stdlib.h>
#include <string.h>

#include "text/jinja.h"
#include "text/jinja_lex.h"

enum { CHAIN = 256 }; /* operators in a row */

typedef struct {
    jinja_lexer  lex;
    jinja_node **all;
    int          depth, loops;
} parser;

static lcsm_status expression(parser *p, jinja_node **out);
static lcsm_status either(parser *p, jinja_node **out);
static lcsm_status body(parser *p, jinja_node **out, const char *const *ends);

/* ---- parts ------------------------------------------------------------------------------ */

static lcsm_status make(parser *p, jinja_node **out, jinja_kind kind)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return lcsm_fail(p->lex.err, LCSM_ERR_MEMORY, "not enough memory");
    (*out)->kind = kind;
    (*out)->line = p->lex.line;
    (*out)->all  = *p->all;
    *p->all      = *out;
    return LCSM_OK;
}

/* The text or number under the cursor becomes the node's. */
static lcsm_status keep(parser *p, jinja_node *n)
{
    n->value = p->lex.token == JINJA_T_NAME ? json_string(p->lex.word) : json_incref(p->lex.value);
    if (n->value == NULL) return lcsm_fail(p->lex.err, LCSM_ERR_MEMORY, "not enough memory");
    return jinja_lex_next(&p->lex);
}

static bool is_op(const parser *p, const char *text)
{
    return p->lex.token == JINJA_T_OPERATOR && strcmp(p->lex.word, text) == 0;
}

static bool is_name(const parser *p, const char *text)
{
    return p->lex.token == JINJA_T_NAME && strcmp(p->lex.word, text) == 0;
}

static lcsm_status unexpected(const parser *p, const char *want)
{
    const jinja_lexer *x    = &p->lex;
    bool               word = x->token == JINJA_T_NAME || x->token == JINJA_T_OPERATOR;
    return jinja_lex_fail(x, "found %s%.40s%s; expected %s", word ? "\"" : "",
                          word                         ? x->word
                          : x->token == JINJA_T_STRING ? "a string"
                          : x->token == JINJA_T_NUMBER ? "a number"
                          : x->token == JINJA_T_END    ? "the end of the template"
                          : x->token == JINJA_T_CLOSE  ? "the end of the tag"
                                                       : "text",
                          word ? "\"" : "", want);
}

static lcsm_status need_op(parser *p, const char *text)
{
    return is_op(p, text) ? jinja_lex_next(&p->lex) : unexpected(p, text);
}

static lcsm_status need_close(parser *p)
{
    if (p->lex.token != JINJA_T_CLOSE) return unexpected(p, "the end of the tag");
    return jinja_lex_next(&p->lex);
}

static lcsm_status need_name(parser *p, jinja_node *n)
{
    return p->lex.token == JINJA_T_NAME ? keep(p, n) : unexpected(p, "a name");
}

static lcsm_status deeper(parser *p)
{
    if (++p->depth > LCSM_JINJA_DEPTH)
        return jinja_lex_fail(&p->lex, "nested more than %d levels deep", LCSM_JINJA_DEPTH);
    return LCSM_OK;
}

/* ---- expressions ------------------------------------------------------------------------ */

/* Items between the cursor and `close`, which is passed. `pairs`: of a dictionary. */
static lcsm_status items(parser *p, jinja_node **out, const char *close, bool pairs)
{
    jinja_node **at = out;
    while (!is_op(p, close)) {
        LCSM_OR_RETURN(expression(p, at));
        at = &(*at)->next;
        if (pairs) {
            LCSM_OR_RETURN(need_op(p, ":"));
            LCSM_OR_RETURN(expression(p, at));
            at = &(*at)->next;
        }
        if (is_op(p, close)) break;
        LCSM_OR_RETURN(need_op(p, ","));
    }
    return jinja_lex_next(&p->lex);
}

/* Arguments, or parameters, behind their "(". */
static lcsm_status arguments(parser *p, jinja_node **out)
{
    for (jinja_node **at = out; !is_op(p, ")"); at = &(*at)->next) {
        jinja_node *value;
        if (is_op(p, "*") || is_op(p, "**"))
            return jinja_lex_fail(&p->lex, "arguments with * are not supported");
        LCSM_OR_RETURN(expression(p, &value));
        *at = value;
        if (is_op(p, "=") && value->kind == JINJA_NAME) {
            LCSM_OR_RETURN(make(p, at, JINJA_KEYWORD));
            (*at)->value = json_incref(value->value);
            LCSM_OR_RETURN(jinja_lex_next(&p->lex));
            LCSM_OR_RETURN(expression(p, &(*at)->a));
        }
        if (is_op(p, ")")) break;
        LCSM_OR_RETURN(need_op(p, ","));
    }
    return jinja_lex_next(&p->lex);
}

/* A name, or one of the words that are values. */
static lcsm_status name(parser *p, jinja_node **out)
{
    const char *w    = p->lex.word;
    int         flag = strcmp(w, "true") == 0 || strcmp(w, "True") == 0   ? 1
                     : strcmp(w, "false") == 0 || strcmp(w, "False") == 0 ? 0
                     : strcmp(w, "none") == 0 || strcmp(w, "None") == 0   ? 2
                                                                          : -1;
    LCSM_OR_RETURN(make(p, out, flag < 0 ? JINJA_NAME : JINJA_LITERAL));
    if (flag < 0) return keep(p, *out);
    (*out)->value = flag == 2 ? json_null() : json_boolean(flag == 1);
    return jinja_lex_next(&p->lex);
}

/* Strings side by side are one. */
static lcsm_status string(parser *p, jinja_node **out)
{
    LCSM_OR_RETURN(make(p, out, JINJA_LITERAL));
    LCSM_OR_RETURN(keep(p, *out));
    while (p->lex.token == JINJA_T_STRING) {
        lcsm_strbuf s = {0};
        lcsm_strbuf_bytes(&s, json_string_value((*out)->value), json_string_length((*out)->value));
        lcsm_strbuf_bytes(&s, json_string_value(p->lex.value), json_string_length(p->lex.value));
        json_decref((*out)->value);
        (*out)->value = s.failed ? NULL : json_stringn(lcsm_strbuf_text(&s), s.size);
        lcsm_strbuf_free(&s);
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
    }
    return LCSM_OK;
}

/* "(" a ")", or a list in parentheses. */
static lcsm_status parentheses(parser *p, jinja_node **out)
{
    jinja_node *first = NULL;
    LCSM_OR_RETURN(jinja_lex_next(&p->lex));
    if (!is_op(p, ")")) LCSM_OR_RETURN(expression(p, &first));
    if (first != NULL && is_op(p, ")")) {
        *out = first;
        return jinja_lex_next(&p->lex);
    }
    LCSM_OR_RETURN(make(p, out, JINJA_LIST));
    (*out)->a = first;
    if (first == NULL) return jinja_lex_next(&p->lex);
    LCSM_OR_RETURN(need_op(p, ","));
    return items(p, &first->next, ")", false);
}

static lcsm_status primary(parser *p, jinja_node **out)
{
    if (p->lex.token == JINJA_T_NAME) return name(p, out);
    if (p->lex.token == JINJA_T_STRING) return string(p, out);
    if (p->lex.token == JINJA_T_NUMBER) {
        LCSM_OR_RETURN(make(p, out, JINJA_LITERAL));
        return keep(p, *out);
    }
    if (is_op(p, "(")) return parentheses(p, out);
    bool list = is_op(p, "[");
    if (!list && !is_op(p, "{")) return unexpected(p, "a value");
    LCSM_OR_RETURN(make(p, out, list ? JINJA_LIST : JINJA_DICT));
    LCSM_OR_RETURN(jinja_lex_next(&p->lex));
    return items(p, &(*out)->a, list ? "]" : "}", !list);
}

/* What stands in brackets behind a value: an item, or a slice. */
static lcsm_status subscript(parser *p, jinja_node *n)
{
    if (!is_op(p, ":")) LCSM_OR_RETURN(expression(p, &n->b));
    if (is_op(p, ":")) {
        n->kind = JINJA_SLICE;
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        if (!is_op(p, ":") && !is_op(p, "]")) LCSM_OR_RETURN(expression(p, &n->c));
        if (is_op(p, ":")) {
            LCSM_OR_RETURN(jinja_lex_next(&p->lex));
            if (!is_op(p, "]")) LCSM_OR_RETURN(expression(p, &n->d));
        }
    }
    return need_op(p, "]");
}

/* .name, [item] and (arguments) behind a value. */
static lcsm_status postfix(parser *p, jinja_node **out)
{
    for (int count = 0;; count++) {
        jinja_node *n;
        bool        dot = is_op(p, "."), item = is_op(p, "[");
        if (!dot && !item && !is_op(p, "(")) return LCSM_OK;
        if (count > CHAIN) return jinja_lex_fail(&p->lex, "an expression is too long");
        LCSM_OR_RETURN(make(p, &n, dot ? JINJA_ATTR : item ? JINJA_ITEM : JINJA_CALL));
        n->a = *out;
        *out = n;
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        if (dot) LCSM_OR_RETURN(need_name(p, n));
        else if (item) LCSM_OR_RETURN(subscript(p, n));
        else LCSM_OR_RETURN(arguments(p, &n->b));
    }
}

/* a is [not] name, name(arguments) or name argument */
static lcsm_status test(parser *p, jinja_node **out)
{
    jinja_node *n, *negated = NULL;
    if (is_name(p, "not")) {
        LCSM_OR_RETURN(make(p, &negated, JINJA_NOT));
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
    }
    LCSM_OR_RETURN(make(p, &n, JINJA_TEST));
    n->a = *out;
    LCSM_OR_RETURN(need_name(p, n));
    bool word = p->lex.token == JINJA_T_NAME && !is_name(p, "else") && !is_name(p, "or")
             && !is_name(p, "and") && !is_name(p, "if") && !is_name(p, "is");
    if (is_op(p, "(")) {
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        LCSM_OR_RETURN(arguments(p, &n->b));
    } else if (word || is_op(p, "[") || is_op(p, "{") || p->lex.token == JINJA_T_STRING
               || p->lex.token == JINJA_T_NUMBER) {
        LCSM_OR_RETURN(primary(p, &n->b));
        LCSM_OR_RETURN(postfix(p, &n->b));
    }
    *out = n;
    if (negated == NULL) return LCSM_OK;
    negated->a = n;
    *out       = negated;
    return LCSM_OK;
}

/* | name, | name(arguments), and tests, behind a value. */
static lcsm_status filters(parser *p, jinja_node **out)
{
    for (int count = 0; is_op(p, "|") || is_name(p, "is") || is_op(p, "("); count++) {
        jinja_node *n;
        if (count > CHAIN) return jinja_lex_fail(&p->lex, "an expression is too long");
        bool filter = is_op(p, "|");
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        if (!filter) {
            LCSM_OR_RETURN(test(p, out));
            continue;
        }
        LCSM_OR_RETURN(make(p, &n, JINJA_FILTER));
        n->a = *out;
        *out = n;
        LCSM_OR_RETURN(need_name(p, n));
        if (!is_op(p, "(")) continue;
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        LCSM_OR_RETURN(arguments(p, &n->b));
    }
    return LCSM_OK;
}

static lcsm_status unary(parser *p, jinja_node **out, bool filtered)
{
    if (is_op(p, "-") || is_op(p, "+")) {
        jinja_node *n = NULL;
        if (is_op(p, "-")) LCSM_OR_RETURN(make(p, &n, JINJA_NEGATE));
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        LCSM_OR_RETURN(deeper(p));
        LCSM_OR_RETURN(unary(p, n != NULL ? &n->a : out, false));
        p->depth--;
        if (n != NULL) *out = n;
        LCSM_OR_RETURN(postfix(p, out));
    } else {
        LCSM_OR_RETURN(primary(p, out));
        LCSM_OR_RETURN(postfix(p, out));
    }
    return filtered ? filters(p, out) : LCSM_OK;
}

/* Operators between two values, in levels that bind more and more. */
enum { COMPARE, SUM, JOIN, PRODUCT, LEVELS };
static const struct {
    const char *text;
    int         level;
    jinja_op    op;
} OPERATORS[] = {
    {"==", COMPARE, JINJA_EQ},      {"!=", COMPARE, JINJA_NE},    {"<", COMPARE, JINJA_LT},
    {"<=", COMPARE, JINJA_LE},      {">", COMPARE, JINJA_GT},     {">=", COMPARE, JINJA_GE},
    {"+", SUM, JINJA_ADD},          {"-", SUM, JINJA_SUBTRACT},   {"~", JOIN, JINJA_CONCAT},
    {"*", PRODUCT, JINJA_MULTIPLY}, {"/", PRODUCT, JINJA_DIVIDE}, {"//", PRODUCT, JINJA_FLOOR},
    {"%", PRODUCT, JINJA_MODULO},
};

/* The operator under the cursor, which is passed; false: none of this level. */
static bool take_operator(parser *p, int level, jinja_op *op, lcsm_status *st)
{
    for (size_t j = 0; j < COUNT(OPERATORS); j++)
        if (OPERATORS[j].level == level && is_op(p, OPERATORS[j].text)) {
            *op = OPERATORS[j].op;
            *st = jinja_lex_next(&p->lex);
            return true;
        }
    if (level != COMPARE || (!is_name(p, "in") && !is_name(p, "not"))) return false;
    *op = is_name(p, "in") ? JINJA_IN : JINJA_NOT_IN;
    *st = jinja_lex_next(&p->lex);
    if (*op == JINJA_IN || *st != LCSM_OK) return true;
    *st = is_name(p, "in") ? jinja_lex_next(&p->lex) : unexpected(p, "in");
    return true;
}

static lcsm_status level_of(parser *p, jinja_node **out, int level)
{
    jinja_op    op;
    lcsm_status st = LCSM_OK;
    if (level == LEVELS) return unary(p, out, true);
    LCSM_OR_RETURN(level_of(p, out, level + 1));
    for (int count = 0; take_operator(p, level, &op, &st); count++) {
        jinja_node *n;
        if (st != LCSM_OK) return st;
        if (count > CHAIN || (level == COMPARE && count > 0))
            return jinja_lex_fail(&p->lex, "a chain of operators is too long");
        LCSM_OR_RETURN(make(p, &n, JINJA_BINARY));
        n->op = op;
        n->a  = *out;
        *out  = n;
        LCSM_OR_RETURN(level_of(p, &n->b, level + 1));
    }
    return st;
}

static lcsm_status negation(parser *p, jinja_node **out)
{
    if (!is_name(p, "not")) return level_of(p, out, COMPARE);
    LCSM_OR_RETURN(make(p, out, JINJA_NOT));
    LCSM_OR_RETURN(jinja_lex_next(&p->lex));
    LCSM_OR_RETURN(deeper(p));
    LCSM_OR_RETURN(negation(p, &(*out)->a));
    p->depth--;
    return LCSM_OK;
}

/* a and b, and a or b with such parts: chains that lean to the left. */
static lcsm_status chain(parser *p, jinja_node **out, const char *word)
{
    bool is_and = strcmp(word, "and") == 0;
    LCSM_OR_RETURN(is_and ? negation(p, out) : chain(p, out, "and"));
    for (int count = 0; is_name(p, word); count++) {
        jinja_node *n;
        if (count > CHAIN) return jinja_lex_fail(&p->lex, "an expression is too long");
        LCSM_OR_RETURN(make(p, &n, is_and ? JINJA_AND : JINJA_OR));
        n->a = *out;
        *out = n;
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        LCSM_OR_RETURN(is_and ? negation(p, &n->b) : chain(p, &n->b, "and"));
    }
    return LCSM_OK;
}

static lcsm_status either(parser *p, jinja_node **out)
{
    LCSM_OR_RETURN(deeper(p));
    LCSM_OR_RETURN(chain(p, out, "or"));
    p->depth--;
    return LCSM_OK;
}

static lcsm_status expression(parser *p, jinja_node **out)
{
    jinja_node *n;
    LCSM_OR_RETURN(either(p, out));
    if (!is_name(p, "if")) return LCSM_OK;
    LCSM_OR_RETURN(make(p, &n, JINJA_CHOICE));
    n->a = *out;
    *out = n;
    LCSM_OR_RETURN(jinja_lex_next(&p->lex));
    LCSM_OR_RETURN(either(p, &n->b));
    if (!is_name(p, "else")) return LCSM_OK;
    LCSM_OR_RETURN(jinja_lex_next(&p->lex));
    LCSM_OR_RETURN(deeper(p));
    LCSM_OR_RETURN(expression(p, &n->c));
    p->depth--;
    return LCSM_OK;
}

/* An expression, or a list without brackets. */
static lcsm_status expressions(parser *p, jinja_node **out)
{
    LCSM_OR_RETURN(expression(p, out));
    if (!is_op(p, ",")) return LCSM_OK;
    jinja_node *n, **at = &(*out)->next;
    LCSM_OR_RETURN(make(p, &n, JINJA_LIST));
    n->a = *out;
    *out = n;
    while (is_op(p, ",")) {
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        if (p->lex.token == JINJA_T_CLOSE) break;
        LCSM_OR_RETURN(expression(p, at));
        at = &(*at)->next;
    }
    return LCSM_OK;
}

/* ---- statements ------------------------------------------------------------------------- */

/* The names that a loop or set gives values to: x, or a list of them; for set also x.y. */
static lcsm_status target(parser *p, jinja_node **out, bool attributes)
{
    jinja_node *list = NULL, **at = out;
    for (;;) {
        LCSM_OR_RETURN(make(p, at, JINJA_NAME));
        LCSM_OR_RETURN(need_name(p, *at));
        if (attributes && list == NULL && is_op(p, ".")) {
            jinja_node *n;
            LCSM_OR_RETURN(make(p, &n, JINJA_ATTR));
            n->a = *out;
            *out = n;
            LCSM_OR_RETURN(jinja_lex_next(&p->lex));
            return need_name(p, n);
        }
        if (!is_op(p, ",")) return LCSM_OK;
        if (list == NULL) {
            LCSM_OR_RETURN(make(p, &list, JINJA_LIST));
            list->a = *out;
            *out    = list;
            at      = &list->a;
        }
        at = &(*at)->next;
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
    }
}

/* Passes the name of an end tag and the tag. */
static lcsm_status pass(parser *p)
{
    LCSM_OR_RETURN(jinja_lex_next(&p->lex));
    return need_close(p);
}

static lcsm_status statement_if(parser *p, jinja_node **out)
{
    static const char *const ENDS[] = {"elif", "else", "endif", NULL}, *const END[] = {"endif",
                                                                                       NULL};
    LCSM_OR_RETURN(make(p, out, JINJA_IF));
    jinja_node *n = *out;
    for (;;) {
        LCSM_OR_RETURN(expression(p, &n->a));
        LCSM_OR_RETURN(need_close(p));
        LCSM_OR_RETURN(body(p, &n->b, ENDS));
        if (!is_name(p, "elif")) break;
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        LCSM_OR_RETURN(make(p, &n->c, JINJA_IF));
        n = n->c;
    }
    if (is_name(p, "else")) {
        LCSM_OR_RETURN(pass(p));
        LCSM_OR_RETURN(body(p, &n->c, END));
    }
    return pass(p);
}

static lcsm_status statement_for(parser *p, jinja_node **out)
{
    static const char *const ENDS[] = {"else", "endfor", NULL}, *const END[] = {"endfor", NULL};
    LCSM_OR_RETURN(make(p, out, JINJA_FOR));
    jinja_node *n = *out;
    LCSM_OR_RETURN(target(p, &n->a, false));
    if (!is_name(p, "in")) return unexpected(p, "in");
    LCSM_OR_RETURN(jinja_lex_next(&p->lex));
    LCSM_OR_RETURN(either(p, &n->b));
    if (is_name(p, "if")) {
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        LCSM_OR_RETURN(either(p, &n->e));
    }
    LCSM_OR_RETURN(need_close(p));
    p->loops++;
    LCSM_OR_RETURN(body(p, &n->c, ENDS));
    p->loops--;
    if (is_name(p, "else")) {
        LCSM_OR_RETURN(pass(p));
        LCSM_OR_RETURN(body(p, &n->d, END));
    }
    return pass(p);
}

static lcsm_status statement_set(parser *p, jinja_node **out)
{
    static const char *const END[] = {"endset", NULL};
    LCSM_OR_RETURN(make(p, out, JINJA_SET));
    jinja_node *n = *out;
    LCSM_OR_RETURN(target(p, &n->a, true));
    if (is_op(p, "=")) {
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        LCSM_OR_RETURN(expressions(p, &n->b));
        return need_close(p);
    }
    n->kind = JINJA_SET_TEXT;
    LCSM_OR_RETURN(make(p, &n->c, JINJA_LITERAL));
    LCSM_OR_RETURN(filters(p, &n->c));
    LCSM_OR_RETURN(need_close(p));
    LCSM_OR_RETURN(body(p, &n->b, END));
    return pass(p);
}

static lcsm_status statement_macro(parser *p, jinja_node **out)
{
    static const char *const END[] = {"endmacro", NULL};
    int                      loops = p->loops;
    LCSM_OR_RETURN(make(p, out, JINJA_MACRO));
    LCSM_OR_RETURN(need_name(p, *out));
    LCSM_OR_RETURN(need_op(p, "("));
    LCSM_OR_RETURN(arguments(p, &(*out)->a));
    for (const jinja_node *n = (*out)->a; n != NULL; n = n->next)
        if (n->kind != JINJA_NAME && n->kind != JINJA_KEYWORD)
            return jinja_lex_fail(&p->lex, "a parameter of a macro is not a name");
    LCSM_OR_RETURN(need_close(p));
    p->loops = 0;
    LCSM_OR_RETURN(body(p, &(*out)->b, END));
    p->loops = loops;
    return pass(p);
}

static lcsm_status statement_jump(parser *p, jinja_node **out)
{
    bool stop = is_name(p, "break");
    if (p->loops == 0) return jinja_lex_fail(&p->lex, "%s outside of a loop", p->lex.word);
    LCSM_OR_RETURN(make(p, out, stop ? JINJA_BREAK : JINJA_CONTINUE));
    return pass(p);
}

/* What the trainer marks; the text is the same. */
static lcsm_status statement_generation(parser *p, jinja_node **out)
{
    static const char *const END[] = {"endgeneration", NULL};
    LCSM_OR_RETURN(need_close(p));
    LCSM_OR_RETURN(make(p, out, JINJA_IF));
    LCSM_OR_RETURN(make(p, &(*out)->a, JINJA_LITERAL));
    (*out)->a->value = json_true();
    LCSM_OR_RETURN(body(p, &(*out)->b, END));
    return pass(p);
}

static lcsm_status block(parser *p, jinja_node **out)
{
    static const struct {
        const char *name;
        lcsm_status (*read)(parser *, jinja_node **);
    } STATEMENTS[] = {{"if", statement_if},
                      {"for", statement_for},
                      {"set", statement_set},
                      {"macro", statement_macro},
                      {"generation", statement_generation}};
    if (is_name(p, "break") || is_name(p, "continue")) return statement_jump(p, out);
    for (size_t j = 0; j < COUNT(STATEMENTS); j++)
        if (is_name(p, STATEMENTS[j].name)) {
            LCSM_OR_RETURN(jinja_lex_next(&p->lex));
            return STATEMENTS[j].read(p, out);
        }
    if (p->lex.token != JINJA_T_NAME) return unexpected(p, "a statement");
    return jinja_lex_fail(&p->lex, "{%% %.40s %%} is not supported here", p->lex.word);
}

static bool ends_body(const parser *p, const char *const *ends)
{
    for (; *ends != NULL; ends++)
        if (is_name(p, *ends)) return true;
    return false;
}

/* Statements up to one of `ends`, whose name is then under the cursor, or to the end. */
static lcsm_status body(parser *p, jinja_node **out, const char *const *ends)
{
    LCSM_OR_RETURN(deeper(p));
    for (; p->lex.token != JINJA_T_END; out = *out != NULL ? &(*out)->next : out) {
        bool print = p->lex.token == JINJA_T_PRINT;
        if (p->lex.token == JINJA_T_TEXT) {
            LCSM_OR_RETURN(make(p, out, JINJA_TEXT));
            LCSM_OR_RETURN(keep(p, *out));
            continue;
        }
        LCSM_OR_RETURN(jinja_lex_next(&p->lex));
        if (!print && ends_body(p, ends)) {
            p->depth--;
            return LCSM_OK;
        }
        if (print) {
            LCSM_OR_RETURN(make(p, out, JINJA_PRINT));
            LCSM_OR_RETURN(expressions(p, &(*out)->a));
            LCSM_OR_RETURN(need_close(p));
        } else LCSM_OR_RETURN(block(p, out));
    }
    if (*ends != NULL) {
        while (ends[1] != NULL) ends++;
        return jinja_lex_fail(&p->lex, "the template ends without {%% %s %%}", *ends);
    }
    p->depth--;
    return LCSM_OK;
}

/* ---- the whole -------------------------------------------------------------------------- */

lcsm_status lcsm_jinja_parse(lcsm_jinja *out, const char *label, const char *source, size_t size,
                             lcsm_error *err)
{
    static const char *const NO_END[] = {NULL};
    lcsm_status              st;
    parser                   p = {.all = &out->all};
    *out                       = (lcsm_jinja){.label = strdup(label)};
    if (out->label == NULL) LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory"));
    if (size > LCSM_JINJA_SOURCE)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_FORMAT, "%.60s has %zu bytes; at most %d are supported",
                           label, size, LCSM_JINJA_SOURCE));
    LCSM_TRY(jinja_lex_begin(&p.lex, label, source, size, err));
    LCSM_TRY(body(&p, &out->body, NO_END));
cleanup:
    jinja_lex_free(&p.lex);
    if (st != LCSM_OK) lcsm_jinja_free(out);
    return st;
}

void lcsm_jinja_free(lcsm_jinja *t)
{
    for (jinja_node *n = t->all, *next; n != NULL; n = next) {
        next = n->all;
        json_decref(n->value);
        free(n);
    }
    free(t->label);
    *t = (lcsm_jinja){0};
}
