/*
 * view.c - a run, an experiment or a folder of runs, read while others write them.
 *
 * Of a run the summary reads the settings and the end of metrics.jsonl. Whether a process trains it
 * is looked up in the system's list of locks, because taking the lock would keep a trainer from it.
 */
#include "serve/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/folder.h"
#include "format/json_doc.h"
#include "format/run_folder.h"
#include "serve/serve.h"

enum {
    TAIL    = 1 << 16, /* bytes of the metrics that a summary reads */
    PART    = 1 << 20, /* and that one answer has */
    RUNS    = 5000,
    RECENT  = 60, /* seconds since the last line in which a run counts as under way */
    REASONS = 400 /* bytes of failed.txt */
};

/* ---- files ------------------------------------------------------------------------------ */

/* Bytes from `at` to `most` behind it, with a zero at their end, and the facts of the file. NULL:
 * it cannot be read. The caller frees them. */
static char *read_part(const char *path, size_t at, size_t most, size_t *size, struct stat *facts)
{
    FILE *f    = fopen(path, "rbe");
    char *text = malloc(most + 1);
    *size      = 0;
    bool ok = f != NULL && text != NULL && fstat(fileno(f), facts) == 0 && S_ISREG(facts->st_mode)
           && fseek(f, (long)at, SEEK_SET) == 0;
    if (ok) {
        *size       = fread(text, 1, most, f);
        text[*size] = '\0';
    } else {
        free(text);
        text = NULL;
    }
    if (f != NULL) (void)fclose(f);
    return text;
}

/* The whole lines of a text, those that are objects; *used says how many bytes they took. */
static json_t *parse_lines(const char *text, size_t size, size_t *used)
{
    json_t *list = json_array();
    *used        = 0;
    for (const char *end; (end = memchr(text + *used, '\n', size - *used)) != NULL;) {
        json_t *line = json_loadb(text + *used, (size_t)(end - text) - *used, 0, NULL);
        if (json_is_object(line)) (void)json_array_append_new(list, line);
        else json_decref(line);
        *used = (size_t)(end - text) + 1;
    }
    return list;
}

/* The last lines of a file, the first of which may be cut and is then left out. */
static json_t *last_lines(const char *path, struct stat *facts)
{
    size_t size = 0, used = 0, from = 0;
    if (stat(path, facts) != 0) return json_array();
    if (facts->st_size > TAIL) from = (size_t)facts->st_size - TAIL;
    char *text = read_part(path, from, TAIL, &size, facts);
    if (text == NULL) return json_array();
    const char *begin = from > 0 ? memchr(text, '\n', size) : text;
    size_t      skip  = begin == NULL ? size : (size_t)(begin - text);
    json_t     *list  = parse_lines(text + skip, size - skip, &used);
    free(text);
    return list;
}

static bool has(const char *folder, const char *name)
{
    char path[LCSM_PATH_MAX];
    return lcsm_path_join(path, folder, name, NULL) == LCSM_OK && lcsm_path_exists(path);
}

/* Whether a process holds the lock of this file. */
static bool is_locked(const char *path)
{
    struct stat facts;
    char        want[80], line[256];
    bool        found = false;
    FILE       *f     = stat(path, &facts) == 0 ? fopen("/proc/locks", "re") : NULL;
    if (f == NULL) return false;
    (void)snprintf(want, sizeof want, " %02x:%02x:%llu ", major(facts.st_dev), minor(facts.st_dev),
                   (unsigned long long)facts.st_ino);
    while (!found && fgets(line, sizeof line, f) != NULL) found = strstr(line, want) != NULL;
    (void)fclose(f);
    return found;
}

/* ---- one run ---------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    return lcsm_json_number(object, key);
}

/* The last line of a kind and, of evaluations, a split; NULL: none. */
static json_t *last_of(const json_t *lines, const char *kind, const char *split)
{
    for (size_t j = json_array_size(lines); j-- > 0;) {
        json_t *line = json_array_get(lines, j);
        if (strcmp(text_of(line, "kind"), kind) == 0
            && (split == NULL || strcmp(text_of(line, "split"), split) == 0))
            return line;
    }
    return NULL;
}

