/* normalizer.c - Unicode's normal forms by utf8proc, and plain replacements. */
#include "text/normalizer.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/size.h"

static const utf8proc_option_t OPTIONS[] = {
    [LCSM_NORMALIZE_NFC]  = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
    [LCSM_NORMALIZE_NFD]  = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
    [LCSM_NORMALIZE_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
    [LCSM_NORMALIZE_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
};

static char *copy_of(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

lcsm_status lcsm_normalizer_put(lcsm_normalizer *n, lcsm_normalize_kind kind, const char *what,
                                const char *with, lcsm_error *err)
{
    lcsm_normalize_step *steps = realloc(n->steps, (n->count + 1) * sizeof *steps);
    if (steps == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no memory for a normalizer");
    n->steps               = steps;
    lcsm_normalize_step *s = &n->steps[n->count++];
    *s = (lcsm_normalize_step){.kind = kind, .what = copy_of(what), .with = copy_of(with)};
    if ((what == NULL) == (s->what == NULL) && (with == NULL) == (s->with == NULL)) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "no memory for a normalizer");
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

/* One piece through utf8proc. Most pieces are a few characters; long ones get memory. */
static lcsm_status form(lcsm_strbuf *out, const char *text, size_t size, utf8proc_option_t options,
                        lcsm_error *err)
{
    enum { SHORT = 256 };
    utf8proc_int32_t        few[SHORT], *codes = few;
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)text;
    utf8proc_ssize_t        room  = SHORT - 1;
    utf8proc_ssize_t        count =
        utf8proc_decompose(bytes, (utf8proc_ssize_t)size, codes, room, options);
    if (count > room) {
        codes = malloc(((size_t)count + 1) * sizeof *codes);
        if (codes == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no memory to normalize text");
        count = utf8proc_decompose(bytes, (utf8proc_ssize_t)size, codes, count, options);
    }
    /* the bytes take the place of the numbers, each of which has room for its character */
    if (count >= 0) count = utf8proc_reencode(codes, count, options);
    if (count > 0) lcsm_strbuf_bytes(out, (const char *)codes, (size_t)count);
    if (codes != few) free(codes);
    if (count >= 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_FORMAT, "text cannot be normalized: %s", utf8proc_errmsg(count));
}

static bool starts_plain(char c)
{
    return (unsigned char)c < 0x80
        || ((unsigned char)c >= 0xC0 && (unsigned char)c < FIRST_COMBINING);
}

/* Copies plain text and gives the rest, with the character before it, to utf8proc. */
static lcsm_status compose(lcsm_strbuf *out, const char *text, size_t size, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    size_t      done = 0, last = 0; /* what is written; where the last plain character begins */
    for (size_t at = 0; at < size;) {
        if ((unsigned char)text[at] < FIRST_COMBINING) {
            if (starts_plain(text[at])) last = at;
            at++;
            continue;
        }
        lcsm_strbuf_bytes(out, text + done, last - done);
        while (at < size && !starts_plain(text[at])) at++;
        LCSM_TRY(form(out, text + last, at - last, OPTIONS[LCSM_NORMALIZE_NFC], err));
        done = last = at;
    }
    lcsm_strbuf_bytes(out, text + done, size - done);
cleanup:
    return st;
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
    default: return form(out, text, size, OPTIONS[s->kind], err);
    }
}

lcsm_status lcsm_normalize(const lcsm_normalizer *n, const char *text, size_t size,
                           lcsm_strbuf *out, lcsm_strbuf *spare, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < n->count; j++) {
        lcsm_strbuf swap = *spare; /* the step before is read while this one is written */
        *spare           = *out;
        *out             = swap;
        out->size        = 0;
        LCSM_TRY(step(&n->steps[j], text, size, out, err));
        if (out->failed) return lcsm_fail(err, LCSM_ERR_MEMORY, "no memory to normalize text");
        text = lcsm_strbuf_text(out);
        size = out->size;
    }
cleanup:
    return st;
}
