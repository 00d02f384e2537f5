/* axis.c - round ticks: steps of 1, 2 or 5 times a power of ten, or these themselves. */
#include "report/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The smallest of 1, 2, 5 times a power of ten that is not below x. */
static double round_step(double x)
{
    double power = pow(10, floor(log10(x))), rest = x / power;
    /* 1e-9 keeps a step that is round but for its last bit. */
    return power * (rest <= 1 + 1e-9 ? 1 : rest <= 2 + 1e-9 ? 2 : rest <= 5 + 1e-9 ? 5 : 10);
}

static void linear_ticks(lcsm_axis *a, size_t wanted)
{
    double step = round_step((a->high - a->low) / (double)wanted);
    double from = floor(a->low / step + 1e-9), to = ceil(a->high / step - 1e-9);
    a->low    = from * step;
    a->high   = to * step;
    a->digits = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
    for (int j = 0; from + j <= to && a->count < LCSM_AXIS_TICKS; j++)
        a->ticks[a->count++] = from + j == 0 ? 0 : (from + j) * step;
}

/* The nearest of 1, 2, 5 times a power of ten that is not above x. */
static double round_below(double x)
{
    double power = pow(10, floor(log10(x) + 1e-9)), rest = x / power;
    return power * (rest >= 5 - 1e-9 ? 5 : rest >= 2 - 1e-9 ? 2 : 1);
}

/* 1, 2, 5 of every decade if there are few, else powers of ten, else some of these. */
static void log_ticks(lcsm_axis *a, size_t wanted)
{
    static const double parts[] = {1, 2, 5};
    a->low                      = round_below(a->low);
    a->high                     = round_step(a->high);
    int  low = (int)floor(log10(a->low)), high = (int)ceil(log10(a->high)), most = (int)wanted;
    bool fine   = 3 * log10(a->high / a->low) <= (double)wanted + 1;
    int  stride = fine ? 1 : (high - low + most - 1) / most;
    for (int p = low; p <= high; p += stride) {
        for (size_t j = 0; j < (fine ? 3u : 1u) && a->count < LCSM_AXIS_TICKS; j++) {
            double tick = parts[j] * pow(10, p);
            if (tick >= a->low * (1 - 1e-9) && tick <= a->high * (1 + 1e-9))
                a->ticks[a->count++] = tick;
        }
    }
}

lcsm_axis lcsm_axis_make(double low, double high, bool log, size_t wanted)
{
    if (!isfinite(low) || !isfinite(high) || low > high) {
        low  = 0;
        high = 1;
    }
    lcsm_axis a = {.low = low, .high = high, .log = log && low > 0};
    if (wanted < 2) wanted = 2;
    /* A range too narrow for numbers of 15 digits is drawn as one value in the middle, and a lone
     * zero at the start. */
    double size = fmax(fabs(low), fabs(high));
    if (high - low <= size * 1e-12) {
        a.low  = a.log ? low / 2 : low - size / 2;
        a.high = a.log ? high * 2 : size > 0 ? high + size / 2 : 1;
    }
    lcsm_axis even = a;
    if (a.log) log_ticks(&a, wanted);
    linear_ticks(&even, wanted);
    /* Within less than half a decade parts of powers of ten are too few. */
    bool narrow = a.log && even.low > 0 && even.high <= 3 * even.low;
    return !a.log || narrow ? even : a;
}

void lcsm_axis_fit(lcsm_axis *a, double low, double high)
{
    size_t kept = 0;
    if (!(low < high)) return;
    for (size_t j = 0; j < a->count; j++)
        if (a->ticks[j] >= low && a->ticks[j] <= high) a->ticks[kept++] = a->ticks[j];
    a->count = kept;
    a->low   = low;
    a->high  = high;
}

void lcsm_axis_at(lcsm_axis *a, const double *values, size_t count)
{
    size_t stride = 1 + (count - 1) / LCSM_AXIS_TICKS;
    a->count      = 0;
    a->digits     = 0;
    for (size_t j = 0; j < count; j += stride) a->ticks[a->count++] = values[j];
    for (size_t j = 0; j < a->count; j++)
        while (a->digits < 6
               && fabs(a->ticks[j] - round(a->ticks[j] * pow(10, a->digits)) / pow(10, a->digits))
                      > 1e-9 * fabs(a->ticks[j]))
            a->digits++;
}

double lcsm_axis_place(const lcsm_axis *a, double value)
{
    double x = a->log ? log(fmax(value, a->low) / a->low) / log(a->high / a->low)
                      : (value - a->low) / (a->high - a->low);
    return fmin(fmax(x, 0), 1);
}

void lcsm_axis_label(char out[LCSM_AXIS_LABEL], const lcsm_axis *a, double tick)
{
    static const struct {
        double      size;
        const char *unit;
    } units[]   = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    double size = fabs(tick);
    for (size_t j = 0; size >= 1e4 && j < sizeof units / sizeof units[0]; j++) {
        if (size < units[j].size) continue;
        (void)snprintf(out, LCSM_AXIS_LABEL, "%.4g%s", tick / units[j].size, units[j].unit);
        return;
    }
    if (a->log) (void)snprintf(out, LCSM_AXIS_LABEL, "%.6g", tick);
    else (void)snprintf(out, LCSM_AXIS_LABEL, "%.*f", a->digits, tick);
}
