/* test_tokenizer_bad.c - every broken tokenizer file is refused with a sentence that names what is
 * wrong. */
#include <lcsm/tokenizer.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "temp_folder.h"
#include "test.h"
#include "text/tokenizer.h"

#define PRE   "\"pre_tokenizer\": {\"type\": \"ByteLevel\"}"
#define MODEL "\"model\": {\"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}"

static const struct {
    const char *json, *words; /* that the message has */
} BAD[] = {
    {"", "t.json"},
    {"{", "t.json"},
    {"[]", "object"},
    {"{" PRE "}", "model is missing"},
    {"{" MODEL "}", "pre_tokenizer is missing"},
    {"{\"pre_tokenizer\": null, " MODEL "}", "expected ByteLevel"},
    {"{\"pre_tokenizer\": {\"type\": \"Metaspace\"}, " MODEL "}", "Metaspace alone"},
    {"{\"pre_tokenizer\": {\"type\": \"Whitespace\"}, " MODEL "}", "pre_tokenizer.type"},
    {"{\"pre_tokenizer\": {}, " MODEL "}", "pre_tokenizer.type is missing"},
    {"{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"use_regex\": 1}, " MODEL "}", "use_regex"},
    {"{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"ByteLevel\"},"
     "{\"type\": \"Digits\"}]}, " MODEL "}",
     "nothing after ByteLevel or Metaspace"},
    {"{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\","
     "\"pattern\": {\"Regex\": \"(\"}, \"behavior\": \"Isolated\"}]}, " MODEL "}",
     "pattern"},
    {"{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\","
     "\"pattern\": {\"Regex\": \"a\"}, \"behavior\": \"Isolate\"}]}, " MODEL "}",
     "Isolated"},
    {"{\"normalizer\": {\"type\": \"Lowercase\"}, " PRE "," MODEL "}", "normalizer.type"},
    {"{\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"a\"}, \"content\": "
     "\"\"}," PRE "," MODEL "}",
     "String"},
    {"{\"decoder\": {\"type\": \"WordPiece\"}, " PRE "," MODEL "}", "decoder.type"},
    {"{\"post_processor\": {\"type\": \"Other\"}, " PRE "," MODEL "}", "post_processor.type"},
    {"{\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\":"
     "{\"id\": \"s\"}}], \"special_tokens\": {}}, " PRE "," MODEL "}",
     "special_tokens.s is missing"},
    {"{" PRE ", \"model\": {\"type\": \"Unigram\", \"vocab\": {}, \"merges\": []}}", "model.type"},
    {"{" PRE ", \"model\": {\"vocab\": {}, \"merges\": []}}", "at least one token"},
    {"{" PRE ", \"model\": {\"vocab\": [], \"merges\": []}}", "object"},
    {"{" PRE ", \"model\": {\"vocab\": {\"a\": 0}}}", "merges is missing"},
    {"{" PRE ", \"model\": {\"vocab\": {\"a\": -1}, \"merges\": []}}", "-1"},
    {"{" PRE ", \"model\": {\"vocab\": {\"a\": \"x\"}, \"merges\": []}}", "integer"},
    {"{" PRE ", \"model\": {\"vocab\": {\"a\": 2000000000}, \"merges\": []}}", "2000000000"},
    {"{" PRE ", \"model\": {\"vocab\": {\"a\": 0, \"b\": 0}, \"merges\": []}}", "no other token"},
    {"{" PRE ", \"model\": {\"vocab\": {\"a\": 0}, \"merges\": [\"ab\"]}}", "one space"},
    {"{" PRE ", \"model\": {\"vocab\": {\"a\": 0}, \"merges\": [\"a b c\"]}}", "one space"},
    {"{" PRE ", \"model\": {\"vocab\": {\"a\": 0}, \"merges\": [[\"a\"]]}}", "merges[0]"},
    {"{" PRE ", \"model\": {\"vocab\": {\"a\": 0}, \"merges\": [\"a b\"]}}", "two tokens"},
    {"{" PRE ", \"model\": {\"vocab\": {\"a\": 0}, \"merges\": [\"a a\"]}}", "joint text"},
    {"{" PRE ", \"model\": {\"dropout\": 0.1, \"vocab\": {\"a\": 0}, \"merges\": []}}", "dropout"},
    {"{" PRE ", \"model\": {\"byte_fallback\": true, \"vocab\": {\"a\": 0}, \"merges\": []}}",
     "byte_fallback"},
    {"{" PRE ", \"model\": {\"end_of_word_suffix\": \"x\", \"vocab\": {\"a\": 0}, \"merges\": []}}",
     "end_of_word_suffix"},
    {"{\"post_processor\": {\"type\": \"RobertaProcessing\", \"cls\": [\"a\", 0], \"sep\": [\"x\","
     "900]}, " PRE "," MODEL "}",
     "900"},
    {"{" PRE ", \"model\": {\"unk_token\": \"?\", \"vocab\": {\"a\": 0}, \"merges\": []}}",
     "unk_token"},
    {"{\"added_tokens\": {}, " PRE "," MODEL "}", "added_tokens"},
    {"{\"added_tokens\": [{\"id\": 5}], " PRE "," MODEL "}", "content"},
    {"{\"added_tokens\": [{\"content\": \"x\"}], " PRE "," MODEL "}", "id"},
    {"{\"added_tokens\": [{\"id\": 1, \"content\": \"x\"}], " PRE "," MODEL "}", "no other token"},
};

