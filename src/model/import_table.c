/* import_table.c - the table of releases. */
#include <string.h>

#include "model/import.h"

#define RMS   LCSM_BLOCK_NORM_RMS
#define LAYER LCSM_BLOCK_NORM_LAYER

/* clang-format off */
const lcsm_release LCSM_RELEASES[] = {
/*   architecture, model_type, kind,                                                     has,  method,  norm, keys, rules, finish */
    {"MambaForCausalLM", "mamba", "Mamba (fla)",                          "dt_rank|norm_eps", "mamba", RMS, {LCSM_MAMBA_FLA_KEYS, LCSM_MAMBA_KEYS}, {LCSM_MAMBA_RULES}, lcsm_import_mamba},
    {"MambaForCausalLM", "mamba", "Mamba (Hugging Face)",                 NULL, "mamba", RMS, {LCSM_MAMBA_HF_KEYS, LCSM_MAMBA_KEYS}, {LCSM_MAMBA_RULES}, lcsm_import_mamba},
    {"FalconMambaForCausalLM", "falcon_mamba", "Falcon-Mamba (Hugging Face)", NULL, "falcon-mamba", RMS, {LCSM_MAMBA_HF_KEYS, LCSM_MAMBA_KEYS, LCSM_FALCON_MAMBA_KEYS}, {LCSM_MAMBA_RULES}, lcsm_import_mamba},
    {"Mamba2ForCausalLM", "mamba2", "Mamba-2 (Hugging Face)",             NULL, "mamba2", RMS, {LCSM_MAMBA_KEYS, LCSM_MAMBA2_KEYS}, {LCSM_MAMBA2_RULES}, lcsm_import_mamba2},
    {"RwkvForCausalLM", "rwkv", "RWKV-4 (Hugging Face)",                  NULL, "rwkv4", LAYER, {LCSM_RWKV4_KEYS}, {LCSM_RWKV4_RULES}, lcsm_import_rwkv4},
    {"GLAForCausalLM", "gla", "GLA (fla)",                                NULL, "gla", RMS, {LCSM_FLA_KEYS, LCSM_GLA_KEYS}, {LCSM_GLA_RULES, LCSM_FLA_RULES}, lcsm_import_gla},
    {"RetNetForCausalLM", "retnet", "RetNet (fla)",                       NULL, "retnet", RMS, {LCSM_FLA_KEYS, LCSM_RETNET_KEYS}, {LCSM_RETNET_RULES, LCSM_FLA_RULES}, lcsm_import_retnet},
    {"HGRNForCausalLM", "hgrn", "HGRN (fla)",                             NULL, "hgrn", RMS, {LCSM_FLA_KEYS, LCSM_HGRN_KEYS}, {LCSM_HGRN_RULES, LCSM_FLA_RULES}, lcsm_import_hgrn},
    {"HGRN2ForCausalLM", "hgrn2", "HGRN2 (fla)",                          NULL, "hgrn2", RMS, {LCSM_FLA_KEYS, LCSM_HGRN2_KEYS}, {LCSM_HGRN2_RULES, LCSM_FLA_RULES}, lcsm_import_hgrn2},
    {"LinearAttentionForCausalLM", "linear_attn", "linear attention (fla)", NULL, "linear-attention", RMS, {LCSM_FLA_KEYS, LCSM_LINEAR_ATTN_KEYS}, {LCSM_LINEAR_ATTN_RULES, LCSM_FLA_RULES}, lcsm_import_linear_attn},
    {"GSAForCausalLM", "gsa", "GSA (fla)",                                NULL, "gsa", RMS, {LCSM_FLA_KEYS, LCSM_GSA_KEYS}, {LCSM_GSA_RULES, LCSM_FLA_RULES}, lcsm_import_gsa},
    {"DeltaNetForCausalLM", "delta_net", "DeltaNet (fla)",                NULL, "deltanet", RMS, {LCSM_FLA_KEYS, LCSM_DELTA_KEYS}, {LCSM_DELTA_RULES, LCSM_FLA_RULES}, lcsm_import_deltanet},
    {"GatedDeltaNetForCausalLM", "gated_deltanet", "gated DeltaNet (fla)", NULL, "gated-deltanet", RMS, {LCSM_FLA_KEYS, LCSM_DELTA_KEYS, LCSM_GATED_DELTANET_KEYS}, {LCSM_DELTA_RULES, LCSM_FLA_RULES}, lcsm_import_gated_deltanet},
    {"GatedDeltaProductForCausalLM", "gated_deltaproduct", "DeltaProduct (fla)", NULL, "deltaproduct", RMS, {LCSM_FLA_KEYS, LCSM_DELTA_KEYS, LCSM_DELTAPRODUCT_KEYS}, {LCSM_DELTA_RULES, LCSM_FLA_RULES}, lcsm_import_deltaproduct},
    {"KDAForCausalLM", "kda", "KDA (fla)",                                NULL, "kda", RMS, {LCSM_FLA_KEYS, LCSM_DELTA_KEYS, LCSM_KDA_KEYS}, {LCSM_DELTA_RULES, LCSM_FLA_RULES}, lcsm_import_kda},
    {"RWKV6ForCausalLM", "rwkv6", "RWKV-6 (fla)",                         NULL, "rwkv6", LAYER, {LCSM_FLA_RWKV_KEYS}, {LCSM_FLA_RWKV6_RULES, LCSM_FLA_RWKV_RULES}, lcsm_import_fla_rwkv6},
    {"RWKV7ForCausalLM", "rwkv7", "RWKV-7 (fla)",                         NULL, "rwkv7", LAYER, {LCSM_FLA_RWKV_KEYS}, {LCSM_FLA_RWKV7_RULES, LCSM_FLA_RWKV_RULES}, lcsm_import_fla_rwkv7},
    {"Rwkv5ForCausalLM", "rwkv5", "RWKV-5 (Hugging Face)",                NULL, "rwkv5", LAYER, {LCSM_RWKV_HF_KEYS}, {LCSM_RWKV5_HF_RULES}, lcsm_import_rwkv_hf},
    {"Rwkv6ForCausalLM", "rwkv6", "RWKV-6 (Hugging Face)",                NULL, "rwkv6", LAYER, {LCSM_RWKV_HF_KEYS}, {LCSM_RWKV6_HF_RULES}, lcsm_import_rwkv_hf},
    {"RecurrentGemmaForCausalLM", "recurrent_gemma", "RecurrentGemma (Hugging Face)", NULL, NULL, RMS, {LCSM_GEMMA_KEYS}, {LCSM_GEMMA_RULES}, lcsm_import_gemma},
    {"Qwen3NextForCausalLM", "qwen3_next", "Qwen3-Next (Hugging Face)",   NULL, NULL, RMS, {LCSM_QWEN_KEYS}, {LCSM_QWEN_RULES, LCSM_QWEN_EXPERT_RULES}, lcsm_import_qwen},
    {"Qwen3_5ForCausalLM", "qwen3_5_text", "Qwen3.5 (Hugging Face)",      NULL, NULL, RMS, {LCSM_QWEN_KEYS, LCSM_QWEN35_KEYS}, {LCSM_QWEN35_RULES, LCSM_QWEN_RULES, LCSM_QWEN_EXPERT_RULES}, lcsm_import_qwen35},
    {"Qwen3_5ForConditionalGeneration", "qwen3_5", "Qwen3.5 (Hugging Face)", NULL, NULL, RMS, {LCSM_QWEN_KEYS, LCSM_QWEN35_KEYS}, {LCSM_QWEN35_RULES, LCSM_QWEN_RULES, LCSM_QWEN_EXPERT_RULES}, lcsm_import_qwen35},
    {"Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", "Qwen3.5 with experts (Hugging Face)", NULL, NULL, RMS, {LCSM_QWEN_KEYS, LCSM_QWEN35_MOE_KEYS}, {LCSM_QWEN35_RULES, LCSM_QWEN_RULES, LCSM_QWEN_EXPERT_RULES}, lcsm_import_qwen35_moe},
    {"Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", "Qwen3.5 with experts (Hugging Face)", NULL, NULL, RMS, {LCSM_QWEN_KEYS, LCSM_QWEN35_MOE_KEYS}, {LCSM_QWEN35_RULES, LCSM_QWEN_RULES, LCSM_QWEN_EXPERT_RULES}, lcsm_import_qwen35_moe},
    {"GraniteMoeHybridForCausalLM", "granitemoehybrid", "Granite 4 (Hugging Face)", NULL, NULL, RMS, {LCSM_GRANITE_KEYS}, {LCSM_GRANITE_RULES}, lcsm_import_granite},
    {"JambaForCausalLM", "jamba", "Jamba (Hugging Face)",                 NULL, NULL, RMS, {LCSM_JAMBA_KEYS}, {LCSM_JAMBA_RULES}, lcsm_import_jamba},
    {"KimiLinearForCausalLM", "kimi_linear", "Kimi Linear (Hugging Face)", NULL, NULL, RMS, {LCSM_KIMI_KEYS}, {LCSM_KIMI_RULES}, lcsm_import_kimi},
    {"MiniMaxForCausalLM", "minimax", "MiniMax (Hugging Face)",           NULL, NULL, RMS, {LCSM_MINIMAX_KEYS}, {LCSM_MINIMAX_RULES}, lcsm_import_minimax},
    {"xLSTMForCausalLM", "xlstm", "xLSTM (Hugging Face)",                 NULL, "mlstm", RMS, {LCSM_XLSTM_KEYS}, {LCSM_XLSTM_RULES}, lcsm_import_xlstm},
    {"BambaForCausalLM", "bamba", "Bamba (Hugging Face)",                 NULL, NULL, RMS, {LCSM_BAMBA_KEYS}, {LCSM_BAMBA_RULES}, lcsm_import_bamba},
};
/* clang-format on */

const size_t LCSM_RELEASE_COUNT = COUNT(LCSM_RELEASES);

const lcsm_release *lcsm_release_find(const char *architecture)
{
    for (size_t j = 0; j < LCSM_RELEASE_COUNT; j++)
        if (strcmp(LCSM_RELEASES[j].architecture, architecture) == 0
            && LCSM_RELEASES[j].has == NULL)
            return &LCSM_RELEASES[j];
    return NULL;
}
