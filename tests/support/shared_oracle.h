/*
 * shared_oracle.h - cases of ../shared/oracles in tests: the numbers that others computed.
 *
 * Without that folder a test is skipped.
 */
#ifndef LCSM_SHARED_ORACLE_H
#define LCSM_SHARED_ORACLE_H
#include "lab/oracle.h"

/* Reads ../shared/oracles/<file>; skips the running test if it is not there. */
void shared_oracle_read(lcsm_oracle *o, const char *file);

/* Fails the running test if there is no such case or array. */
const lcsm_oracle_case *shared_oracle_case(const lcsm_oracle *o, const char *name);
const double *shared_oracle_array(const lcsm_oracle_arrays *a, const char *name, size_t numbers);

/* |got - want| <= tolerance (1 + |want|) for all numbers of the array. */
void shared_oracle_compare(const lcsm_oracle_arrays *a, const char *name, const double *got,
                           size_t numbers, double tolerance);
#endif
