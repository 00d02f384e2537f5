/* search.c - tasks that look for something in a long sequence: induction heads, ListOps, a needle.
 */
#include "task/part.h"

enum { INDUCTION = 0x494e4455, LISTOPS = 0x4c4f5053, NEEDLE = 0x4e45454c };

/* ---- induction heads ------------------------------------------------------------------------ */

/* Tokens 1 .. V - 2, the trigger V - 1 somewhere and again at the end; 0 is never used. */
static void induction_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    lcsm_draw d       = lcsm_task_draw(cfg, index, INDUCTION);
    int32_t   trigger = (int32_t)cfg->vocab - 1;
    int64_t   at = lcsm_draw_below(&d, cfg->length - 3), last = cfg->length - 1;
    for (int64_t t = 0; t < last; t++) x[t] = lcsm_draw_from(&d, 1, cfg->vocab - 2);
    for (int64_t t = 0; t < last; t++) y[t] = LCSM_TASK_NONE;
    x[at] = x[last] = trigger;
    y[last]         = x[at + 1];
}

static lcsm_status induction_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_task_range("vocab", cfg->vocab, 3, LCSM_TASK_LONGEST, err));
    return lcsm_task_range("seq_len", cfg->length, 4, LCSM_TASK_LONGEST, err);
}

static double induction_chance(const lcsm_task_config *cfg)
{
    return 1 / (double)(cfg->vocab - 2);
}

static void induction_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    if (token == cfg->vocab - 1) (void)snprintf(text, LCSM_TASK_SYMBOL, "!");
    else if (token > 26) lcsm_task_put(text, "", token);
    else (void)snprintf(text, LCSM_TASK_SYMBOL, "%c", token == 0 ? '.' : 'a' + token - 1);
}

/* ---- ListOps -------------------------------------------------------------------------------- */

enum { PAD, UNKNOWN, END, CLOSE, DIGIT, OPERATOR = DIGIT + 10, LISTOPS_VOCAB = OPERATOR + 4 };
enum { DEEPEST = 10, MOST_ARGUMENTS = 10 };
static const double DIGIT_CHANCE = 0.75;

/* Tokens of a tree as far as there is room; n goes on counting. */
typedef struct {
    lcsm_draw draw;
    int64_t   n, room;
    int32_t  *x;
} tree;

static void put(tree *t, int32_t token)
{
    if (t->n < t->room) t->x[t->n] = token;
    t->n++;
}

static int middle(int *v, int n)
{
    for (int j = 1; j < n; j++)
        for (int k = j; k > 0 && v[k - 1] > v[k]; k--) {
            int least = v[k];
            v[k]      = v[k - 1];
            v[k - 1]  = least;
        }
    return (v[n / 2] + v[(n - 1) / 2]) / 2; /* of an even number, the whole part of the mean */
}

/* MIN, MAX, MED, SM (the sum modulo 10). */
static int operate(int op, int *v, int n)
{
    int low = v[0], high = v[0], sum = 0;
    for (int j = 0; j < n; j++) {
        if (v[j] < low) low = v[j];
        if (v[j] > high) high = v[j];
        sum += v[j];
    }
    return op == 0 ? low : op == 1 ? high : op == 2 ? middle(v, n) : sum % 10;
}

/* A tree and its value; one that is too long already is left as it is. */
static int put_tree(tree *t, int depth)
{
    if (depth == DEEPEST || t->n > t->room || lcsm_draw_chance(&t->draw, DIGIT_CHANCE)) {
        int digit = lcsm_draw_below(&t->draw, 10);
        put(t, DIGIT + digit);
        return digit;
    }
    int values[MOST_ARGUMENTS] = {0}, n = lcsm_draw_from(&t->draw, 2, MOST_ARGUMENTS - 1);
    int op = lcsm_draw_below(&t->draw, 4);
    put(t, OPERATOR + op);
    for (int j = 0; j < n; j++) values[j] = put_tree(t, depth + 1);
    put(t, CLOSE);
    return operate(op, values, n);
}

/* Trees of between a quarter of the length and all of it, both ends excluded: 501 to 1999 tokens.
 */
