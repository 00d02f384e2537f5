/*
 * prefix.c - states of sessions behind the beginnings of prompts, as files of a folder.
 *
 *     MODEL-LENGTH-TOKENS.lcsm-state   a saved state: 16 digits of the model's SHA-256, the number
 *                                      of tokens, 32 digits of the SHA-256 of the tokens
 *     SUM.lcsm-model                   the SHA-256 of the model whose numbers have this sum: it is
 *                                      many times as fast to compute
 */
#include <lcsm/prefix.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/sized.h"
#include "infer/session.h"
#include "kernel/context.h"
#include "model/model_weights.h"

#define STATE_END ".lcsm-state"
#define MODEL_END ".lcsm-model"

enum { MODEL_DIGITS = 16, TOKEN_DIGITS = 32, NAME = 96, EVERY = 4096 };
static const uint64_t BUDGET = 4ULL << 30;

typedef struct {
    lcsm_session       *s;
    lcsm_prefix_options o;
    const int32_t      *tokens;
    size_t              n;
    char                sha256[LCSM_SHA256_TEXT]; /* of the model */
} job;

/* ---- the model -------------------------------------------------------------------------- */

static lcsm_status sum_model(uint64_t *out, const lcsm_model *m, lcsm_error *err)
{
    const lcsm_params *p      = m->params;
    json_t            *config = lcsm_model_config_json(&m->cfg);
    char              *text   = config != NULL ? json_dumps(config, JSON_COMPACT) : NULL;
    uint64_t           sum    = text != NULL ? XXH3_64bits(text, strlen(text)) : 0;
    for (size_t j = 0; j < p->count; j++) {
        sum = XXH3_64bits_withSeed(p->list[j].name, strlen(p->list[j].name), sum);
        sum = XXH3_64bits_withSeed(lcsm_param_values(p, (int)j), lcsm_param_bytes(p, (int)j), sum);
    }
    bool ok = text != NULL;
    *out    = sum;
    free(text);
    json_decref(config);
    return ok ? LCSM_OK
              : lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a model's checksum");
}

static bool read_sha(char sha256[LCSM_SHA256_TEXT], const char *path)
{
    lcsm_file file = {0};
    bool      ok   = lcsm_path_exists(path)
           && lcsm_file_read(&file, path, LCSM_SHA256_TEXT, NULL) == LCSM_OK
           && file.size == LCSM_SHA256_TEXT - 1;
    for (size_t j = 0; ok && j < file.size; j++)
        ok = strchr("0123456789abcdef", file.data[j]) != NULL && file.data[j] != 0;
    if (ok) memcpy(sha256, file.data, file.size);
    if (ok) sha256[file.size] = 0;
    lcsm_file_close(&file);
    return ok;
}

/* The model's SHA-256, from the folder where it was computed before. */
static lcsm_status name_model(job *j, lcsm_error *err)
{
    char     name[NAME], path[LCSM_PATH_MAX];
    uint64_t sum = 0;
    LCSM_OR_RETURN(sum_model(&sum, j->s->model, err));
    (void)snprintf(name, sizeof name, "%016" PRIx64 MODEL_END, sum);
    LCSM_OR_RETURN(lcsm_path_join(path, j->o.folder, name, err));
    if (read_sha(j->sha256, path)) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_model_sha256(j->sha256, j->s->model, err));
    return lcsm_file_write_atomic(path, j->sha256, LCSM_SHA256_TEXT - 1, err);
}

/* ---- files ------------------------------------------------------------------------------ */

static void name_state(char name[NAME], const job *j, size_t length, const lcsm_sha256_sum *sum)
{
    char text[LCSM_SHA256_TEXT];
    lcsm_sha256_end(text, sum);
    (void)snprintf(name, NAME, "%.*s-%zu-%.*s" STATE_END, MODEL_DIGITS, j->sha256, length,
                   TOKEN_DIGITS, text);
}

