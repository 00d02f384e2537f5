/* test_tokenizer_kinds.c - tokenizers beside byte-level BPE: characters with byte fallback, RWKV
 * World, and what becomes a tokenizer.json: SentencePiece models, World's list, GGUF metadata. */
#include <lcsm/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "temp_folder.h"
#include "test.h"
#include "text/tokenizer.h"
#include "text/tokenizer_convert.h"
#include "text_has.h"

/* ---- characters ------------------------------------------------------------------------- */

enum { KIND_NORM, KIND_FIRST_SPLIT, KIND_ALWAYS_WHOLE, KIND_NEVER_WHOLE, KINDS };

#define MARK "\xE2\x96\x81"
#define SPACE(scheme, split)                                                                       \
    "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK        \
    "\",\"prepend_scheme\":\"" scheme "\",\"split\":" split "},"
#define NORM                                                                                       \
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":"    \
    "\"" MARK "\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" MARK       \
    "\"}]},"                                                                                       \
    "\"pre_tokenizer\":null,"

static const char *const STAGES[KINDS] = {NORM, SPACE("first", "true"), SPACE("always", "false"),
                                          SPACE("never", "false")};

/* 0 to 2 special, then the 256 bytes, then characters and what merges make of them. */
static char *characters(int kind)
{
    static const char *const REST[] = {
        MARK, "a",       "b",  "c",       "\xC3\xA9",         MARK "a",
        "ab", MARK "ab", "bc", MARK MARK, MARK MARK MARK MARK};
    lcsm_strbuf s = {0};
    lcsm_strbuf_add(&s, "{\"added_tokens\":[");
    for (int j = 0; j < 3; j++)
        lcsm_strbuf_printf(&s,
                           "%s{\"id\":%d,\"content\":\"%s\",\"special\":true,"
                           "\"normalized\":false}",
                           j > 0 ? "," : "", j,
                           j == 0   ? "<unk>"
                           : j == 1 ? "<s>"
                                    : "</s>");
    lcsm_strbuf_printf(&s, "],%s\"decoder\":{\"type\":\"Sequence\",\"decoders\":[", STAGES[kind]);
    lcsm_strbuf_add(&s, "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" MARK
                        "\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},"
                        "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]},"
                        "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,"
                        "\"byte_fallback\":true,\"vocab\":{\"<unk>\":0,\"<s>\":1,\"</s>\":2");
    for (int j = 0; j < 256; j++) lcsm_strbuf_printf(&s, ",\"<0x%02X>\":%d", (unsigned)j, 3 + j);
    for (size_t j = 0; j < COUNT(REST); j++)
        lcsm_strbuf_printf(&s, ",\"%s\":%zu", REST[j], 259 + j);
    lcsm_strbuf_add(&s, "},\"merges\":[[\"" MARK "\",\"a\"],[\"a\",\"b\"],[\"" MARK "a\",\"b\"],"
                        "[\"b\",\"c\"],[\"" MARK "\",\"" MARK "\"],[\"" MARK MARK "\",\"" MARK MARK
                        "\"]]}}");
    assert_false(s.failed);
    return s.text;
}

static lcsm_tokenizer *parsed(const char *json)
{
    lcsm_tokenizer *tok;
    lcsm_error      err;
    if (lcsm_tokenizer_parse(&tok, "t", json, strlen(json), &err) != LCSM_OK)
        fail_msg("%s", err.text);
    return tok;
}

static void encodes(const lcsm_tokenizer *tok, const char *text, size_t size, const int32_t *want,
                    size_t count)
{
    int32_t   *ids;
    size_t     n;
    lcsm_error err;
    if (lcsm_tokenizer_encode(tok, text, size, LCSM_ENCODE_SPECIAL, &ids, &n, &err) != LCSM_OK)
        fail_msg("%s: %s", text, err.text);
    if (n != count) fail_msg("\"%s\" has %zu ids; expected %zu", text, n, count);
    for (size_t j = 0; j < n; j++)
        if (ids[j] != want[j])
            fail_msg("\"%s\": id %zu is %d; expected %d", text, j, (int)ids[j], (int)want[j]);
    free(ids);
}

