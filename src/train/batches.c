/* batches.c - batches. */
#include "train/batches.h"

lcsm_batches lcsm_batches_examples(const lcsm_train_config *cfg, ptrdiff_t vocab, bool evaluation)
{
    const lcsm_task *task = lcsm_train_task(cfg);
    return (lcsm_batches){.task     = task,
                          .B        = cfg->batch_size,
                          .T        = evaluation ? lcsm_train_test_len(cfg) : cfg->seq_len,
                          .fresh    = (cfg->fresh || task->fresh) && !evaluation,
                          .examples = evaluation ? cfg->test_examples : cfg->examples,
                          .made     = lcsm_train_task_config(cfg, vocab, evaluation)};
}

lcsm_batches lcsm_batches_text(const lcsm_train_config *cfg, const lcsm_dataset *data,
                               bool evaluation)
{
    return (lcsm_batches){.task    = lcsm_train_task(cfg),
                          .B       = cfg->batch_size,
                          .T       = cfg->seq_len,
                          .data    = data,
                          .seed    = (uint64_t)cfg->seed,
                          .shuffle = !evaluation,
                          .carried = cfg->carried && !evaluation};
}

static lcsm_dataset_order order_of(const lcsm_batches *s, int64_t epoch)
{
    return (lcsm_dataset_order){.T       = (size_t)s->T,
                                .B       = (size_t)s->B,
                                .seed    = s->seed,
                                .epoch   = (uint64_t)epoch,
                                .shuffle = s->shuffle,
                                .carried = s->carried};
}

int64_t lcsm_batches_blocks(const lcsm_batches *s)
{
    if (s->data == NULL) return s->examples;
    return (int64_t)lcsm_dataset_blocks(s->data, (size_t)s->T);
}

int64_t lcsm_batches_count(const lcsm_batches *s)
{
    if (s->data == NULL) return (s->examples + s->B - 1) / s->B;
    lcsm_dataset_order order = order_of(s, 0);
    return (int64_t)lcsm_dataset_batches(s->data, &order);
}

static void fill_text(const lcsm_batches *s, int64_t index, int32_t *tokens, int32_t *targets,
                      int32_t *reset)
{
    int64_t            batches = lcsm_batches_count(s), at = index % batches;
    lcsm_dataset_order order = order_of(s, index / batches);
    (void)lcsm_dataset_batch(s->data, &order, (uint64_t)at, tokens, targets, reset);
}

static void fill_examples(const lcsm_batches *s, int64_t index, int32_t *tokens, int32_t *targets)
{
    int64_t batches = lcsm_batches_count(s), epoch = index / batches, at = index % batches;
    for (ptrdiff_t b = 0; b < s->B; b++) {
        int64_t  example = at * s->B + b;
        int32_t *x = tokens + b * s->T, *y = targets + b * s->T;
        if (example < s->examples) {
            if (s->fresh) example += epoch * s->examples;
            s->task->example(&s->made, (uint64_t)example, x, y);
            continue;
        }
        for (ptrdiff_t t = 0; t < s->T; t++) {
            x[t] = 0;
            y[t] = LCSM_TARGET_NONE;
        }
    }
}

void lcsm_batches_fill(const lcsm_batches *s, int64_t index, int32_t *tokens, int32_t *targets,
                       int32_t *reset)
{
    if (s->data == NULL) fill_examples(s, index, tokens, targets);
    else fill_text(s, index, tokens, targets, reset);
}
