/* model/config.h - the keys of a model, for library code. */
#ifndef LCSM_MODEL_CONFIG_H
#define LCSM_MODEL_CONFIG_H
#include <lcsm/config.h>

#include "format/keys.h"

extern const lcsm_keys LCSM_MODEL_KEYS;

typedef enum {
    LCSM_MIX_AUTO, /* the method's own: RWKV's for rwkv4, none for mamba, GLU for the others */
    LCSM_MIX_GLU,
    LCSM_MIX_SGLU,
    LCSM_MIX_FFN,
    LCSM_MIX_RWKV,
    LCSM_MIX_NONE,
} lcsm_channel_mixer;

typedef enum { LCSM_NORM_AUTO, LCSM_NORM_LAYER, LCSM_NORM_RMS, LCSM_NORM_SIMPLE } lcsm_norm_kind;
typedef enum { LCSM_FEATURE_AUTO, LCSM_FEATURE_ELU1, LCSM_FEATURE_DPFP, LCSM_FEATURE_L2 } lcsm_feature;
typedef enum { LCSM_S4_DIAGONAL, LCSM_S4_DPLR, LCSM_S4_DENSE } lcsm_s4_kind;
typedef enum { LCSM_S4_LEGS, LCSM_S4_LIN, LCSM_S4_INV, LCSM_S4_REAL } lcsm_s4_init;
typedef enum { LCSM_DSS_EXP, LCSM_DSS_SOFTMAX } lcsm_dss_kind;
typedef enum { LCSM_DISC_ZOH, LCSM_DISC_BILINEAR } lcsm_disc;
#endif
