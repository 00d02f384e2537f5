/*
 * dist.c - the ranks: joining them, waiting for them, and what is made of an engine's messages.
 *
 * A wait polls. It yields the processor at first and then sleeps between the looks, so that ranks
 * which share processors do not keep each other from working; bulk transfers, which need the
 * polling to get on, yield for longer.
 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): the name is the C library's */
#include "dist/dist.h"

#include <errno.h>
#include <lcsm/lcsm.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/this_build.h"
#include "base/thread.h"
#include "dist/load.h"

static const double LOOK = 0.2, BRIEF = 300e-6, LONG = 1;

enum { PAUSE = 50000 /* nanoseconds */, TIMEOUT = 1800, HOST = 64, SPACE = 32 };

/* What ranks know of each other. */
typedef struct {
    char      host[HOST], space[SPACE]; /* space: where process numbers mean the same */
    int64_t   pid;
    uint64_t  program; /* the checksum of its file */
    cpu_set_t processors;
} member;

struct lcsm_dist {
    const lcsm_dist_engine *e;
    int                     rank, size;
    member                 *members;
    double                  waited, timeout;
    bool                    agreed; /* on the failure that is returned */
    bool                    broken; /* a rank is lost */
    char                    text[160], name[HOST + 64];
};

/* ---- what it is --------------------------------------------------------------------------- */

int lcsm_dist_rank(const lcsm_dist *d)
{
    return d == NULL ? 0 : d->rank;
}

int lcsm_dist_size(const lcsm_dist *d)
{
    return d == NULL ? 1 : d->size;
}

bool lcsm_dist_agreed(const lcsm_dist *d)
{
    return d != NULL && d->agreed;
}

const char *lcsm_dist_text(const lcsm_dist *d)
{
    return d == NULL ? "" : d->text;
}

bool lcsm_dist_broken(const lcsm_dist *d)
{
    return d != NULL && d->broken;
}

double lcsm_dist_waited(const lcsm_dist *d)
{
    return d == NULL ? 0 : d->waited;
}

const char *lcsm_dist_member(lcsm_dist *d, int rank)
{
    if (d == NULL) return "rank 0";
    (void)snprintf(d->name, sizeof d->name, "rank %d (host %s, process %lld)", rank,
                   d->members[rank].host, (long long)d->members[rank].pid);
    return d->name;
}

/* ---- processors --------------------------------------------------------------------------- */

static bool same_machine(const member *a, const member *b)
{
    return strcmp(a->host, b->host) == 0;
}

/* The part of the processors that a rank has: each one is shared by all that may use it. */
static double share_of(const lcsm_dist *d, int rank)
{
    const member *own   = &d->members[rank];
    double        share = 0;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int users = 0;
        if (!CPU_ISSET(cpu, &own->processors)) continue;
        for (int r = 0; r < d->size; r++)
            users +=
                same_machine(own, &d->members[r]) && CPU_ISSET(cpu, &d->members[r].processors) != 0;
        share += 1.0 / users;
    }
    return share;
}

int lcsm_dist_threads(const lcsm_dist *d)
{
    if (d == NULL) return 0;
    int threads = (int)(share_of(d, d->rank) + 1e-6);
    return threads < 1 ? 1 : threads;
}

bool lcsm_dist_crowded(const lcsm_dist *d, int threads, char *text, size_t size)
{
    for (int r = 0; d != NULL && r < d->size; r++) {
        double share = share_of(d, r);
        int    want  = threads > 0 ? threads : share < 1 ? 1 : (int)(share + 1e-6);
        if (want <= share + 1e-6) continue;
        (void)snprintf(text, size,
                       "rank %d has %d thread%s, but only %.3g of the processors of %s: ranks wait "
                       "for each other; start fewer of them, or use fewer threads",
                       r, want, want == 1 ? "" : "s", share, d->members[r].host);
        return true;
    }
    return false;
}

/* ---- waiting ------------------------------------------------------------------------------ */

