/* near.h - doubles compared in double; cmocka's own comparison rounds to float first. */
#ifndef LCSM_NEAR_H
#define LCSM_NEAR_H
#include <math.h>

#include "test.h"

/* |got - want| <= tolerance; a NaN fails. */
#define assert_near(got, want, tolerance)                                                          \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        if (!(fabs(got_ - want_) <= (tolerance)))                                                  \
            fail_msg("%s is %.17g, want %.17g", #got, got_, want_);                                \
    } while (0)
#endif
