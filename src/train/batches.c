/* batches.c - batches. */
#include "train/batches.h"

lcsm_batches lcsm_batches_recall(const lcsm_train_config *cfg, ptrdiff_t vocab, bool evaluation)
{
    return (lcsm_batches){.task     = LCSM_TASK_MQAR,
                          .B        = cfg->batch_size,
                          .T        = cfg->seq_len,
                          .fresh    = cfg->fresh && !evaluation,
                          .examples = evaluation ? cfg->test_examples : cfg->examples,
                          .mqar     = {.vocab              = vocab,
                                       .length             = cfg->seq_len,
                                       .pairs              = cfg->pairs,
                                       .power              = cfg->power,
                                       .random_non_queries = cfg->random_non_queries,
                                       .seed = (uint64_t)cfg->seed + ((uint64_t)evaluation << 62)}};
}

lcsm_batches lcsm_batches_text(const lcsm_train_config *cfg, const lcsm_dataset *data,
                               bool evaluation)
{
    return (lcsm_batches){.task    = LCSM_TASK_LM,
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
    if (s->task == LCSM_TASK_MQAR) return s->examples;
    return (int64_t)lcsm_dataset_blocks(s->data, (size_t)s->T);
}

int64_t lcsm_batches_count(const lcsm_batches *s)
{
    if (s->task == LCSM_TASK_MQAR) return (s->examples + s->B - 1) / s->B;
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

static void fill_recall(const lcsm_batches *s, int64_t index, int32_t *tokens, int32_t *targets)
{
    int64_t batches = lcsm_batches_count(s), epoch = index / batches, at = index % batches;
    for (ptrdiff_t b = 0; b < s->B; b++) {
        int64_t  example = at * s->B + b;
        int32_t *x = tokens + b * s->T, *y = targets + b * s->T;
        if (example < s->examples) {
            if (s->fresh) example += epoch * s->examples;
            lcsm_mqar_example(&s->mqar, (uint64_t)example, x, y);
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
    if (s->task == LCSM_TASK_MQAR) fill_recall(s, index, tokens, targets);
    else fill_text(s, index, tokens, targets, reset);
}
