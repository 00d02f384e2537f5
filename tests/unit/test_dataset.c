/* test_dataset.c - text becomes a stream of tokens, and blocks of it are where they should be. */
#include <lcsm/dataset.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/folder.h"
#include "temp_folder.h"
#include "test.h"

static lcsm_tokenizer *byte_tokenizer(void)
{
    lcsm_tokenizer *tok;
    assert_int_equal(lcsm_tokenizer_bytes(&tok, NULL), LCSM_OK);
    return tok;
}

static lcsm_dataset *open_one(const char *path, const lcsm_tokenizer *tok,
                              const lcsm_dataset_options *options)
{
    lcsm_dataset *ds;
    lcsm_error    err;
    if (lcsm_dataset_open(&ds, &path, 1, tok, options, NULL, NULL, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    return ds;
}

static void refused(const char *path, lcsm_status status, const char *words)
{
    lcsm_tokenizer *tok = byte_tokenizer();
    lcsm_dataset   *ds;
    lcsm_error      err = {0};
    assert_int_equal(lcsm_dataset_open(&ds, &path, 1, tok, NULL, NULL, NULL, &err), status);
    assert_null(ds);
    if (strstr(err.text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    lcsm_tokenizer_free(tok);
}

static void expect_bytes(const lcsm_dataset *ds, const char *text, size_t size)
{
    int32_t *ids = malloc((size + 1) * sizeof *ids);
    assert_int_equal(lcsm_dataset_tokens(ds), size);
    lcsm_dataset_read(ds, 0, size, ids);
    for (size_t j = 0; j < size; j++) assert_int_equal(ids[j], (unsigned char)text[j]);
    free(ids);
}

static void write_gz(const char *path, const char *text, size_t size)
{
    gzFile gz = gzopen(path, "wb");
    assert_non_null(gz);
    assert_int_equal(gzwrite(gz, text, (unsigned)size), size);
    assert_int_equal(gzclose(gz), Z_OK);
}

/* ---- reading ---------------------------------------------------------------------------- */

TEST(dataset_of_bytes_is_the_text_with_zeros_and_invalid_utf8)
{
    static const char text[] = "a\0b\xff\xfe\xc3\n two words\n";
    temp_folder       f      = temp_folder_make();
    lcsm_tokenizer   *tok    = byte_tokenizer();
    temp_write(&f, "t", text, sizeof text - 1);
    lcsm_dataset *ds = open_one(temp_path(&f, "t"), tok, NULL);
    expect_bytes(ds, text, sizeof text - 1);
    assert_int_equal(lcsm_dataset_bytes(ds), sizeof text - 1);
    assert_int_equal(lcsm_dataset_words(ds), 3);
    assert_int_equal(lcsm_dataset_lines(ds), 2);
    assert_int_equal(lcsm_dataset_vocab(ds), 256);
    lcsm_dataset_free(ds);
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}

TEST(dataset_of_a_compressed_file_is_its_text)
{
    temp_folder     f   = temp_folder_make();
    lcsm_tokenizer *tok = byte_tokenizer();
    write_gz(temp_path(&f, "t.gz"), "packed text", 11);
    lcsm_dataset *ds = open_one(temp_path(&f, "t.gz"), tok, NULL);
    expect_bytes(ds, "packed text", 11);
    lcsm_dataset_free(ds);
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}

TEST(dataset_of_a_folder_is_its_text_files_in_order)
{
    temp_folder     f   = temp_folder_make();
    lcsm_tokenizer *tok = byte_tokenizer();
    assert_int_equal(lcsm_folder_make(temp_path(&f, "top/b"), NULL), LCSM_OK);
    temp_write(&f, "top/c", "3", 1);
    temp_write(&f, "top/b/z", "2", 1);
    temp_write(&f, "top/a", "1", 1);
    temp_write(&f, "top/.hidden", "x", 1);
    temp_write(&f, "top/binary", "x\0y", 3);
    temp_write(&f, "top/empty", "", 0);
    lcsm_dataset *ds = open_one(temp_path(&f, "top"), tok, NULL);
    expect_bytes(ds, "123", 3);
    assert_int_equal(lcsm_dataset_skipped(ds), 3);
    lcsm_dataset_free(ds);
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}

TEST(dataset_without_text_is_refused)
{
    temp_folder f = temp_folder_make();
    temp_write(&f, "empty", "", 0);
    assert_int_equal(mkdir(temp_path(&f, "folder"), 0777), 0);
    refused(temp_path(&f, "empty"), LCSM_ERR_FORMAT, "no text");
    refused(temp_path(&f, "folder"), LCSM_ERR_FORMAT, "this folder contains no text");
    refused(temp_path(&f, "absent"), LCSM_ERR_IO, "No such file");
    refused("/dev/null", LCSM_ERR_IO, "neither a file nor a folder");
    temp_folder_remove(&f);
}

TEST(dataset_file_that_may_not_be_read_is_refused)
{
    temp_folder f = temp_folder_make();
    temp_write(&f, "secret", "x", 1);
    assert_int_equal(chmod(temp_path(&f, "secret"), 0), 0);
    if (geteuid() != 0) refused(temp_path(&f, "secret"), LCSM_ERR_IO, "Permission denied");
    refused(temp_path(&f, "secret/below"), LCSM_ERR_IO, "Not a directory"); /* root's too */
    temp_folder_remove(&f);
}

TEST(dataset_of_a_cut_or_broken_compressed_file_is_refused)
{
    enum { SIZE = 100000 };
    temp_folder f    = temp_folder_make();
    char       *text = malloc(SIZE);
    size_t      size;
    for (size_t j = 0; j < SIZE; j++) text[j] = (char)('a' + (j * j >> 3) % 26);
    write_gz(temp_path(&f, "whole.gz"), text, SIZE);
    unsigned char *packed = temp_read(&f, "whole.gz", &size);
    temp_write(&f, "cut.gz", packed, size / 2);
    refused(temp_path(&f, "cut.gz"), LCSM_ERR_FORMAT, "ends unexpectedly");
    packed[size - 6] ^= 1; /* in the checksum of the text */
    temp_write(&f, "broken.gz", packed, size);
    refused(temp_path(&f, "broken.gz"), LCSM_ERR_FORMAT, "broken");
    free(packed);
    free(text);
    temp_folder_remove(&f);
}

/* ---- ends ------------------------------------------------------------------------------- */

/* The bytes and an end of text, which is 0. */
static lcsm_tokenizer *with_end(const temp_folder *f)
{
    lcsm_tokenizer         *tok;
    lcsm_tokenizer_training options = {.size = sizeof options, .vocab = 257};
    temp_write(f, "sample", "x", 1);
    const char *path = temp_path(f, "sample");
    assert_int_equal(lcsm_tokenizer_train(&tok, &path, 1, &options, NULL, NULL, NULL), LCSM_OK);
    return tok;
}

/* The stream with @ in the place of the end of text. */
static void expect_ends(const temp_folder *f, const lcsm_tokenizer *tok, lcsm_text_ends ends,
                        const char *want)
{
    const lcsm_dataset_options options = {.size = sizeof options, .ends = ends};
    const char                *paths[] = {temp_path(f, "a"), temp_path(f, "b")};
    lcsm_dataset              *ds;
    assert_int_equal(lcsm_dataset_open(&ds, paths, 2, tok, &options, NULL, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_dataset_tokens(ds), strlen(want));
    for (size_t j = 0; want[j] != '\0'; j++) {
        int32_t id;
        lcsm_dataset_read(ds, j, 1, &id);
        assert_int_equal(id, want[j] == '@' ? 0 : lcsm_tokenizer_find(tok, &want[j], 1));
    }
    assert_int_equal(lcsm_dataset_lines(ds), 3);
    lcsm_dataset_free(ds);
}

TEST(dataset_end_of_text_stands_where_it_should)
{
    temp_folder     f   = temp_folder_make();
    lcsm_tokenizer *tok = with_end(&f), *bytes = byte_tokenizer();
    lcsm_dataset   *ds, *first, *rest;
    lcsm_error      err;
    temp_write(&f, "a", "p\n\nq", 4);
    temp_write(&f, "b", "r\n", 2);
    expect_ends(&f, tok, LCSM_ENDS_NEVER, "p\n\nqr\n");
    expect_ends(&f, tok, LCSM_ENDS_FILE, "p\n\nq@r\n@");
    expect_ends(&f, tok, LCSM_ENDS_LINE, "p@@q@r@");

    const lcsm_dataset_options lines = {.size = sizeof lines, .ends = LCSM_ENDS_LINE};
    const char                *path  = temp_path(&f, "a");
    assert_int_equal(lcsm_dataset_open(&ds, &path, 1, bytes, &lines, NULL, NULL, &err),
                     LCSM_ERR_CONFIG);
    assert_int_equal(lcsm_dataset_open(&ds, &path, 1, tok, &lines, NULL, NULL, &err), LCSM_OK);
    assert_int_equal(lcsm_dataset_split(ds, 0.4, &first, &rest, NULL), LCSM_OK); /* p@ | @q@ */
    assert_int_equal(lcsm_dataset_lines(rest), 2);
    assert_int_equal(lcsm_dataset_words(rest), 1);
    lcsm_dataset_free(first);
    lcsm_dataset_free(rest);
    lcsm_dataset_free(ds);
    lcsm_tokenizer_free(bytes);
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}

/* ---- cache ------------------------------------------------------------------------------ */

static size_t cached(const temp_folder *f, char name[64])
{
    lcsm_folder_list list;
    assert_int_equal(lcsm_folder_read(&list, temp_path(f, "cache"), NULL), LCSM_OK);
    size_t count = list.count;
    if (count > 0) (void)snprintf(name, 64, "cache/%s", list.names[0]);
    lcsm_folder_list_free(&list);
    return count;
}

static void count_calls(void *user, const char *what, uint64_t done, uint64_t total)
{
    assert_non_null(what);
    assert_true(done <= total);
    ++*(int *)user;
}

TEST(dataset_cache_is_found_again_and_made_anew_when_it_is_broken)
{
    temp_folder          f       = temp_folder_make();
    lcsm_tokenizer      *tok     = byte_tokenizer();
    lcsm_dataset_options options = {.size = sizeof options, .shard_size = 4};
    char                 cache[80], name[64];
    int                  calls[3] = {0};
    (void)snprintf(cache, sizeof cache, "%s", temp_path(&f, "cache"));
    options.cache = cache;
    temp_write(&f, "t", "0123456789", 10);
    for (int turn = 0; turn < 3; turn++) {
        lcsm_dataset *ds;
        const char   *path = temp_path(&f, "t");
        assert_int_equal(
            lcsm_dataset_open(&ds, &path, 1, tok, &options, count_calls, &calls[turn], NULL),
            LCSM_OK);
        expect_bytes(ds, "0123456789", 10);
        assert_int_equal(lcsm_dataset_bytes(ds), 10);
        lcsm_dataset_free(ds);
        assert_int_equal(cached(&f, name), 3); /* of 4, 4 and 2 tokens */
        if (turn == 1) temp_poke(&f, name, 128, 'x');
    }
    assert_true(calls[0] > 0);
    assert_int_equal(calls[1], 0);
    assert_true(calls[2] > 0);
    lcsm_dataset *ds = open_one(temp_path(&f, name), tok, NULL); /* a shard by itself */
    expect_bytes(ds, "0123", 4);
    lcsm_dataset_free(ds);
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}

/* The disk "fills" by a limit on the size of files. */
TEST(dataset_cache_on_a_full_disk_leaves_nothing)
{
    temp_folder          f       = temp_folder_make();
    lcsm_tokenizer      *tok     = byte_tokenizer();
    lcsm_dataset_options options = {.size = sizeof options};
    lcsm_dataset        *ds;
    lcsm_error           err = {0};
    struct rlimit        before, small;
    char                 cache[80], name[64];
    (void)snprintf(cache, sizeof cache, "%s", temp_path(&f, "cache"));
    options.cache = cache;
    temp_write(&f, "t", "0123456789", 10);
    const char *path = temp_path(&f, "t");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small                = before;
    small.rlim_cur       = 130; /* the header and a token */
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    lcsm_status st = lcsm_dataset_open(&ds, &path, 1, tok, &options, NULL, NULL, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_true(st == LCSM_ERR_IO || st == LCSM_ERR_SPACE);
    assert_null(ds);
    assert_int_equal(cached(&f, name), 0);
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}

/* ---- blocks ----------------------------------------------------------------------------- */

static lcsm_dataset *numbers(const temp_folder *f, const lcsm_tokenizer *tok, size_t count)
{
    char text[256];
    for (size_t j = 0; j < count; j++) text[j] = (char)(j + 1);
    temp_write(f, "numbers", text, count);
    return open_one(temp_path(f, "numbers"), tok, NULL);
}

TEST(dataset_block_is_shifted_by_one_and_the_last_is_filled_up)
{
    temp_folder          f     = temp_folder_make();
    lcsm_tokenizer      *tok   = byte_tokenizer();
    lcsm_dataset        *ds    = numbers(&f, tok, 10);
    lcsm_dataset_order   order = {.T = 4, .B = 2};
    int32_t              x[8], y[8];
    int32_t              reset[8];
    static const int32_t x0[] = {'\n', 1, 2, 3, 4, 5, 6, 7}, y0[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int32_t y1[] = {9, 10, -100, -100, -100, -100, -100, -100};
    assert_int_equal(lcsm_dataset_blocks(ds, 4), 3);
    assert_int_equal(lcsm_dataset_batches(ds, &order), 2);
    assert_int_equal(lcsm_dataset_batch(ds, &order, 0, x, y, reset), 8);
    assert_memory_equal(x, x0, sizeof x);
    assert_memory_equal(y, y0, sizeof y);
    assert_int_equal(lcsm_dataset_batch(ds, &order, 1, x, y, reset), 2);
    assert_int_equal(x[0], 8);
    assert_int_equal(x[1], 9);
    assert_memory_equal(y, y1, sizeof y);
    static const int32_t every[] = {1, 0, 0, 0, 1, 0, 0, 0};
    assert_memory_equal(reset, every, sizeof every);
    lcsm_dataset_free(ds);
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}

TEST(dataset_shuffle_takes_each_block_once_and_depends_on_seed_and_epoch)
{
    temp_folder     f   = temp_folder_make();
    lcsm_tokenizer *tok = byte_tokenizer();
    for (size_t count = 1; count <= 200; count += count < 20 ? 1 : 45) {
        lcsm_dataset      *ds        = numbers(&f, tok, count);
        lcsm_dataset_order order     = {.T = 1, .B = 1, .seed = 7, .shuffle = true};
        int                seen[257] = {0}, same = 0, moved = 0;
        for (uint64_t j = 0; j < count; j++) {
            int32_t x, y, other;
            assert_int_equal(lcsm_dataset_batch(ds, &order, j, &x, &y, NULL), 1);
            seen[y]++;
            assert_int_equal(x, y == 1 ? '\n' : y - 1);
            moved += (uint64_t)y != j + 1;
            order.epoch = 1;
            (void)lcsm_dataset_batch(ds, &order, j, &x, &other, NULL);
            order.epoch = 0;
            same += other == y;
        }
        for (size_t j = 1; j <= count; j++) assert_int_equal(seen[j], 1);
        if (count >= 20) assert_true(moved > (int)count / 2 && same < (int)count / 2);
        lcsm_dataset_free(ds);
    }
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}

TEST(dataset_carried_rows_go_on_from_batch_to_batch)
{
    temp_folder        f     = temp_folder_make();
    lcsm_tokenizer    *tok   = byte_tokenizer();
    lcsm_dataset      *ds    = numbers(&f, tok, 20);
    lcsm_dataset_order order = {.T = 3, .B = 2, .carried = true, .shuffle = true, .seed = 3};
    int32_t            x[6], y[6], next[2] = {1, 13};
    int32_t            reset[6];
    size_t             counted = 0;
    assert_int_equal(lcsm_dataset_batches(ds, &order), 4); /* 7 blocks: 4 and 3 */
    for (uint64_t j = 0; j < 4; j++) {
        counted += lcsm_dataset_batch(ds, &order, j, x, y, reset);
        for (int b = 0; b < 2; b++) {
            assert_int_equal(reset[3 * b], j == 0);
            assert_int_equal(reset[3 * b + 1] | reset[3 * b + 2], 0);
            for (int t = 0; t < 3 && y[3 * b + t] != LCSM_TARGET_NONE; t++)
                assert_int_equal(y[3 * b + t], next[b]++);
        }
    }
    assert_int_equal(counted, 20);
    lcsm_dataset_free(ds);
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}

TEST(dataset_split_is_contiguous_and_knows_its_text)
{
    static const char text[] = "one two\nthree four five\nsix seven eight\nnine";
    temp_folder       f      = temp_folder_make();
    lcsm_tokenizer   *tok    = byte_tokenizer();
    lcsm_dataset     *a, *b, *c, *d;
    temp_write(&f, "t", text, sizeof text - 1);
    lcsm_dataset *ds = open_one(temp_path(&f, "t"), tok, NULL);
    assert_int_equal(lcsm_dataset_split(ds, 0.9, &a, &b, NULL), LCSM_OK);
    assert_int_equal(lcsm_dataset_tokens(a), (sizeof text - 1) * 9 / 10);
    assert_int_equal(lcsm_dataset_tokens(a) + lcsm_dataset_tokens(b), sizeof text - 1);
    assert_int_equal(lcsm_dataset_bytes(b), lcsm_dataset_tokens(b));
    assert_int_equal(lcsm_dataset_words(a) + lcsm_dataset_words(b), 9);
    assert_int_equal(lcsm_dataset_lines(a) + lcsm_dataset_lines(b), 3);
    assert_true(lcsm_dataset_hash(a) != lcsm_dataset_hash(b));

    lcsm_dataset_order order = {.T = 64, .B = 1};
    int32_t            x[64], y[64];
    (void)lcsm_dataset_batch(b, &order, 0, x, y, NULL);
    assert_int_equal(x[0], text[lcsm_dataset_tokens(a) - 1]); /* the token before, in the stream */
    assert_int_equal(lcsm_dataset_split(b, 0.5, &c, &d, NULL), LCSM_OK); /* a part of a part */
    (void)lcsm_dataset_batch(d, &order, 0, x, y, NULL);
    assert_int_equal(x[0], text[lcsm_dataset_tokens(a) + lcsm_dataset_tokens(c) - 1]);

    lcsm_dataset_free(c);
    lcsm_dataset_free(d);
    lcsm_dataset_free(a);
    lcsm_dataset_free(b);
    assert_int_equal(lcsm_dataset_split(ds, 1, &a, &b, NULL), LCSM_ERR_ARGUMENT);
    lcsm_dataset_free(ds);
    lcsm_tokenizer_free(tok);
    temp_folder_remove(&f);
}
