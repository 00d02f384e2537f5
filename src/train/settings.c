/* settings.c - the table of the settings of training. */
#include "train/settings.h"

#include <string.h>

#include "model/config.h"

#define LCSM_KEY_OWNER lcsm_train_config
#define INT            LCSM_INT_ROW
#define REAL           LCSM_REAL_ROW
#define BOOL           LCSM_BOOL_ROW
#define WORD           LCSM_WORD_ROW

#define MANY 9e15

/* clang-format off */
static const lcsm_key ROWS[] = {
    WORD("task",           task,           "lm", "lm|mqar", "language model, or recall of key-value pairs"),
    INT ("batch_size",     batch_size,     1, 1 << 20, "16",   "sequences per batch"),
    INT ("seq_len",        seq_len,        1, 1 << 24, "256",  "sequence length in tokens"),
    INT ("accumulate",     accumulate,     1, 1 << 20, "1",    "batches per step (gradient accumulation)"),
    INT ("steps",          steps,          0, MANY,    "0",    "steps to train; 0 = no limit (1000 if there is no other budget)"),
    INT ("tokens",         tokens,         0, MANY,    "0",    "tokens to train on; 0 = no limit"),
    INT ("epochs",         epochs,         0, MANY,    "0",    "passes over the data; 0 = no limit"),
    REAL("minutes",        minutes,        0, 1e7,     "0",    "training time, over all sessions of a run; 0 = no limit"),
    INT ("seed",           seed,           0, MANY,    "1",    "random seed: initialisation, data order, dropout"),
    WORD("optimizer",      optimizer,      "adamw", "adamw|adam", "AdamW as in PyTorch, or with eps as in fairseq's Adam"),
    WORD("schedule",       schedule,       "cosine", "constant|linear|cosine|cosine-epoch|inverse-sqrt", "learning rate schedule"),
    REAL("lr",             lr,             0, 1e3,     "0.002", "peak learning rate"),
    REAL("lr_last",        lr_last,        0, 1e3,     "0",    "final learning rate of linear and cosine"),
    REAL("lr_start",       lr_start,       0, 1e3,     "0",    "learning rate at the start of the warm-up"),
    INT ("warmup",         warmup,         0, MANY,    "50",   "warm-up steps, at most a tenth of the run"),
    REAL("beta1",          beta1,          0, 1,       "0.9",  "Adam beta1"),
    REAL("beta2",          beta2,          0, 1,       "0.98", "Adam beta2"),
    REAL("eps",            eps,            0, 1,       "1e-8", "Adam epsilon"),
    REAL("weight_decay",   weight_decay,   0, 1e3,     "0.1",  "decoupled weight decay; not for decays, angles and step sizes"),
    BOOL("decay_all",      decay_all,      "false", "weight decay for every parameter, as in the paper"),
    REAL("clip",           clip,           0, 1e9,     "1",    "clip the gradient norm to this value; 0 = off"),
    BOOL("carried",        carried,        "false", "carry the memory from block to block (truncated backpropagation)"),
    BOOL("recompute",      recompute,      "false", "recompute blocks in the backward pass: less memory, more time"),
    INT ("eval_every",     eval_every,     0, MANY,    "0",    "steps between evaluations; 0 = ten per run"),
    INT ("eval_blocks",    eval_blocks,    0, MANY,    "0",    "blocks per evaluation; 0 = all"),
    INT ("patience",       patience,       0, MANY,    "0",    "stop after N evaluations without improvement; 0 = never"),
    REAL("stop_accuracy",  stop_accuracy,  0, 1,       "0",    "stop when the accuracy of an evaluation exceeds X; 0 = never"),
    REAL("valid_fraction", valid_fraction, 0, 0.9,     "0.1",  "fraction of the data held out for evaluation if there is no --valid"),
    INT ("save_every",     save_every,     0, MANY,    "0",    "steps between checkpoints; 0 = at evaluations"),
    INT ("keep",           keep,           1, 1000,    "2",    "number of checkpoints to keep"),
    INT ("log_every",      log_every,      1, MANY,    "10",   "steps between lines of output and metrics"),
    BOOL("tensorboard",    tensorboard,    "false", "also write TensorBoard events"),
    INT ("pairs",          pairs,          1, 1 << 22, "4",    "key-value pairs per mqar example"),
    INT ("examples",       examples,       1, MANY,    "100000", "mqar examples per epoch"),
    INT ("test_examples",  test_examples,  1, MANY,    "3000", "mqar examples per evaluation"),
    BOOL("fresh",          fresh,          "false", "new mqar examples in every epoch"),
    REAL("power",          power,          1e-6, 100,  "0.01", "exponent of the power law of mqar gaps"),
    BOOL("random_non_queries", random_non_queries, "false", "fill mqar gaps with random tokens"),
};
/* clang-format on */

const lcsm_keys LCSM_TRAIN_KEYS = {"training", ROWS, COUNT(ROWS)};

