/* test_file.c - files are read whole, mapped, and replaced at once or not at all. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "test.h"

typedef struct {
    char folder[64], path[128];
} place;

static place make_place(void)
{
    place p = {.folder = "/tmp/lcsm-test-XXXXXX"};
    assert_non_null(mkdtemp(p.folder));
    snprintf(p.path, sizeof p.path, "%s/file", p.folder);
    return p;
}

static int entries(const char *folder)
{
    int  n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void remove_place(const place *p)
{
    unlink(p->path);
    assert_int_equal(rmdir(p->folder), 0);
}

TEST(file_written_is_read_and_mapped_back)
{
    static const size_t SIZES[] = {0, 1, 4095, 4096, 100001};
    place               p       = make_place();
    for (size_t j = 0; j < COUNT(SIZES); j++) {
        unsigned char *data = malloc(SIZES[j] + 1);
        lcsm_file      read = {0}, map = {0};
        for (size_t b = 0; b < SIZES[j]; b++) data[b] = (unsigned char)(b * 7);
        assert_int_equal(lcsm_file_write_atomic(p.path, data, SIZES[j], NULL), LCSM_OK);
        assert_int_equal(lcsm_file_read(&read, p.path, SIZES[j], NULL), LCSM_OK);
        assert_int_equal(lcsm_file_map(&map, p.path, NULL), LCSM_OK);
        assert_int_equal(read.size, SIZES[j]);
        assert_int_equal(map.size, SIZES[j]);
        assert_int_equal(read.data[read.size], 0);
        if (SIZES[j] > 0) {
            assert_memory_equal(read.data, data, SIZES[j]);
            assert_memory_equal(map.data, data, SIZES[j]);
        }
        lcsm_file_close(&read);
        lcsm_file_close(&map);
        free(data);
    }
    assert_int_equal(entries(p.folder), 1);
    remove_place(&p);
}

TEST(file_that_is_missing_is_named_in_the_error)
{
    lcsm_file  f;
    lcsm_error err = {0};
    assert_int_equal(lcsm_file_read(&f, "/nonexistent/x", 10, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "/nonexistent/x: cannot open: No such file"));
    assert_int_equal(lcsm_file_map(&f, "/nonexistent/x", &err), LCSM_ERR_IO);
    assert_null(f.data);
}

TEST(file_longer_than_allowed_is_refused)
{
    place      p   = make_place();
    lcsm_error err = {0};
    lcsm_file  f;
    assert_int_equal(lcsm_file_write_atomic(p.path, "12345", 5, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_read(&f, p.path, 4, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "has 5 bytes; expected at most 4"));
    remove_place(&p);
}

TEST(file_that_is_a_folder_is_refused)
{
    lcsm_error err = {0};
    lcsm_file  f;
    assert_int_equal(lcsm_file_read(&f, "/tmp", 10, &err), LCSM_ERR_IO);
    assert_string_equal(err.text, "/tmp is not a regular file");
}

TEST(write_that_fails_leaves_the_old_file_and_no_other)
{
    place            p   = make_place();
    lcsm_error       err = {0};
    lcsm_file_writer w;
    assert_int_equal(lcsm_file_writer_open(&w, p.path, NULL), LCSM_OK);
    assert_int_equal(mkdir(p.path, 0777), 0); /* a folder cannot be replaced by a file */
    assert_int_equal(lcsm_file_writer_commit(&w, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "cannot replace"));
    lcsm_file_writer_close(&w);
    assert_int_equal(lcsm_file_write_atomic(p.path, "x", 1, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "cannot open: Is a directory"));
    assert_int_equal(entries(p.folder), 1);
    rmdir(p.path);
    assert_int_equal(rmdir(p.folder), 0);
}

TEST(write_to_a_path_without_a_folder_works)
{
    place p = make_place();
    char  before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(p.folder), 0);
    assert_int_equal(lcsm_file_write_atomic("file", "x", 1, NULL), LCSM_OK);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(access(p.path, R_OK), 0);
    remove_place(&p);
}

TEST(write_to_a_folder_that_is_not_there_names_the_file)
{
    lcsm_error err;
    assert_int_equal(lcsm_file_write_atomic("/nonexistent/x", "a", 1, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "/nonexistent/x: cannot create: No such file"));
}

TEST(write_to_an_empty_path_is_refused)
{
    lcsm_error err = {0};
    assert_int_equal(lcsm_file_write_atomic("", "x", 1, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "is empty"));
}

TEST(write_to_a_path_that_is_too_long_is_refused)
{
    lcsm_error err = {0};
    char       path[PATH_MAX];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(lcsm_file_write_atomic(path, "x", 1, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "is too long"));
}

TEST(file_close_of_an_empty_file_is_fine)
{
    lcsm_file f = {0};
    lcsm_file_close(&f);
}

