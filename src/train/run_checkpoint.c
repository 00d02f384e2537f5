/* run_checkpoint.c - writes and reads the checkpoints of a run. */
#include "train/run_checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/checkpoint_folder.h"
#include "format/json_doc.h"
#include "format/json_write.h"
#include "format/run_folder.h"
#include "train/whole.h"

#define OPTIMIZER "optimizer.safetensors"
#define PROGRESS  "progress.json"
#define MEMORY    "memory"

/* ---- progress ----------------------------------------------------------------------------- */

#define COUNTS(X) X(step) X(tokens) X(worse) X(data)
#define LATER(X)                                                                                   \
    X(evaluated) X(hash) X(eval_blocks) X(read) /* what the first checkpoints did not have */
#define REALS(X)                                                                                   \
    X(seconds) X(step_seconds) X(eval_seconds) X(evaluated_seconds) X(best_loss) X(best_accuracy)

static lcsm_status write_progress(lcsm_json_writer *w, const lcsm_progress *p, lcsm_error *err)
{
    lcsm_json_open_object(w, NULL);
#define X(name) lcsm_json_put_int(w, #name, p->name);
    COUNTS(X)
    LATER(X)
#undef X
#define X(name)                                                                                    \
    if (!isnan(p->name)) lcsm_json_put_real(w, #name, p->name);
    REALS(X)
#undef X
    lcsm_json_close(w);
    return lcsm_json_writer_finish(w, err);
}

static lcsm_status read_progress(lcsm_progress *p, const char *path, lcsm_error *err)
{
    lcsm_json_doc doc = {0};
    lcsm_status   st  = LCSM_OK;
    *p                = (lcsm_progress){.best_loss = NAN, .best_accuracy = NAN};
    LCSM_TRY(lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, err));
    lcsm_json root = lcsm_json_root(&doc);
#define X(name)                                                                                    \
    LCSM_TRY(lcsm_json_get_int(&p->name, lcsm_json_need(&root, #name), 0, INT64_MAX, err));
    COUNTS(X)
#undef X
    p->evaluated = p->step;
#define X(name)                                                                                    \
    LCSM_TRY(lcsm_json_get_int(&p->name, lcsm_json_may(&root, #name), 0, INT64_MAX, err));
    LATER(X)
#undef X
#define X(name)                                                                                    \
    LCSM_TRY(lcsm_json_get_real(&p->name, lcsm_json_may(&root, #name), -1e300, 1e300, err));
    REALS(X)
#undef X
cleanup:
    lcsm_json_doc_free(&doc);
    return lcsm_file_fault(st, err);
}

/* ---- tensors ------------------------------------------------------------------------------ */

/* The moments of every parameter, and the carried memory as bytes. Names are the rows' own. */
typedef struct {
    lcsm_named_tensor *rows;
    char             **names;
    size_t             count;
} tensors;

static void tensors_free(tensors *s)
{
    for (size_t j = 0; s->names != NULL && j < s->count; j++) free(s->names[j]);
    free(s->names);
    free(s->rows);
    *s = (tensors){0};
}

static char *joined(const char *prefix, const char *name)
{
    lcsm_strbuf s = {0};
    lcsm_strbuf_printf(&s, "%s%s", prefix, name);
    if (s.failed) lcsm_strbuf_free(&s);
    return s.text;
}

static void add(tensors *s, const lcsm_named_tensor *like, const char *prefix, const void *data)
{
    s->rows[s->count]      = *like;
    s->names[s->count]     = joined(prefix, like->name);
    s->rows[s->count].name = s->names[s->count];
    s->rows[s->count].data = data;
    s->count++;
}

static lcsm_status optimizer_tensors(tensors *out, const lcsm_params *p, const lcsm_whole *whole,
                                     const lcsm_named_tensor *values, lcsm_error *err)
{
    size_t n = 2 * p->count + 1;
    *out     = (tensors){calloc(n, sizeof *out->rows), calloc(n, sizeof *out->names), 0};
    if (out->rows == NULL || out->names == NULL) goto failed;
    for (size_t j = 0; j < p->count; j++) {
        if ((p->list[j].flags & LCSM_PARAM_BASE) != 0) continue;
        add(out, &values[j], "m.", whole->m + p->list[j].offset);
        add(out, &values[j], "v.", whole->v + p->list[j].offset);
    }
    if (whole->memory != NULL) {
        lcsm_named_tensor memory = {
            .name = MEMORY, .element = LCSM_ELEMENT_U8, .rank = 1, .shape = {whole->memory_bytes}};
        add(out, &memory, "", whole->memory);
    }
    for (size_t j = 0; j < out->count; j++)
        if (out->names[j] == NULL) goto failed;
    return LCSM_OK;
failed:
    tensors_free(out);
    return lcsm_fail(err, LCSM_ERR_MEMORY,
                     "not enough memory for the list of a checkpoint's tensors");
}

/* ---- values ------------------------------------------------------------------------------- */

const char *lcsm_run_model_file(const lcsm_params *p)
{
    return p->only != 0 ? LCSM_RUN_ADAPTER : LCSM_RUN_MODEL;
}

/* Where all is trained, all is in one file. */
static lcsm_tensors_part part_of(const lcsm_params *p)
{
    return p->only != 0 ? LCSM_TENSORS_TRAINED : LCSM_TENSORS_BASE;
}

lcsm_status lcsm_run_model_store(const char *run, const lcsm_params *p, lcsm_tensors_part part,
                                 lcsm_error *err)
{
    bool               base = part == LCSM_TENSORS_BASE;
    lcsm_run_file      file = {.name = base ? LCSM_RUN_MODEL : lcsm_run_model_file(p)};
    lcsm_named_tensor *list = NULL;
    lcsm_status st = lcsm_model_tensors_of(&list, &file.count, p, base ? part : part_of(p), err);
    file.tensors   = list;
    if (st == LCSM_OK) st = lcsm_run_store(run, &file, err);
    free(list);
    return st;
}

static lcsm_status write(const char *run, const lcsm_trainer *t, const lcsm_whole *whole,
                         const lcsm_progress *p, size_t keep, lcsm_error *err)
{
    lcsm_status        st     = LCSM_OK;
    lcsm_named_tensor *values = NULL, *trained = NULL;
    size_t             count    = 0;
    tensors            moments  = {0};
    lcsm_json_writer   progress = lcsm_json_writer_pretty();
    LCSM_TRY(lcsm_model_tensors(&values, t->model->params, err));
    LCSM_TRY(
        lcsm_model_tensors_of(&trained, &count, t->model->params, part_of(t->model->params), err));
    LCSM_TRY(optimizer_tensors(&moments, t->model->params, whole, values, err));
    LCSM_TRY(write_progress(&progress, p, err));
    const lcsm_run_file files[] = {
        {.name = lcsm_run_model_file(t->model->params), .tensors = trained, .count = count},
        {.name = OPTIMIZER, .tensors = moments.rows, .count = moments.count},
        {.name = PROGRESS, .bytes = progress.text.text, .size = progress.text.size},
    };
    LCSM_TRY(lcsm_checkpoint_save(run, (uint64_t)p->step, files, COUNT(files), err));
    LCSM_TRY(lcsm_checkpoint_prune(run, keep, err));
cleanup:
    lcsm_json_writer_free(&progress);
    tensors_free(&moments);
    free(values);
    free(trained);
    return st;
}

lcsm_status lcsm_run_checkpoint_save(const char *run, const lcsm_trainer *t, const lcsm_progress *p,
                                     size_t keep, lcsm_error *err)
{
    lcsm_dist  *d     = t->shards.dist;
    lcsm_whole  whole = {0};
    lcsm_status st    = LCSM_OK;
    LCSM_TRY(lcsm_whole_collect(&whole, t, err));
    if (lcsm_dist_first(d)) st = write(run, t, &whole, p, keep, err);
    st = lcsm_dist_agree(d, st, err);
cleanup:
    lcsm_whole_free(&whole);
    return st;
}

/* ---- loading ------------------------------------------------------------------------------ */

static lcsm_status take(float *to, const lcsm_safetensors *from, const char *prefix,
                        const lcsm_param *p, lcsm_error *err)
{
    lcsm_named_tensor t;
    size_t            count, bytes;
    char             *name = joined(prefix, p->name);
    if (name == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a name");
    bool there = lcsm_safetensors_find(&t, from, name)
              && lcsm_named_tensor_measure(&t, &count, &bytes) && count == p->count;
    lcsm_status st = there ? lcsm_named_tensor_f32(to, &t, err)
                           : lcsm_fail(err, LCSM_ERR_FORMAT,
                                       "%s: %s is missing or has another size", from->label, name);
    free(name);
    return st;
}

static lcsm_status take_memory(lcsm_whole *w, const lcsm_safetensors *from, lcsm_error *err)
{
    lcsm_named_tensor t;
    if (w->memory == NULL) return LCSM_OK;
    if (!lcsm_safetensors_find(&t, from, MEMORY) || t.element != LCSM_ELEMENT_U8 || t.rank != 1
        || t.shape[0] != w->memory_bytes)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: the carried memory is not that of this model and its shards",
                         from->label);
    memcpy(w->memory, t.data, w->memory_bytes);
    return LCSM_OK;
}

static lcsm_status load_optimizer(lcsm_whole *w, const lcsm_params *p, const char *path,
                                  lcsm_error *err)
{
    lcsm_safetensors file = {0};
    lcsm_status      st   = LCSM_OK;
    LCSM_TRY(lcsm_safetensors_open(&file, path, 0, err));
    for (size_t j = 0; j < p->count; j++) {
        const lcsm_param *row = &p->list[j];
        if ((row->flags & LCSM_PARAM_BASE) != 0) continue;
        LCSM_TRY(take(w->m + row->offset, &file, "m.", row, err));
        LCSM_TRY(take(w->v + row->offset, &file, "v.", row, err));
    }
    LCSM_TRY(take_memory(w, &file, err));
cleanup:
    lcsm_safetensors_close(&file);
    return st;
}

static lcsm_status take_model(const lcsm_trainer *t, const char *run, const char *folder,
                              lcsm_error *err)
{
    lcsm_weights weights = {0};
    lcsm_status  st      = LCSM_OK;
    bool         part    = t->model->params->only != 0; /* the rest is the run's */
    LCSM_TRY(lcsm_weights_open_both(&weights, part ? run : folder, folder, 0, err));
    LCSM_TRY(lcsm_model_take(t->model->params, &weights, err));
cleanup:
    lcsm_weights_close(&weights);
    return st;
}

lcsm_status lcsm_run_values_share(const lcsm_trainer *t, lcsm_error *err)
{
    const lcsm_params *p = t->model->params;
    return lcsm_dist_broadcast(t->shards.dist, p->values, p->block * sizeof(float), 0, err);
}

lcsm_status lcsm_run_model_take(lcsm_trainer *t, const char *run, const char *folder,
                                lcsm_error *err)
{
    lcsm_dist  *d  = t->shards.dist;
    lcsm_status st = lcsm_dist_first(d) ? take_model(t, run, folder, err) : LCSM_OK;
    LCSM_OR_RETURN(lcsm_dist_agree(d, st, err));
    return lcsm_run_values_share(t, err);
}

typedef struct {
    lcsm_run_checkpoint_note *note;
    void                     *user;
} listener;

static void passed_over(void *arg, const char *name, const char *reason)
{
    const listener *l = arg;
    lcsm_strbuf     s = {0};
    if (l->note == NULL) return;
    lcsm_strbuf_printf(&s, "checkpoint %s is skipped: %s", name, reason);
    l->note(l->user, lcsm_strbuf_text(&s));
    lcsm_strbuf_free(&s);
}

/* Where none verifies there must be none; what an interrupted save left does not count. */
static lcsm_status check_none(const char *run, lcsm_error *err)
{
    lcsm_checkpoint_list list = {0};
    lcsm_status          st   = lcsm_checkpoint_list_read(&list, run, err);
    if (st == LCSM_OK && list.count > 0)
        st = lcsm_fail(err, LCSM_ERR_FORMAT,
                       "%s: all %zu of its checkpoints are damaged; the run is left unchanged: "
                       "train in another folder",
                       run, list.count);
    lcsm_checkpoint_list_free(&list);
    return st;
}

/* What rank 0 does: the newest one into the model, the moments and the progress. */
static lcsm_status load(const char *run, const lcsm_trainer *t, lcsm_whole *whole, lcsm_progress *p,
                        bool *found, listener *l, lcsm_error *err)
{
    lcsm_checkpoint c;
    char            folder[LCSM_PATH_MAX], path[LCSM_PATH_MAX];
    LCSM_OR_RETURN(lcsm_checkpoint_newest(&c, run, passed_over, l, err));
    if (c.name[0] == 0) return check_none(run, err);
    LCSM_OR_RETURN(lcsm_checkpoint_path(path, run, &c, PROGRESS, err));
    LCSM_OR_RETURN(read_progress(p, path, err));
    LCSM_OR_RETURN(lcsm_checkpoint_path(path, run, &c, OPTIMIZER, err));
    LCSM_OR_RETURN(load_optimizer(whole, t->model->params, path, err));
    memcpy(folder, path, sizeof folder);
    *strrchr(folder, '/') = 0;
    LCSM_OR_RETURN(take_model(t, run, folder, err));
    *found = true;
    return LCSM_OK;
}

lcsm_status lcsm_run_checkpoint_load(const char *run, lcsm_trainer *t, lcsm_progress *p,
                                     bool *found, lcsm_run_checkpoint_note *note, void *user,
                                     lcsm_error *err)
{
    lcsm_dist  *d     = t->shards.dist;
    listener    l     = {note, user};
    lcsm_whole  whole = {0};
    lcsm_status st    = LCSM_OK;
    *found            = false;
    LCSM_TRY(lcsm_whole_reserve(&whole, t, err));
    if (lcsm_dist_first(d)) st = load(run, t, &whole, p, found, &l, err);
    LCSM_TRY(lcsm_dist_agree(d, st, err));
    LCSM_TRY(lcsm_dist_broadcast(d, found, sizeof *found, 0, err));
    if (!*found) goto cleanup;
    LCSM_TRY(lcsm_dist_broadcast(d, p, sizeof *p, 0, err));
    LCSM_TRY(lcsm_run_values_share(t, err));
    LCSM_TRY(lcsm_whole_deal(&whole, t, err));
    t->optimizer->steps = p->step;
    t->tokens           = p->tokens;
cleanup:
    lcsm_whole_free(&whole);
    return st;
}