static json_t *first_train(const json_t *lines)
{
    for (size_t j = 0; j < json_array_size(lines); j++)
        if (strcmp(text_of(json_array_get(lines, j), "kind"), "train") == 0)
            return json_array_get(lines, j);
    return NULL;
}

/* Seconds until a run of this rate has done so much more; NAN: not known. */
static double left_of(double goal, double have, double rate)
{
    if (!(goal > 0) || !(rate > 0)) return NAN;
    return goal > have ? (goal - have) / rate : 0;
}

/* By the limit that is reached first, at the rate of the last lines. */
static double time_left(const json_t *config, const json_t *lines)
{
    const json_t *first = first_train(lines), *last = last_of(lines, "train", NULL);
    double        seconds = number_of(last, "seconds"), left = NAN;
    double        took = seconds - number_of(first, "seconds");
    if (!(took > 0)) { /* one line: from the beginning of the run */
        took  = seconds;
        first = NULL;
    }
    static const char *const units[][2] = {{"steps", "step"}, {"tokens", "tokens"}};
    for (size_t j = 0; j < COUNT(units); j++) {
        double have  = number_of(last, units[j][1]);
        double since = first != NULL ? number_of(first, units[j][1]) : 0;
        left = fmin(left, left_of(number_of(config, units[j][0]), have, (have - since) / took));
    }
    return fmin(left, left_of(60 * number_of(config, "minutes"), seconds, 1));
}

static void put_number(json_t *to, const char *key, double x)
{
    (void)json_object_set_new(to, key, isfinite(x) ? json_real(x) : json_null());
}

static const char *state_of(const char *run, const json_t *end, const struct stat *metrics)
{
    char        path[LCSM_PATH_MAX];
    const char *reason = text_of(end, "reason");
    bool        locked = lcsm_path_join(path, run, ".lock", NULL) == LCSM_OK && is_locked(path);
    if (locked && end == NULL) return "running";
    if (end != NULL && strcmp(reason, "not-finite") == 0) return "failed";
    if (end != NULL) return strcmp(reason, "signal") == 0 ? "stopped" : "done";
    if (has(run, "failed.txt")) return "failed";
    if (metrics->st_size == 0) return "waiting";
    return time(NULL) - metrics->st_mtime < RECENT ? "running" : "stopped";
}

static void put_failure(json_t *to, const char *run)
{
    char        path[LCSM_PATH_MAX];
    size_t      size;
    struct stat facts;
    char       *text = lcsm_path_join(path, run, "failed.txt", NULL) == LCSM_OK
                         ? read_part(path, 0, REASONS, &size, &facts)
                         : NULL;
    if (text != NULL) (void)json_object_set_new(to, "message", json_string(text));
    free(text);
}

/* When the weights were written, so that a new text is asked for only then. */
static void put_saved(json_t *to, const char *run)
{
    char        path[LCSM_PATH_MAX];
    struct stat facts;
    bool        there =
        lcsm_path_join(path, run, LCSM_RUN_MODEL, NULL) == LCSM_OK && stat(path, &facts) == 0;
    (void)json_object_set_new(to, "saved",
                              there ? json_integer((json_int_t)facts.st_mtime) : json_null());
}

/* What the last line of a kind says, without its kind. */
static void put_line(json_t *to, const char *key, json_t *line)
{
    json_t *copy = line != NULL ? json_copy(line) : NULL;
    if (copy == NULL) return;
    (void)json_object_del(copy, "kind");
    (void)json_object_set_new(to, key, copy);
}

static void put_settings(json_t *to, const json_t *config)
{
    static const char *const keys[] = {"method",     "code",   "layers_pattern", "task",
                                       "d_model",    "layers", "vocab",          "seq_len",
                                       "batch_size", "lr",     "optimizer",      "schedule",
                                       "minutes",    "seed",   "weight_decay",   "dropout"};
    json_t                  *list   = json_object();
    for (size_t j = 0; j < COUNT(keys); j++) {
        json_t *v = json_object_get(config, keys[j]);
        if (v != NULL) (void)json_object_set(list, keys[j], v);
    }
    (void)json_object_set_new(to, "settings", list);
}

