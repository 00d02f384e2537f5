/*
 * lab/lab.h - the checks that need test cases: those of the ops of the graph, and oracle files.
 *
 * The lab belongs to the program and to the tests. It is not in the library, which it sees from
 * inside.
 */
#ifndef LCSM_LAB_LAB_H
#define LCSM_LAB_LAB_H
#include <lcsm/check.h>

/* The operations of the graph, each by its own cases. */
lcsm_status lcsm_lab_check_ops(const lcsm_context *ctx, const lcsm_check_options *options,
                               lcsm_check_sink *sink, void *user, lcsm_error *err);

/* The cases of an oracle file; its format is recognised from its content. */
lcsm_status lcsm_lab_check_oracle(const lcsm_context *ctx, const char *path, lcsm_check_sink *sink,
                                  void *user, lcsm_error *err);

#endif