/* The number of tokens of a state of this model; 0: it is none. */
static size_t length_of(const char *name, const job *j)
{
    char  *end    = NULL;
    size_t length = 0;
    if (strncmp(name, j->sha256, MODEL_DIGITS) != 0 || name[MODEL_DIGITS] != '-') return 0;
    if (name[MODEL_DIGITS + 1] >= '1' && name[MODEL_DIGITS + 1] <= '9')
        length = strtoul(name + MODEL_DIGITS + 1, &end, 10);
    return end != NULL && *end == '-' ? length : 0;
}

typedef struct {
    size_t      length;
    const char *name;
} candidate;

static int by_length(const void *a, const void *b)
{
    size_t x = ((const candidate *)a)->length, y = ((const candidate *)b)->length;
    return (x > y) - (x < y);
}

/* Keeps those whose tokens are ours, in one walk over the tokens. */
static size_t keep_ours(candidate *list, size_t count, const job *j)
{
    lcsm_sha256_sum sum  = lcsm_sha256_begin();
    size_t          kept = 0, at = 0;
    for (size_t k = 0; k < count; k++) {
        char name[NAME];
        lcsm_sha256_add(&sum, j->tokens + at, (list[k].length - at) * sizeof *j->tokens);
        at = list[k].length;
        name_state(name, j, at, &sum);
        if (strcmp(name, list[k].name) == 0) list[kept++] = list[k];
    }
    return kept;
}

/* The state of a file into the session; a file that is not good is removed. */
static bool take(const job *j, const char *name)
{
    char       path[LCSM_PATH_MAX], sha256[LCSM_SHA256_TEXT];
    lcsm_error why = {0};
    memcpy(sha256, j->sha256, sizeof sha256);
    lcsm_status st = lcsm_path_join(path, j->o.folder, name, &why);
    if (st == LCSM_OK) st = lcsm_session_load_known(j->s, path, sha256, &why);
    if (st == LCSM_OK) {
        (void)utimensat(AT_FDCWD, path, NULL, 0);
        return true;
    }
    lcsm_log(&j->s->model->ctx->log, LCSM_LOG_WARNING, "a cached prompt is not used: %s", why.text);
    (void)unlink(path);
    return false;
}

static lcsm_status find(job *j, lcsm_error *err)
{
    lcsm_folder_list files = {0};
    candidate       *list  = NULL;
    size_t           count = 0;
    lcsm_status      st;
    LCSM_TRY(lcsm_folder_read(&files, j->o.folder, err));
    list = calloc(files.count + 1, sizeof *list);
    if (list == NULL)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu names", files.count));
    for (size_t k = 0; k < files.count; k++) {
        size_t length = length_of(files.names[k], j);
        if (length > 0 && length <= j->n) list[count++] = (candidate){length, files.names[k]};
    }
    qsort(list, count, sizeof *list, by_length);
    count = keep_ours(list, count, j);
    while (count > 0 && !take(j, list[count - 1].name)) count--;
cleanup:
    free(list);
    lcsm_folder_list_free(&files);
    return st;
}

/* ---- room ------------------------------------------------------------------------------- */

typedef struct {
    const char     *name;
    struct timespec used;
    uint64_t        bytes;
} held;

static int by_use(const void *a, const void *b)
{
    const struct timespec x = ((const held *)a)->used, y = ((const held *)b)->used;
    if (x.tv_sec != y.tv_sec) return x.tv_sec < y.tv_sec ? -1 : 1;
    return (x.tv_nsec > y.tv_nsec) - (x.tv_nsec < y.tv_nsec);
}

static bool is_state(const char *name)
{
    size_t n = strlen(name), m = strlen(STATE_END);
    return n > m && strcmp(name + n - m, STATE_END) == 0;
}

/* The states that were not used for the longest go, but never the last one. */
static void remove_oldest(const job *j, held *list, size_t count, uint64_t total)
{
    char path[LCSM_PATH_MAX];
    qsort(list, count, sizeof *list, by_use);
    for (size_t k = 0; k + 1 < count && total > j->o.budget; k++) {
        if (lcsm_path_join(path, j->o.folder, list[k].name, NULL) == LCSM_OK) (void)unlink(path);
        total -= list[k].bytes;
    }
}

