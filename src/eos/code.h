/*
 * eos/code.h - model codes e-o-s-a: the paper's own models.
 *
 *   e, s   1 from the data, 0 a learned K x D matrix          a   activation of e and s, 0..7
 *   o      a row of the oscillation table, 0..11              "0" alone is the SSM parameterisation
 *
 * A code is a choice of states (lcsm_code_states); a custom model names the same choices by keys.
 */
#ifndef LCSM_EOS_CODE_H
#define LCSM_EOS_CODE_H
#include "eos/mixer.h"

/* Where a part of o comes from. */
typedef enum { PART_NONE, PART_DATA, PART_STATIC, PART_FIXED } lcsm_part;

typedef struct {
    const char *notation; /* the paper's, with X for data and W for learned */
    const char *text;     /* the construction */
    lcsm_part   k, d, kd; /* the parts */
    bool        product;  /* one gate of the product of the parts, not a product of gates */
    int         phase;    /* lcsm_phase */
} lcsm_osc_row;

enum { LCSM_OSC_CODES = 12 };
extern const lcsm_osc_row LCSM_OSC_TABLE[LCSM_OSC_CODES];

/* The states of the EOS layer. */
typedef struct {
    bool         ssm;            /* the SSM parameterisation; the rest does not count */
    bool         data_e, data_s; /* else static K x D */
    lcsm_act     act;
    lcsm_osc_row o;
    bool         scalar; /* the k part is one number a head */
} lcsm_code_states;

/* "1-9-1-4" or "0" -> states. */
lcsm_status lcsm_code_parse(const char *code, lcsm_code_states *out, lcsm_error *err);

/* The states that a config asks for: its code, or its custom keys. */
lcsm_status lcsm_code_of_config(const lcsm_model_config *cfg, lcsm_code_states *out,
                                lcsm_error *err);

/* Blocks of the paper's language model, which holds the size of all codes alike: 9 where o has a
 * projection to D, 11 where it is a static vector, else 10; 1-1-1 with an activation has 10. */
ptrdiff_t lcsm_code_depth(const lcsm_code_states *c);

/* i, e, o, s of a code or custom model. */
lcsm_states_fn lcsm_code_build;

/* Constants that the reference layer stores and counts, and we do not: code 10's ones, code 11's.
 */
ptrdiff_t lcsm_code_frozen(const lcsm_code_states *c, ptrdiff_t K, ptrdiff_t D);
#endif
