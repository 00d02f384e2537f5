/*
 * eos/model_config.h - the settings of a model as the library sees them: the fields behind the
 * handle lcsm_model_config.
 *
 * Every field is a key; the table in model/config.c has their names, ranges, defaults and help.
 */
#ifndef LCSM_EOS_MODEL_CONFIG_H
#define LCSM_EOS_MODEL_CONFIG_H
#include <lcsm/config.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum { LCSM_FLAVOUR_NATIVE, LCSM_FLAVOUR_BARE } lcsm_flavour;
typedef enum {
    LCSM_WIRING_LM,
    LCSM_WIRING_MQAR,
    LCSM_WIRING_MQAR_PLAIN,
    LCSM_WIRING_AUTOENCODER,
    LCSM_WIRING_STACKED,
} lcsm_wiring;

/* Where a state, or a part of the oscillation, comes from. */
typedef enum { LCSM_FROM_DATA, LCSM_FROM_STATIC, LCSM_FROM_FIXED } lcsm_from;

/* The structure of a custom model's oscillation. */
typedef enum {
    LCSM_OSC_ONES,
    LCSM_OSC_SCALAR,
    LCSM_OSC_ROW,
    LCSM_OSC_COL,
    LCSM_OSC_OUTER,   /* gate(k) gate(d)^T */
    LCSM_OSC_FULL,    /* gate(k d), static */
    LCSM_OSC_PRODUCT, /* gate(k-part * d-part or kd-part): the sigmoid after the product */
} lcsm_oscillation;

typedef enum { LCSM_PHASE_NONE, LCSM_PHASE_FIXED, LCSM_PHASE_LEARNED, LCSM_PHASE_DATA } lcsm_phase;

typedef enum {
    LCSM_CHANNEL_AUTO,
    LCSM_CHANNEL_GLU,
    LCSM_CHANNEL_SGLU,
    LCSM_CHANNEL_FFN,
    LCSM_CHANNEL_RWKV,
    LCSM_CHANNEL_RWKV6,
    LCSM_CHANNEL_RWKV7,
    LCSM_CHANNEL_NONE,
    LCSM_CHANNEL_GEGLU
} lcsm_channel;
typedef enum {
    LCSM_BLOCK_NORM_AUTO,
    LCSM_BLOCK_NORM_LAYER,
    LCSM_BLOCK_NORM_RMS,
    LCSM_BLOCK_NORM_SIMPLE
} lcsm_block_norm;
typedef enum {
    LCSM_FEATURE_AUTO,
    LCSM_FEATURE_ELU1,
    LCSM_FEATURE_DPFP,
    LCSM_FEATURE_L2,
    LCSM_FEATURE_PRODUCT,
    LCSM_FEATURE_NONE,
    LCSM_FEATURE_RELU
} lcsm_feature;
typedef enum { LCSM_S4_DIAGONAL, LCSM_S4_DPLR, LCSM_S4_DENSE } lcsm_s4_kind;
typedef enum { LCSM_S4_LEGS, LCSM_S4_LIN, LCSM_S4_INV, LCSM_S4_REAL } lcsm_s4_init;
typedef enum { LCSM_DSS_EXP, LCSM_DSS_SOFTMAX } lcsm_dss_kind;
typedef enum { LCSM_DISC_ZOH, LCSM_DISC_BILINEAR } lcsm_disc;
typedef enum { LCSM_ROUTER_SOFTMAX, LCSM_ROUTER_SIGMOID } lcsm_router;
/* The branches of a block: of a mixer, of softmax attention, and of the channel mixer. */
enum { LCSM_BRANCH_MIXER, LCSM_BRANCH_ATTENTION, LCSM_BRANCH_CHANNEL, LCSM_BRANCHES };
/* What the output of a mixer is multiplied by. */
typedef enum {
    LCSM_OUTPUT_GATE_AUTO,
    LCSM_OUTPUT_GATE_NONE,
    LCSM_OUTPUT_GATE_SILU,
    LCSM_OUTPUT_GATE_SIGMOID
} lcsm_output_gate;

struct lcsm_model_config {
    char      method[512];         /* a name of the method table, or "code", or "custom" */
    char      code[512];           /* e-o-s-a, or "0" for the SSM parameterisation */
    char      layers_pattern[512]; /* mixers of the layers, as model/pattern.h reads it; "": one */
    int       flavour;             /* lcsm_flavour */
    int       wiring;              /* lcsm_wiring */
    ptrdiff_t vocab; /* 0: the tokenizer's, and 256 where there is none; a model has the number */
    ptrdiff_t d_model, layers, heads, expand;
    double    tau;
    int       activation; /* code 0..7 */

    int  expand_from, shrink_from; /* lcsm_from, of custom models */
    int  oscillation;              /* lcsm_oscillation */
    int  oscillation_k, oscillation_d, oscillation_kd;
    int  phase;      /* lcsm_phase */
    int  o_init;     /* 0 random, 1 ALiBi */
    int  theta_init; /* 0 powers of 10000, 1 even */
    bool o_learned;
    bool o_trained;   /* false: no gradient, no decay and no step for what makes o */
    int  memory_type; /* lcsm_memory_type, in training */

    int       channel_mixer, norm;
    ptrdiff_t hidden;
    double    norm_eps, final_norm_eps;
    bool      tied, channel_bias, residual_normed;
    double    residual_alpha[LCSM_BRANCHES], residual_beta[LCSM_BRANCHES];
    double    embed_scale, soft_cap, dropout;
    bool      bidirectional;

    bool      denominator, is_complex, raw, complement;
    int       feature, s4_kind, s4_init, dss_kind, disc;
    ptrdiff_t state_size, rank, conv_width, max_length, rpe_layers;
    double    inner_ratio, value_ratio, slot_tau;
    bool      conv_bias, proj_bias, rotation, norm_weight, head_norm;
    ptrdiff_t attention_heads, attention_kv_heads, attention_head_dim, attention_window;
    ptrdiff_t attention_latent, attention_shared_dim, attention_value_dim;
    double    attention_rotary, attention_rope_base, attention_rope_scale;
    bool      attention_gate, attention_qk_norm, attention_bias, attention_out_bias;
    ptrdiff_t eos_token_id;
    bool      initial_memory; /* trained, of every recurrence */
    ptrdiff_t adapter;        /* rank; 0: none */
    double    adapter_scale;
    char      adapter_matrices[512]; /* as lcsm_graph_adapt has it */

    ptrdiff_t groups, householders, slots;
    ptrdiff_t rwkv_mix_rank, rwkv_decay_rank, rwkv_a_rank, rwkv_v_rank, rwkv_g_rank;
    double    gate_cap, normaliser_eps, state_rotary;
    double    beta_max, gate_bound, dt_min, dt_max, mixer_eps;
    int       output_gate; /* lcsm_output_gate */
    bool      forget_gate, log_space, signed_gates;

    ptrdiff_t experts, experts_used, experts_hidden, experts_shared, experts_first, experts_period;
    int       experts_router; /* lcsm_router */
    double    experts_scale;
    bool      experts_norm, experts_shared_gate;
};

#endif
