/*
 * encoder.c - text in pieces of any size to ids.
 *
 *     pieces -> window, cut where a word ends -> added tokens -> runs of UTF-8 and of other bytes
 *            -> normalizer -> added tokens -> words -> cache, or BPE -> ids
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/json_scan.h"
#include "text/bpe.h"
#include "text/tokenizer.h"
#include "text/utf8.h"
#include "text/word_cache.h"

enum { IDS = 4096, WINDOW = 1 << 20 };

struct lcsm_encoder {
    const lcsm_tokenizer *tok;
    unsigned              flags;
    lcsm_ids_fn          *fn;
    void                 *user;
    lcsm_word_fn         *on_word; /* what words are given to */
    void                 *word_user;
    lcsm_strbuf           window;
    bool                  begun;   /* the text has begun, and its prefix is sent */
    bool                  goes_on; /* a part of the text was encoded before */
    lcsm_strbuf           normal, spare;
    lcsm_split_room       split;
    lcsm_bpe_room         bpe;
    lcsm_word_cache       cache;
    int32_t              *word; /* ids of a word under way */
    size_t                word_room;
    int32_t               ids[IDS];
    size_t                count;
    uint64_t              done;           /* bytes of the text that left the window */
    uint64_t              skipped;        /* bytes without a token, of all texts */
    const char           *part, *stretch; /* what is encoded, and the source of its words */
    size_t                stretch_size;
    const char           *first; /* the text that begins the whole one, or NULL */
    lcsm_strbuf           marked;
};

void lcsm_encoder_free(lcsm_encoder *enc)
{
    if (enc == NULL) return;
    lcsm_strbuf_free(&enc->window);
    lcsm_strbuf_free(&enc->normal);
    lcsm_strbuf_free(&enc->spare);
    lcsm_strbuf_free(&enc->marked);
    lcsm_split_room_free(&enc->split);
    lcsm_bpe_room_free(&enc->bpe);
    lcsm_word_cache_free(&enc->cache);
    free(enc->word);
    free(enc);
}

/* ---- ids out ---------------------------------------------------------------------------- */

static lcsm_status flush(lcsm_encoder *enc, lcsm_error *err)
{
    size_t count = enc->count;
    enc->count   = 0;
    return count == 0 ? LCSM_OK : enc->fn(enc->user, enc->ids, count, err);
}

static lcsm_status put(lcsm_encoder *enc, const int32_t *ids, size_t count, lcsm_error *err)
{
    if (count == 0) return LCSM_OK;
    if (count > IDS - enc->count) LCSM_OR_RETURN(flush(enc, err));
    if (count > IDS) return enc->fn(enc->user, ids, count, err);
    memcpy(enc->ids + enc->count, ids, count * sizeof *ids);
    enc->count += count;
    return LCSM_OK;
}

/* ---- words ------------------------------------------------------------------------------ */

/* A byte without a token: it is skipped, or the text is refused. A normaliser may have made it, and
 * then the place is that of the text it was given. */
static lcsm_status lacks(lcsm_encoder *enc, char byte, lcsm_error *err)
{
    const char *at = memchr(enc->stretch, byte, enc->stretch_size);
    if ((enc->flags & LCSM_ENCODE_SKIP) != 0) {
        enc->skipped++;
        return LCSM_OK;
    }
    if (at == NULL) at = enc->stretch;
    return lcsm_fail(err, LCSM_ERR_FORMAT,
                     "byte 0x%02X at offset %" PRIu64 " has no token in the vocabulary",
                     (unsigned)(unsigned char)byte, enc->done + (uint64_t)(at - enc->part));
}

/* The tokens of single bytes; a byte that is none becomes the unknown token if there is one. */
static lcsm_status spell(lcsm_encoder *enc, const char *word, size_t size, size_t *count,
                         lcsm_error *err)
{
    const lcsm_tokenizer *tok = enc->tok;
    int32_t              *ids = enc->word;
    *count                    = 0;
    for (size_t j = 0; j < size; j++) {
        int32_t id = tok->byte_id[(unsigned char)word[j]];
        if (id < 0) id = tok->unknown;
        bool fused = tok->fuse_unknown && id == tok->unknown && *count > 0 && ids[*count - 1] == id;
        if (id < 0) LCSM_OR_RETURN(lacks(enc, word[j], err));
        else if (!fused) ids[(*count)++] = id;
    }
    return LCSM_OK;
}

