/* tokenizer_convert.c - readers of foreign vocabularies, and one writer for each kind. */
#include "text/tokenizer_convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/json_scan.h"
#include "format/json_write.h"
#include "text/byte_map.h"
#include "text/split.h"
#include "text/utf8.h"
#include "text/vocab.h"

/* The types of tokens, numbered as SentencePiece does. */
enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE };
enum { MOST_TOKENS = 1 << 22 };

typedef struct {
    const char *text; /* not ended by a zero */
    size_t      size;
    double      score;
    int         type;
} token;

typedef struct {
    const char *label;
    token      *tokens;
    size_t      count;
    bool        prefix; /* a space goes in front of a text */
    int64_t     bos;    /* goes in front of a text too; -1: none */
    lcsm_strbuf pool;   /* of texts that had to be made */
    lcsm_error *err;
} table;

static lcsm_status no_memory(const table *t)
{
    return lcsm_fail(t->err, LCSM_ERR_MEMORY, "%.120s: not enough memory for a tokenizer",
                     t->label);
}

static lcsm_status bad(const table *t, size_t at, const char *what)
{
    return lcsm_fail(t->err, LCSM_ERR_FORMAT, "%.120s: token %zu %s", t->label, at, what);
}

static void table_free(table *t)
{
    free(t->tokens);
    lcsm_strbuf_free(&t->pool);
}

static lcsm_status table_reserve(table *t, size_t count)
{
    if (count == 0 || count > MOST_TOKENS)
        return lcsm_fail(t->err, LCSM_ERR_FORMAT, "%.120s: %zu tokens; expected 1 to %d", t->label,
                         count, MOST_TOKENS);
    t->tokens = calloc(count, sizeof *t->tokens);
    t->count  = count;
    return t->tokens != NULL ? LCSM_OK : no_memory(t);
}

/* ---- parts of the file ------------------------------------------------------------------ */

static void put_flags(lcsm_json_writer *w, bool special)
{
    static const char *const FALSE[] = {"single_word", "lstrip", "rstrip", "normalized"};
    for (size_t j = 0; j < COUNT(FALSE); j++) lcsm_json_put_bool(w, FALSE[j], false);
    lcsm_json_put_bool(w, "special", special);
}

/* A text of the table, ended by a zero, in the buffer. */
static const char *text_of(lcsm_strbuf *room, const token *t)
{
    room->size = 0;
    lcsm_strbuf_bytes(room, t->text, t->size);
    return lcsm_strbuf_text(room);
}

static void put_added(lcsm_json_writer *w, const table *t, lcsm_strbuf *room)
{
    lcsm_json_open_array(w, "added_tokens");
    for (size_t j = 0; j < t->count; j++) {
        int type = t->tokens[j].type;
        if (type != UNKNOWN && type != CONTROL && type != USER) continue;
        if (t->tokens[j].size == 0) continue;
        lcsm_json_open_object(w, NULL);
        lcsm_json_put_int(w, "id", (int64_t)j);
        lcsm_json_put_text(w, "content", text_of(room, &t->tokens[j]));
        put_flags(w, type != USER);
        lcsm_json_close(w);
    }
    lcsm_json_close(w);
}

static void put_template(lcsm_json_writer *w, const table *t, lcsm_strbuf *room)
{
    if (t->bos < 0 || (size_t)t->bos >= t->count) {
        lcsm_json_put_null(w, "post_processor");
        return;
    }
    const char *name = text_of(room, &t->tokens[t->bos]);
    lcsm_json_open_object(w, "post_processor");
    lcsm_json_put_text(w, "type", "TemplateProcessing");
    lcsm_json_open_array(w, "single");
    for (int j = 0; j < 2; j++) {
        lcsm_json_open_object(w, NULL);
        lcsm_json_open_object(w, j == 0 ? "SpecialToken" : "Sequence");
        lcsm_json_put_text(w, "id", j == 0 ? name : "A");
        lcsm_json_put_int(w, "type_id", 0);
        lcsm_json_close(w);
        lcsm_json_close(w);
    }
    lcsm_json_close(w);
    lcsm_json_open_array(w, "pair");
    lcsm_json_close(w);
    lcsm_json_open_object(w, "special_tokens");
    lcsm_json_open_object(w, name);
    lcsm_json_put_text(w, "id", name);
    lcsm_json_open_array(w, "ids");
    lcsm_json_put_int(w, NULL, t->bos);
    lcsm_json_close(w);
    lcsm_json_open_array(w, "tokens");
    lcsm_json_put_text(w, NULL, name);
    lcsm_json_close(w);
    for (int j = 0; j < 3; j++) lcsm_json_close(w);
}

