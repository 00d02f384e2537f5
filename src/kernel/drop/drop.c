/*
 * drop.c - dropout on vectors: the generator runs on as many blocks at once as a vector has lanes
 * of 64 bits, each lane a word of 32.
 */
#include "kernel/drop/drop.h"

#include <string.h>

#include "base/rng.h"
#include "kernel/vec.h"

typedef R_(lcsm_drop) drop;

enum { BYTES = sizeof(vec), LANES = BYTES / 8, SETS = 2, WORDS = 4 * LANES * SETS };

typedef uint64_t wide __attribute__((vector_size(BYTES)));

/* Blocks at .. at + LANES - 1 of the stream, four words each, in order. */
VEC_INLINE void blocks(const drop *d, uint64_t at, uint64_t *to)
{
    const uint64_t low  = 0xffffffffu;
    uint32_t       key0 = (uint32_t)d->seed, key1 = (uint32_t)(d->seed >> 32);
    wide           index = (wide){0} + at;
    for (int l = 0; l < LANES; l++) index[l] += (uint64_t)l;
    wide c0 = index & low, c1 = index >> 32, c2 = (wide){0} + d->purpose, c3 = {0};
    for (int round = 0; round < LCSM_PHILOX_ROUNDS; round++) {
        wide a = c0 * LCSM_PHILOX_M0, b = c2 * LCSM_PHILOX_M1;
        c0 = (b >> 32) ^ c1 ^ key0;
        c1 = b & low;
        c2 = (a >> 32) ^ c3 ^ key1;
        c3 = a & low;
        key0 += LCSM_PHILOX_W0;
        key1 += LCSM_PHILOX_W1;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    wide first = c0 | c1 << 32, second = c2 | c3 << 32;
#else
    wide first = c1 | c0 << 32, second = c3 | c2 << 32;
#endif
#pragma GCC unroll 8
    for (int l = 0; l < LANES; l++) {
        to[2 * l]     = first[l];
        to[2 * l + 1] = second[l];
    }
}

/* n <= WORDS numbers and their words. */
VEC_INLINE void apply(const drop *d, const uint32_t *words, ptrdiff_t n, const real *x, bool add,
                      real *y)
{
    ptrdiff_t j = 0;
#if !LCSM_REAL_IS_DOUBLE
    for (; j + VW <= n; j += VW) {
        uvec word;
        memcpy(&word, words + j, sizeof word);
        vec v = vselect((ivec)(word < d->below), vzero(), vload(x + j) * d->factor);
        vstore(y + j, add ? vload(y + j) + v : v);
    }
#endif
    for (; j < n; j++) {
        real v = words[j] < d->below ? 0 : d->factor * x[j];
        y[j]   = add ? y[j] + v : v;
    }
}

static void run(const drop *d, ptrdiff_t n, const real *x, bool add, real *y)
{
    uint32_t  words[WORDS];
    uint64_t  pairs[WORDS / 2], block = d->first / 4;
    ptrdiff_t skip = (ptrdiff_t)(d->first % 4);
    while (n > 0) {
        ptrdiff_t now = WORDS - skip < n ? WORDS - skip : n;
        for (int s = 0; s < SETS; s++)
            blocks(d, block + (uint64_t)(s * LANES), pairs + s * 2 * LANES);
        memcpy(words, pairs, sizeof words);
        apply(d, words + skip, now, x, add, y);
        x += now;
        y += now;
        n -= now;
        block += LANES * SETS;
        skip = 0;
    }
}

const R_(lcsm_drop_kernels) K_(lcsm_drop_words) = {run};
