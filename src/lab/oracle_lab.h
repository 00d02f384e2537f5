/*
 * lab/oracle_lab.h - one case of an oracle file: a builder turns its arrays into a graph, the
 * graph runs, and every output and gradient that the file gives is compared.
 *
 * Builders are short functions over the graph; oracle_roster.c says which case has which. They take
 * inputs by name, make constants, and name the tensors that are outputs. Like builders of the
 * graph they never fail in between: what is missing makes the graph fail with a sentence.
 */
#ifndef LCSM_LAB_ORACLE_LAB_H
#define LCSM_LAB_ORACLE_LAB_H
#include <lcsm/context.h>
#include <lcsm/eos.h>

#include "graph/graph.h"
#include "kernel/eos/eos_plan.h"
#include "lab/oracle.h"

typedef struct lcsm_lab lcsm_lab;

typedef void lcsm_lab_builder(lcsm_lab *lab);

/* How an array lies in its tensor: as it is; its last two axes exchanged; the parts of complex
 * numbers in planes; 2 Re and -2 Im of each row side by side, as S5 reads; or another number of
 * each: log |z| or arg z of a complex one, log x, log(-x), log x / (1 - x), log 2 x / (1 - x). */
typedef enum {
    AS_GIVEN,
    SWAPPED,
    PLANES,
    READ_BACK,
    LN,
    LN_NEGATIVE,
    LOGIT,
    LOGIT_OF_THREE,
    LOG,
    PHASE
} lab_layout;

/* The compared numbers of a run, in their order: a second run is held against the first. */
typedef struct {
    double *numbers;
    size_t  count, room, next;
    bool    known; /* from the first run */
} lcsm_lab_trace;

struct lcsm_lab {
    lcsm_graph             *g;
    lcsm_params            *params;
    const lcsm_context     *ctx;
    const lcsm_oracle_case *c;
    lcsm_dtype              dtype;
    lcsm_eos_form           form; /* of the main eos op; LCSM_FORM_AUTO leaves it to the planner */
    ptrdiff_t               chunk;
    struct lab_binding     *binding; /* what each tensor or number stands for */
    size_t                  bindings;
    lcsm_state             *state;     /* carried, or NULL */
    void                   *room;      /* memory that lives as long as the lab, as a list */
    double                **gradients; /* NULL, or: gets the gradients, as many as the file has */
    lcsm_lab_trace         *trace;     /* NULL, or: takes the place of the file's numbers */
    uint64_t                nudge;     /* not 0: inputs are moved by up to half an ulp of float */
};

/* ---- inputs and settings ---- */

/* The input of this name as it is in the file; a number has shape [1], a complex array an axis of
 * 2 more at the end. _swapped exchanges its last two axes; _planes has the axis of 2 in front;
 * _seq takes (T, C) as (1, T, C). */
lcsm_tensor *lcsm_lab_in(lcsm_lab *lab, const char *name);
lcsm_tensor *lcsm_lab_in_swapped(lcsm_lab *lab, const char *name);
lcsm_tensor *lcsm_lab_in_planes(lcsm_lab *lab, const char *name);
/* log |z| and arg z of a complex input. */
lcsm_tensor *lcsm_lab_in_log(lcsm_lab *lab, const char *name);
lcsm_tensor *lcsm_lab_in_phase(lcsm_lab *lab, const char *name);
lcsm_tensor *lcsm_lab_seq(lcsm_lab *lab, const char *name);

lcsm_tensor *lcsm_lab_in_as(lcsm_lab *lab, const char *name, lab_layout layout);

/* The input of this name as the graph's parameter of another name, which there is already: in a
 * layout, times a factor, from number `to` of the parameter on. */
void lcsm_lab_in_param(lcsm_lab *lab, const char *name, const char *param);
void lcsm_lab_in_param_as(lcsm_lab *lab, const char *name, const char *param, lab_layout layout,
                          double factor, size_t to);
/* Numbers first .. first + count - 1 of the input only. */
void lcsm_lab_in_part(lcsm_lab *lab, const char *name, size_t first, size_t count,
                      const char *param, size_t to);
