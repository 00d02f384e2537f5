/*
 * merge.c - a model with adapters as one without: W + scale B A, summed in double. An initial
 * memory that was trained beside it becomes part of the one file.
 */
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "base/strbuf.h"
#include "format/json_doc.h"
#include "format/run_folder.h"
#include "model/model_weights.h"

/* The row NAME.adapter_a, or _b, beside a matrix; -1: it has none. */
static int half_of(const lcsm_params *p, const char *name, const char *which)
{
    lcsm_strbuf s = {0};
    lcsm_strbuf_printf(&s, "%s.adapter_%s", name, which);
    int row = s.failed ? -1 : lcsm_params_find(p, lcsm_strbuf_text(&s));
    lcsm_strbuf_free(&s);
    return row;
}

/* W [out, in] += scale B A. */
static void add_product(float *W, const float *A, const float *B, const ptrdiff_t size[2],
                        ptrdiff_t rank, double scale)
{
    for (ptrdiff_t r = 0; r < size[0]; r++)
        for (ptrdiff_t c = 0; c < size[1]; c++) {
            double sum = 0;
            for (ptrdiff_t k = 0; k < rank; k++)
                sum += (double)B[r * rank + k] * (double)A[k * size[1] + c];
            float *w = &W[r * size[1] + c];
            *w       = (float)((double)*w + scale * sum);
        }
}

/* A row as numbers, whatever its type; the caller frees them. */
static float *numbers_of(const lcsm_params *p, int row)
{
    float *x = calloc(p->list[row].count + 1, sizeof *x);
    if (x != NULL) lcsm_param_read(p, row, x);
    return x;
}

/* Every parameter of `to` is one of `from`, which has adapters beside. */
static lcsm_status merge(lcsm_params *to, const lcsm_params *from, double scale, lcsm_error *err)
{
    for (size_t j = 0; j < to->count; j++) {
        const lcsm_param *p   = &to->list[j];
        int               row = lcsm_params_find(from, p->name), a = half_of(from, p->name, "a");
        float            *W = lcsm_param_values(to, (int)j);
        lcsm_param_read(from, row, W);
        if (a < 0) continue;
        float *A = numbers_of(from, a), *B = numbers_of(from, half_of(from, p->name, "b"));
        bool   ok = A != NULL && B != NULL;
        if (ok) add_product(W, A, B, p->shape.dim, from->list[a].shape.dim[0], scale);
        free(A);
        free(B);
        if (!ok) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to merge %s", p->name);
    }
    return LCSM_OK;
}

/* Its settings of training too, so that it can be used as the run was. */
static lcsm_status store(const char *to, const char *run, const lcsm_params *params,
                         lcsm_error *err)
{
    static const char *const DROPPED[] = {"adapter", "adapter_scale", "adapter_matrices"};
    char                     path[LCSM_PATH_MAX], own[LCSM_PATH_MAX];
    lcsm_json_doc            doc       = {0};
    lcsm_file                tokenizer = {0};
    lcsm_status              st;
    LCSM_TRY(lcsm_run_config(path, run, err));
    LCSM_TRY(lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, err));
    for (size_t j = 0; j < COUNT(DROPPED); j++) (void)json_object_del(doc.root, DROPPED[j]);
    LCSM_TRY(lcsm_path_join(path, run, LCSM_RUN_TOKENIZER, err));
    LCSM_TRY(lcsm_path_join(own, to, LCSM_RUN_TOKENIZER, err));
    if (lcsm_path_exists(path))
        LCSM_TRY(lcsm_file_read(&tokenizer, path, LCSM_JSON_LARGE_SIZE, err));
    LCSM_TRY(lcsm_model_store(to, doc.root, params, err));
    if (tokenizer.data != NULL)
        LCSM_TRY(lcsm_file_write_atomic(own, tokenizer.data, tokenizer.size, err));
cleanup:
    lcsm_file_close(&tokenizer);
    lcsm_json_doc_free(&doc);
    return st;
}

static lcsm_status check_new(const char *to, lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    LCSM_OR_RETURN(lcsm_path_join(path, to, LCSM_RUN_CONFIG, err));
    return lcsm_path_exists(path) ? lcsm_fail(err, LCSM_ERR_ARGUMENT,
                                              "%s is already a run; merge into another folder", to)
                                  : LCSM_OK;
}

lcsm_status lcsm_run_merge(const lcsm_context *ctx, const char *run, const char *to,
                           lcsm_error *err)
{
    lcsm_model  *model = NULL;
    lcsm_params *plain = NULL;
    lcsm_status  st;
    LCSM_TRY(check_new(to, err));
    LCSM_TRY(lcsm_model_load(&model, ctx, run, err));
    lcsm_model_config cfg = model->cfg;
    if (cfg.adapter == 0 && !cfg.initial_memory)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_ARGUMENT,
                           "%s has no adapters to merge: it is a plain model already", run));
    cfg.adapter = 0;
    LCSM_TRY(lcsm_model_list(&plain, ctx, &cfg, 0, err));
    plain->blank = true;
    LCSM_TRY(lcsm_params_reserve(plain, false, err));
    LCSM_TRY(merge(plain, model->params, cfg.adapter_scale, err));
    LCSM_TRY(store(to, run, plain, err));
cleanup:
    lcsm_params_free(plain);
    lcsm_model_free(model);
    return st;
}
