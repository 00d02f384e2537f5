/*
 * lcsm/task.h - the table of tasks: what can be learned, and examples of it.
 *
 * A task is named by the setting "task" of training. "lm" reads a text; every other task makes its
 * examples: tokens, and for each of them what is asked there, or LCSM_TARGET_NONE.
 *
 * Ownership  Everything is the caller's; strings of an lcsm_task_info live as long as the program.
 * Threads    Any thread.
 * Structs    lcsm_task_info begins with its size, which the caller sets: {.size = sizeof t}.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why.
 */
#ifndef LCSM_TASK_H
#define LCSM_TASK_H
#include <lcsm/config.h>
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LCSM_BEGIN_DECLS

typedef struct {
    size_t      size; /* sizeof(lcsm_task_info), set by the caller */
    const char *name, *asks;
    const char *metric;    /* "accuracy", "macro accuracy", "scaled accuracy" or "perplexity" */
    const char *reference; /* where it is defined; "": nowhere else */
    const char *source;    /* of the numbers in print; "": there are none */
    const char *standard;  /* its settings as published, "seq_len=127 examples=12800" */
    const char *small;     /* settings, and vocab, of an example that is easy to read */
    bool        text;      /* it reads a text */
    bool        fresh;     /* training never sees an example twice */
    double      chance;    /* accuracy of guessing, at those settings; NAN: of a text */
    size_t      vocab, length, test_length; /* at those settings; 0 of a text */
} lcsm_task_info;

/* The row with number 0, 1, ...; LCSM_ERR_ARGUMENT behind the last one. */
LCSM_API lcsm_status lcsm_task_at(size_t index, lcsm_task_info *out, lcsm_error *err);

/* The same of a name. */
LCSM_API lcsm_status lcsm_task_named(const char *name, lcsm_task_info *out, lcsm_error *err);

/* Numbers in print for models, one after the other; false behind the last one. */
LCSM_API bool lcsm_task_number_at(const char *name, size_t index, const char **label,
                                  double *value);

/* Example `index` of training, or of the test, of the task that the settings name: as many inputs
 * and targets as seq_len says, or in the test test_len if it is not 0. vocab 0: the task's own. */
LCSM_API lcsm_status lcsm_task_example(const lcsm_train_config *cfg, size_t vocab, bool test,
                                       uint64_t index, int32_t *inputs, int32_t *targets,
                                       lcsm_error *err);

/* An input, or an answer, as a person reads it: at most 64 bytes. */
LCSM_API lcsm_status lcsm_task_symbol(const lcsm_train_config *cfg, size_t vocab, bool answer,
                                      int32_t token, char text[64], lcsm_error *err);

LCSM_END_DECLS
#endif
