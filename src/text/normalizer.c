/* normalizer.c - Unicode's normal forms by libunistring, and plain replacements. */
#include "text/normalizer.h"

#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <uninorm.h>

/* By lcsm_normalize_kind. The macros are addresses in libunistring. */
static uninorm_t form_of(lcsm_normalize_kind kind)
{
    const uninorm_t forms[] = {UNINORM_NFC, UNINORM_NFD, UNINORM_NFKC, UNINORM_NFKD};
    return forms[kind];
}

static char *copy_of(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

lcsm_status lcsm_normalizer_put(lcsm_normalizer *n, lcsm_normalize_kind kind, const char *what,
                                const char *with, lcsm_error *err)
{
    lcsm_normalize_step *steps = realloc(n->steps, (n->count + 1) * sizeof *steps);
    if (steps == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a normalizer");
    n->steps               = steps;
    lcsm_normalize_step *s = &n->steps[n->count++];
    *s = (lcsm_normalize_step){.kind = kind, .what = copy_of(what), .with = copy_of(with)};
    if ((what == NULL) == (s->what == NULL) && (with == NULL) == (s->with == NULL)) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a normalizer");
}

void lcsm_normalizer_free(lcsm_normalizer *n)
{
    for (size_t j = 0; j < n->count; j++) {
        free(n->steps[j].what);
        free(n->steps[j].with);
    }
    free(n->steps);
    *n = (lcsm_normalizer){0};
}

/* Characters below U+0300, whose first byte is below 0xCC, are as NFC wants them and never join
 * what stands before: a text of them is normal, and may be cut before each. */
enum { FIRST_COMBINING = 0xCC };

static bool plain(const char *text, size_t size)
{
    unsigned high = 0;
    for (size_t j = 0; j < size; j++) high |= (unsigned char)text[j] >= FIRST_COMBINING;
    return high == 0;
}

static bool ascii(const char *text, size_t size)
{
    unsigned high = 0;
    for (size_t j = 0; j < size; j++) high |= (unsigned char)text[j] & 0x80u;
    return high == 0;
}

bool lcsm_normalizer_changes(const lcsm_normalizer *n, const char *text, size_t size)
{
    for (size_t j = 0; j < n->count; j++) {
        lcsm_normalize_kind kind = n->steps[j].kind;
        if (kind >= LCSM_NORMALIZE_PREPEND) return size > 0;
        if (kind == LCSM_NORMALIZE_NFC ? !plain(text, size) : !ascii(text, size)) return true;
    }
    return false;
}

/* One piece through libunistring. Most pieces are a few characters; long ones get memory. */
static lcsm_status form(lcsm_strbuf *out, const char *text, size_t size, lcsm_normalize_kind kind,
                        lcsm_error *err)
{
    uint8_t  few[1024];
    size_t   length = sizeof few;
    uint8_t *normal = u8_normalize(form_of(kind), (const uint8_t *)text, size, few, &length);
    if (normal == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to normalise text");
    lcsm_strbuf_bytes(out, (const char *)normal, length);
    if (normal != few) free(normal);
    return LCSM_OK;
}

static bool starts_plain(char c)
{
    return (unsigned char)c < 0x80
        || ((unsigned char)c >= 0xC0 && (unsigned char)c < FIRST_COMBINING);
}

/* Copies plain text and gives the rest, with the character before it, to libunistring. */
static lcsm_status compose(lcsm_strbuf *out, const char *text, size_t size, lcsm_error *err)
{
    size_t done = 0, last = 0; /* what is written; where the last plain character begins */
    for (size_t at = 0; at < size;) {
        if ((unsigned char)text[at] < FIRST_COMBINING) {
            if (starts_plain(text[at])) last = at;
            at++;
            continue;
        }
        lcsm_strbuf_bytes(out, text + done, last - done);
        while (at < size && !starts_plain(text[at])) at++;
        LCSM_OR_RETURN(form(out, text + last, at - last, LCSM_NORMALIZE_NFC, err));
        done = last = at;
    }
    lcsm_strbuf_bytes(out, text + done, size - done);
    return LCSM_OK;
}

static void replace(lcsm_strbuf *out, const char *text, size_t size, const lcsm_normalize_step *s)
{
    size_t length = strlen(s->what), done = 0, at = 0;
    while (length > 0 && length <= size && at <= size - length) {
        if (memcmp(text + at, s->what, length) != 0) {
            at++;
            continue;
        }
        lcsm_strbuf_bytes(out, text + done, at - done);
        lcsm_strbuf_add(out, s->with);
        at += length;
        done = at;
    }
    lcsm_strbuf_bytes(out, text + done, size - done);
}

static lcsm_status step(const lcsm_normalize_step *s, const char *text, size_t size,
                        lcsm_strbuf *out, lcsm_error *err)
{
    switch (s->kind) {
    case LCSM_NORMALIZE_NFC: return compose(out, text, size, err);
    case LCSM_NORMALIZE_PREPEND:
        if (size > 0) lcsm_strbuf_add(out, s->with);
        lcsm_strbuf_bytes(out, text, size);
        return LCSM_OK;
    case LCSM_NORMALIZE_REPLACE: replace(out, text, size, s); return LCSM_OK;
    default: return form(out, text, size, s->kind, err);
    }
}

/* The full decomposition of a character begins with what decides: a mark or a Hangul vowel or final
 * consonant may join, or be ordered among, what stands before it. */
bool lcsm_normalizer_cuts_before(uint32_t code)
{
    enum { VOWELS = 0x1160, LAST_FINAL = 0x11FF };
    ucs4_t parts[UC_DECOMPOSITION_MAX_LENGTH];
    ucs4_t first = code;
    int    tag;
    if (code < 0x300) return true;
    while (uc_decomposition(first, &tag, parts) > 0) first = parts[0];
    return !uc_is_general_category_withtable(first, UC_CATEGORY_MASK_M)
        && !(first >= VOWELS && first <= LAST_FINAL);
}

lcsm_status lcsm_normalize(const lcsm_normalizer *n, const char *text, size_t size,
                           lcsm_strbuf *out, lcsm_strbuf *spare, lcsm_error *err)
{
    for (size_t j = 0; j < n->count; j++) {
        lcsm_strbuf swap = *spare; /* the step before is read while this one is written */
        *spare           = *out;
        *out             = swap;
        out->size        = 0;
        LCSM_OR_RETURN(step(&n->steps[j], text, size, out, err));
        if (out->failed)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to normalise text");
        text = lcsm_strbuf_text(out);
        size = out->size;
    }
    return LCSM_OK;
}
