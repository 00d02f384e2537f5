/*
 * eos/mixer.h - what a sequence mixer is built from.
 *
 * A method makes states from x and hands them to the operator:
 *
 *     x (B, T, D) -> i, e, o, s -> eos -> y (B, T, H D') -> the method's surroundings -> (B, T, D)
 *
 * `bare` models end with LayerNorm and one projection; `native` ones with what their method has.
 * All builders follow the graph's rule: after a failure they return NULL and do nothing.
 */
#ifndef LCSM_EOS_MIXER_H
#define LCSM_EOS_MIXER_H

#include "eos/model_config.h"
#include "eos/tables.h"
#include "graph/graph.h"
#include "graph/layers.h"
#include "graph/mixers.h"

/* One layer's place in a model. */
typedef struct {
    lcsm_graph              *g;
    const lcsm_model_config *cfg;
    lcsm_tensor             *x;     /* (B, T, D), normed */
    lcsm_tensor             *reset; /* I32 (B, T), or NULL */
    lcsm_tensor  *places;           /* I32 (B, n), or NULL: nobody reads other rows of the result */
    ptrdiff_t     B, T, D;
    bool          whole; /* every run has whole sequences: nothing is carried */
    int           layer, layers;
    lcsm_tensor **side;  /* NULL, or four places where states leave what the end needs */
    lcsm_tensor **first; /* NULL, or what an earlier layer has left for the later ones, NULL until
                          * one has; a second place is for reversed time */
} lcsm_mixer;

typedef lcsm_eos_operands lcsm_states;

/* x -> what a mixer, or a part of it, gives. */
typedef lcsm_tensor *lcsm_native_fn(const lcsm_mixer *m);

/* x -> states; false once the graph has failed. */
typedef bool lcsm_states_fn(const lcsm_mixer *m, lcsm_states *s);

/* ---- sizes ---- */

ptrdiff_t lcsm_mix_heads(const lcsm_mixer *m, ptrdiff_t standard);
ptrdiff_t lcsm_mix_heads_of(ptrdiff_t width);                       /* of 64 channels, if it can */
ptrdiff_t lcsm_mix_expand(const lcsm_mixer *m, ptrdiff_t standard); /* k of a head */
ptrdiff_t lcsm_mix_or(ptrdiff_t value, ptrdiff_t standard);         /* standard if value is 0 */
ptrdiff_t lcsm_mix_inner(const lcsm_mixer *m, double standard);     /* inner_ratio D */
ptrdiff_t lcsm_mix_value_width(const lcsm_mixer *m);                /* value_ratio D */
/* The same in each of the heads, which must divide it. */
ptrdiff_t lcsm_mix_value_head(const lcsm_mixer *m, ptrdiff_t heads);
/* The same number, which must be even: halves of it are stored, or it is turned in pairs. */
ptrdiff_t lcsm_mix_even(const lcsm_mixer *m, const char *what, ptrdiff_t n);
/* width / heads; the graph fails if that leaves a rest. */
ptrdiff_t lcsm_mix_split(const lcsm_mixer *m, const char *what, ptrdiff_t width, ptrdiff_t heads);

/* epsilon of a norm inside a mixer */
double lcsm_mix_eps(const lcsm_mixer *m, double standard);

/* ---- parameters ---- */

/* A function for LCSM_INIT_FILL: writes v[0 .. count - 1]. */
#define LCSM_FILL(name)                                                                            \
    static void name(double *v, const lcsm_shape *shape __attribute__((unused)), size_t count,     \
                     const lcsm_init *init __attribute__((unused)),                                \
                     uint64_t         seed __attribute__((unused)),                                \
                     uint32_t         purpose __attribute__((unused)))

/* The first values of a projection: uniform by its inputs, or N(0, 0.02^2) in the MQAR model. */
lcsm_init    lcsm_mix_init(const lcsm_mixer *m, ptrdiff_t in);
lcsm_init    lcsm_mix_xavier(ptrdiff_t in, ptrdiff_t out, double gain);
lcsm_tensor *lcsm_mix_param(const lcsm_mixer *m, const char *name, lcsm_shape shape, lcsm_init init,
                            unsigned flags);