static lcsm_status keep_budget(const job *j, lcsm_error *err)
{
    lcsm_folder_list files = {0};
    uint64_t         total = 0;
    size_t           count = 0;
    LCSM_OR_RETURN(lcsm_folder_read(&files, j->o.folder, err));
    held *list = calloc(files.count + 1, sizeof *list);
    for (size_t k = 0; k < files.count && list != NULL; k++) {
        char        path[LCSM_PATH_MAX];
        struct stat info;
        if (!is_state(files.names[k])
            || lcsm_path_join(path, j->o.folder, files.names[k], NULL) != LCSM_OK
            || stat(path, &info) != 0)
            continue;
        list[count++] = (held){files.names[k], info.st_mtim, (uint64_t)info.st_size};
        total += (uint64_t)info.st_size;
    }
    if (list != NULL) remove_oldest(j, list, count, total);
    free(list);
    lcsm_folder_list_free(&files);
    return LCSM_OK;
}

/* ---- reading ---------------------------------------------------------------------------- */

static lcsm_status keep(const job *j, const lcsm_sha256_sum *sum, lcsm_error *err)
{
    char name[NAME], path[LCSM_PATH_MAX], sha256[LCSM_SHA256_TEXT];
    memcpy(sha256, j->sha256, sizeof sha256);
    name_state(name, j, (size_t)j->s->position, sum);
    LCSM_OR_RETURN(lcsm_path_join(path, j->o.folder, name, err));
    return lcsm_session_save_known(j->s, path, sha256, err);
}

/* The tokens that are left, with a state at every so many and at the end. */
static lcsm_status read_rest(const job *j, lcsm_error *err)
{
    lcsm_sha256_sum sum = lcsm_sha256_begin();
    size_t          at  = (size_t)j->s->position;
    if (at == j->n) return LCSM_OK;
    lcsm_sha256_add(&sum, j->tokens, at * sizeof *j->tokens);
    while (at < j->n) {
        size_t end = (at / j->o.every + 1) * j->o.every;
        if (end > j->n) end = j->n;
        LCSM_OR_RETURN(lcsm_session_feed(j->s, j->tokens + at, end - at, NULL, err));
        lcsm_sha256_add(&sum, j->tokens + at, (end - at) * sizeof *j->tokens);
        LCSM_OR_RETURN(keep(j, &sum, err));
        at = end;
    }
    return keep_budget(j, err);
}

static lcsm_status check(const lcsm_session *s, const lcsm_prefix_options *o, lcsm_error *err)
{
    if (o->folder == NULL || *o->folder == 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a cache of prompts needs a folder");
    if (s->batch == 1 && s->position == 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                     "a session of %zu sequences that has read %" PRIu64
                     " tokens; expected one of 1 that has read none",
                     s->batch, s->position);
}

lcsm_status lcsm_session_feed_prefix(lcsm_session *s, const int32_t *tokens, size_t n,
                                     const lcsm_prefix_options *options, size_t *found,
                                     lcsm_error *err)
{
    job j = {.s = s, .tokens = tokens, .n = n};
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_prefix_options, every, &j.o, options, err));
    LCSM_OR_RETURN(check(s, &j.o, err));
    LCSM_OR_RETURN(lcsm_session_check_tokens(s, tokens, n, err));
    if (j.o.budget == 0) j.o.budget = BUDGET;
    if (j.o.every == 0) j.o.every = EVERY;
    if (found != NULL) *found = 0;
    if (n == 0) return LCSM_OK;
    LCSM_OR_RETURN(lcsm_folder_make(j.o.folder, err));
    LCSM_OR_RETURN(name_model(&j, err));
    LCSM_OR_RETURN(find(&j, err));
    if (found != NULL) *found = (size_t)s->position;
    return read_rest(&j, err);
}
