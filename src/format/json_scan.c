/* json_scan.c - a checker of JSON by recursive descent, and a walk over what it has checked. */
#include "format/json_scan.h"

#include <string.h>

/* The length of the UTF-8 letter at s, of which `left` bytes are there; 0 if it is none. The
 * second byte has a narrower range after E0, ED, F0 and F4: no overlong forms, no surrogates,
 * nothing above 10FFFF. */
static size_t utf8_letter(const unsigned char *s, size_t left)
{
    unsigned char low = 0x80, high = 0xBF;
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    if (s[0] > 0xF4 || length > left) return 0;
    if (s[0] == 0xE0) low = 0xA0;
    if (s[0] == 0xED) high = 0x9F;
    if (s[0] == 0xF0) low = 0x90;
    if (s[0] == 0xF4) high = 0x8F;
    for (size_t j = 1; j < length; j++) {
        if (s[j] < low || s[j] > high) return 0;
        low  = 0x80;
        high = 0xBF;
    }
    return length;
}

static bool eight_ascii(const char *text)
{
    uint64_t bytes;
    memcpy(&bytes, text, sizeof bytes);
    return (bytes & UINT64_C(0x8080808080808080)) == 0;
}

size_t lcsm_utf8_check(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        if (size - at >= 8 && eight_ascii(text + at)) {
            at += 8;
            continue;
        }
        size_t length = utf8_letter((const unsigned char *)text + at, size - at);
        if (length == 0) break;
        at += length;
    }
    return at;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

size_t lcsm_json_space(const char *text, size_t size, size_t at)
{
    while (at < size && is_space(text[at])) at++;
    return at;
}

/* The text from p to end, and what was found wrong at p. */
typedef struct {
    const char *p, *end, *problem;
    unsigned    depth;
} scan;

static bool bad(scan *s, const char *problem)
{
    s->problem = problem;
    return false;
}

