/*
 * words.c - words of groups: the product of all elements so far, at every element.
 *
 *     BOS x_1 x_2 ...      asked: BOS, x_1, x_1 x_2, ...
 *
 * Elements of S_n are the permutations in the lexicographic order of one-line notation, those of
 * A_n the even ones among them in the same order; element 0 is the identity. In a product a b, b
 * acts first. Behind the elements come seven more tokens: padding, BOS, and five that are never
 * used.
 */
#include "task/part.h"

enum { WORDS = 0x574f5244, SPECIAL = 7, MOST_POINTS = 5 };

/* n > 0: permutations of n points, with `even` only the even ones; n = 0: Z_order. */
typedef struct {
    int     n;
    bool    even;
    int64_t order;
} group;

static const group S3 = {3, false, 6}, S4 = {4, false, 24}, S5 = {5, false, 120},
                   A5 = {5, true, 60};

static int64_t factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

/* ---- permutations --------------------------------------------------------------------------- */

static int smaller(const int *p, int n, int j)
{
    int count = 0;
    for (int k = j + 1; k < n; k++) count += p[k] < p[j];
    return count;
}

/* The number of a permutation in lexicographic order. */
static int64_t number_of(const int *p, int n)
{
    int64_t number = 0;
    for (int j = 0; j < n; j++) number += smaller(p, n, j) * factorial(n - 1 - j);
    return number;
}

static bool is_even(const int *p, int n)
{
    int inversions = 0;
    for (int j = 0; j < n; j++) inversions += smaller(p, n, j);
    return inversions % 2 == 0;
}

static void permutation(int64_t number, int n, int *p)
{
    int left[MOST_POINTS];
    for (int j = 0; j < n; j++) left[j] = j;
    for (int j = 0; j < n; j++) {
        int64_t part = factorial(n - 1 - j);
        int     at   = (int)(number / part);
        p[j]         = left[at];
        for (int k = at; k + 1 < n - j; k++) left[k] = left[k + 1];
        number %= part;
    }
}

/* Permutations 2 i and 2 i + 1 differ in their last two points, so one of them is even. */
static void element(const group *g, int64_t i, int *p)
{
    permutation(g->even ? 2 * i : i, g->n, p);
    if (g->even && !is_even(p, g->n)) permutation(2 * i + 1, g->n, p);
}

static int64_t product(const group *g, int64_t a, int64_t b)
{
    int p[MOST_POINTS], q[MOST_POINTS], r[MOST_POINTS];
    if (g->n == 0) return (a + b) % g->order;
    element(g, a, p);
    element(g, b, q);
    for (int j = 0; j < g->n; j++) r[j] = p[q[j]];
    return number_of(r, g->n) / (g->even ? 2 : 1);
}

/* ---- the task ------------------------------------------------------------------------------- */

static void word(const group *g, const lcsm_task_config *cfg, uint64_t index, int32_t *x,
                 int32_t *y)
{
    lcsm_draw d  = lcsm_task_draw(cfg, index, WORDS);
    int64_t   at = 0;
    x[0] = y[0] = (int32_t)g->order + 1;
    for (int64_t t = 1; t < cfg->length; t++) {
        x[t] = lcsm_draw_below(&d, g->order);
        at   = product(g, at, x[t]);
        y[t] = (int32_t)at;
    }
}

static lcsm_status check(const group *g, const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(
        lcsm_task_range("vocab", cfg->vocab, g->order + SPECIAL, LCSM_TASK_LONGEST, err));
    return lcsm_task_range("seq_len", cfg->length, 2, LCSM_TASK_LONGEST, err);
}

/* Permutations in one-line notation, of points from 1. */
static void symbol(const group *g, int32_t token, char *text)
{
    int p[MOST_POINTS];
    if (token >= g->order) {
        (void)snprintf(text, LCSM_TASK_SYMBOL, "%s", token == g->order + 1 ? "start" : "_");
        return;
    }
    if (g->n == 0) {
        lcsm_task_put(text, "", token);
        return;
    }
    element(g, token, p);
    for (int j = 0; j < g->n; j++) text[j] = (char)('1' + p[j]);
    text[g->n] = '\0';
}

static group cyclic(const lcsm_task_config *cfg)
{
    return (group){0, false, cfg->order};
}

#define OF_GROUP(name, GROUP)                                                                      \
    static void name##_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x,            \
                               int32_t *y)                                                         \
    {                                                                                              \
        group g = GROUP;                                                                           \
        word(&g, cfg, index, x, y);                                                                \
    }                                                                                              \
    static lcsm_status name##_check(const lcsm_task_config *cfg, lcsm_error *err)                  \
    {                                                                                              \
        group g = GROUP;                                                                           \
        return check(&g, cfg, err);                                                                \
    }                                                                                              \
    static int64_t name##_vocab(const lcsm_task_config *cfg)                                       \
    {                                                                                              \
        (void)cfg;                                                                                 \
        return (GROUP).order + SPECIAL;                                                            \
    }                                                                                              \
    static double name##_chance(const lcsm_task_config *cfg)                                       \
    {                                                                                              \
        (void)cfg;                                                                                 \
        return 1 / (double)(GROUP).order;                                                          \
    }                                                                                              \
    static void name##_symbol(const lcsm_task_config *cfg, int32_t token, char *text)              \
    {                                                                                              \
        (void)cfg;                                                                                 \
        group g = GROUP;                                                                           \
        symbol(&g, token, text);                                                                   \
    }

OF_GROUP(z, cyclic(cfg))
OF_GROUP(s3, S3)
OF_GROUP(s4, S4)
OF_GROUP(s5, S5)
OF_GROUP(a5, A5)

/* Published are curves and the least number of Householder factors of one layer: S3, S4 and A5
 * need 2, S5 needs 4 (arXiv 2502.10297). */
#define WORDS_ROW(id, title, which, more_keys, more, small_more)                                   \
    const lcsm_task lcsm_task_words_##id = {                                                       \
        .name      = title,                                                                        \
        .asks      = "the product so far of elements of " which,                                   \
        .reference = "Merrill et al. 2024, arXiv 2404.08819",                                      \
        .metric    = LCSM_SCORE_SCALED,                                                            \
        .wiring    = LCSM_TASK_AS_LM,                                                              \
        .keys      = "examples test_examples fresh test_len" more_keys,                            \
        .standard  = "seq_len=129 test_len=513 examples=99000 test_examples=1000" more,            \
        .small     = "seq_len=9 test_len=13" small_more,                                           \
        .source    = "",                                                                           \
        .vocab_of  = id##_vocab,                                                                   \
        .check     = id##_check,                                                                   \
        .example   = id##_example,                                                                 \
        .labels    = lcsm_task_all_labels,                                                         \
        .chance    = id##_chance,                                                                  \
        .symbol    = id##_symbol,                                                                  \
    }

WORDS_ROW(z, "words-z", "the cyclic group", " order", " order=60", " order=5");
WORDS_ROW(s3, "words-s3", "S3", "", "", "");
WORDS_ROW(s4, "words-s4", "S4", "", "", "");
WORDS_ROW(s5, "words-s5", "S5", "", "", "");
WORDS_ROW(a5, "words-a5", "A5", "", "", "");
