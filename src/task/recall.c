/*
 * recall.c - associative recall (task/mqar.h) and three tasks that build on it: values that are
 * replaced, keys of two tokens, and pairs that share a position.
 */
#include "task/mqar.h"
#include "task/part.h"

enum { FORGETTING = 0x46524754, COMPOSITIONAL = 0x434f4d50, STACKED = 0x53544143 };

/* ---- mqar ----------------------------------------------------------------------------------- */

static lcsm_mqar_config mqar_of(const lcsm_task_config *cfg)
{
    return (lcsm_mqar_config){.vocab              = cfg->vocab,
                              .length             = cfg->length,
                              .pairs              = cfg->pairs,
                              .power              = cfg->power,
                              .random_non_queries = cfg->random_non_queries,
                              .seed               = cfg->seed};
}

static lcsm_status mqar_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    lcsm_mqar_config m = mqar_of(cfg);
    return lcsm_mqar_check(&m, err);
}

static void mqar_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    lcsm_mqar_config m = mqar_of(cfg);
    lcsm_mqar_example(&m, index, x, y);
}

static int64_t labels_by_pair(const lcsm_task_config *cfg)
{
    return cfg->pairs;
}

static double half_chance(const lcsm_task_config *cfg)
{
    int64_t half = cfg->vocab / 2;
    return 1 / (double)(cfg->vocab - half);
}

static void half_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    if (token == 0) (void)snprintf(text, LCSM_TASK_SYMBOL, ".");
    else if (token < cfg->vocab / 2) lcsm_task_put(text, "k", token);
    else lcsm_task_put(text, "v", token - cfg->vocab / 2);
}

/* ---- questions ------------------------------------------------------------------------------ */

/* Keys of `size` tokens are asked in slots of size + 1 tokens behind the context; the label stands
 * at the last token of a key. */
typedef struct {
    lcsm_draw *draw;
    int64_t    context, size, slots;
} questions;

static void ask(const questions *q, const lcsm_task_config *cfg, const int32_t *key, int32_t value,
                int32_t *x, int32_t *y)
{
    int64_t at;
    do at = q->context + (q->size + 1) * lcsm_mqar_slot(q->draw, cfg->power, q->slots);
    while (y[at + q->size - 1] != LCSM_TASK_NONE);
    for (int64_t j = 0; j < q->size; j++) x[at + j] = key[j];
    y[at + q->size - 1] = value;
}

/* What is left open is 0, or any token. */
static void fill_open(lcsm_draw *d, const lcsm_task_config *cfg, int32_t *x)
{
    for (int64_t t = 0; cfg->random_non_queries && t < cfg->length; t++)
        if (x[t] == 0) x[t] = lcsm_draw_below(d, cfg->vocab);
}

static lcsm_status check_shared(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_task_range("vocab", cfg->vocab, 9, LCSM_TASK_LONGEST, err));
    LCSM_OR_RETURN(lcsm_task_range("seq_len", cfg->length, 6, LCSM_TASK_LONGEST, err));
    if (cfg->power > 0 && cfg->power <= 1) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_CONFIG, "power is %g; expected above 0 and at most 1",
                     cfg->power);
}

/* ---- forgetting ----------------------------------------------------------------------------- */

/* Where the keys that are replaced stand: `updates` different pairs, in random order. They are kept
 * in y for a while. */
static void replace(lcsm_draw *d, const lcsm_task_config *cfg, int32_t *x, int32_t *y)
{
    int64_t half = cfg->vocab / 2;
    for (int64_t j = 0; j < cfg->updates; j++) {
        int32_t  which = lcsm_draw_new(d, 0, cfg->pairs, y, j, 1);
        int32_t *at    = x + 2 * (cfg->pairs + j);
        y[j]           = which;
        at[0]          = x[2 * which];
        at[1]          = lcsm_draw_new(d, half, cfg->vocab - half, x + 2 * which + 1, 1, 1);
    }
    for (int64_t j = 0; j < cfg->updates; j++) y[j] = LCSM_TASK_NONE;
}

static int32_t last_value(const lcsm_task_config *cfg, const int32_t *x, int64_t pair)
{
    int64_t at = pair;
    for (int64_t j = cfg->pairs; j < cfg->pairs + cfg->updates; j++)
        if (x[2 * j] == x[2 * pair]) at = j;
    return x[2 * at + 1];
}

static void forgetting_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    lcsm_draw d       = lcsm_task_draw(cfg, index, FORGETTING);
    int64_t   context = 2 * (cfg->pairs + cfg->updates), half = cfg->vocab / 2;
    questions q = {&d, context, 1, (cfg->length - context) / 2};
    lcsm_task_clear(cfg, 0, x, y);
    for (int64_t j = 0; j < cfg->pairs; j++) {
        x[2 * j]     = lcsm_draw_new(&d, 1, half - 1, x, j, 2);
        x[2 * j + 1] = lcsm_draw_new(&d, half, cfg->vocab - half, x + 1, j, 2);
    }
    replace(&d, cfg, x, y);
    for (int64_t j = 0; j < cfg->pairs; j++) ask(&q, cfg, x + 2 * j, last_value(cfg, x, j), x, y);
    fill_open(&d, cfg, x);
}

