/* check/model_proof.h - one model: proven in its small size, built in those that people use. */
#ifndef LCSM_CHECK_MODEL_PROOF_H
#define LCSM_CHECK_MODEL_PROOF_H
#include <lcsm/check.h>

#include "model/config.h"

/* cfg is a small model of two layers or so. */
lcsm_status lcsm_check_model(const lcsm_context *ctx, const lcsm_model_config *cfg,
                             const char *name, lcsm_check_sink *sink, void *user, lcsm_error *err);

/* That the normal model can be planned in several sizes and with several heads, and the small one
 * trained with several heads: two rows. */
void lcsm_check_sizes(const lcsm_context *ctx, const lcsm_model_config *normal,
                      const lcsm_model_config *small, const char *name, lcsm_check_sink *sink,
                      void *user);
#endif
