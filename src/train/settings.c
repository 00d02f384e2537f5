/* settings.c - the table of the settings of training. */
#include "train/settings.h"

#include <stdio.h>
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
    WORD("task",           task,           "lm", LCSM_TASK_WORDS, "what is learned (lcsm tasks lists them); it gives other settings their values"),
    INT ("batch_size",     batch_size,     1, 1 << 20, "16",   "sequences per batch"),
    INT ("seq_len",        seq_len,        1, 1 << 24, "256",  "sequence length in tokens"),
    INT ("accumulate",     accumulate,     1, 1 << 20, "1",    "batches per step (gradient accumulation)"),
    INT ("shards",         shards,         0, 1 << 16, "0",    "parts of a batch, summed in their order, that ranks can share; 0 = one per rank"),
    INT ("segments",       segments,       1, 1 << 16, "1",    "parts of a sequence, trained one after the other, exactly, or by as many ranks; less memory, more time"),
    INT ("steps",          steps,          0, MANY,    "0",    "steps to train; 0 = no limit (1000 if there is no other budget)"),
    INT ("tokens",         tokens,         0, MANY,    "0",    "tokens to train on; 0 = no limit"),
    INT ("epochs",         epochs,         0, MANY,    "0",    "passes over the data; 0 = no limit"),
    REAL("minutes",        minutes,        0, 1e7,     "0",    "training time, over all sessions of a run; 0 = no limit"),
    INT ("seed",           seed,           0, MANY,    "1",    "random seed: initialisation, data order, dropout"),
    WORD("optimizer",      optimizer,      "adamw", "adamw|adam", "AdamW as in PyTorch, or with eps as in fairseq's Adam"),
    WORD("optimizer_state", optimizer_state, "float32", "float32|bf16|8bit", "moments of the optimiser: 8, 4 or 2.1 bytes for each parameter"),
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
    WORD("precision",      precision,      "float32", "float32|bf16", "bf16 = products of bfloat16 numbers, activations kept in bfloat16; weights, gradients and all else stay float32"),
    INT ("eval_every",     eval_every,     0, MANY,    "0",    "steps between evaluations; 0 = ten per run"),
    INT ("eval_blocks",    eval_blocks,    0, MANY,    "0",    "blocks per evaluation; 0 = all"),
    INT ("patience",       patience,       0, MANY,    "0",    "stop after N evaluations without improvement; 0 = never"),
    REAL("stop_accuracy",  stop_accuracy,  0, 1,       "0",    "stop when the accuracy of an evaluation exceeds X; 0 = never"),
    REAL("valid_fraction", valid_fraction, 0, 0.9,     "0.1",  "fraction of the data held out for evaluation if there is no --valid"),
    WORD("ends",           ends,           "auto", "auto|never|file|line", "where the end-of-text token stands: nowhere, after each file, or for each line end; auto = line, or as the model of --init had it (file if it was imported)"),
    INT ("save_every",     save_every,     0, MANY,    "0",    "steps between checkpoints; 0 = at evaluations"),
    INT ("keep",           keep,           1, 1000,    "2",    "number of checkpoints to keep"),
    INT ("log_every",      log_every,      1, MANY,    "10",   "steps between lines of output and metrics"),
    BOOL("tensorboard",    tensorboard,    "false", "also write TensorBoard events"),
    INT ("pairs",          pairs,          1, 1 << 22, "4",    "key-value pairs per example of recall"),
    INT ("examples",       examples,       1, MANY,    "100000", "examples per epoch, of tasks that make their own"),
    INT ("test_examples",  test_examples,  1, MANY,    "3000", "examples per evaluation"),
    BOOL("fresh",          fresh,          "false", "new examples in every epoch"),
    REAL("power",          power,          1e-6, 100,  "0.01", "exponent of the power law of gaps in recall"),
    INT ("test_len",       test_len,       0, 1 << 24, "0",    "sequence length of evaluations; 0 = seq_len"),
    INT ("items",          items,          1, 1 << 22, "16",   "tokens to copy, or needles, per example"),
    INT ("updates",        updates,        0, 1 << 22, "4",    "pairs that get a new value, in forgetting-recall"),
    INT ("order",          order,          2, 1 << 20, "60",   "order of the cyclic group of words-z"),
    REAL("noise",          noise,          0, 1,       "0.2",  "share of noise in mad-noisy-recall"),
    BOOL("random_non_queries", random_non_queries, "false", "fill gaps of recall, and the hay around needles, with random tokens"),
};
/* clang-format on */

const lcsm_keys LCSM_TRAIN_KEYS = {"training", ROWS, COUNT(ROWS)};

