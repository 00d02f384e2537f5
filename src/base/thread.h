/*
 * thread.h - the one way in which the library runs on several threads.
 *
 * There are two implementations with this contract, and the build picks one file:
 * thread_omp.c (the default) and thread_pthread.c (for ThreadSanitizer, which cannot see
 * into the OpenMP runtime). No other file may use OpenMP or create threads.
 */
#ifndef LCSM_BASE_THREAD_H
#define LCSM_BASE_THREAD_H
#include <stddef.h>

/* Work item `item`, done by worker 0 .. threads - 1. A worker does one item at a time, so
 * scratch memory may belong to a worker; results must not depend on which worker it is. */
typedef void lcsm_task_fn(void *arg, size_t item, int worker);

/* Runs task for items 0 .. n - 1 and returns when all are done. Idle workers take the next
 * item, in order, so put long items first. Serial, in order, as worker 0, when n < 2, when threads
 * < 2, and when called from inside a task. What the caller wrote before is seen by the tasks,
 * what they wrote is seen by the caller after. */
void lcsm_parallel_for(int threads, size_t n, lcsm_task_fn *task, void *arg);

/* How many processors this process may use, at least 1. */
int lcsm_thread_limit(void);

/* "openmp" or "pthread". */
const char *lcsm_thread_backend(void);

#endif