static json_t *run_json(const char *run, const char *name)
{
    char          path[LCSM_PATH_MAX] = "";
    lcsm_json_doc config              = {0};
    struct stat   facts               = {0};
    json_t       *to                  = json_pack("{s:s}", "name", name);
    if (lcsm_path_join(path, run, LCSM_RUN_CONFIG, NULL) == LCSM_OK)
        (void)lcsm_json_doc_read(&config, path, LCSM_JSON_CONFIG_SIZE, NULL);
    if (lcsm_path_join(path, run, LCSM_RUN_METRICS, NULL) != LCSM_OK) path[0] = '\0';
    json_t     *lines = last_lines(path, &facts), *end = last_of(lines, "end", NULL);
    json_t     *train = last_of(lines, "train", NULL);
    const char *state = state_of(run, end, &facts);
    (void)json_object_set_new(to, "state", json_string(state));
    (void)json_object_set_new(to, "reason", json_string(text_of(end, "reason")));
    put_number(to, "step", number_of(end != NULL ? end : train, "step"));
    put_number(to, "seconds", number_of(end != NULL ? end : train, "seconds"));
    put_number(to, "steps", number_of(config.root, "steps"));
    put_number(to, "left", strcmp(state, "running") == 0 ? time_left(config.root, lines) : NAN);
    put_line(to, "train", train);
    put_line(to, "valid", last_of(lines, "eval", "valid"));
    put_line(to, "test", last_of(lines, "eval", "test"));
    put_line(to, "end", end);
    put_settings(to, config.root);
    put_failure(to, run);
    put_saved(to, run);
    json_decref(lines);
    lcsm_json_doc_free(&config);
    return to;
}

/* ---- folders ---------------------------------------------------------------------------- */

static const char *kind_of(const char *folder)
{
    return has(folder, LCSM_RUN_CONFIG)   ? "run"
         : has(folder, "experiment.json") ? "experiment"
                                          : "folder";
}

/* The last piece of a path, or a word where that is no name. */
static void base_name(char name[256], const char *folder)
{
    size_t end = strlen(folder), begin;
    while (end > 1 && folder[end - 1] == '/') end--;
    begin = end;
    while (begin > 0 && folder[begin - 1] != '/') begin--;
    (void)snprintf(name, 256, "%.*s", (int)(end - begin), folder + begin);
    if (!lcsm_path_is_bare(name)) (void)snprintf(name, 256, "run");
}

bool lcsm_view_run(char path[LCSM_PATH_MAX], const char *folder, const char *name,
                   lcsm_fault *fault)
{
    const char *kind = kind_of(folder);
    char        own[256], all[LCSM_PATH_MAX];
    base_name(own, folder);
    if (strcmp(kind, "run") == 0 && strcmp(own, name) == 0) {
        (void)snprintf(path, LCSM_PATH_MAX, "%s", folder);
        return true;
    }
    if (strcmp(kind, "run") != 0 && lcsm_path_is_bare(name) && name[0] != '.'
        && lcsm_path_join(all, folder, strcmp(kind, "folder") == 0 ? "." : "runs", NULL) == LCSM_OK
        && lcsm_path_join(path, all, name, NULL) == LCSM_OK && has(path, LCSM_RUN_CONFIG))
        return true;
    return lcsm_fault_set(fault, 404, "run", "run_not_found",
                          "there is no such run here; /v1/view lists them");
}

/* The runs of a list in experiment.json, with the labels of their rows. */
static void put_listed(json_t *runs, const json_t *about, const char *folder)
{
    const json_t *list   = json_object_get(about, "runs"),
                 *labels = json_object_get(about, "variants");
    for (size_t j = 0; j < json_array_size(list) && j < RUNS; j++) {
        const json_t *one  = json_array_get(list, j);
        const char   *name = text_of(one, "name");
        char          all[LCSM_PATH_MAX], path[LCSM_PATH_MAX];
        json_int_t    row = json_integer_value(json_object_get(one, "variant"));
        if (!lcsm_path_is_bare(name) || lcsm_path_join(all, folder, "runs", NULL) != LCSM_OK
            || lcsm_path_join(path, all, name, NULL) != LCSM_OK)
            continue;
        json_t *run = run_json(path, name), *label = json_array_get(labels, (size_t)row);
        if (json_is_string(label)) (void)json_object_set(run, "label", label);
        (void)json_array_append_new(runs, run);
    }
}