static lcsm_status lost(lcsm_dist *d, lcsm_error *err)
{
    d->broken = true;
    return lcsm_fail(err, LCSM_ERR_IO,
                     "the connection to the other ranks failed; what was saved is kept: resume "
                     "the run");
}

/* A process that has ended may still have its number, as a zombie. */
static bool has_ended(int64_t pid)
{
    char  path[48], text[256], *end;
    FILE *f;
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH) return true;
    (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    f = fopen(path, "re");
    if (f == NULL) return false;
    size_t n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    end     = strrchr(text, ')');
    return end != NULL && (end[1] == ' ') && (end[2] == 'Z' || end[2] == 'X');
}

/* Of the ranks whose processes this one can see. */
static lcsm_status check_members(lcsm_dist *d, lcsm_error *err)
{
    const member *own = &d->members[d->rank];
    for (int r = 0; r < d->size; r++) {
        const member *other = &d->members[r];
        if (r == d->rank || !same_machine(own, other) || strcmp(own->space, other->space) != 0
            || !has_ended(other->pid))
            continue;
        d->broken = true;
        return lcsm_fail(err, LCSM_ERR_IO,
                         "%s has ended, so all end; what was saved is kept: resume the run",
                         lcsm_dist_member(d, r));
    }
    return LCSM_OK;
}

static lcsm_status check_time(lcsm_dist *d, double seconds, lcsm_error *err)
{
    if (seconds < d->timeout) return LCSM_OK;
    d->broken = true;
    return lcsm_fail(err, LCSM_ERR_IO,
                     "nothing came from the other ranks for %.0f seconds; LCSM_DIST_TIMEOUT sets "
                     "how long to wait",
                     seconds);
}

static void pause_between(double waited, bool bulk)
{
    const struct timespec t = {0, PAUSE};
    if (waited < (bulk ? LONG : BRIEF)) (void)sched_yield();
    else (void)nanosleep(&t, NULL);
}

static lcsm_status wait_group(lcsm_dist *d, int group, bool bulk, lcsm_error *err)
{
    double      from = lcsm_now(), now = from, looked = from;
    lcsm_status st   = LCSM_OK;
    int         done = d->e->poll(group);
    while (done == 0 && st == LCSM_OK) {
        pause_between(now - from, bulk);
        done = d->e->poll(group);
        now  = lcsm_now();
        if (done != 0 || now - looked < LOOK) continue;
        looked = now;
        st     = check_members(d, err);
        if (st == LCSM_OK) st = check_time(d, now - from, err);
    }
    d->waited += now - from;
    return st == LCSM_OK && done < 0 ? lost(d, err) : st;
}

static lcsm_status wait_all(lcsm_dist *d, bool bulk, lcsm_error *err)
{
    return wait_group(d, LCSM_DIST_NOW, bulk, err);
}

static lcsm_status posted(lcsm_dist *d, bool ok, lcsm_error *err)
{
    return ok ? LCSM_OK : lost(d, err);
}

static lcsm_status usable(const lcsm_dist *d, lcsm_error *err)
{
    return d->broken ? lcsm_fail(err, LCSM_ERR_IO, "the other ranks are lost") : LCSM_OK;
}

lcsm_status lcsm_dist_wait(lcsm_dist *d, lcsm_error *err)
{
    LCSM_OR_RETURN(usable(d, err));
    return wait_all(d, true, err);
}

/* ---- transfers ---------------------------------------------------------------------------- */

lcsm_status lcsm_dist_send(lcsm_dist *d, const void *data, size_t bytes, int to, lcsm_error *err)
{
    LCSM_OR_RETURN(usable(d, err));
    return posted(d, d->e->send(data, bytes, to, LCSM_DIST_BULK, LCSM_DIST_NOW), err);
}

lcsm_status lcsm_dist_receive(lcsm_dist *d, void *data, size_t bytes, int from, lcsm_error *err)
{
    LCSM_OR_RETURN(usable(d, err));
    return posted(d, d->e->receive(data, bytes, from, LCSM_DIST_BULK, LCSM_DIST_NOW), err);
}

