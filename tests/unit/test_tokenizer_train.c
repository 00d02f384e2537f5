/* test_tokenizer_train.c - merges are learned in the order of their counts, always the same. */
#include <lcsm/tokenizer.h>
#include <stdlib.h>
#include <string.h>

#include "temp_folder.h"
#include "test.h"
#include "text/word_count.h"

static lcsm_tokenizer *train(const char *text, lcsm_tokenizer_training options)
{
    temp_folder     f = temp_folder_make();
    lcsm_tokenizer *tok;
    lcsm_error      err;
    temp_write(&f, "t", text, strlen(text));
    const char *path = temp_path(&f, "t");
    if (lcsm_tokenizer_train(&tok, &path, 1, &options, NULL, NULL, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    temp_folder_remove(&f);
    return tok;
}

static void expect_token(const lcsm_tokenizer *tok, int32_t id, const char *want)
{
    size_t      size;
    const char *bytes = lcsm_tokenizer_piece(tok, id, &size);
    assert_non_null(bytes);
    if (size != strlen(want) || memcmp(bytes, want, size) != 0)
        fail_msg("token %d is \"%.*s\", want \"%s\"", (int)id, (int)size, bytes, want);
}

/* 0 is the end of text, 1 to 256 the bytes, then what was learned. */
TEST(train_merges_the_most_frequent_pair_first)
{
    lcsm_tokenizer *tok =
        train("low low low low lowest newest newest newest",
              (lcsm_tokenizer_training){.size = sizeof(lcsm_tokenizer_training), .vocab = 264});
    /* lo and ow come 5 times, and l is before o; low 5; es, st and the space before low 4, of which
     * e is the smallest, and the space, a late character, is before es; then e w of three that
     * come 3 times, and n ew */
    static const char *const WANT[] = {"lo", "low", "es", " low", "est", "ew", "new"};
    for (int32_t j = 0; j < 7; j++) expect_token(tok, 257 + j, WANT[j]);
    expect_token(tok, 0, "<|endoftext|>");
    assert_true(lcsm_tokenizer_is_special(tok, 0));
    assert_int_equal(lcsm_tokenizer_eos(tok), 0);
    lcsm_tokenizer_free(tok);
}

TEST(train_stops_when_no_pair_is_left_and_needs_no_end_of_text)
{
    lcsm_tokenizer *tok =
        train("aaaa aaaa", (lcsm_tokenizer_training){
                               .size = sizeof(lcsm_tokenizer_training), .vocab = 1000, .eos = ""});
    assert_int_equal(lcsm_tokenizer_eos(tok), -1);
    expect_token(tok, 256, "aa");
    expect_token(tok, 257, "aaaa");
    assert_int_equal(lcsm_tokenizer_vocab(tok), 258);
    lcsm_tokenizer_free(tok);
}

TEST(train_keeps_an_end_of_text_of_any_name)
{
    lcsm_tokenizer *tok =
        train("aaaa", (lcsm_tokenizer_training){
                          .size = sizeof(lcsm_tokenizer_training), .vocab = 300, .eos = "<END>"});
    expect_token(tok, 0, "<END>");
    assert_int_equal(lcsm_tokenizer_eos(tok), 0);
    lcsm_tokenizer_free(tok);
}

TEST(train_of_the_same_text_is_the_same_file)
{
    const char     *text = "the cat sat on the mat, the bat sat on the hat \xFF\xFF\xFF\xFF";
    lcsm_tokenizer *a =
        train(text, (lcsm_tokenizer_training){
                        .size = sizeof(lcsm_tokenizer_training), .vocab = 300, .min_count = 1});
    lcsm_tokenizer *b =
        train(text, (lcsm_tokenizer_training){
                        .size = sizeof(lcsm_tokenizer_training), .vocab = 300, .min_count = 1});
    assert_true(lcsm_tokenizer_hash(a) == lcsm_tokenizer_hash(b));
    lcsm_tokenizer_free(a);
    lcsm_tokenizer_free(b);
}

TEST(word_count_beyond_its_limit_forgets_the_rarest)
{
    lcsm_word_count c = {.limit = 100};
    for (int j = 0; j < 2000; j++) {
        char word[8] = {'w', (char)('a' + j % 26), (char)('a' + j / 26 % 26),
                        (char)('a' + j / 676)};
        assert_int_equal(lcsm_word_count_add(&c, word, 4, NULL), LCSM_OK);
        assert_int_equal(lcsm_word_count_add(&c, "often", 5, NULL), LCSM_OK);
    }
    uint64_t often = 0;
    for (size_t j = 0; j <= c.mask; j++)
        if (c.slots[j].count > often) often = c.slots[j].count;
    assert_int_equal(often, 2000);
    assert_true(c.used <= 101);
    lcsm_word_count_free(&c);
}
