/* eos_prove.h - the operator's own proof, `lcsm check eos`, in its short setting. */
#ifndef LCSM_EOS_PROVE_H
#define LCSM_EOS_PROVE_H
#include <lcsm/context.h>

/* The test fails if a row does; nothing happens on a machine that has no such set of kernels. */
void eos_prove(lcsm_isa isa, int threads);
#endif
