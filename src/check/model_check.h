/* check/model_check.h - one model, proven in its small size. */
#ifndef LCSM_CHECK_MODEL_CHECK_H
#define LCSM_CHECK_MODEL_CHECK_H
#include <lcsm/check.h>
#include <lcsm/config.h>

/* cfg is a small model of two layers or so. */
lcsm_status lcsm_check_model(const lcsm_context *ctx, const lcsm_model_config *cfg,
                             const char *name, lcsm_check_sink *sink, void *user, lcsm_error *err);
#endif
