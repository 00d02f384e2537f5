/* task.c - the table of tasks, and scores. */
#include "task/task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW(id, name) &lcsm_task_##id,
const lcsm_task *const LCSM_TASKS[LCSM_TASK_COUNT] = {LCSM_TASK_LIST(ROW)};

const lcsm_task lcsm_task_lm = {
    .name      = "lm",
    .asks      = "the next token of a text, at every token",
    .reference = "",
    .metric    = LCSM_SCORE_PERPLEXITY,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = "carried valid_fraction ends",
    .standard  = "",
    .small     = "",
    .source    = "",
};

size_t lcsm_task_find(const char *name)
{
    size_t j = 0;
    while (j < LCSM_TASK_COUNT && strcmp(LCSM_TASKS[j]->name, name) != 0) j++;
    return j;
}

/* Whether a list "one two three" has the word. */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) return true;
    return false;
}

bool lcsm_task_reads(const lcsm_task *t, const char *key)
{
    return has_word(t->keys, key);
}

int64_t lcsm_task_vocab(const lcsm_task *t, const lcsm_task_config *cfg)
{
    return t->vocab_of == NULL ? t->vocab : t->vocab_of(cfg);
}

const char *lcsm_task_metric_name(const lcsm_task *t)
{
    static const char *const names[] = {[LCSM_SCORE_PERPLEXITY] = "perplexity",
                                        [LCSM_SCORE_ACCURACY]   = "accuracy",
                                        [LCSM_SCORE_MACRO]      = "macro accuracy",
                                        [LCSM_SCORE_SCALED]     = "scaled accuracy"};
    return names[t->metric];
}

double lcsm_task_published(const lcsm_task *t, const char *label)
{
    for (const lcsm_task_number *n = t->published; n->label != NULL; n++)
        if (strcmp(n->label, label) == 0) return n->value;
    return NAN;
}

/* ---- scores ------------------------------------------------------------------------------ */

lcsm_status lcsm_task_counts_create(lcsm_task_counts *c, int64_t classes, lcsm_error *err)
{
    c->classes = classes;
    c->asked   = calloc((size_t)classes, sizeof *c->asked);
    c->right   = calloc((size_t)classes, sizeof *c->right);
    if (c->asked != NULL && c->right != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to count %lld answers",
                     (long long)classes);
}

void lcsm_task_counts_free(lcsm_task_counts *c)
{
    free(c->asked);
    free(c->right);
    *c = (lcsm_task_counts){0};
}

static double micro(const lcsm_task_counts *c)
{
    int64_t asked = 0, right = 0;
    for (int64_t j = 0; j < c->classes; j++) {
        asked += c->asked[j];
        right += c->right[j];
    }
    return asked == 0 ? NAN : (double)right / (double)asked;
}

/* Answers that are never asked for do not count. */
static double macro(const lcsm_task_counts *c)
{
    double sum = 0;
    int    n   = 0;
    for (int64_t j = 0; j < c->classes; j++) {
        if (c->asked[j] == 0) continue;
        sum += (double)c->right[j] / (double)c->asked[j];
        n++;
    }
    return n == 0 ? NAN : sum / n;
}

double lcsm_task_score(const lcsm_task *t, const lcsm_task_config *cfg, const lcsm_task_counts *c)
{
    if (t->metric == LCSM_SCORE_MACRO) return macro(c);
    if (t->metric == LCSM_SCORE_ACCURACY) return micro(c);
    if (t->metric == LCSM_SCORE_PERPLEXITY) return NAN;
    double chance = t->chance(cfg);
    return (micro(c) - chance) / (1 - chance);
}
