/*
 * lcsm/check.h - prove the library on this machine: gradients, forms, oracles.
 *
 * Every check produces rows and gives each to a function of the caller as soon as it is known.
 *
 * Ownership  A row and its strings are borrowed for the time of the call of the sink.
 * Threads    A check belongs to one thread; it uses the context's threads.
 * Errors     A status other than LCSM_OK means that the check could not be run (a file that does
 *            not parse). A check that ran and failed is a row with ok = false.
 */
#ifndef LCSM_CHECK_H
#define LCSM_CHECK_H
#include <lcsm/context.h>
#include <lcsm/export.h>
#include <lcsm/model.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LCSM_BEGIN_DECLS

/* One comparison. Errors are the largest difference divided by the largest magnitude of the
 * expected numbers; NAN where there is nothing to compare. A reference is the same error of the
 * plain float32 kernels on the same numbers: float is judged by it, and its bound is
 * 4 x reference + 5e-6; NAN where the bound is fixed. */
typedef struct {
    size_t      size;      /* set by the library */
    const char *group;     /* a file, or the kind of check */
    const char *name;      /* the case */
    const char *precision; /* "double" or "float" */
    double      output_error, output_reference, output_bound;
    double      gradient_error, gradient_reference, gradient_bound;
    bool        ok;
    bool refused;       /* not ok because the case is not known or not supported: nothing was run */
    const char *detail; /* what is worst, or why it failed; may be "" */
} lcsm_check_row;

typedef void lcsm_check_sink(void *user, const lcsm_check_row *row);

typedef struct {
    size_t      size;   /* sizeof(lcsm_check_options) */
    bool        full;   /* all shapes; otherwise a selection of a few seconds */
    const char *filter; /* NULL, or: only cases whose name contains it */
} lcsm_check_options;

/* The EOS operator: every operand form, its gradients against finite differences, float against
 * double, the forms against each other, splits of the sequence, extreme numbers. */
LCSM_API lcsm_status lcsm_check_eos(const lcsm_context *ctx, const lcsm_check_options *options,
                                    lcsm_check_sink *sink, void *user, lcsm_error *err);

/* Proves methods and codes in two-layer models on this machine. name is a method, a code, "methods"
 * (every method and flavour) or "codes" (all 384 and the SSM; a selection unless options->full). */
LCSM_API lcsm_status lcsm_check_models(const lcsm_context *ctx, const char *name,
                                       const lcsm_check_options *options, lcsm_check_sink *sink,
                                       void *user, lcsm_error *err);

/* Logits of a model against recorded ones, three ways: whole sequences, token by token, and split
 * in the middle. The file is JSON, {"sequences": [[id, ...], ...], "logits": [[[x, ...], ...],
 * ...]}, or, where tokens are given, float32 numbers: the logits behind the last token, or behind
 * each. Errors of these rows are absolute. bound NAN: what the plain float32 kernels differ from
 * double in this model, four times, and 5e-6 of the largest logit. */
LCSM_API lcsm_status lcsm_check_logits(const lcsm_model *model, const char *file,
                                       const int32_t *tokens, size_t count, double bound,
                                       lcsm_check_sink *sink, void *user, lcsm_error *err);

LCSM_END_DECLS
#endif
