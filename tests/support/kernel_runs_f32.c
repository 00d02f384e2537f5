/* kernel_runs_f32.c - the runs in float. */
#define LCSM_VARIANT_F32_OP
#include "kernel_runs.inc"
