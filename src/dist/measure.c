/* measure.c - what messages between ranks cost. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/sized.h"
#include "dist/dist.h"

enum { ROUNDS = 3, BRIEF = 200, LONG = 8, SHORT_BYTES = 8, VOTE = 64, LARGEST = 1 << 30 };

/* One message from rank `from` to rank `to`, of which this is one. */
static lcsm_status pass(lcsm_dist *d, int from, int to, char *block, size_t bytes, lcsm_error *err)
{
    bool sends = lcsm_dist_rank(d) == from;
    LCSM_OR_RETURN(sends ? lcsm_dist_send(d, block, bytes, to, err)
                         : lcsm_dist_receive(d, block, bytes, from, err));
    return lcsm_dist_wait(d, err);
}

/* Seconds of one way between rank 0 and another, the least of some rounds; on rank 0. */
static lcsm_status ping(lcsm_dist *d, int other, char *block, size_t bytes, int times,
                        double *seconds, lcsm_error *err)
{
    for (int round = 0; round < ROUNDS; round++) {
        double from = lcsm_now();
        for (int j = 0; j < times; j++) {
            LCSM_OR_RETURN(pass(d, 0, other, block, bytes, err));
            LCSM_OR_RETURN(pass(d, other, 0, block, bytes, err));
        }
        double one = (lcsm_now() - from) / (2 * times);
        if (round == 0 || one < *seconds) *seconds = one;
    }
    return LCSM_OK;
}

/* The slowest pair; those that are not in one wait for the broadcast. */
static lcsm_status pairs(lcsm_dist *d, char *block, size_t bytes, int times, double *slowest,
                         lcsm_error *err)
{
    *slowest = 0;
    for (int other = 1; other < lcsm_dist_size(d); other++) {
        double seconds = 0;
        if (lcsm_dist_first(d) || lcsm_dist_rank(d) == other)
            LCSM_OR_RETURN(ping(d, other, block, bytes, times, &seconds, err));
        LCSM_OR_RETURN(lcsm_dist_broadcast(d, &seconds, sizeof seconds, 0, err));
        if (seconds > *slowest) *slowest = seconds;
    }
    return LCSM_OK;
}

static lcsm_status votes(lcsm_dist *d, char *block, double *seconds, lcsm_error *err)
{
    char own[VOTE] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        double from = lcsm_now();
        for (int j = 0; j < BRIEF; j++)
            LCSM_OR_RETURN(lcsm_dist_all_gather(d, own, sizeof own, block, err));
        double one = (lcsm_now() - from) / BRIEF;
        if (round == 0 || one < *seconds) *seconds = one;
    }
    return LCSM_OK;
}

static lcsm_status spreads(lcsm_dist *d, char *block, const size_t *begin, double *seconds,
                           lcsm_error *err)
{
    for (int round = 0; round < ROUNDS; round++) {
        double from = lcsm_now();
        for (int j = 0; j < LONG; j++) LCSM_OR_RETURN(lcsm_dist_spread(d, block, begin, err));
        double one = (lcsm_now() - from) / LONG;
        if (round == 0 || one < *seconds) *seconds = one;
    }
    return LCSM_OK;
}

static lcsm_status measure(lcsm_dist *d, char *block, size_t *begin, size_t bytes,
                           lcsm_dist_speed *out, lcsm_error *err)
{
    int    size  = lcsm_dist_size(d);
    double large = 0, all = 0;
    for (int r = 0; r <= size; r++) begin[r] = bytes * (size_t)r / (size_t)size;
    LCSM_OR_RETURN(pairs(d, block, SHORT_BYTES, BRIEF, &out->latency, err));
    LCSM_OR_RETURN(pairs(d, block, bytes, LONG, &large, err));
    LCSM_OR_RETURN(votes(d, block, &out->vote, err));
    LCSM_OR_RETURN(spreads(d, block, begin, &all, err));
    out->bandwidth = large > 0 ? (double)bytes / large : 0;
    out->spread    = all > 0 ? (double)(bytes - begin[1]) / all : 0;
    return LCSM_OK;
}

lcsm_status lcsm_dist_measure(lcsm_dist *d, size_t bytes, lcsm_dist_speed *out, lcsm_error *err)
{
    lcsm_dist_speed own  = {.size = sizeof own};
    size_t          size = (size_t)lcsm_dist_size(d);
    LCSM_OR_RETURN(LCSM_SIZED(lcsm_dist_speed, spread, out, err));
    if (size < 2)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "one process sends no messages; start several, as by mpirun -n 2");
    if (bytes < VOTE * size || bytes > LARGEST)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "messages of %zu bytes; expected %zu to %d", bytes,
                         VOTE * size, (int)LARGEST);
    char       *block = calloc(1, bytes);
    size_t     *begin = calloc(size + 1, sizeof *begin);
    lcsm_status st    = LCSM_OK;
    if (block == NULL || begin == NULL)
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for messages");
    st = lcsm_dist_agree(d, st, err);
    if (st == LCSM_OK && begin != NULL) st = measure(d, block, begin, bytes, &own, err);
    if (st == LCSM_OK) lcsm_sized_fill(out, &own, sizeof own);
    free(block);
    free(begin);
    return st;
}
