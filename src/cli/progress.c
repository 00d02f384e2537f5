/* progress.c - progress on stderr. */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Seconds between two showings. */
#define LIVE  0.1
#define PLAIN 5.0

double cli_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

cli_progress cli_progress_begin(bool quiet)
{
    return (cli_progress){.quiet = quiet, .live = isatty(STDERR_FILENO) != 0};
}

static void print_left(double seconds)
{
    if (seconds >= 3600) fprintf(stderr, ", %.1f h left", seconds / 3600);
    else if (seconds >= 60) fprintf(stderr, ", %.1f min left", seconds / 60);
    else fprintf(stderr, ", %.0f s left", seconds);
}

void cli_progress_show(void *progress, const char *what, uint64_t done, uint64_t total)
{
    cli_progress *p   = progress;
    double        now = cli_seconds();
    if (p->what == NULL || strcmp(p->what, what) != 0) {
        p->what  = what;
        p->begun = p->shown = now;
    }
    double past = now - p->begun;
    if (p->quiet || now - p->shown < (p->live ? LIVE : PLAIN)) return;
    p->shown    = now;
    double rate = past > 0 ? (double)done / past : 0;
    fprintf(stderr, "%s%s %.1f %%, %.3g M/s", p->live ? "\r\033[K" : "", what,
            total == 0 ? 100.0 : 100.0 * (double)done / (double)total, rate * 1e-6);
    if (rate > 0) print_left((double)(total - done) / rate);
    if (!p->live) fputc('\n', stderr);
    fflush(stderr);
}

void cli_progress_end(cli_progress *p)
{
    if (!p->quiet && p->live) fputs("\r\033[K", stderr);
}
