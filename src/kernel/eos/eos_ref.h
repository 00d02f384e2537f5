/* The recurrent form: the definition. */
#ifndef LCSM_KERNEL_EOS_REF_H
#define LCSM_KERNEL_EOS_REF_H
#include "kernel/eos/eos.h"

extern const R_(lcsm_eos_kernels) K_(lcsm_eos_recurrent);
#endif
