/*
 * test_run_fault.c - a write that fails, and a process that dies, cost nothing that was saved.
 *
 * The disk "fills" by a limit on the size of files, which is tried at sizes from nothing to more
 * than the largest file has.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "format/checkpoint_folder.h"
#include "format/safetensors.h"
#include "temp_folder.h"
#include "test.h"

enum { NUMBERS = 300 };

/* The files of a checkpoint, full of the number `mark`. */
typedef struct {
    float             values[NUMBERS];
    lcsm_named_tensor tensor;
    lcsm_run_file     files[2];
} content;

static void fill(content *c, float mark)
{
    for (size_t j = 0; j < NUMBERS; j++) c->values[j] = mark;
    c->tensor = (lcsm_named_tensor){
        .name = "w", .element = LCSM_ELEMENT_F32, .rank = 1, .shape = {NUMBERS}, .data = c->values};
    c->files[0] = (lcsm_run_file){.name = LCSM_RUN_MODEL, .tensors = &c->tensor, .count = 1};
    c->files[1] = (lcsm_run_file){.name = "state.json", .bytes = "{}", .size = 2};
}

static lcsm_status save(const temp_folder *f, uint64_t step, float mark, lcsm_error *err)
{
    content c;
    fill(&c, mark);
    return lcsm_checkpoint_save(f->path, step, c.files, COUNT(c.files), err);
}