/* The ids are those of Hugging Face's tokenizers 0.23 for these files. */
static const struct {
    int         kind;
    const char *text;
    int32_t     ids[12];
    size_t      count;
} CASES[] = {
    {KIND_NORM, "ab", {266}, 1},
    {KIND_NORM, " ab", {259, 266}, 2},
    {KIND_NORM, "ab<s>b", {266, 1, 259, 261}, 4},
    {KIND_NORM, "", {0}, 0},
    {KIND_NORM, "abc \xC3\xA9\xC3\xA8\n", {266, 262, 259, 263, 198, 171, 13}, 7},
    {KIND_NORM, "a  b     c", {264, 268, 261, 269, 259, 262}, 6},
    {KIND_NORM,
     "\xF0\x9F\x98\x80"
     "b",
     {259, 243, 162, 155, 131, 261},
     6},
    {KIND_NORM,
     "\xE2\x96\x81"
     "a<0x41>",
     {259, 264, 63, 51, 123, 55, 52, 65},
     8},
    {KIND_NORM, " </s> a", {268, 2, 259, 264}, 4},
    {KIND_FIRST_SPLIT, "ab", {266}, 1},
    {KIND_FIRST_SPLIT, " ab", {266}, 1},
    {KIND_FIRST_SPLIT, "ab<s>b", {266, 1, 261}, 3},
    {KIND_FIRST_SPLIT, "", {0}, 0},
    {KIND_FIRST_SPLIT, "abc \xC3\xA9\xC3\xA8\n", {266, 262, 259, 263, 198, 171, 13}, 7},
    {KIND_FIRST_SPLIT, "a  b     c", {264, 259, 259, 261, 259, 259, 259, 259, 259, 262}, 10},
    {KIND_FIRST_SPLIT,
     "\xF0\x9F\x98\x80"
     "b",
     {259, 243, 162, 155, 131, 261},
     6},
    {KIND_FIRST_SPLIT,
     "\xE2\x96\x81"
     "a<0x41>",
     {264, 63, 51, 123, 55, 52, 65},
     7},
    {KIND_FIRST_SPLIT, " </s> a", {259, 2, 264}, 3},
    {KIND_ALWAYS_WHOLE, "ab", {266}, 1},
    {KIND_ALWAYS_WHOLE, " ab", {266}, 1},
    {KIND_ALWAYS_WHOLE, "ab<s>b", {266, 1, 259, 261}, 4},
    {KIND_ALWAYS_WHOLE, "", {0}, 0},
    {KIND_ALWAYS_WHOLE, "abc \xC3\xA9\xC3\xA8\n", {266, 262, 259, 263, 198, 171, 13}, 7},
    {KIND_ALWAYS_WHOLE, "a  b     c", {264, 268, 261, 269, 259, 262}, 6},
    {KIND_ALWAYS_WHOLE,
     "\xF0\x9F\x98\x80"
     "b",
     {259, 243, 162, 155, 131, 261},
     6},
    {KIND_ALWAYS_WHOLE,
     "\xE2\x96\x81"
     "a<0x41>",
     {264, 63, 51, 123, 55, 52, 65},
     7},
    {KIND_ALWAYS_WHOLE, " </s> a", {259, 2, 264}, 3},
    {KIND_NEVER_WHOLE, "ab", {265}, 1},
    {KIND_NEVER_WHOLE, " ab", {266}, 1},
    {KIND_NEVER_WHOLE, "ab<s>b", {265, 1, 261}, 3},
    {KIND_NEVER_WHOLE, "", {0}, 0},
    {KIND_NEVER_WHOLE, "abc \xC3\xA9\xC3\xA8\n", {265, 262, 259, 263, 198, 171, 13}, 7},
    {KIND_NEVER_WHOLE, "a  b     c", {260, 268, 261, 269, 259, 262}, 6},
    {KIND_NEVER_WHOLE,
     "\xF0\x9F\x98\x80"
     "b",
     {243, 162, 155, 131, 261},
     5},
    {KIND_NEVER_WHOLE,
     "\xE2\x96\x81"
     "a<0x41>",
     {264, 63, 51, 123, 55, 52, 65},
     7},
    {KIND_NEVER_WHOLE, " </s> a", {259, 2, 264}, 3},
};

TEST(tokenizer_of_characters_gives_the_ids_of_others)
{
    for (int kind = 0; kind < KINDS; kind++) {
        char           *json = characters(kind);
        lcsm_tokenizer *tok  = parsed(json);
        for (size_t j = 0; j < COUNT(CASES); j++)
            if (CASES[j].kind == kind)
                encodes(tok, CASES[j].text, strlen(CASES[j].text), CASES[j].ids, CASES[j].count);
        lcsm_tokenizer_free(tok);
        free(json);
    }
}

static void decodes(const lcsm_tokenizer *tok, const int32_t *ids, size_t count, const char *want,
                    size_t size)
{
    char  *text;
    size_t n;
    assert_int_equal(lcsm_tokenizer_decode(tok, ids, count, &text, &n, NULL), LCSM_OK);
    assert_int_equal(n, size);
    assert_memory_equal(text, want, size);
    free(text);
}

