/*
 * test_tokenizer_vectors.c - ids that other programs gave, for GPT-2 and GPT-NeoX, both ways.
 *
 * The vocabularies are in ../shared/data/tokenizers; without that folder the tests are skipped.
 */
#include <lcsm/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "test.h"

#define FOLDER "../shared/data/tokenizers/"

static unsigned hex(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* One line: the text in hexadecimal digits, a tab, ids. */
static void check_line(const lcsm_tokenizer *tok, const char *line, const char *end)
{
    static char    text[1 << 16];
    static int32_t want[1 << 16];
    size_t         size = 0, count = 0, got_count, back_size;
    int32_t       *got;
    char          *back;
    lcsm_error     err;
    for (; *line != '\t'; line += 2) text[size++] = (char)(hex(line[0]) << 4 | hex(line[1]));
    for (char *next; ++line < end; line = next) want[count++] = (int32_t)strtol(line, &next, 10);
    if (lcsm_tokenizer_encode(tok, text, size, 0, &got, &got_count, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(got_count, count);
    if (count > 0) assert_memory_equal(got, want, count * sizeof *want);
    assert_int_equal(lcsm_tokenizer_decode(tok, got, got_count, &back, &back_size, NULL), LCSM_OK);
    assert_int_equal(back_size, size);
    assert_memory_equal(back, text, size);
    free(got);
    free(back);
}

static void check_file(const lcsm_tokenizer *tok, const char *path, size_t least)
{
    lcsm_file file;
    size_t    lines = 0;
    assert_int_equal(lcsm_file_read(&file, path, 1 << 24, NULL), LCSM_OK);
    const char *at = (const char *)file.data, *last = at + file.size;
    while (at < last) {
        const char *end = memchr(at, '\n', (size_t)(last - at));
        if (end == NULL) end = last;
        check_line(tok, at, end);
        lines++;
        at = end + 1;
    }
    assert_true(lines >= least);
    lcsm_file_close(&file);
}

static void need(const char *path)
{
    if (lcsm_path_exists(path)) return;
    print_message("%s is not there\n", path);
    skip();
}

TEST(tokenizer_gpt2_gives_the_recorded_ids)
{
    lcsm_tokenizer *tok;
    lcsm_error      err;
    need(FOLDER "gpt2-encoder.json");
    if (lcsm_tokenizer_load_gpt2(&tok, FOLDER "gpt2-encoder.json", FOLDER "gpt2-vocab.bpe", &err)
        != LCSM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lcsm_tokenizer_vocab(tok), 50257);
    assert_int_equal(lcsm_tokenizer_eos(tok), 50256);
    check_file(tok, FOLDER "vectors-gpt2.tsv", 10);
    check_file(tok, FOLDER "vectors-gpt2-r50k.tsv", 10);
    lcsm_tokenizer_free(tok);
}

TEST(tokenizer_neox_gives_the_recorded_ids)
{
    lcsm_tokenizer *tok;
    lcsm_error      err;
    need(FOLDER "gpt-neox-20b-tokenizer.json");
    if (lcsm_tokenizer_load(&tok, FOLDER "gpt-neox-20b-tokenizer.json", &err) != LCSM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lcsm_tokenizer_vocab(tok), 50277);
    assert_int_equal(lcsm_tokenizer_eos(tok), 0);
    check_file(tok, FOLDER "vectors-neox.tsv", 10);
    lcsm_tokenizer_free(tok);
}
