/*
 * lcsm/dist.h - several processes that work on one run, on one machine or on many, over MPI.
 *
 *     lcsm_dist_open(&dist, NULL, err);             the program was started by mpirun or srun
 *     ... lcsm_train with .dist = dist ...
 *     lcsm_dist_close(dist, st);
 *
 * The processes are ranks 0 .. size - 1. All of them make the same calls with the same arguments;
 * rank 0 writes the files. NULL is a program that runs alone, and every function takes it.
 *
 * MPI is a plug-in, liblcsm_mpi.so, that is looked for beside the library and the program and in
 * the folder lcsm below the library's; the environment variable LCSM_MPI_PLUGIN names another
 * file. The library itself needs no MPI.
 *
 * Ownership  What lcsm_dist_open returns, the caller gives to lcsm_dist_close.
 * Threads    One thread, the one that opened it. A process opens it once in its life, as with MPI.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why. A rank
 *            that ended is LCSM_ERR_IO; then the others can only end too.
 */
#ifndef LCSM_DIST_H
#define LCSM_DIST_H
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>

LCSM_BEGIN_DECLS

typedef struct lcsm_dist lcsm_dist;

/* engine: "none"; "mpi"; or "auto" (NULL), which is MPI where the environment says that mpirun or
 * srun started several processes. *out is NULL where the program runs alone. */
LCSM_API lcsm_status lcsm_dist_open(lcsm_dist **out, const char *engine, lcsm_error *err);

/* Whether the failure of the last call is that of all ranks, so that one of them can say it. */
LCSM_API bool lcsm_dist_agreed(const lcsm_dist *dist);

/* st: how the program ends. Where this rank failed alone, the others are ended too, and the call
 * does not return. */
LCSM_API void lcsm_dist_close(lcsm_dist *dist, lcsm_status st);

LCSM_API int lcsm_dist_rank(const lcsm_dist *dist);
LCSM_API int lcsm_dist_size(const lcsm_dist *dist);

/* "Open MPI v4.1.4, 4 ranks on 2 machines"; "" for NULL. Lives as long as the handle. */
LCSM_API const char *lcsm_dist_text(const lcsm_dist *dist);

/* Threads for this rank: its part of the processors that it may use, which it shares with the
 * ranks of its machine that may use them too; 0 for NULL, which in the options of a context means
 * all. */
LCSM_API int lcsm_dist_threads(const lcsm_dist *dist);

/* Whether there are more threads than processors somewhere if each rank has so many (0: as above);
 * text says where. */
LCSM_API bool lcsm_dist_crowded(const lcsm_dist *dist, int threads, char *text, size_t size);

/* What messages cost, measured: of the slowest pair of rank 0 and another, and of all together. */
typedef struct {
    size_t size;      /* sizeof(lcsm_dist_speed), set by the caller */
    double latency;   /* seconds of a message of 8 bytes, one way */
    double bandwidth; /* bytes per second of a message of `bytes`, one way */
    double vote;      /* seconds in which every rank gets 64 bytes of every other */
    double spread; /* bytes per second that each rank receives where all get a block of `bytes`, of
                    * which each has an equal part */
} lcsm_dist_speed;

/* Of several ranks, all of which make the call; the result is that of rank 0. */
LCSM_API lcsm_status lcsm_dist_measure(lcsm_dist *dist, size_t bytes, lcsm_dist_speed *out,
                                       lcsm_error *err);

LCSM_END_DECLS
#endif
