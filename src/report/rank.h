/* rank.h - order statistics of tables: ranks, their correlation, means over seeds. */
#ifndef LCSM_REPORT_RANK_H
#define LCSM_REPORT_RANK_H
#include <stdbool.h>
#include <stddef.h>

/* Ranks 1 .. n, 1 for the smallest, or the largest if `descending`; equal values share the mean
 * of their places. What is not finite gets NaN and takes no place. */
void lcsm_ranks(double *ranks, const double *values, size_t count, bool descending);

/* Spearman's correlation over the pairs that are both finite; NaN with fewer than two of them, or
 * where one side does not vary. *pairs, if not NULL, is how many there are. */
double lcsm_spearman(const double *a, const double *b, size_t count, size_t *pairs);

/* Mean and sample deviation of the finite values; NaN for none, deviation 0 for one. */
void lcsm_mean_of(const double *values, size_t count, double *mean, double *deviation);

/* The q-quantile (0..1) of a sorted list by linear interpolation; NaN if it is empty. */
double lcsm_quantile(const double *sorted, size_t count, double q);
/* Sorts ascending. */
void lcsm_sort(double *values, size_t count);

/* An order of fewer rows is no evidence. */
enum { LCSM_RANKS_FEWEST = 3 };

#endif