static void put_part(lcsm_json_writer *w, const char *type, const char *key, const char *value)
{
    lcsm_json_open_object(w, NULL);
    lcsm_json_put_text(w, "type", type);
    if (key != NULL) lcsm_json_put_text(w, key, value);
    lcsm_json_close(w);
}

static void put_replace(lcsm_json_writer *w, const char *from, const char *to)
{
    lcsm_json_open_object(w, NULL);
    lcsm_json_put_text(w, "type", "Replace");
    lcsm_json_open_object(w, "pattern");
    lcsm_json_put_text(w, "String", from);
    lcsm_json_close(w);
    lcsm_json_put_text(w, "content", to);
    lcsm_json_close(w);
}

static void begin(lcsm_json_writer *w, const table *t, lcsm_strbuf *room)
{
    *w = lcsm_json_writer_pretty();
    lcsm_json_open_object(w, NULL);
    lcsm_json_put_text(w, "version", "1.0");
    lcsm_json_put_null(w, "truncation");
    lcsm_json_put_null(w, "padding");
    put_added(w, t, room);
}

static lcsm_status finish(lcsm_json_writer *w, const table *t, lcsm_strbuf *room, char **json,
                          size_t *size)
{
    lcsm_status st;
    lcsm_json_close(w);
    w->text.failed = w->text.failed || room->failed;
    LCSM_TRY(lcsm_json_writer_finish(w, t->err));
    *json   = w->text.text;
    *size   = w->text.size;
    w->text = (lcsm_strbuf){0};
cleanup:
    lcsm_json_writer_free(w);
    lcsm_strbuf_free(room);
    return st;
}

/* Ids by text; a text that stands for nothing, or comes twice, is left out. */
static lcsm_status put_vocab(lcsm_json_writer *w, const table *t, lcsm_vocab *vocab,
                             lcsm_strbuf *room)
{
    LCSM_OR_RETURN(lcsm_vocab_create(vocab, t->count, t->err));
    lcsm_json_open_object(w, "vocab");
    for (size_t j = 0; j < t->count; j++) {
        const token *k = &t->tokens[j];
        if (k->size == 0 || memchr(k->text, 0, k->size) != NULL
            || lcsm_vocab_find(vocab, k->text, k->size) >= 0)
            continue;
        if (!lcsm_vocab_put(vocab, (int32_t)j, k->text, k->size, true)) return no_memory(t);
        lcsm_json_put_int(w, text_of(room, k), (int64_t)j);
    }
    lcsm_json_close(w);
    return LCSM_OK;
}

/* ---- SentencePiece-style BPE ------------------------------------------------------------ */

typedef struct {
    int32_t left, right;
    size_t  place; /* in the order in which they were found */
    double  score;
} merge;

typedef struct {
    merge *list;
    size_t count, room;
} merges;

