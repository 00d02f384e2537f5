/* test_tokenizer.c - tokenizers of a few tokens, whose ids can be seen by eye. */
#include <lcsm/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "temp_folder.h"
#include "test.h"
#include "text/bpe.h"
#include "text/gpt2_scan.h"
#include "text/split.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

/* \u0120 is a space, \u010A a line end. */
#define VOCAB                                                                                      \
    "\"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"\\u0120\": 3, \"ab\": 4, \"\\u0120a\": 5,"        \
    "\"abc\": 6, \"\\u0120ab\": 7, \"1\": 8, \"\\u010A\": 9, \"\\u00C3\": 10, \"\\u00A9\": 11,"    \
    "\"\\u00C3\\u00A9\": 12, \"e\": 13, \"\\u00CC\": 14, \"\\u0123\": 15, \"cab\": 16, \"'\": 17," \
    "\"s\": 18, \"\\u00FF\": 19},"                                                                 \
    "\"merges\": [\"a b\", \"\\u0120 a\", \"ab c\", \"\\u0120 ab\", [\"\\u00C3\", \"\\u00A9\"],"   \
    "[\"c\", \"ab\"]]"

#define MODEL      "\"model\": {\"type\": \"BPE\", " VOCAB "}"
#define BYTE_LEVEL "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}"

static lcsm_tokenizer *parse(const char *json)
{
    lcsm_tokenizer *tok;
    lcsm_error      err;
    if (lcsm_tokenizer_parse(&tok, "t.json", json, strlen(json), &err) != LCSM_OK)
        fail_msg("%s", err.text);
    return tok;
}

/* The ids of a text, as "1 2 3". */
static const char *ids_of(const lcsm_tokenizer *tok, const char *text, size_t size, unsigned flags)
{
    static char line[4096];
    int32_t    *ids;
    size_t      count, used = 0;
    lcsm_error  err;
    if (lcsm_tokenizer_encode(tok, text, size, flags, &ids, &count, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    line[0] = '\0';
    for (size_t j = 0; j < count; j++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%ld", j > 0 ? " " : "",
                                 (long)ids[j]);
    free(ids);
    return line;
}

/* A tokenizer, a text and its ids. */
static void gives(const char *json, const char *text, unsigned flags, const char *want)
{
    lcsm_tokenizer *tok = parse(json);
    assert_string_equal(ids_of(tok, text, strlen(text), flags), want);
    lcsm_tokenizer_free(tok);
}

static lcsm_status drop_ids(void *user, const int32_t *ids, size_t count, lcsm_error *err)
{
    (void)user, (void)ids, (void)count, (void)err;
    return LCSM_OK;
}

/* ---- the pipeline ----------------------------------------------------------------------- */

TEST(tokenizer_merges_the_lowest_rank_first_and_words_apart)
{
    const char *json = "{" BYTE_LEVEL "," MODEL "}";
    gives(json, "", 0, "");
    gives(json, "a", 0, "0");
    gives(json, "abc", 0, "6");
    gives(json, "cab", 0, "16");
    gives(json, "cabc", 0, "2 6"); /* "ab c" has a lower rank than "c ab" */
    gives(json, " abc", 0, "3 6"); /* "ab c" before "\u0120 ab" */
    gives(json, "b abab", 0, "1 7 4");
    gives(json, "a'sb", 0, "0 17 18 1");
    gives(json, "  a", 0, "3 5");
    gives(json, "a1a", 0, "0 8 0");
}

TEST(tokenizer_bytes_that_the_vocabulary_lacks_are_refused_or_skipped_and_counted)
{
    lcsm_tokenizer *tok     = parse("{" BYTE_LEVEL "," MODEL "}");
    const char      text[]  = "ab ab\xFE\xC0";
    const char     *parts[] = {"ab z", "ab"};
    int32_t        *ids;
    size_t          count;
    lcsm_encoder   *enc;
    lcsm_error      err;
    assert_int_equal(lcsm_tokenizer_encode(tok, text, sizeof text - 1, 0, &ids, &count, &err),
                     LCSM_ERR_FORMAT);
    assert_string_equal(err.text, "byte 0xFE at offset 5 has no token in the vocabulary");
    assert_null(ids);
    assert_string_equal(ids_of(tok, text, sizeof text - 1, LCSM_ENCODE_SKIP), "4 7");
    assert_int_equal(lcsm_encoder_create(&enc, tok, LCSM_ENCODE_SKIP, drop_ids, NULL, NULL),
                     LCSM_OK);
    for (int turn = 0; turn < 2; turn++) { /* a word that was seen before counts again */
        for (size_t j = 0; j < 2; j++)
            assert_int_equal(lcsm_encoder_feed(enc, parts[j], strlen(parts[j]), NULL), LCSM_OK);
        assert_int_equal(lcsm_encoder_finish(enc, NULL), LCSM_OK);
        assert_int_equal(lcsm_encoder_skipped(enc), turn + 1);
    }
    lcsm_encoder_free(enc);
    lcsm_tokenizer_free(tok);
}

TEST(tokenizer_unknown_bytes_become_the_unknown_token)
{
#define UNKNOWN(fuse)                                                                              \
    "{" BYTE_LEVEL ", \"model\": {\"unk_token\": \"e\", \"fuse_unk\": " fuse ", " VOCAB "}}"
    gives(UNKNOWN("false"), "zzab", 0, "13 13 4");
    gives(UNKNOWN("true"), "zzab", 0, "13 4");
}

TEST(tokenizer_ignore_merges_takes_a_whole_word)
{
    const char *json = "{" BYTE_LEVEL ", \"model\": {\"ignore_merges\": true,"
                       "\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": []}}";
    gives(json, "ab", 0, "2");
    gives(json, "aba", 0, "0 1 0");
}