TEST(tokenizer_of_characters_decodes_bytes_and_drops_the_space_in_front)
{
    char           *json = characters(KIND_NORM);
    lcsm_tokenizer *tok  = parsed(json);
    decodes(tok, (int32_t[]){266, 243, 162, 155, 131, 259}, 6, "ab\xF0\x9F\x98\x80 ", 7);
    decodes(tok, (int32_t[]){259, 266}, 2, " ab", 3);
    encodes(tok, "\xFF", 1, (int32_t[]){3 + 255}, 1); /* invalid UTF-8 */
    assert_int_equal(lcsm_tokenizer_eos(tok), 2);
    lcsm_tokenizer_info info = {.size = sizeof info};
    assert_int_equal(lcsm_tokenizer_describe(tok, &info, NULL), LCSM_OK);
    assert_string_equal(info.kind, "BPE with byte fallback");
    lcsm_tokenizer_free(tok);
    free(json);
}

/* ---- World ------------------------------------------------------------------------------ */

/* All bytes, and some longer tokens in each way in which they may be written. */
static char *world(size_t *size)
{
    lcsm_strbuf s = {0};
    for (int j = 0; j < 256; j++)
        lcsm_strbuf_printf(&s, j < 128 ? "%d '\\x%02x' 1\n" : "%d b'\\x%02x' 1\n", j + 1,
                           (unsigned)j);
    lcsm_strbuf_add(&s, "257 'ab' 2\n258 \"it's\" 4\n259 '\\n\\n' 2\n260 b'\\xe4\\xbd' 2\n"
                        "261 '\\x85' 2\n262 '\\u2581' 3\r\n263 '  ' 2\n264 'abcd' 4\n"
                        "265 '\\'\\\\' 2\n266 'a b' 3\n");
    *size = s.size;
    return s.text;
}

static void is_world(const lcsm_tokenizer *tok)
{
    encodes(tok, "abcabcd", 7, (int32_t[]){257, 100, 264}, 3);
    encodes(tok, "it's\n\n\n", 7, (int32_t[]){258, 259, 11}, 3);
    encodes(tok, "\xE4\xBD\xA0", 3, (int32_t[]){260, 0xA1}, 2);
    encodes(tok, "\xC2\x85" MARK, 5, (int32_t[]){261, 262}, 2);
    encodes(tok, "\xFF\xC2\0 ", 4, (int32_t[]){256, 0xC3, 1, 33}, 4);
    encodes(tok, "'\\a b   ", 8, (int32_t[]){265, 266, 263, 33}, 4);
    encodes(tok, "a", 1, (int32_t[]){98}, 1);
    encodes(tok, "", 0, NULL, 0);
    assert_int_equal(lcsm_tokenizer_eos(tok), 0);
    decodes(tok, (int32_t[]){260, 0xA1, 264}, 3,
            "\xE4\xBD\xA0"
            "abcd",
            7);
}

TEST(tokenizer_of_world_takes_the_longest_token_and_any_bytes)
{
    temp_folder     f = temp_folder_make();
    lcsm_tokenizer *tok;
    lcsm_error      err;
    size_t          size;
    char           *list = world(&size);
    temp_write(&f, "rwkv_vocab_v20230424.txt", list, size);
    if (lcsm_tokenizer_load(&tok, f.path, &err) != LCSM_OK) fail_msg("%s", err.text);
    is_world(tok);
    assert_int_equal(lcsm_tokenizer_save(tok, temp_path(&f, "tokenizer.json"), NULL), LCSM_OK);
    lcsm_tokenizer_free(tok);
    assert_int_equal(lcsm_tokenizer_load(&tok, f.path, NULL), LCSM_OK); /* the file just saved */
    is_world(tok);
    lcsm_tokenizer_free(tok);
    free(list);
    temp_folder_remove(&f);
}

