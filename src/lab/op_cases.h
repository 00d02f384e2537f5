/*
 * lab/op_cases.h - test cases of the ops of the graph: one file of lab/cases/ for each op.
 *
 * They drive the unit, gradient, equivalence and benchmark runs of ops, and are no part of the
 * library.
 */
#ifndef LCSM_LAB_OP_CASES_H
#define LCSM_LAB_OP_CASES_H
#include "graph/attr.h"
#include "graph/case.h"
#include "kernel/eos/eos_plan.h"

/* Test cases: CASE("odd", &(attr){...}, {IN(2, 3, 5)}, {IN(5), .lo = 0, .hi = 1}), and LARGE for
 * one that is too large for finite differences. */
#define CASE(title, a, ...)                                                                        \
    {                                                                                              \
        .name = (title), .attr = (a), .in = { __VA_ARGS__ }                                        \
    }
#define LARGE(title, a, ...)                                                                       \
    {                                                                                              \
        .name = (title), .attr = (a), .in = {__VA_ARGS__}, .large = true                           \
    }
#define IN(...)                                                                                    \
    .shape = {(int)(sizeof((ptrdiff_t[]){__VA_ARGS__}) / sizeof(ptrdiff_t)), {__VA_ARGS__}}

typedef struct {
    const lcsm_op_case *list;
    size_t              count;
} lcsm_op_cases;

#define X(name) extern const lcsm_op_cases lcsm_op_cases_##name;
LCSM_OP_LIST(X)
#undef X

/* Every op has some. */
lcsm_op_cases lcsm_op_cases_of(lcsm_op_id op);

#endif
