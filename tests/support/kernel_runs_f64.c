/* kernel_runs_f64.c - the runs in double. */
#define LCSM_VARIANT_F64_OP
#include "kernel_runs.inc"
