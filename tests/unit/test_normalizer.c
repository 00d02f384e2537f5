/* test_normalizer.c - normal forms, against what Python's unicodedata makes of all characters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/rng.h"
#include "normal_forms.h"
#include "test.h"
#include "text/normalizer.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

static const char *const FORM_NAMES[] = {"NFC", "NFD", "NFKC", "NFKD"};

/* A normaliser of one step, and its room. */
typedef struct {
    lcsm_normalizer n;
    lcsm_strbuf     text, out, spare;
    uint32_t        crc;
} bench;

static bench bench_of(lcsm_normalize_kind kind)
{
    bench b = {.crc = 0};
    assert_int_equal(lcsm_normalizer_put(&b.n, kind, NULL, NULL, NULL), LCSM_OK);
    return b;
}

static void bench_free(bench *b)
{
    lcsm_normalizer_free(&b->n);
    lcsm_strbuf_free(&b->text);
    lcsm_strbuf_free(&b->out);
    lcsm_strbuf_free(&b->spare);
}

/* Normalises what is gathered and adds it to the sum. */
static void settle(bench *b)
{
    lcsm_error err;
    if (lcsm_normalize(&b->n, b->text.text, b->text.size, &b->out, &b->spare, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    b->crc       = (uint32_t)crc32(b->crc, (const unsigned char *)b->out.text, (uInt)b->out.size);
    b->text.size = 0;
}

static void gather(bench *b, const char *before, uint32_t first, uint32_t second, const char *after)
{
    char   text[64];
    size_t size = strlen(before);
    memcpy(text, before, size);
    size += lcsm_utf8_put(text + size, first);
    if (second > 0) size += lcsm_utf8_put(text + size, second);
    memcpy(text + size, after, strlen(after));
    size += strlen(after);
    text[size++] = '\n'; /* joins nothing, so the lines may be normalised together */
    lcsm_strbuf_bytes(&b->text, text, size);
    if (b->text.size > 1 << 14) settle(b);
}

/* ---- single cases ----------------------------------------------------------------------- */

static void normalises(lcsm_normalize_kind kind, const char *text, const char *want)
{
    bench b = bench_of(kind);
    lcsm_strbuf_add(&b.text, text);
    settle(&b);
    assert_string_equal(b.out.text, want);
    bench_free(&b);
}

TEST(normalizer_nfc_keeps_the_character_before_the_final_consonants_of_hangul)
{
    normalises(LCSM_NORMALIZE_NFC, "\xEA\xB0\x80\xE1\x86\xA7", "\xEA\xB0\x80\xE1\x86\xA7");
    normalises(LCSM_NORMALIZE_NFC, "\xEA\xB0\x80\xE1\x86\xA8", "\xEA\xB0\x81");
    normalises(LCSM_NORMALIZE_NFC, "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA7",
               "\xEA\xB0\x80\xE1\x86\xA7");
}

TEST(normalizer_forms_differ_as_they_should)
{
    const char *text =
        "\xEF\xAC\x81 e\xCC\x81 \xC3\xA9"; /* the ligature fi, e with an acute twice */
    normalises(LCSM_NORMALIZE_NFC, text, "\xEF\xAC\x81 \xC3\xA9 \xC3\xA9");
    normalises(LCSM_NORMALIZE_NFD, text, "\xEF\xAC\x81 e\xCC\x81 e\xCC\x81");
    normalises(LCSM_NORMALIZE_NFKC, text, "fi \xC3\xA9 \xC3\xA9");
    normalises(LCSM_NORMALIZE_NFKD, text, "fi e\xCC\x81 e\xCC\x81");
    normalises(LCSM_NORMALIZE_NFC, "", "");
}

/* ---- all of Unicode --------------------------------------------------------------------- */

static uint32_t sum_of_place(lcsm_normalize_kind kind, const char *const place[2])
{
    bench b = bench_of(kind);
    for (size_t j = 0; j < COUNT(ASSIGNED); j++)
        for (uint32_t code = ASSIGNED[j][0]; code <= ASSIGNED[j][1]; code++)
            gather(&b, place[0], code, 0, place[1]);
    settle(&b);
    bench_free(&b);
    return b.crc;
}

TEST(normalizer_of_each_character_in_each_place_agrees_with_python)
{
    for (size_t p = 0; p < COUNT(PLACES); p++)
        for (int kind = 0; kind < 4; kind++)
            if (sum_of_place((lcsm_normalize_kind)kind, PLACES[p]) != PLACE_SUMS[p][kind])
                fail_msg("%s of '%s' X '%s' for every X of Unicode " UNICODE_VERSION,
                         FORM_NAMES[kind], PLACES[p][0], PLACES[p][1]);
}

TEST(normalizer_of_each_pair_of_marks_agrees_with_python)
{
    for (int kind = 0; kind < 4; kind++) {
        bench b = bench_of((lcsm_normalize_kind)kind);
        for (size_t x = 0; x < COUNT(MARKS); x++)
            for (size_t y = 0; y < COUNT(MARKS); y++) gather(&b, "a", MARKS[x], MARKS[y], "");
        settle(&b);
        if (b.crc != PAIR_SUMS[kind]) fail_msg("%s of a with two marks", FORM_NAMES[kind]);
        bench_free(&b);
    }
}

/* ---- in pieces -------------------------------------------------------------------------- */

/* Characters of which normal forms are made, and others. */
static uint32_t some_character(uint64_t index)
{
    static const uint32_t KINDS[][2] = {
        {'a', 'z'},       {0xC0, 0xFF},     {0x300, 0x345},     {0x1100, 0x1112},  {0x1161, 0x1175},
        {0x11A7, 0x11C2}, {0xAC00, 0xAC40}, {0xF71, 0xF81},     {0x9BE, 0x9C8},    {0x3041, 0x309A},
        {0xFF61, 0xFFDC}, {0x4E00, 0x4E20}, {0x1F600, 0x1F610}, {0x1D15E, 0x1D169}};
    const uint32_t *k = KINDS[lcsm_rng(7, 1, index).v[0] % COUNT(KINDS)];
    return k[0] + lcsm_rng(7, 1, index).v[1] % (k[1] - k[0] + 1);
}

static bool same(bench *b, const char *text, size_t cut, size_t size)
{
    lcsm_strbuf parts = {0};
    lcsm_error  err;
    bool        right;
    (void)lcsm_normalize(&b->n, text, cut, &b->out, &b->spare, &err);
    lcsm_strbuf_bytes(&parts, b->out.text, b->out.size);
    (void)lcsm_normalize(&b->n, text + cut, size - cut, &b->out, &b->spare, &err);
    lcsm_strbuf_bytes(&parts, b->out.text, b->out.size);
    (void)lcsm_normalize(&b->n, text, size, &b->out, &b->spare, &err);
    right = parts.size == b->out.size && memcmp(parts.text, b->out.text, parts.size) == 0;
    lcsm_strbuf_free(&parts);
    return right;
}

TEST(normalizer_cuts_only_where_the_parts_make_up_the_whole)
{
    static const char *const BEFORE[] = {
        "a",         "\xE1\x84\x80", "\xEA\xB0\x80", "\xE0\xA7\x87",
        "a\xCC\x81", "\xE0\xBD\xB1", "\xE3\x81\x8B"};
    bench  b[4];
    char   text[64];
    size_t cuts = 0;
    for (int k = 0; k < 4; k++) b[k] = bench_of((lcsm_normalize_kind)k);
    for (size_t j = 0; j < COUNT(ASSIGNED); j++)
        for (uint32_t code = ASSIGNED[j][0]; code <= ASSIGNED[j][1]; code++) {
            if (!lcsm_normalizer_cuts_before(code)) continue;
            if (code >= 0x4E20 && code < 0x9FF0) continue; /* alike; so are those of planes 2 on */
            if (code >= 0x20010) break;
            cuts++;
            for (size_t p = 0; p < COUNT(BEFORE); p++) {
                size_t cut  = strlen(strcpy(text, BEFORE[p]));
                size_t size = cut + lcsm_utf8_put(text + cut, code);
                for (int k = 0; k < 4; k++)
                    if (!same(&b[k], text, cut, size))
                        fail_msg("%s of '%s' and U+%04lX", FORM_NAMES[k], BEFORE[p], (long)code);
            }
        }
    for (int k = 0; k < 4; k++) bench_free(&b[k]);
    assert_true(cuts > 30000);
}

/* Ids that are bytes: what the encoder gives is the normalised text. */
static lcsm_status take_bytes(void *user, const int32_t *ids, size_t count, lcsm_error *err)
{
    (void)err;
    for (size_t j = 0; j < count; j++) {
        char c = (char)ids[j];
        lcsm_strbuf_bytes(user, &c, 1);
    }
    return LCSM_OK;
}

/* A tokenizer of the 256 bytes with a normaliser, by the file of the byte tokenizer. */
static lcsm_tokenizer *bytes_with(const char *form)
{
    lcsm_tokenizer *plain, *tok;
    lcsm_strbuf     json = {0};
    lcsm_error      err;
    assert_int_equal(lcsm_tokenizer_bytes(&plain, NULL), LCSM_OK);
    char       *head  = strndup(plain->json, plain->json_size);
    const char *null  = strstr(head, "\"normalizer\":");
    const char *after = null == NULL ? NULL : strstr(null, "null");
    assert_non_null(after);
    lcsm_strbuf_bytes(&json, head, (size_t)(after - head));
    lcsm_strbuf_printf(&json, "{\"type\": \"%s\"}%s", form, after + 4);
    if (lcsm_tokenizer_parse(&tok, "t.json", json.text, json.size, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    lcsm_tokenizer_free(plain);
    lcsm_strbuf_free(&json);
    free(head);
    return tok;
}

/* Longer than the encoder's window, and without a space: it must find a place to cut. */
TEST(normalizer_of_a_text_in_pieces_is_that_of_the_whole)
{
    bench text = bench_of(LCSM_NORMALIZE_NFC);
    for (uint64_t j = 0; text.text.size < 2500000; j++) {
        char   c[4];
        size_t size = lcsm_utf8_put(c, some_character(j));
        lcsm_strbuf_bytes(&text.text, c, size);
    }
    for (int kind = 0; kind < 4; kind++) {
        bench           b   = bench_of((lcsm_normalize_kind)kind);
        lcsm_tokenizer *tok = bytes_with(FORM_NAMES[kind]);
        lcsm_strbuf     got = {0};
        lcsm_encoder   *enc;
        lcsm_error      err;
        assert_int_equal(lcsm_encoder_create(&enc, tok, 0, take_bytes, &got, &err), LCSM_OK);
        for (size_t at = 0, now = 0; at < text.text.size; at += now) {
            now = 1 + lcsm_rng(9, 1, at).v[0] % 70000;
            if (now > text.text.size - at) now = text.text.size - at;
            assert_int_equal(lcsm_encoder_feed(enc, text.text.text + at, now, &err), LCSM_OK);
        }
        assert_int_equal(lcsm_encoder_finish(enc, &err), LCSM_OK);
        assert_int_equal(
            lcsm_normalize(&b.n, text.text.text, text.text.size, &b.out, &b.spare, &err), LCSM_OK);
        if (got.size != b.out.size || memcmp(got.text, b.out.text, got.size) != 0)
            fail_msg("%s in pieces is another text", FORM_NAMES[kind]);
        lcsm_encoder_free(enc);
        lcsm_tokenizer_free(tok);
        lcsm_strbuf_free(&got);
        bench_free(&b);
    }
    bench_free(&text);
}