/* The tokens of characters; one without a token becomes its bytes, all of them, or the unknown
 * token. */
static lcsm_status spell_characters(lcsm_encoder *enc, const char *word, size_t size, size_t *count,
                                    lcsm_error *err)
{
    const lcsm_tokenizer *tok = enc->tok;
    size_t                n;
    *count = 0;
    for (size_t at = 0; at < size; at += n) {
        lcsm_utf8_n c = lcsm_utf8_next((const unsigned char *)word + at, size - at);
        n             = c.size > 0 ? c.size : 1;
        int32_t id    = c.code == 0x2581 && c.size > 0
                          ? lcsm_vocab_find_mapped(&tok->vocab, " ", 1)
                          : lcsm_vocab_find_mapped(&tok->vocab, word + at, n);
        bool    bytes = id < 0;
        for (size_t j = 0; j < n; j++)
            bytes = bytes && tok->byte_id[(unsigned char)word[at + j]] >= 0;
        if (id >= 0) enc->word[(*count)++] = id;
        else if (bytes) {
            for (size_t j = 0; j < n; j++)
                enc->word[(*count)++] = tok->byte_id[(unsigned char)word[at + j]];
        } else if (tok->unknown < 0) LCSM_OR_RETURN(lacks(enc, word[at], err));
        else if (!tok->fuse_unknown || *count == 0 || enc->word[*count - 1] != tok->unknown)
            enc->word[(*count)++] = tok->unknown;
    }
    return LCSM_OK;
}

/* The longest token that fits, again and again. */
static lcsm_status spell_longest(lcsm_encoder *enc, const char *word, size_t size, size_t *count,
                                 lcsm_error *err)
{
    const lcsm_tokenizer *tok = enc->tok;
    *count                    = 0;
    for (size_t at = 0, n; at < size; at += n) {
        const unsigned char *p  = (const unsigned char *)word + at;
        int32_t              id = -1;
        n                       = size - at > 1 ? tok->reach[p[0] << 8 | p[1]] : 1;
        if (n > size - at) n = size - at;
        for (; n > 1 && id < 0; n -= id < 0) id = lcsm_vocab_find_mapped(&tok->vocab, word + at, n);
        if (id < 0) n = 1;
        if (id < 0) id = tok->byte_id[p[0]];
        if (id < 0) LCSM_OR_RETURN(lacks(enc, word[at], err));
        else enc->word[(*count)++] = id;
    }
    return LCSM_OK;
}

static lcsm_status merge(lcsm_encoder *enc, const char *word, size_t size, size_t *count,
                         lcsm_error *err)
{
    if (size > enc->word_room) {
        int32_t *ids = realloc(enc->word, size * sizeof *ids);
        if (ids == NULL)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a word of %zu bytes",
                             size);
        enc->word      = ids;
        enc->word_room = size;
    }
    int32_t whole =
        enc->tok->ignore_merges ? lcsm_vocab_find_mapped(&enc->tok->vocab, word, size) : -1;
    *count = 1;
    if (whole >= 0) {
        enc->word[0] = whole;
        return LCSM_OK;
    }
    if (enc->tok->world) return spell_longest(enc, word, size, count, err);
    lcsm_status st = enc->tok->chars ? spell_characters(enc, word, size, count, err)
                                     : spell(enc, word, size, count, err);
    return st != LCSM_OK ? st : lcsm_bpe(&enc->tok->merges, &enc->bpe, enc->word, count, err);
}

/* An lcsm_word_fn. */
static lcsm_status take_word(void *user, const char *word, size_t size, lcsm_error *err)
{
    lcsm_encoder *enc   = user;
    bool          keep  = size <= LCSM_CACHED_WORD;
    uint64_t      hash  = keep ? lcsm_word_hash(word, size) : 0;
    size_t        count = 0;
    uint64_t      lost  = enc->skipped;
    if (keep) {
        const int32_t *ids = lcsm_word_cache_find(&enc->cache, hash, word, size, &count);
        if (ids != NULL) return put(enc, ids, count, err);
    }
    LCSM_OR_RETURN(merge(enc, word, size, &count, err));
    if (keep && enc->skipped == lost) /* else the next one would not be counted */
        lcsm_word_cache_put(&enc->cache, hash, word, size, enc->word, count);
    return put(enc, enc->word, count, err);
}