/* The best score first; of equal ones, the first. */
static int by_score(const void *a, const void *b)
{
    const merge *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

static lcsm_status add_merge(merges *m, const table *t, int32_t left, int32_t right, double score)
{
    if (m->count == m->room) {
        size_t room = 2 * m->room + 1024;
        merge *more = realloc(m->list, room * sizeof *more);
        if (more == NULL) return no_memory(t);
        m->list = more;
        m->room = room;
    }
    m->list[m->count] = (merge){left, right, m->count, score};
    m->count++;
    return LCSM_OK;
}

/* Every way to make a token of two others. */
static lcsm_status find_merges(merges *m, const table *t, const lcsm_vocab *vocab)
{
    for (size_t j = 0; j < t->count; j++) {
        const token *k = &t->tokens[j];
        if (k->type != NORMAL && k->type != USER && k->type != UNUSED) continue;
        for (size_t at = 1; at < k->size; at++) {
            if (((unsigned char)k->text[at] & 0xC0u) == 0x80) continue;
            int32_t left  = lcsm_vocab_find(vocab, k->text, at);
            int32_t right = left < 0 ? -1 : lcsm_vocab_find(vocab, k->text + at, k->size - at);
            if (right >= 0) LCSM_OR_RETURN(add_merge(m, t, left, right, k->score));
        }
    }
    if (m->count > 1) qsort(m->list, m->count, sizeof *m->list, by_score);
    return LCSM_OK;
}

static void put_merges(lcsm_json_writer *w, const table *t, const merges *m, lcsm_strbuf *room)
{
    lcsm_json_open_array(w, "merges");
    for (size_t j = 0; j < m->count; j++) {
        lcsm_json_open_array(w, NULL);
        lcsm_json_put_text(w, NULL, text_of(room, &t->tokens[m->list[j].left]));
        lcsm_json_put_text(w, NULL, text_of(room, &t->tokens[m->list[j].right]));
        lcsm_json_close(w);
    }
    lcsm_json_close(w);
}

#define MARK "\xE2\x96\x81"

static void put_stages(lcsm_json_writer *w, const table *t, lcsm_strbuf *room)
{
    lcsm_json_open_object(w, "normalizer");
    lcsm_json_put_text(w, "type", "Sequence");
    lcsm_json_open_array(w, "normalizers");
    if (t->prefix) put_part(w, "Prepend", "prepend", MARK);
    put_replace(w, " ", MARK);
    lcsm_json_close(w);
    lcsm_json_close(w);
    lcsm_json_put_null(w, "pre_tokenizer");
    put_template(w, t, room);
    lcsm_json_open_object(w, "decoder");
    lcsm_json_put_text(w, "type", "Sequence");
    lcsm_json_open_array(w, "decoders");
    put_replace(w, MARK, " ");
    put_part(w, "ByteFallback", NULL, NULL);
    put_part(w, "Fuse", NULL, NULL);
    if (t->prefix) {
        lcsm_json_open_object(w, NULL);
        lcsm_json_put_text(w, "type", "Strip");
        lcsm_json_put_text(w, "content", " ");
        lcsm_json_put_int(w, "start", 1);
        lcsm_json_put_int(w, "stop", 0);
        lcsm_json_close(w);
    }
    lcsm_json_close(w);
    lcsm_json_close(w);
}

static const token *unknown_of(const table *t)
{
    for (size_t j = 0; j < t->count; j++)
        if (t->tokens[j].type == UNKNOWN) return &t->tokens[j];
    return NULL;
}

static lcsm_status write_characters(char **json, size_t *size, const table *t)
{
    lcsm_json_writer w;
    lcsm_strbuf      room  = {0};
    lcsm_vocab       vocab = {0};
    merges           m     = {0};
    const token     *unk   = unknown_of(t);
    begin(&w, t, &room);
    put_stages(&w, t, &room);
    lcsm_json_open_object(&w, "model");
    lcsm_json_put_text(&w, "type", "BPE");
    if (unk != NULL) lcsm_json_put_text(&w, "unk_token", text_of(&room, unk));
    lcsm_json_put_bool(&w, "fuse_unk", true);
    lcsm_json_put_bool(&w, "byte_fallback", true);
    lcsm_json_put_bool(&w, "ignore_merges", false);
    lcsm_status st = put_vocab(&w, t, &vocab, &room);
    if (st == LCSM_OK) st = find_merges(&m, t, &vocab);
    if (st == LCSM_OK) put_merges(&w, t, &m, &room);
    lcsm_json_close(&w);
    lcsm_vocab_free(&vocab);
    free(m.list);
    if (st == LCSM_OK) return finish(&w, t, &room, json, size);
    lcsm_json_writer_free(&w);
    lcsm_strbuf_free(&room);
    return st;
}

/* ---- RWKV World ------------------------------------------------------------------------- */

/* The texts are bytes; token 0 ends a text. */
static lcsm_status write_world(char **json, size_t *size, const table *t)
{
    lcsm_json_writer w;
    lcsm_strbuf      room = {0};
    begin(&w, t, &room);
    lcsm_json_put_null(&w, "normalizer");
    lcsm_json_put_null(&w, "pre_tokenizer");
    lcsm_json_put_null(&w, "post_processor");
    lcsm_json_put_null(&w, "decoder");
    lcsm_json_open_object(&w, "model");
    lcsm_json_put_text(&w, "type", "World");
    lcsm_json_open_object(&w, "vocab");
    for (size_t j = 1; j < t->count; j++) {
        room.size = 0;
        if (t->tokens[j].size == 0) continue;
        lcsm_byte_map_write(&room, t->tokens[j].text, t->tokens[j].size);
        lcsm_json_put_int(&w, lcsm_strbuf_text(&room), (int64_t)j);
    }
    lcsm_json_close(&w);
    lcsm_json_open_array(&w, "merges");
    lcsm_json_close(&w);
    lcsm_json_close(&w);
    return finish(&w, t, &room, json, size);
}

static int hex(const char *at, const char *end, int digits, uint32_t *code)
{
    static const char DIGITS[] = "0123456789abcdef";
    *code                      = 0;
    if (end - at < digits) return -1;
    for (int j = 0; j < digits; j++) {
        char        c = at[j] >= 'A' && at[j] <= 'F' ? (char)(at[j] + 32) : at[j];
        const char *d = c != '\0' ? strchr(DIGITS, c) : NULL;
        if (d == NULL) return -1;
        *code = *code * 16 + (uint32_t)(d - DIGITS);
    }
    return digits;
}

/* A literal of Python without its quotes: characters, or with `raw` bytes. false: it is none. */
static bool unescape(lcsm_strbuf *out, const char *at, const char *end, bool raw)
{
    static const char FROM[] = "ntr\\'\"", TO[] = "\n\t\r\\'\"";
    while (at < end) {
        uint32_t code;
        char     room[4];
        if (*at != '\\') {
            lcsm_strbuf_bytes(out, at++, 1);
            continue;
        }
        if (++at == end) return false;
        const char *known  = *at != '\0' ? strchr(FROM, *at) : NULL;
        int         digits = *at == 'x' ? 2 : *at == 'u' && !raw ? 4 : 0;
        at++;
        if (known != NULL) lcsm_strbuf_bytes(out, &TO[known - FROM], 1);
        else if (digits == 0 || hex(at, end, digits, &code) < 0) return false;
        else if (raw) lcsm_strbuf_bytes(out, &(char){(char)(unsigned char)code}, 1);
        else lcsm_strbuf_bytes(out, room, lcsm_utf8_put(room, code));
        at += known != NULL ? 0 : digits;
    }
    return true;
}

/* Texts move with the pool while it grows: they are places until all are there. */
static void settle(table *t, const size_t *places)
{
    for (size_t j = 0; j < t->count; j++)
        t->tokens[j].text = lcsm_strbuf_text(&t->pool) + places[j];
}

/* "id literal size" */
static lcsm_status read_line(table *t, size_t *places, const char *line, const char *end,
                             size_t number)
{
    char       *after;
    char        copy[16] = "";
    const char *space = memchr(line, ' ', (size_t)(end - line)), *last = end;
    if (space == NULL || space - line > 9) return bad(t, number, "has no id");
    memcpy(copy, line, (size_t)(space - line));
    long id = strtol(copy, &after, 10);
    while (last > space && last[-1] != ' ') last--;
    if (*after != '\0' || id < 1 || id >= (long)t->count || last <= space + 2
        || t->tokens[id].size > 0 || end - last > 9)
        return bad(t, number, "is not a line of a new id, a text and a size");
    (void)snprintf(copy, sizeof copy, "%.*s", (int)(end - last), last);
    const char *at = space + 1, *stop = last - 2; /* the quote in front of the last space */
    bool        raw = *at == 'b';
    at += raw;
    if (stop <= at || (*at != '\'' && *at != '"') || *stop != *at)
        return bad(t, number, "has a text without quotes");
    places[id] = t->pool.size;
    if (!unescape(&t->pool, at + 1, stop, raw)) return bad(t, number, "has an unknown escape");
    t->tokens[id].size = t->pool.size - places[id];
    t->tokens[id].type = NORMAL;
    if ((long)t->tokens[id].size != strtol(copy, NULL, 10) || t->tokens[id].size == 0)
        return bad(t, number, "has another size than its line says");
    return LCSM_OK;
}

static void put_end_of_text(table *t)
{
    t->tokens[0]      = (token){.text = "<|rwkv_tokenizer_end_of_text|>", .type = CONTROL};
    t->tokens[0].size = strlen(t->tokens[0].text);
}

lcsm_status lcsm_tokenizer_from_world(char **json, size_t *size, const char *label,
                                      const char *data, size_t bytes, lcsm_error *err)
{
    table       t     = {.label = label, .bos = -1, .err = err};
    size_t      lines = 2, number = 0;
    size_t     *places = NULL;
    lcsm_status st;
    for (size_t j = 0; j < bytes; j++) lines += data[j] == '\n';
    LCSM_TRY(table_reserve(&t, lines + 1));
    places = calloc(t.count, sizeof *places);
    if (places == NULL) LCSM_TRY(no_memory(&t));
    for (const char *at = data, *end = data + bytes, *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        const char *last = stop > at && stop[-1] == '\r' ? stop - 1 : stop;
        if (last > at) LCSM_TRY(read_line(&t, places, at, last, ++number));
    }
    if (t.pool.failed) LCSM_TRY(no_memory(&t));
    settle(&t, places);
    put_end_of_text(&t);
    LCSM_TRY(write_world(json, size, &t));
cleanup:
    free(places);
    table_free(&t);
    return st;
}

/* ---- tokenizer.model -------------------------------------------------------------------- */

typedef struct {
    const unsigned char *at, *end;
} message;

/* A number of protobuf: seven bits a byte. */
static bool varint(message *m, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        unsigned char c = *m->at++;
        *out |= (uint64_t)(c & 127u) << shift;
        if (c < 128) return true;
    }
    return false;
}