/* Of messages between ranks while they compute. */
static int kind_of(int group)
{
    bool gradients = group == LCSM_DIST_GRADIENTS_OUT || group == LCSM_DIST_GRADIENTS_IN;
    return gradients ? LCSM_DIST_GRADIENT : LCSM_DIST_RELAY;
}

lcsm_status lcsm_dist_post_send(lcsm_dist *d, int group, const void *data, size_t bytes, int to,
                                lcsm_error *err)
{
    LCSM_OR_RETURN(usable(d, err));
    return posted(d, d->e->send(data, bytes, to, kind_of(group), group), err);
}

lcsm_status lcsm_dist_post_receive(lcsm_dist *d, int group, void *data, size_t bytes, int from,
                                   lcsm_error *err)
{
    LCSM_OR_RETURN(usable(d, err));
    return posted(d, d->e->receive(data, bytes, from, kind_of(group), group), err);
}

lcsm_status lcsm_dist_wait_for(lcsm_dist *d, int group, lcsm_error *err)
{
    LCSM_OR_RETURN(usable(d, err));
    return wait_group(d, group, true, err);
}

void lcsm_dist_move_on(lcsm_dist *d)
{
    int    from;
    size_t bytes;
    if (!d->broken) (void)d->e->look(LCSM_DIST_GRADIENT, &from, &bytes);
}

lcsm_status lcsm_dist_all_gather(lcsm_dist *d, const void *own, size_t bytes, void *all,
                                 lcsm_error *err)
{
    if (d == NULL) {
        memcpy(all, own, bytes);
        return LCSM_OK;
    }
    LCSM_OR_RETURN(usable(d, err));
    LCSM_OR_RETURN(posted(d, d->e->all_gather(own, bytes, all), err));
    return wait_all(d, false, err);
}

lcsm_status lcsm_dist_broadcast(lcsm_dist *d, void *data, size_t bytes, int root, lcsm_error *err)
{
    if (d == NULL) return LCSM_OK;
    LCSM_OR_RETURN(usable(d, err));
    LCSM_OR_RETURN(posted(d, d->e->broadcast(data, bytes, root), err));
    return wait_all(d, bytes > 1 << 16, err);
}

lcsm_status lcsm_dist_spread(lcsm_dist *d, void *block, const size_t *begin, lcsm_error *err)
{
    if (d == NULL) return LCSM_OK;
    char  *p   = block;
    size_t own = begin[d->rank + 1] - begin[d->rank];
    for (int step = 1; step < d->size; step++) { /* each to another, all at once */
        int    to = (d->rank + step) % d->size, from = (d->rank + d->size - step) % d->size;
        size_t n = begin[from + 1] - begin[from];
        if (n > 0) LCSM_OR_RETURN(lcsm_dist_receive(d, p + begin[from], n, from, err));
        if (own > 0) LCSM_OR_RETURN(lcsm_dist_send(d, p + begin[d->rank], own, to, err));
    }
    return lcsm_dist_wait(d, err);
}

lcsm_status lcsm_dist_collect(lcsm_dist *d, const void *own, void *block, const size_t *begin,
                              lcsm_error *err)
{
    int    rank = lcsm_dist_rank(d);
    size_t n    = begin[rank + 1] - begin[rank];
    if (rank == 0) memmove((char *)block + begin[0], own, n);
    if (d == NULL) return LCSM_OK;
    if (rank > 0 && n > 0) LCSM_OR_RETURN(lcsm_dist_send(d, own, n, 0, err));
    for (int r = 1; r < d->size && rank == 0; r++)
        if (begin[r + 1] > begin[r])
            LCSM_OR_RETURN(
                lcsm_dist_receive(d, (char *)block + begin[r], begin[r + 1] - begin[r], r, err));
    return lcsm_dist_wait(d, err);
}