void lcsm_train_config_defaults(lcsm_train_config *cfg)
{
    *cfg = (lcsm_train_config){0};
    lcsm_keys_defaults(&LCSM_TRAIN_KEYS, cfg);
}

/* ---- tasks -------------------------------------------------------------------------------- */

const lcsm_task *lcsm_train_task(const lcsm_train_config *cfg)
{
    return LCSM_TASKS[cfg->task];
}

bool lcsm_train_ends_lines(const lcsm_train_config *cfg)
{
    return cfg->ends == 0 || cfg->ends == 1 + LCSM_ENDS_LINE;
}

ptrdiff_t lcsm_train_test_len(const lcsm_train_config *cfg)
{
    return cfg->test_len > 0 ? cfg->test_len : cfg->seq_len;
}

lcsm_task_config lcsm_train_task_config(const lcsm_train_config *cfg, ptrdiff_t vocab, bool test)
{
    return (lcsm_task_config){.vocab              = vocab,
                              .length             = test ? lcsm_train_test_len(cfg) : cfg->seq_len,
                              .pairs              = cfg->pairs,
                              .items              = cfg->items,
                              .updates            = cfg->updates,
                              .order              = cfg->order,
                              .power              = cfg->power,
                              .noise              = cfg->noise,
                              .random_non_queries = cfg->random_non_queries,
                              .test               = test,
                              .train_length       = cfg->seq_len,
                              .seed               = (uint64_t)cfg->seed + ((uint64_t)test << 62)};
}

ptrdiff_t lcsm_train_labels(const lcsm_train_config *cfg)
{
    const lcsm_task *t = lcsm_train_task(cfg);
    if (lcsm_task_reads_text(t)) return 0;
    lcsm_task_config c = lcsm_train_task_config(cfg, 0, false);
    return (ptrdiff_t)t->labels(&c);
}

size_t lcsm_train_vocab(const lcsm_train_config *cfg)
{
    lcsm_task_config c = lcsm_train_task_config(cfg, 0, false);
    return (size_t)lcsm_task_vocab(lcsm_train_task(cfg), &c);
}

/* "key=value key=value". */
static lcsm_status take_values(lcsm_train_config *cfg, const char *list, lcsm_error *err)
{
    char key[LCSM_KEY_TEXT_SIZE], value[LCSM_KEY_TEXT_SIZE];
    int  read = 0;
    for (; sscanf(list, " %63[^=]=%63s%n", key, value, &read) == 2; list += read)
        LCSM_OR_RETURN(lcsm_keys_set(&LCSM_TRAIN_KEYS, cfg, key, value, err));
    return LCSM_OK;
}

lcsm_status lcsm_train_config_set(lcsm_train_config *cfg, const char *key, const char *value,
                                  lcsm_error *err)
{
    int before = cfg->task;
    LCSM_OR_RETURN(lcsm_keys_set(&LCSM_TRAIN_KEYS, cfg, key, value, err));
    bool other = cfg->task != before;
    return other ? take_values(cfg, lcsm_train_task(cfg)->standard, err) : LCSM_OK;
}

lcsm_status lcsm_train_config_take_task(lcsm_train_config *cfg, const json_t *object,
                                        lcsm_error *err)
{
    const char *task = json_string_value(json_object_get(object, "task"));
    return task == NULL || lcsm_task_find(task) == LCSM_TASK_COUNT
             ? LCSM_OK /* what is no task is refused with the other settings */
             : lcsm_train_config_set(cfg, "task", task, err);
}

void lcsm_train_wire(const lcsm_train_config *cfg, lcsm_model_config *model)
{
    static const int wirings[] = {[LCSM_TASK_AS_LM]      = LCSM_WIRING_LM,
                                  [LCSM_TASK_AS_RECALL]  = LCSM_WIRING_MQAR,
                                  [LCSM_TASK_AS_DECODER] = LCSM_WIRING_AUTOENCODER,
                                  [LCSM_TASK_AS_STACKED] = LCSM_WIRING_STACKED};
    if (model->wiring == LCSM_WIRING_LM) model->wiring = wirings[lcsm_train_task(cfg)->wiring];
}

static lcsm_status check_segments(const lcsm_train_config *c, lcsm_error *err)
{
    if (c->segments == 1) return LCSM_OK;
    if (c->seq_len % c->segments != 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "seq_len is %td, which %td segments do not divide; expected a multiple",
                         c->seq_len, c->segments);
    if (c->accumulate > 1)
        return lcsm_fail(
            err, LCSM_ERR_CONFIG,
            "accumulate is %td with %td segments; use a batch_size %td times as large, "
            "and shards, which need no more memory",
            c->accumulate, c->segments, c->accumulate);
    if (c->carried)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "carried is unused with segments, whose gradients are exact; use a larger "
                         "seq_len");
    return LCSM_OK;
}

