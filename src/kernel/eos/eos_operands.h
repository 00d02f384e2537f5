/* kernel/eos/eos_operands.h - the names of the operands, in the order of lcsm_eos_desc. */
#ifndef LCSM_KERNEL_EOS_OPERANDS_H
#define LCSM_KERNEL_EOS_OPERANDS_H
#include <lcsm/eos.h>

#define LCSM_EOS_OPERAND_LIST(X)                                                                   \
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

#endif
