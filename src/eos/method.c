/* method.c - the method table. */
#include "eos/method.h"

#include <stdio.h>
#include <string.h>

#include "base/strdist.h"
#include "eos/code.h"

#define LA   "linear attention"
#define FW   "fast weights"
#define SSM  "SSM"
#define CONV "long convolution"
#define RNN  "linear RNN"

#define HEADS "heads expand"
#define KDA   "heads expand value_ratio conv_width beta_max mixer_eps groups gate_bound"
#define DELTA "heads expand value_ratio conv_width beta_max output_gate mixer_eps"

/* Methods (paper: method table). x marks a product of each element, @ a product of matrices. */
/* clang-format off */
const lcsm_method LCSM_METHODS[] = {
/*   name                family  input      expand     oscillation           shrink    psi  memory     states                         native                       channel             norm                  embed norm, bare, reads, year, reference */
    {"s4",               SSM,    "u",       "B_bar",   "A_bar (k k)",        "C",      "@", "N D",     NULL,                          lcsm_s4_mixer,               LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, lcsm_s4_bare, "s4_kind s4_init state_size", 2021, "Gu et al."},
    {"s4d",              SSM,    "u",       "1",       "exp(dt A)",          "C B_bar","x", "N D",     lcsm_s4d_states,               lcsm_s4d_mixer,              LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, "s4_init state_size", 2022, "Gu et al."},
    {"s5",               SSM,    "1",       "B_bar u", "exp(dt L) 1^T",      "C",      "x", "2 P",     NULL,                          lcsm_s5_mixer,               LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, lcsm_s5_bare, "disc state_size", 2022, "Smith et al."},
    {"s5-table",         SSM,    "x",       "E",       "exp(-a + i b) 1^T",  "S",      "x", "2 k d",   lcsm_s5_table_states,          NULL,                        LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, "state_size", 2022, "Smith et al."},
    {"dss",              SSM,    "u",       "1",       "exp(dt_b L_a)",      "W",      "x", "2 N D",   lcsm_dss_states,               lcsm_dss_mixer,              LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, "dss_kind state_size", 2022, "Gupta et al."},
    {"tnn",              CONV,   "v",       "b",       "g exp(-2 pi i j/m)", "1",      "x", "n 3D",    NULL,                          lcsm_tnn_mixer,              LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_SIMPLE, false, lcsm_tnn_bare, "rank inner_ratio rpe_layers", 2023, "Qin et al."},
    {"linear-attention", LA,     "v",       "f(k)",    "1",                  "f(q)",   "x", "k d",     lcsm_linear_attention_states,  lcsm_linear_attention_mixer, LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, HEADS " denominator feature head_norm mixer_eps value_ratio", 2020, "Katharopoulos et al."},
    {"tnl",              LA,     "v",       "silu(k)", "lambda_h",           "silu(q)","x", "k d",     lcsm_tnl_states,               lcsm_tnl_mixer,              LCSM_CHANNEL_SGLU,  LCSM_BLOCK_NORM_SIMPLE, false, NULL, HEADS, 2023, "Qin et al."},
    {"retnet",           LA,     "v",       "rot(k)",  "gamma_h",            "rot(q)", "x", "k d",     lcsm_retnet_states,            lcsm_retnet_mixer,           LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, HEADS " rotation value_ratio norm_weight mixer_eps", 2023, "Sun et al."},
    {"mamba",            SSM,    "dt u",    "B_t",     "exp(dt_t A)",        "C_t",    "x", "N 2D",    lcsm_mamba_states,             lcsm_mamba_mixer,            LCSM_CHANNEL_NONE,  LCSM_BLOCK_NORM_RMS, false, NULL, "rank state_size conv_width conv_bias proj_bias inner_ratio signed_gates", 2023, "Gu and Dao"},
    {"rwkv4",            RNN,    "v",       "exp(k)",  "exp(-w)",            "r",      "x", "5 D",     NULL,                          lcsm_rwkv4_mixer,            LCSM_CHANNEL_RWKV,  LCSM_BLOCK_NORM_LAYER, true,  NULL, "value_ratio", 2023, "Peng et al."},
    {"rwkv4-eos",        RNN,    "v",       "exp(k)",  "exp(-w)",            "r",      "x", "3 D",     lcsm_rwkv4_eos_states,         lcsm_rwkv4_eos_mixer,        LCSM_CHANNEL_RWKV,  LCSM_BLOCK_NORM_LAYER, true,  lcsm_rwkv4_eos_bare, "value_ratio", 2023, "Peng et al."},
    {"cosformer",        LA,     "v",       "relu(k)", "exp(i theta)",       "relu(q)","x", "2 k d",   lcsm_cosformer_states,         lcsm_cosformer_mixer,        LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, HEADS " denominator", 2022, "Qin et al."},
    {"lrpe",             LA,     "v",       "k",       "exp(i theta_a)",     "q",      "x", "2 k d",   lcsm_lrpe_states,              lcsm_lrpe_mixer,             LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, HEADS, 2023, "Qin et al."},
    {"gla",              LA,     "v",       "k",       "g_t 1^T",            "q",      "x", "k d",     lcsm_gla_states,               lcsm_gla_mixer,              LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, HEADS " tau rank mixer_eps value_ratio", 2023, "Yang et al."},
    {"gateloop",         LA,     "v",       "k",       "g_t exp(i b_t) 1^T", "q",      "x", "2 k d",   lcsm_gateloop_states,          lcsm_gateloop_mixer,         LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, HEADS, 2023, "Katsch"},
    {"dur",              FW,     "v",       "k",       "g_t h_t^T",          "q",      "x", "k d",     lcsm_dur_states,               lcsm_dur_mixer,              LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, HEADS " complement", 2022, "Mao"},
    {"gfw",              FW,     "h v",     "g k",     "1 - g_t h_t^T",      "q",      "x", "k d",     lcsm_gfw_states,               lcsm_gfw_mixer,              LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, HEADS, 2022, "Mao"},
    {"hgrn",             RNN,    "c",       "1 - l_t", "l_t exp(i theta)",   "gate",   "x", "2 D",     lcsm_hgrn_states,              lcsm_hgrn_mixer,             LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, "complex head_norm mixer_eps", 2023, "Qin et al."},
    {"lrn",              RNN,    "c",       "1 - g_t", "g_t",                "1",      "x", "D",       lcsm_lrn_states,               lcsm_lrn_mixer,              LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, "", 2018, "Martin and Cundy"},
    {"fwp",              FW,     "v",       "beta k",  "I - beta k k^T",     "q",      "@", "k d",     lcsm_fwp_states,               lcsm_fwp_mixer,              LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, HEADS " feature", 2021, "Schlag et al."},
    {"m1",               FW,     "v",       "k",       "I - k k^T",          "q",      "@", "k d",     lcsm_m1_states,                NULL,                        LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, HEADS " raw", 2024, "Qin et al."},
    {"m2",               FW,     "v",       "k",       "I - k b^T",          "q",      "@", "k d",     lcsm_m2_states,                NULL,                        LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, HEADS " raw", 2024, "Qin et al."},
    {"m3",               FW,     "v",       "k",       "I - diag(k)",        "q",      "x", "k d",     lcsm_m3_states,                NULL,                        LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, HEADS " raw", 2024, "Qin et al."},
    {"hgrn2",            LA,     "v",       "1 - f_t", "f_t 1^T",            "silu(q)","x", "k d",     lcsm_hgrn2_states,             lcsm_hgrn2_mixer,            LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, "heads mixer_eps", 2024, "Qin et al."},
    {"deltanet",         FW,     "v",       "beta k",  "I - beta k k^T",     "q",      "@", "k d",     lcsm_deltanet_states,          lcsm_deltanet_mixer,         LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, DELTA, 2024, "Yang et al."},
    {"gated-deltanet",   FW,     "v",       "beta k",  "g (I - beta k k^T)", "q",      "@", "k d",     lcsm_gated_deltanet_states,    lcsm_gated_deltanet_mixer,   LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, DELTA " groups", 2024, "Yang et al."},
    {"kda",              FW,     "v",       "beta k",  "(I - e k^T) diag(g)","q",      "@", "k d",     lcsm_kda_states,               lcsm_kda_mixer,              LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, KDA, 2025, "Kimi Team"},
    {"deltaproduct",     FW,     "v_j",     "b_j k_j", "g prod(I - e_j k_j^T)","q",    "@", "k d",     NULL,                          lcsm_deltaproduct_mixer,     LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, lcsm_deltaproduct_bare, DELTA " householders forget_gate", 2025, "Siems et al."},
    {"complex-kda",      FW,     "v",       "beta k",  "(I - e k^T) diag(g)","q",      "@", "k d",     lcsm_complex_kda_states,       lcsm_complex_kda_mixer,      LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, KDA, 2026, "OpenEuroLLM"},
    {"gated-deltanet-2", FW,     "w v",     "k",       "(I - k (b k)^T) diag(g)","q",  "@", "k d",     lcsm_gated_deltanet_2_states,  lcsm_gated_deltanet_2_mixer, LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, KDA, 2026, "Hatamizadeh et al."},
    {"comba",            FW,     "v",       "beta k",  "g I - c e k^T",      "q",      "@", "k d",     lcsm_comba_states,             lcsm_comba_mixer,            LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, DELTA " groups", 2025, "Hu et al."},
    {"mamba2", SSM, "dt x", "B_t", "exp(dt_t A_h)", "C_t", "x", "N 2D", lcsm_mamba2_states, lcsm_mamba2_mixer, LCSM_CHANNEL_NONE, LCSM_BLOCK_NORM_RMS, false, NULL, "heads groups state_size conv_width conv_bias proj_bias inner_ratio dt_min dt_max mixer_eps signed_gates", 2024, "Dao and Gu"},
    {"mamba3", SSM, "dt x", "B_t", "exp(dt_t (A_t + i a_t))", "conj(C_t)", "x", "N 2D", NULL, lcsm_mamba3_mixer, LCSM_CHANNEL_GLU, LCSM_BLOCK_NORM_RMS, false, lcsm_mamba3_bare, "heads groups state_size proj_bias inner_ratio mixer_eps state_rotary", 2026, "Lahoti et al."},
    {"falcon-mamba", SSM, "dt u", "B_t", "exp(dt_t A)", "C_t", "x", "N 2D", lcsm_falcon_mamba_states, lcsm_falcon_mamba_mixer, LCSM_CHANNEL_NONE, LCSM_BLOCK_NORM_RMS, false, NULL, "rank state_size conv_width conv_bias proj_bias inner_ratio mixer_eps norm_weight signed_gates", 2024, "Zuo et al."},
    {"longhorn", SSM, "step x", "k_t", "1 - step_t k_t^2", "q_t", "x", "N 2D", lcsm_longhorn_states, lcsm_longhorn_mixer, LCSM_CHANNEL_NONE, LCSM_BLOCK_NORM_RMS, false, NULL, "rank state_size conv_width conv_bias proj_bias inner_ratio", 2024, "Liu et al."},
    {"gsa", LA, "v", "1 - f_t", "f_t 1^T", "softmax", "x", "2 k M", NULL, lcsm_gsa_mixer, LCSM_CHANNEL_GLU, LCSM_BLOCK_NORM_RMS, false, lcsm_gsa_bare, "heads expand value_ratio slots slot_tau mixer_eps", 2024, "Zhang et al."},
    {"lightning", LA, "v", "silu(k)", "lambda_h", "silu(q)", "x", "k d", lcsm_lightning_states, lcsm_lightning_mixer, LCSM_CHANNEL_GLU, LCSM_BLOCK_NORM_RMS, false, NULL, "heads expand value_ratio mixer_eps", 2024, "Qin et al."},
    {"based", LA, "v", "phi(k)", "1", "phi(q)", "x", "k d", lcsm_based_states, lcsm_based_mixer, LCSM_CHANNEL_GLU, LCSM_BLOCK_NORM_RMS, false, NULL, "heads expand value_ratio mixer_eps", 2024, "Arora et al."},
    {"rebased", LA, "v", "phi(k)", "1", "phi(q)", "x", "k d", lcsm_rebased_states, lcsm_rebased_mixer, LCSM_CHANNEL_GLU, LCSM_BLOCK_NORM_RMS, false, NULL, "heads expand value_ratio mixer_eps", 2024, "Aksenov et al."},
    {"rg-lru", RNN, "b_t u", "1", "a_t", "1", "x", "D", lcsm_rg_lru_states, lcsm_rg_lru_mixer, LCSM_CHANNEL_GLU, LCSM_BLOCK_NORM_RMS, false, NULL, "heads inner_ratio conv_width conv_bias", 2024, "De et al."},
    {"mingru", RNN, "z_t c", "1", "1 - z_t", "1", "x", "D", lcsm_mingru_states, lcsm_mingru_mixer, LCSM_CHANNEL_GLU, LCSM_BLOCK_NORM_RMS, false, NULL, "inner_ratio conv_width conv_bias log_space", 2024, "Feng et al."},
    {"minlstm", RNN, "i_t c", "1", "f_t", "1", "x", "D", lcsm_minlstm_states, lcsm_minlstm_mixer, LCSM_CHANNEL_GLU, LCSM_BLOCK_NORM_RMS, false, NULL, "inner_ratio conv_width conv_bias log_space", 2024, "Feng et al."},
    {"rwkv5", RNN, "v", "k", "w 1^T", "r", "x", "k d", lcsm_rwkv5_states, lcsm_rwkv5_mixer, LCSM_CHANNEL_RWKV, LCSM_BLOCK_NORM_LAYER, true, NULL, HEADS " value_ratio output_gate mixer_eps", 2024, "Peng et al."},
    {"rwkv6", RNN, "v", "k", "w_t 1^T", "r", "x", "k d", lcsm_rwkv6_states, lcsm_rwkv6_mixer, LCSM_CHANNEL_RWKV6, LCSM_BLOCK_NORM_LAYER, true, NULL, HEADS " value_ratio mixer_eps rwkv.mix_rank rwkv.decay_rank", 2024, "Peng et al."},
    {"rwkv7", RNN, "v", "k", "diag(w_t) - (a c) c^T", "r", "@", "k d", lcsm_rwkv7_states, lcsm_rwkv7_mixer, LCSM_CHANNEL_RWKV7, LCSM_BLOCK_NORM_LAYER, true, NULL, "heads mixer_eps rwkv.decay_rank rwkv.a_rank rwkv.v_rank rwkv.g_rank", 2025, "Peng et al."},
    {"mlstm", RNN, "v", "exp(z_t) k", "f_t", "q", "x", "k d", lcsm_mlstm_states, lcsm_mlstm_mixer, LCSM_CHANNEL_GLU, LCSM_BLOCK_NORM_RMS, false, NULL, HEADS " value_ratio gate_cap normaliser_eps mixer_eps", 2024, "Beck et al."},
    {"code",             "EOS",  "x",       "by code", "by code",            "by code","x", "k D",     lcsm_code_build,               NULL,                        LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, "expand phase o_init theta_init o_learned o_trained memory_type tau rank", 2024, "Qin et al."},
    {"custom",           "EOS",  "x",       "by keys", "by keys",            "by keys","x", "k D",     lcsm_code_build,               NULL,                        LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_LAYER, false, NULL, "expand activation expand.from shrink.from oscillation oscillation.k oscillation.d oscillation.kd phase o_init theta_init o_learned o_trained memory_type tau", 0, ""},
    {"attention",        "softmax attention", "v", "k", "-",                 "q",      "-", "T 2 D",   NULL,                          lcsm_attention_mixer,        LCSM_CHANNEL_GLU,   LCSM_BLOCK_NORM_RMS, false, NULL, "heads attention.heads attention.kv_heads attention.head_dim attention.window attention.rotary attention.rope_base attention.rope_scale attention.gate attention.qk_norm attention.bias attention.out_bias attention.latent attention.shared_dim attention.value_dim", 2017, "Vaswani et al."},
};
/* clang-format on */
const size_t LCSM_METHOD_COUNT = COUNT(LCSM_METHODS);