/* name.weight [out, in] and, if bias, name.bias [out]. */
lcsm_tensor *lcsm_mix_project(const lcsm_mixer *m, lcsm_tensor *x, const char *name, ptrdiff_t out,
                              bool bias);
lcsm_tensor *lcsm_mix_project_init(const lcsm_mixer *m, lcsm_tensor *x, const char *name,
                                   ptrdiff_t out, bool bias, lcsm_init init);
/* Without a bias; flags are those of the weight. */
lcsm_tensor *lcsm_mix_project_flags(const lcsm_mixer *m, lcsm_tensor *x, const char *name,
                                    ptrdiff_t out, unsigned flags);

/* Angles [n], 10000^(-2 j / width): learned, or frozen. */
lcsm_tensor *lcsm_mix_angles(const lcsm_mixer *m, const char *name, ptrdiff_t n, ptrdiff_t width,
                             bool learned);

/* RWKV's mixing weights [D], with their first values. */
lcsm_tensor *lcsm_mix_rwkv_mu(const lcsm_mixer *m, const char *name, lcsm_rwkv4_mix mix);

/* ---- RWKV ---- */

/* Heads of 64 channels, if the settings do not say their number. */
ptrdiff_t lcsm_mix_rwkv_heads(const lcsm_mixer *m);
/* x of the step before, 0 before the first. */
lcsm_tensor *lcsm_mix_previous(const lcsm_mixer *m);
/* LayerNorm of y in heads by ln_x.weight, of these initial values, and ln_x.bias. */
lcsm_tensor *lcsm_mix_rwkv_norm(const lcsm_mixer *m, lcsm_tensor *y, ptrdiff_t H, lcsm_init weight);

/* ---- more parameters ---- */

/* A frozen parameter [n] of given values. */
lcsm_tensor *lcsm_mix_constant(const lcsm_mixer *m, const char *name, lcsm_shape shape,
                               lcsm_init init);

/* ---- state spaces ---- */

/* Flags of what makes a state space: it is trained slowly and does not decay. */
enum { LCSM_MIX_SPACE = LCSM_PARAM_NO_DECAY | LCSM_PARAM_SLOW };

/* x itself, or W x in the bare flavour. */
lcsm_tensor *lcsm_mix_input(const lcsm_mixer *m);
/* log_dt [n], from 1e-3 to 1e-1 evenly in its logarithm. */
lcsm_tensor *lcsm_mix_log_dt(const lcsm_mixer *m, ptrdiff_t n);
/* y + D x. */
lcsm_tensor *lcsm_mix_skip(const lcsm_mixer *m, lcsm_tensor *y);
/* gelu(y), with dropout. */
lcsm_tensor *lcsm_mix_gelu(const lcsm_mixer *m, lcsm_tensor *y);

/* ---- heads ---- */

/* x (B, T, H n) with each head times its number of s (B, T, H). */
lcsm_tensor *lcsm_mix_by_head(const lcsm_mixer *m, lcsm_tensor *x, lcsm_tensor *s);
/* x (B, T, G n) as (B, T, H n): consecutive heads share one of G. */
lcsm_tensor *lcsm_mix_shared(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t G, ptrdiff_t H);
/* gelu(x) y, by the tanh approximation of gelu. */
lcsm_tensor *lcsm_mix_geglu(const lcsm_mixer *m, lcsm_tensor *x, lcsm_tensor *y);
/* Each of `heads` groups of x with length 1. */
lcsm_tensor *lcsm_mix_unit(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t heads, double eps);

/* A convolution of conv_width steps in each channel of x by name.weight and, if bias, name.bias,
 * then silu if asked; without a width only that. */
lcsm_tensor *lcsm_mix_conv(const lcsm_mixer *m, lcsm_tensor *x, const char *name, bool bias,
                           bool silu);
