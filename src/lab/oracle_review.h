/*
 * lab/oracle_review.h - recorded gradients that are not the derivative.
 *
 * The gradients of oracle files are differences of fourth order with step 1e-3. That is good to
 * about 1e-11 where the function is smooth on this scale, but behind the norm of nearly equal
 * numbers it is not. So where a gradient disagrees, the recording is repeated with the forward pass
 * of the library in double: if the same differences give the recorded numbers, the functions are
 * the same and only the step was too large; then the derivative of that forward pass, by
 * extrapolation to step 0, takes the place of the recorded numbers, and backward is held to it.
 */
#ifndef LCSM_LAB_ORACLE_REVIEW_H
#define LCSM_LAB_ORACLE_REVIEW_H
#include "lab/oracle_roster.h"

typedef struct {
    lcsm_oracle_case   c;          /* the case with these gradients; borrows all else */
    lcsm_oracle_array *grads;      /* owned, as the data of those that were replaced */
    bool              *replaced;   /* for each gradient */
    char               names[128]; /* of those */
} lcsm_oracle_review;

/* out->c is c itself where all gradients agree, or where the repetition does not confirm them. */
lcsm_status lcsm_oracle_review_make(lcsm_oracle_review *out, const lcsm_context *ctx,
                                    const lcsm_oracle_case *c, const lcsm_oracle_row *row,
                                    lcsm_error *err);
void        lcsm_oracle_review_free(lcsm_oracle_review *r);

#endif