static void listops_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    tree t      = {.draw = lcsm_task_draw(cfg, index, LISTOPS), .room = cfg->length, .x = x};
    int  answer = 0;
    do {
        lcsm_task_clear(cfg, PAD, x, y);
        t.n    = 0;
        answer = put_tree(&t, 1);
    } while (t.n <= cfg->length / 4 || t.n >= cfg->length);
    x[t.n] = END;
    y[t.n] = answer;
}

static lcsm_status listops_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_task_range("vocab", cfg->vocab, LISTOPS_VOCAB, LCSM_TASK_LONGEST, err));
    return lcsm_task_range("seq_len", cfg->length, 16, 1 << 13, err);
}

/* That of the most frequent answers, 0 and 9. */
static double listops_chance(const lcsm_task_config *cfg)
{
    (void)cfg;
    return 0.17;
}

static void listops_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    static const char *const names[] = {"_",    "?",    "=",  "]", [OPERATOR] = "[MIN",
                                        "[MAX", "[MED", "[SM"};
    (void)cfg;
    if (token >= DIGIT && token < OPERATOR) lcsm_task_put(text, "", token - DIGIT);
    else (void)snprintf(text, LCSM_TASK_SYMBOL, "%s", names[token]);
}

static void listops_answer(const lcsm_task_config *cfg, int32_t answer, char *text)
{
    (void)cfg;
    lcsm_task_put(text, "", answer);
}

/* ---- a needle in noise ---------------------------------------------------------------------- */

enum {
    N_PAD,
    N_NEEDLE,
    N_QUERY,
    N_DIGIT,
    N_KEY     = N_DIGIT + 10,
    DIGITS    = 7,
    UNIT      = 8,
    HAY_LEAST = 8
};

static int64_t first_hay(const lcsm_task_config *cfg)
{
    return N_KEY + cfg->vocab / 4;
}

static void put_needle(lcsm_draw *d, int32_t key, int32_t *x)
{
    x[0] = N_NEEDLE;
    x[1] = key;
    for (int j = 0; j < DIGITS; j++)
        x[2 + j] = j == 0 ? lcsm_draw_from(d, N_DIGIT + 1, 9) : lcsm_draw_from(d, N_DIGIT, 10);
}

/* Which units of hay have a needle before them: the places and keys are in y for a while. */
static void draw_needles(lcsm_draw *d, const lcsm_task_config *cfg, int64_t units, int32_t *y)
{
    for (int64_t j = 0; j < cfg->items; j++) {
        y[2 * j]     = lcsm_draw_new(d, 0, units, y, j, 2);
        y[2 * j + 1] = lcsm_draw_new(d, N_KEY, cfg->vocab / 4, y + 1, j, 2);
    }
}

/* The hay, with needles where they are due; returns where the asked one begins. */
static int64_t put_hay(lcsm_draw *d, const lcsm_task_config *cfg, int64_t hay, int64_t asked,
                       int32_t *x, const int32_t *y)
{
    int64_t n = 0, found = 0, first = first_hay(cfg);
    for (int64_t h = 0; h < hay; h++) {
        for (int64_t j = 0; h % UNIT == 0 && j < cfg->items; j++) {
            if (y[2 * j] != h / UNIT) continue;
            if (j == asked) found = n;
            put_needle(d, y[2 * j + 1], x + n);
            n += 2 + DIGITS;
        }
        x[n++] = (int32_t)(cfg->random_non_queries ? lcsm_draw_from(d, first, cfg->vocab - first)
                                                   : first + h % UNIT);
    }
    return found;
}

static int64_t needle_least(const lcsm_task_config *cfg)
{
    return (cfg->items + 1) * (2 + DIGITS) + UNIT * cfg->items;
}

/* Training has all lengths from a quarter of the longest; the test has the longest. */
static int64_t draw_length(lcsm_draw *d, const lcsm_task_config *cfg)
{
    int64_t most = cfg->length + 1, least = most / 4;
    if (least < needle_least(cfg)) least = needle_least(cfg);
    return cfg->test ? most : lcsm_draw_from(d, least, most - least + 1);
}