lcsm_status lcsm_dist_deal(lcsm_dist *d, void *own, const void *block, const size_t *begin,
                           lcsm_error *err)
{
    int    rank = lcsm_dist_rank(d);
    size_t n    = begin[rank + 1] - begin[rank];
    if (rank == 0) memmove(own, (const char *)block + begin[0], n);
    if (d == NULL) return LCSM_OK;
    if (rank > 0 && n > 0) LCSM_OR_RETURN(lcsm_dist_receive(d, own, n, 0, err));
    for (int r = 1; r < d->size && rank == 0; r++)
        if (begin[r + 1] > begin[r])
            LCSM_OR_RETURN(
                lcsm_dist_send(d, (const char *)block + begin[r], begin[r + 1] - begin[r], r, err));
    return lcsm_dist_wait(d, err);
}

/* ---- agreement ---------------------------------------------------------------------------- */

static int first_failed(const int *all, int size)
{
    for (int r = 0; r < size; r++)
        if (all[r] != LCSM_OK) return r;
    return -1;
}

/* The sentence of a rank, for all. One that is not of rank 0 says whose it is. */
static lcsm_status take_failure(lcsm_dist *d, int from, lcsm_status st, lcsm_error *err)
{
    lcsm_error why = {.status = st};
    if (d->rank == from && err != NULL) why = *err;
    LCSM_OR_RETURN(lcsm_dist_broadcast(d, &why, sizeof why, from, err));
    d->agreed = true;
    if (from == 0) return lcsm_fail(err, why.status, "%s", why.text);
    return lcsm_fail(err, why.status, "%s: %s", lcsm_dist_member(d, from), why.text);
}

lcsm_status lcsm_dist_agree(lcsm_dist *d, lcsm_status st, lcsm_error *err)
{
    int own = (int)st, *all;
    if (d == NULL || d->broken || d->agreed) return st;
    all = calloc((size_t)d->size, sizeof *all);
    if (all == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a vote");
    lcsm_error  other = {0};
    lcsm_status sent  = lcsm_dist_all_gather(d, &own, sizeof own, all, &other);
    int         from  = sent == LCSM_OK ? first_failed(all, d->size) : -1;
    free(all);
    if (sent != LCSM_OK) return st != LCSM_OK ? st : lcsm_fail(err, sent, "%s", other.text);
    return from < 0 ? LCSM_OK : take_failure(d, from, st, err);
}

lcsm_status lcsm_dist_same_program(lcsm_dist *d, lcsm_error *err)
{
    for (int r = 1; r < lcsm_dist_size(d); r++) {
        if (d->members[r].program == d->members[0].program) continue;
        d->agreed = true; /* all ranks know of each other what this needs */
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%s: the program's file differs from that of rank 0; all ranks run the "
                         "same build of lcsm",
                         lcsm_dist_member(d, r));
    }
    return LCSM_OK;
}

/* ---- short messages ----------------------------------------------------------------------- */

lcsm_status lcsm_dist_tell(lcsm_dist *d, int to, const void *data, size_t bytes, lcsm_error *err)
{
    LCSM_OR_RETURN(usable(d, err));
    LCSM_OR_RETURN(posted(d, d->e->send(data, bytes, to, LCSM_DIST_TASK, LCSM_DIST_NOW), err));
    return wait_all(d, false, err);
}

lcsm_status lcsm_dist_hear(lcsm_dist *d, int *from, void *data, size_t room, size_t *bytes,
                           lcsm_error *err)
{
    *from = -1;
    LCSM_OR_RETURN(usable(d, err));
    if (!d->e->look(LCSM_DIST_TASK, from, bytes)) {
        *from = -1;
        return LCSM_OK;
    }
    if (*bytes > room)
        return lcsm_fail(err, LCSM_ERR_INTERNAL, "a message of %zu bytes is too long", *bytes);
    LCSM_OR_RETURN(
        posted(d, d->e->receive(data, *bytes, *from, LCSM_DIST_TASK, LCSM_DIST_NOW), err));
    return wait_all(d, false, err);
}

lcsm_status lcsm_dist_look(lcsm_dist *d, lcsm_error *err)
{
    LCSM_OR_RETURN(usable(d, err));
    return check_members(d, err);
}

/* ---- opening and closing ------------------------------------------------------------------ */

