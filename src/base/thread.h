/*
 * thread.h - the one way in which the library runs on several threads: a pool and its loops.
 *
 * A pool has worker threads, which are started with it and end with it. They wait for work by
 * spinning for at most some 30 us, then they sleep; they do not spin at all while there are more
 * busy threads than processors. Signals are left to the other threads of the program.
 *
 * A loop never waits for a worker that has not begun an item: if the workers come late, or do not
 * exist because the system refused to create them, the caller does the work. In the child of a
 * fork() a pool has no workers, and its loops run on the caller.
 *
 * No other file creates threads.
 */
#ifndef LCSM_BASE_THREAD_H
#define LCSM_BASE_THREAD_H
#include <stddef.h>

enum { LCSM_THREADS_MAX = 1024 };

typedef struct lcsm_pool lcsm_pool;

/* A pool for so many threads, 1 .. LCSM_THREADS_MAX, of which the caller of a loop is one. NULL if
 * there is no memory for it. */
lcsm_pool *lcsm_pool_create(int threads);

/* Ends the workers. No loop may be running. NULL is fine. */
void lcsm_pool_free(lcsm_pool *pool);

/* 1 for NULL. */
int lcsm_pool_threads(const lcsm_pool *pool);

/* Work item `item`, done by worker 0 .. threads - 1. A worker does one item at a time, so
 * scratch memory may belong to a worker; results must not depend on which worker it is. */
typedef void lcsm_task_fn(void *arg, size_t item, int worker);

/* Runs task for items 0 .. n - 1 and returns when all are done. Idle workers take the next
 * item, in order, so put long items first; workers are numbered below n too. Serial, in order, as
 * worker 0, when n < 2, when the pool is NULL or has one thread, when another thread's loop has the
 * pool, and inside a task of a loop that is not serial. What the caller wrote before is seen by the
 * tasks, what they wrote is seen by the caller after. Any number of threads may call. */
void lcsm_parallel_for(lcsm_pool *pool, size_t n, lcsm_task_fn *task, void *arg);

/* How many processors this process may use, at least 1. */
int lcsm_thread_limit(void);

#endif