/* hay, needles, hay, then the query, its key and the digits, of which the last is no input. */
static void needle_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    lcsm_draw d      = lcsm_task_draw(cfg, index, NEEDLE);
    int64_t   length = draw_length(&d, cfg), hay = length - (cfg->items + 1) * (2 + DIGITS);
    int64_t   asked = lcsm_draw_below(&d, cfg->items);
    draw_needles(&d, cfg, hay / UNIT, y);
    int64_t found = put_hay(&d, cfg, hay, asked, x, y), at = length - 2 - DIGITS;
    for (int64_t t = 0; t < cfg->length; t++) y[t] = LCSM_TASK_NONE;
    for (int64_t t = length - 1; t < cfg->length; t++) x[t] = N_PAD;
    x[at]     = N_QUERY;
    x[at + 1] = x[found + 1];
    for (int64_t j = 0; j < DIGITS; j++) {
        if (at + 2 + j < length - 1) x[at + 2 + j] = x[found + 2 + j];
        y[at + 1 + j] = x[found + 2 + j];
    }
}

static lcsm_status needle_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(
        lcsm_task_range("vocab", cfg->vocab, 2 * (N_KEY + HAY_LEAST), LCSM_TASK_LONGEST, err));
    LCSM_OR_RETURN(lcsm_task_range("items", cfg->items, 1, cfg->vocab / 4, err));
    return lcsm_task_range("seq_len", cfg->length, needle_least(cfg), LCSM_TASK_LONGEST, err);
}

static int64_t needle_labels(const lcsm_task_config *cfg)
{
    (void)cfg;
    return DIGITS;
}

static double needle_chance(const lcsm_task_config *cfg)
{
    (void)cfg;
    return (1.0 / 9 + (DIGITS - 1) / 10.0) / DIGITS; /* the first digit is not 0 */
}

static void needle_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    static const char *const names[] = {"_", "needle:", "asked:"};
    if (token < N_DIGIT) (void)snprintf(text, LCSM_TASK_SYMBOL, "%s", names[token]);
    else if (token < N_KEY) lcsm_task_put(text, "", token - N_DIGIT);
    else if (token < first_hay(cfg)) lcsm_task_put(text, "k", token - N_KEY);
    else lcsm_task_put(text, "hay", token - first_hay(cfg));
}

/* ---- rows ----------------------------------------------------------------------------------- */

const lcsm_task lcsm_task_induction = {
    .name      = "induction",
    .asks      = "what followed the trigger when it came first, at the end",
    .reference = "Gu and Dao 2023, arXiv 2312.00752",
    .metric    = LCSM_SCORE_ACCURACY,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = "examples test_examples test_len",
    .standard  = "seq_len=256 test_examples=1000",
    .small     = "seq_len=16",
    .vocab     = 16,
    .fresh     = true,
    .source    = "accuracy at the length of training, 256 (arXiv 2312.00752, table 11)",
    .published = {{"attention", 1}, {"h3", 1}, {"hyena", 1}, {"mamba", 1}},
    .check     = induction_check,
    .example   = induction_example,
    .labels    = lcsm_task_one_label,
    .chance    = induction_chance,
    .symbol    = induction_symbol,
};

const lcsm_task lcsm_task_listops = {
    .name      = "listops",
    .asks      = "the value of nested lists with MIN, MAX, MED and SM",
    .reference = "Tay et al. 2020, arXiv 2011.04006",
    .metric    = LCSM_SCORE_ACCURACY,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = "examples test_examples fresh",
    .standard  = "seq_len=2000 examples=96000 test_examples=2000",
    .small     = "seq_len=32",
    .vocab     = LISTOPS_VOCAB,
    .source    = "accuracy, Long Range Arena; those of the S4 family are bidirectional",
    .published =
        {{"attention", 0.3637}, {"s4", 0.5960}, {"s4d", 0.6047}, {"s5", 0.6215}, {"lru", 0.602}},
    .check   = listops_check,
    .example = listops_example,
    .labels  = lcsm_task_one_label,
    .chance  = listops_chance,
    .symbol  = listops_symbol,
    .answer  = listops_answer,
};

const lcsm_task lcsm_task_needle = {
    .name      = "needle",
    .asks      = "the seven digits of a needle in noise, by its key",
    .reference = "after RULER, arXiv 2404.06654, over tokens",
    .metric    = LCSM_SCORE_ACCURACY,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = "examples test_examples test_len items random_non_queries",
    .standard  = "seq_len=255 test_examples=500 items=1",
    .small     = "seq_len=47 vocab=64",
    .vocab     = 64,
    .fresh     = true,
    .source    = "",
    .check     = needle_check,
    .example   = needle_example,
    .labels    = needle_labels,
    .chance    = needle_chance,
    .symbol    = needle_symbol,
};