static member self(void)
{
    member  m              = {.pid = (int64_t)getpid(), .program = lcsm_build_hash()};
    ssize_t n              = readlink("/proc/self/ns/pid", m.space, SPACE - 1);
    m.space[n > 0 ? n : 0] = '\0';
    if (gethostname(m.host, HOST - 1) != 0) m.host[0] = '\0';
    if (sched_getaffinity(0, sizeof m.processors, &m.processors) != 0) {
        CPU_ZERO(&m.processors);
        CPU_SET(0, &m.processors);
    }
    return m;
}

static int machines(const lcsm_dist *d)
{
    int count = 0;
    for (int r = 0; r < d->size; r++) {
        int same = 0;
        for (int s = 0; s < r; s++) same += same_machine(&d->members[r], &d->members[s]);
        count += same == 0;
    }
    return count;
}

static lcsm_status meet(lcsm_dist *d, const char *library, lcsm_error *err)
{
    member own = self();
    size_t bytes;
    if (lcsm_size_mul((size_t)d->size, sizeof own, &bytes)) d->members = malloc(bytes);
    if (d->members == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %d ranks", d->size);
    if (!d->e->all_gather(&own, sizeof own, d->members)) return lost(d, err);
    while (d->e->poll(LCSM_DIST_NOW) == 0) pause_between(1, false);
    int hosts = machines(d);
    (void)snprintf(d->text, sizeof d->text, "%.60s, %d rank%s on %d machine%s", library, d->size,
                   d->size == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
    return LCSM_OK;
}

static double timeout_of(void)
{
    const char *text = getenv("LCSM_DIST_TIMEOUT");
    double      s    = text == NULL ? 0 : strtod(text, NULL);
    return s > 0 ? s : TIMEOUT;
}

/* What the environment says must be what MPI says; else these are several programs, not one. */
static lcsm_status check_size(const lcsm_dist *d, const char *library, lcsm_error *err)
{
    int started = lcsm_dist_started();
    if (d->size == started || started <= 1) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_CONFIG,
                     "%d processes were started together, but %s sees %d: was liblcsm_mpi.so built "
                     "with another MPI than that of mpirun? With srun, choose the MPI by --mpi",
                     started, library, d->size);
}

static lcsm_status join(lcsm_dist *d, lcsm_error *err)
{
    char library[128] = "";
    if (!d->e->start(&d->rank, &d->size, library, sizeof library))
        return lcsm_fail(err, LCSM_ERR_IO, "MPI could not be started %s", library);
    LCSM_OR_RETURN(check_size(d, library, err));
    return meet(d, library, err);
}

lcsm_status lcsm_dist_open(lcsm_dist **out, const char *engine, lcsm_error *err)
{
    const lcsm_dist_engine *e = NULL;
    *out                      = NULL;
    LCSM_OR_RETURN(lcsm_dist_load(&e, engine, err));
    if (e == NULL) return LCSM_OK;
    lcsm_dist *d = calloc(1, sizeof *d);
    if (d == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for ranks");
    *d             = (lcsm_dist){.e = e, .size = 1, .timeout = timeout_of()};
    lcsm_status st = join(d, err);
    if (st == LCSM_OK) *out = d;
    else lcsm_dist_close(d, st);
    return st;
}

/* Whether all ranks end now, each with a failure of its own: then nobody has to be stopped. */
static bool all_end(lcsm_dist *d, lcsm_status st)
{
    enum { SECONDS = 2 };
    lcsm_error err;
    if (d->size == 1 || (!d->broken && (st == LCSM_OK || d->agreed))) return true;
    if (d->broken) return false;
    d->timeout = SECONDS;
    (void)lcsm_fail(&err, st, "%s", lcsm_status_text(st));
    (void)lcsm_dist_agree(d, st, &err);
    return !d->broken;
}

void lcsm_dist_close(lcsm_dist *d, lcsm_status st)
{
    if (d == NULL) return;
    if (!all_end(d, st)) d->e->abort(1);
    d->e->end();
    free(d->members);
    free(d);
}
