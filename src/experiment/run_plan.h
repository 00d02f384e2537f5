/* run_plan.h - what an experiment's folder says, and what its runs will cost. */
#ifndef LCSM_EXPERIMENT_RUN_PLAN_H
#define LCSM_EXPERIMENT_RUN_PLAN_H
#include "experiment/command.h"
#include "experiment/grid.h"

/* Writes OUT/experiment.json. A folder of another experiment or scale is refused, and one in which
 * a run of the grid was trained with other settings or other text; runs that it lists and the grid
 * does not are kept in the list. */
lcsm_status lcsm_plan_store(const lcsm_grid *g, const lcsm_experiment_options *options,
                            lcsm_error *err);

/* The command that trains a run into `folder`, and the one that goes on with it. */
lcsm_command lcsm_command_train(const lcsm_grid_run *r, const lcsm_experiment_options *options,
                                const char *tokenizer, const char *folder);
lcsm_command lcsm_command_resume(const char *folder);

/* Floating-point operations of a whole run. The vocabulary of language models is `vocab`. */
lcsm_status lcsm_plan_flops(double *out, const lcsm_context *ctx, const lcsm_grid_run *r,
                            size_t vocab, lcsm_error *err);

/* Operations a second of a few updates of this run on a small batch; NaN if it cannot be tried. */
double lcsm_plan_rate(const lcsm_context *ctx, const lcsm_grid_run *r, size_t vocab);

#endif
