/*
 * kernel_runs.h - kernels of both number types behind one kind of call, for tests that compare
 * sets.
 *
 * A run makes its operands from its sizes alone, as floats, so that float and double see the very
 * same numbers; calls one kernel, forward and backward; and hands back all results as doubles.
 * kernel_runs.inc has the code, compiled for each type by kernel_runs_f32.c and kernel_runs_f64.c.
 */
#ifndef LCSM_KERNEL_RUNS_H
#define LCSM_KERNEL_RUNS_H
#include <stddef.h>

/* Results one after the other: a count, then so many numbers. */
typedef struct {
    double *p;
    size_t  used, capacity;
} kernel_results;

typedef struct {
    const char *name; /* "<kernel>-<variation>" */
    void (*run)(const void *kernels, int variation, ptrdiff_t rows, ptrdiff_t n, kernel_results *r);
    int variation;
} kernel_run;

extern const kernel_run KERNEL_RUNS_f32[],
    KERNEL_RUNS_f64[]; /* the same list, ended by name NULL */

/* A kernel table of the sets that cpu allows, for free(). */
void *kernel_table_f32(unsigned cpu);
void *kernel_table_f64(unsigned cpu);
#endif
