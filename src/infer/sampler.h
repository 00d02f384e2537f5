/* infer/sampler.h - what a sampler draws from. */
#ifndef LCSM_INFER_SAMPLER_H
#define LCSM_INFER_SAMPLER_H
#include <lcsm/generate.h>

/* The probabilities p (V) of all tokens, after all cuts. */
lcsm_status lcsm_sampler_probabilities(lcsm_sampler *s, const float *logits, const int32_t *recent,
                                       size_t recent_count, double *p, lcsm_error *err);

#endif
