/* loss_rig.h - a model's loss and its gradients in double, on random tokens. */
#ifndef LCSM_LOSS_RIG_H
#define LCSM_LOSS_RIG_H
#include "graph/graph.h"
#include "model/config.h"
#include "model/model_graph.h"

typedef struct {
    lcsm_context *ctx;
    lcsm_params  *params;
    lcsm_graph   *g;
    lcsm_model_io io;
} loss_rig;

/* B sequences of T tokens below `most`. `only`: the flags of the parameters that are trained; 0 =
 * all. */
loss_rig loss_rig_make(const lcsm_model_config *cfg, ptrdiff_t B, ptrdiff_t T, int most,
                       unsigned only);
void     loss_rig_free(loss_rig *r);

double loss_of(loss_rig *r);

/* The largest difference between a parameter's gradient, as it is, and finite differences of second
 * order: 1e-10 times third derivatives, and 1e-11 of rounding. */
double loss_gradient_error(loss_rig *r, size_t row);

/* The size of the largest number of a parameter's gradient. */
double loss_gradient_size(const loss_rig *r, size_t row);
#endif
