/* record.c - run folders, read with patience: a run may be going on, or have crashed. */
#include "report/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "format/keys.h"
#include "format/run_folder.h"
#include "format/safetensors.h"

enum { METRICS_SIZE = 256 << 20 };

/* ---- lines --------------------------------------------------------------------------------- */

typedef struct {
    const char *key;
    size_t      offset;
} field;

#define TRAIN(name)                                                                                \
    {                                                                                              \
#name, offsetof(lcsm_train_line, name)                                                     \
    }
#define EVAL(name)                                                                                 \
    {                                                                                              \
#name, offsetof(lcsm_eval_line, name)                                                      \
    }
static const field TRAIN_FIELDS[] = {TRAIN(step), TRAIN(tokens), TRAIN(seconds),
                                     TRAIN(loss), TRAIN(lr),     TRAIN(grad_norm)};
static const field EVAL_FIELDS[]  = {EVAL(step),     EVAL(tokens),     EVAL(seconds),
                                     EVAL(loss),     EVAL(perplexity), EVAL(bits_per_byte),
                                     EVAL(accuracy), EVAL(score)};

static void take_fields(void *to, const json_t *line, const field *fields, size_t count)
{
    for (size_t j = 0; j < count; j++)
        *(double *)(void *)((char *)to + fields[j].offset) = lcsm_json_number(line, fields[j].key);
}

/* Room for one more; count is a power of two when it is full. */
static bool grow(void **items, size_t count, size_t size)
{
    if (count > 0 && (count < 64 || (count & (count - 1)) != 0)) return true;
    void *more = realloc(*items, (count == 0 ? 64 : 2 * count) * size);
    if (more == NULL) return false;
    *items = more;
    return true;
}

/* A resumed run repeats the steps since its checkpoint: what it wrote of them before goes. */
static void rewind_to(lcsm_record *r, double step)
{
    while (r->train_count > 0 && r->train[r->train_count - 1].step >= step) r->train_count--;
    while (r->eval_count > 0 && r->eval[r->eval_count - 1].step >= step) r->eval_count--;
}

static void take_number(double *to, const json_t *line, const char *key)
{
    double v = lcsm_json_number(line, key);
    if (!isnan(v)) *to = v;
}

/* How far the run is. */
static void take_total(lcsm_record *r, const json_t *line)
{
    take_number(&r->seconds, line, "seconds");
    take_number(&r->steps, line, "step");
    take_number(&r->tokens, line, "tokens");
    take_number(&r->speed, line, "tokens_per_second");
}

static bool take_train(lcsm_record *r, const json_t *line)
{
    lcsm_train_line t;
    take_fields(&t, line, TRAIN_FIELDS, COUNT(TRAIN_FIELDS));
    if (r->train_count > 0 && t.step <= r->train[r->train_count - 1].step) rewind_to(r, t.step);
    if (!grow((void **)&r->train, r->train_count, sizeof t)) return false;
    r->train[r->train_count++] = t;
    r->state                   = LCSM_RECORD_UNFINISHED;
    take_total(r, line);
    return true;
}

static bool take_eval(lcsm_record *r, const json_t *line)
{
    lcsm_eval_line e;
    const char    *split = json_string_value(json_object_get(line, "split"));
    take_fields(&e, line, EVAL_FIELDS, COUNT(EVAL_FIELDS));
    e.test = split != NULL && strcmp(split, "test") == 0;
    if (!isfinite(e.perplexity) && isfinite(e.loss)) e.perplexity = exp(e.loss);
    if (!isfinite(e.score)) e.score = e.accuracy;
    if (!grow((void **)&r->eval, r->eval_count, sizeof e)) return false;
    r->eval[r->eval_count++] = e;
    return true;
}

static bool take_end(lcsm_record *r, const json_t *line)
{
    const char *reason = json_string_value(json_object_get(line, "reason"));
    (void)snprintf(r->reason, sizeof r->reason, "%s", reason == NULL ? "?" : reason);
    take_total(r, line);
    take_number(&r->peak_memory_bytes, line, "peak_memory_bytes");
    bool failed  = strcmp(r->reason, "not-finite") == 0;
    bool stopped = strcmp(r->reason, "signal") == 0;
    r->state = failed ? LCSM_RECORD_FAILED : stopped ? LCSM_RECORD_UNFINISHED : LCSM_RECORD_DONE;
    if (failed)
        (void)snprintf(r->message, sizeof r->message, "a value was NaN or infinite at step %.0f",
                       r->steps);
    return true;
}

static bool take_line(lcsm_record *r, const char *text, size_t size)
{
    json_t *line = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    bool    ok   = true;
    if (line == NULL) {
        r->broken++;
        return true;
    }
    const char *kind = json_string_value(json_object_get(line, "kind"));
    if (kind != NULL && strcmp(kind, "train") == 0) ok = take_train(r, line);
    if (kind != NULL && strcmp(kind, "eval") == 0) ok = take_eval(r, line);
    if (kind != NULL && strcmp(kind, "end") == 0) ok = take_end(r, line);
    json_decref(line);
    return ok;
}

