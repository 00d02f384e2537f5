/*
 * kernel/eos/eos_operands.h - the one list of operands, of the public structs and of the kernels.
 *
 * lcsm_eos_desc, lcsm_eos_states and lcsm_eos_grads have the fields of the first list in this
 * order, those of the later ones at their ends; eos_plan.c does not compile otherwise. A new
 * operand is a line here, a field at the end there, and a row of the rules in eos_plan.c.
 */
#ifndef LCSM_KERNEL_EOS_OPERANDS_H
#define LCSM_KERNEL_EOS_OPERANDS_H
#include <lcsm/eos.h>

#define LCSM_EOS_FIRST_OPERANDS(X)                                                                 \
    X(i)                                                                                           \
    X(e)                                                                                           \
    X(s)                                                                                           \
    X(row)                                                                                         \
    X(col)                                                                                         \
    X(full)                                                                                        \
    X(row_phase)                                                                                   \
    X(col_phase)                                                                                   \
    X(full_phase)                                                                                  \
    X(u)                                                                                           \
    X(w)                                                                                           \
    X(dense)                                                                                       \
    X(erase)

#define LCSM_EOS_LATER_OPERANDS(X)                                                                 \
    X(a)                                                                                           \
    X(b)                                                                                           \
    X(bonus)

#define LCSM_EOS_OPERAND_LIST(X) LCSM_EOS_FIRST_OPERANDS(X) LCSM_EOS_LATER_OPERANDS(X)

/* The operands by number. */
enum {
#define X(name) EOS_##name,
    LCSM_EOS_OPERAND_LIST(X)
#undef X
        EOS_OPERANDS,
    EOS_FIRST_OPERANDS = EOS_erase + 1
};
#endif
