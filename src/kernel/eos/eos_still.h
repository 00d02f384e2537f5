/*
 * kernel/eos/eos_still.h - powers of a static o, evaluated in double: whatever rounding a static o
 * has, it has again at every step.
 *
 * VW numbers in a call.
 */
#ifndef LCSM_KERNEL_EOS_STILL_H
#define LCSM_KERNEL_EOS_STILL_H
#include "kernel/vec.h"

/* exp(log), in double; 0 or less than 1e-50 for a log of minus infinity. */
void K_(lcsm_still_exp)(const double *log, double *o);

/* exp(l (log + i phase)). */
void K_(lcsm_still_power)(const double *log, const double *phase, double l, vec o[2]);
#endif