typedef struct {
    uint64_t field, number; /* number: of wire types 0 and 5 */
    message  inner;         /* of wire type 2 */
} member;

static bool next_member(message *m, member *out)
{
    uint64_t key, size;
    if (!varint(m, &key)) return false;
    *out = (member){.field = key >> 3};
    switch (key & 7) {
    case 0: return varint(m, &out->number);
    case 1: size = 8; break;
    case 5: size = 4; break;
    case 2:
        if (!varint(m, &size)) return false;
        break;
    default: return false;
    }
    if (size > (uint64_t)(m->end - m->at)) return false;
    out->inner = (message){m->at, m->at + size};
    if ((key & 7) == 5)
        for (int j = 4; j-- > 0;) out->number = out->number << 8 | m->at[j];
    m->at += size;
    return true;
}

static bool read_piece(token *out, message m)
{
    *out = (token){.type = NORMAL};
    while (m.at < m.end) {
        member   f;
        uint32_t bits;
        float    score;
        if (!next_member(&m, &f)) return false;
        if (f.field == 1) {
            out->text = (const char *)f.inner.at;
            out->size = (size_t)(f.inner.end - f.inner.at);
        } else if (f.field == 2) {
            bits = (uint32_t)f.number;
            memcpy(&score, &bits, sizeof score);
            out->score = (double)score;
        } else if (f.field == 3) out->type = (int)(f.number & 15);
    }
    return out->text != NULL && lcsm_utf8_check(out->text, out->size) == out->size
        && out->score == out->score;
}