/* ---- stretches of text ------------------------------------------------------------------ */

typedef lcsm_status stretch_fn(lcsm_encoder *enc, const char *text, size_t size, bool goes_on,
                               lcsm_error *err);

/* Sends added tokens as they are, and what lies between them to fn. */
static lcsm_status around(lcsm_encoder *enc, const lcsm_added *added, const char *text, size_t size,
                          bool goes_on, stretch_fn *fn, lcsm_error *err)
{
    lcsm_added_search s = {.added   = added,
                           .text    = text,
                           .size    = size,
                           .special = (enc->flags & LCSM_ENCODE_SPECIAL) != 0};
    for (size_t done = 0;;) {
        lcsm_added_match m = lcsm_added_next(&s);
        if (m.begin > done)
            LCSM_OR_RETURN(fn(enc, text + done, m.begin - done, goes_on && done == 0, err));
        if (m.token == NULL) break;
        LCSM_OR_RETURN(put(enc, &m.token->id, 1, err));
        done = m.end;
    }
    return LCSM_OK;
}

/* The mark of a space begins here. */
static bool mark_at(const char *text, size_t left)
{
    return left >= 3 && memcmp(text, "\xE2\x96\x81", 3) == 0;
}

/* Spaces become marks, one is put in front where the scheme says so, and each may begin a word. */
static lcsm_status mark_stretch(lcsm_encoder *enc, const char *text, size_t size, lcsm_error *err)
{
    lcsm_strbuf          *m   = &enc->marked;
    const lcsm_tokenizer *tok = enc->tok;
    bool front                = tok->marks && (tok->marks_all || text == enc->first) && *text != ' '
              && !mark_at(text, size);
    m->size = 0;
    if (front) lcsm_strbuf_add(m, "\xE2\x96\x81");
    for (size_t j = 0; j < size; j++)
        if (text[j] == ' ') lcsm_strbuf_add(m, "\xE2\x96\x81");
        else lcsm_strbuf_bytes(m, &text[j], 1);
    if (m->failed) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a piece of text");
    for (size_t at = 0, end; at < m->size; at = end) {
        for (end = at + 1; end < m->size; end++)
            if (tok->marks_split && mark_at(m->text + end, m->size - end)) break;
        LCSM_OR_RETURN(enc->on_word(enc->word_user, m->text + at, end - at, err));
    }
    return LCSM_OK;
}

static lcsm_status split_stretch(lcsm_encoder *enc, const char *text, size_t size, bool goes_on,
                                 lcsm_error *err)
{
    if (enc->tok->marks || enc->tok->marks_split) return mark_stretch(enc, text, size, err);
    return lcsm_split(&enc->tok->splitter, &enc->split, text, size, goes_on, enc->on_word,
                      enc->word_user, err);
}

static lcsm_status utf8_stretch(lcsm_encoder *enc, const char *text, size_t size, bool goes_on,
                                lcsm_error *err)
{
    const lcsm_tokenizer *tok   = enc->tok;
    bool                  first = enc->first == text;
    if (lcsm_normalizer_changes(&tok->normalizer, text, size)) {
        LCSM_OR_RETURN(
            lcsm_normalize(&tok->normalizer, text, size, &enc->normal, &enc->spare, err));
        text = lcsm_strbuf_text(&enc->normal);
        size = enc->normal.size;
    }
    enc->first     = first ? text : NULL;
    lcsm_status st = around(enc, &tok->normalized, text, size, goes_on, split_stretch, err);
    enc->first     = NULL;
    return st;
}

/* Where bytes that are no UTF-8 end. */
static size_t foreign(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        lcsm_utf8_n n = lcsm_utf8_next((const unsigned char *)text + at, size - at);
        if (n.size > 0) break;
        at += n.bad;
    }
    return at;
}

static void source_of_words(lcsm_encoder *enc, const char *text, size_t size)
{
    enc->stretch      = text;
    enc->stretch_size = size;
}