static void put_found(json_t *runs, const char *folder)
{
    lcsm_folder_list list = {0};
    char             path[LCSM_PATH_MAX];
    if (lcsm_folder_read(&list, folder, NULL) != LCSM_OK) return;
    for (size_t j = 0; j < list.count && json_array_size(runs) < RUNS; j++)
        if (list.names[j][0] != '.' && lcsm_path_join(path, folder, list.names[j], NULL) == LCSM_OK
            && has(path, LCSM_RUN_CONFIG))
            (void)json_array_append_new(runs, run_json(path, list.names[j]));
    lcsm_folder_list_free(&list);
}

static json_t *frame_of(const char *folder, const char *kind, const json_t *about)
{
    char name[256];
    base_name(name, folder);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "object", "view", "kind", kind, "name", name,
                     "title", text_of(about, "title"), "metric", text_of(about, "metric"), "runs",
                     json_array());
}

json_t *lcsm_view_summary(const char *folder, lcsm_fault *fault)
{
    const char   *kind  = kind_of(folder);
    lcsm_json_doc about = {0};
    lcsm_error    err   = {0};
    char          path[LCSM_PATH_MAX], name[256];
    if (strcmp(kind, "experiment") == 0
        && (lcsm_path_join(path, folder, "experiment.json", &err) != LCSM_OK
            || lcsm_json_doc_read(&about, path, LCSM_JSON_LARGE_SIZE, &err) != LCSM_OK)) {
        (void)lcsm_fault_set(fault, 500, NULL, NULL, "%s", err.text);
        return NULL;
    }
    json_t *all = frame_of(folder, kind, about.root), *runs = json_object_get(all, "runs");
    base_name(name, folder);
    if (strcmp(kind, "run") == 0) (void)json_array_append_new(runs, run_json(folder, name));
    else if (about.root != NULL) put_listed(runs, about.root, folder);
    else put_found(runs, folder);
    lcsm_json_doc_free(&about);
    return all;
}

bool lcsm_serve_can_view(const char *folder)
{
    json_t *runs = json_array();
    if (strcmp(kind_of(folder), "folder") == 0) put_found(runs, folder);
    bool found = strcmp(kind_of(folder), "folder") != 0 || json_array_size(runs) > 0;
    json_decref(runs);
    return found;
}

/* ---- metrics ---------------------------------------------------------------------------- */

json_t *lcsm_view_metrics(const char *folder, const char *name, const char *file, size_t from,
                          lcsm_fault *fault)
{
    char        run[LCSM_PATH_MAX], path[LCSM_PATH_MAX], own[48] = "";
    size_t      size = 0, used = 0;
    struct stat facts = {0};
    if (!lcsm_view_run(run, folder, name, fault)) return NULL;
    if (lcsm_path_join(path, run, LCSM_RUN_METRICS, NULL) == LCSM_OK && stat(path, &facts) == 0)
        (void)snprintf(own, sizeof own, "%llx", (unsigned long long)facts.st_ino);
    if (file == NULL || strcmp(file, own) != 0 || from > (size_t)facts.st_size) from = 0;
    char   *text  = own[0] != '\0' ? read_part(path, from, PART, &size, &facts) : NULL;
    json_t *lines = parse_lines(text != NULL ? text : "", size, &used);
    free(text);
    return json_pack("{s:s, s:I, s:I, s:b, s:o}", "file", own, "from", (json_int_t)from, "next",
                     (json_int_t)from + (json_int_t)used, "more",
                     used > 0 && from + used < (size_t)facts.st_size, "lines", lines);
}
