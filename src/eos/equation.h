/* eos/equation.h - recurrences, written out for a reader. */
#ifndef LCSM_EOS_EQUATION_H
#define LCSM_EOS_EQUATION_H
#include <lcsm/eos.h>

#include "base/strbuf.h"
#include "eos/code.h"

/* One equation a line, element by element: a is a row of the memory, b a channel. Names in them are
 * those of the parameters. */
void lcsm_code_equations(lcsm_strbuf *out, const lcsm_code_states *c, double tau);

/* The same for any operator; names are those of its operands. */
void lcsm_operator_equations(lcsm_strbuf *out, const lcsm_eos_desc *d);
#endif