/* UTF-8 goes through the stages; each run of other bytes is a word by itself. */
static lcsm_status raw_stretch(lcsm_encoder *enc, const char *text, size_t size, bool goes_on,
                               lcsm_error *err)
{
    for (size_t at = 0; at < size;) {
        size_t good = lcsm_utf8_check(text + at, size - at);
        source_of_words(enc, text + at, good);
        if (good > 0) LCSM_OR_RETURN(utf8_stretch(enc, text + at, good, goes_on, err));
        at += good;
        size_t bad = foreign(text + at, size - at);
        source_of_words(enc, text + at, bad);
        if (bad > 0) LCSM_OR_RETURN(enc->on_word(enc->word_user, text + at, bad, err));
        at += bad;
        goes_on = true;
    }
    return LCSM_OK;
}

static lcsm_status encode_bytes(lcsm_encoder *enc, const char *text, size_t size, lcsm_error *err)
{
    for (size_t j = 0; j < size; j++) {
        if (enc->count == IDS) LCSM_OR_RETURN(flush(enc, err));
        enc->ids[enc->count++] = (unsigned char)text[j];
    }
    return LCSM_OK;
}

/* Bytes are ids without any stage, unless someone waits for words. */
static bool only_bytes(const lcsm_encoder *enc)
{
    return enc->tok->bytes && enc->on_word == take_word;
}

static lcsm_status encode_part(lcsm_encoder *enc, const char *text, size_t size, lcsm_error *err)
{
    bool goes_on   = enc->goes_on;
    enc->first     = goes_on ? NULL : text;
    enc->goes_on   = true;
    enc->part      = text;
    lcsm_status st = around(enc, &enc->tok->raw, text, size, goes_on, raw_stretch, err);
    enc->done += size;
    return st;
}

/* ---- the window ------------------------------------------------------------------------- */

