/* metrics.c - one JSON object a line. */
#include "train/metrics.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "format/json_doc.h"
#include "format/json_write.h"
#include "format/run_folder.h"
#include "train/trainer.h"

/* A line under way, and the numbers of it that TensorBoard gets. */
typedef struct {
    lcsm_json_writer  w;
    lcsm_tensorboard *board;
    const char       *split;
    int64_t           step;
} line;

static line begin(const lcsm_metrics *m, const char *kind, int64_t step, int64_t tokens,
                  double seconds)
{
    line l = {.w = lcsm_json_writer_compact(), .board = m->board, .split = kind, .step = step};
    lcsm_json_open_object(&l.w, NULL);
    lcsm_json_put_text(&l.w, "kind", kind);
    lcsm_json_put_int(&l.w, "step", step);
    lcsm_json_put_int(&l.w, "tokens", tokens);
    lcsm_json_put_real(&l.w, "seconds", seconds);
    return l;
}

/* A number that is not finite is left out. */
static void put(line *l, const char *key, double value)
{
    if (!isfinite(value)) return;
    lcsm_json_put_real(&l->w, key, value);
    if (l->board != NULL) lcsm_tensorboard_scalar(l->board, l->split, key, l->step, value);
}

static lcsm_status end(line *l, const lcsm_metrics *m, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    lcsm_json_close(&l->w);
    LCSM_TRY(lcsm_json_writer_finish(&l->w, err));
    LCSM_TRY(lcsm_run_append(m->run, LCSM_RUN_METRICS, lcsm_strbuf_text(&l->w.text), err));
    if (m->board != NULL) LCSM_TRY(lcsm_tensorboard_flush(m->board, err));
cleanup:
    lcsm_json_writer_free(&l->w);
    return st;
}

static void put_update(line *l, const lcsm_train_event *e)
{
    put(l, "loss", e->update->loss);
    put(l, "accuracy", e->update->accuracy);
    put(l, "lr", e->update->lr);
    put(l, "grad_norm", e->update->grad_norm);
    put(l, "tokens_per_second", e->tokens_per_second);
}

static void put_eval(line *l, const lcsm_train_event *e)
{
    double loss = lcsm_tally_loss(&e->tally);
    lcsm_json_put_text(&l->w, "split", e->split);
    l->split = e->split;
    put(l, "loss", loss);
    put(l, "perplexity", exp(loss));
    put(l, "accuracy", lcsm_tally_accuracy(&e->tally));
    put(l, "score", e->score);
    put(l, "bits_per_byte", e->bits_per_byte);
    put(l, "word_perplexity", e->word_perplexity);
    lcsm_json_put_int(&l->w, "blocks", e->blocks);
}

static void put_end(line *l, const lcsm_train_event *e, const lcsm_train_result *r)
{
    lcsm_json_put_text(&l->w, "reason", e->text);
    l->board = NULL;
    put(l, "best_loss", r->best_loss);
    put(l, "best_accuracy", r->best_accuracy);
    put(l, "tokens_per_second", e->tokens_per_second);
    lcsm_json_put_size(&l->w, "peak_memory_bytes", e->bytes);
}

lcsm_status lcsm_metrics_write(const lcsm_metrics *m, const lcsm_train_event *e,
                               const lcsm_train_result *result, lcsm_error *err)
{
    static const char *const kinds[] = {
        [LCSM_TRAIN_UPDATE] = "train", [LCSM_TRAIN_EVAL] = "eval", [LCSM_TRAIN_END] = "end"};
    if ((size_t)e->kind >= COUNT(kinds) || kinds[e->kind] == NULL) return LCSM_OK;
    line l = begin(m, kinds[e->kind], e->update->step, e->update->tokens, e->seconds);
    if (e->kind == LCSM_TRAIN_UPDATE) put_update(&l, e);
    if (e->kind == LCSM_TRAIN_EVAL) put_eval(&l, e);
    if (e->kind == LCSM_TRAIN_END) put_end(&l, e, result);
    return end(&l, m, err);
}

