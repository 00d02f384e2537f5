/*
 * formal.c - parity and arithmetic modulo 5, in the form of arXiv 2411.12537.
 *
 * An expression of a size that is drawn, then padding; the answer is asked once, at the last
 * symbol. The size counts the answer. Training has the sizes 3 .. T + 1 of its T positions, and the
 * test those from there to its own T + 1: with 39 and 255 positions, 3 to 40 and 40 to 256.
 */
#include "task/part.h"

enum { PARITY = 0x50415249, ARITHMETIC = 0x4d4f4441, BRACKETS = 0x4d4f4442, MODULUS = 5 };

/* What sizes are drawn from. */
static int64_t least_size(const lcsm_task_config *cfg)
{
    return cfg->test && cfg->length > cfg->train_length ? cfg->train_length + 1 : 3;
}

static int64_t most_size(const lcsm_task_config *cfg)
{
    return cfg->length + 1;
}

static int64_t draw_size(lcsm_draw *d, const lcsm_task_config *cfg)
{
    return lcsm_draw_from(d, least_size(cfg), most_size(cfg) - least_size(cfg) + 1);
}

/* ---- parity --------------------------------------------------------------------------------- */

static void parity_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    lcsm_draw d    = lcsm_task_draw(cfg, index, PARITY);
    int64_t   bits = draw_size(&d, cfg) - 1, ones = 0;
    lcsm_task_clear(cfg, 0, x, y);
    for (int64_t t = 0; t < bits; t++) {
        x[t] = 1 + lcsm_draw_below(&d, 2);
        ones += x[t] - 1;
    }
    y[bits - 1] = (int32_t)(1 + ones % 2);
}

static lcsm_status parity_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_task_range("vocab", cfg->vocab, 3, LCSM_TASK_LONGEST, err));
    return lcsm_task_range("seq_len", cfg->length, 2, LCSM_TASK_LONGEST, err);
}

static double half(const lcsm_task_config *cfg)
{
    (void)cfg;
    return 0.5;
}

static void parity_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    (void)cfg;
    (void)snprintf(text, LCSM_TASK_SYMBOL, "%s", token == 0 ? "_" : token == 1 ? "0" : "1");
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

enum { A_PAD, A_PLUS, A_MINUS, A_TIMES, A_EQUALS, A_DIGIT };

/* Products bind tighter, so a sum is kept of the terms that are whole. */
typedef struct {
    int sum, term;
} value;

static void add_digit(value *v, int32_t op, int digit)
{
    if (op == A_TIMES) {
        v->term = v->term * digit % MODULUS;
        return;
    }
    v->sum  = (v->sum + v->term) % MODULUS;
    v->term = op == A_PLUS ? digit : MODULUS - digit;
}

static void arithmetic_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    lcsm_draw d     = lcsm_task_draw(cfg, index, ARITHMETIC);
    int64_t   least = (least_size(cfg) + 1) / 2, most = (most_size(cfg) + 1) / 2;
    int64_t   size = 2 * (int64_t)lcsm_draw_from(&d, least, most - least + 1) - 1;
    value     v    = {0};
    lcsm_task_clear(cfg, A_PAD, x, y);
    for (int64_t t = 0; t + 1 < size; t += 2) {
        int32_t digit = lcsm_draw_below(&d, MODULUS);
        int32_t op    = t == 0 ? A_PLUS : lcsm_draw_from(&d, A_PLUS, 3);
        if (t > 0) x[t - 1] = op;
        x[t] = A_DIGIT + digit;
        add_digit(&v, op, digit);
    }
    x[size - 2] = A_EQUALS;
    y[size - 2] = A_DIGIT + (v.sum + v.term) % MODULUS;
}

static lcsm_status arithmetic_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_task_range("vocab", cfg->vocab, A_DIGIT + MODULUS, LCSM_TASK_LONGEST, err));
    return lcsm_task_range("seq_len", cfg->length, 2, LCSM_TASK_LONGEST, err);
}