void lcsm_train_config_defaults(lcsm_train_config *cfg)
{
    *cfg = (lcsm_train_config){0};
    lcsm_keys_defaults(&LCSM_TRAIN_KEYS, cfg);
}

lcsm_status lcsm_train_config_set(lcsm_train_config *cfg, const char *key, const char *value,
                                  lcsm_error *err)
{
    return lcsm_keys_set(&LCSM_TRAIN_KEYS, cfg, key, value, err);
}

void lcsm_train_wire(const lcsm_train_config *cfg, lcsm_model_config *model)
{
    if (cfg->task == LCSM_TASK_MQAR && model->wiring == LCSM_WIRING_LM)
        model->wiring = LCSM_WIRING_MQAR;
}

lcsm_status lcsm_train_config_check(const lcsm_train_config *c, lcsm_error *err)
{
    lcsm_schedule s  = lcsm_train_schedule(c, c->warmup + 1, 1);
    lcsm_status   st = lcsm_keys_check(&LCSM_TRAIN_KEYS, c, err);
    if (st != LCSM_OK) return st;
    if (c->lr <= 0) return lcsm_fail(err, LCSM_ERR_CONFIG, "lr is %g; expected more than 0", c->lr);
    if (c->carried && c->task == LCSM_TASK_MQAR)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "carried applies to the task lm, not to mqar");
    return lcsm_schedule_check(&s, err);
}

/* Settings that only one task reads. */
static const struct {
    const char *key, *task;
} OWNED[] = {
    {"valid_fraction", "lm"},       {"pairs", "mqar"}, {"examples", "mqar"},
    {"test_examples", "mqar"},      {"fresh", "mqar"}, {"power", "mqar"},
    {"random_non_queries", "mqar"},
};

static bool reads(const lcsm_train_config *cfg, size_t row)
{
    return (cfg->task == LCSM_TASK_LM) == (strcmp(OWNED[row].task, "lm") == 0);
}

bool lcsm_train_config_write(const lcsm_train_config *cfg, json_t *object)
{
    if (!lcsm_keys_write(&LCSM_TRAIN_KEYS, cfg, object)) return false;
    for (size_t j = 0; j < COUNT(OWNED); j++)
        if (!reads(cfg, j)) (void)json_object_del(object, OWNED[j].key);
    return true;
}

/* The row of a key, or COUNT(OWNED) if every task reads it. */
static size_t owned(const char *name)
{
    const lcsm_key *key = lcsm_keys_find(&LCSM_TRAIN_KEYS, name);
    size_t          row = 0;
    while (row < COUNT(OWNED) && (key == NULL || strcmp(OWNED[row].key, key->name) != 0)) row++;
    return row;
}

bool lcsm_train_config_reads(const lcsm_train_config *cfg, const char *key)
{
    size_t row = owned(key);
    return row == COUNT(OWNED) || reads(cfg, row);
}

const char *lcsm_train_config_readers(const char *key)
{
    size_t row = owned(key);
    return row == COUNT(OWNED) ? "" : OWNED[row].task;
}

void lcsm_train_config_drop_unused(lcsm_train_config *cfg)
{
    for (size_t j = 0; j < COUNT(OWNED); j++)
        if (!reads(cfg, j)) lcsm_keys_reset(&LCSM_TRAIN_KEYS, cfg, OWNED[j].key);
}

lcsm_status lcsm_train_config_unused(const lcsm_train_config *cfg, lcsm_error *err)
{
    const char       *task = cfg->task == LCSM_TASK_LM ? "lm" : "mqar";
    lcsm_train_config standard;
    lcsm_train_config_defaults(&standard);
    for (size_t j = 0; j < COUNT(OWNED); j++)
        if (!reads(cfg, j)
            && !lcsm_key_same(lcsm_keys_find(&LCSM_TRAIN_KEYS, OWNED[j].key), cfg, &standard))
            return lcsm_fail(err, LCSM_ERR_CONFIG,
                             "%s is unused in the task %s; it applies to the task %s", OWNED[j].key,
                             task, OWNED[j].task);
    return LCSM_OK;
}

lcsm_adamw_config lcsm_train_adamw(const lcsm_train_config *cfg)
{
    return (lcsm_adamw_config){.style = cfg->optimizer == 0 ? LCSM_ADAMW_TORCH : LCSM_ADAMW_FAIRSEQ,
                               .beta1 = cfg->beta1,
                               .beta2 = cfg->beta2,
                               .eps   = cfg->eps,
                               .weight_decay = cfg->weight_decay,
                               .decay_all    = cfg->decay_all};
}

lcsm_schedule lcsm_train_schedule(const lcsm_train_config *cfg, int64_t total, int64_t epoch)
{
    int64_t warmup = total > 0 && cfg->warmup >= total ? total / 10 : cfg->warmup;
    return (lcsm_schedule){.kind   = (lcsm_schedule_kind)cfg->schedule,
                           .peak   = cfg->lr,
                           .start  = cfg->lr_start,
                           .last   = cfg->lr_last,
                           .warmup = warmup,
                           .total  = total,
                           .epoch  = epoch};
}
