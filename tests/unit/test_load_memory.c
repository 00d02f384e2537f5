/*
 * test_load_memory.c - a model of 64 MB is loaded without a second copy in memory.
 *
 * Saving and loading happen in a process each, so that the highest use of memory since its start
 * (VmHWM of Linux) is that of loading alone. A sanitizer's own memory would count too: there, and
 * where the system does not tell, only the values are checked.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizer.h"
#include "model/model_weights.h"
#include "temp_folder.h"
#include "test.h"

enum { WIDTH = 512, VOCAB = 32768, FAILED = 1, TOO_MUCH = 2, NOT_MOVED = 3 };

static temp_folder f;

/* Kilobytes, or 0 if the system does not tell. */
static size_t peak_memory(void)
{
    char   line[128];
    size_t kilobytes = 0;
    FILE  *status    = LCSM_ASAN || LCSM_TSAN ? NULL : fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "VmHWM: %zu kB", &kilobytes) == 1) break;
    if (status != NULL) (void)fclose(status);
    return kilobytes;
}

/* One large tensor, embedding and head, and a small layer. */
static lcsm_model_config config(void)
{
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    cfg.vocab   = VOCAB;
    cfg.d_model = WIDTH;
    cfg.layers  = 1;
    cfg.tied    = true;
    return cfg;
}

static float number(size_t j)
{
    return (float)(j % 65521);
}

static int save(lcsm_context *ctx)
{
    lcsm_model_config cfg = config();
    lcsm_params      *params;
    lcsm_model       *model;
    if (lcsm_model_list(&params, ctx, &cfg, 0, NULL) != LCSM_OK) return FAILED;
    params->blank = true;
    if (lcsm_model_wrap(&model, ctx, &cfg, params, NULL) != LCSM_OK) return FAILED;
    float *x = lcsm_param_values(params, lcsm_params_find(params, "embedding.weight"));
    for (size_t j = 0; j < (size_t)VOCAB * WIDTH; j++) x[j] = number(j);
    lcsm_status st = lcsm_model_save(model, temp_path(&f, "run"), NULL);
    lcsm_model_free(model);
    return st == LCSM_OK ? 0 : FAILED;
}

/* Beyond the model itself: pieces, the list of parameters, the context. */
static int load(lcsm_context *ctx)
{
    lcsm_model *model;
    size_t      before = peak_memory();
    if (lcsm_model_load(&model, ctx, temp_path(&f, "run"), NULL) != LCSM_OK) return FAILED;
    size_t       size = lcsm_params_bytes(model->params) / 1024;
    const float *x =
        lcsm_param_values(model->params, lcsm_params_find(model->params, "embedding.weight"));
    size_t same = 0;
    while (same < (size_t)VOCAB * WIDTH && x[same] == number(same)) same++;
    size_t grown = peak_memory() - before;
    lcsm_model_free(model);
    if (same < (size_t)VOCAB * WIDTH) return FAILED;
    if (grown > size + size / 10) printf("%zu kB for a model of %zu kB\n", grown, size);
    return grown > size + size / 10 ? TOO_MUCH : 0;
}

/* The matrix goes to large pages, and they are given back when it is stored in another type. */
static int load_and_pack(lcsm_context *ctx)
{
    lcsm_model *model;
    if (peak_memory() == 0) return 0;
    if (lcsm_model_load(&model, ctx, temp_path(&f, "run"), NULL) != LCSM_OK) return FAILED;
    bool moved = model->settled != NULL;
    if (lcsm_model_pack(model, "q8", NULL) != LCSM_OK) return FAILED;
    bool back = model->settled == NULL;
    lcsm_model_free(model);
    return moved && back ? 0 : NOT_MOVED;
}

/* What the work returns in a process of its own. */
static int apart(int work(lcsm_context *ctx))
{
    int   status = -1;
    pid_t child  = fork();
    if (child == 0) {
        lcsm_context *ctx = NULL;
        int           code =
            lcsm_context_create(
                          &ctx, &(lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = 1},
                          NULL)
                    == LCSM_OK
                          ? work(ctx)
                          : FAILED;
        lcsm_context_free(ctx);
        (void)fflush(stdout);
        _exit(code);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(model_load_takes_the_memory_of_the_model_once)
{
    f = temp_folder_make();
    assert_int_equal(apart(save), 0);
    assert_int_equal(apart(load), 0);
    assert_int_equal(apart(load_and_pack), 0);
    temp_folder_remove(&f);
}
