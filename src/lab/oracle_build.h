/*
 * lab/oracle_build.h - the builders of cases, and what they share. oracle_roster.c names them.
 *
 * A builder's comment gives the equations of its case. Names of inputs are those of the files.
 */
#ifndef LCSM_LAB_ORACLE_BUILD_H
#define LCSM_LAB_ORACLE_BUILD_H
#include "graph/layers.h"
#include "graph/mixers.h"
#include "lab/oracle_eos.h"

enum {
    LAB_T  = LCSM_AXIS_T,
    LAB_K  = LCSM_AXIS_K,
    LAB_D  = LCSM_AXIS_D,
    LAB_KK = LCSM_AXIS_KK,
};

/* x W^T + b with inputs of these names; b may be NULL. */
lcsm_tensor *lcsm_lab_project(lcsm_lab *lab, lcsm_tensor *x, const char *w, const char *b);
/* (..., a) beside (..., b). */
lcsm_tensor *lcsm_lab_beside(lcsm_lab *lab, lcsm_tensor *a, lcsm_tensor *b);
/* Columns first .. first + count - 1. */
lcsm_tensor *lcsm_lab_columns(lcsm_lab *lab, lcsm_tensor *x, ptrdiff_t first, ptrdiff_t count);

/* The recurrence itself (core_*); methods, codes and channel mixers by their own builders. */
lcsm_lab_builder lcsm_lab_core, lcsm_lab_method, lcsm_lab_code, lcsm_lab_channel_mix,
    lcsm_lab_channel_mix_since, lcsm_lab_glu_layer;

/* Whole mixers with the names of other libraries: config.layer, or the case's name, says which. */
bool             lcsm_lab_is_mixer(const lcsm_oracle_case *c);
lcsm_lab_builder lcsm_lab_mixer;

/* Operators by themselves. */
lcsm_lab_builder lcsm_lab_delta_core, lcsm_lab_delta_l2, lcsm_lab_selective_scan, lcsm_lab_s4_dplr,
    lcsm_lab_dss_softmax, lcsm_lab_etsc, lcsm_lab_rpe, lcsm_lab_operator, lcsm_lab_normalised;

/* Activations, layers, loss, optimiser, schedules. */
lcsm_lab_builder lcsm_lab_activation, lcsm_lab_gate_values, lcsm_lab_softplus;
lcsm_lab_builder lcsm_lab_layer_norm, lcsm_lab_rms_norm, lcsm_lab_short_conv, lcsm_lab_long_conv,
    lcsm_lab_loss;
lcsm_lab_builder lcsm_lab_adamw, lcsm_lab_inverse_sqrt, lcsm_lab_cosine;

/* Whole models, tables, parameter counts, and the examples of associative recall. */
lcsm_lab_builder lcsm_lab_model, lcsm_lab_counts;
lcsm_lab_builder lcsm_lab_alibi, lcsm_lab_alibi_matrix, lcsm_lab_retnet_gammas,
    lcsm_lab_retnet_angles, lcsm_lab_tnl_decays, lcsm_lab_thetas, lcsm_lab_lower_bounds,
    lcsm_lab_rwkv4_init, lcsm_lab_inverse_softplus, lcsm_lab_hippo, lcsm_lab_dss_lambda,
    lcsm_lab_s4d_inits;
lcsm_lab_builder lcsm_lab_mqar_placement, lcsm_lab_mqar_weights;

/* Recorded outputs of other programs. */
lcsm_lab_builder lcsm_lab_cuda_conv, lcsm_lab_cuda_rms_norm, lcsm_lab_cuda_scan, lcsm_lab_cuda_step,
    lcsm_lab_cuda_swiglu;
lcsm_lab_builder lcsm_lab_onnx_attention, lcsm_lab_onnx_conv;

#endif
