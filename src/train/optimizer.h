/*
 * train/optimizer.h - AdamW over the one list of parameters.
 *
 * Values, gradients and both moments are flat blocks of the same layout; parameters that follow
 * each other with the same settings are one call. kernel/adamw/adamw.h has the formulas.
 */
#ifndef LCSM_TRAIN_OPTIMIZER_H
#define LCSM_TRAIN_OPTIMIZER_H
#include <lcsm/context.h>
#include <stdint.h>

#include "base/error.h"
#include "graph/params.h"
#include "train/moments.h"

typedef enum { LCSM_ADAMW_TORCH, LCSM_ADAMW_FAIRSEQ, LCSM_ADAMW_COUNT } lcsm_adamw_style;

typedef struct {
    lcsm_adamw_style style; /* where eps enters */
    double           beta1, beta2, eps, weight_decay;
    bool             decay_all; /* also parameters with LCSM_PARAM_NO_DECAY */
    lcsm_moments     moments;   /* other than f32: of float parameters, in one slice */
} lcsm_adamw_config;

/* One step, the t-th (from 1), of n numbers of a type; p, m, v are updated. */
void lcsm_adamw_step(const lcsm_context *ctx, lcsm_dtype dtype, const lcsm_adamw_config *cfg,
                     int64_t t, double lr, double grad_scale, size_t n, const void *g, void *p,
                     void *m, void *v);

/* The root of the sum of squares, summed in double. */
double lcsm_norm2(const lcsm_context *ctx, lcsm_dtype dtype, size_t n, const void *x);

/* One of several optimisers, on as many ranks, steps a slice of the block; together their steps
 * have the bits of one that steps all of it. */
typedef struct {
    lcsm_adamw_config cfg;
    lcsm_params      *params;
    int64_t           steps;      /* done */
    size_t            first, end; /* elements of the slice */
    void             *m, *v;      /* moments of the slice, packed as cfg says; zeros at first */
    size_t            part, parts;
    double           *squares; /* of the gradients, by parts of the whole block */
} lcsm_optimizer;

/* The list is reserved, with gradients, and outlives the optimiser. */
lcsm_status lcsm_optimizer_create(lcsm_optimizer **out, lcsm_params *params,
                                  const lcsm_adamw_config *cfg, lcsm_error *err);
/* The number-th of so many. */
lcsm_status lcsm_optimizer_create_slice(lcsm_optimizer **out, lcsm_params *params,
                                        const lcsm_adamw_config *cfg, int number, int count,
                                        lcsm_error *err);
void        lcsm_optimizer_free(lcsm_optimizer *o);

/* The moments of the whole block as floats, and back, where they are packed. */
void lcsm_optimizer_unpack(const lcsm_optimizer *o, float *m, float *v);
void lcsm_optimizer_take(lcsm_optimizer *o, const float *m, const float *v);

/* The part of squares, and the element of the block, with which slice `number` of so many begins;
 * slice `count` begins at their end. */
size_t lcsm_optimizer_first_part(const lcsm_optimizer *o, int number, int count);
size_t lcsm_optimizer_first(const lcsm_optimizer *o, int number, int count);

/* One update from the gradients of the list. Returns their norm; where clip > 0 and the norm is
 * larger, they count as scaled down to it. Frozen parameters stay as they are, and all of them do
 * if the norm is not finite. */
double lcsm_optimizer_step(lcsm_optimizer *o, const lcsm_context *ctx, double lr, double clip);

/* The same in pieces: the squares of the own slice; the norm, once the squares of all slices are
 * there; and the update of the own slice, if it is finite. */
void   lcsm_optimizer_measure(lcsm_optimizer *o, const lcsm_context *ctx);
double lcsm_optimizer_norm(const lcsm_optimizer *o);
void   lcsm_optimizer_apply(lcsm_optimizer *o, const lcsm_context *ctx, double norm, double lr,
                            double clip);

#endif
