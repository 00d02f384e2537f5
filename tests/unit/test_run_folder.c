/* test_run_folder.c - the files of a run are stored whole and lines are appended whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "format/run_folder.h"
#include "format/safetensors.h"
#include "format/sha256.h"
#include "temp_folder.h"
#include "test.h"

static void assert_file(const temp_folder *f, const char *name, const char *text)
{
    size_t         size;
    unsigned char *data = temp_read(f, name, &size);
    assert_int_equal(size, strlen(text));
    assert_string_equal((const char *)data, text);
    free(data);
}

TEST(run_is_created_once_with_its_config)
{
    temp_folder f   = temp_folder_make();
    lcsm_error  err = {0};
    const char *run = temp_path(&f, "runs/a");
    assert_int_equal(lcsm_run_create(run, "{\"layers\": 2}\n", NULL), LCSM_OK);
    assert_file(&f, "runs/a/config.json", "{\"layers\": 2}\n");
    assert_true(lcsm_path_exists(temp_path(&f, "runs/a/checkpoints")));
    assert_int_equal(lcsm_run_create(run, "{}", &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "config.json already exists: resume that run"));
    assert_file(&f, "runs/a/config.json", "{\"layers\": 2}\n");
    temp_folder_remove(&f);
}

TEST(run_stores_tensors_with_the_sum_of_its_config)
{
    static const float CONTENT[] = {1, 2, 3};
    static const char  CONFIG[]  = "{\"layers\": 2}\n";
    lcsm_named_tensor  t         = {
                 .name = "w", .element = LCSM_ELEMENT_F32, .rank = 1, .shape = {3}, .data = CONTENT};
    temp_folder       f = temp_folder_make();
    lcsm_safetensors  s;
    lcsm_named_tensor got;
    char              sum[LCSM_SHA256_TEXT];
    lcsm_run_file     file = {.name = LCSM_RUN_MODEL, .tensors = &t, .count = 1};
    assert_int_equal(lcsm_run_store(f.path, &file, NULL), LCSM_OK);
    assert_int_equal(lcsm_safetensors_open(&s, temp_path(&f, LCSM_RUN_MODEL), 0, NULL), LCSM_OK);
    assert_null(lcsm_safetensors_metadata(&s, "lcsm_config_sha256"));
    lcsm_safetensors_close(&s);

    assert_int_equal(lcsm_run_create(f.path, CONFIG, NULL), LCSM_OK);
    assert_int_equal(lcsm_run_store(f.path, &file, NULL), LCSM_OK);
    assert_int_equal(lcsm_safetensors_open(&s, temp_path(&f, LCSM_RUN_MODEL), 0, NULL), LCSM_OK);
    lcsm_sha256(sum, CONFIG, strlen(CONFIG));
    assert_string_equal(lcsm_safetensors_metadata(&s, "lcsm_config_sha256"), sum);
    assert_true(lcsm_safetensors_find(&got, &s, "w"));
    assert_memory_equal(got.data, CONTENT, sizeof CONTENT);
    lcsm_safetensors_close(&s);
    temp_folder_remove(&f);
}

TEST(run_file_sum_while_writing_is_the_sum_of_the_file)
{
    temp_folder f = temp_folder_make();
    char        bytes[1000];
    for (size_t size = 0; size <= sizeof bytes; size = 3 * size + 1) {
        lcsm_file_sum written, read;
        lcsm_run_file file = {.name = "f", .bytes = bytes, .size = size};
        memset(bytes, (int)size, sizeof bytes);
        assert_int_equal(lcsm_run_file_write(&written, f.path, f.path, &file, NULL), LCSM_OK);
        assert_int_equal(lcsm_file_sum_read(&read, temp_path(&f, "f"), NULL), LCSM_OK);
        assert_int_equal(written.size, size);
        assert_true(lcsm_file_sum_equal(&written, &read));
        assert_int_equal(strlen(read.text), 32);
        read.text[31] ^= 1;
        assert_false(lcsm_file_sum_equal(&written, &read));
    }
    temp_folder_remove(&f);
}

TEST(run_file_outside_the_run_is_refused)
{
    temp_folder   f    = temp_folder_make();
    lcsm_error    err  = {0};
    lcsm_run_file file = {.name = "../x", .bytes = "", .size = 0};
    assert_int_equal(lcsm_run_store(f.path, &file, &err), LCSM_ERR_ARGUMENT);
    assert_string_equal(err.text, "\"../x\" is not a valid file name in a run folder");
    temp_folder_remove(&f);
}

TEST(run_append_adds_lines)
{
    temp_folder f   = temp_folder_make();
    lcsm_error  err = {0};
    assert_int_equal(lcsm_run_append(f.path, LCSM_RUN_METRICS, "{\"step\":1}", NULL), LCSM_OK);
    assert_int_equal(lcsm_run_append(f.path, LCSM_RUN_METRICS, "{\"step\":2}", NULL), LCSM_OK);
    assert_file(&f, LCSM_RUN_METRICS, "{\"step\":1}\n{\"step\":2}\n");
    assert_int_equal(lcsm_run_append(f.path, LCSM_RUN_METRICS, "a\nb", &err), LCSM_ERR_ARGUMENT);
    assert_file(&f, LCSM_RUN_METRICS, "{\"step\":1}\n{\"step\":2}\n");
    assert_int_equal(lcsm_run_append(temp_path(&f, "none"), "m", "x", &err), LCSM_ERR_IO);
    temp_folder_remove(&f);
}

TEST(run_append_cuts_what_a_crash_left_of_a_line)
{
    temp_folder f = temp_folder_make();
    temp_write(&f, "m", "first\nseco", 10);
    assert_int_equal(lcsm_run_append(f.path, "m", "second", NULL), LCSM_OK);
    assert_file(&f, "m", "first\nsecond\n");
    temp_write(&f, "m", "a line that is longer", 21);
    assert_int_equal(lcsm_run_append(f.path, "m", "short", NULL), LCSM_OK);
    assert_file(&f, "m", "short\n");
    temp_folder_remove(&f);
}

TEST(run_append_goes_on_behind_a_long_file_and_refuses_one_without_lines)
{
    enum { LINES = 20000, LINE = 10 };
    temp_folder f    = temp_folder_make();
    lcsm_error  err  = {0};
    char       *text = malloc(LINES * LINE);
    size_t      size = 0;
    assert_non_null(text);
    memset(text, 'x', LINES * LINE);
    temp_write(&f, "m", text, LINES * LINE);
    assert_int_equal(lcsm_run_append(f.path, "m", "y", &err), LCSM_ERR_FORMAT);
    assert_non_null(strstr(err.text, "no line end in its last 65536 bytes"));
    for (size_t j = LINE - 1; j < LINES * LINE; j += LINE) text[j] = '\n';
    temp_write(&f, "m", text, LINES * LINE);
    assert_int_equal(lcsm_run_append(f.path, "m", "y", &err), LCSM_OK);
    unsigned char *got = temp_read(&f, "m", &size);
    assert_int_equal(size, LINES * LINE + 2);
    assert_memory_equal(got, text, LINES * LINE);
    assert_memory_equal(got + LINES * LINE, "y\n", 2);
    free(got);
    free(text);
    temp_folder_remove(&f);
}
