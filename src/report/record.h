/*
 * record.h - what a run folder tells about its run.
 *
 *     config.json         settings, all keys in one object
 *     metrics.jsonl       {"kind": "train" | "eval" | "end", ...} a line; see docs/formats.md
 *     model.safetensors   the weights, which are counted
 *     failed.txt          why an experiment gave the run up
 *     inspect.json        what `lcsm inspect` found, if it was asked to keep it
 */
#ifndef LCSM_REPORT_RECORD_H
#define LCSM_REPORT_RECORD_H
#include "base/folder.h"
#include "format/json_doc.h"
#include "format/keys.h"
#include "task/task.h"

#define LCSM_RUN_FAILED  "failed.txt"
#define LCSM_RUN_INSPECT "inspect.json"

/* Grows when a number of inspect.json gets another meaning. */
enum { LCSM_INSPECT_VERSION = 3 };

/* Numbers that a line does not have are NaN. */
typedef struct {
    double step, tokens, seconds, loss, lr, grad_norm;
} lcsm_train_line;

typedef struct {
    double step, tokens, seconds, loss, perplexity, bits_per_byte, accuracy;
    double score; /* by the task's metric: the accuracy, where the line has none */
    bool   test;  /* split is "test" */
} lcsm_eval_line;

typedef enum {
    LCSM_RECORD_MISSING,    /* no folder, or nothing in it */
    LCSM_RECORD_UNFINISHED, /* no last line yet, or one that says a signal came */
    LCSM_RECORD_FAILED,     /* or its settings cannot be read */
    LCSM_RECORD_DONE,
} lcsm_record_state;

/* {0} is empty and may be freed. */
typedef struct {
    char              folder[LCSM_PATH_MAX];
    char             *name; /* where several stand together; whoever puts them so gives it */
    lcsm_record_state state;
    char              reason[64]; /* of the end */
    char              message[400];
    lcsm_json_doc     config; /* its root is NULL if there is none */
    lcsm_train_line  *train;
    lcsm_eval_line   *eval;
    size_t            train_count, eval_count, broken; /* broken: lines that are no JSON */
    double            seconds, steps, tokens, speed, peak_memory_bytes; /* up to the last line */
    double            parameters;                                       /* numbers in the weights */
} lcsm_record;

/* Reads what is there. Only lack of memory is an error; what else is wrong is in the record. */
lcsm_status lcsm_record_read(lcsm_record *out, const char *folder, lcsm_error *err);
void        lcsm_record_free(lcsm_record *r);

const char *lcsm_record_state_name(lcsm_record_state state);

/* A figure by which runs are compared. */
typedef struct {
    const char *name, *label;
    int         digits;
    bool        higher; /* is better */
} lcsm_metric;

/* perplexity, bits_per_byte, loss, accuracy, score, speed (tokens read in a second of steps,
 * without evaluation), peak_memory_bytes, seconds, steps, tokens or parameters; NULL for another
 * name. */
const lcsm_metric *lcsm_metric_find(const char *name);
/* Whether it comes from evaluations, and not from the run as a whole. */
bool lcsm_metric_evaluated(const lcsm_metric *metric);
/* That of a name in a file. */
lcsm_status lcsm_metric_read(const lcsm_metric **out, lcsm_json name, lcsm_error *err);

/* Its value for a run, NaN if the run does not have it: of perplexity, bits, loss and accuracy the
 * best evaluation on the validation set. What was measured on the test set is lcsm_record_test. */
double lcsm_record_value(const lcsm_record *r, const lcsm_metric *metric);

/* The same at the last evaluation on the test set. */
double lcsm_record_test(const lcsm_record *r, const lcsm_metric *metric);

/* inspect.json of a run; false, with nothing to free, if there is none of this version. */
bool lcsm_record_inspection(lcsm_json_doc *out, const char *folder);

/* The task of its settings; lm where they do not say. */
const lcsm_task *lcsm_record_task(const lcsm_record *r);

/* A key of config.json as text; "" if it is not there. */
const char *lcsm_record_setting(const lcsm_record *r, const char *key,
                                char text[LCSM_KEY_TEXT_SIZE]);

#endif
