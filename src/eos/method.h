/*
 * eos/method.h - the paper's methods as a table: one row a method.
 *
 * A row has the columns of the paper's table, the builder of its states, and what the method adds
 * around the recurrence. A new row appears in every command, test and benchmark.
 */
#ifndef LCSM_EOS_METHOD_H
#define LCSM_EOS_METHOD_H
#include "eos/mixer.h"

typedef lcsm_tensor *lcsm_native_fn(const lcsm_mixer *m);

typedef struct {
    const char *name, *family;
    const char *input, *expand, *oscillation, *shrink, *psi, *memory;
    /* i, e, o, s; NULL: the mixer is not one call of the operator, and has no bare flavour. */
    lcsm_states_fn *states;
    lcsm_native_fn *native;  /* the whole mixer; NULL: as bare */
    int             channel; /* lcsm_channel of the native block */
    int             norm;    /* lcsm_block_norm of the native block */
} lcsm_method;

extern const lcsm_method LCSM_METHODS[];
extern const size_t      LCSM_METHOD_COUNT;

const lcsm_method *lcsm_method_find(const char *name); /* NULL: no such method */
const char        *lcsm_method_nearest(const char *name);

/* The mixer of a config's method or code, in its flavour: x -> (B, T, D). */
lcsm_tensor *lcsm_mixer_build(const lcsm_mixer *m);

/* ---- builders, one file a family ---- */
lcsm_states_fn lcsm_linear_attention_states, lcsm_retnet_states, lcsm_tnl_states,
    lcsm_cosformer_states, lcsm_lrpe_states, lcsm_gla_states, lcsm_gateloop_states, lcsm_dur_states,
    lcsm_gfw_states, lcsm_fwp_states, lcsm_m1_states, lcsm_m2_states, lcsm_m3_states,
    lcsm_mamba_states;
lcsm_native_fn lcsm_linear_attention_mixer, lcsm_retnet_mixer, lcsm_tnl_mixer, lcsm_cosformer_mixer,
    lcsm_lrpe_mixer, lcsm_gla_mixer, lcsm_gateloop_mixer, lcsm_dur_mixer, lcsm_gfw_mixer,
    lcsm_fwp_mixer, lcsm_attention_mixer, lcsm_mamba_mixer;
#endif
