/* test_weights.c - a model folder's files and its index agree, or the folder is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/weights.h"
#include "temp_folder.h"
#include "test.h"

static temp_folder f;

/* A file with one F32 vector for each letter of names: a has 1 number, b has 2, ... */
static void put_shard(const char *file, const char *names)
{
    static const float VALUES[26] = {1, 2, 3, 4, 5};
    lcsm_named_tensor  list[26];
    char               letters[26][2] = {{0}};
    size_t             n              = strlen(names);
    for (size_t j = 0; j < n; j++) {
        letters[j][0] = names[j];
        list[j]       = (lcsm_named_tensor){.name    = letters[j],
                                            .element = LCSM_ELEMENT_F32,
                                            .rank    = 1,
                                            .shape   = {(size_t)(names[j] - 'a') + 1},
                                            .data    = VALUES};
    }
    assert_int_equal(lcsm_safetensors_save(temp_path(&f, file), list, n, NULL, 0, NULL), LCSM_OK);
}

static void put_index(const char *text)
{
    temp_write(&f, "model.safetensors.index.json", text, strlen(text));
}

static void refused(const char *index, lcsm_status status, const char *words)
{
    lcsm_weights w;
    lcsm_error   err = {0};
    put_index(index);
    assert_int_equal(lcsm_weights_open(&w, f.path, 0, &err), status);
    if (strstr(err.text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    assert_null(w.shards);
}

TEST(weights_of_one_file_are_read)
{
    lcsm_weights      w;
    lcsm_named_tensor t;
    f = temp_folder_make();
    put_shard("model.safetensors", "abc");
    assert_int_equal(lcsm_weights_open(&w, f.path, 0, NULL), LCSM_OK);
    assert_int_equal(w.count, 3);
    assert_true(lcsm_weights_find(&t, &w, "b"));
    assert_int_equal(t.shape[0], 2);
    assert_string_equal(lcsm_weights_at(&w, 2).name, "c");
    assert_int_equal(lcsm_weights_check_finite(&w, NULL), LCSM_OK);
    lcsm_weights_close(&w);
    temp_folder_remove(&f);
}

TEST(weights_of_three_files_are_one_list)
{
    static const char *const ORDER[] = {"a", "d", "b", "c", "e"};
    lcsm_weights             w;
    lcsm_named_tensor        t;
    lcsm_error               err = {0};
    f                            = temp_folder_make();
    put_shard("m-1", "ad");
    put_shard("m-2", "b");
    put_shard("m-3", "ce");
    put_index("{\"metadata\":{\"total_size\":60},\"weight_map\":"
              "{\"e\":\"m-3\",\"a\":\"m-1\",\"b\":\"m-2\",\"c\":\"m-3\",\"d\":\"m-1\"}}");
    if (lcsm_weights_open(&w, f.path, 0, &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_int_equal(w.shard_count, 3);
    assert_int_equal(w.count, 5);
    assert_int_equal(w.warning.status, LCSM_OK);
    for (size_t j = 0; j < 5; j++) {
        assert_string_equal(lcsm_weights_at(&w, j).name, ORDER[j]);
        assert_true(lcsm_weights_find(&t, &w, ORDER[j]));
        assert_int_equal(t.shape[0], ORDER[j][0] - 'a' + 1);
    }
    assert_false(lcsm_weights_find(&t, &w, "f"));
    lcsm_weights_close(&w);
    temp_folder_remove(&f);
}

TEST(weights_index_with_a_wrong_total_is_read_with_a_warning)
{
    lcsm_weights w;
    f = temp_folder_make();
    put_shard("m-1", "a");
    put_index("{\"metadata\":{\"total_size\":5},\"weight_map\":{\"a\":\"m-1\"}}");
    assert_int_equal(lcsm_weights_open(&w, f.path, 0, NULL), LCSM_OK);
    assert_non_null(strstr(w.warning.text, "total_size is 5, but the tensors have 4 bytes"));
    lcsm_weights_close(&w);
    put_index("{\"weight_map\":{\"a\":\"m-1\"}}");
    assert_int_equal(lcsm_weights_open(&w, f.path, 0, NULL), LCSM_OK);
    assert_int_equal(w.warning.status, LCSM_OK);
    lcsm_weights_close(&w);
    temp_folder_remove(&f);
}

TEST(weights_index_that_names_a_file_elsewhere_is_refused)
{
    f = temp_folder_make();
    put_shard("m-1", "a");
    refused("{\"weight_map\":{\"a\":\"/etc/passwd\"}}", LCSM_ERR_FORMAT,
            "weight_map.a is \"/etc/passwd\" (a string); expected a file name without a folder");
    refused("{\"weight_map\":{\"a\":\"../m-1\"}}", LCSM_ERR_FORMAT, "without a folder");
    refused("{\"weight_map\":{\"a\":\"sub/m-1\"}}", LCSM_ERR_FORMAT, "without a folder");
    refused("{\"weight_map\":{\"a\":\"sub\\\\m-1\"}}", LCSM_ERR_FORMAT, "without a folder");
    refused("{\"weight_map\":{\"a\":\"..\"}}", LCSM_ERR_FORMAT, "without a folder");
    refused("{\"weight_map\":{\"a\":\"\"}}", LCSM_ERR_FORMAT, "without a folder");
    temp_folder_remove(&f);
}

TEST(weights_index_of_a_wrong_form_is_refused)
{
    f = temp_folder_make();
    put_shard("m-1", "a");
    refused("{", LCSM_ERR_FORMAT, "index.json:1:2: ");
    refused("[]", LCSM_ERR_FORMAT, "weight_map is missing");
    refused("{\"weight_map\":[]}", LCSM_ERR_FORMAT, "weight_map is an array of 0 items");
    refused("{\"weight_map\":{\"a\":1}}", LCSM_ERR_FORMAT, "weight_map.a is 1; expected a string");
    refused("{\"weight_map\":{\"a\":\"m-1\",\"\\u0061\":\"m-1\"}}", LCSM_ERR_FORMAT, "duplicate");
    refused("{\"weight_map\":{\"a\":\"m-1\"},\"metadata\":{\"total_size\":\"4\"}}", LCSM_ERR_FORMAT,
            "metadata.total_size is \"4\" (a string)");
    temp_folder_remove(&f);
}

TEST(weights_index_and_files_that_disagree_are_refused)
{
    f = temp_folder_make();
    put_shard("m-1", "ab");
    put_shard("m-2", "c");
    refused("{\"weight_map\":{\"a\":\"m-1\",\"b\":\"m-1\",\"c\":\"m-9\"}}", LCSM_ERR_IO, "m-9");
    refused("{\"weight_map\":{\"a\":\"m-1\",\"b\":\"m-1\",\"d\":\"m-2\"}}", LCSM_ERR_FORMAT,
            "d is not in m-2");
    refused("{\"weight_map\":{\"a\":\"m-1\",\"c\":\"m-2\"}}", LCSM_ERR_FORMAT,
            "b of m-1 is not listed for it");
    put_shard("m-2", "bc");
    refused("{\"weight_map\":{\"a\":\"m-1\",\"b\":\"m-1\",\"c\":\"m-2\"}}", LCSM_ERR_FORMAT,
            "b of m-2 is not listed for it");
    temp_folder_remove(&f);
}

TEST(weights_shard_that_breaks_a_rule_is_refused_by_its_name)
{
    f = temp_folder_make();
    temp_write(&f, "m-1", "short", 5);
    refused("{\"weight_map\":{\"a\":\"m-1\"}}", LCSM_ERR_FORMAT, "m-1: header too small");
    temp_folder_remove(&f);
}

TEST(weights_folder_without_tensor_files_is_refused)
{
    lcsm_weights w;
    lcsm_error   err = {0};
    f                = temp_folder_make();
    assert_int_equal(lcsm_weights_open(&w, f.path, 0, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "has neither model.safetensors nor"));
    temp_write(&f, "pytorch_model.bin", "PK", 2);
    assert_int_equal(lcsm_weights_open(&w, f.path, 0, &err), LCSM_ERR_FORMAT);
    assert_non_null(strstr(err.text, "has PyTorch files; lcsm import makes a run folder"));
    temp_folder_remove(&f);
}

TEST(weights_behind_a_symbolic_link_are_read)
{
    lcsm_weights w;
    f = temp_folder_make();
    put_shard("blob", "a");
    assert_int_equal(symlink("blob", temp_path(&f, "model.safetensors")), 0);
    assert_int_equal(lcsm_weights_open(&w, f.path, 0, NULL), LCSM_OK);
    assert_int_equal(w.count, 1);
    lcsm_weights_close(&w);
    temp_folder_remove(&f);
}

TEST(weights_that_are_not_finite_are_named)
{
    const float       values[2] = {1.0f, NAN};
    lcsm_named_tensor t         = {
                .name = "w", .element = LCSM_ELEMENT_F32, .rank = 1, .shape = {2}, .data = values};
    lcsm_weights w;
    lcsm_error   err = {0};
    f                = temp_folder_make();
    assert_int_equal(lcsm_safetensors_save(temp_path(&f, "m-2"), &t, 1, NULL, 0, NULL), LCSM_OK);
    put_shard("m-1", "a");
    put_index("{\"weight_map\":{\"a\":\"m-1\",\"w\":\"m-2\"}}");
    assert_int_equal(lcsm_weights_open(&w, f.path, 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_weights_check_finite(&w, &err), LCSM_ERR_NUMBER);
    assert_non_null(strstr(err.text, "m-2: non-finite weights: 1 of the 2 numbers of w"));
    lcsm_weights_close(&w);
    temp_folder_remove(&f);
}
