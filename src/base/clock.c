/* clock.c - seconds, by the clocks of the system. */
#include "base/clock.h"

#include <time.h>

static double seconds_of(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double lcsm_now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double lcsm_wall_time(void)
{
    return seconds_of(CLOCK_REALTIME);
}

double lcsm_processor_time(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}
