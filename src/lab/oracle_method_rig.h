/*
 * lab/oracle_method_rig.h - the real builders of src/eos in a case.
 *
 * A case gives the parameters of a method by its own names; they are bound to the builder's by
 * name. Where a case starts behind the projections and gives q, k, v and the like themselves, x is
 * all of them side by side, and the weight of each projection picks its own columns.
 */
#ifndef LCSM_LAB_ORACLE_METHOD_RIG_H
#define LCSM_LAB_ORACLE_METHOD_RIG_H
#include "eos/method.h"
#include "lab/oracle_build.h"

typedef struct {
    lcsm_lab          *lab;
    const lcsm_method *method;
    lcsm_model_config  cfg;
    lcsm_mixer         m;
    lcsm_states        s;    /* of lcsm_rig_recurrence */
    lcsm_tensor       *last; /* its memory after the last step */
    lcsm_tensor       *side[4];
    lcsm_tensor       *first[2]; /* what an earlier layer has left */
} lcsm_rig;

/* Settings as "key=value key=value"; method may be "code". */
void lcsm_rig_open(lcsm_rig *r, lcsm_lab *lab, const char *method, const char *settings);

/* The width of the model, and x: an input (T, D), or those of "input=projection ..." side by side.
 * A leading ! takes log x / (1 - x) of the input. */
void lcsm_rig_input(lcsm_rig *r, const char *name);
void lcsm_rig_picks(lcsm_rig *r, ptrdiff_t D, const char *picks);

/* y of the method's states and the operator, or of the whole mixer. */
lcsm_tensor *lcsm_rig_recurrence(lcsm_rig *r);
lcsm_tensor *lcsm_rig_mixer(lcsm_rig *r);

/* After that: parameters as "input=parameter ..."; a leading ~ exchanges the last two axes. Those
 * of picks pick, biases that the case does not have are 0, and others must have been bound, unless
 * nothing that is compared reads them. */
void lcsm_rig_params(lcsm_rig *r, const char *params);
void lcsm_rig_picked(lcsm_rig *r, const char *picks);
void lcsm_rig_close(lcsm_rig *r, bool all_bound);

/* A parameter that the case has not: all numbers alike, or the identity. */
void lcsm_rig_fill(lcsm_rig *r, const char *param, double value);
void lcsm_rig_identity(lcsm_rig *r, const char *param);

/* The n-th node of an op. */
lcsm_node *lcsm_rig_node(lcsm_rig *r, lcsm_op_id op, int n);

#endif
