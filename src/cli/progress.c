/* progress.c - progress on stderr. */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
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

/* ---- the live line ------------------------------------------------------------------------ */

bool cli_is_live(void)
{
    return isatty(STDERR_FILENO) != 0;
}

int cli_columns(void)
{
    struct winsize size = {0};
    const char    *said = getenv("COLUMNS");
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    int columns = said == NULL ? 0 : atoi(said);
    return columns > 0 ? columns : 80;
}

/* The end of what fits into so many columns. Escape sequences, which end with a letter, take none,
 * and of a character in UTF-8 only its first byte counts. */
static const char *fitting(const char *text, int columns)
{
    bool escape = false;
    for (; *text != '\0'; text++) {
        bool letter = (*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z');
        if (*text == '\033') escape = true;
        else if (escape) escape = !letter;
        else if (((unsigned char)*text & 0xc0) != 0x80 && columns-- == 0) break;
    }
    return text;
}

void cli_live(const char *text)
{
    if (!cli_is_live()) return;
    int size = (int)(fitting(text, cli_columns() - 1) - text);
    fprintf(stderr, "\r\033[K%.*s%s", size, text, text[size] == '\0' ? "" : "\033[0m");
    fflush(stderr);
}

void cli_end_text(void)
{
    struct stat out, err;
    bool        same = fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0
             && out.st_dev == err.st_dev && out.st_ino == err.st_ino;
    (void)fflush(stdout);
    if (same || isatty(STDOUT_FILENO) != 0) fputc('\n', isatty(STDOUT_FILENO) ? stdout : stderr);
    (void)fflush(stdout);
}

/* ---- stages ------------------------------------------------------------------------------- */

cli_progress cli_progress_begin(bool quiet)
{
    return (cli_progress){.quiet = quiet, .live = cli_is_live()};
}

static void left_text(char text[40], double seconds)
{
    if (seconds >= 3600) snprintf(text, 40, ", %.1f h left", seconds / 3600);
    else if (seconds >= 60) snprintf(text, 40, ", %.1f min left", seconds / 60);
    else snprintf(text, 40, ", %.0f s left", seconds);
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
    p->shown = now;
    char   text[200], left[40] = "";
    double rate = past > 0 ? (double)done / past : 0;
    if (rate > 0) left_text(left, (double)(total - done) / rate);
    snprintf(text, sizeof text, "%s %.1f %%, %.3g M/s%s", what,
             total == 0 ? 100.0 : 100.0 * (double)done / (double)total, rate * 1e-6, left);
    if (p->live) cli_live(text);
    else fprintf(stderr, "%s\n", text);
}

void cli_progress_end(cli_progress *p)
{
    if (!p->quiet) cli_live("");
}
