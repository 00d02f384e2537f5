/* jinja_lex.c - text between tags with its white space, and the words inside of tags. */
#include "text/jinja_lex.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "text/utf8.h"

lcsm_status jinja_lex_fail(const jinja_lexer *x, const char *fmt, ...)
{
    char    text[160];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return lcsm_fail(x->err, LCSM_ERR_FORMAT, "%.60s: line %zu: %s", x->label, x->line, text);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_';
}

static void advance(jinja_lexer *x, const char *to)
{
    for (; x->at < to; x->at++) x->line += *x->at == '\n';
}

static lcsm_status set_value(jinja_lexer *x, jinja_token token, json_t *value)
{
    json_decref(x->value);
    x->value = value;
    x->token = token;
    if (value != NULL) return LCSM_OK;
    return jinja_lex_fail(x, "not enough memory, or text that is not UTF-8");
}

/* ---- text ------------------------------------------------------------------------------- */

static const char *find_tag(const char *at, const char *end)
{
    for (; at + 1 < end; at++)
        if (at[0] == '{' && (at[1] == '{' || at[1] == '%' || at[1] == '#')) return at;
    return end;
}

/* Where the text in front of a tag ends: a minus takes all white space, and a block or comment that
 * begins its line the spaces in front of it. */
static const char *end_of_text(const jinja_lexer *x, const char *begin, const char *tag)
{
    const char *end = tag;
    if (tag == x->end) return tag;
    char sign = tag + 2 < x->end ? tag[2] : ' ';
    if (sign == '-')
        while (end > begin && is_space(end[-1])) end--;
    if (sign == '-' || sign == '+' || tag[1] == '{') return end;
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) end--;
    bool first = end > begin ? end[-1] == '\n' : x->line_begins;
    return first ? end : tag;
}

/* The text without the carriage returns of line ends. */
static json_t *text_of(const char *at, const char *end)
{
    lcsm_strbuf s = {0};
    for (; at < end; at++)
        if (*at != '\r' || at + 1 >= end || at[1] != '\n') lcsm_strbuf_bytes(&s, at, 1);
    json_t *value = s.failed ? NULL : json_stringn(lcsm_strbuf_text(&s), s.size);
    lcsm_strbuf_free(&s);
    return value;
}

/* Behind a comment or block: its line end goes, or with a minus all white space. */
static void behind(jinja_lexer *x, const char *at, bool minus, bool plus)
{
    const char *from = at;
    if (minus)
        while (at < x->end && is_space(*at)) at++;
    else if (!plus) {
        if (at + 1 < x->end && at[0] == '\r' && at[1] == '\n') at++;
        if (at < x->end && *at == '\n') at++;
    }
    x->line_begins = at > from && at[-1] == '\n';
    advance(x, at);
}

static lcsm_status skip_comment(jinja_lexer *x)
{
    const char *at = x->at + 2;
    while (at + 1 < x->end && (at[0] != '#' || at[1] != '}')) at++;
    if (at + 1 >= x->end) return jinja_lex_fail(x, "{# without #}");
    advance(x, at + 2);
    behind(x, at + 2, at[-1] == '-', at[-1] == '+');
    return LCSM_OK;
}

/* The begin of a tag; `at` is on its brace. */
static void open_tag(jinja_lexer *x)
{
    x->inside   = true;
    x->brackets = 0;
    x->block    = x->at[1] == '%';
    x->token    = x->block ? JINJA_T_BLOCK : JINJA_T_PRINT;
    x->at += 2;
    if (x->at < x->end && (*x->at == '-' || (*x->at == '+' && x->block))) x->at++;
}

static lcsm_status next_outside(jinja_lexer *x)
{
    for (;;) {
        const char *tag = find_tag(x->at, x->end), *end = end_of_text(x, x->at, tag);
        if (end > x->at) {
            json_t *text = text_of(x->at, end);
            advance(x, tag);
            x->line_begins = false;
            return set_value(x, JINJA_T_TEXT, text);
        }
        advance(x, tag);
        if (tag == x->end) {
            x->token = JINJA_T_END;
            return LCSM_OK;
        }
        if (tag[1] != '#') {
            open_tag(x);
            return LCSM_OK;
        }
        LCSM_OR_RETURN(skip_comment(x));
    }
}

/* ---- words ------------------------------------------------------------------------------ */

static bool read_hex(uint32_t *code, const char *at, const char *end, int digits)
{
    char text[9] = "";
    if (end - at < digits) return false;
    for (int j = 0; j < digits; j++)
        if (isxdigit((unsigned char)at[j]) == 0) return false;
    memcpy(text, at, (size_t)digits);
    *code = (uint32_t)strtoul(text, NULL, 16);
    return true;
}

/* What stands behind a backslash; one that means nothing stays. Returns the bytes that it took. */
static size_t unescape(lcsm_strbuf *s, const char *at, const char *end)
{
    static const char FROM[] = "abfnrtv\\'\"", TO[] = "\a\b\f\n\r\t\v\\'\"";
    const char       *known = *at != '\0' ? strchr(FROM, *at) : NULL;
    int               hex   = *at == 'x' ? 2 : *at == 'u' ? 4 : *at == 'U' ? 8 : 0;
    uint32_t          code;
    char              room[4];
    if (known != NULL) {
        lcsm_strbuf_bytes(s, &TO[known - FROM], 1);
        return 1;
    }
    if (*at == '\n') return 1;
    if (hex > 0 && read_hex(&code, at + 1, end, hex) && code < 0x110000) {
        lcsm_strbuf_bytes(s, room, lcsm_utf8_put(room, code));
        return 1 + (size_t)hex;
    }
    lcsm_strbuf_add(s, "\\");
    return 0;
}

