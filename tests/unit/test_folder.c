/* test_folder.c - folders are made, listed, renamed and removed, and never more than asked. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "test.h"

typedef struct {
    char root[64], a[128], b[128];
} place;

static place make_place(void)
{
    place p = {.root = "/tmp/lcsm-test-XXXXXX"};
    assert_non_null(mkdtemp(p.root));
    snprintf(p.a, sizeof p.a, "%s/a", p.root);
    snprintf(p.b, sizeof p.b, "%s/b", p.root);
    return p;
}

static void put(const char *folder, const char *name)
{
    char path[LCSM_PATH_MAX];
    assert_int_equal(lcsm_path_join(path, folder, name, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_write_atomic(path, "x", 1, NULL), LCSM_OK);
}

TEST(folder_is_made_with_those_above_it_and_twice_is_fine)
{
    place p = make_place();
    char  deep[256];
    snprintf(deep, sizeof deep, "%s/x//y/", p.a);
    assert_int_equal(lcsm_folder_make(deep, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_make(deep, NULL), LCSM_OK);
    snprintf(deep, sizeof deep, "%s/x/y", p.a);
    assert_true(lcsm_path_exists(deep));
    rmdir(deep);
    snprintf(deep, sizeof deep, "%s/x", p.a);
    rmdir(deep);
    rmdir(p.a);
    assert_int_equal(rmdir(p.root), 0);
}

TEST(folder_that_is_a_file_or_has_no_path_is_refused)
{
    place      p   = make_place();
    lcsm_error err = {0};
    char       long_path[LCSM_PATH_MAX + 1], joined[LCSM_PATH_MAX];
    put(p.root, "a");
    assert_int_equal(lcsm_folder_make(p.a, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "exists and is not a folder"));
    assert_int_equal(lcsm_folder_make("", &err), LCSM_ERR_IO);
    memset(long_path, 'a', sizeof long_path);
    long_path[LCSM_PATH_MAX] = '\0';
    assert_int_equal(lcsm_folder_make(long_path, &err), LCSM_ERR_IO);
    assert_int_equal(lcsm_path_join(joined, long_path + 10, "123456789", &err), LCSM_ERR_IO);
    unlink(p.a);
    assert_int_equal(rmdir(p.root), 0);
}

TEST(folder_list_is_sorted_and_leaves_out_the_dots)
{
    place            p    = make_place();
    lcsm_folder_list list = {0};
    lcsm_error       err  = {0};
    assert_int_equal(lcsm_folder_read(&list, p.root, NULL), LCSM_OK);
    assert_int_equal(list.count, 0);
    lcsm_folder_list_free(&list);
    for (int j = 40; j > 0; j--) {
        char name[16];
        snprintf(name, sizeof name, "n%02d", j);
        put(p.root, name);
    }
    assert_int_equal(lcsm_folder_read(&list, p.root, NULL), LCSM_OK);
    assert_int_equal(list.count, 40);
    assert_string_equal(list.names[0], "n01");
    assert_string_equal(list.names[39], "n40");
    lcsm_folder_list_free(&list);
    lcsm_folder_list_free(&list);
    assert_int_equal(lcsm_folder_remove(p.root, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_read(&list, p.root, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, p.root));
}

TEST(folder_rename_refuses_a_name_that_is_taken)
{
    place      p   = make_place();
    lcsm_error err = {0};
    assert_int_equal(lcsm_folder_make(p.a, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_make(p.b, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_rename(p.a, p.b, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "already exists"));
    assert_int_equal(lcsm_folder_remove(p.b, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_rename(p.a, p.b, NULL), LCSM_OK);
    assert_false(lcsm_path_exists(p.a));
    assert_int_equal(lcsm_folder_remove(p.b, NULL), LCSM_OK);
    assert_int_equal(rmdir(p.root), 0);
}

TEST(folder_remove_takes_files_and_leaves_folders_and_what_links_point_to)
{
    place p = make_place();
    char  deep[256], link[256];
    assert_int_equal(lcsm_folder_make(p.a, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_make(p.b, NULL), LCSM_OK);
    put(p.a, "file");
    put(p.b, "kept");
    snprintf(link, sizeof link, "%s/link", p.a);
    assert_int_equal(symlink(p.b, link), 0);
    assert_int_equal(lcsm_folder_remove(link, NULL), LCSM_ERR_IO);
    assert_int_equal(lcsm_folder_remove(p.a, NULL), LCSM_OK);
    assert_false(lcsm_path_exists(p.a));
    snprintf(deep, sizeof deep, "%s/kept", p.b);
    assert_true(lcsm_path_exists(deep));

    snprintf(deep, sizeof deep, "%s/deep", p.root);
    assert_int_equal(lcsm_folder_make(deep, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_remove(p.root, NULL), LCSM_ERR_IO);
    assert_int_equal(lcsm_folder_remove(deep, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_remove(deep, NULL), LCSM_OK);
    assert_int_equal(lcsm_folder_remove(p.b, NULL), LCSM_OK);
    assert_int_equal(rmdir(p.root), 0);
}

TEST(path_is_bare_only_without_any_folder)
{
    static const char *const GOOD[] = {"a", "model.safetensors", "..a", ".a", "a..", "..."};
    static const char *const BAD[]  = {"", ".", "..", "/a", "a/b", "a/", "../a", "a\\b", "\\"};
    for (size_t j = 0; j < COUNT(GOOD); j++) assert_true(lcsm_path_is_bare(GOOD[j]));
    for (size_t j = 0; j < COUNT(BAD); j++) assert_false(lcsm_path_is_bare(BAD[j]));
}

TEST(folder_lock_is_had_once_until_it_is_given_back)
{
    place p = make_place();
    int   a, b;
    char  file[128];
    assert_int_equal(lcsm_folder_lock(&a, p.root, NULL), LCSM_OK);
    assert_true(a >= 0);
    assert_int_equal(lcsm_folder_lock(&b, p.root, NULL), LCSM_OK);
    assert_int_equal(b, -1);
    lcsm_folder_unlock(b);
    lcsm_folder_unlock(a);
    assert_int_equal(lcsm_folder_lock(&a, p.root, NULL), LCSM_OK);
    assert_true(a >= 0);
    lcsm_folder_unlock(a);
    assert_int_equal(lcsm_folder_lock(&a, p.a, NULL), LCSM_ERR_IO);
    snprintf(file, sizeof file, "%s/.lock", p.root);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(p.root), 0);
}
