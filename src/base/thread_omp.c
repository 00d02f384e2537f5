/* thread_omp.c - parallel loops by OpenMP. */
#include <omp.h>

#include "base/thread.h"

void lcsm_parallel_for(int threads, size_t n, lcsm_task_fn *task, void *arg)
{
    if ((size_t)(threads > 0 ? threads : 1) > n) threads = (int)n;
    if (threads < 2 || omp_in_parallel()) {
        for (size_t item = 0; item < n; item++) task(arg, item, 0);
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t item = 0; item < n; item++) task(arg, item, omp_get_thread_num());
}

int lcsm_thread_limit(void)
{
    return omp_get_num_procs();
}

const char *lcsm_thread_backend(void)
{
    return "openmp";
}
