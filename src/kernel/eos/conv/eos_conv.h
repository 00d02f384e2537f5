/*
 * eos_conv.h - the convolution form: e, s and o static.
 *
 * The output is a long convolution of i with K_l = scale Re(sum_k s o^l e), one kernel for each
 * channel. Resets are not served: the planner sends none here.
 */
#ifndef LCSM_KERNEL_EOS_CONV_H
#define LCSM_KERNEL_EOS_CONV_H
#include "kernel/eos/eos.h"

extern const R_(lcsm_eos_kernels) K_(lcsm_eos_conv);
#endif
