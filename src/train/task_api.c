/* task_api.c - the table of tasks for programs. */
#include <lcsm/task.h>
#include <math.h>
#include <stdio.h>

#include "base/sized.h"
#include "base/strdist.h"
#include "model/config.h"
#include "train/settings.h"

static lcsm_task_info info_of(int number)
{
    lcsm_train_config cfg;
    const lcsm_task  *t = LCSM_TASKS[number];
    lcsm_task_info    r = {.size      = sizeof r,
                           .name      = t->name,
                           .asks      = t->asks,
                           .metric    = lcsm_task_metric_name(t),
                           .reference = t->reference,
                           .source    = t->source,
                           .standard  = t->standard,
                           .small     = t->small,
                           .text      = lcsm_task_reads_text(t),
                           .fresh     = t->fresh,
                           .chance    = NAN};
    if (r.text) return r;
    lcsm_train_config_defaults(&cfg);
    (void)lcsm_train_config_set(&cfg, "task", t->name, NULL);
    r.vocab            = lcsm_train_vocab(&cfg) > 0 ? lcsm_train_vocab(&cfg) : 256;
    r.length           = (size_t)cfg.seq_len;
    r.test_length      = (size_t)lcsm_train_test_len(&cfg);
    lcsm_task_config c = lcsm_train_task_config(&cfg, (ptrdiff_t)r.vocab, true);
    r.chance           = t->chance(&c);
    return r;
}

lcsm_status lcsm_task_at(size_t index, lcsm_task_info *out, lcsm_error *err)
{
    LCSM_OR_RETURN(LCSM_SIZED(lcsm_task_info, test_length, out, err));
    if (index >= LCSM_TASK_COUNT)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "there is no task %zu; the last is %d", index,
                         LCSM_TASK_COUNT - 1);
    lcsm_task_info r = info_of((int)index);
    lcsm_sized_fill(out, &r, sizeof r);
    return LCSM_OK;
}

lcsm_status lcsm_task_named(const char *name, lcsm_task_info *out, lcsm_error *err)
{
    const char *names[LCSM_TASK_COUNT];
    size_t      row = lcsm_task_find(name);
    if (row < LCSM_TASK_COUNT) return lcsm_task_at(row, out, err);
    for (size_t j = 0; j < LCSM_TASK_COUNT; j++) names[j] = LCSM_TASKS[j]->name;
    const char *near = lcsm_suggest(name, names, LCSM_TASK_COUNT);
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "unknown task \"%.60s\"%s%s%s", name,
                     near == NULL ? "" : "; did you mean ", near == NULL ? "" : near,
                     near == NULL ? "; see lcsm tasks" : "?");
}

bool lcsm_task_number_at(const char *name, size_t index, const char **label, double *value)
{
    size_t row = lcsm_task_find(name);
    if (row == LCSM_TASK_COUNT) return false;
    const lcsm_task_number *n = LCSM_TASKS[row]->published;
    for (; n->label != NULL && index > 0; index--) n++;
    if (n->label == NULL) return false;
    *label = n->label;
    *value = n->value;
    return true;
}

/* The settings of a task that makes its examples. */
static lcsm_status config_of(lcsm_task_config *out, const lcsm_train_config *cfg, size_t vocab,
                             bool test, lcsm_error *err)
{
    const lcsm_task *t   = lcsm_train_task(cfg);
    size_t           own = lcsm_train_vocab(cfg);
    if (lcsm_task_reads_text(t))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the task %s reads text and has no examples",
                         t->name);
    if (vocab == 0) vocab = own > 0 ? own : 256;
    if (vocab > INT32_MAX)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a vocabulary of %zu is too large", vocab);
    *out = lcsm_train_task_config(cfg, (ptrdiff_t)vocab, test);
    return t->check(out, err);
}

lcsm_status lcsm_task_example(const lcsm_train_config *cfg, size_t vocab, bool test, uint64_t index,
                              int32_t *inputs, int32_t *targets, lcsm_error *err)
{
    lcsm_task_config c;
    LCSM_OR_RETURN(config_of(&c, cfg, vocab, test, err));
    lcsm_train_task(cfg)->example(&c, index, inputs, targets);
    return LCSM_OK;
}

lcsm_status lcsm_task_symbol(const lcsm_train_config *cfg, size_t vocab, bool answer, int32_t token,
                             char text[64], lcsm_error *err)
{
    const lcsm_task *t = lcsm_train_task(cfg);
    lcsm_task_config c;
    LCSM_OR_RETURN(config_of(&c, cfg, vocab, false, err));
    void (*put)(const lcsm_task_config *, int32_t, char *) =
        answer && t->answer != NULL ? t->answer : t->symbol;
    if (put == NULL) (void)snprintf(text, LCSM_TASK_SYMBOL, "%d", (int)token);
    else put(&c, token, text);
    return LCSM_OK;
}
