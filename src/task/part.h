/* task/part.h - what the generators of tasks share. */
#ifndef LCSM_TASK_PART_H
#define LCSM_TASK_PART_H
#include <stdio.h>

#include "task/draw.h"
#include "task/task.h"

static inline lcsm_draw lcsm_task_draw(const lcsm_task_config *cfg, uint64_t index,
                                       uint32_t purpose)
{
    return (lcsm_draw){.seed = cfg->seed, .index = index, .purpose = purpose};
}

/* Every token `pad`, and nothing is asked. */
static inline void lcsm_task_clear(const lcsm_task_config *cfg, int32_t pad, int32_t *inputs,
                                   int32_t *targets)
{
    for (int64_t t = 0; t < cfg->length; t++) {
        inputs[t]  = pad;
        targets[t] = LCSM_TASK_NONE;
    }
}

static inline lcsm_status lcsm_task_range(const char *what, int64_t value, int64_t least,
                                          int64_t most, lcsm_error *err)
{
    if (value >= least && value <= most) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_CONFIG, "%s is %lld; expected %lld to %lld", what,
                     (long long)value, (long long)least, (long long)most);
}

/* Lengths and vocabularies have room in a token. */
enum { LCSM_TASK_LONGEST = 1 << 24 };

/* Keys, values and such: a letter and the number within its kind. */
static inline void lcsm_task_put(char *text, const char *kind, int64_t number)
{
    (void)snprintf(text, LCSM_TASK_SYMBOL, "%s%lld", kind, (long long)number);
}

static inline int64_t lcsm_task_one_label(const lcsm_task_config *cfg)
{
    (void)cfg;
    return 1;
}

static inline int64_t lcsm_task_all_labels(const lcsm_task_config *cfg)
{
    (void)cfg;
    return 0;
}

#endif
