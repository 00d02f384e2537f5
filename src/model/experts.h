/*
 * model/experts.h - a channel mixer of experts, a few of which are used for each token.
 *
 *     p = softmax(W x), or sigmoid(W x);  of it the largest numbers, the others 0
 *     y = scale sum_e p_e W3_e (silu(W1_e x) * W2_e x) + shared(x)
 *
 * All experts are computed and those that are not chosen are weighted with 0: a definition for any
 * number of them, at the cost of all. The keys experts.* are its settings.
 */
#ifndef LCSM_MODEL_EXPERTS_H
#define LCSM_MODEL_EXPERTS_H
#include "eos/mixer.h"

/* Whether the layer has experts in the place of its GLU. */
bool lcsm_experts_in(const lcsm_model_config *cfg, ptrdiff_t layer);

lcsm_tensor *lcsm_experts_build(const lcsm_mixer *m);

#endif