TEST(writer_shows_nothing_before_the_commit_and_all_of_it_after)
{
    place            p = make_place();
    lcsm_file_writer w;
    lcsm_file        read = {0};
    assert_int_equal(lcsm_file_write_atomic(p.path, "old", 3, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_writer_open(&w, p.path, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_writer_write(&w, "new", 3, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_writer_write(&w, "er", 2, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_read(&read, p.path, 100, NULL), LCSM_OK);
    assert_string_equal((const char *)read.data, "old");
    lcsm_file_close(&read);

    assert_int_equal(lcsm_file_writer_commit(&w, NULL), LCSM_OK);
    lcsm_file_writer_close(&w);
    assert_int_equal(lcsm_file_read(&read, p.path, 100, NULL), LCSM_OK);
    assert_string_equal((const char *)read.data, "newer");
    lcsm_file_close(&read);
    assert_int_equal(entries(p.folder), 1);
    remove_place(&p);
}

static void assert_holds(const char *path, const char *text)
{
    lcsm_file read = {0};
    assert_int_equal(lcsm_file_read(&read, path, 100, NULL), LCSM_OK);
    assert_string_equal((const char *)read.data, text);
    lcsm_file_close(&read);
}

TEST(writer_goes_through_a_link_and_replaces_no_device)
{
    place p = make_place();
    char  link[160], pipe[160];
    snprintf(link, sizeof link, "%s/link", p.folder);
    snprintf(pipe, sizeof pipe, "%s/pipe", p.folder);
    assert_int_equal(lcsm_file_write_atomic(p.path, "old", 3, NULL), LCSM_OK);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(lcsm_file_write_atomic(link, "new", 3, NULL), LCSM_OK);

    struct stat info;
    char        got[8] = "";
    int         reader = open(pipe, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(lcsm_file_write_atomic(pipe, "piped", 5, NULL), LCSM_OK);
    assert_int_equal(read(reader, got, sizeof got), 5);
    assert_string_equal(got, "piped");
    close(reader);
    assert_int_equal(lcsm_file_write_atomic("/dev/null", "none", 4, NULL), LCSM_OK);
    assert_holds(p.path, "new");
    assert_true(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
    assert_true(lstat(pipe, &info) == 0 && S_ISFIFO(info.st_mode));
    assert_int_equal(entries(p.folder), 3);
    unlink(link);
    unlink(pipe);
    remove_place(&p);
}

/* Before and after the writer the file is written to as standard error. */
TEST(writer_to_where_standard_error_goes_loses_nothing)
{
    place            p    = make_place();
    lcsm_error       err  = {0};
    lcsm_file_writer w    = {0};
    int              kept = dup(STDERR_FILENO), file = open(p.path, O_RDWR | O_CREAT, 0600);
    char             path[32];
    snprintf(path, sizeof path, "/dev/fd/%d", file);
    assert_true(kept >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    ssize_t     before  = write(STDERR_FILENO, "one ", 4);
    lcsm_status by_link = lcsm_file_write_atomic("/dev/stderr", "two ", 4, NULL);
    lcsm_status by_name = lcsm_file_write_atomic(p.path, "three ", 6, NULL);
    lcsm_status opened  = lcsm_file_writer_open(&w, p.path, NULL);
    lcsm_status patched = lcsm_file_writer_patch(&w, 0, "x", 1, NULL);
    lcsm_file_writer_close(&w);
    ssize_t after = write(STDERR_FILENO, "four", 4);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_true(before == 4 && by_link == LCSM_OK && by_name == LCSM_OK && after == 4);
    assert_true(opened == LCSM_OK && patched == LCSM_ERR_IO);
    assert_holds(p.path, "one two three four");

    assert_int_equal(lcsm_file_write_atomic(path, "x", 1, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "is open for reading"));
    assert_holds(p.path, "one two three four");
    close(kept);
    close(file);
    assert_int_equal(entries(p.folder), 1);
    remove_place(&p);
}

TEST(writers_of_one_path_do_not_meet)
{
    place            p = make_place();
    lcsm_file_writer a, b;
    lcsm_file        read = {0};
    assert_int_equal(lcsm_file_writer_open(&a, p.path, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_writer_open(&b, p.path, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_writer_write(&a, "first", 5, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_writer_write(&b, "second", 6, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_writer_commit(&a, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_writer_commit(&b, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_read(&read, p.path, 100, NULL), LCSM_OK);
    assert_string_equal((const char *)read.data, "second");
    lcsm_file_close(&read);
    assert_int_equal(entries(p.folder), 1);
    remove_place(&p);
}

static void touch(const char *folder, const char *name)
{
    char path[192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

/* The greatest process number of Linux is 4,194,303, so no process has a greater one. */
TEST(sweep_removes_what_killed_writers_left_and_nothing_else)
{
    place p = make_place();
    char  ours[64];
    snprintf(ours, sizeof ours, "file.tmp.%ld.0", (long)getpid());
    const char *const stay[] = {
        "file",       "file.tmp", "file.tmp.99999999", ".tmp.99999999.", "a.tmp.9999999.0.b",
        "a.tmp.-1.0", ours};
    const char *const go[] = {"file.tmp.99999999.0", "a.tmp.1.0.tmp.99999998.12",
                              ".tmp.99999999.3"};
    for (size_t j = 0; j < sizeof stay / sizeof stay[0]; j++) touch(p.folder, stay[j]);
    for (size_t j = 0; j < sizeof go / sizeof go[0]; j++) touch(p.folder, go[j]);
    assert_int_equal(lcsm_file_sweep(p.folder, NULL), LCSM_OK);
    for (size_t j = 0; j < sizeof stay / sizeof stay[0]; j++) {
        char path[192];
        snprintf(path, sizeof path, "%s/%s", p.folder, stay[j]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(p.folder), 0);
    lcsm_error err;
    assert_int_equal(lcsm_file_sweep(p.folder, &err), LCSM_ERR_IO);
}

TEST(writer_closed_without_a_commit_leaves_no_trace)
{
    place            p = make_place();
    lcsm_file_writer w;
    assert_int_equal(lcsm_file_writer_open(&w, p.path, NULL), LCSM_OK);
    assert_int_equal(lcsm_file_writer_write(&w, "x", 1, NULL), LCSM_OK);
    lcsm_file_writer_close(&w);
    lcsm_file_writer_close(&w);
    assert_int_equal(entries(p.folder), 0);
    remove_place(&p);
}