static lcsm_status forgetting_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(check_shared(cfg, err));
    LCSM_OR_RETURN(lcsm_task_range("pairs", cfg->pairs, 1, cfg->vocab / 2 - 1, err));
    LCSM_OR_RETURN(lcsm_task_range("updates", cfg->updates, 0, cfg->pairs, err));
    return lcsm_task_range("seq_len", cfg->length, 4 * cfg->pairs + 2 * cfg->updates,
                           LCSM_TASK_LONGEST, err);
}

/* ---- keys of two tokens --------------------------------------------------------------------- */

static int64_t root(int64_t n)
{
    int64_t r = 0;
    while ((r + 1) * (r + 1) <= n) r++;
    return r;
}

static void swap_triples(int32_t *a, int32_t *b)
{
    for (int j = 0; j < 3; j++) {
        int32_t t = a[j];
        a[j]      = b[j];
        b[j]      = t;
    }
}

/* All combinations of the first and second tokens of keys, in random order, each with its value. */
static void grid(lcsm_draw *d, const lcsm_task_config *cfg, int32_t *x)
{
    int64_t side = root(cfg->pairs), third = cfg->vocab / 3, n = 0;
    for (int64_t a = 0; a < side; a++) {
        int32_t first = lcsm_draw_new(d, 1, third - 1, x, a, 3 * side);
        for (int64_t b = 0; b < side; b++, n++) {
            x[3 * n]     = first;
            x[3 * n + 1] = a > 0 ? x[3 * b + 1] : lcsm_draw_new(d, third, third, x + 1, b, 3);
            x[3 * n + 2] = lcsm_draw_new(d, 2 * third, cfg->vocab - 2 * third, x + 2, n, 3);
        }
    }
    for (int64_t j = n - 1; j > 0; j--) swap_triples(x + 3 * j, x + 3 * lcsm_draw_below(d, j + 1));
}

static void compositional_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x,
                                  int32_t *y)
{
    lcsm_draw d       = lcsm_task_draw(cfg, index, COMPOSITIONAL);
    int64_t   context = 3 * cfg->pairs;
    questions q       = {&d, context, 2, (cfg->length - context) / 3};
    lcsm_task_clear(cfg, 0, x, y);
    grid(&d, cfg, x);
    for (int64_t j = 0; j < cfg->pairs; j++) ask(&q, cfg, x + 3 * j, x[3 * j + 2], x, y);
    fill_open(&d, cfg, x);
}

static lcsm_status compositional_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    int64_t side = root(cfg->pairs < LCSM_TASK_LONGEST ? cfg->pairs : LCSM_TASK_LONGEST);
    LCSM_OR_RETURN(check_shared(cfg, err));
    LCSM_OR_RETURN(lcsm_task_range("pairs", cfg->pairs, 1, cfg->vocab - 2 * (cfg->vocab / 3), err));
    if (side * side != cfg->pairs || side > cfg->vocab / 3 - 1)
        return lcsm_fail(
            err, LCSM_ERR_CONFIG,
            "pairs is %lld; expected a square number, at most %lld, because keys are a "
            "grid of two tokens",
            (long long)cfg->pairs, (long long)((cfg->vocab / 3 - 1) * (cfg->vocab / 3 - 1)));
    return lcsm_task_range("seq_len", cfg->length, 6 * cfg->pairs, LCSM_TASK_LONGEST, err);
}

static double third_chance(const lcsm_task_config *cfg)
{
    int64_t third = cfg->vocab / 3;
    return 1 / (double)(cfg->vocab - 2 * third);
}

static void third_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    int64_t third = cfg->vocab / 3;
    if (token == 0) (void)snprintf(text, LCSM_TASK_SYMBOL, ".");
    else if (token < third) lcsm_task_put(text, "a", token);
    else if (token < 2 * third) lcsm_task_put(text, "b", token - third);
    else lcsm_task_put(text, "v", token - 2 * third);
}

/* ---- pairs in one position ------------------------------------------------------------------ */

/* A token is key (V / 2 + 1) + value + 1, with nothing in the place of value + 1 where the key is
 * asked. Answers are values 0 .. V / 2 - 1. */
static int32_t stacked_token(const lcsm_task_config *cfg, int32_t key, int32_t value)
{
    return (int32_t)(key * (cfg->vocab / 2 + 1) + value + 1);
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t t = *a;
    *a        = *b;
    *b        = t;
}