static double fifth(const lcsm_task_config *cfg)
{
    (void)cfg;
    return 1.0 / MODULUS;
}

static void arithmetic_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    (void)cfg;
    if (token >= A_DIGIT) lcsm_task_put(text, "", token - A_DIGIT);
    else (void)snprintf(text, LCSM_TASK_SYMBOL, "%c", "_+-*="[token]);
}

/* ---- brackets ------------------------------------------------------------------------------- */

enum { B_PLUS = MODULUS, B_MINUS, B_TIMES, B_OPEN, B_CLOSE, B_EQUALS, B_PAD, B_LONGEST = 4096 };

typedef struct {
    lcsm_draw draw;
    int       operators; /* + and -, or * too */
    int32_t  *x;
} grammar;

static int32_t apply(int32_t op, int32_t a, int32_t b)
{
    if (op == B_TIMES) return a * b % MODULUS;
    return (a + (op == B_PLUS ? b : MODULUS - b)) % MODULUS;
}

/* d, - d, ( d ) or ( - d ). */
static int32_t put_digit(grammar *g, int64_t at, int64_t n)
{
    int32_t digit = lcsm_draw_below(&g->draw, MODULUS);
    bool    minus = n % 2 == 0, open = n > 2;
    if (open) g->x[at++] = B_OPEN;
    if (minus) g->x[at++] = B_MINUS;
    g->x[at++] = digit;
    if (open) g->x[at] = B_CLOSE;
    return minus ? (MODULUS - digit) % MODULUS : digit;
}

/* Writes exactly n tokens and returns their value. */
static int32_t put_expression(grammar *g, int64_t at, int64_t n)
{
    if (n < 5) return put_digit(g, at, n);
    int64_t left        = lcsm_draw_from(&g->draw, 1, n - 4);
    int32_t op          = lcsm_draw_from(&g->draw, B_PLUS, g->operators);
    g->x[at]            = B_OPEN;
    int32_t a           = put_expression(g, at + 1, left);
    g->x[at + 1 + left] = op;
    int32_t b           = put_expression(g, at + 2 + left, n - 3 - left);
    g->x[at + n - 1]    = B_CLOSE;
    return apply(op, a, b);
}

static void bracket_example(const lcsm_task_config *cfg, uint64_t index, int operators, int32_t *x,
                            int32_t *y)
{
    grammar g    = {.draw = lcsm_task_draw(cfg, index, BRACKETS), .operators = operators, .x = x};
    int64_t size = draw_size(&g.draw, cfg), n = (size < 5 ? 5 : size) - 3;
    lcsm_task_clear(cfg, B_PAD, x, y);
    y[n] = put_expression(&g, 0, n);
    x[n] = B_EQUALS;
}

static void products_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    bracket_example(cfg, index, 3, x, y);
}

static void sums_example(const lcsm_task_config *cfg, uint64_t index, int32_t *x, int32_t *y)
{
    bracket_example(cfg, index, 2, x, y);
}

static lcsm_status bracket_check(const lcsm_task_config *cfg, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_task_range("vocab", cfg->vocab, B_PAD + 1, LCSM_TASK_LONGEST, err));
    return lcsm_task_range("seq_len", cfg->length, 3, B_LONGEST, err);
}

static void bracket_symbol(const lcsm_task_config *cfg, int32_t token, char *text)
{
    (void)cfg;
    if (token < MODULUS) lcsm_task_put(text, "", token);
    else (void)snprintf(text, LCSM_TASK_SYMBOL, "%c", "+-*()=_"[token - MODULUS]);
}

/* ---- rows ----------------------------------------------------------------------------------- */

#define FORMAL       "Grazzi et al. 2025, arXiv 2411.12537"
#define FORMAL_KEYS  "examples test_examples test_len"
#define FORMAL_TABLE "scaled accuracy, best of three seeds (arXiv 2411.12537, table 3)"
#define FORMAL_SIZES "seq_len=39 test_len=255 test_examples=8192"