static bool is_alnum(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool space_at(const char *text, size_t size, size_t at)
{
    lcsm_utf8_n n = lcsm_utf8_next((const unsigned char *)text + at, size - at);
    return n.size == 0 || lcsm_utf8_is_space(n.code);
}

/* The start of the character that ends at `end` > 0. */
static size_t start_before(const char *text, size_t end)
{
    size_t at = end - 1;
    while (at > 0 && end - at < 4 && ((unsigned char)text[at] & 0xC0u) == 0x80) at--;
    return at;
}

/* A single line end between characters that are no white space: a word ends with it in every
 * pattern. */
static bool lone_line_end(const char *text, size_t size, size_t at)
{
    return text[at - 1] == '\n' && at >= 2 && at < size && !space_at(text, size, at)
        && !space_at(text, size, start_before(text, at - 1));
}

/* The last place where a normal form of the whole is that of the parts; at worst between two
 * characters. */
static size_t cut_between(const char *text, size_t size)
{
    for (size_t at = start_before(text, size); at > 0; at = start_before(text, at)) {
        lcsm_utf8_n n = lcsm_utf8_next((const unsigned char *)text + at, size - at);
        if (n.size > 0 && lcsm_normalizer_cuts_before(n.code)) return at;
    }
    size_t at = start_before(text, size);
    return at == 0 ? size : at;
}

/* The last place where the text can be cut: before a space that follows an ASCII letter or digit;
 * else behind a lone line end; else between two characters. */
static size_t cut_place(const char *text, size_t size)
{
    for (size_t at = size - 1; at > 0; at--)
        if (text[at] == ' ' && is_alnum((unsigned char)text[at - 1])) return at;
    for (size_t at = size - 1; at > 1; at--)
        if (lone_line_end(text, size, at)) return at;
    return cut_between(text, size);
}

static lcsm_status begin(lcsm_encoder *enc, lcsm_error *err)
{
    if (enc->begun || (enc->flags & LCSM_ENCODE_TEMPLATE) == 0) return LCSM_OK;
    enc->begun = true;
    return put(enc, enc->tok->prefix.ids, enc->tok->prefix.count, err);
}

lcsm_status lcsm_encoder_feed(lcsm_encoder *enc, const char *text, size_t size, lcsm_error *err)
{
    lcsm_strbuf *w = &enc->window;
    LCSM_OR_RETURN(begin(enc, err));
    if (only_bytes(enc)) return encode_bytes(enc, text, size, err);
    while (size > 0) {
        size_t room = enc->tok->whole ? size : WINDOW - w->size;
        size_t now  = size < room ? size : room;
        lcsm_strbuf_bytes(w, text, now);
        if (w->failed)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a piece of text");
        text += now;
        size -= now;
        if (size == 0 || enc->tok->whole) continue;
        size_t cut = cut_place(w->text, w->size);
        LCSM_OR_RETURN(encode_part(enc, w->text, cut, err));
        w->size -= cut;
        memmove(w->text, w->text + cut, w->size);
    }
    return LCSM_OK;
}

lcsm_status lcsm_encoder_finish(lcsm_encoder *enc, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    LCSM_TRY(begin(enc, err));
    if (enc->window.size > 0) LCSM_TRY(encode_part(enc, enc->window.text, enc->window.size, err));
    if ((enc->flags & LCSM_ENCODE_TEMPLATE) != 0)
        LCSM_TRY(put(enc, enc->tok->suffix.ids, enc->tok->suffix.count, err));
    LCSM_TRY(flush(enc, err));
cleanup:
    enc->window.size = 0;
    enc->count       = 0;
    enc->done        = 0;
    enc->begun = enc->goes_on = false;
    return st;
}

uint64_t lcsm_encoder_skipped(const lcsm_encoder *enc)
{
    return enc->skipped;
}

/* NULL: no memory. */
static lcsm_encoder *make(const lcsm_tokenizer *tok, unsigned flags)
{
    lcsm_encoder *enc = calloc(1, sizeof *enc);
    if (enc == NULL) return NULL;
    enc->tok       = tok;
    enc->flags     = flags;
    enc->on_word   = take_word;
    enc->word_user = enc;
    if (lcsm_split_room_create(&enc->split, NULL) == LCSM_OK) return enc;
    free(enc);
    return NULL;
}

static lcsm_status no_memory(lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for an encoder");
}

lcsm_status lcsm_encoder_create(lcsm_encoder **out, const lcsm_tokenizer *tok, unsigned flags,
                                lcsm_ids_fn *fn, void *user, lcsm_error *err)
{
    *out = make(tok, flags);
    if (*out == NULL) return no_memory(err);
    (*out)->fn   = fn;
    (*out)->user = user;
    return LCSM_OK;
}

lcsm_status lcsm_encoder_create_words(lcsm_encoder **out, const lcsm_tokenizer *tok,
                                      lcsm_word_fn *fn, void *user, lcsm_error *err)
{
    *out = make(tok, 0);
    if (*out == NULL) return no_memory(err);
    (*out)->on_word   = fn;
    (*out)->word_user = user;
    return LCSM_OK;
}

/* ---- all at once ------------------------------------------------------------------------ */

typedef struct {
    int32_t *ids;
    size_t   count, room;
} gathered;

static lcsm_status gather(void *user, const int32_t *ids, size_t count, lcsm_error *err)
{
    gathered *g = user;
    if (count > g->room - g->count) {
        size_t   room = 2 * g->room + count;
        int32_t *more = realloc(g->ids, room * sizeof *more);
        if (more == NULL)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu ids", room);
        g->ids  = more;
        g->room = room;
    }
    memcpy(g->ids + g->count, ids, count * sizeof *ids);
    g->count += count;
    return LCSM_OK;
}

lcsm_status lcsm_tokenizer_encode(const lcsm_tokenizer *tok, const char *text, size_t size,
                                  unsigned flags, int32_t **ids, size_t *count, lcsm_error *err)
{
    lcsm_status   st  = LCSM_OK;
    lcsm_encoder *enc = make(tok, flags);
    gathered      g   = {0};
    *ids              = NULL;
    *count            = 0;
    if (enc == NULL) return no_memory(err);
    enc->fn   = gather;
    enc->user = &g;
    LCSM_TRY(lcsm_encoder_feed(enc, text, size, err));
    LCSM_TRY(lcsm_encoder_finish(enc, err));
    *ids   = g.ids;
    *count = g.count;
    g.ids  = NULL;
cleanup:
    lcsm_encoder_free(enc);
    free(g.ids);
    return st;
}
