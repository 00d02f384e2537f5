/* mqar.c - examples of associative recall from counter-based random numbers. */
#include "task/mqar.h"

#include <math.h>

#include "task/draw.h"

enum { PURPOSE = 0x4d514152 }; /* "MQAR" */

lcsm_status lcsm_mqar_check(const lcsm_mqar_config *cfg, lcsm_error *err)
{
    int64_t keys = cfg->vocab / 2 - 1;
    if (cfg->vocab < 4 || cfg->vocab > INT32_MAX)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "vocab is %lld; expected 4 to %d",
                         (long long)cfg->vocab, INT32_MAX);
    if (cfg->length < 4 || cfg->length > INT32_MAX || cfg->length % 2 != 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "length is %lld; expected an even number, at least 4",
                         (long long)cfg->length);
    if (cfg->pairs < 1 || cfg->pairs > cfg->length / 4)
        return lcsm_fail(
            err, LCSM_ERR_CONFIG,
            "pairs is %lld; expected 1 to %lld: each pair needs four of the %lld tokens",
            (long long)cfg->pairs, (long long)(cfg->length / 4), (long long)cfg->length);
    if (cfg->pairs > keys)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "pairs is %lld; expected at most %lld, the number of keys with vocab %lld",
                         (long long)cfg->pairs, (long long)keys, (long long)cfg->vocab);
    if (!(cfg->power > 0 && cfg->power <= 1))
        return lcsm_fail(err, LCSM_ERR_CONFIG, "power is %g; expected above 0 and at most 1",
                         cfg->power);
    return LCSM_OK;
}

void lcsm_mqar_weights(const lcsm_mqar_config *cfg, double *weights)
{
    double sum = 0;
    for (int64_t g = 0; g < lcsm_mqar_slots(cfg); g++) {
        weights[g] = pow((double)(g + 1), cfg->power - 1);
        sum += weights[g];
    }
    for (int64_t g = 0; g < lcsm_mqar_slots(cfg); g++) weights[g] /= sum;
}

/* ---- draws ------------------------------------------------------------------------------ */

/* A token that inputs[0], inputs[2] .. of n tokens do not have. */
static int32_t new_token(lcsm_draw *s, int64_t first, int64_t count, const int32_t *inputs,
                         int64_t n)
{
    return lcsm_draw_new(s, first, count, inputs, n, 2);
}

static int64_t slot(lcsm_draw *s, const lcsm_mqar_config *cfg)
{
    return lcsm_mqar_slot(s, cfg->power, lcsm_mqar_slots(cfg));
}

/*
 * A slot by its weight w_g = (g + 1)^(a - 1), without a table: g + 1 is the whole part of an x in
 * [1, slots + 1) of density x^(a-1), whose integral over [g + 1, g + 2) is
 * w_g (g + 1) expm1(a log1p(1 / (g + 1))) / a. It falls short of w_g most at g = 0, so to keep a
 * draw with the chance that is the quotient of both quotients makes it exact.
 */
int64_t lcsm_mqar_slot(lcsm_draw *s, double power, int64_t slots)
{
    double a = power, n = (double)slots;
    for (;;) {
        lcsm_u32x4 r = lcsm_draw_next(s);
        double     u = ((double)r.v[0] + (double)r.v[1] * 0x1p-32) * 0x1p-32;
        double     x = floor(exp(log1p(u * expm1(a * log(n + 1))) / a));
        if (x < 1 || x > n) continue; /* rounding at the ends */
        double keep = (double)r.v[2] * 0x1p-32;
        if (keep * x * expm1(a * log1p(1 / x)) < expm1(a * log(2))) return (int64_t)x - 1;
    }
}

/* ---- examples --------------------------------------------------------------------------- */

static void clear(const lcsm_mqar_config *cfg, int32_t *inputs, int32_t *labels)
{
    for (int64_t t = 0; t < cfg->length; t++) {
        inputs[t] = 0;
        labels[t] = LCSM_MQAR_IGNORED;
    }
}

static int64_t query_at(const lcsm_mqar_config *cfg, int64_t g)
{
    return 2 * (cfg->pairs + g);
}

static void put(const lcsm_mqar_config *cfg, int64_t pair, int32_t key, int32_t value, int64_t g,
                int32_t *inputs, int32_t *labels)
{
    inputs[2 * pair]         = key;
    inputs[2 * pair + 1]     = value;
    inputs[query_at(cfg, g)] = key;
    labels[query_at(cfg, g)] = value;
}

void lcsm_mqar_place(const lcsm_mqar_config *cfg, const int32_t *keys, const int32_t *values,
                     const int32_t *slots, int32_t *inputs, int32_t *labels)
{
    clear(cfg, inputs, labels);
    for (int64_t j = 0; j < cfg->pairs; j++)
        put(cfg, j, keys[j], values[j], slots[j], inputs, labels);
}

void lcsm_mqar_example(const lcsm_mqar_config *cfg, uint64_t index, int32_t *inputs,
                       int32_t *labels)
{
    lcsm_draw s    = {.seed = cfg->seed, .index = index, .purpose = PURPOSE};
    int64_t   half = cfg->vocab / 2;
    clear(cfg, inputs, labels);
    for (int64_t j = 0; j < cfg->pairs; j++) {
        int32_t key   = new_token(&s, 1, half - 1, inputs, j);
        int32_t value = new_token(&s, half, cfg->vocab - half, inputs + 1, j);
        int64_t g     = slot(&s, cfg);
        while (inputs[query_at(cfg, g)] != 0) g = slot(&s, cfg);
        put(cfg, j, key, value, g, inputs, labels);
    }
    if (!cfg->random_non_queries) return;
    for (int64_t t = 2 * cfg->pairs; t < cfg->length; t++)
        if (inputs[t] == 0) inputs[t] = lcsm_draw_below(&s, cfg->vocab);
}