TEST(tokenizer_of_world_refuses_lines_that_are_no_tokens)
{
    static const char *const BAD[][2] = {
        {"1 'a' 2\n", "another size"},
        {"1 'a'\n", "is not a line"},
        {"1\n", "has no id"},
        {"1 a 1\n", "without quotes"},
        {"1 '\\q' 2\n", "unknown escape"},
        {"1 '\\x4' 1\n", "unknown escape"},
        {"1 'a' 1\n1 'b' 1\n", "new id"},
        {"0 'a' 1\n", "new id"},
        {"9999999 'a' 1\n", "new id"},
        {"1 b'\\u0041' 1\n", "unknown escape"},
        {"1 'a\" 1\n", "without quotes"},
        {"1 __import__('os') 1\n", "without quotes"},
    };
    temp_folder     f = temp_folder_make();
    lcsm_tokenizer *tok;
    for (size_t j = 0; j < COUNT(BAD); j++) {
        lcsm_error err = {0};
        temp_write(&f, "w.txt", BAD[j][0], strlen(BAD[j][0]));
        assert_int_not_equal(lcsm_tokenizer_load(&tok, temp_path(&f, "w.txt"), &err), LCSM_OK);
        assert_null(tok);
        if (strstr(err.text, BAD[j][1]) == NULL)
            fail_msg("%s: \"%s\" has no \"%s\"", BAD[j][0], err.text, BAD[j][1]);
    }
    temp_folder_remove(&f);
}

/* ---- SentencePiece ---------------------------------------------------------------------- */

typedef struct {
    unsigned char data[8192];
    size_t        size;
} message;

static void put(message *m, const void *data, size_t size)
{
    assert_true(size <= sizeof m->data - m->size);
    memcpy(m->data + m->size, data, size);
    m->size += size;
}

static void put_byte(message *m, unsigned byte)
{
    put(m, &(unsigned char){(unsigned char)byte}, 1);
}

/* A piece: its text, its score, its type. */
static void put_piece(message *m, const char *text, float score, unsigned type)
{
    size_t n = strlen(text);
    put_byte(m, 0x0A);
    put_byte(m, (unsigned)(n + 9));
    put_byte(m, 0x0A);
    put_byte(m, (unsigned)n);
    put(m, text, n);
    put_byte(m, 0x15);
    put(m, &score, sizeof score);
    put_byte(m, 0x18);
    put_byte(m, type);
}

/* The vocabulary of characters(), its merges by their scores. kind 2: BPE. */
static message model(unsigned kind, unsigned drops)
{
    static const char *const REST[] = {
        MARK, "a",       "b",  "c",       "\xC3\xA9",         MARK "a",
        "ab", MARK "ab", "bc", MARK MARK, MARK MARK MARK MARK};
    static const float SCORES[] = {-9, -9, -9, -9, -9, 0, -1, -2, -3, -4, -5};
    message            m        = {.size = 0};
    char               byte[8];
    put_piece(&m, "<unk>", 0, 2);
    put_piece(&m, "<s>", 0, 3);
    put_piece(&m, "</s>", 0, 3);
    for (unsigned j = 0; j < 256; j++) {
        (void)snprintf(byte, sizeof byte, "<0x%02X>", j & 255u);
        put_piece(&m, byte, 0, 6);
    }
    for (size_t j = 0; j < COUNT(REST); j++) put_piece(&m, REST[j], SCORES[j], 1);
    put(&m, "\x12\x02\x18", 3);
    put_byte(&m, kind);
    put(&m, "\x1A\x04\x18\x01\x20", 5);
    put_byte(&m, drops);
    return m;
}

TEST(tokenizer_of_a_sentencepiece_model_is_that_of_its_json)
{
    temp_folder     f = temp_folder_make();
    lcsm_tokenizer *tok;
    lcsm_error      err;
    message         m = model(2, 0);
    temp_write(&f, "tokenizer.model", m.data, m.size);
    if (lcsm_tokenizer_load(&tok, f.path, &err) != LCSM_OK) fail_msg("%s", err.text);
    for (size_t j = 0; j < COUNT(CASES); j++)
        if (CASES[j].kind == KIND_NORM)
            encodes(tok, CASES[j].text, strlen(CASES[j].text), CASES[j].ids, CASES[j].count);
    int32_t *ids;
    size_t   count;
    assert_int_equal(lcsm_tokenizer_encode(tok, "ab", 2, LCSM_ENCODE_TEMPLATE, &ids, &count, NULL),
                     LCSM_OK);
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], 1);
    free(ids);
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}

TEST(tokenizer_of_another_sentencepiece_model_is_refused)
{
    char      *json = NULL;
    size_t     size;
    lcsm_error err;
    message    other = model(1, 0), drops = model(2, 1), whole = model(2, 0);
    assert_int_equal(
        lcsm_tokenizer_from_sentencepiece(&json, &size, "m", other.data, other.size, &err),
        LCSM_ERR_FORMAT);
    assert_has(err.text, "it is not BPE");
    assert_int_equal(
        lcsm_tokenizer_from_sentencepiece(&json, &size, "m", drops.data, drops.size, &err),
        LCSM_ERR_FORMAT);
    assert_has(err.text, "drops spaces");
    for (size_t n = 0; n < whole.size; n += n < 60 ? 1 : 97) {
        if (lcsm_tokenizer_from_sentencepiece(&json, &size, "m", whole.data, n, &err) != LCSM_OK)
            continue;
        fail_msg("the first %zu bytes are taken for a whole model", n);
    }
}