/* The kind of model must be BPE (2). */
static bool is_bpe(message m)
{
    uint64_t kind = 1;
    while (m.at < m.end) {
        member f;
        if (!next_member(&m, &f)) return false;
        if (f.field == 3) kind = f.number;
    }
    return kind == 2;
}

/* A prefix, and no rules that change texts. */
static bool read_rules(table *t, message m)
{
    bool plain = true, extra = true;
    while (m.at < m.end) {
        member f;
        if (!next_member(&m, &f)) return false;
        if (f.field == 2 && f.inner.at < f.inner.end) plain = false;
        if (f.field == 3) t->prefix = f.number != 0;
        if (f.field == 4) extra = f.number != 0;
    }
    return plain && !extra;
}

static lcsm_status read_model(table *t, message m)
{
    size_t  count = 0;
    member  f;
    message again = m;
    while (m.at < m.end) {
        if (!next_member(&m, &f))
            return lcsm_fail(t->err, LCSM_ERR_FORMAT,
                             "%.120s is not a whole model of SentencePiece", t->label);
        count += f.field == 1;
    }
    LCSM_OR_RETURN(table_reserve(t, count));
    bool bpe = false, plain = false;
    for (count = 0; again.at < again.end;) {
        (void)next_member(&again, &f);
        if (f.field == 1 && !read_piece(&t->tokens[count++], f.inner))
            return bad(t, count - 1, "is broken");
        if (f.field == 2) bpe = is_bpe(f.inner);
        if (f.field == 3) plain = read_rules(t, f.inner);
    }
    if (!bpe || !plain)
        return lcsm_fail(
            t->err, LCSM_ERR_FORMAT,
            "%.120s: %s; expected a tokenizer.json, or SentencePiece BPE without rules "
            "that change the text",
            t->label, bpe ? "it normalises texts or drops spaces" : "it is not BPE");
    return LCSM_OK;
}

