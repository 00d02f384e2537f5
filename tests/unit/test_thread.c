/* test_thread.c - every item runs once, on a worker that exists, whoever runs it and whatever else
 * goes on: other callers, other pools, a fork, no threads to be had. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/sanitizer.h"
#include "base/thread.h"
#include "test.h"

enum { MAX_ITEMS = 1000, MAX_WORKERS = 8 };

typedef struct {
    int  runs[MAX_ITEMS];
    long per_worker[MAX_WORKERS]; /* written without locks: a worker is never in two places */
    int  workers;                 /* that there may be */
    bool worker_out_of_range;
} record;

static void note(void *arg, size_t item, int worker)
{
    record *r = arg;
    r->runs[item]++;
    if (worker < 0 || worker >= r->workers) r->worker_out_of_range = true;
    else r->per_worker[worker]++;
}

/* A loop of n items, looked through afterwards. */
static void run_and_check(lcsm_pool *pool, size_t n)
{
    static _Thread_local record r;
    int                         threads = lcsm_pool_threads(pool);
    memset(&r, 0, sizeof r);
    r.workers = n < (size_t)threads ? (int)n : threads;
    lcsm_parallel_for(pool, n, note, &r);

    long sum = 0;
    for (int w = 0; w < MAX_WORKERS; w++) sum += r.per_worker[w];
    assert_int_equal(sum, (long)n);
    assert_false(r.worker_out_of_range);
    for (size_t k = 0; k < MAX_ITEMS; k++) assert_int_equal(r.runs[k], k < n);
}

TEST(parallel_for_runs_every_item_once)
{
    static const size_t ITEMS[] = {0, 1, 2, 3, 7, 8, 9, MAX_ITEMS};
    for (int threads = 1; threads <= MAX_WORKERS; threads++) {
        lcsm_pool *pool = lcsm_pool_create(threads);
        assert_int_equal(lcsm_pool_threads(pool), threads);
        for (int round = 0; round < 20; round++)
            for (size_t j = 0; j < COUNT(ITEMS); j++) run_and_check(pool, ITEMS[j]);
        lcsm_pool_free(pool);
    }
}

typedef struct {
    size_t order[16], count;
} sequence;

static void append(void *arg, size_t item, int worker)
{
    sequence *s = arg;
    assert_int_equal(worker, 0);
    s->order[s->count++] = item;
}

static void check_order(const sequence *s)
{
    assert_int_equal(s->count, 16);
    for (size_t j = 0; j < 16; j++) assert_int_equal(s->order[j], j);
}

TEST(parallel_for_on_one_thread_or_no_pool_keeps_the_order)
{
    lcsm_pool *pools[] = {NULL, lcsm_pool_create(1)};
    assert_int_equal(lcsm_pool_threads(NULL), 1);
    for (size_t j = 0; j < COUNT(pools); j++) {
        sequence s = {.count = 0};
        lcsm_parallel_for(pools[j], 16, append, &s);
        check_order(&s);
        lcsm_pool_free(pools[j]);
    }
}

typedef struct {
    lcsm_pool *pool;
    sequence   inner[6];
} nest;

static void nested(void *arg, size_t item, int worker)
{
    nest *x = arg;
    (void)worker;
    lcsm_parallel_for(x->pool, 16, append, &x->inner[item]); /* races unless it is serial */
}

/* On the pool that runs the outer loop, and on one that is free. */
TEST(parallel_for_inside_a_task_is_serial_and_in_order)
{
    lcsm_pool *outer = lcsm_pool_create(4), *other = lcsm_pool_create(4);
    for (int round = 0; round < 50; round++) {
        nest x = {.pool = round % 2 == 0 ? outer : other};
        lcsm_parallel_for(outer, 6, nested, &x);
        for (size_t j = 0; j < 6; j++) check_order(&x.inner[j]);
    }
    lcsm_pool_free(outer);
    lcsm_pool_free(other);
}

static void square(void *arg, size_t item, int worker)
{
    double *x = arg;
    (void)worker;
    x[item] = x[item] * x[item];
}

static void check_squares(lcsm_pool *pool, double *x, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        for (size_t j = 0; j < MAX_ITEMS; j++) x[j] = (double)j + round;
        lcsm_parallel_for(pool, MAX_ITEMS, square, x);
        for (size_t j = 0; j < MAX_ITEMS; j++)
            assert_true(x[j] == ((double)j + round) * ((double)j + round));
    }
}

