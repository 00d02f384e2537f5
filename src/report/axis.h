/* axis.h - a scale of a chart: its range, its ticks, and where a number lies on it. */
#ifndef LCSM_REPORT_AXIS_H
#define LCSM_REPORT_AXIS_H
#include <stdbool.h>
#include <stddef.h>

enum { LCSM_AXIS_TICKS = 16, LCSM_AXIS_LABEL = 24 };

typedef struct {
    double low, high;
    bool   log;
    double ticks[LCSM_AXIS_TICKS];
    size_t count;
    int    digits; /* behind the point of a tick's label */
} lcsm_axis;

/* An axis over [low, high] with round ticks, about `wanted` of them. It is widened to round
 * ends; an empty or broken range becomes one that can be drawn. A logarithmic one
 * needs low > 0 and becomes linear without. */
lcsm_axis lcsm_axis_make(double low, double high, bool log, size_t wanted);

/* The range is [low, high] again, if that is one, with the ticks that lie in it. */
void lcsm_axis_fit(lcsm_axis *a, double low, double high);

/* Ticks at these numbers, as far as there is room, instead of round ones. */
void lcsm_axis_at(lcsm_axis *a, const double *values, size_t count);

/* 0 at low, 1 at high; beyond the ends, the ends. */
double lcsm_axis_place(const lcsm_axis *a, double value);

/* "0.25", "64", "20k", "1.5M". */
void lcsm_axis_label(char out[LCSM_AXIS_LABEL], const lcsm_axis *a, double tick);

#endif
