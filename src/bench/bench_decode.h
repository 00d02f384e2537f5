/* bench/bench_decode.h - what the benchmarks of decoding share. */
#ifndef LCSM_BENCH_BENCH_DECODE_H
#define LCSM_BENCH_BENCH_DECODE_H
#include <lcsm/model.h>

/* Bytes of weights that a pass over a model reads. */
size_t lcsm_bench_weight_bytes(const lcsm_model *model);

#endif
