/*
 * eos/method.h - the paper's methods as a table: one row a method.
 *
 * A row has the columns of the paper's table, the builder of its states, and what the method adds
 * around the recurrence. A new row appears in every command, test and benchmark.
 */
#ifndef LCSM_EOS_METHOD_H
#define LCSM_EOS_METHOD_H
#include "eos/mixer.h"

typedef struct {
    const char *name, *family;
    const char *input, *expand, *oscillation, *shrink, *psi, *memory;
    /* i, e, o, s; NULL: the mixer is not one call of the operator. */
    lcsm_states_fn *states;
    lcsm_native_fn *native;     /* the whole mixer; NULL: as bare */
    int             channel;    /* lcsm_channel of the native block */
    int             norm;       /* lcsm_block_norm of the native block */
    bool            embed_norm; /* a norm right after the embedding */
    /* The bare flavour, where it is not a norm and a projection after the recurrence of the states;
     * NULL: that, or there is none. */
    lcsm_native_fn *bare;
    /* Of the settings that only some models have, those that this one reads: "heads expand". */
    const char *reads;
    int         year;
    const char *reference; /* authors or title, of that year; "" for what has none */
} lcsm_method;

extern const lcsm_method LCSM_METHODS[];
extern const size_t      LCSM_METHOD_COUNT;

const lcsm_method *lcsm_method_find(const char *name); /* NULL: no such method */

/* Whether a row's `reads` has the key; whether any row's has, so that it is not for all models. */
bool lcsm_method_reads(const lcsm_method *m, const char *key);
bool lcsm_method_owns(const char *key);

/* y_t as a formula. */
const char *lcsm_method_output(const lcsm_method *m);

/* What would do in the place of a name that is no method's, as the end of a sentence. */
enum { LCSM_METHOD_HINT = 96 };
const char *lcsm_method_hint(const char *name, char text[LCSM_METHOD_HINT]);

static inline bool lcsm_method_has_bare(const lcsm_method *m)
{
    return m->states != NULL || m->bare != NULL;
}

/* The mixer of a config's method or code, in its flavour: x -> (B, T, D). */
lcsm_tensor *lcsm_mixer_build(const lcsm_mixer *m);

/* ---- builders, one file a family ---- */
/* clang-format off */
#define LCSM_STATES_LIST(X)                                                                        \
    X(linear_attention) X(retnet) X(tnl) X(cosformer) X(lrpe) X(gla) X(gateloop) X(dur) X(gfw)     \
    X(fwp) X(m1) X(m2) X(m3) X(mamba) X(rwkv4_eos) X(hgrn) X(lrn) X(s4d) X(s5_table) X(dss)     \
    X(hgrn2) X(deltanet) X(gated_deltanet) X(kda) X(mamba2) X(falcon_mamba) X(longhorn) X(mingru) X(minlstm)       \
    X(rg_lru) X(based) X(rebased) X(lightning) X(rwkv5) X(rwkv6) X(rwkv7) \
    X(gated_deltanet_2) X(complex_kda) X(comba) X(mlstm)
#define LCSM_MIXER_LIST(X)                                                                         \
    X(linear_attention) X(retnet) X(tnl) X(cosformer) X(lrpe) X(gla) X(gateloop) X(dur) X(gfw)     \
    X(fwp) X(attention) X(mamba) X(rwkv4) X(rwkv4_eos) X(hgrn) X(lrn) X(s4) X(s4d) X(s5) X(dss)    \
    X(tnn) X(hgrn2) X(deltanet) X(gated_deltanet) X(kda) X(deltaproduct) X(mamba2) X(falcon_mamba) X(longhorn) X(mingru) X(minlstm)       \
    X(rg_lru) X(based) X(rebased) X(lightning) X(gsa) X(rwkv5) X(rwkv6) X(rwkv7) \
    X(gated_deltanet_2) X(complex_kda) X(comba) X(mlstm) X(mamba3)
#define LCSM_BARE_LIST(X) X(s4) X(s5) X(tnn) X(rwkv4_eos) X(deltaproduct) X(gsa) X(mamba3)
/* clang-format on */

#define X(name) lcsm_states_fn lcsm_##name##_states;
LCSM_STATES_LIST(X)
#undef X
#define X(name) lcsm_native_fn lcsm_##name##_mixer;
LCSM_MIXER_LIST(X)
#undef X
#define X(name) lcsm_native_fn lcsm_##name##_bare;
LCSM_BARE_LIST(X)
#undef X
#endif
