/*
 * bench/eos_run.h - a problem of the EOS operator at full size, for the public operator to run.
 *
 * The numbers of a short problem of check/eos_case.h are repeated over all tokens: the operator
 * cannot tell, and a gigabyte is filled in a blink.
 */
#ifndef LCSM_BENCH_EOS_RUN_H
#define LCSM_BENCH_EOS_RUN_H
#include <lcsm/eos.h>

#include "bench/frame.h"
#include "check/eos_case.h"

/* The same arrays serve plans for several numbers of threads. */
typedef struct {
    lcsm_eos_desc   desc;
    lcsm_eos_states x;
    lcsm_eos_grads  g;
    float          *y, *g_y;
    void           *arrays; /* owns all of the above */
    int             plans;
    struct {
        lcsm_eos *op;
        void     *tape, *ws;
    } plan[LCSM_BENCH_RUNS];
} lcsm_eos_run;

/* Bytes that a run takes without the plans' own. */
size_t lcsm_eos_run_bytes(const lcsm_eos_desc *desc, bool grads);

/* The descriptor of a case at these sizes, in the form that the planner picks. */
lcsm_status lcsm_eos_run_describe(lcsm_eos_desc *out, const lcsm_eos_case *c, lcsm_eos_sizes n,
                                  lcsm_error *err);

lcsm_status lcsm_eos_run_make(lcsm_eos_run *out, const lcsm_eos_case *c, const lcsm_eos_desc *desc,
                              bool grads, lcsm_error *err);
/* A plan for the threads of ctx; with tape and workspaces. */
lcsm_status lcsm_eos_run_plan(lcsm_eos_run *r, const lcsm_context *ctx, bool grads,
                              lcsm_error *err);
void        lcsm_eos_run_free(lcsm_eos_run *r);

/* Forward alone, or forward with a tape and backward; gradients add up over calls. */
lcsm_status lcsm_eos_run_pass(lcsm_eos_run *r, int plan, bool grads, lcsm_error *err);

#endif