lcsm_status lcsm_train_config_check(const lcsm_train_config *c, lcsm_error *err)
{
    lcsm_schedule s  = lcsm_train_schedule(c, c->warmup + 1, 1);
    lcsm_status   st = lcsm_keys_check(&LCSM_TRAIN_KEYS, c, err);
    if (st != LCSM_OK) return st;
    if (c->lr <= 0) return lcsm_fail(err, LCSM_ERR_CONFIG, "lr is %g; expected more than 0", c->lr);
    if (c->carried && !lcsm_task_reads(lcsm_train_task(c), "carried"))
        return lcsm_fail(err, LCSM_ERR_CONFIG, "carried applies to the task lm, not to %s",
                         lcsm_train_task(c)->name);
    LCSM_OR_RETURN(check_segments(c, err));
    return lcsm_schedule_check(&s, err);
}

/* Settings that not all tasks read. */
static const char *const OWNED[] = {
    "valid_fraction",     "ends",     "pairs", "examples", "test_examples", "fresh", "power",
    "random_non_queries", "test_len", "items", "updates",  "order",         "noise"};

static bool reads(const lcsm_train_config *cfg, size_t row)
{
    return lcsm_task_reads(lcsm_train_task(cfg), OWNED[row]);
}

bool lcsm_train_config_write(const lcsm_train_config *cfg, json_t *object)
{
    if (!lcsm_keys_write(&LCSM_TRAIN_KEYS, cfg, object)) return false;
    for (size_t j = 0; j < COUNT(OWNED); j++)
        if (!reads(cfg, j)) (void)json_object_del(object, OWNED[j]);
    return true;
}

/* The row of a key, or COUNT(OWNED) if every task reads it. */
static size_t owned(const char *name)
{
    const lcsm_key *key = lcsm_keys_find(&LCSM_TRAIN_KEYS, name);
    size_t          row = 0;
    while (row < COUNT(OWNED) && (key == NULL || strcmp(OWNED[row], key->name) != 0)) row++;
    return row;
}

bool lcsm_train_config_reads(const lcsm_train_config *cfg, const char *key)
{
    size_t row = owned(key);
    return row == COUNT(OWNED) || reads(cfg, row);
}

/* "mqar, needle", or "mqar, mad-recall, parity and others" where there are many. */
void lcsm_train_config_readers(const char *key, char text[LCSM_READERS_SIZE])
{
    enum { MOST = 4 };
    size_t row = owned(key), count = 0;
    char   list[LCSM_READERS_SIZE] = "";
    *text                          = '\0';
    for (size_t j = 0; row < COUNT(OWNED) && j < LCSM_TASK_COUNT && count <= MOST; j++) {
        if (!lcsm_task_reads(LCSM_TASKS[j], OWNED[row])) continue;
        count++;
        (void)snprintf(text, LCSM_READERS_SIZE, "%.150s%s%s", list, count == 1 ? "" : ", ",
                       LCSM_TASKS[j]->name);
        if (count > MOST) (void)snprintf(text, LCSM_READERS_SIZE, "%.150s and others", list);
        (void)snprintf(list, sizeof list, "%s", text);
    }
}

void lcsm_train_config_drop_unused(lcsm_train_config *cfg)
{
    for (size_t j = 0; j < COUNT(OWNED); j++)
        if (!reads(cfg, j)) lcsm_keys_reset(&LCSM_TRAIN_KEYS, cfg, OWNED[j]);
}

lcsm_status lcsm_train_config_unused(const lcsm_train_config *cfg, lcsm_error *err)
{
    char              readers[LCSM_READERS_SIZE];
    lcsm_train_config standard;
    lcsm_train_config_defaults(&standard);
    for (size_t j = 0; j < COUNT(OWNED); j++) {
        if (reads(cfg, j)
            || lcsm_key_same(lcsm_keys_find(&LCSM_TRAIN_KEYS, OWNED[j]), cfg, &standard))
            continue;
        lcsm_train_config_readers(OWNED[j], readers);
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "%s is unused in the task %s; it applies to the task %s", OWNED[j],
                         lcsm_train_task(cfg)->name, readers);
    }
    return LCSM_OK;
}

lcsm_adamw_config lcsm_train_adamw(const lcsm_train_config *cfg)
{
    return (lcsm_adamw_config){.style = cfg->optimizer == 0 ? LCSM_ADAMW_TORCH : LCSM_ADAMW_FAIRSEQ,
                               .beta1 = cfg->beta1,
                               .beta2 = cfg->beta2,
                               .eps   = cfg->eps,
                               .weight_decay = cfg->weight_decay,
                               .decay_all    = cfg->decay_all,
                               .moments      = (lcsm_moments)cfg->optimizer_state};
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
