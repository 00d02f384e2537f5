/*
 * check/oracle_tape.h - complex arithmetic that remembers itself, for gradients.
 *
 * Some cases give what the eos operator takes by another name, and the way from one to the other is
 * no operation of the graph: the polar form, a dense discretisation. A few numbers are made here,
 * handed to the graph, and the graph's gradients of them are carried back.
 *
 * The gradient of z = x + iy is dL/dx + i dL/dy. A number is named by its place on the tape; a
 * failure to get memory is sticky, and names made after it are 0.
 */
#ifndef LCSM_CHECK_ORACLE_TAPE_H
#define LCSM_CHECK_ORACLE_TAPE_H
#include <complex.h>
#undef complex /* a name of ours */
#include <stdbool.h>
#include <stddef.h>

#ifndef CMPLX /* glibc has it for GCC only */
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#endif

typedef struct {
    char op;   /* '.', '+', '-', '*', '/', 'e' exp, 'l' log */
    int  a, b; /* the operands */
    double _Complex value, grad;
} lcsm_tape_node;

typedef struct {
    lcsm_tape_node *node;
    int             count, capacity;
    bool            failed;
} lcsm_tape;

int lcsm_tape_number(lcsm_tape *t, double _Complex value);
int lcsm_tape_add(lcsm_tape *t, int a, int b);
int lcsm_tape_sub(lcsm_tape *t, int a, int b);
int lcsm_tape_mul(lcsm_tape *t, int a, int b);
int lcsm_tape_div(lcsm_tape *t, int a, int b);
int lcsm_tape_exp(lcsm_tape *t, int a);
int lcsm_tape_log(lcsm_tape *t, int a);

/* Carries the gradients of all numbers back to those they were made from. */
void lcsm_tape_backward(lcsm_tape *t);
void lcsm_tape_free(lcsm_tape *t);

#endif
