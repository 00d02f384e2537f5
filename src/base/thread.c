/*
 * thread.c - a pool of threads, and loops on it.
 *
 * The gate is the state of a pool: how many seats of the loop are free, and how many workers are
 * inside. A worker that sees a free seat takes it, by which it gets its number, and then takes
 * items until there are none. Whoever finds that there are none closes the gate, so nobody comes
 * late; then the loop is over when nobody is inside. Between the loops the gate is 0.
 *
 * Sleeping is apart from that: the lock guards nothing but the two conditions. Who sleeps has said
 * so before it looks at the gate once more, and who changes the gate looks afterwards at who
 * sleeps, so one of the two sees the other.
 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): the name is the C library's */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

enum {
    LINE  = 64, /* bytes that processors pass among each other at once */
    LOOKS = 16, /* at the gate, for one at the clock */
};

/* The gate: free seats, workers inside, and whether the pool ends. */
#define SEAT   1u
#define SEATS  0xFFFFu
#define INSIDE 0x10000u
#define END    0x80000000u

#define SPIN_TIME 30e-6  /* of waiting before one sleeps */
#define LOST_TIME 100e-6 /* between two looks at the clock: somebody else had the processor */
#define CALM_TIME 20e-3  /* without spinning, after the processor was lost */

struct lcsm_pool {
    /* of the pool */
    int             threads, helpers; /* wanted, with the caller; created, without it */
    bool            may_spin;
    int             processor; /* of the caller */
    pid_t           process;
    pthread_mutex_t lock;
    pthread_cond_t  work, done;
    _Atomic double  calm_until; /* nobody spins before this time */
    atomic_int      sleepers;   /* workers that sleep, or are about to */
    atomic_bool     waited_for; /* the caller sleeps, or is about to */
    atomic_bool     taken;      /* by the loop of some thread */

    /* of the loop */
    _Alignas(LINE) lcsm_task_fn *task;
    void  *arg;
    size_t n;
    _Alignas(LINE) atomic_uint gate;
    _Alignas(LINE) atomic_size_t next; /* the first item that nobody has taken */

    pthread_t helper[];
};

static _Thread_local bool inside_task;

/* ---- waiting ----------------------------------------------------------------------------- */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool has_work(lcsm_pool *p)
{
    return (atomic_load(&p->gate) & (SEATS | END)) != 0;
}

static bool is_over(lcsm_pool *p)
{
    return atomic_load(&p->gate) < INSIDE;
}

static void be_calm(lcsm_pool *p)
{
    atomic_store_explicit(&p->calm_until, lcsm_now() + CALM_TIME, memory_order_relaxed);
}

/* Whether it happens while one spins. A gap between two looks at the clock says that another thread
 * had the processor: where threads wait for processors, a spinning one keeps those away that work.
 */
static bool spin_until(lcsm_pool *p, bool happened(lcsm_pool *))
{
    double from = lcsm_now(), now = from;
    bool spins = p->may_spin && from >= atomic_load_explicit(&p->calm_until, memory_order_relaxed);
    while (spins && now - from < SPIN_TIME) {
        for (int j = 0; j < LOOKS; j++) {
            if (happened(p)) return true;
            relax();
        }
        double last = now;
        now         = lcsm_now();
        if (now - last > LOST_TIME) be_calm(p);
    }
    return happened(p);
}

static void sleep_until(lcsm_pool *p, pthread_cond_t *told, bool happened(lcsm_pool *))
{
    (void)pthread_mutex_lock(&p->lock);
    while (!happened(p)) (void)pthread_cond_wait(told, &p->lock);
    (void)pthread_mutex_unlock(&p->lock);
}

/* Who was about to sleep, does so or has seen the gate, once the lock was ours. */
static void wake(lcsm_pool *p, pthread_cond_t *told, int count)
{
    (void)pthread_mutex_lock(&p->lock);
    (void)pthread_mutex_unlock(&p->lock);
    for (; count > 0; count--) (void)pthread_cond_signal(told);
}

static void wait_for_work(lcsm_pool *p)
{
    if (spin_until(p, has_work)) return;
    atomic_fetch_add(&p->sleepers, 1);
    sleep_until(p, &p->work, has_work);
    atomic_fetch_sub(&p->sleepers, 1);
}

static void wait_for_end(lcsm_pool *p)
{
    if (spin_until(p, is_over)) return;
    atomic_store(&p->waited_for, true);
    sleep_until(p, &p->done, is_over);
    atomic_store(&p->waited_for, false);
}

