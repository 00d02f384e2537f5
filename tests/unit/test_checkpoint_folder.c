/* test_checkpoint_folder.c - the newest checkpoint that verifies is found, whatever lies around. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/checkpoint_folder.h"
#include "format/safetensors.h"
#include "temp_folder.h"
#include "test.h"

/* A checkpoint of two files that say which step they are of. */
static lcsm_status save(const temp_folder *f, uint64_t step, lcsm_error *err)
{
    float             values[3] = {(float)step, 2, 3};
    lcsm_named_tensor t         = {
                .name = "w", .element = LCSM_ELEMENT_F32, .rank = 1, .shape = {3}, .data = values};
    lcsm_run_file files[] = {
        {.name = LCSM_RUN_MODEL, .tensors = &t, .count = 1},
        {.name = "state.json", .bytes = "{\"seed\": 1}\n", .size = 12},
    };
    return lcsm_checkpoint_save(f->path, step, files, COUNT(files), err);
}

/* What was skipped, as "name: reason" lines. */
static char skipped[4096];

static void note_skip(void *arg, const char *name, const char *reason)
{
    size_t used = strlen(skipped);
    assert_string_equal(arg, "arg");
    (void)snprintf(skipped + used, sizeof skipped - used, "%s: %s\n", name, reason);
}

static lcsm_checkpoint newest(const temp_folder *f)
{
    lcsm_checkpoint c;
    char            arg[] = "arg";
    skipped[0]            = '\0';
    assert_int_equal(lcsm_checkpoint_newest(&c, f->path, note_skip, arg, NULL), LCSM_OK);
    return c;
}

static float first_weight(const temp_folder *f, const lcsm_checkpoint *c)
{
    char              path[LCSM_PATH_MAX];
    lcsm_safetensors  s;
    lcsm_named_tensor t;
    float             values[3];
    assert_int_equal(lcsm_checkpoint_path(path, f->path, c, LCSM_RUN_MODEL, NULL), LCSM_OK);
    assert_int_equal(lcsm_safetensors_open(&s, path, 0, NULL), LCSM_OK);
    assert_true(lcsm_safetensors_find(&t, &s, "w"));
    assert_int_equal(lcsm_named_tensor_f32(values, &t, NULL), LCSM_OK);
    lcsm_safetensors_close(&s);
    return values[0];
}

TEST(checkpoints_are_listed_newest_first_and_the_newest_is_loaded)
{
    temp_folder          f = temp_folder_make();
    lcsm_checkpoint_list list;
    lcsm_checkpoint      c = newest(&f);
    assert_string_equal(c.name, "");
    assert_int_equal(save(&f, 9, NULL), LCSM_OK);
    assert_int_equal(save(&f, 1000000000000, NULL), LCSM_OK);
    assert_int_equal(save(&f, 100, NULL), LCSM_OK);
    assert_int_equal(lcsm_checkpoint_list_read(&list, f.path, NULL), LCSM_OK);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].name, "step-1000000000000");
    assert_string_equal(list.items[1].name, "step-00000100");
    assert_string_equal(list.items[2].name, "step-00000009");
    assert_int_equal(list.items[2].step, 9);
    lcsm_checkpoint_list_free(&list);
    c = newest(&f);
    assert_true(c.step == 1000000000000);
    assert_string_equal(skipped, "");
    temp_folder_remove(&f);
}

TEST(checkpoint_manifest_has_a_sum_of_each_file)
{
    temp_folder f    = temp_folder_make();
    size_t      size = 0;
    assert_int_equal(save(&f, 7, NULL), LCSM_OK);
    char *text = (char *)temp_read(&f, "checkpoints/step-00000007/manifest.json", &size);
    assert_non_null(strstr(text, "\"format\": \"lcsm-checkpoint\",\n  \"version\": 1,\n"
                                 "  \"step\": 7,\n  \"files\": [\n"));
    assert_non_null(strstr(text, "\"name\": \"state.json\",\n      \"size\": 12,\n"
                                 "      \"xxh3_128\": \""));
    free(text);
    temp_folder_remove(&f);
}

TEST(checkpoint_saved_again_replaces_the_first)
{
    temp_folder          f     = temp_folder_make();
    lcsm_run_file        other = {.name = "other", .bytes = "x", .size = 1};
    lcsm_checkpoint_list list;
    assert_int_equal(save(&f, 5, NULL), LCSM_OK);
    assert_int_equal(lcsm_checkpoint_save(f.path, 5, &other, 1, NULL), LCSM_OK);
    lcsm_checkpoint c = newest(&f);
    assert_int_equal(c.step, 5);
    assert_true(lcsm_path_exists(temp_path(&f, "checkpoints/step-00000005/other")));
    assert_false(lcsm_path_exists(temp_path(&f, "checkpoints/step-00000005/state.json")));
    assert_int_equal(lcsm_checkpoint_list_read(&list, f.path, NULL), LCSM_OK);
    assert_int_equal(list.count, 1);
    lcsm_checkpoint_list_free(&list);
    temp_folder_remove(&f);
}