static lcsm_status read_string(jinja_lexer *x)
{
    lcsm_strbuf s     = {0};
    char        quote = *x->at;
    const char *at    = x->at + 1;
    while (at < x->end && *at != quote) {
        if (*at != '\\' || at + 1 >= x->end) lcsm_strbuf_bytes(&s, at++, 1);
        else {
            at++;
            at += unescape(&s, at, x->end);
        }
    }
    json_t *value = s.failed || at >= x->end ? NULL : json_stringn(lcsm_strbuf_text(&s), s.size);
    lcsm_strbuf_free(&s);
    if (at >= x->end) return jinja_lex_fail(x, "a string without its end");
    advance(x, at + 1);
    return set_value(x, JINJA_T_STRING, value);
}

static lcsm_status read_number(jinja_lexer *x)
{
    char        text[64];
    size_t      size = 0;
    bool        real = false;
    const char *at   = x->at;
    for (; at < x->end && size + 1 < sizeof text; at++) {
        bool dot = *at == '.' && at + 1 < x->end && isdigit((unsigned char)at[1]) && !real;
        if (isdigit((unsigned char)*at) == 0 && *at != '_' && !dot) break;
        if (*at != '_') text[size++] = *at;
        real = real || dot;
    }
    const char *exponent = at + 1;
    if (at < x->end && (*at == 'e' || *at == 'E') && exponent < x->end
        && (*exponent == '-' || *exponent == '+'))
        exponent++;
    if (at < x->end && (*at == 'e' || *at == 'E') && exponent < x->end
        && isdigit((unsigned char)*exponent) != 0) {
        for (; at < x->end && size + 1 < sizeof text
               && (at < exponent || isdigit((unsigned char)*at));)
            text[size++] = *at++;
        real = true;
    }
    text[size] = '\0';
    x->at      = at;
    if (size > 18) return jinja_lex_fail(x, "the number %s is too long", text);
    return set_value(x, JINJA_T_NUMBER,
                     real ? json_real(strtod(text, NULL)) : json_integer(strtoll(text, NULL, 10)));
}

/* Two characters that are one operator, else one. */
static lcsm_status read_operator(jinja_lexer *x)
{
    static const char *const TWO[] = {"==", "!=", "<=", ">=", "//", "**"};
    size_t                   size  = 1;
    for (size_t j = 0; j < COUNT(TWO); j++)
        if (x->end - x->at >= 2 && memcmp(x->at, TWO[j], 2) == 0) size = 2;
    if (size == 1 && strchr("+-*/%~<>=|.,:()[]{}", *x->at) == NULL)
        return jinja_lex_fail(x, "the character \"%c\" is not supported here",
                              *x->at >= ' ' && *x->at < 127 ? *x->at : '?');
    memcpy(x->word, x->at, size);
    x->word[size] = '\0';
    if (size == 1 && strchr("([{", *x->at) != NULL) x->brackets++;
    if (size == 1 && strchr(")]}", *x->at) != NULL) x->brackets--;
    x->at += size;
    x->token = JINJA_T_OPERATOR;
    return LCSM_OK;
}

/* Whether the tag ends here, with a sign or without. */
static bool closes(jinja_lexer *x)
{
    const char *end = x->block ? "%}" : "}}", *at = x->at;
    bool        minus = *at == '-', plus = *at == '+' && x->block;
    if (minus || plus) at++;
    if (x->brackets > 0 || x->end - at < 2 || memcmp(at, end, 2) != 0) return false;
    x->inside = false;
    x->token  = JINJA_T_CLOSE;
    x->at     = at;
    behind(x, at + 2, minus, plus || !x->block);
    return true;
}

static lcsm_status next_inside(jinja_lexer *x)
{
    const char *at = x->at;
    while (at < x->end && is_space(*at)) at++;
    advance(x, at);
    if (x->at >= x->end) return jinja_lex_fail(x, "a tag without its end");
    if (closes(x)) return LCSM_OK;
    if (*at == '"' || *at == '\'') return read_string(x);
    if (isdigit((unsigned char)*at) != 0) return read_number(x);
    if (!is_word(*at)) return read_operator(x);
    size_t size = 0;
    while (at + size < x->end && is_word(at[size])) size++;
    if (size >= sizeof x->word) return jinja_lex_fail(x, "a name of %zu characters", size);
    memcpy(x->word, at, size);
    x->word[size] = '\0';
    x->at += size;
    x->token = JINJA_T_NAME;
    return LCSM_OK;
}

/* ---- the whole -------------------------------------------------------------------------- */

lcsm_status jinja_lex_next(jinja_lexer *x)
{
    return x->inside ? next_inside(x) : next_outside(x);
}

/* One line end at the end of a template does not count. */
lcsm_status jinja_lex_begin(jinja_lexer *x, const char *label, const char *source, size_t size,
                            lcsm_error *err)
{
    if (size > 0 && source[size - 1] == '\n') size--;
    if (size > 0 && source[size - 1] == '\r') size--;
    *x = (jinja_lexer){.label       = label,
                       .at          = source,
                       .end         = source + size,
                       .line        = 1,
                       .line_begins = true,
                       .err         = err};
    return jinja_lex_next(x);
}

void jinja_lex_free(jinja_lexer *x)
{
    json_decref(x->value);
    x->value = NULL;
}
