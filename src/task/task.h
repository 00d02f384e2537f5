/*
 * task/task.h - the table of tasks: what comes in, what is asked, how it is scored.
 *
 * A task is a row. `lm` reads a text; the others make their examples: tokens, and for each of them
 * the token that the model must say there, or LCSM_TASK_NONE where nothing is asked. An example is
 * a function of the config, its seed and the example's number, and of nothing else. Trainer,
 * evaluation, experiments, report and help ask the table; docs/add-a-task.md adds a row to it.
 */
#ifndef LCSM_TASK_TASK_H
#define LCSM_TASK_TASK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { LCSM_TASK_NONE = -100, LCSM_TASK_SYMBOL = 64 };

/* The settings that generators read. `length` counts positions, in training or in the test. */
typedef struct {
    int64_t  vocab, length, pairs, items, updates, order;
    double   power, noise;
    bool     random_non_queries;
    bool     test;         /* examples of the test, where they differ from those of training */
    int64_t  train_length; /* of training, also in the test */
    uint64_t seed;
} lcsm_task_config;

/* Of positions that are asked: the part that is right; the mean over answers of the part that is
 * right where they are asked for; the part beyond chance, (accuracy - chance) / (1 - chance). */
typedef enum {
    LCSM_SCORE_PERPLEXITY,
    LCSM_SCORE_ACCURACY,
    LCSM_SCORE_MACRO,
    LCSM_SCORE_SCALED,
} lcsm_task_metric;

/* How a model is connected for the task, unless its settings say how. */
typedef enum {
    LCSM_TASK_AS_LM,
    LCSM_TASK_AS_RECALL,  /* the wiring mqar */
    LCSM_TASK_AS_DECODER, /* the last position alone says the whole sequence: autoencoder */
    LCSM_TASK_AS_STACKED, /* a position holds a key and a value: stacked */
} lcsm_task_wiring;

/* A number in print: percent or a fraction, as the source has it. */
typedef struct {
    const char *label; /* of the model, as experiments call it */
    double      value;
} lcsm_task_number;

typedef struct {
    const char      *name, *asks; /* what is asked, in a few words */
    const char      *reference;   /* where it is defined; "": nowhere else */
    lcsm_task_metric metric;
    lcsm_task_wiring wiring;
    const char      *keys;     /* settings of training that it reads beside those of all tasks */
    const char      *standard; /* "seq_len=127 examples=12800": their values as published */
    const char      *small;    /* settings, and vocab, of an example that a person can read */
    int64_t          vocab;    /* of models that do not say; 0: of bytes */
    bool             fresh;    /* training never sees an example twice */
    const char      *source;   /* of the numbers in print, with what they are; "": none */
    lcsm_task_number published[16]; /* ends with a label that is NULL */
    /* The rest is NULL for a task that reads text. */
    int64_t (*vocab_of)(const lcsm_task_config *cfg); /* where it depends on settings, or NULL */
    lcsm_status (*check)(const lcsm_task_config *cfg, lcsm_error *err);
    void (*example)(const lcsm_task_config *cfg, uint64_t index, int32_t *inputs, int32_t *targets);
    /* At most so many positions of an example are asked, the same in training and test; 0: every
     * one may be. */
    int64_t (*labels)(const lcsm_task_config *cfg);
    double (*chance)(const lcsm_task_config *cfg); /* accuracy of guessing */
    /* A token as a person reads it, in at most LCSM_TASK_SYMBOL bytes; NULL: its number. */
    void (*symbol)(const lcsm_task_config *cfg, int32_t token, char *text);
    /* The same of what is asked, where that is no token; NULL: it is one. */
    void (*answer)(const lcsm_task_config *cfg, int32_t answer, char *text);
} lcsm_task;

/* The rows in order. Numbers of rows stay, so new ones are added at the end. */
#define LCSM_TASK_LIST(X)                                                                          \
    X(lm, "lm")                                                                                    \
    X(mqar, "mqar")                                                                                \
    X(mad_recall, "mad-recall")                                                                    \
    X(mad_noisy_recall, "mad-noisy-recall")                                                        \
    X(mad_fuzzy_recall, "mad-fuzzy-recall")                                                        \
    X(mad_copying, "mad-copying")                                                                  \
    X(mad_memorisation, "mad-memorisation")                                                        \
    X(mad_compression, "mad-compression")                                                          \
    X(parity, "parity")                                                                            \
    X(modular_arithmetic, "modular-arithmetic")                                                    \
    X(modular_brackets, "modular-brackets")                                                        \
    X(modular_sums, "modular-sums")                                                                \
    X(words_z, "words-z")                                                                          \
    X(words_s3, "words-s3")                                                                        \
    X(words_s4, "words-s4")                                                                        \
    X(words_s5, "words-s5")                                                                        \
    X(words_a5, "words-a5")                                                                        \
    X(induction, "induction")                                                                      \
    X(listops, "listops")                                                                          \
    X(stacked_recall, "stacked-recall")                                                            \
    X(forgetting_recall, "forgetting-recall")                                                      \
    X(compositional_recall, "compositional-recall")                                                \
    X(needle, "needle")

#define LCSM_TASK_ROW(id, name) extern const lcsm_task lcsm_task_##id;
LCSM_TASK_LIST(LCSM_TASK_ROW)
#undef LCSM_TASK_ROW

#define LCSM_TASK_ONE(id, name)  +1
#define LCSM_TASK_WORD(id, name) "|" name
enum { LCSM_TASK_COUNT = 0 LCSM_TASK_LIST(LCSM_TASK_ONE) };

/* "lm|mqar|...": the choices of the setting task. */
#define LCSM_TASK_WORDS (&(LCSM_TASK_LIST(LCSM_TASK_WORD))[1])

/* Numbers of the first two rows. */
enum { LCSM_TASK_LM, LCSM_TASK_MQAR };

extern const lcsm_task *const LCSM_TASKS[LCSM_TASK_COUNT];

/* The number of a name; LCSM_TASK_COUNT: there is none. */
size_t lcsm_task_find(const char *name);

static inline bool lcsm_task_reads_text(const lcsm_task *t)
{
    return t->example == NULL;
}

/* Whether the task reads a setting that not all tasks read. */
bool lcsm_task_reads(const lcsm_task *t, const char *key);

/* The vocabulary of a model that does not say; 0: of bytes. */
int64_t lcsm_task_vocab(const lcsm_task *t, const lcsm_task_config *cfg);

/* "accuracy", "macro accuracy": what the task is scored by. */
const char *lcsm_task_metric_name(const lcsm_task *t);

/* The number in print for a model; NAN: none. */
double lcsm_task_published(const lcsm_task *t, const char *label);

/* A short example in a line, what is asked in braces behind its position: "k1 v4 k2 v0 k1 {v4}".
 * What does not fit is cut. *chance is that of the published sizes. False: the task reads a text.
 */
bool lcsm_task_sample(const lcsm_task *t, char *out, size_t size, double *chance);

/* ---- scores ------------------------------------------------------------------------------ */

/* What an evaluation has counted, by answer. {0} is empty and may be freed. */
typedef struct {
    int64_t  classes;
    int64_t *asked, *right;
} lcsm_task_counts;

lcsm_status lcsm_task_counts_create(lcsm_task_counts *c, int64_t classes, lcsm_error *err);
void        lcsm_task_counts_free(lcsm_task_counts *c);

/* By the metric of the task; NAN: nothing was asked, or the task has perplexity. */
double lcsm_task_score(const lcsm_task *t, const lcsm_task_config *cfg, const lcsm_task_counts *c);

#endif