/* The bias [n] of a softplus that gives steps from 1e-3 to 1e-1; A_log [H], rates from 1 to 16. */
lcsm_tensor *lcsm_mix_dt_bias(const lcsm_mixer *m, const char *name, ptrdiff_t n);
lcsm_tensor *lcsm_mix_rates(const lcsm_mixer *m, ptrdiff_t H);
/* |x|, whose gradient at 0 is 0. */
lcsm_tensor *lcsm_mix_abs(const lcsm_mixer *m, lcsm_tensor *x);
/* x [n] as [n times], each number so many times. */
lcsm_tensor *lcsm_mix_spread(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t times);
/* -exp(A_log) softplus(z + dt_bias), the log gate of Mamba-2's kind: z (B, T, H n), A_log [H],
 * dt_bias [H n] of steps from 1e-3 to 1e-1. */
lcsm_tensor *lcsm_mix_dt_gate(const lcsm_mixer *m, lcsm_tensor *z, ptrdiff_t H);

/* ---- operands ---- */

static inline lcsm_operand lcsm_per_token_k(lcsm_tensor *x)
{
    return (lcsm_operand){x, LCSM_AXIS_T | LCSM_AXIS_K};
}

static inline lcsm_operand lcsm_per_token_d(lcsm_tensor *x)
{
    return (lcsm_operand){x, LCSM_AXIS_T | LCSM_AXIS_D};
}

static inline lcsm_operand lcsm_static(lcsm_tensor *x, unsigned axes)
{
    return (lcsm_operand){x, axes};
}

/* Complex channels, h = exp(log + i phase) h + x: x (B, T, 2 D), real parts before the imaginary
 * ones, log (T) D, phase [D]; their output is h, as x. K = 1, e = s = 1. */
lcsm_states lcsm_mix_channels(const lcsm_mixer *m, lcsm_tensor *x, lcsm_operand log,
                              lcsm_tensor *phase);

/* A static 1 in as many rows as `like` [K] or [K, D] has. */
lcsm_operand lcsm_mix_ones(const lcsm_mixer *m, lcsm_tensor *like);

/* ---- running and finishing ---- */

/* False, and the graph fails, if sequences are packed: those run forward in time only. */
bool lcsm_mix_both_ways(const lcsm_mixer *m);

/* One direction of time: the operands of the operator alone, its sums, and their running maximum
 * (NULL without one). A way of x backwards is turned before it is joined with another. */
typedef struct {
    lcsm_states  s;
    lcsm_tensor *y, *mu;
} lcsm_way;

lcsm_way lcsm_mix_way(const lcsm_mixer *m, const lcsm_states *s);
lcsm_way lcsm_mix_turned(const lcsm_mixer *m, lcsm_way back);
lcsm_way lcsm_mix_joined(const lcsm_mixer *m, lcsm_way a, lcsm_way b);

/* The recurrence of the states, in one direction of time or in both: then
 * y = F(x) + reverse(F(reverse x)) - self, where self is the term that both have; a normaliser
 * divides the sum. */
lcsm_tensor *lcsm_mix_recurrence(const lcsm_mixer *m, lcsm_states_fn *states);

/* The rows of x (B, T, D) that places (B, n) name, as (B, n, D); x itself if it has no others. */
lcsm_tensor *lcsm_mix_pick(lcsm_graph *g, lcsm_tensor *places, lcsm_tensor *x);

/* LayerNorm over all channels and the output projection; where places are given, of those rows. */
lcsm_tensor *lcsm_mix_bare_end(const lcsm_mixer *m, lcsm_tensor *y);

/* x (B, T, J n) as (B, T J, n): J steps for each token. Their first log gate, (B, T, H), where
 * sequences are packed: 0, and a decay of 0 where one begins. */
lcsm_tensor *lcsm_mix_micro(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t J);
lcsm_tensor *lcsm_mix_fresh(const lcsm_mixer *m, ptrdiff_t H);

/* F(x) in both directions of time, if the settings ask for them; both count the step itself. */
lcsm_tensor *lcsm_mix_ways(const lcsm_mixer *m, lcsm_native_fn *forward);

/* norm(y in heads) * silu(gate), projected to D. */
lcsm_tensor *lcsm_mix_gated_end(const lcsm_mixer *m, lcsm_tensor *y, lcsm_tensor *gate,
                                const lcsm_norm_attr *norm, bool affine);
#endif