static lcsm_status read_metrics(lcsm_record *r, const lcsm_file *file, lcsm_error *err)
{
    const char *text = (const char *)file->data, *end = text + file->size;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (stop == NULL) break; /* the line that is being written */
        if (stop > text && !take_line(r, text, (size_t)(stop - text)))
            return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for its metrics",
                             r->folder);
        text = stop + 1;
    }
    return LCSM_OK;
}

/* ---- the folder ---------------------------------------------------------------------------- */

static bool read_file(lcsm_file *file, const lcsm_record *r, const char *name, size_t max)
{
    char path[LCSM_PATH_MAX];
    return lcsm_path_join(path, r->folder, name, NULL) == LCSM_OK && lcsm_path_exists(path)
        && lcsm_file_read(file, path, max, NULL) == LCSM_OK;
}

static void read_failure(lcsm_record *r)
{
    lcsm_file file = {0};
    if (r->state == LCSM_RECORD_DONE || !read_file(&file, r, LCSM_RUN_FAILED, 1 << 16)) return;
    r->state = LCSM_RECORD_FAILED;
    (void)snprintf(r->message, sizeof r->message, "%s", (const char *)file.data);
    r->message[strcspn(r->message, "\n")] = '\0';
    lcsm_file_close(&file);
}

static double count_parameters(const lcsm_record *r)
{
    lcsm_safetensors file = {0};
    char             path[LCSM_PATH_MAX];
    double           sum = 0;
    if (lcsm_path_join(path, r->folder, LCSM_RUN_MODEL, NULL) != LCSM_OK || !lcsm_path_exists(path)
        || lcsm_safetensors_open(&file, path, 0, NULL) != LCSM_OK)
        return NAN;
    for (size_t j = 0; j < file.count; j++) {
        lcsm_named_tensor t = lcsm_safetensors_at(&file, j);
        size_t            count, bytes;
        sum += lcsm_named_tensor_measure(&t, &count, &bytes) ? (double)count : NAN;
    }
    lcsm_safetensors_close(&file);
    return sum;
}

static lcsm_status read_config(lcsm_record *r, const char *path, lcsm_error *err)
{
    lcsm_status st = lcsm_json_doc_read(&r->config, path, LCSM_JSON_CONFIG_SIZE, err);
    if (st != LCSM_OK || json_is_object(r->config.root)) return st;
    lcsm_json_doc_free(&r->config);
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s is not a JSON object", path);
}

/* Nobody knows what such a run has measured, whatever else it says. */
static void lose_settings(lcsm_record *r, const lcsm_error *why)
{
    r->state     = LCSM_RECORD_FAILED;
    r->reason[0] = '\0';
    (void)snprintf(r->message, sizeof r->message, "its settings cannot be read: %s", why->text);
}

lcsm_status lcsm_record_read(lcsm_record *out, const char *folder, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    lcsm_file   file = {0};
    lcsm_error  why  = {.status = LCSM_OK};
    char        path[LCSM_PATH_MAX];
    *out = (lcsm_record){
        .seconds = NAN, .steps = NAN, .tokens = NAN, .speed = NAN, .peak_memory_bytes = NAN};
    (void)snprintf(out->folder, sizeof out->folder, "%s", folder);
    out->parameters = count_parameters(out);
    LCSM_TRY(lcsm_path_join(path, folder, LCSM_RUN_CONFIG, err));
    if (lcsm_path_exists(path)) {
        out->state = LCSM_RECORD_UNFINISHED;
        if (read_config(out, path, &why) == LCSM_ERR_MEMORY)
            LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "%s", why.text));
    }
    if (read_file(&file, out, LCSM_RUN_METRICS, METRICS_SIZE))
        LCSM_TRY(read_metrics(out, &file, err));
    read_failure(out);
    if (why.status != LCSM_OK) lose_settings(out, &why);
cleanup:
    lcsm_file_close(&file);
    if (st != LCSM_OK) lcsm_record_free(out);
    return st;
}

void lcsm_record_free(lcsm_record *r)
{
    lcsm_json_doc_free(&r->config);
    free(r->name);
    free(r->train);
    free(r->eval);
    *r = (lcsm_record){0};
}

bool lcsm_record_inspection(lcsm_json_doc *out, const char *folder)
{
    char path[LCSM_PATH_MAX];
    *out = (lcsm_json_doc){0};
    if (lcsm_path_join(path, folder, LCSM_RUN_INSPECT, NULL) != LCSM_OK || !lcsm_path_exists(path)
        || lcsm_json_doc_read(out, path, LCSM_JSON_LARGE_SIZE, NULL) != LCSM_OK)
        return false;
    const json_t *version = json_object_get(out->root, "version");
    if (json_integer_value(version) == LCSM_INSPECT_VERSION) return true;
    lcsm_json_doc_free(out);
    return false;
}