TEST(parallel_for_hands_memory_over_and_back)
{
    static double x[MAX_ITEMS];
    lcsm_pool    *pool = lcsm_pool_create(4);
    check_squares(pool, x, 50);
    lcsm_pool_free(pool);
}

/* ---- when workers wait, and for how long ---- */

static void pause_for(long microseconds)
{
    struct timespec t = {0, microseconds * 1000};
    (void)nanosleep(&t, NULL);
}

/* Long items at first, short ones, and none: the caller sleeps until the last is done, and between
 * the loops the workers sleep, or spin, or are about to do either. */
static void uneven(void *arg, size_t item, int worker)
{
    note(arg, item, worker);
    if (item < 2) pause_for(500);
}

TEST(parallel_for_waits_for_items_of_uneven_length)
{
    lcsm_pool *pool = lcsm_pool_create(3);
    for (int round = 0; round < 100; round++) {
        record r = {.workers = 3};
        lcsm_parallel_for(pool, 8, uneven, &r);
        for (size_t k = 0; k < 8; k++) assert_int_equal(r.runs[k], 1);
        if (round % 3 == 0) pause_for(round * 2L); /* 0 to 200 us: around the end of spinning */
        run_and_check(pool, 3);
    }
    lcsm_pool_free(pool);
}

static void count(void *arg, size_t item, int worker)
{
    (void)worker;
    ((int *)arg)[item]++;
}

TEST(parallel_for_with_more_threads_than_processors_is_complete)
{
    static int runs[MAX_ITEMS];
    int        limit = lcsm_thread_limit();
    lcsm_pool *pool  = lcsm_pool_create(4 * limit > 200 ? 4 * limit : 200);
    for (int round = 1; round <= 50; round++) {
        lcsm_parallel_for(pool, MAX_ITEMS, count, runs);
        for (size_t k = 0; k < MAX_ITEMS; k++) assert_int_equal(runs[k], round);
    }
    lcsm_pool_free(pool);
}

