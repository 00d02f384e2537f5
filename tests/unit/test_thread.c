/* test_thread.c - every item runs once, on a worker that exists, whoever runs it. */
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "test.h"

enum { MAX_ITEMS = 1000, MAX_THREADS = 8 };

typedef struct {
    int  runs[MAX_ITEMS];
    long per_worker[MAX_THREADS]; /* written without locks: a worker is never in two places */
    int  threads;
    bool worker_out_of_range;
} record;

static void note(void *arg, size_t item, int worker)
{
    record *r = arg;
    r->runs[item]++;
    if (worker < 0 || worker >= r->threads) r->worker_out_of_range = true;
    else r->per_worker[worker]++;
}

TEST(parallel_for_runs_every_item_once)
{
    static const size_t ITEMS[] = {0, 1, 2, 3, 7, 8, 9, MAX_ITEMS};
    static record       r;
    for (int threads = 1; threads <= MAX_THREADS; threads++)
        for (size_t j = 0; j < COUNT(ITEMS); j++) {
            memset(&r, 0, sizeof r);
            r.threads = threads;
            lcsm_parallel_for(threads, ITEMS[j], note, &r);

            long sum = 0;
            for (int w = 0; w < threads; w++) sum += r.per_worker[w];
            assert_int_equal(sum, (long)ITEMS[j]);
            assert_false(r.worker_out_of_range);
            for (size_t k = 0; k < MAX_ITEMS; k++) assert_int_equal(r.runs[k], k < ITEMS[j]);
        }
}

TEST(parallel_for_with_no_threads_is_serial)
{
    record r = {.threads = 1};
    lcsm_parallel_for(0, 5, note, &r);
    lcsm_parallel_for(-3, 5, note, &r);
    assert_int_equal(r.per_worker[0], 10);
    assert_false(r.worker_out_of_range);
}

typedef struct {
    size_t order[16], count;
} sequence;

static void append(void *arg, size_t item, int worker)
{
    sequence *s = arg;
    (void)worker;
    s->order[s->count++] = item;
}

TEST(parallel_for_on_one_thread_keeps_the_order)
{
    sequence s = {.count = 0};
    lcsm_parallel_for(1, 16, append, &s);
    for (size_t j = 0; j < 16; j++) assert_int_equal(s.order[j], j);
}

static void nested(void *arg, size_t item, int worker)
{
    sequence *inner = arg;
    (void)worker;
    lcsm_parallel_for(4, 16, append, &inner[item]); /* races unless it is serial */
}

TEST(parallel_for_inside_a_task_is_serial_and_in_order)
{
    sequence inner[6] = {{.count = 0}};
    lcsm_parallel_for(4, 6, nested, inner);
    for (size_t j = 0; j < 6; j++) {
        assert_int_equal(inner[j].count, 16);
        for (size_t k = 0; k < 16; k++) assert_int_equal(inner[j].order[k], k);
    }
}

static void square(void *arg, size_t item, int worker)
{
    double *x = arg;
    (void)worker;
    x[item] = x[item] * x[item];
}

TEST(parallel_for_hands_memory_over_and_back)
{
    static double x[MAX_ITEMS];
    for (int round = 0; round < 50; round++) {
        for (size_t j = 0; j < MAX_ITEMS; j++) x[j] = (double)j + round;
        lcsm_parallel_for(4, MAX_ITEMS, square, x);
        for (size_t j = 0; j < MAX_ITEMS; j++)
            assert_true(x[j] == ((double)j + round) * ((double)j + round));
    }
}

TEST(thread_limit_is_at_least_one)
{
    assert_true(lcsm_thread_limit() >= 1);
    assert_true(strlen(lcsm_thread_backend()) > 0);
}
