/* graph/ops/round.h - values of a graph that are kept in bfloat16 from forward to backward. */
#ifndef LCSM_GRAPH_OPS_ROUND_H
#define LCSM_GRAPH_OPS_ROUND_H
#include <stddef.h>
#include <stdint.h>

struct lcsm_pool;

/* n numbers of either type to bfloat16 and back, by the kernels of that type. */
#define LCSM_ROUND_DECLARE(type)                                                                   \
    void lcsm_round_keep_##type(struct lcsm_pool *pool, const void *kernels, ptrdiff_t n,          \
                                const void *wide, uint16_t *kept);                                 \
    void lcsm_round_widen_##type(struct lcsm_pool *pool, const void *kernels, ptrdiff_t n,         \
                                 const uint16_t *kept, void *wide);
LCSM_ROUND_DECLARE(f32)
LCSM_ROUND_DECLARE(f64)
#undef LCSM_ROUND_DECLARE
#endif