/* The mark of a tensor file, all of whose numbers must be the same. */
static float mark_of(const char *path)
{
    lcsm_safetensors  s;
    lcsm_named_tensor t;
    float             values[NUMBERS];
    lcsm_error        err = {0};
    if (lcsm_safetensors_open(&s, path, 0, &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_true(lcsm_safetensors_find(&t, &s, "w"));
    assert_int_equal(lcsm_named_tensor_f32(values, &t, NULL), LCSM_OK);
    lcsm_safetensors_close(&s);
    for (size_t j = 1; j < NUMBERS; j++) assert_true(values[j] == values[0]);
    return values[0];
}

static float newest_mark(const temp_folder *f, uint64_t *step)
{
    lcsm_checkpoint c;
    char            path[LCSM_PATH_MAX];
    assert_int_equal(lcsm_checkpoint_newest(&c, f->path, NULL, NULL, NULL), LCSM_OK);
    assert_string_not_equal(c.name, "");
    *step = c.step;
    assert_int_equal(lcsm_checkpoint_path(path, f->path, &c, LCSM_RUN_MODEL, NULL), LCSM_OK);
    return mark_of(path);
}

static size_t entries(const char *folder)
{
    lcsm_folder_list list;
    assert_int_equal(lcsm_folder_read(&list, folder, NULL), LCSM_OK);
    size_t count = list.count;
    lcsm_folder_list_free(&list);
    return count;
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Calls work under limits of 0 to 2000 bytes. It lifts the limit itself before it looks at what
 * happened, and returns whether it succeeded, which it must under the last limit but not all. */
static void under_every_limit(const temp_folder *f, bool (*work)(const temp_folder *f))
{
    bool worked = false, failed = false;
    (void)signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit <= 2000; limit += limit < 16 ? 1 : 97) {
        limit_files(limit);
        worked = work(f);
        failed = failed || !worked;
    }
    assert_true(failed && worked);
}

static bool try_new_step(const temp_folder *f)
{
    uint64_t    step = 0;
    lcsm_error  err  = {0};
    lcsm_status st   = save(f, 2, 2, &err);
    limit_files(RLIM_INFINITY);
    if (st != LCSM_OK) {
        assert_non_null(strstr(err.text, "cannot write: File too large"));
        assert_true(newest_mark(f, &step) == 1.0f);
        assert_int_equal(entries(temp_path(f, "checkpoints")), 1);
        return false;
    }
    assert_true(newest_mark(f, &step) == 2.0f);
    assert_int_equal(lcsm_folder_remove(temp_path(f, "checkpoints/step-00000002"), NULL), LCSM_OK);
    return true;
}

TEST(checkpoint_whose_writes_fail_leaves_the_one_before)
{
    temp_folder f = temp_folder_make();
    assert_int_equal(save(&f, 1, 1, NULL), LCSM_OK);
    under_every_limit(&f, try_new_step);
    temp_folder_remove(&f);
}

static bool try_same_step(const temp_folder *f)
{
    uint64_t    step = 0;
    lcsm_status st   = save(f, 1, 7, NULL);
    limit_files(RLIM_INFINITY);
    assert_true(newest_mark(f, &step) == (st == LCSM_OK ? 7.0f : 1.0f));
    assert_int_equal(entries(temp_path(f, "checkpoints")), 1);
    assert_int_equal(save(f, 1, 1, NULL), LCSM_OK);
    return st == LCSM_OK;
}

TEST(checkpoint_that_cannot_replace_another_leaves_it)
{
    temp_folder f = temp_folder_make();
    assert_int_equal(save(&f, 1, 1, NULL), LCSM_OK);
    under_every_limit(&f, try_same_step);
    temp_folder_remove(&f);
}

static bool try_store(const temp_folder *f)
{
    content c;
    fill(&c, 7);
    lcsm_status st = lcsm_run_store(f->path, &c.files[0], NULL);
    limit_files(RLIM_INFINITY);
    assert_true(mark_of(temp_path(f, LCSM_RUN_MODEL)) == (st == LCSM_OK ? 7.0f : 1.0f));
    assert_int_equal(entries(f->path), 1);
    fill(&c, 1);
    assert_int_equal(lcsm_run_store(f->path, &c.files[0], NULL), LCSM_OK);
    return st == LCSM_OK;
}

TEST(run_file_whose_writes_fail_stays_the_old_one)
{
    temp_folder f = temp_folder_make();
    content     c;
    fill(&c, 1);
    assert_int_equal(lcsm_run_store(f.path, &c.files[0], NULL), LCSM_OK);
    under_every_limit(&f, try_store);
    temp_folder_remove(&f);
}

static bool try_append(const temp_folder *f)
{
    char   line[1500];
    size_t size = 0;
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    lcsm_status st        = lcsm_run_append(f->path, "m", line, NULL);
    limit_files(RLIM_INFINITY);
    unsigned char *text = temp_read(f, "m", &size);
    assert_memory_equal(text, "first\n", 6);
    assert_int_equal(size, st == LCSM_OK ? 6 + sizeof line : 6);
    free(text);
    temp_write(f, "m", "first\n", 6);
    return st == LCSM_OK;
}

TEST(line_whose_write_fails_leaves_the_lines_before)
{
    temp_folder f = temp_folder_make();
    temp_write(&f, "m", "first\n", 6);
    under_every_limit(&f, try_append);
    temp_folder_remove(&f);
}

/* Saves for ever, and says after each one how many it has saved. With `same` all have one step. */
static void save_for_ever(const temp_folder *f, bool same, int report)
{
    for (uint64_t n = 1;; n++) {
        if (save(f, same ? 1 : n, (float)n, NULL) != LCSM_OK) _exit(1);
        if (write(report, &n, sizeof n) != sizeof n) _exit(1);
        if (!same && n % 8 == 0 && lcsm_checkpoint_prune(f->path, 2, NULL) != LCSM_OK) _exit(1);
    }
}

/* Kills a process that saves, `microseconds` after its first checkpoint, and looks what is left. */
static void kill_one(bool same, long microseconds)
{
    temp_folder f    = temp_folder_make();
    uint64_t    last = 0, n = 0, step = 0;
    int         ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) save_for_ever(&f, same, ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &last, sizeof last), sizeof last);
    nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    while (read(ends[0], &n, sizeof n) == sizeof n) last = n;
    close(ends[0]);

    float mark = newest_mark(&f, &step);
    assert_true(mark == (float)last || mark == (float)(last + 1));
    if (!same) assert_true((float)step == mark);
    assert_int_equal(lcsm_checkpoint_prune(f.path, 1, NULL), LCSM_OK);
    assert_int_equal(entries(temp_path(&f, "checkpoints")), 1);
    assert_true(newest_mark(&f, &step) == mark);
    temp_folder_remove(&f);
}

TEST(checkpoint_survives_a_kill_at_any_moment)
{
    for (uint64_t j = 0; j < 24; j++)
        kill_one(j % 2 == 1, (long)(lcsm_rng_uniform(1, 1, j) * 20000));
}