const char *lcsm_record_state_name(lcsm_record_state state)
{
    static const char *const names[] = {"not run", "unfinished", "failed", "done"};
    return names[state];
}

/* ---- figures ------------------------------------------------------------------------------- */

/* Tokens that a second of steps reads: the mean over the run, which every line has so far. */
static double speed_of(const lcsm_record *r)
{
    return r->speed;
}

static double tokens_of(const lcsm_record *r)
{
    return r->tokens;
}

static double memory_of(const lcsm_record *r)
{
    return r->peak_memory_bytes;
}

static double parameters_of(const lcsm_record *r)
{
    return r->parameters;
}

static double seconds_of(const lcsm_record *r)
{
    return r->seconds;
}

static double steps_of(const lcsm_record *r)
{
    return r->steps;
}

/* A figure comes from the evaluations (its offset in a line) or from the whole run. */
static const struct {
    lcsm_metric metric;
    size_t      offset;
    double (*of_run)(const lcsm_record *r);
} METRICS[] = {
    {{"perplexity", "perplexity", 2, false}, offsetof(lcsm_eval_line, perplexity), NULL},
    {{"bits_per_byte", "bits per byte", 3, false}, offsetof(lcsm_eval_line, bits_per_byte), NULL},
    {{"loss", "loss", 3, false}, offsetof(lcsm_eval_line, loss), NULL},
    {{"accuracy", "accuracy", 3, true}, offsetof(lcsm_eval_line, accuracy), NULL},
    {{"score", "score", 3, true}, offsetof(lcsm_eval_line, score), NULL},
    {{"speed", "tokens/s", 0, true}, 0, speed_of},
    {{"peak_memory_bytes", "memory, bytes", 0, false}, 0, memory_of},
    {{"seconds", "seconds", 1, false}, 0, seconds_of},
    {{"steps", "steps", 0, false}, 0, steps_of},
    {{"tokens", "tokens", 0, false}, 0, tokens_of},
    {{"parameters", "parameters", 0, false}, 0, parameters_of},
};

const lcsm_metric *lcsm_metric_find(const char *name)
{
    for (size_t j = 0; j < COUNT(METRICS); j++)
        if (strcmp(name, METRICS[j].metric.name) == 0) return &METRICS[j].metric;
    return NULL;
}

lcsm_status lcsm_metric_read(const lcsm_metric **out, lcsm_json name, lcsm_error *err)
{
    const char *names[COUNT(METRICS)];
    size_t      row = 0;
    for (size_t j = 0; j < COUNT(METRICS); j++) names[j] = METRICS[j].metric.name;
    lcsm_status st = lcsm_json_get_choice(&row, name, names, COUNT(names), err);
    *out           = &METRICS[row].metric;
    return st;
}

static size_t row_of(const lcsm_metric *metric)
{
    size_t j = 0;
    while (&METRICS[j].metric != metric) j++;
    return j;
}

bool lcsm_metric_evaluated(const lcsm_metric *metric)
{
    return METRICS[row_of(metric)].of_run == NULL;
}

static double best_eval(const lcsm_record *r, const lcsm_metric *metric, bool test)
{
    size_t offset = METRICS[row_of(metric)].offset;
    double best   = NAN;
    for (size_t j = 0; j < r->eval_count; j++) {
        double v = *(const double *)(const void *)((const char *)&r->eval[j] + offset);
        if (r->eval[j].test != test || !isfinite(v)) continue;
        if (!isfinite(best) || (metric->higher ? v > best : v < best)) best = v;
    }
    return best;
}

double lcsm_record_value(const lcsm_record *r, const lcsm_metric *metric)
{
    size_t row = row_of(metric);
    if (METRICS[row].of_run != NULL) return METRICS[row].of_run(r);
    return best_eval(r, metric, false);
}

double lcsm_record_test(const lcsm_record *r, const lcsm_metric *metric)
{
    size_t row = row_of(metric);
    for (size_t j = r->eval_count; j-- > 0 && METRICS[row].of_run == NULL;)
        if (r->eval[j].test)
            return *(const double *)(const void *)((const char *)&r->eval[j] + METRICS[row].offset);
    return NAN;
}

const lcsm_task *lcsm_record_task(const lcsm_record *r)
{
    const char *name = json_string_value(json_object_get(r->config.root, "task"));
    size_t      row  = lcsm_task_find(name == NULL ? "lm" : name);
    return row < LCSM_TASK_COUNT ? LCSM_TASKS[row] : &lcsm_task_lm;
}

const char *lcsm_record_setting(const lcsm_record *r, const char *key,
                                char text[LCSM_KEY_TEXT_SIZE])
{
    return lcsm_setting_text(text, json_object_get(r->config.root, key));
}