/* ---- GGUF ------------------------------------------------------------------------------- */

static lcsm_tokenizer *of_keys(json_t *keys)
{
    char      *json = NULL;
    size_t     size;
    lcsm_error err;
    if (lcsm_tokenizer_from_gguf(&json, &size, "g", keys, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    assert_non_null(json);
    lcsm_tokenizer *tok = parsed(json);
    free(json);
    json_decref(keys);
    return tok;
}

static json_t *keys_of(const char *text)
{
    json_t *keys = json_loads(text, 0, NULL);
    assert_non_null(keys);
    return keys;
}

#define KEY(name) "\"tokenizer.ggml." name "\":"

TEST(tokenizer_of_gguf_metadata)
{
    lcsm_tokenizer *tok = of_keys(keys_of("{" KEY("model") "\"gpt2\"," KEY("pre") "\"gpt-2\"," KEY(
        "tokens") "[\"<|e|>\",\"a\",\"b\",\"\u0120\",\"ab\",\"\u0120ab\"]"
                  "," KEY("token_type") "[3,1,1,1,1,1]," KEY("merges") "[\""
                                                                       "a "
                                                                       "b\""
                                                                       ",\""
                                                                       "\u0120 ab\"]}"));
    encodes(tok, "ab ab<|e|>b", 11, (int32_t[]){4, 5, 0, 2}, 4);
    assert_int_equal(lcsm_tokenizer_eos(tok), 0);
    lcsm_tokenizer_free(tok);
    tok = of_keys(keys_of("{" KEY("model") "\"llama\"," KEY(
        "tokens") "[\"<unk>\",\"<s>\",\"" MARK "\",\"a\",\"b\",\"ab\",\"" MARK
                  "ab\",\"<0x0A>\"]," KEY("scores") "[0,0,-9,-9,-9,-1,-2,0]," KEY(
                      "token_type") "[2,3,1,1,1,1,1,6]}"));
    encodes(tok, "ab ab\n", 6, (int32_t[]){6, 6, 7}, 3);
    encodes(tok, "xb", 2, (int32_t[]){2, 0, 4}, 3);
    lcsm_tokenizer_free(tok);
    tok = of_keys(keys_of("{" KEY("model") "\"rwkv\"," KEY(
        "tokens") "[\"<s>\",\"\\\\xff\",\"a\",\"\\\\n\\\\n\",\"a'\",\"[PAD4]\"]}"));
    encodes(tok,
            "\xFF"
            "a'\n\na",
            6, (int32_t[]){1, 4, 3, 2}, 4);
    lcsm_tokenizer_free(tok);
}

TEST(tokenizer_of_gguf_metadata_that_is_not_supported)
{
    static const char *const BAD[][2] = {
        {KEY("model") "\"t5\"," KEY("tokens") "[\"a\"]", "\"t5\"; expected gpt2, llama or rwkv"},
        {KEY("model") "\"gpt2\"," KEY("pre") "\"x\"," KEY("tokens") "[\"a\"]", "pre is \"x\""},
        {KEY("model") "\"gpt2\"," KEY("tokens") "[1]", "token 0 is not a text"},
        {KEY("model") "\"gpt2\"," KEY("tokens") "[]", "0 tokens"},
        {KEY("model") "\"rwkv\"," KEY("tokens") "[\"\",\"\\\\q\"]",
         "token 1 has an unknown escape"},
    };
    for (size_t j = 0; j < COUNT(BAD); j++) {
        char       text[256], *json;
        size_t     size;
        lcsm_error err;
        (void)snprintf(text, sizeof text, "{%s}", BAD[j][0]);
        json_t *keys = keys_of(text);
        assert_int_equal(lcsm_tokenizer_from_gguf(&json, &size, "g", keys, &err), LCSM_ERR_FORMAT);
        assert_has(err.text, BAD[j][1]);
        assert_null(json);
        json_decref(keys);
    }
    json_t *none = keys_of("{" KEY("model") "\"none\"}");
    char   *json;
    size_t  size;
    assert_int_equal(lcsm_tokenizer_from_gguf(&json, &size, "g", none, NULL), LCSM_OK);
    assert_null(json);
    json_decref(none);
}