TEST(tokenizer_prefix_space_is_put_before_a_text_that_has_none)
{
    const char *json = "{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}," MODEL "}";
    gives(json, "a", 0, "5");
    gives(json, " a", 0, "5");
}

TEST(tokenizer_nfc_composes)
{
    const char *json = "{\"normalizer\": {\"type\": \"NFC\"}," BYTE_LEVEL "," MODEL "}";
    gives(json, "e\xCC\x81", 0, "12");
    gives(json,
          "a\xC3\xA9"
          "a",
          0, "0 12 0");
}

#define SEQUENCE(first)                                                                            \
    "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [" first                      \
    ", {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}]}," MODEL "}"
#define SPLIT(behavior)                                                                            \
    SEQUENCE("{\"type\": \"Split\", \"pattern\": {\"Regex\": \"b\"}, \"behavior\": \"" behavior    \
             "\", \"invert\": false}")

TEST(tokenizer_split_does_what_its_behavior_says)
{
    gives(SPLIT("Isolated"), "abcab", 0, "0 1 2 0 1");
    gives(SPLIT("Removed"), "abcab", 0, "0 2 0");
    gives(SPLIT("MergedWithPrevious"), "abcab", 0, "4 16");
    gives(SPLIT("MergedWithNext"), "abcab", 0, "0 1 2 0 1");
    gives(SPLIT("Contiguous"), "abbcab", 0, "0 1 1 2 0 1");
    gives(SEQUENCE("{\"type\": \"Digits\", \"individual_digits\": true}"), "ab1ab", 0, "4 8 4");
    gives(SEQUENCE("{\"type\": \"Split\", \"pattern\": {\"String\": \".\"}, \"behavior\": "
                   "\"Removed\", \"invert\": false}"),
          "ab.c", 0, "4 2");
}

#define ADDED(id, text, flags) "{\"id\": " id ", \"content\": \"" text "\"" flags "}"

