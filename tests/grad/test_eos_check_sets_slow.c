/* The operator's own proof by the slower sets of kernels; test_eos_check.c has the fastest, which
 * is AVX-512 or NEON where there is one of them. */
#include "eos_prove.h"
#include "test.h"

TEST(eos_every_operand_form_passes_on_the_references)
{
    eos_prove(LCSM_ISA_REFERENCE, 1);
}

TEST(eos_every_operand_form_passes_on_the_portable_set)
{
    eos_prove(LCSM_ISA_PORTABLE, 1);
}

TEST(eos_every_operand_form_passes_on_avx2)
{
    eos_prove(LCSM_ISA_AVX2, 2);
}