const lcsm_method *lcsm_method_find(const char *name)
{
    for (size_t j = 0; j < LCSM_METHOD_COUNT; j++)
        if (strcmp(LCSM_METHODS[j].name, name) == 0) return &LCSM_METHODS[j];
    return NULL;
}

bool lcsm_method_reads(const lcsm_method *m, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = m->reads == NULL ? "" : m->reads; *at != 0; at += strspn(at, " ")) {
        size_t word = strcspn(at, " ");
        if (word == length && strncmp(at, key, length) == 0) return true;
        at += word;
    }
    return false;
}

/* Where y_t is not m_t^T s_t. */
static const char *const OUTPUTS[][2] = {
    {"rwkv5", "m_{t-1}^T s_t + (u . s_t e_t) i_t"},
    {"rwkv6", "m_{t-1}^T s_t + (u . s_t e_t) i_t"},
    {"mlstm", "m_t^T s_t / max(|n_t^T s_t|, 1), n_t = f_t n_{t-1} + e_t"},
};

const char *lcsm_method_output(const lcsm_method *m)
{
    for (size_t j = 0; j < COUNT(OUTPUTS); j++)
        if (strcmp(OUTPUTS[j][0], m->name) == 0) return OUTPUTS[j][1];
    return "m_t^T s_t";
}