TEST(tokenizer_added_tokens_are_found_first)
{
#define TOKENS                                                                                                                   \
    "\"added_tokens\": [" ADDED("20", "<x>", ", \"special\": true") "," ADDED("21", "ab ", ", \"normalized\": false") "," ADDED( \
        "22", "ab  ",                                                                                                            \
        ", \"normalized\": false") "," ADDED("23", "c1",                                                                         \
                                             ", \"single_word\": true") "," ADDED("24", "<y>",                                   \
                                                                                  ", \"lstrip\": "                               \
                                                                                  "true, "                                       \
                                                                                  "\"rstrip\": "                                 \
                                                                                  "true, "                                       \
                                                                                  "\"normalized\""                               \
                                                                                  ": false") "]"
    const char *json = "{" TOKENS "," BYTE_LEVEL "," MODEL "}";
    gives(json, "a<x>a", LCSM_ENCODE_SPECIAL, "0 20 0");
    gives(json, "a<x>a", LCSM_ENCODE_SKIP, "0 0"); /* its letters are no tokens here */
    gives(json, "ab  a", 0, "22 0");
    gives(json, "ab a", 0, "21 0");
    gives(json, "c1", 0, "23");
    gives(json, "ac1", 0, "0 2 8");
    gives(json, "a c1 b", 0, "0 3 23 3 1");
    gives(json, "a  <y>\n\na", 0, "0 24 0");
}

TEST(tokenizer_template_stands_around_a_text)
{
    const char *json =
        "{" BYTE_LEVEL "," MODEL ", \"post_processor\": {\"type\": \"TemplateProcessing\","
        "\"single\": [{\"SpecialToken\": {\"id\": \"s\"}}, {\"Sequence\": {\"id\": \"A\"}},"
        "{\"SpecialToken\": {\"id\": \"t\"}}], \"special_tokens\": {\"s\": {\"ids\": [18]},"
        "\"t\": {\"ids\": [8, 9]}}}}";
    gives(json, "a", LCSM_ENCODE_TEMPLATE, "18 0 8 9");
    gives(json, "", LCSM_ENCODE_TEMPLATE, "18 8 9");
    gives(json, "a", 0, "0");
}

/* ---- bytes ------------------------------------------------------------------------------ */

TEST(tokenizer_bytes_is_saved_and_read_back_as_itself)
{
    lcsm_tokenizer *tok, *back;
    temp_folder     f = temp_folder_make();
    assert_int_equal(lcsm_tokenizer_bytes(&tok, NULL), LCSM_OK);
    assert_int_equal(lcsm_tokenizer_vocab(tok), 256);
    assert_int_equal(lcsm_tokenizer_eos(tok), -1);
    assert_int_equal(lcsm_tokenizer_start(tok), '\n');
    lcsm_tokenizer_info about = {.size = sizeof about};
    assert_int_equal(lcsm_tokenizer_describe(tok, &about, NULL), LCSM_OK);
    assert_string_equal(about.kind, "bytes");
    assert_string_equal(ids_of(tok, "a\0\xFF\n", 4, 0), "97 0 255 10");
    assert_int_equal(lcsm_tokenizer_save(tok, temp_path(&f, "tokenizer.json"), NULL), LCSM_OK);
    assert_int_equal(lcsm_tokenizer_load(&back, f.path, NULL), LCSM_OK); /* the folder */
    assert_int_equal(lcsm_tokenizer_describe(back, &about, NULL), LCSM_OK);
    assert_string_equal(about.kind, "bytes");
    assert_true(lcsm_tokenizer_hash(back) == lcsm_tokenizer_hash(tok));
    lcsm_tokenizer_free(tok);
    lcsm_tokenizer_free(back);
    temp_folder_remove(&f);
}

/* ---- pieces ----------------------------------------------------------------------------- */

static size_t random_text(char *text, size_t size, uint32_t stream)
{
    static const char *const SOME[] = {
        "a",  "b ",   "  ",       "\n",           "Z9",           "'s",
        "'",  "\xC3", "\xC3\xA9", "\xFF",         "\xE4\xB8\xAD", "e\xCC\x81",
        "\0", ".",    "\t",       "\xE2\x80\x83", "word"};
    size_t used = 0;
    for (uint64_t j = 0; used + 8 < size; j++) {
        const char *s      = SOME[lcsm_rng(5, stream, j).v[0] % COUNT(SOME)];
        size_t      length = *s == '\0' ? 1 : strlen(s);
        memcpy(text + used, s, length);
        used += length;
    }
    return used;
}