TEST(checkpoint_that_stepped_aside_counts_until_its_successor_is_there)
{
    temp_folder f = temp_folder_make();
    assert_int_equal(save(&f, 4, NULL), LCSM_OK);
    assert_int_equal(save(&f, 5, NULL), LCSM_OK);
    assert_int_equal(rename(temp_path(&f, "checkpoints/step-00000005"),
                            temp_path(&f, "checkpoints/step-00000005.old")),
                     0);
    lcsm_checkpoint c = newest(&f);
    assert_string_equal(c.name, "step-00000005.old");
    assert_int_equal(c.step, 5);
    assert_true(first_weight(&f, &c) == 5.0f);
    assert_int_equal(save(&f, 5, NULL), LCSM_OK);
    c = newest(&f);
    assert_string_equal(c.name, "step-00000005");
    assert_false(lcsm_path_exists(temp_path(&f, "checkpoints/step-00000005.old")));
    temp_folder_remove(&f);
}

TEST(checkpoint_cut_at_any_byte_of_any_file_is_skipped)
{
    static const char *const FILES[] = {"model.safetensors", "state.json", "manifest.json"};
    temp_folder              f       = temp_folder_make();
    assert_int_equal(save(&f, 1, NULL), LCSM_OK);
    assert_int_equal(save(&f, 2, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(FILES); j++) {
        char   name[128];
        size_t size;
        (void)snprintf(name, sizeof name, "checkpoints/step-00000002/%s", FILES[j]);
        unsigned char *data = temp_read(&f, name, &size);
        for (size_t cut = 0; cut < size; cut += 1 + cut / 8) {
            if (j == 2 && cut + 1 == size) break; /* only the last line end is missing */
            temp_write(&f, name, data, cut);
            lcsm_checkpoint c = newest(&f);
            assert_int_equal(c.step, 1);
            assert_non_null(strstr(skipped, j == 2 ? "step-00000002: manifest.json:" : FILES[j]));
        }
        temp_write(&f, name, data, size);
        free(data);
        assert_int_equal(newest(&f).step, 2);
    }
    temp_folder_remove(&f);
}

TEST(checkpoint_with_any_bit_flipped_is_skipped_or_means_the_same)
{
    static const char *const FILES[] = {"model.safetensors", "state.json", "manifest.json"};
    temp_folder              f       = temp_folder_make();
    assert_int_equal(save(&f, 1, NULL), LCSM_OK);
    assert_int_equal(save(&f, 2, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(FILES); j++) {
        char   name[128];
        size_t size;
        (void)snprintf(name, sizeof name, "checkpoints/step-00000002/%s", FILES[j]);
        unsigned char *data = temp_read(&f, name, &size);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bool space = data[bit / 8] == ' ' || data[bit / 8] == '\n';
            if (j == 2 && space) continue; /* a manifest's spaces may become others */
            temp_poke(&f, name, bit / 8, data[bit / 8] ^ (unsigned char)(1 << bit % 8));
            assert_int_equal(newest(&f).step, 1);
            assert_non_null(strstr(skipped, "step-00000002: "));
            temp_poke(&f, name, bit / 8, data[bit / 8]);
        }
        free(data);
    }
    assert_int_equal(newest(&f).step, 2);
    temp_folder_remove(&f);
}

TEST(checkpoint_with_a_missing_file_is_skipped)
{
    temp_folder f = temp_folder_make();
    assert_int_equal(save(&f, 1, NULL), LCSM_OK);
    assert_int_equal(save(&f, 2, NULL), LCSM_OK);
    assert_int_equal(save(&f, 3, NULL), LCSM_OK);
    assert_int_equal(unlink(temp_path(&f, "checkpoints/step-00000003/manifest.json")), 0);
    assert_int_equal(unlink(temp_path(&f, "checkpoints/step-00000002/state.json")), 0);
    assert_int_equal(newest(&f).step, 1);
    assert_non_null(strstr(skipped, "step-00000003: "));
    assert_non_null(strstr(skipped, "manifest.json: cannot open: No such file"));
    assert_non_null(strstr(skipped, "state.json: cannot open: No such file"));
    temp_folder_remove(&f);
}

/* A folder with that manifest and one file f of the byte x. */
static void put_foreign(const temp_folder *f, const char *name, const char *manifest)
{
    char path[128];
    (void)snprintf(path, sizeof path, "checkpoints/%s", name);
    assert_int_equal(lcsm_folder_make(temp_path(f, path), NULL), LCSM_OK);
    (void)snprintf(path, sizeof path, "checkpoints/%s/manifest.json", name);
    temp_write(f, path, manifest, strlen(manifest));
    (void)snprintf(path, sizeof path, "checkpoints/%s/f", name);
    temp_write(f, path, "x", 1);
}

TEST(checkpoint_of_another_making_is_skipped_with_a_reason)
{
    static const struct {
        const char *manifest, *reason;
    } CASES[] = {
        {"[]", "format is missing; expected \"lcsm-checkpoint\""},
        {"{\"format\":\"torch\"}", "format is \"torch\""},
        {"{\"format\":\"lcsm-checkpoint\",\"version\":2}",
         "version is 2; expected an integer from 1 to 1"},
        {"{\"format\":\"lcsm-checkpoint\",\"version\":1,\"step\":8,\"files\":[]}", "step is 8"},
        {"{\"format\":\"lcsm-checkpoint\",\"version\":1,\"step\":9,\"files\":[]}",
         "files is an array of 0 items"},
        {"{\"format\":\"lcsm-checkpoint\",\"version\":1,\"step\":9,\"files\":[3]}",
         "files[0] is 3; expected an object"},
        {"{\"format\":\"lcsm-checkpoint\",\"version\":1,\"step\":9,\"more\":1}",
         "more is not a known key"},
        {"{\"format\":\"lcsm-checkpoint\",\"version\":1,\"step\":9,\"files\":[{\"name\":\"../f\","
         "\"size\":1,\"xxh3_128\":\"\"}]}",
         "the manifest names \"../f\""},
        {"{\"format\":\"lcsm-checkpoint\",\"version\":1,\"step\":9,\"files\":[{\"name\":\"f\","
         "\"size\":1,\"xxh3_128\":\"00\"}]}",
         "f has the checksum"},
    };
    temp_folder f = temp_folder_make();
    assert_int_equal(save(&f, 1, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(CASES); j++) {
        put_foreign(&f, "step-00000009", CASES[j].manifest);
        assert_int_equal(newest(&f).step, 1);
        if (strstr(skipped, CASES[j].reason) == NULL) fail_msg("%s", skipped);
    }
    temp_folder_remove(&f);
}

TEST(checkpoint_folder_ignores_names_of_others_but_says_so)
{
    static const char *const NAMES[] = {"step-",   "step-1x",      "step-12345678901234567890",
                                        "last",    "step-1.older", "STEP-3",
                                        ".tmp-7-1"};
    temp_folder              f       = temp_folder_make();
    lcsm_checkpoint_list     list;
    assert_int_equal(save(&f, 1, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(NAMES); j++) put_foreign(&f, NAMES[j], "{}");
    temp_write(&f, "checkpoints/step-00000010", "a file", 6);
    assert_int_equal(lcsm_checkpoint_list_read(&list, f.path, NULL), LCSM_OK);
    assert_int_equal(list.count, 2);
    lcsm_checkpoint_list_free(&list);
    assert_int_equal(newest(&f).step, 1);
    assert_non_null(strstr(skipped, "STEP-3: its name is not step-NUMBER"));
    assert_non_null(strstr(skipped, ".tmp-7-1: an interrupted save"));
    assert_non_null(strstr(skipped, "step-00000010: "));
    temp_folder_remove(&f);
}

TEST(checkpoint_prune_keeps_the_newest_and_removes_leftovers)
{
    temp_folder          f = temp_folder_make();
    lcsm_checkpoint_list list;
    assert_int_equal(lcsm_checkpoint_prune(f.path, 1, NULL), LCSM_OK);
    for (uint64_t step = 1; step <= 5; step++) assert_int_equal(save(&f, step, NULL), LCSM_OK);
    put_foreign(&f, ".tmp-7-1", "{}");
    put_foreign(&f, "mine", "{}");
    assert_int_equal(lcsm_checkpoint_prune(f.path, 2, NULL), LCSM_OK);
    assert_int_equal(lcsm_checkpoint_list_read(&list, f.path, NULL), LCSM_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].step, 5);
    assert_int_equal(list.items[1].step, 4);
    lcsm_checkpoint_list_free(&list);
    assert_false(lcsm_path_exists(temp_path(&f, "checkpoints/.tmp-7-1")));
    assert_true(lcsm_path_exists(temp_path(&f, "checkpoints/mine")));
    assert_int_equal(lcsm_checkpoint_prune(f.path, 0, NULL), LCSM_OK);
    assert_int_equal(newest(&f).step, 5);
    temp_folder_remove(&f);
}

TEST(checkpoint_that_cannot_be_one_is_refused_before_anything_is_written)
{
    temp_folder   f    = temp_folder_make();
    lcsm_error    err  = {0};
    lcsm_run_file good = {.name = "a", .bytes = "x", .size = 1};
    lcsm_run_file bad  = {.name = "manifest.json", .bytes = "x", .size = 1};
    lcsm_run_file two[2];
    two[0] = two[1] = good;
    assert_int_equal(lcsm_checkpoint_save(f.path, 1, &good, 0, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_checkpoint_save(f.path, UINT64_MAX, &good, 1, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_checkpoint_save(f.path, 1, &bad, 1, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_checkpoint_save(f.path, 1, two, 2, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "\"a\" is not a valid file name"));
    bad.name = "../a";
    assert_int_equal(lcsm_checkpoint_save(f.path, 1, &bad, 1, &err), LCSM_ERR_ARGUMENT);
    assert_false(lcsm_path_exists(temp_path(&f, "checkpoints")));
    temp_folder_remove(&f);
}
