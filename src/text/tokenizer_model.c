/* tokenizer_model.c - the vocabulary, the merges and the added tokens of a tokenizer.json. */
#include <stdlib.h>
#include <string.h>

#include "text/byte_map.h"
#include "text/tokenizer_read.h"

typedef lcsm_tokenizer_reading reading;

static size_t text_size(const lcsm_json *v)
{
    return json_string_length(v->value);
}

static lcsm_status no_memory(lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a tokenizer");
}

/* ---- model ------------------------------------------------------------------------------ */

static lcsm_status check_model(reading *r, lcsm_error *err)
{
    static const char *const EMPTY[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    static const char *const TYPES[] = {"BPE", "World"};
    size_t                   kind    = 0;
    double                   dropout = 0;
    LCSM_OR_RETURN(lcsm_json_get_object(&r->model, lcsm_json_need(&r->root, "model"), err));
    if (lcsm_json_has(&r->model, "type"))
        LCSM_OR_RETURN(lcsm_json_get_choice(&kind, lcsm_json_need(&r->model, "type"), TYPES,
                                            COUNT(TYPES), err));
    if (lcsm_json_has(&r->model, "dropout"))
        LCSM_OR_RETURN(
            lcsm_json_get_real(&dropout, lcsm_json_need(&r->model, "dropout"), 0, 0, err));
    for (size_t j = 0; j < COUNT(EMPTY); j++) {
        const char *text = "";
        if (!lcsm_json_has(&r->model, EMPTY[j])) continue;
        lcsm_json v = lcsm_json_need(&r->model, EMPTY[j]);
        LCSM_OR_RETURN(lcsm_json_get_text(&text, v, err));
        if (*text != '\0') return lcsm_json_fail(&v, err, "nothing, as in byte-level BPE");
    }
    LCSM_OR_RETURN(lcsm_tokenizer_get_flag(&r->tok->fuse_unknown, &r->model, "fuse_unk", err));
    LCSM_OR_RETURN(
        lcsm_tokenizer_get_flag(&r->tok->ignore_merges, &r->model, "ignore_merges", err));
    if (!r->tok->ignore_merges || !r->tok->chars) return LCSM_OK;
    lcsm_json v = lcsm_json_need(&r->model, "ignore_merges");
    return lcsm_json_fail(&v, err, "false where byte_fallback is true");
}

/* "<0x0A>": two upper-case digits. -1: not the token of a byte. */
static int byte_of(const char *text, size_t size)
{
    static const char DIGITS[] = "0123456789ABCDEF";
    if (size != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>') return -1;
    const char *a = text[3] != '\0' ? strchr(DIGITS, text[3]) : NULL;
    const char *b = text[4] != '\0' ? strchr(DIGITS, text[4]) : NULL;
    return a == NULL || b == NULL ? -1 : (int)((a - DIGITS) * 16 + (b - DIGITS));
}

/* The bytes that a token stands for, into the room. Of characters, U+2581 is a space, and the token
 * of a byte is that byte, which merges cannot make. */
static size_t bytes_of(const reading *r, const char *text, size_t size, bool *mapped)
{
    if (!r->tok->chars) return lcsm_byte_map_read(r->room, text, size, mapped);
    int    byte = byte_of(text, size);
    size_t used = 0;
    *mapped     = byte < 0;
    if (byte >= 0) r->room[used++] = (char)byte;
    for (size_t j = 0; j < size && byte < 0; j++) {
        bool mark       = size - j >= 3 && memcmp(text + j, "\xE2\x96\x81", 3) == 0;
        r->room[used++] = mark ? ' ' : text[j];
        j += mark ? 2 : 0;
    }
    return used;
}

static lcsm_status put_token(reading *r, const lcsm_json *v, const char *text, size_t size,
                             int32_t id, lcsm_error *err)
{
    bool        mapped;
    size_t      length = bytes_of(r, text, size, &mapped);
    size_t      there_size;
    const char *there = lcsm_vocab_bytes(&r->tok->vocab, id, &there_size);
    if (there != NULL && there_size == length && memcmp(there, r->room, length) == 0)
        return LCSM_OK; /* a token of the model that is added too */
    if (there != NULL) return lcsm_json_fail(v, err, "an id that no other token has");
    if (!lcsm_vocab_put(&r->tok->vocab, id, r->room, length, mapped)) return no_memory(err);
    return LCSM_OK;
}

/* The largest id of all tokens, which says how many there may be. */
static lcsm_status count_ids(reading *r, const lcsm_json *vocab, const lcsm_json *added,
                             size_t *count, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    int32_t     id = -1;
    for (lcsm_json m = lcsm_json_first(vocab); m.value != NULL; m = lcsm_json_next(&m)) {
        LCSM_OR_RETURN(lcsm_tokenizer_get_id(&id, r, m, err));
        if ((size_t)id >= *count) *count = (size_t)id + 1;
    }
    for (size_t j = 0; j < lcsm_json_count(added); j++) {
        lcsm_json item = lcsm_json_item(added, j);
        LCSM_OR_RETURN(lcsm_tokenizer_get_id(&id, r, lcsm_json_need(&item, "id"), err));
        if ((size_t)id >= *count) *count = (size_t)id + 1;
    }
    if (*count == 0) st = lcsm_json_fail(vocab, err, "at least one token");
    return st;
}

/* In a vocabulary of characters the tokens of bytes were noted as they were put. */
static void find_bytes(lcsm_tokenizer *tok)
{
    for (int j = 0; j < 256 && !tok->chars; j++) {
        char c          = (char)j;
        tok->byte_id[j] = lcsm_vocab_find_mapped(&tok->vocab, &c, 1);
    }
}

/* For World: how long the tokens are that begin with two bytes. */
static lcsm_status measure_reach(lcsm_tokenizer *tok, lcsm_error *err)
{
    enum { PAIRS = 1 << 16, LONGEST = 255 };
    tok->reach = calloc(PAIRS, 1);
    if (tok->reach == NULL) return no_memory(err);
    for (size_t j = 0; j < tok->vocab.count; j++) {
        size_t               size;
        const unsigned char *p =
            (const unsigned char *)lcsm_vocab_bytes(&tok->vocab, (int32_t)j, &size);
        if (p == NULL || size < 2 || !tok->vocab.entries[j].mapped) continue;
        unsigned char *reach = &tok->reach[p[0] << 8 | p[1]];
        if (size > LONGEST)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "token %zu has %zu bytes; expected at most %d",
                             j, size, LONGEST);
        if (size > *reach) *reach = (unsigned char)size;
    }
    return LCSM_OK;
}

/* Tokens that merges can make come first, so that their bytes find them. */
static lcsm_status read_vocab(reading *r, const lcsm_json *vocab, lcsm_error *err)
{
    for (int pass = 0; pass < 2; pass++) {
        for (lcsm_json m = lcsm_json_first(vocab); m.value != NULL; m = lcsm_json_next(&m)) {
            bool    mapped;
            int32_t id;
            (void)bytes_of(r, m.key, strlen(m.key), &mapped);
            if (mapped != (pass == 0)) continue;
            LCSM_OR_RETURN(lcsm_tokenizer_get_id(&id, r, m, err));
            LCSM_OR_RETURN(put_token(r, &m, m.key, strlen(m.key), id, err));
            int byte = r->tok->chars ? byte_of(m.key, strlen(m.key)) : -1;
            if (byte >= 0) r->tok->byte_id[byte] = id;
        }
    }
    find_bytes(r->tok);
    return LCSM_OK;
}

/* A token of the model by how it is written; -1 if there is none. */
static int32_t id_of(const reading *r, const char *text, size_t size)
{
    bool    mapped;
    size_t  length = bytes_of(r, text, size, &mapped);
    int32_t id     = lcsm_vocab_find(&r->tok->vocab, r->room, length);
    return id >= 0 && r->tok->vocab.entries[id].mapped == mapped ? id : -1;
}

/* "a b" or ["a", "b"]. */
static lcsm_status halves(const lcsm_json *v, const char *text[2], size_t size[2], lcsm_error *err)
{
    if (json_is_string(v->value)) {
        const char *whole = json_string_value(v->value), *space = strchr(whole, ' ');
        if (space == NULL || strchr(space + 1, ' ') != NULL)
            return lcsm_json_fail(v, err, "two tokens with one space between them");
        text[0] = whole;
        size[0] = (size_t)(space - whole);
        text[1] = space + 1;
        size[1] = strlen(space + 1);
        return LCSM_OK;
    }
    lcsm_json pair;
    LCSM_OR_RETURN(lcsm_json_get_array(&pair, *v, 2, 2, err));
    for (size_t j = 0; j < 2; j++) {
        lcsm_json item = lcsm_json_item(&pair, j);
        LCSM_OR_RETURN(lcsm_json_get_text(&text[j], item, err));
        size[j] = text_size(&item);
    }
    return LCSM_OK;
}

static lcsm_status read_merge(reading *r, const lcsm_json *v, size_t rank, lcsm_error *err)
{
    const char *text[2] = {"", ""};
    size_t      size[2] = {0, 0};
    LCSM_OR_RETURN(halves(v, text, size, err));
    int32_t left = id_of(r, text[0], size[0]), right = id_of(r, text[1], size[1]);
    if (left < 0 || right < 0) return lcsm_json_fail(v, err, "two tokens of the vocabulary");
    size_t      a, b;
    const char *first  = lcsm_vocab_bytes(&r->tok->vocab, left, &a);
    const char *second = lcsm_vocab_bytes(&r->tok->vocab, right, &b);
    memcpy(r->room, first, a);
    memcpy(r->room + a, second, b);
    int32_t id = lcsm_vocab_find(&r->tok->vocab, r->room, a + b);
    if (id < 0) return lcsm_json_fail(v, err, "a pair whose joint text is in the vocabulary");
    lcsm_merges_put(&r->tok->merges, left, right, (int32_t)rank, id);
    return LCSM_OK;
}

lcsm_status lcsm_tokenizer_read_model(reading *r, const lcsm_json *added, lcsm_error *err)
{
    size_t      count   = 0;
    const char *unknown = NULL;
    lcsm_json   vocab, merges;
    LCSM_OR_RETURN(check_model(r, err));
    LCSM_OR_RETURN(lcsm_json_get_object(&vocab, lcsm_json_need(&r->model, "vocab"), err));
    bool world = r->tok->world;
    LCSM_OR_RETURN(lcsm_json_get_array(&merges, lcsm_json_need(&r->model, "merges"), 0,
                                       world ? 0 : INT32_MAX, err));
    LCSM_OR_RETURN(count_ids(r, &vocab, added, &count, err));
    LCSM_OR_RETURN(lcsm_vocab_create(&r->tok->vocab, count, err));
    for (int j = 0; j < 256; j++) r->tok->byte_id[j] = -1;
    LCSM_OR_RETURN(read_vocab(r, &vocab, err));
    if (world) LCSM_OR_RETURN(measure_reach(r->tok, err));
    LCSM_OR_RETURN(lcsm_merges_create(&r->tok->merges, lcsm_json_count(&merges), err));
    for (size_t j = 0; j < lcsm_json_count(&merges); j++) {
        lcsm_json item = lcsm_json_item(&merges, j);
        LCSM_OR_RETURN(read_merge(r, &item, j, err));
    }
    r->tok->merge_count = lcsm_json_count(&merges);
    if (lcsm_json_has(&r->model, "unk_token")) {
        lcsm_json v = lcsm_json_need(&r->model, "unk_token");
        LCSM_OR_RETURN(lcsm_json_get_text(&unknown, v, err));
        r->tok->unknown = id_of(r, unknown, strlen(unknown));
        if (r->tok->unknown < 0)
            LCSM_OR_RETURN(lcsm_json_fail(&v, err, "a token of the vocabulary"));
    }
    return LCSM_OK;
}

/* ---- added tokens ----------------------------------------------------------------------- */

/* What a normalized token looks like in normalized text. */
static lcsm_status put_normalized(reading *r, lcsm_added_token token, lcsm_error *err)
{
    lcsm_status st  = LCSM_OK;
    lcsm_strbuf out = {0}, spare = {0};
    if (lcsm_normalizer_changes(&r->tok->normalizer, token.text, token.size)) {
        LCSM_TRY(lcsm_normalize(&r->tok->normalizer, token.text, token.size, &out, &spare, err));
        token.text = out.text;
        token.size = out.size;
    }
    if (token.size > 0) LCSM_TRY(lcsm_added_put(&r->tok->normalized, &token, err));
cleanup:
    lcsm_strbuf_free(&out);
    lcsm_strbuf_free(&spare);
    return st;
}

static lcsm_status read_added(reading *r, const lcsm_json *v, lcsm_error *err)
{
    lcsm_status      st         = LCSM_OK;
    bool             normalized = false;
    const char      *content    = NULL;
    lcsm_added_token token      = {0};
    lcsm_json        object;
    LCSM_OR_RETURN(lcsm_json_get_object(&object, *v, err));
    lcsm_json text = lcsm_json_need(&object, "content");
    LCSM_OR_RETURN(lcsm_json_get_text(&content, text, err));
    LCSM_OR_RETURN(lcsm_tokenizer_get_id(&token.id, r, lcsm_json_need(&object, "id"), err));
    LCSM_OR_RETURN(lcsm_tokenizer_get_flag(&token.special, &object, "special", err));
    normalized = !token.special;
    LCSM_OR_RETURN(lcsm_tokenizer_get_flag(&normalized, &object, "normalized", err));
    LCSM_OR_RETURN(lcsm_tokenizer_get_flag(&token.single_word, &object, "single_word", err));
    LCSM_OR_RETURN(lcsm_tokenizer_get_flag(&token.lstrip, &object, "lstrip", err));
    LCSM_OR_RETURN(lcsm_tokenizer_get_flag(&token.rstrip, &object, "rstrip", err));
    token.size        = text_size(&text);
    lcsm_vocab *vocab = &r->tok->vocab;
    int32_t     known = id_of(r, content, token.size);
    if (known >= 0) token.id = known; /* as others do, whatever id the file gives */
    else LCSM_OR_RETURN(put_token(r, &object, content, token.size, token.id, err));
    vocab->entries[token.id].special = token.special;
    if (token.size == 0) return LCSM_OK;
    lcsm_strbuf copy = {0};
    lcsm_strbuf_bytes(&copy, content, token.size);
    token.text = copy.text;
    if (copy.failed) st = no_memory(err);
    else
        st = normalized ? put_normalized(r, token, err) : lcsm_added_put(&r->tok->raw, &token, err);
    lcsm_strbuf_free(&copy);
    return st;
}

lcsm_status lcsm_tokenizer_read_added(reading *r, const lcsm_json *added, lcsm_error *err)
{
    for (size_t j = 0; j < lcsm_json_count(added); j++) {
        lcsm_json item = lcsm_json_item(added, j);
        LCSM_OR_RETURN(read_added(r, &item, err));
    }
    lcsm_added_seal(&r->tok->raw);
    lcsm_added_seal(&r->tok->normalized);
    return LCSM_OK;
}