/* The tensor of a parameter that there is already; NULL fails. */
lcsm_tensor *lcsm_lab_param(lcsm_lab *lab, const char *param);
/* Whether a parameter has got values. */
bool lcsm_lab_is_bound(const lcsm_lab *lab, const lcsm_tensor *t);

const lcsm_oracle_array *lcsm_lab_array(lcsm_lab *lab, const char *name); /* NULL fails */
bool                     lcsm_lab_has(const lcsm_lab *lab, const char *name);
/* Axis j of an input; 1 and a failure if there is none. */
ptrdiff_t lcsm_lab_dim(lcsm_lab *lab, const char *name, int axis);

/* A setting; the fallback where it is absent. A fallback of NAN means that it must be there. */
double      lcsm_lab_number(lcsm_lab *lab, const char *key, double fallback);
const char *lcsm_lab_text(lcsm_lab *lab, const char *key, const char *fallback);
/* count numbers of a list. */
void lcsm_lab_list(lcsm_lab *lab, const char *key, double *to, size_t count);

/* ---- constants ---- */

lcsm_tensor *lcsm_lab_fill(lcsm_lab *lab, lcsm_shape shape, double value);
lcsm_tensor *lcsm_lab_constant(lcsm_lab *lab, lcsm_shape shape, const double *values);
/* Integers, as targets are. */
lcsm_tensor *lcsm_lab_integers(lcsm_lab *lab, lcsm_shape shape, const double *values);
/* An input of the graph that a builder below made gets these values. */
void lcsm_lab_set(lcsm_lab *lab, lcsm_tensor *input, const double *values);
/* Zeroed memory of the lab; NULL makes the graph fail. */
void *lcsm_lab_take(lcsm_lab *lab, size_t count, size_t size);

/* ---- outputs ---- */

void lcsm_lab_out(lcsm_lab *lab, const char *name, lcsm_tensor *t);
void lcsm_lab_out_swapped(lcsm_lab *lab, const char *name, lcsm_tensor *t);
/* Part `index` of an output whose first axis is divided into several tensors. */
void lcsm_lab_out_part(lcsm_lab *lab, const char *name, lcsm_tensor *t, ptrdiff_t index);
/* The derivative of the sum of y with respect to the input tensor x. */
void lcsm_lab_out_derivative(lcsm_lab *lab, const char *name, lcsm_tensor *y, lcsm_tensor *x);
/* Numbers that were made without a graph. */
void lcsm_lab_out_numbers(lcsm_lab *lab, const char *name, const double *values, size_t count);
bool lcsm_lab_wants(const lcsm_lab *lab, const char *output);
/* The one carried state of the graph starts as an input (NULL: empty) and ends as an output; the
 * last two axes of both are exchanged. */
void lcsm_lab_carry(lcsm_lab *lab, const char *in, const char *out);

/* ---- running ---- */

/* What was found; errors are infinite where a number is not finite. */
typedef struct {
    double output, gradient; /* NAN: nothing compared */
    char   worst[48];        /* the array of the largest error, as a part of its bound */
    char   compared[1024];   /* names of the outputs and gradients */
} lcsm_lab_result;

/* ctx, c, dtype, form and chunk are set by the caller. LCSM_ERR_UNSUPPORTED: this form does not
 * serve the case. */
lcsm_status lcsm_lab_run(lcsm_lab *lab, lcsm_lab_builder *build, lcsm_lab_result *out,
                         lcsm_error *err);

/* The loss alone: the sum of dy and the outputs, or the output that is a loss. */
lcsm_status lcsm_lab_value(lcsm_lab *lab, lcsm_lab_builder *build, double *loss, lcsm_error *err);

/* What the case costs in float: the errors of the plain float32 kernels against double, the largest
 * of some runs whose inputs differ by less than an ulp. One run alone may be exact by chance. */
lcsm_status lcsm_lab_rounding(const lcsm_oracle_case *c, lcsm_lab_builder *build,
                              lcsm_lab_result *out, lcsm_error *err);

/* The bound of errors in double, absolute plus relative: what recorded gradients, differences of
 * fourth order, are good for. */
#define LCSM_LAB_BOUND 1e-9

#endif
