/* clock.h - seconds. */
#ifndef LCSM_BASE_CLOCK_H
#define LCSM_BASE_CLOCK_H

double lcsm_now(void);            /* of a clock that never goes back */
double lcsm_wall_time(void);      /* since 1970 */
double lcsm_processor_time(void); /* that the threads of this process were on a processor */

#endif