/* ---- going back --------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

bool lcsm_metrics_ended(const char *run)
{
    lcsm_file file = {0};
    char      path[LCSM_PATH_MAX];
    bool      ended = false;
    if (lcsm_path_join(path, run, LCSM_RUN_METRICS, NULL) != LCSM_OK
        || lcsm_file_read(&file, path, (size_t)1 << 40, NULL) != LCSM_OK)
        return false;
    const char *text = (const char *)file.data;
    size_t      stop = file.size > 0 ? file.size - 1 : 0, from = stop; /* of the last line */
    while (from > 0 && text[from - 1] != '\n') from--;
    json_t *object = json_loadb(text + from, stop - from, 0, NULL);
    ended          = strcmp(text_of(object, "kind"), "end") == 0;
    json_decref(object);
    lcsm_file_close(&file);
    return ended;
}

bool lcsm_score_better(const lcsm_score *a, const lcsm_score *b, const lcsm_task *task)
{
    if (!lcsm_task_reads_text(task) && a->accuracy > b->accuracy) return true;
    if (!lcsm_task_reads_text(task) && a->accuracy < b->accuracy) return false;
    return !(a->loss >= b->loss);
}

/* A test belongs to the end of a run, and is made again with it. */
static bool stays(const lcsm_metrics_point *at, const json_t *object)
{
    const json_t *step = json_object_get(object, "step");
    bool          eval = strcmp(text_of(object, "kind"), "eval") == 0;
    return json_is_integer(step) && strcmp(text_of(object, "kind"), "end") != 0
        && strcmp(text_of(object, "split"), "test") != 0
        && json_integer_value(step) <= (eval ? at->evaluated : at->step);
}

static bool beats(const lcsm_metrics_point *at, const json_t *object)
{
    lcsm_score score = {lcsm_json_number(object, "loss"), lcsm_json_number(object, "accuracy")};
    return strcmp(text_of(object, "kind"), "eval") == 0
        && strcmp(text_of(object, "split"), "test") != 0
        && lcsm_score_better(&score, &at->best, at->task);
}

/* The lines that stay, and whether one of the others beats the best. */
typedef struct {
    lcsm_strbuf kept;
    bool        beaten;
} scan;

static lcsm_status scan_lines(scan *s, const char *path, const lcsm_metrics_point *point,
                              lcsm_error *err)
{
    lcsm_file   file = {0};
    lcsm_status st   = lcsm_file_read(&file, path, (size_t)1 << 40, err);
    if (st != LCSM_OK) return st;
    const char *text = (const char *)file.data;
    for (size_t at = 0; at < file.size;) {
        const char *stop   = memchr(text + at, '\n', file.size - at);
        size_t      size   = stop == NULL ? file.size - at : (size_t)(stop - text) - at;
        json_t     *object = stop == NULL ? NULL : json_loadb(text + at, size, 0, NULL);
        if (stays(point, object)) lcsm_strbuf_bytes(&s->kept, text + at, size + 1);
        else if (beats(point, object)) s->beaten = true;
        json_decref(object);
        at += size + 1;
    }
    lcsm_file_close(&file);
    return s->kept.failed ? lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %s", path)
                          : LCSM_OK;
}

lcsm_status lcsm_metrics_beaten(const char *run, const lcsm_metrics_point *at, bool *beaten,
                                lcsm_error *err)
{
    scan        s  = {0};
    lcsm_status st = LCSM_OK;
    char        path[LCSM_PATH_MAX];
    LCSM_TRY(lcsm_path_join(path, run, LCSM_RUN_METRICS, err));
    if (lcsm_path_exists(path)) LCSM_TRY(scan_lines(&s, path, at, err));
    *beaten = s.beaten;
cleanup:
    lcsm_strbuf_free(&s.kept);
    return st;
}

lcsm_status lcsm_metrics_rewind(const char *run, const lcsm_metrics_point *at, lcsm_error *err)
{
    scan        s  = {0};
    lcsm_status st = LCSM_OK;
    char        path[LCSM_PATH_MAX];
    LCSM_TRY(lcsm_path_join(path, run, LCSM_RUN_METRICS, err));
    if (!lcsm_path_exists(path)) return LCSM_OK;
    LCSM_TRY(scan_lines(&s, path, at, err));
    LCSM_TRY(lcsm_file_write_atomic(path, lcsm_strbuf_text(&s.kept), s.kept.size, err));
cleanup:
    lcsm_strbuf_free(&s.kept);
    return st;
}
