/*
 * eos_compare.h - a form of the EOS operator against the definition, the recurrent form in double,
 * with every set of kernels that this machine can run.
 *
 * Bounds, relative to the largest number of an array: a float has 24 bits, of which sums of some
 * thousand products and decays that are rounded once and applied many times lose about 8 (2e-5).
 * Where terms cancel, the definition in float loses more, and a form may lose four times as much. A
 * double differs by the order of its sums only (1e-12).
 */
#ifndef LCSM_EOS_COMPARE_H
#define LCSM_EOS_COMPARE_H
#include "check/eos_case.h"

#define EOS_FLOAT_BOUND  2e-5
#define EOS_DOUBLE_BOUND 1e-12

/* The number of arrays (y, m_T, gradients) out of bounds, over all sets and all chunks; chunks end
 * with 0. Each is printed. */
int eos_compare(const lcsm_eos_problem *p, lcsm_eos_form form, const ptrdiff_t *chunks,
                const char *name);

/* The same for a problem made from a case; 0 when the form does not serve it. */
int eos_compare_case(const lcsm_eos_case *c, lcsm_eos_form form, lcsm_eos_sizes n,
                     const lcsm_eos_setting *set, const ptrdiff_t *chunks);

bool eos_form_serves(const lcsm_eos_case *c, lcsm_eos_form form);

/* Of LCSM_EOS_CASES; the test fails if there is none. */
const lcsm_eos_case *eos_case_named(const char *name);
#endif
