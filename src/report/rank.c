/* rank.c - plain loops: tables have tens of rows. */
#include "report/rank.h"

#include <math.h>
#include <stdlib.h>

void lcsm_ranks(double *ranks, const double *values, size_t count, bool descending)
{
    double sign = descending ? -1 : 1;
    for (size_t j = 0; j < count; j++) {
        double below = 0, equal = 0;
        ranks[j] = NAN;
        if (!isfinite(values[j])) continue;
        for (size_t k = 0; k < count; k++) {
            if (!isfinite(values[k])) continue;
            below += sign * values[k] < sign * values[j];
            equal += values[k] <= values[j] && values[k] >= values[j];
        }
        ranks[j] = below + (equal + 1) / 2;
    }
}

static double pearson(const double *a, const double *b, size_t count)
{
    double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
    for (size_t j = 0; j < count; j++) {
        mean_a += a[j] / (double)count;
        mean_b += b[j] / (double)count;
    }
    for (size_t j = 0; j < count; j++) {
        aa += (a[j] - mean_a) * (a[j] - mean_a);
        bb += (b[j] - mean_b) * (b[j] - mean_b);
        ab += (a[j] - mean_a) * (b[j] - mean_b);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}

double lcsm_spearman(const double *a, const double *b, size_t count, size_t *pairs)
{
    double *work = calloc(4 * count + 1, sizeof *work);
    size_t  n    = 0;
    double  r    = NAN;
    if (pairs != NULL) *pairs = 0;
    if (work == NULL) return NAN;
    double *x = work, *y = work + count, *rank_x = y + count, *rank_y = rank_x + count;
    for (size_t j = 0; j < count; j++) {
        if (!isfinite(a[j]) || !isfinite(b[j])) continue;
        x[n]   = a[j];
        y[n++] = b[j];
    }
    lcsm_ranks(rank_x, x, n, false);
    lcsm_ranks(rank_y, y, n, false);
    if (n >= 2) r = pearson(rank_x, rank_y, n);
    if (pairs != NULL) *pairs = n;
    free(work);
    return r;
}

void lcsm_mean_of(const double *values, size_t count, double *mean, double *deviation)
{
    double n = 0, sum = 0, squares = 0;
    for (size_t j = 0; j < count; j++) {
        if (!isfinite(values[j])) continue;
        n++;
        sum += values[j];
    }
    *mean = n > 0 ? sum / n : NAN;
    for (size_t j = 0; j < count; j++)
        if (isfinite(values[j])) squares += (values[j] - *mean) * (values[j] - *mean);
    *deviation = n > 1 ? sqrt(squares / (n - 1)) : n > 0 ? 0 : NAN;
}

double lcsm_quantile(const double *sorted, size_t count, double q)
{
    if (count == 0) return NAN;
    double place = q * (double)(count - 1), below = floor(place);
    size_t j = (size_t)below, next = place > below ? j + 1 : j;
    if (sorted[next] == sorted[j]) return sorted[j]; /* both may be infinite */
    return sorted[j] + (place - below) * (sorted[next] - sorted[j]);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void lcsm_sort(double *values, size_t count)
{
    if (count > 1) qsort(values, count, sizeof *values, by_size);
}