bool lcsm_method_owns(const char *key)
{
    size_t j = 0;
    while (j < LCSM_METHOD_COUNT && !lcsm_method_reads(&LCSM_METHODS[j], key)) j++;
    return j < LCSM_METHOD_COUNT;
}

const char *lcsm_method_hint(const char *name, char text[LCSM_METHOD_HINT])
{
    const char      *names[COUNT(LCSM_METHODS)];
    lcsm_code_states c;
    lcsm_error       err;
    for (size_t j = 0; j < LCSM_METHOD_COUNT; j++) names[j] = LCSM_METHODS[j].name;
    const char *near = lcsm_suggest(name, names, LCSM_METHOD_COUNT);
    if (near != NULL) snprintf(text, LCSM_METHOD_HINT, "; did you mean %s?", near);
    else if (lcsm_code_parse(name, &c, &err) == LCSM_OK)
        snprintf(text, LCSM_METHOD_HINT, "; it is a code: use --code %.32s", name);
    else snprintf(text, LCSM_METHOD_HINT, "; lcsm methods lists them");
    return text;
}

lcsm_tensor *lcsm_mixer_build(const lcsm_mixer *m)
{
    const lcsm_method *method = lcsm_method_find(m->cfg->code[0] != 0 ? "code" : m->cfg->method);
    bool               bare   = m->cfg->flavour == LCSM_FLAVOUR_BARE;
    char               hint[LCSM_METHOD_HINT];
    if (method == NULL)
        return lcsm_graph_fail(m->g, LCSM_ERR_CONFIG, "\"%s\" is not a method%s", m->cfg->method,
                               lcsm_method_hint(m->cfg->method, hint));
    if (bare && !lcsm_method_has_bare(method))
        return lcsm_graph_fail(m->g, LCSM_ERR_CONFIG, "%s has no bare flavour; use native",
                               method->name);
    if (!bare && method->native != NULL) return method->native(m);
    if (bare && method->bare != NULL) return method->bare(m);
    return lcsm_mix_bare_end(m, lcsm_mix_recurrence(m, method->states));
}