static double processor_time(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 200 pauses of 1 ms are 200 ms of waiting for each worker. With 30 us of spinning a pause, 6 ms of
 * processor time; a worker that spun all the time would take all of it. Two threads spin where
 * there are two processors, four do not spin on fewer than four. */
static void idle_pool_costs_little(int threads)
{
    lcsm_pool *pool = lcsm_pool_create(threads);
    double     from = processor_time();
    for (int round = 0; round < 200; round++) {
        run_and_check(pool, 4);
        pause_for(1000);
    }
    if (!LCSM_TSAN && !LCSM_ASAN) assert_true(processor_time() - from < 0.1 * (threads - 1));
    lcsm_pool_free(pool);
}

TEST(pool_that_has_nothing_to_do_sleeps)
{
    idle_pool_costs_little(2);
    idle_pool_costs_little(4);
}

/* ---- several callers, several pools ---- */

typedef struct {
    lcsm_pool *pool;
    double     x[MAX_ITEMS];
} caller;

static void *call(void *arg)
{
    caller *c = arg;
    check_squares(c->pool, c->x, 100);
    return NULL;
}

static void run_callers(lcsm_pool *const *pools, int count)
{
    static caller callers[4];
    pthread_t     threads[4];
    for (int j = 0; j < count; j++) {
        callers[j].pool = pools[j];
        assert_int_equal(pthread_create(&threads[j], NULL, call, &callers[j]), 0);
    }
    for (int j = 0; j < count; j++) assert_int_equal(pthread_join(threads[j], NULL), 0);
}

TEST(parallel_for_takes_several_callers_of_one_pool)
{
    lcsm_pool *pool = lcsm_pool_create(3);
    run_callers((lcsm_pool *[]){pool, pool, pool, pool}, 4);
    lcsm_pool_free(pool);
}

TEST(parallel_for_runs_on_two_pools_at_once)
{
    lcsm_pool *a = lcsm_pool_create(2), *b = lcsm_pool_create(3);
    run_callers((lcsm_pool *[]){a, b, a, b}, 4);
    lcsm_pool_free(a);
    lcsm_pool_free(b);
}

/* Without a loop, with one, and while the workers still look for another. */
TEST(pool_can_be_made_and_freed_a_thousand_times)
{
    for (int round = 0; round < 1000; round++) {
        lcsm_pool *pool = lcsm_pool_create(3);
        if (round % 2 == 0) run_and_check(pool, 5);
        if (round % 4 == 0) pause_for(50);
        lcsm_pool_free(pool);
    }
    lcsm_pool_free(NULL);
}

/* ---- the process ---- */

/* In the child: the loops of the parent's pool, a pool of its own, and the end of both. */
static void child_works(lcsm_pool *pool)
{
    static record r;
    for (int round = 0; round < 10; round++) {
        memset(&r, 0, sizeof r);
        r.workers = 1;
        lcsm_parallel_for(pool, 20, note, &r);
        for (size_t k = 0; k < 20; k++)
            if (r.runs[k] != 1 || r.worker_out_of_range) _exit(1);
    }
    lcsm_pool_free(pool);
    r.workers      = 3;
    lcsm_pool *own = LCSM_TSAN ? NULL : lcsm_pool_create(3); /* it allows no threads here */
    lcsm_parallel_for(own, 20, note, &r);
    lcsm_pool_free(own);
    _exit(r.runs[0] == 2 ? 0 : 2);
}

static void check_child(lcsm_pool *pool)
{
    pid_t child = fork();
    int   status;
    if (child == 0) {
        (void)alarm(60); /* a child that hangs is a failure, not a wait */
        child_works(pool);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Workers that spin, that are about to sleep, and that sleep. */
TEST(pool_in_the_child_of_a_fork_runs_serially)
{
    lcsm_pool *pool = lcsm_pool_create(4);
    for (int round = 0; round < 40; round++) {
        run_and_check(pool, 8);
        pause_for(round * 5L);
        check_child(pool);
        run_and_check(pool, 8);
    }
    lcsm_pool_free(pool);
}

static atomic_bool stop_calling;

static void *call_until_stopped(void *arg)
{
    static double x[MAX_ITEMS];
    while (!atomic_load(&stop_calling)) check_squares(arg, x, 1);
    return NULL;
}

TEST(pool_in_the_child_of_a_fork_during_a_loop_runs_serially)
{
    lcsm_pool *pool = lcsm_pool_create(4);
    pthread_t  other;
    atomic_store(&stop_calling, false);
    assert_int_equal(pthread_create(&other, NULL, call_until_stopped, pool), 0);
    for (int round = 0; round < 40; round++) check_child(pool);
    atomic_store(&stop_calling, true);
    assert_int_equal(pthread_join(other, NULL), 0);
    lcsm_pool_free(pool);
}

typedef struct {
    atomic_int asked, wrong;
} masks;

/* A worker other than the caller says which signals it would take. */
static void ask(void *arg, size_t item, int worker)
{
    masks   *m = arg;
    sigset_t blocked;
    pause_for(100);
    if (worker == 0 || pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0) return;
    bool right = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM)
              && sigismember(&blocked, SIGUSR1) && sigismember(&blocked, SIGCHLD)
              && !sigismember(&blocked, SIGSEGV);
    atomic_fetch_add(&m->asked, 1);
    if (!right) atomic_fetch_add(&m->wrong, 1);
    (void)item;
}

TEST(pool_workers_take_no_signals_but_their_own_faults)
{
    masks      m = {0};
    sigset_t   before, after;
    lcsm_pool *pool;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &before);
    pool = lcsm_pool_create(4);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int round = 0; round < 10000 && atomic_load(&m.asked) < 10; round++)
        lcsm_parallel_for(pool, 8, ask, &m);
    assert_true(atomic_load(&m.asked) >= 10);
    assert_int_equal(atomic_load(&m.wrong), 0);
    for (int number = 1; number < 32; number++)
        assert_int_equal(sigismember(&before, number), sigismember(&after, number));
    lcsm_pool_free(pool);
}

/* Stacks of threads do not fit into the address space that is left, but for those that earlier
 * threads left behind. The sanitizers need address space of their own. */
static void work_without_threads(void)
{
    static int    runs[MAX_ITEMS];
    struct rlimit none = {1, 1};
    struct stat   tasks;
    if (setrlimit(RLIMIT_AS, &none) != 0) _exit(3);
    lcsm_pool *pool = lcsm_pool_create(100);
    if (pool == NULL || lcsm_pool_threads(pool) != 100) _exit(4);
    if (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink >= 2 + 100) _exit(5);
    lcsm_parallel_for(pool, MAX_ITEMS, count, runs);
    for (size_t k = 0; k < MAX_ITEMS; k++)
        if (runs[k] != 1) _exit(6);
    lcsm_pool_free(pool);
    _exit(0);
}

TEST(pool_without_its_threads_works)
{
    if (LCSM_TSAN || LCSM_ASAN) skip();
    pid_t child = fork();
    int   status;
    if (child == 0) work_without_threads();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(thread_limit_is_at_least_one)
{
    assert_true(lcsm_thread_limit() >= 1);
}