/* Keys are in x and values in y until the order of the questions is drawn. */
static void stacked_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    lcsm_draw d    = lcsm_task_draw(cfg, index, STACKED);
    int64_t   half = cfg->vocab / 2, P = cfg->pairs;
    for (int64_t j = 0; j < P; j++) {
        x[P + j] = x[j] = lcsm_draw_new(&d, 0, half, x, j, 1);
        y[P + j] = y[j] = lcsm_draw_new(&d, 0, half, y, j, 1);
    }
    for (int64_t j = P - 1; j > 0; j--) {
        int64_t k = lcsm_draw_below(&d, j + 1);
        swap(&x[P + j], &x[P + k]);
        swap(&y[P + j], &y[P + k]);
    }
    for (int64_t j = 0; j < P; j++) {
        x[j]     = stacked_token(cfg, x[j], y[j]);
        x[P + j] = stacked_token(cfg, x[P + j], -1);
        y[j]     = LCSM_TASK_NONE;
    }
}

static lcsm_status stacked_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_task_range("vocab", cfg->vocab, 4, 1 << 16, err));
    LCSM_OR_RETURN(lcsm_task_range("pairs", cfg->pairs, 1, cfg->vocab / 2, err));
    if (cfg->vocab % 2 == 0 && cfg->length == 2 * cfg->pairs) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_CONFIG,
                     "seq_len is %lld and vocab %lld; expected %lld, twice the pairs, and an even "
                     "number",
                     (long long)cfg->length, (long long)cfg->vocab, 2 * (long long)cfg->pairs);
}

/* Values, and pairs of a key and a value. */
static void stacked_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    int64_t base = cfg->vocab / 2 + 1, value = token % base;
    if (value == 0) lcsm_task_put(text, "k", token / base);
    else
        (void)snprintf(text, LCSM_TASK_SYMBOL, "k%lld:v%lld", (long long)(token / base),
                       (long long)(value - 1));
}

static void stacked_answer(const lcsm_task_config *cfg, int32_t token, char *text)
{
    (void)cfg;
    lcsm_task_put(text, "v", token);
}

/* ---- rows ----------------------------------------------------------------------------------- */

#define ZOOLOGY "Arora et al. 2023, arXiv 2312.04927"
#define KEYS    "pairs examples test_examples fresh power random_non_queries"

const lcsm_task lcsm_task_mqar = {
    .name      = "mqar",
    .asks      = "the values of keys that were shown before, several in a sequence",
    .reference = ZOOLOGY,
    .metric    = LCSM_SCORE_ACCURACY,
    .wiring    = LCSM_TASK_AS_RECALL,
    .keys      = KEYS,
    .standard  = "",
    .small     = "seq_len=20 pairs=3 vocab=32",
    .source    = "",
    .check     = mqar_check,
    .example   = mqar_example,
    .labels    = labels_by_pair,
    .chance    = half_chance,
    .symbol    = half_symbol,
};

/* The frozen table of the original is random, with rows of length 1; here too. */
const lcsm_task lcsm_task_stacked_recall = {
    .name      = "stacked-recall",
    .asks      = "the values of keys, where a pair shares one position",
    .reference = "zoology, stacked MQAR",
    .metric    = LCSM_SCORE_ACCURACY,
    .wiring    = LCSM_TASK_AS_STACKED,
    .keys      = "pairs examples test_examples fresh",
    .standard  = "seq_len=8 pairs=4 test_examples=1000",
    .small     = "seq_len=6 pairs=3 vocab=16",
    .vocab     = 8192,
    .source    = "",
    .check     = stacked_check,
    .example   = stacked_example,
    .labels    = labels_by_pair,
    .chance    = half_chance,
    .symbol    = stacked_symbol,
    .answer    = stacked_answer,
};

const lcsm_task lcsm_task_forgetting_recall = {
    .name      = "forgetting-recall",
    .asks      = "the last value of keys of which some were given a new one",
    .reference = "zoology, forgetting MQAR",
    .metric    = LCSM_SCORE_ACCURACY,
    .wiring    = LCSM_TASK_AS_RECALL,
    .keys      = KEYS " updates",
    .standard  = "seq_len=64 pairs=8 updates=4 random_non_queries=true test_examples=1000",
    .small     = "seq_len=24 pairs=3 updates=2 vocab=32 random_non_queries=false",
    .vocab     = 8192,
    .source    = "",
    .check     = forgetting_check,
    .example   = forgetting_example,
    .labels    = labels_by_pair,
    .chance    = half_chance,
    .symbol    = half_symbol,
};

const lcsm_task lcsm_task_compositional_recall = {
    .name      = "compositional-recall",
    .asks      = "the values of keys of two tokens, neither of which is enough",
    .reference = "zoology, compositional MQAR",
    .metric    = LCSM_SCORE_ACCURACY,
    .wiring    = LCSM_TASK_AS_RECALL,
    .keys      = KEYS,
    .standard  = "seq_len=64 pairs=4 random_non_queries=true test_examples=1000",
    .small     = "seq_len=28 pairs=4 vocab=36 random_non_queries=false",
    .vocab     = 8192,
    .source    = "",
    .check     = compositional_check,
    .example   = compositional_example,
    .labels    = labels_by_pair,
    .chance    = third_chance,
    .symbol    = third_symbol,
};