/* ---- the loop ---------------------------------------------------------------------------- */

static void run_items(lcsm_pool *p, int worker)
{
    inside_task = true;
    for (size_t item; (item = atomic_fetch_add(&p->next, 1)) < p->n;) p->task(p->arg, item, worker);
    inside_task = false;
    atomic_fetch_and(&p->gate, ~SEATS);
}

/* The number of the worker, or 0 if no seat is free. */
static int enter(lcsm_pool *p)
{
    unsigned gate = atomic_load(&p->gate);
    while ((gate & SEATS) != 0)
        if (atomic_compare_exchange_weak(&p->gate, &gate, gate - SEAT + INSIDE))
            return (int)(gate & SEATS);
    return 0;
}

static void leave(lcsm_pool *p)
{
    bool last = atomic_fetch_sub(&p->gate, INSIDE) < 2 * INSIDE;
    if (last && atomic_load(&p->waited_for)) wake(p, &p->done, 1);
}

static void *helper_main(void *arg)
{
    lcsm_pool *p = arg;
    for (;;) {
        wait_for_work(p);
        if ((atomic_load(&p->gate) & END) != 0) return NULL;
        int worker = enter(p);
        if (worker == 0) continue;
        if (sched_getcpu() == p->processor) be_calm(p);
        run_items(p, worker);
        leave(p);
    }
}

/* Wakes as many as there are seats for, less those that are awake. The workers of a pool that came
 * through a fork() are not in this process, and one of them may hold the lock for ever. */
static void call_helpers(lcsm_pool *p, int seats)
{
    int asleep = atomic_load(&p->sleepers), awake = p->helpers - asleep;
    if (asleep > 0 && seats > awake && getpid() == p->process) wake(p, &p->work, seats - awake);
}

static void run_serial(size_t n, lcsm_task_fn *task, void *arg)
{
    for (size_t item = 0; item < n; item++) task(arg, item, 0);
}

void lcsm_parallel_for(lcsm_pool *pool, size_t n, lcsm_task_fn *task, void *arg)
{
    if (n < 2 || inside_task || pool == NULL || pool->helpers == 0
        || atomic_exchange(&pool->taken, true)) {
        run_serial(n, task, arg);
        return;
    }
    int seats       = n <= (size_t)pool->helpers ? (int)n - 1 : pool->helpers;
    pool->task      = task;
    pool->arg       = arg;
    pool->n         = n;
    pool->processor = sched_getcpu();
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_store(&pool->gate, (unsigned)seats * SEAT);
    call_helpers(pool, seats);
    run_items(pool, 0);
    wait_for_end(pool);
    atomic_store(&pool->taken, false);
}

/* ---- the pool ---------------------------------------------------------------------------- */

/* Workers take no signals, so that they interrupt the program where it expects them; but those that
 * a thread brings upon itself go to the program's handlers. */
static void start_helpers(lcsm_pool *p)
{
    static const int OWN[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t         all, before;
    (void)sigfillset(&all);
    for (size_t j = 0; j < COUNT(OWN); j++) (void)sigdelset(&all, OWN[j]);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    while (p->helpers < p->threads - 1
           && pthread_create(&p->helper[p->helpers], NULL, helper_main, p) == 0)
        p->helpers++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

lcsm_pool *lcsm_pool_create(int threads)
{
    size_t     bytes = sizeof(lcsm_pool) + sizeof(pthread_t) * (size_t)threads;
    lcsm_pool *p     = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (p == NULL) return NULL;
    *p = (lcsm_pool){.threads  = threads,
                     .may_spin = threads <= lcsm_thread_limit(),
                     .process  = getpid(),
                     .lock     = PTHREAD_MUTEX_INITIALIZER,
                     .work     = PTHREAD_COND_INITIALIZER,
                     .done     = PTHREAD_COND_INITIALIZER};
    start_helpers(p);
    return p;
}

void lcsm_pool_free(lcsm_pool *p)
{
    if (p == NULL) return;
    if (getpid() == p->process) {
        atomic_fetch_or(&p->gate, END);
        wake(p, &p->work, p->helpers);
        for (int j = 0; j < p->helpers; j++) (void)pthread_join(p->helper[j], NULL);
    }
    free(p);
}

int lcsm_pool_threads(const lcsm_pool *p)
{
    return p == NULL ? 1 : p->threads;
}

int lcsm_thread_limit(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}
