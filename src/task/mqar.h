/*
 * task/mqar.h - multi-query associative recall: pairs of key and value, then the keys again.
 *
 *     key_0 value_0 ... key_(P-1) value_(P-1)  0 key_3 0 0 0 key_0 ...
 *
 * The label of a key that is asked is its value, at the key's own position; every other label is
 * LCSM_MQAR_IGNORED. Keys are distinct tokens of 1 .. V/2 - 1, values distinct ones of V/2 .. V
 * - 1. Behind the 2 P tokens of context lie (N - 2 P) / 2 slots of two tokens; slot g is drawn for
 * the next key with weight (g + 1)^(power - 1), among those that are free, so early keys tend to be
 * asked early.
 *
 * An example is a function of the config, its seed and the example's number, and of nothing else.
 */
#ifndef LCSM_TASK_MQAR_H
#define LCSM_TASK_MQAR_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "task/draw.h"

enum { LCSM_MQAR_IGNORED = -100 };

typedef struct {
    int64_t  vocab;              /* V: 8192 in the paper */
    int64_t  length;             /* N, even */
    int64_t  pairs;              /* P, 4 P <= N */
    double   power;              /* 0 < power <= 1: 0.01 in the paper, 1 spreads evenly */
    bool     random_non_queries; /* tokens between the queries are random ones, not 0 */
    uint64_t seed;
} lcsm_mqar_config;

lcsm_status lcsm_mqar_check(const lcsm_mqar_config *cfg, lcsm_error *err);

/* Example `index` of a config that has been checked: length tokens and as many labels. */
void lcsm_mqar_example(const lcsm_mqar_config *cfg, uint64_t index, int32_t *inputs,
                       int32_t *labels);

/* An example of given keys, values and slots, P each; what lies between the queries is 0. */
void lcsm_mqar_place(const lcsm_mqar_config *cfg, const int32_t *keys, const int32_t *values,
                     const int32_t *slots, int32_t *inputs, int32_t *labels);

static inline int64_t lcsm_mqar_slots(const lcsm_mqar_config *cfg)
{
    return (cfg->length - 2 * cfg->pairs) / 2;
}

/* One of 0 .. slots - 1, drawn with weight (g + 1)^(power - 1). */
int64_t lcsm_mqar_slot(lcsm_draw *s, double power, int64_t slots);

/* The chance of each slot at the first draw: lcsm_mqar_slots numbers with sum 1. */
void lcsm_mqar_weights(const lcsm_mqar_config *cfg, double *weights);
#endif
