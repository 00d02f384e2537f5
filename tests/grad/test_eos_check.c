/* The operator's own proof by the fastest set of kernels of this machine. */
#include "eos_prove.h"
#include "test.h"

TEST(eos_every_operand_form_passes_on_the_fastest_set)
{
    eos_prove(LCSM_ISA_AUTO, 2);
}
