/*
 * dist_mpi.c - the plug-in liblcsm_mpi.so: the table of dist/engine.h over MPI 3.
 *
 * The requests of a group are kept in one list until all of them are done. A transfer of more than
 * PIECE bytes is several messages, because MPI counts in int.
 */
#include <lcsm/lcsm.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "dist/engine.h"

static const size_t PIECE = (size_t)1 << 30;

/* The requests of a group. */
typedef struct {
    MPI_Request *list;
    int          count, capacity;
} requests;

static MPI_Comm world = MPI_COMM_NULL;
static requests groups[LCSM_DIST_GROUPS];

extern const lcsm_dist_engine lcsm_dist_engine_table;

static MPI_Request *next(requests *g)
{
    if (g->count == g->capacity) {
        int          more = g->capacity == 0 ? 64 : 2 * g->capacity;
        MPI_Request *list = realloc(
            g->list, (size_t)more * sizeof(MPI_Request)); /* NOLINT(bugprone-sizeof-expression) */
        if (list == NULL) return NULL;
        g->list     = list;
        g->capacity = more;
    }
    g->list[g->count] = MPI_REQUEST_NULL;
    return &g->list[g->count];
}

static bool posted(requests *g, int code)
{
    g->count += code == MPI_SUCCESS;
    return code == MPI_SUCCESS;
}

/* "Open MPI v4.1.4" of "Open MPI v4.1.4, package: ...". */
static void name_library(char *text, size_t room)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int  length;
    if (MPI_Get_library_version(version, &length) != MPI_SUCCESS) version[0] = '\0';
    version[strcspn(version, ",\n")] = '\0';
    for (char *c = version; *c != '\0'; c++)
        if (*c == '\t') *c = ' ';
    size_t n = strlen(version) < room ? strlen(version) : room - 1;
    memcpy(text, version, n);
    text[n] = '\0';
}

/* Over TCP, Open MPI by its defaults lets the receiver fetch a long message, and then two that
 * cross each other go one after the other: of 118 MB/s each way, an exchange had 68. Sent messages
 * share nothing. What the user says of it holds. */
static void prefer_sending(void)
{
    (void)setenv("OMPI_MCA_btl_tcp_flags", "1", 0);
}

static bool start(int *rank, int *size, char *text, size_t room)
{
    int level = MPI_THREAD_SINGLE;
    prefer_sending();
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
        if (room > 0) text[0] = '\0';
        return false;
    }
    name_library(text, room);
    return MPI_Comm_dup(MPI_COMM_WORLD, &world) == MPI_SUCCESS
        && MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN) == MPI_SUCCESS
        && MPI_Comm_rank(world, rank) == MPI_SUCCESS && MPI_Comm_size(world, size) == MPI_SUCCESS;
}

static void end(void)
{
    for (int k = 0; k < LCSM_DIST_GROUPS; k++) {
        free(groups[k].list);
        groups[k] = (requests){0};
    }
    (void)MPI_Comm_free(&world);
    (void)MPI_Finalize();
}

static void stop_all(int code)
{
    (void)MPI_Abort(MPI_COMM_WORLD, code);
    abort();
}

static size_t piece_of(size_t left)
{
    return left < PIECE ? left : PIECE;
}

static bool post_send(const void *data, size_t bytes, int to, int kind, int group)
{
    const char *p = data;
    requests   *g = &groups[group];
    do {
        size_t       n = piece_of(bytes);
        MPI_Request *r = next(g);
        if (r == NULL || !posted(g, MPI_Isend(p, (int)n, MPI_BYTE, to, kind, world, r)))
            return false;
        p += n;
        bytes -= n;
    } while (bytes > 0);
    return true;
}

static bool post_receive(void *data, size_t bytes, int from, int kind, int group)
{
    char     *p = data;
    requests *g = &groups[group];
    do {
        size_t       n = piece_of(bytes);
        MPI_Request *r = next(g);
        if (r == NULL || !posted(g, MPI_Irecv(p, (int)n, MPI_BYTE, from, kind, world, r)))
            return false;
        p += n;
        bytes -= n;
    } while (bytes > 0);
    return true;
}

static bool all_gather(const void *own, size_t bytes, void *all)
{
    requests    *g = &groups[LCSM_DIST_NOW];
    MPI_Request *r = next(g);
    if (r == NULL || bytes > PIECE) return false;
    return posted(g,
                  MPI_Iallgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, world, r));
}

static bool broadcast(void *data, size_t bytes, int root)
{
    char     *p = data;
    requests *g = &groups[LCSM_DIST_NOW];
    do {
        size_t       n = piece_of(bytes);
        MPI_Request *r = next(g);
        if (r == NULL || !posted(g, MPI_Ibcast(p, (int)n, MPI_BYTE, root, world, r))) return false;
        p += n;
        bytes -= n;
    } while (bytes > 0);
    return true;
}

static int poll_group(int group)
{
    int       done = 0;
    requests *g    = &groups[group];
    if (MPI_Testall(g->count, g->list, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return -1;
    if (done != 0) g->count = 0;
    return done != 0;
}

static bool look(int kind, int *from, size_t *bytes)
{
    MPI_Status status;
    int        there = 0, n = 0;
    if (MPI_Iprobe(MPI_ANY_SOURCE, kind, world, &there, &status) != MPI_SUCCESS || there == 0)
        return false;
    if (MPI_Get_count(&status, MPI_BYTE, &n) != MPI_SUCCESS) return false;
    *from  = status.MPI_SOURCE;
    *bytes = (size_t)n;
    return true;
}

__attribute__((visibility("default"))) const lcsm_dist_engine lcsm_dist_engine_table = {
    .abi        = LCSM_DIST_ENGINE_ABI,
    .version    = LCSM_VERSION,
    .start      = start,
    .end        = end,
    .abort      = stop_all,
    .send       = post_send,
    .receive    = post_receive,
    .all_gather = all_gather,
    .broadcast  = broadcast,
    .poll       = poll_group,
    .look       = look,
};
