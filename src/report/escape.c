/* escape.c - one small table or rule for each format. */
#include "report/escape.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the code point that starts here, or 0 if it is no UTF-8 (RFC 3629). */
static size_t sequence(const char *text)
{
    const unsigned char *u = (const unsigned char *)text;
    size_t               n = u[0] < 0x80 ? 1
                           : u[0] < 0xC2 ? 0
                           : u[0] < 0xE0 ? 2
                           : u[0] < 0xF0 ? 3
                           : u[0] < 0xF5 ? 4
                                         : 0;
    for (size_t j = 1; j < n; j++)
        if ((u[j] & 0xC0) != 0x80) return 0;
    bool wrong = (u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xED && u[1] > 0x9F)
              || (u[0] == 0xF0 && u[1] < 0x90) || (u[0] == 0xF4 && u[1] > 0x8F);
    return wrong ? 0 : n;
}

/* Line ends too, and the controls above 0x7F as UTF-8 has them: a terminal obeys them all. */
static bool is_control(const char *text)
{
    const unsigned char *u = (const unsigned char *)text;
    return u[0] < 0x20 || u[0] == 0x7F || (u[0] == 0xC2 && u[1] < 0xA0);
}

#define UNKNOWN "\xEF\xBF\xBD" /* U+FFFD */

size_t lcsm_put_letter(lcsm_strbuf *s, const char *text)
{
    size_t n = sequence(text);
    if (n == 0) lcsm_strbuf_add(s, UNKNOWN);
    else if (is_control(text)) lcsm_strbuf_add(s, " ");
    else lcsm_strbuf_bytes(s, text, n);
    return n == 0 ? 1 : n;
}

void lcsm_put_text(lcsm_strbuf *s, const char *text)
{
    while (*text != '\0') text += lcsm_put_letter(s, text);
}

static void put_html(lcsm_strbuf *s, const char *text, bool lines)
{
    while (*text != '\0') {
        const char *entity = *text == '&'           ? "&amp;"
                           : *text == '<'           ? "&lt;"
                           : *text == '>'           ? "&gt;"
                           : *text == '"'           ? "&quot;"
                           : *text == '\''          ? "&#39;"
                           : *text == '\n' && lines ? "\n"
                                                    : NULL;
        if (entity == NULL) {
            text += lcsm_put_letter(s, text);
            continue;
        }
        lcsm_strbuf_add(s, entity);
        text++;
    }
}

void lcsm_put_html(lcsm_strbuf *s, const char *text)
{
    put_html(s, text, false);
}

void lcsm_put_html_lines(lcsm_strbuf *s, const char *text)
{
    put_html(s, text, true);
}

void lcsm_put_markdown(lcsm_strbuf *s, const char *text)
{
    while (*text != '\0') {
        if (*text == '<') {
            lcsm_strbuf_add(s, "&lt;");
            text++;
            continue;
        }
        if (strchr("\\`*_[]|~$", *text) != NULL) lcsm_strbuf_add(s, "\\");
        text += lcsm_put_letter(s, text);
    }
}

/* Which of the first bytes makes a line more than text, if a backslash does not stand before it. */
static size_t opens_block(const char *text)
{
    size_t digits = strspn(text, "0123456789"), none = strlen(text);
    if (*text != '\0' && strchr("#>=", *text) != NULL) return 0;
    if ((*text == '-' || *text == '+') && strchr(" -", text[1]) != NULL) return 0;
    bool number = digits > 0 && (text[digits] == '.' || text[digits] == ')');
    return number && strchr(" ", text[digits + 1]) != NULL ? digits : none;
}

void lcsm_put_markdown_line(lcsm_strbuf *s, const char *text)
{
    lcsm_strbuf plain = {0};
    lcsm_put_text(&plain, text);
    const char *line = lcsm_strbuf_text(&plain) + strspn(lcsm_strbuf_text(&plain), " ");
    size_t      mark = opens_block(line);
    if (line[mark] != '\0') {
        lcsm_strbuf_bytes(s, line, mark);
        lcsm_strbuf_add(s, "\\");
    } else {
        mark = 0;
    }
    lcsm_put_markdown(s, line + mark);
    s->failed = s->failed || plain.failed;
    lcsm_strbuf_free(&plain);
}

void lcsm_put_url(lcsm_strbuf *s, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char u = (unsigned char)*text;
        if (isalnum(u) || strchr("-._~/", *text) != NULL) lcsm_strbuf_bytes(s, text, 1);
        else lcsm_strbuf_printf(s, "%%%02X", u);
    }
}

static bool is_number(const char *text)
{
    char *end;
    (void)strtod(text, &end);
    return end != text && *end == '\0';
}

void lcsm_put_csv(lcsm_strbuf *s, const char *text)
{
    bool formula = *text != '\0' && strchr("=+-@\t\r", *text) != NULL && !is_number(text);
    bool quoted  = formula || strpbrk(text, ",\"\r\n") != NULL;
    if (quoted) lcsm_strbuf_add(s, "\"");
    if (formula) lcsm_strbuf_add(s, "'");
    for (; *text != '\0'; text++) {
        if (*text == '"') lcsm_strbuf_add(s, "\"");
        lcsm_strbuf_bytes(s, text, 1);
    }
    if (quoted) lcsm_strbuf_add(s, "\"");
}

void lcsm_put_slug(lcsm_strbuf *s, const char *text)
{
    bool gap = true;
    for (; *text != '\0'; text++) {
        bool kept = isalnum((unsigned char)*text) || *text == '.' || *text == '-';
        if (kept) lcsm_strbuf_bytes(s, text, 1);
        else if (!gap) lcsm_strbuf_add(s, "-");
        gap = !kept;
    }
    if (gap && s->size > 0 && s->text[s->size - 1] == '-') s->text[--s->size] = '\0';
}

size_t lcsm_text_width(const char *text)
{
    size_t width = 0;
    while (*text != '\0') {
        size_t n = sequence(text);
        text += n == 0 ? 1 : n;
        width++;
    }
    return width;
}