static bool next_is(const scan *s, char c)
{
    return s->p < s->end && *s->p == c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_space(scan *s)
{
    while (s->p < s->end && is_space(*s->p)) s->p++;
}

static bool digits(scan *s)
{
    if (s->p == s->end || !is_digit(*s->p)) return bad(s, "a digit is missing");
    while (s->p < s->end && is_digit(*s->p)) s->p++;
    return true;
}

static bool number(scan *s)
{
    if (next_is(s, '-')) s->p++;
    if (next_is(s, '0')) {
        s->p++;
        if (s->p < s->end && is_digit(*s->p)) return bad(s, "a number has a leading zero");
    } else if (!digits(s)) {
        return false;
    }
    if (next_is(s, '.')) {
        s->p++;
        if (!digits(s)) return false;
    }
    if (next_is(s, 'e') || next_is(s, 'E')) {
        s->p++;
        if (next_is(s, '+') || next_is(s, '-')) s->p++;
        if (!digits(s)) return false;
    }
    return true;
}

static int hex_digit(char c)
{
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The four digits at p, or -1. */
static int hex4(const char *p)
{
    int value = 0;
    for (int j = 0; j < 4; j++) {
        int digit = hex_digit(p[j]);
        if (digit < 0) return -1;
        value = 16 * value + digit;
    }
    return value;
}

static bool is_high(int unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(int unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* At the u of an escape. A high surrogate must be followed by a low one. */
static bool unicode_escape(scan *s)
{
    int unit = s->end - s->p >= 5 ? hex4(s->p + 1) : -1;
    if (unit < 0) return bad(s, "\\u needs four hexadecimal digits");
    if (is_low(unit)) return bad(s, "half a surrogate pair");
    if (is_high(unit)) {
        bool pair = s->end - s->p >= 11 && s->p[5] == '\\' && s->p[6] == 'u';
        if (!pair || !is_low(hex4(s->p + 7))) return bad(s, "half a surrogate pair");
        s->p += 6;
    }
    s->p += 5;
    return true;
}

static bool string(scan *s)
{
    for (s->p++; s->p < s->end && *s->p != '"';) {
        if ((unsigned char)*s->p < 0x20) return bad(s, "a control character in a string");
        if (*s->p++ != '\\') continue;
        if (next_is(s, 'u')) {
            if (!unicode_escape(s)) return false;
        } else if (s->p == s->end || *s->p == '\0' || strchr("\"\\/bfnrt", *s->p) == NULL) {
            return bad(s, "an unknown escape in a string");
        } else {
            s->p++;
        }
    }
    if (s->p == s->end) return bad(s, "a string that does not end");
    s->p++;
    return true;
}

static bool literal(scan *s)
{
    static const char *const WORDS[] = {"true", "false", "null"};
    for (size_t j = 0; j < 3; j++) {
        size_t length = strlen(WORDS[j]);
        if ((size_t)(s->end - s->p) < length || memcmp(s->p, WORDS[j], length) != 0) continue;
        s->p += length;
        return true;
    }
    return bad(s, s->p == s->end ? "the text ends where a value is expected" : "not a JSON value");
}

static bool value(scan *s);

static bool member_key(scan *s)
{
    if (!next_is(s, '"')) return bad(s, "a member without a name in quotes");
    if (!string(s)) return false;
    skip_space(s);
    if (!next_is(s, ':')) return bad(s, "a colon is missing");
    s->p++;
    return true;
}

static bool container(scan *s)
{
    bool object = *s->p == '{';
    char close  = object ? '}' : ']';
    if (s->depth == 0) return bad(s, "the nesting is too deep");
    s->depth--;
    s->p++;
    skip_space(s);
    for (bool first = true; !next_is(s, close); first = false) {
        if (!first) {
            if (!next_is(s, ',')) return bad(s, "a comma or a closing bracket is missing");
            s->p++;
            skip_space(s);
        }
        if (object && !member_key(s)) return false;
        skip_space(s);
        if (!value(s)) return false;
        skip_space(s);
    }
    s->p++;
    s->depth++;
    return true;
}

static bool value(scan *s)
{
    char c = s->p < s->end ? *s->p : '\0';
    if (c == '{' || c == '[') return container(s);
    if (c == '"') return string(s);
    if (c == '-' || is_digit(c)) return number(s);
    return literal(s);
}

const char *lcsm_json_check(const char *text, size_t size, unsigned max_depth, size_t *at)
{
    scan s = {.p = text + *at, .end = text + size, .depth = max_depth};
    (void)value(&s);
    *at = (size_t)(s.p - text);
    return s.problem;
}

/* Behind the string whose opening quote is at p. */
static const char *string_end(const char *p)
{
    for (p++; *p != '"'; p++)
        if (*p == '\\') p++;
    return p + 1;
}

/* Behind the value at p. */
static const char *value_end(const char *p)
{
    size_t open = 0;
    if (*p == '"') return string_end(p);
    if (*p != '{' && *p != '[') return p + strcspn(p, ",]} \t\n\r");
    do {
        if (*p == '"') {
            p = string_end(p);
            continue;
        }
        open += *p == '{' || *p == '[';
        open -= *p == '}' || *p == ']';
        p++;
    } while (open > 0);
    return p;
}

static const char *space_end(const char *p)
{
    while (is_space(*p)) p++;
    return p;
}

lcsm_json_walk lcsm_json_enter(lcsm_json_span value)
{
    return (lcsm_json_walk){.at = value.at + 1, .object = *value.at == '{'};
}

bool lcsm_json_step(lcsm_json_walk *w, lcsm_json_span *key, lcsm_json_span *value)
{
    const char *p = space_end(w->at);
    if (*p == ',') p = space_end(p + 1);
    if (*p == ']' || *p == '}') return false;
    *key = (lcsm_json_span){.at = p, .end = p};
    if (w->object) {
        key->end = string_end(p);
        p        = space_end(space_end(key->end) + 1);
    }
    *value = (lcsm_json_span){.at = p, .end = value_end(p)};
    w->at  = value->end;
    return true;
}

static size_t utf8_put(char *out, unsigned letter)
{
    static const unsigned char FIRST[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t length = letter < 0x80 ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;
    for (size_t j = length; j-- > 1; letter >>= 6) out[j] = (char)(0x80 | (letter & 0x3F));
    out[0] = (char)(FIRST[length] | letter);
    return length;
}

/* The letter that the escape at *p (behind the backslash) stands for; moves *p behind it. */
static unsigned escaped(const char **p)
{
    static const char NAMES[] = "bfnrt", MEANS[] = "\b\f\n\r\t";
    char              c = *(*p)++;
    if (c == 'u') {
        unsigned unit = (unsigned)hex4(*p);
        *p += 4;
        if (!is_high((int)unit)) return unit;
        unsigned low = (unsigned)hex4(*p + 2);
        *p += 6;
        return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    const char *name = strchr(NAMES, c);
    return (unsigned char)(name == NULL ? c : MEANS[name - NAMES]);
}

size_t lcsm_json_unescape(char *out, lcsm_json_span string)
{
    size_t size = 0;
    for (const char *p = string.at + 1; p < string.end - 1;) {
        char   letter[4] = {*p};
        size_t length    = 1;
        if (*p++ == '\\') length = utf8_put(letter, escaped(&p));
        if (out != NULL) memcpy(out + size, letter, length);
        size += length;
    }
    return size;
}

bool lcsm_json_natural(uint64_t *out, lcsm_json_span number)
{
    uint64_t value = 0;
    if (number.at == number.end) return false;
    for (const char *p = number.at; p < number.end; p++) {
        if (!is_digit(*p)) return false;
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > ((uint64_t)INT64_MAX - digit) / 10) return false;
        value = 10 * value + digit;
    }
    *out = value;
    return true;
}