lcsm_status lcsm_tokenizer_from_sentencepiece(char **json, size_t *size, const char *label,
                                              const unsigned char *data, size_t bytes,
                                              lcsm_error *err)
{
    table       t  = {.label = label, .prefix = true, .bos = -1, .err = err};
    lcsm_status st = read_model(&t, (message){data, data + bytes});
    for (size_t j = 0; j < t.count && st == LCSM_OK; j++)
        if (t.tokens[j].type == CONTROL && t.tokens[j].size == 3
            && memcmp(t.tokens[j].text, "<s>", 3) == 0)
            t.bos = (int64_t)j;
    if (st == LCSM_OK) st = write_characters(json, size, &t);
    table_free(&t);
    return st;
}

/* ---- GGUF ------------------------------------------------------------------------------- */

static const json_t *key_of(const json_t *keys, const char *name)
{
    char full[96];
    (void)snprintf(full, sizeof full, "tokenizer.ggml.%s", name);
    return json_object_get(keys, full);
}

static lcsm_status read_tokens(table *t, const json_t *keys)
{
    const json_t *texts = key_of(keys, "tokens"), *scores = key_of(keys, "scores"),
                 *types = key_of(keys, "token_type"), *add = key_of(keys, "add_bos_token"),
                 *space = key_of(keys, "add_space_prefix"), *bos = key_of(keys, "bos_token_id");
    LCSM_OR_RETURN(table_reserve(t, json_array_size(texts)));
    for (size_t j = 0; j < t->count; j++) {
        const json_t *text = json_array_get(texts, j), *type = json_array_get(types, j);
        if (!json_is_string(text)) return bad(t, j, "is not a text");
        t->tokens[j] =
            (token){.text  = json_string_value(text),
                    .size  = json_string_length(text),
                    .score = json_number_value(json_array_get(scores, j)),
                    .type  = json_is_integer(type) ? (int)json_integer_value(type) : NORMAL};
    }
    t->prefix = space == NULL || json_is_true(space);
    t->bos    = json_is_true(add) && json_is_integer(bos) ? json_integer_value(bos) : -1;
    return LCSM_OK;
}

/* The tokens of World are written as Python writes bytes. */
static lcsm_status convert_world(table *t)
{
    size_t     *places = calloc(t->count, sizeof *places);
    lcsm_status st     = places != NULL ? LCSM_OK : no_memory(t);
    for (size_t j = 1; j < t->count && st == LCSM_OK; j++) {
        token *k  = &t->tokens[j];
        places[j] = t->pool.size;
        bool pad  = k->size > 4 && memcmp(k->text, "[PAD", 4) == 0;
        if (!pad && !unescape(&t->pool, k->text, k->text + k->size, true))
            st = bad(t, j, "has an unknown escape");
        k->size = t->pool.size - places[j];
        k->type = NORMAL;
    }
    if (st == LCSM_OK && t->pool.failed) st = no_memory(t);
    if (st == LCSM_OK) settle(t, places);
    if (st == LCSM_OK) put_end_of_text(t);
    free(places);
    return st;
}

