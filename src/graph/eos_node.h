/*
 * graph/eos_node.h - the plan of an eos node: where its operands lie in the tensors, and the form.
 *
 * The op follows it in both precisions, and whoever looks into an operand finds its numbers by it:
 * element (b, t, h, k, d) of operand j is at b*l.b + t*l.t + h*l.h + k*l.k + d*l.d, l being
 * plan.operand[j].
 */
#ifndef LCSM_GRAPH_EOS_NODE_H
#define LCSM_GRAPH_EOS_NODE_H
#include "graph/op.h"
#include "kernel/eos/eos_plan.h"

/* Inputs after the operands. z is there where a running maximum is part of the node
 * (graph/ops/eos_mean_node.c). start is what every sequence begins with where nothing is carried in
 * and there is no m0: a parameter, which an empty state holds too. */
enum { LCSM_EOS_M0 = EOS_OPERANDS, LCSM_EOS_RESET, LCSM_EOS_READ, LCSM_EOS_Z, LCSM_EOS_START };

lcsm_status lcsm_eos_node_plan(const lcsm_node *n, lcsm_eos_plan *p, lcsm_error *err);

/* The same, and the plan of passes in which nobody gives the memory or asks for it. */
lcsm_status lcsm_eos_node_plans(const lcsm_node *n, lcsm_eos_plan p[2], lcsm_error *err);
#endif
