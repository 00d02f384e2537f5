/* oracle_roster.c - the cases that are known. A new one is a row here and a builder. */
#include "lab/oracle_roster.h"

#include <fnmatch.h>
#include <string.h>

#include "lab/oracle_build.h"

enum { NO_EOS = false, EOS = true };

static const lcsm_oracle_row ROWS[] = {
    /* activations, shared layers, optimiser */
    {"", "act_*", "x", lcsm_lab_activation, NO_EOS},
    {"", "gate_tau_*", "x", lcsm_lab_gate_values, NO_EOS},
    {"", "softplus_logsigmoid*", "x", lcsm_lab_softplus, NO_EOS},
    {"", "layernorm*", "x g b", lcsm_lab_layer_norm, NO_EOS},
    {"", "rmsnorm*", "x g", lcsm_lab_rms_norm, NO_EOS},
    {"", "glu_*", "x W1 W2 W3", lcsm_lab_glu_layer, NO_EOS},
    {"", "short_causal_conv*", "x w b", lcsm_lab_short_conv, NO_EOS},
    {"", "long_causal_conv*", "u K", lcsm_lab_long_conv, NO_EOS},
    {"", "cross_entropy*", "logits", lcsm_lab_loss, NO_EOS},
    {"", "adam*", "p0 grads", lcsm_lab_adamw, NO_EOS},
    {"", "inverse_sqrt*", "num_updates", lcsm_lab_inverse_sqrt, NO_EOS},
    {"", "cosine*", "epoch", lcsm_lab_cosine, NO_EOS},

    /* tables, models, the recall task */
    {"", "alibi_slopes_*", "", lcsm_lab_alibi, NO_EOS},
    {"", "o_code0_not_learned*", "", lcsm_lab_alibi_matrix, NO_EOS},
    {"", "retnet_gamma*", "", lcsm_lab_retnet_gammas, NO_EOS},
    {"", "retnet_angle*", "", lcsm_lab_retnet_angles, NO_EOS},
    {"", "tnl_decay*", "", lcsm_lab_tnl_decays, NO_EOS},
    {"", "theta_code11*", "", lcsm_lab_thetas, NO_EOS},
    {"", "hgrn_lower_bounds", "Gamma", lcsm_lab_lower_bounds, NO_EOS},
    {"", "rwkv4_init_*", "", lcsm_lab_rwkv4_init, NO_EOS},
    {"", "inverse_softplus", "dt", lcsm_lab_inverse_softplus, NO_EOS},
    {"", "hippo_legs_*", "", lcsm_lab_hippo, NO_EOS},
    {"", "hippo_skew_dss_*", "", lcsm_lab_dss_lambda, NO_EOS},
    {"", "s4d_inits_*", "", lcsm_lab_s4d_inits, NO_EOS},
    {"", "lm_param_counts", "", lcsm_lab_counts, NO_EOS},
    {"", "*_model_*", "emb nf_g nf_b", lcsm_lab_model, NO_EOS},
    {"", "placement", "keys values gaps", lcsm_lab_mqar_placement, NO_EOS},
    {"", "gap_weights_*", "", lcsm_lab_mqar_weights, NO_EOS},

    /* methods */
    {"", "identity_no_denominator*", "q k v", lcsm_lab_method, EOS},
    {"", "elu1_with_denominator*", "q k v", lcsm_lab_method, EOS},
    {"", "paper_form_head*", "q k v", lcsm_lab_method, EOS},
    {"", "retnet_rotated*", "q k v", lcsm_lab_method, EOS},
    {"", "retnet_mixer*", "x Wq Wk Wv Wg Wo", lcsm_lab_method, EOS},
    {"", "tnl_mixer*", "x Wq Wk Wv Wu Wo", lcsm_lab_method, EOS},
    {"", "cosformer_paper_form*", "q k v", lcsm_lab_method, EOS},
    {"", "cosformer_with_denominator*", "q k v", lcsm_lab_method, EOS},
    {"", "lrpe_*", "q k v theta", lcsm_lab_method, EOS},
    {"", "gla_core*", "q k v z", lcsm_lab_method, EOS},
    {"", "gla_mixer*", "x Wq Wk Wv Wg Wz1 Wz2 bz norm_g Wo", lcsm_lab_method, EOS},
    {"", "gateloop_core*", "q k v alpha beta", lcsm_lab_method, EOS},
    {"", "dur_*", "q k v zg zh", lcsm_lab_method, EOS},
    {"", "gfw_*", "q k v zg zh", lcsm_lab_method, EOS},
    {"", "hgrn_real_core*", "c mu gate lower", lcsm_lab_method, EOS},
    {"", "hgrn_complex_core*", "c mu theta lower", lcsm_lab_method, EOS},
    {"", "hgru1d_mixer*", "x Win Wl Wg theta lower Wo", lcsm_lab_method, EOS},
    {"", "lrn_*", "pre_g pre_i", lcsm_lab_method, EOS},
    {"", "rwkv4_with_denominator*", "decay first k v r", lcsm_lab_method, EOS},
    {"", "rwkv4_extreme_keys*", "decay first k v r", lcsm_lab_method, EOS},
    {"", "rwkv4_simplified*", "w k v r", lcsm_lab_method, EOS},
    {"", "rwkv4_time_mix*", "x mix_k mix_v mix_r decay first", lcsm_lab_method, EOS},
    {"", "rwkv4_channel_mix*", "x mix_k mix_r Wk Wr Wv", lcsm_lab_channel_mix, NO_EOS},
    {"", "rwkv[567]_channel_mix*", "x key.weight value.weight", lcsm_lab_channel_mix_since, NO_EOS},
    {"", "selective_scan*", "u dt_raw dt_bias A_log B C D z", lcsm_lab_selective_scan, EOS},
    {"", "mamba_mixer*", "x W_in conv_w conv_b W_x W_dt A_log D", lcsm_lab_method, EOS},
    {"", "s4_dense_*", "u A B C D log_dt", lcsm_lab_method, EOS},
    {"", "s4_dplr_*", "Lambda P B C log_dt", lcsm_lab_s4_dplr, NO_EOS},
    {"", "s4d_*", "u log_A_re A_im C D log_dt", lcsm_lab_method, EOS},
    {"", "s5_paper_table*", "i E S log_re im", lcsm_lab_method, EOS},
    {"", "s5_*", "u Lre Lim B C D log_dt", lcsm_lab_method, EOS},
    {"", "dss_softmax*", "u Lre Lim W D log_dt", lcsm_lab_dss_softmax, EOS},
    {"", "dss_*", "u Lre Lim W D log_dt", lcsm_lab_method, EOS},
    {"", "toeplitz_causal*", "x t", lcsm_lab_method, NO_EOS},
    {"", "gtu_mixer*", "x Wu Wv Wo t", lcsm_lab_method, EOS},
    {"", "etsc_*", "x t", lcsm_lab_etsc, EOS},
    {"", "rpe_network*", "w0 b0 wo bo", lcsm_lab_rpe, NO_EOS},
    {"", "fwp_elu1*", "q k v b", lcsm_lab_method, EOS},
    {"", "fwp_l2norm*", "q k v b", lcsm_lab_delta_l2, EOS},
    {"", "generalised_delta*", "e kbar v q W0", lcsm_lab_delta_core, EOS},
    {"", "m1*", "q k v", lcsm_lab_method, EOS},
    {"", "m2*", "q k v kbar", lcsm_lab_method, EOS},
    {"", "m3_sigmoid*", "q z v", lcsm_lab_method, EOS},
    {"", "m3_raw*", "q k v", lcsm_lab_method, EOS},

    /* the recurrence, and the layers of codes, whatever they are called */
    {"", "*shared_params_self_once*", "i e s g", lcsm_lab_method, EOS},
    {"", "*", "x Wi", lcsm_lab_code, EOS},
    {"", "*", "i e s", lcsm_lab_core, EOS},
    {"", "*", "i E S", lcsm_lab_core, EOS},

    /* files that name the operator */
    {"eos2", "*", "i e s", lcsm_lab_operator, EOS},
    {"eos2_normalised", "*", "i e s", lcsm_lab_normalised, EOS},

    /* recorded elsewhere */
    {"dw_causal_conv", "*", "x weight", lcsm_lab_cuda_conv, NO_EOS},
    {"layer_norms", "rms_norm*", "x w", lcsm_lab_cuda_rms_norm, NO_EOS},
    {"selective_scan", "*", "u delta A B C", lcsm_lab_cuda_scan, EOS},
    {"selective_state_update", "*", "state x dt dt_bias A B C D z", lcsm_lab_cuda_step, EOS},
    {"swiglu", "*", "xy", lcsm_lab_cuda_swiglu, NO_EOS},
    {"LinearAttention", "*", "query key value", lcsm_lab_onnx_attention, EOS},
    {"CausalConvWithState", "*", "input weight", lcsm_lab_onnx_conv, NO_EOS},
};

static bool has_inputs(const lcsm_oracle_case *c, const char *names)
{
    char name[32];
    while (*names != '\0') {
        size_t size = strcspn(names, " ");
        memcpy(name, names, size);
        name[size] = '\0';
        if (lcsm_oracle_find(&c->inputs, name) == NULL) return false;
        names += size + (names[size] == ' ');
    }
    return true;
}

const lcsm_oracle_row *lcsm_oracle_row_of(const lcsm_oracle_case *c)
{
    static const lcsm_oracle_row MIXER = {"", "*", "x", lcsm_lab_mixer, EOS};
    if (lcsm_lab_is_mixer(c)) return &MIXER;
    for (size_t j = 0; j < COUNT(ROWS); j++)
        if (strcmp(ROWS[j].group, c->group) == 0 && fnmatch(ROWS[j].name, c->name, 0) == 0
            && has_inputs(c, ROWS[j].inputs))
            return &ROWS[j];
    return NULL;
}
