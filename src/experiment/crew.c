/*
 * crew.c - messages between rank 0 and the others. The first letter says what one is:
 *
 *     to a rank     R LOG \n COMMAND     make this run        S  stop it        E  go home
 *     from a rank   its exit code, an int
 */
#include "experiment/crew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "experiment/process.h"

enum { ROOM = 1 << 16, POLL = 30 /* milliseconds */ };

lcsm_status lcsm_crew_open(lcsm_crew *c, lcsm_dist *dist, lcsm_error *err)
{
    size_t size = (size_t)lcsm_dist_size(dist);
    *c          = (lcsm_crew){.dist = dist};
    c->codes    = calloc(size, sizeof *c->codes);
    c->states   = calloc(size, sizeof *c->states);
    if (c->codes != NULL && c->states != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu ranks", size);
}

void lcsm_crew_close(lcsm_crew *c)
{
    for (int r = 1; r < lcsm_dist_size(c->dist); r++)
        (void)lcsm_dist_tell(c->dist, r, "E", 1, NULL);
    free(c->codes);
    free(c->states);
    *c = (lcsm_crew){0};
}

static lcsm_status start_here(pid_t *pid, const char *program, lcsm_command *words, int threads,
                              const char *log, lcsm_error *err)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", threads);
    lcsm_command_add_pair(words, "--threads", text);
    if (words->failed) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a command");
    return lcsm_process_start(pid, program, words->words, log, err);
}

static lcsm_status start_there(lcsm_crew *c, int rank, const lcsm_command *words, const char *log,
                               lcsm_error *err)
{
    lcsm_strbuf s  = {0};
    lcsm_status st = LCSM_OK;
    lcsm_strbuf_printf(&s, "R%s\n", log);
    lcsm_command_put(&s, words);
    if (s.failed || s.size >= ROOM)
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "the command of a run is too long for a message");
    if (st == LCSM_OK) st = lcsm_dist_tell(c->dist, rank, s.text, s.size, err);
    lcsm_strbuf_free(&s);
    return st;
}

lcsm_status lcsm_crew_start(lcsm_crew *c, lcsm_crew_job *out, const char *program,
                            lcsm_command *words, int threads, const char *log, lcsm_error *err)
{
    int size = lcsm_dist_size(c->dist), rank = 0;
    while (size > 1 && rank < size - 1 && c->states[rank] != LCSM_CREW_FREE) rank++;
    *out = (lcsm_crew_job){.rank = rank};
    if (size > 1) lcsm_command_add_pair(words, "--distributed", "none");
    if (rank == 0) LCSM_OR_RETURN(start_here(&out->pid, program, words, threads, log, err));
    else LCSM_OR_RETURN(start_there(c, rank, words, log, err));
    c->states[rank] = LCSM_CREW_BUSY;
    return LCSM_OK;
}

lcsm_status lcsm_crew_hear(lcsm_crew *c, lcsm_error *err)
{
    int    from, code;
    size_t bytes;
    if (lcsm_dist_size(c->dist) == 1) return LCSM_OK;
    do {
        LCSM_OR_RETURN(lcsm_dist_hear(c->dist, &from, &code, sizeof code, &bytes, err));
        if (from < 0) continue;
        c->codes[from]  = code;
        c->states[from] = LCSM_CREW_ENDED;
    } while (from >= 0);
    return lcsm_dist_look(c->dist, err);
}

bool lcsm_crew_ended(lcsm_crew *c, const lcsm_crew_job *job, int *code)
{
    bool ended = job->rank == 0 ? lcsm_process_ended(job->pid, code)
                                : c->states[job->rank] == LCSM_CREW_ENDED;
    if (ended && job->rank > 0) *code = c->codes[job->rank];
    if (ended) c->states[job->rank] = LCSM_CREW_FREE;
    return ended;
}

void lcsm_crew_stop(lcsm_crew *c, const lcsm_crew_job *job)
{
    if (job->rank == 0) lcsm_process_stop(job->pid);
    else (void)lcsm_dist_tell(c->dist, job->rank, "S", 1, NULL);
}

/* ---- the others --------------------------------------------------------------------------- */

typedef struct {
    lcsm_dist  *dist;
    const char *program;
    char        message[ROOM];
    pid_t       pid;
    bool        busy, home;
} servant;

/* A run that cannot be started has the code of a program that is not there. */
static lcsm_status begin(servant *s, lcsm_error *err)
{
    enum { NO_PROGRAM = 127 };
    char        *line  = strchr(s->message, '\n');
    int          code  = NO_PROGRAM;
    lcsm_command words = {0};
    lcsm_status  st    = LCSM_ERR_INTERNAL;
    if (line != NULL) {
        *line = '\0';
        words = lcsm_command_split(line + 1);
        st    = start_here(&s->pid, s->program, &words, lcsm_dist_threads(s->dist), s->message + 1,
                           NULL);
    }
    lcsm_command_free(&words);
    s->busy = st == LCSM_OK;
    return s->busy ? LCSM_OK : lcsm_dist_tell(s->dist, 0, &code, sizeof code, err);
}

static lcsm_status obey(servant *s, lcsm_error *err)
{
    switch (s->message[0]) {
    case 'R': return begin(s, err);
    case 'S':
        if (s->busy) lcsm_process_stop(s->pid);
        return LCSM_OK;
    default: s->home = true; return LCSM_OK;
    }
}

/* All that there is to hear, and the end of the run, if it has ended. */
static lcsm_status listen(servant *s, lcsm_error *err)
{
    int    from, code;
    size_t bytes;
    do {
        LCSM_OR_RETURN(lcsm_dist_hear(s->dist, &from, s->message, ROOM - 1, &bytes, err));
        if (from < 0) continue;
        s->message[bytes] = '\0';
        LCSM_OR_RETURN(obey(s, err));
    } while (from >= 0 && !s->home);
    if (s->busy && lcsm_process_ended(s->pid, &code)) {
        s->busy = false;
        LCSM_OR_RETURN(lcsm_dist_tell(s->dist, 0, &code, sizeof code, err));
    }
    return s->home ? LCSM_OK : lcsm_dist_look(s->dist, err);
}

lcsm_status lcsm_crew_serve(lcsm_dist *dist, const char *program, bool (*stop)(void *user),
                            void *user, lcsm_error *err)
{
    servant    *s       = calloc(1, sizeof *s);
    lcsm_status st      = LCSM_OK;
    bool        stopped = false;
    if (s == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for messages");
    s->dist    = dist;
    s->program = program;
    while (st == LCSM_OK && !s->home) {
        if (s->busy && !stopped && stop != NULL && stop(user)) {
            stopped = true;
            lcsm_process_stop(s->pid);
        }
        st = listen(s, err);
        if (st == LCSM_OK && !s->home) lcsm_process_pause(POLL);
    }
    if (s->busy) lcsm_process_stop(s->pid);
    free(s);
    return st;
}
