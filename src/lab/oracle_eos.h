/*
 * lab/oracle_eos.h - the eos op of a case: its operands, and outputs beside y.
 *
 * The operator hands out y and the last memory. The oscillation of every step and the memory after
 * every step come from the same operator used otherwise: o_t is what one step with e = 0 makes of
 * a memory of ones, m_t is the memory after a step of length 1 from m_{t-1}.
 */
#ifndef LCSM_LAB_ORACLE_EOS_H
#define LCSM_LAB_ORACLE_EOS_H
#include "lab/oracle_lab.h"

typedef struct {
    lcsm_eos_desc desc;
    lcsm_tensor  *in[EOS_OPERANDS]; /* NULL: absent */
    lcsm_tensor  *m0, *reset;
} lcsm_lab_eos;

lcsm_lab_eos lcsm_lab_eos_of(ptrdiff_t B, ptrdiff_t T, ptrdiff_t H, ptrdiff_t K, ptrdiff_t D);

/* The operand j (EOS_i and so on) with these axes; t has B T H K D of them in any shape. */
void lcsm_lab_operand(lcsm_lab_eos *x, int j, lcsm_tensor *t, unsigned axes);
void lcsm_lab_operand_complex(lcsm_lab_eos *x, int j, lcsm_tensor *t, unsigned axes);

/* Whether these operands make the memory complex. */
bool lcsm_lab_eos_is_complex(const lcsm_lab_eos *x);

/* The operands that a method made, for one sequence of T steps. */
lcsm_lab_eos lcsm_lab_eos_from(const lcsm_eos_operands *s, ptrdiff_t T);

/* The op in the form that the lab asks for. y is (B, T, H D); the last memory goes to *m_T unless
 * that is NULL. */
lcsm_tensor *lcsm_lab_eos_add(lcsm_lab *lab, const lcsm_lab_eos *x, lcsm_tensor **m_T);

/* Of one sequence: o (T, H, K, D), pairs if the memory is complex, as an output; and the memory
 * after each step, as parts of an output. Nothing if the file does not have it. */
void lcsm_lab_out_oscillation(lcsm_lab *lab, const char *name, const lcsm_lab_eos *x);
void lcsm_lab_out_memories(lcsm_lab *lab, const char *name, const lcsm_lab_eos *x);
/* Of the delta rule: i_t - m_{t-1}^T erase_t, as parts of an output. */
void lcsm_lab_out_erased(lcsm_lab *lab, const char *name, const lcsm_lab_eos *x);
/* What comes out for i = 1 at the first step and 0 after it, over T steps: (T, H D). */
lcsm_tensor *lcsm_lab_impulse(lcsm_lab *lab, const lcsm_lab_eos *x, ptrdiff_t T);

#endif