const lcsm_task lcsm_task_parity = {
    .name      = "parity",
    .asks      = "whether the number of ones is odd, after the last bit",
    .reference = FORMAL,
    .metric    = LCSM_SCORE_SCALED,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = FORMAL_KEYS,
    .standard  = FORMAL_SIZES,
    .small     = "seq_len=8 test_len=16",
    .vocab     = 3,
    .fresh     = true,
    .source    = FORMAL_TABLE,
    .published = {{"attention", 0.022},
                  {"mlstm", 0.087},
                  {"slstm", 1},
                  {"mamba", 0},
                  {"mamba-signed", 1},
                  {"deltanet", 0.017},
                  {"deltanet-signed", 1}},
    .check     = parity_check,
    .example   = parity_example,
    .labels    = lcsm_task_one_label,
    .chance    = half,
    .symbol    = parity_symbol,
};

const lcsm_task lcsm_task_modular_arithmetic = {
    .name      = "modular-arithmetic",
    .asks      = "the value modulo 5 of digits with +, - and *, at the equals sign",
    .reference = FORMAL,
    .metric    = LCSM_SCORE_SCALED,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = FORMAL_KEYS,
    .standard  = FORMAL_SIZES,
    .small     = "seq_len=8 test_len=16",
    .vocab     = 10,
    .fresh     = true,
    .source    = FORMAL_TABLE,
    .published = {{"attention", 0.031},
                  {"mlstm", 0.040},
                  {"slstm", 0.787},
                  {"mamba", 0.095},
                  {"mamba-signed", 0.241},
                  {"deltanet", 0.314},
                  {"deltanet-signed", 0.971}},
    .check     = arithmetic_check,
    .example   = arithmetic_example,
    .labels    = lcsm_task_one_label,
    .chance    = fifth,
    .symbol    = arithmetic_symbol,
};

/* Products make 0 a frequent answer: to say it always scores 0.13. */
const lcsm_task lcsm_task_modular_brackets = {
    .name      = "modular-brackets",
    .asks      = "the value modulo 5 of an expression with brackets, +, - and *",
    .reference = FORMAL,
    .metric    = LCSM_SCORE_SCALED,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = FORMAL_KEYS,
    .standard  = FORMAL_SIZES,
    .small     = "seq_len=10 test_len=20",
    .vocab     = 12,
    .fresh     = true,
    .source    = FORMAL_TABLE "; to answer 0 always scores 0.128",
    .published = {{"attention", 0.067},
                  {"mlstm", 0.114},
                  {"slstm", 0.178},
                  {"mamba", 0.123},
                  {"mamba-signed", 0.116},
                  {"deltanet", 0.194},
                  {"deltanet-signed", 0.260}},
    .check     = bracket_check,
    .example   = products_example,
    .labels    = lcsm_task_one_label,
    .chance    = fifth,
    .symbol    = bracket_symbol,
};

const lcsm_task lcsm_task_modular_sums = {
    .name      = "modular-sums",
    .asks      = "the value modulo 5 of an expression with brackets, + and -",
    .reference = FORMAL,
    .metric    = LCSM_SCORE_SCALED,
    .wiring    = LCSM_TASK_AS_LM,
    .keys      = FORMAL_KEYS,
    .standard  = FORMAL_SIZES,
    .small     = "seq_len=10 test_len=20",
    .vocab     = 12,
    .fresh     = true,
    .source    = "scaled accuracy, median of three seeds (arXiv 2411.12537, table 5)",
    .published = {{"attention", 0.025},
                  {"mlstm", 0.034},
                  {"slstm", 0.153},
                  {"mamba", 0.072},
                  {"mamba-signed", 0.126},
                  {"deltanet", 0.113},
                  {"deltanet-signed", 0.129}},
    .check     = bracket_check,
    .example   = sums_example,
    .labels    = lcsm_task_one_label,
    .chance    = fifth,
    .symbol    = bracket_symbol,
};