TEST(tokenizer_bad_files_are_refused_by_name)
{
    for (size_t j = 0; j < COUNT(BAD); j++) {
        lcsm_tokenizer *tok;
        lcsm_error      err  = {0};
        size_t          size = strlen(BAD[j].json);
        lcsm_status     st   = lcsm_tokenizer_parse(&tok, "t.json", BAD[j].json, size, &err);
        if (st != LCSM_ERR_FORMAT || strstr(err.text, BAD[j].words) == NULL)
            fail_msg("%zu: %s: \"%s\" lacks \"%s\"", j, BAD[j].json, err.text, BAD[j].words);
        assert_null(tok);
    }
}

TEST(tokenizer_deep_sequences_are_refused)
{
    char              json[4096] = "{\"normalizer\": ";
    lcsm_error        err;
    static const char open[] = "{\"type\": \"Sequence\", \"normalizers\": [", tail[] = "null";
    for (int j = 0; j < 20; j++) strcat(json, open);
    strcat(json, tail);
    for (int j = 0; j < 20; j++) strcat(json, "]}");
    strcat(json, ", " PRE ", " MODEL "}");
    lcsm_tokenizer *tok;
    assert_int_equal(lcsm_tokenizer_parse(&tok, "t.json", json, strlen(json), &err),
                     LCSM_ERR_FORMAT);
    assert_null(tok);
}

static void gpt2_refused(const temp_folder *f, const char *encoder, const char *merges,
                         const char *words)
{
    lcsm_tokenizer *tok;
    lcsm_error      err = {0};
    temp_write(f, "encoder.json", encoder, strlen(encoder));
    temp_write(f, "vocab.bpe", merges, strlen(merges));
    assert_int_equal(lcsm_tokenizer_load_gpt2(&tok, temp_path(f, "encoder.json"),
                                              temp_path(f, "vocab.bpe"), &err),
                     LCSM_ERR_FORMAT);
    assert_null(tok);
    if (strstr(err.text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
}

TEST(tokenizer_bad_gpt2_files_are_refused)
{
    temp_folder f = temp_folder_make();
    gpt2_refused(&f, "{\"a\": 0, \"b\": 5}", "", "expected an integer");
    gpt2_refused(&f, "{\"a\": 0, \"b\": 0}", "", "no other token");
    gpt2_refused(&f, "{\"a\": 0, \"b\": 1}", "#version: 0.2\na b\n", "joint text");
    gpt2_refused(&f, "{\"a\": 0, \"b\": 1}", "#version: 0.2\nab\n", "vocab.bpe:2");
    gpt2_refused(&f, "{\"a\": 0, \"b\": 1}", "a c\n", "vocab.bpe:1");
    gpt2_refused(&f, "{\"a\": 0, \"\": 1}", "a \n", "vocab.bpe:1");
    gpt2_refused(&f, "{\"\": 0}", " \n \n \n \n \n \n \n \n", "vocab.bpe:1");
    gpt2_refused(&f, "{}", "", "at least one token");
    temp_folder_remove(&f);
}

TEST(tokenizer_training_says_what_is_wrong)
{
    temp_folder             f = temp_folder_make();
    lcsm_tokenizer         *tok;
    lcsm_error              err;
    lcsm_tokenizer_training small = {.size = sizeof small, .vocab = 256}, spaced = {.eos = "a b"};
    temp_write(&f, "empty", "", 0);
    temp_write(&f, "text", "text", 4);
    const char *empty = temp_path(&f, "empty"), *text = temp_path(&f, "text");
    assert_int_equal(lcsm_tokenizer_train(&tok, &empty, 1, NULL, NULL, NULL, &err),
                     LCSM_ERR_FORMAT);
    assert_int_equal(lcsm_tokenizer_train(&tok, &text, 1, &small, NULL, NULL, &err),
                     LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_tokenizer_train(&tok, &text, 1, &spaced, NULL, NULL, &err),
                     LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_tokenizer_train(&tok, &text, 0, NULL, NULL, NULL, &err),
                     LCSM_ERR_ARGUMENT);
    assert_null(tok);
    temp_folder_remove(&f);
}
