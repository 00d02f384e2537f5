/*
 * thread_pthread.c - parallel loops by POSIX threads that live for one loop.
 *
 * Every hand-over is visible to ThreadSanitizer. A thread that cannot be created is no
 * failure: the others do its share.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/thread.h"

enum { MAX_WORKERS = 256 };

typedef struct {
    lcsm_task_fn *task;
    void         *arg;
    size_t        n;
    atomic_size_t next; /* the first item that nobody has taken */
} loop;

typedef struct {
    loop     *loop;
    int       index;
    pthread_t thread;
} worker;

static _Thread_local bool inside_task;

static void run_items(loop *l, int index)
{
    inside_task = true;
    for (size_t item = atomic_fetch_add(&l->next, 1); item < l->n;
         item        = atomic_fetch_add(&l->next, 1))
        l->task(l->arg, item, index);
    inside_task = false;
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    run_items(w->loop, w->index);
    return NULL;
}

static void run_serial(size_t n, lcsm_task_fn *task, void *arg)
{
    for (size_t item = 0; item < n; item++) task(arg, item, 0);
}

void lcsm_parallel_for(int threads, size_t n, lcsm_task_fn *task, void *arg)
{
    if (threads > MAX_WORKERS) threads = MAX_WORKERS;
    if ((size_t)(threads > 0 ? threads : 1) > n) threads = (int)n;
    if (threads < 2 || inside_task) {
        run_serial(n, task, arg);
        return;
    }
    loop   l = {.task = task, .arg = arg, .n = n};
    worker workers[MAX_WORKERS];
    int    started = 1; /* worker 0 is the caller */
    for (; started < threads; started++) {
        worker *w = &workers[started];
        *w        = (worker){.loop = &l, .index = started};
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0) break;
    }
    run_items(&l, 0);
    for (int j = 1; j < started; j++) (void)pthread_join(workers[j].thread, NULL);
}

int lcsm_thread_limit(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return CPU_COUNT(&set);
}

const char *lcsm_thread_backend(void)
{
    return "pthread";
}
