/* result.c - done, failed or open: from metrics.jsonl, failed.txt and checkpoints/. */
#include "experiment/result.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "experiment/process.h"
#include "format/run_folder.h"
#include "report/record.h"

/* The step of the newest checkpoint, or -1. */
static long long last_step(const char *folder)
{
    char             path[LCSM_PATH_MAX];
    lcsm_folder_list list = {0};
    long long        last = -1, step;
    if (lcsm_path_join(path, folder, LCSM_RUN_CHECKPOINTS, NULL) != LCSM_OK
        || lcsm_folder_read(&list, path, NULL) != LCSM_OK)
        return -1;
    for (size_t j = 0; j < list.count; j++)
        if (sscanf(list.names[j], "step-%18lld", &step) == 1 && step > last) last = step;
    lcsm_folder_list_free(&list);
    return last;
}

static bool has_metrics(const char *folder)
{
    char path[LCSM_PATH_MAX];
    return lcsm_path_join(path, folder, LCSM_RUN_METRICS, NULL) == LCSM_OK
        && lcsm_path_exists(path);
}

lcsm_status lcsm_result_look(lcsm_result *out, const char *folder, lcsm_error *err)
{
    lcsm_record record;
    lcsm_status st = lcsm_record_read(&record, folder, err);
    *out           = (lcsm_result){0};
    if (st != LCSM_OK) return st;
    out->step      = last_step(folder);
    bool saved     = out->step >= 0;
    bool lost      = record.config.root == NULL && (saved || has_metrics(folder));
    bool broke     = strcmp(record.reason, "not-finite") == 0;
    out->state     = lost || broke                    ? LCSM_RESULT_FAILED
                   : record.state == LCSM_RECORD_DONE ? LCSM_RESULT_DONE
                                                      : LCSM_RESULT_OPEN;
    out->resumable = out->state == LCSM_RESULT_OPEN && saved;
    if (lost)
        (void)snprintf(out->message, sizeof out->message,
                       "it was trained, but its " LCSM_RUN_CONFIG
                       " cannot be read; repair it, or remove the run folder");
    else if (broke) (void)snprintf(out->message, sizeof out->message, "%.200s", record.message);
    lcsm_record_free(&record);
    return LCSM_OK;
}

/* ---- after a run --------------------------------------------------------------------------- */

/* The last line of the log that says something. */
static void last_words(char *out, size_t room, const char *folder)
{
    enum { TAIL = 4096 };
    char path[LCSM_PATH_MAX], text[TAIL + 1];
    *out = '\0';
    FILE *log =
        lcsm_path_join(path, folder, LCSM_RESULT_LOG, NULL) == LCSM_OK ? fopen(path, "rb") : NULL;
    if (log == NULL) return;
    if (fseek(log, -TAIL, SEEK_END) != 0) rewind(log);
    size_t size = fread(text, 1, TAIL, log);
    (void)fclose(log);
    while (size > 0 && strchr("\r\n ", text[size - 1]) != NULL) size--;
    text[size]       = '\0';
    const char *line = text + size;
    while (line > text && line[-1] != '\n' && line[-1] != '\r') line--;
    (void)snprintf(out, room, "%.170s", line);
}

static lcsm_status record_failure(lcsm_result *out, const char *folder, lcsm_error *err)
{
    char        path[LCSM_PATH_MAX], text[sizeof out->message + 2];
    lcsm_status st = lcsm_path_join(path, folder, LCSM_RUN_FAILED, err);
    out->state     = LCSM_RESULT_FAILED;
    (void)snprintf(text, sizeof text, "%s\n", out->message);
    return st == LCSM_OK ? lcsm_file_write_atomic(path, text, strlen(text), err) : st;
}

lcsm_status lcsm_result_of_exit(lcsm_result *out, const char *folder, int code, bool stopped,
                                lcsm_error *err)
{
    char        words[180];
    lcsm_status st = lcsm_result_look(out, folder, err);
    if (st != LCSM_OK || out->state == LCSM_RESULT_DONE) return st;
    if (stopped && out->state == LCSM_RESULT_OPEN) return LCSM_OK;
    last_words(words, sizeof words, folder);
    if (code < 0)
        (void)snprintf(out->message, sizeof out->message, "ended by signal %d: %s", -code, words);
    else if (code > 0)
        (void)snprintf(out->message, sizeof out->message, "exit code %d: %s", code, words);
    else (void)snprintf(out->message, sizeof out->message, "ended without an end line: %s", words);
    return record_failure(out, folder, err);
}

lcsm_status lcsm_result_clear(const char *folder, bool resumed, lcsm_error *err)
{
    /* The settings are the last: without them the metrics would be those of a run that is lost. */
    static const char *const files[] = {LCSM_RUN_FAILED, LCSM_RUN_METRICS, LCSM_RESULT_LOG,
                                        LCSM_RUN_CONFIG};
    for (size_t j = 0; j < (resumed ? 1 : COUNT(files)); j++) {
        char        path[LCSM_PATH_MAX];
        lcsm_status st = lcsm_path_join(path, folder, files[j], err);
        if (st != LCSM_OK) return st;
        if (unlink(path) != 0 && errno != ENOENT)
            return lcsm_fail(err, LCSM_ERR_IO, "%s: cannot remove: %s", path, strerror(errno));
    }
    return LCSM_OK;
}

/* ---- the lock ------------------------------------------------------------------------------ */

/* The runs inherit the lock, so that those of a runner that was killed have saved and ended before
 * the next one begins. They are given ten seconds. */
enum { TRIES = 500, PAUSE = 20 };

lcsm_status lcsm_result_lock(int *out, const char *folder, lcsm_error *err)
{
    lcsm_status st = lcsm_folder_lock(out, folder, err);
    for (int j = 0; st == LCSM_OK && *out < 0 && j < TRIES; j++) {
        lcsm_process_pause(PAUSE);
        st = lcsm_folder_lock(out, folder, err);
    }
    if (st == LCSM_OK && *out < 0)
        st = lcsm_fail(err, LCSM_ERR_IO, "%s: another process is running this experiment", folder);
    return st == LCSM_OK ? lcsm_file_sweep(folder, err) : st;
}