/* How texts are cut into words, by the name that llama.cpp has for it. */
static const struct {
    const char *names, *first, *second; /* a split in front of the pattern; the pattern */
} CUTS[] = {
    {"|gpt-2|gpt2|mpt|olmo|jais|phi-2|roberta-bpe|", NULL, LCSM_GPT2_PATTERN},
    {"|refact|command-r|smollm|starcoder|granite|", "\\p{N}", LCSM_GPT2_PATTERN},
    {"|llama-bpe|llama3|llama-v3|dbrx|smaug-bpe|falcon3|", NULL,
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
     "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"|qwen2|stablelm2|hunyuan|", NULL,
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
     "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"|qwen35|", NULL,
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "
     "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
};

static void put_split(lcsm_json_writer *w, const char *pattern)
{
    lcsm_json_open_object(w, NULL);
    lcsm_json_put_text(w, "type", "Split");
    lcsm_json_open_object(w, "pattern");
    lcsm_json_put_text(w, "Regex", pattern);
    lcsm_json_close(w);
    lcsm_json_put_text(w, "behavior", "Isolated");
    lcsm_json_put_bool(w, "invert", false);
    lcsm_json_close(w);
}

static void put_cuts(lcsm_json_writer *w, size_t row)
{
    lcsm_json_open_object(w, "pre_tokenizer");
    lcsm_json_put_text(w, "type", "Sequence");
    lcsm_json_open_array(w, "pretokenizers");
    if (CUTS[row].first != NULL) put_split(w, CUTS[row].first);
    put_split(w, CUTS[row].second);
    lcsm_json_open_object(w, NULL);
    lcsm_json_put_text(w, "type", "ByteLevel");
    lcsm_json_put_bool(w, "add_prefix_space", false);
    lcsm_json_put_bool(w, "use_regex", false);
    lcsm_json_close(w);
    lcsm_json_close(w);
    lcsm_json_close(w);
}

static bool find_cuts(size_t *row, const char *name)
{
    char key[64];
    (void)snprintf(key, sizeof key, "|%.40s|", name);
    for (*row = 0; *row < COUNT(CUTS); ++*row)
        if (strstr(CUTS[*row].names, key) != NULL) return true;
    return false;
}

static lcsm_status write_bytes(char **json, size_t *size, table *t, const json_t *keys)
{
    lcsm_json_writer w;
    lcsm_strbuf      room  = {0};
    lcsm_vocab       vocab = {0};
    const char      *name  = json_string_value(key_of(keys, "pre"));
    const json_t    *pairs = key_of(keys, "merges"), *item;
    size_t           row, at;
    if (!find_cuts(&row, name != NULL ? name : "gpt-2"))
        return lcsm_fail(t->err, LCSM_ERR_FORMAT,
                         "%.100s: tokenizer.ggml.pre is \"%.40s\", which is not supported",
                         t->label, name);
    begin(&w, t, &room);
    lcsm_json_put_null(&w, "normalizer");
    put_cuts(&w, row);
    put_template(&w, t, &room);
    lcsm_json_open_object(&w, "decoder");
    lcsm_json_put_text(&w, "type", "ByteLevel");
    lcsm_json_close(&w);
    lcsm_json_open_object(&w, "model");
    lcsm_json_put_text(&w, "type", "BPE");
    lcsm_json_put_bool(&w, "ignore_merges", row == 2);
    lcsm_status st = put_vocab(&w, t, &vocab, &room);
    lcsm_json_open_array(&w, "merges");
    json_array_foreach(pairs, at, item)
    {
        if (json_is_string(item)) lcsm_json_put_text(&w, NULL, json_string_value(item));
    }
    lcsm_json_close(&w);
    lcsm_json_close(&w);
    lcsm_vocab_free(&vocab);
    if (st == LCSM_OK) return finish(&w, t, &room, json, size);
    lcsm_json_writer_free(&w);
    lcsm_strbuf_free(&room);
    return st;
}

lcsm_status lcsm_tokenizer_from_gguf(char **json, size_t *size, const char *label,
                                     const json_t *keys, lcsm_error *err)
{
    table       t     = {.label = label, .bos = -1, .err = err};
    const char *model = json_string_value(key_of(keys, "model"));
    lcsm_status st;
    *json = NULL;
    *size = 0;
    if (model == NULL || strcmp(model, "none") == 0 || strcmp(model, "no_vocab") == 0
        || key_of(keys, "tokens") == NULL)
        return LCSM_OK;
    LCSM_TRY(read_tokens(&t, keys));
    if (strcmp(model, "gpt2") == 0) LCSM_TRY(write_bytes(json, size, &t, keys));
    else if (strcmp(model, "llama") == 0) LCSM_TRY(write_characters(json, size, &t));
    else if (strcmp(model, "rwkv") == 0) {
        LCSM_TRY(convert_world(&t));
        LCSM_TRY(write_world(json, size, &t));
    } else
        LCSM_TRY(
            lcsm_fail(err, LCSM_ERR_FORMAT,
                      "%.100s: tokenizer.ggml.model is \"%.40s\"; expected gpt2, llama or rwkv",
                      label, model));
cleanup:
    table_free(&t);
    return st;
}
