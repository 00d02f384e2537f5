/* batch.c - blocks of a stream, in order or shuffled by a permutation that needs no memory. */
#include <assert.h>
#include <stdlib.h>

#include "base/rng.h"
#include "data/dataset.h"

enum { ROUNDS = 8, PURPOSE = 0x5348464c /* "SHFL" */ };

uint64_t lcsm_dataset_blocks(const lcsm_dataset *ds, size_t T)
{
    assert(T > 0);
    return ds->count / T + (ds->count % T != 0);
}

uint64_t lcsm_dataset_batches(const lcsm_dataset *ds, const lcsm_dataset_order *order)
{
    uint64_t blocks = lcsm_dataset_blocks(ds, order->T);
    assert(order->B > 0);
    return blocks / order->B + (blocks % order->B != 0);
}

/* ---- the permutation -------------------------------------------------------------------- */

/* The smallest h with 2^(2h) >= n. */
static unsigned half_bits(uint64_t n)
{
    unsigned h = 1;
    while (h < 32 && (UINT64_C(1) << (2 * h)) < n) h++;
    return h;
}

/* A Feistel network on 2h bits: whatever the round function is, it is a permutation. */
static uint64_t feistel(uint64_t x, unsigned h, uint64_t seed, uint64_t epoch)
{
    uint64_t mask = (UINT64_C(1) << h) - 1;
    uint32_t left = (uint32_t)(x >> h), right = (uint32_t)(x & mask);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        lcsm_u32x4 counter = {{right, round, (uint32_t)epoch, (uint32_t)(epoch >> 32)}};
        uint32_t   f = lcsm_philox(counter, (uint32_t)seed ^ PURPOSE, (uint32_t)(seed >> 32)).v[0];
        uint32_t   next = (left ^ f) & (uint32_t)mask;
        left            = right;
        right           = next;
    }
    return (uint64_t)left << h | right;
}

/* Where x goes in a permutation of 0 .. n - 1. What leaves the range is sent on until it is back,
 * which happens because a permutation consists of cycles; at most 4 steps on average. */
static uint64_t permute(uint64_t x, uint64_t n, uint64_t seed, uint64_t epoch)
{
    unsigned h = half_bits(n);
    do x = feistel(x, h, seed, epoch);
    while (x >= n);
    return x;
}

/* ---- batches ---------------------------------------------------------------------------- */

/* Fills one row with a block; returns how many targets count. */
static size_t fill(const lcsm_dataset *ds, uint64_t block, size_t T, int32_t *tokens,
                   int32_t *targets)
{
    uint64_t first = block * T;
    size_t   here  = ds->count - first < T ? (size_t)(ds->count - first) : T;
    int32_t  start = ds->shards[0].head.start;
    lcsm_dataset_read(ds, first, here, targets);
    tokens[0] = start;
    if (ds->first + first > 0) /* the token before, which may belong to another part */
        lcsm_dataset_read_at(ds, ds->first + first - 1, 1, tokens);
    for (size_t t = 1; t < T; t++) tokens[t] = t - 1 < here ? targets[t - 1] : start;
    for (size_t t = here; t < T; t++) targets[t] = LCSM_TARGET_NONE;
    return here;
}

static void fill_nothing(const lcsm_dataset *ds, size_t T, int32_t *tokens, int32_t *targets)
{
    for (size_t t = 0; t < T; t++) {
        tokens[t]  = ds->shards[0].head.start;
        targets[t] = LCSM_TARGET_NONE;
    }
}

static void mark(int32_t *reset, size_t T, bool first)
{
    for (size_t t = 0; t < T; t++) reset[t] = 0;
    reset[0] = first;
}

size_t lcsm_dataset_batch(const lcsm_dataset *ds, const lcsm_dataset_order *order, uint64_t index,
                          int32_t *tokens, int32_t *targets, int32_t *reset)
{
    uint64_t blocks  = lcsm_dataset_blocks(ds, order->T);
    uint64_t batches = lcsm_dataset_batches(ds, order);
    size_t   counted = 0;
    assert(index < batches);
    for (size_t b = 0; b < order->B; b++) {
        uint64_t block = order->carried ? b * batches + index : index * order->B + b;
        int32_t *x = tokens + b * order->T, *y = targets + b * order->T;
        if (reset != NULL) mark(reset + b * order->T, order->T, !order->carried || index == 0);
        if (block >= blocks) {
            fill_nothing(ds, order->T, x, y);
            continue;
        }
        if (order->shuffle && !order->carried)
            block = permute(block, blocks, order->seed, order->epoch);
        counted += fill(ds, block, order->T, x, y);
    }
    return counted;
}