typedef struct {
    int32_t ids[4096];
    size_t  count;
} gathered;

static lcsm_status gather(void *user, const int32_t *ids, size_t count, lcsm_error *err)
{
    gathered *g = user;
    (void)err;
    assert_true(g->count + count <= COUNT(g->ids));
    memcpy(g->ids + g->count, ids, count * sizeof *ids);
    g->count += count;
    return LCSM_OK;
}

/* A tokenizer that knows every byte, and merges. */
static lcsm_tokenizer *trained(void)
{
    temp_folder             f = temp_folder_make();
    lcsm_tokenizer         *tok;
    lcsm_error              err;
    char                    text[8192];
    lcsm_tokenizer_training options = {.size = sizeof options, .vocab = 320};
    temp_write(&f, "t", text, random_text(text, sizeof text, 9));
    const char *path = temp_path(&f, "t");
    if (lcsm_tokenizer_train(&tok, &path, 1, &options, NULL, NULL, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    temp_folder_remove(&f);
    return tok;
}

TEST(encoder_fed_in_pieces_gives_the_ids_of_the_whole_and_all_bytes_come_back)
{
    lcsm_tokenizer *tok = trained();
    assert_int_equal(lcsm_tokenizer_vocab(tok), 320);
    for (uint32_t turn = 0; turn < 20; turn++) {
        static gathered g;
        char            text[1000], *back;
        int32_t        *ids;
        size_t          size = random_text(text, sizeof text, 100 + turn), count, back_size;
        lcsm_encoder   *enc;
        assert_int_equal(lcsm_tokenizer_encode(tok, text, size, 0, &ids, &count, NULL), LCSM_OK);
        assert_int_equal(lcsm_encoder_create(&enc, tok, 0, gather, &g, NULL), LCSM_OK);
        for (size_t piece = 1; piece < 4; piece++) {
            g.count = 0;
            for (size_t at = 0; at < size; at += piece)
                assert_int_equal(
                    lcsm_encoder_feed(enc, text + at, size - at < piece ? size - at : piece, NULL),
                    LCSM_OK);
            assert_int_equal(lcsm_encoder_finish(enc, NULL), LCSM_OK);
            assert_int_equal(g.count, count);
            assert_memory_equal(g.ids, ids, count * sizeof *ids);
        }
        assert_int_equal(lcsm_tokenizer_decode(tok, ids, count, &back, &back_size, NULL), LCSM_OK);
        assert_int_equal(back_size, size);
        assert_memory_equal(back, text, size);
        lcsm_encoder_free(enc);
        free(ids);
        free(back);
    }
    lcsm_tokenizer_free(tok);
}

/* Texts beyond the window of the encoder, without places to cut, and with them. */
TEST(encoder_long_texts_come_back_whole)
{
    static const char *const UNITS[] = {"a",    "\n", "ab ",           "\xE4\xB8\xAD",
                                        "\xFF", " ",  "\xE4\xB8\xAD\n"};
    enum { SIZE = 3 << 20 };
    lcsm_tokenizer *tok  = trained();
    char           *text = malloc(SIZE);
    for (size_t j = 0; j < COUNT(UNITS); j++) {
        char    *back;
        int32_t *ids;
        size_t   count, size, unit = strlen(UNITS[j]);
        for (size_t at = 0; at + unit <= SIZE; at += unit) memcpy(text + at, UNITS[j], unit);
        assert_int_equal(
            lcsm_tokenizer_encode(tok, text, SIZE / unit * unit, 0, &ids, &count, NULL), LCSM_OK);
        assert_int_equal(lcsm_tokenizer_decode(tok, ids, count, &back, &size, NULL), LCSM_OK);
        assert_int_equal(size, SIZE / unit * unit);
        assert_memory_equal(back, text, size);
        free(back);
        free(ids);
    }
    free(text);
    lcsm_tokenizer_free(tok);
}

/* The window of the encoder must not be cut inside a token. */
TEST(encoder_added_tokens_with_spaces_stay_whole)
{
    static const char *const ADDED[] = {"\"content\": \"ab ab\"",
                                        "\"content\": \"ab\", \"rstrip\": true"};
    static const char *const UNITS[] = {"ab ab", "ab "};
    enum { COPIES = 400000 };
    for (size_t j = 0; j < COUNT(ADDED); j++) {
        char     json[2048];
        int32_t *ids;
        size_t   count, unit = strlen(UNITS[j]);
        char    *text = malloc(COPIES * unit);
        snprintf(json, sizeof json,
                 "{\"added_tokens\": [{\"id\": 20, %s}], " BYTE_LEVEL "," MODEL "}", ADDED[j]);
        lcsm_tokenizer *tok = parse(json);
        for (size_t c = 0; c < COPIES; c++) memcpy(text + c * unit, UNITS[j], unit);
        assert_int_equal(lcsm_tokenizer_encode(tok, text, COPIES * unit, 0, &ids, &count, NULL),
                         LCSM_OK);
        assert_int_equal(count, COPIES);
        free(ids);
        free(text);
        lcsm_tokenizer_free(tok);
    }
}

TEST(bpe_heap_and_scan_agree)
{
    lcsm_merges   m;
    lcsm_bpe_room room = {0};
    assert_int_equal(lcsm_merges_create(&m, 200, NULL), LCSM_OK);
    for (int32_t j = 0; j < 200; j++) {
        lcsm_u32x4 r = lcsm_rng(3, 1, (uint64_t)j);
        lcsm_merges_put(&m, (int32_t)(r.v[0] % (4 + (uint32_t)j)), (int32_t)(r.v[1] % 4), j, 4 + j);
    }
    /* a long word of short ones that cannot merge with each other */
    for (uint32_t turn = 0; turn < 50; turn++) {
        int32_t together[400], apart[400];
        size_t  count = 0, apart_count = 0;
        for (uint64_t j = 0; j < 20; j++) {
            int32_t word[20];
            size_t  size = lcsm_rng(7, turn, j).v[0] % 19, left = size;
            for (size_t k = 0; k < size; k++)
                word[k] = (int32_t)(lcsm_rng(8, turn, 20 * j + k).v[0] % 4);
            memcpy(together + count, word, size * sizeof *word);
            count += size;
            together[count++] = 1000; /* merges with nothing */
            assert_int_equal(lcsm_bpe(&m, &room, word, &left, NULL), LCSM_OK);
            memcpy(apart + apart_count, word, left * sizeof *word);
            apart_count += left;
            apart[apart_count++] = 1000;
        }
        assert_int_equal(lcsm_bpe(&m, &room, together, &count, NULL), LCSM_OK);
        assert_int_equal(count, apart_count);
        assert_memory_equal(together, apart, count * sizeof *apart);
    }
    lcsm_bpe_room_free(&room);
    lcsm_merges_free(&m);
}

/* ---- the scanner ------------------------------------------------------------------------ */

typedef struct {
    size_t ends[2048], count, at;
} words;

static lcsm_status note_word(void *user, const char *word, size_t size, lcsm_error *err)
{
    words *w = user;
    (void)word;
    (void)err;
    w->at += size;
    w->ends[w->count++] = w->at;
    return LCSM_OK;
}

/* The same pattern in brackets has no scanner, so PCRE2 does all of it. */
TEST(gpt2_scan_cuts_as_the_pattern_does)
{
    const lcsm_split_stage stage   = {.behavior = LCSM_SPLIT_ISOLATED};
    lcsm_splitter          by_hand = {0}, by_pattern = {0};
    lcsm_split_room        room;
    size_t                 by_hand_words = 0;
    assert_int_equal(lcsm_splitter_put(&by_hand, stage, LCSM_GPT2_PATTERN, NULL), LCSM_OK);
    assert_int_equal(lcsm_splitter_put(&by_pattern, stage, "(?:" LCSM_GPT2_PATTERN ")", NULL),
                     LCSM_OK);
    assert_true(by_hand.stages[0].gpt2 && !by_pattern.stages[0].gpt2);
    assert_int_equal(lcsm_split_room_create(&room, NULL), LCSM_OK);
    for (uint32_t turn = 0; turn < 3000; turn++) {
        char         text[300];
        size_t       size = 0;
        static words a, b;
        a.count = a.at = b.count = b.at = 0;
        for (uint64_t j = 0; size + 4 < sizeof text; j++) {
            lcsm_u32x4 r    = lcsm_rng(11, turn, j);
            uint32_t   code = r.v[0] % 16 < 12 ? r.v[1] % 128 : r.v[1] % 0x110000;
            if (r.v[2] % 4 == 0) code = (uint32_t) " '\nstrvelmd"[r.v[1] % 12];
            if (code >= 0xD800 && code < 0xE000) code = 0x2003;
            size += lcsm_utf8_put(text + size, code);
        }
        assert_int_equal(lcsm_split(&by_hand, &room, text, size, false, note_word, &a, NULL),
                         LCSM_OK);
        assert_int_equal(lcsm_split(&by_pattern, &room, text, size, false, note_word, &b, NULL),
                         LCSM_OK);
        assert_int_equal(a.count, b.count);
        assert_memory_equal(a.ends, b.ends, a.count * sizeof *a.ends);
        for (size_t at = 0; at < size; at += lcsm_gpt2_scan(text, size, at)) {
            if (lcsm_gpt2_scan(text, size, at) == 0) break;
            by_hand_words++;
        }
    }
    assert_true(by_hand_words > 3000); /* the scanner has not always passed */
    lcsm_split_room_free(&room);
    lcsm_splitter_free(&by_hand);
    lcsm_splitter_free(&by_pattern);
}

TEST(split_white_space_is_that_of_unicode)
{
    lcsm_splitter          s     = {0};
    const lcsm_split_stage stage = {.behavior = LCSM_SPLIT_ISOLATED};
    lcsm_split_room        room;
    assert_int_equal(lcsm_splitter_put(&s, stage, "[\\s]", NULL), LCSM_OK);
    assert_int_equal(lcsm_split_room_create(&room, NULL), LCSM_OK);
    for (uint32_t code = 1; code < 0x3100; code++) {
        char   text[8] = "a";
        words  w       = {.count = 0};
        size_t size    = 1 + lcsm_utf8_put(text + 1, code);
        text[size++]   = 'a';
        assert_int_equal(lcsm_split(&s, &room, text, size, false, note_word, &w, NULL), LCSM_OK);
        assert_int_equal(w.count, lcsm_utf8_is_space(code) ? 3 : 1);
    }
    lcsm_split_room_free(&room);
    lcsm_splitter_free(&s);
}

/* ---- characters out of pieces ------------------------------------------------------------ */

TEST(utf8_stream_never_splits_a_character)
{
    static const char text[] = "a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80z\xFF\xE4\xB8z\xC3";
    static const char want[] = "a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80z\xEF\xBF\xBD\xEF\xBF\xBDz"
                               "\xEF\xBF\xBD";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        lcsm_utf8_stream s = {0};
        char             out[3 * sizeof text + LCSM_UTF8_REST], all[100];
        size_t           used = 0;
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t now  = sizeof text - 1 - at < piece ? sizeof text - 1 - at : piece;
            size_t size = lcsm_utf8_push(&s, text + at, now, out);
            for (size_t k = 0; k < size;) { /* only whole characters come out */
                lcsm_utf8_n n = lcsm_utf8_next((const unsigned char *)out + k, size - k);
                assert_true(n.size > 0);
                k += n.size;
            }
            memcpy(all + used, out, size);
            used += size;
        }
        used += lcsm_utf8_end(&s, all + used);
        assert_int_equal(used, sizeof want - 1);
        assert_memory_equal(all, want, used);
    }
}
