/*
 * file.h - whole files: read, map, write so that a crash leaves the old or the new one.
 *
 * Every message names the path and what the system said.
 */
#ifndef LCSM_BASE_FILE_H
#define LCSM_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/folder.h"

/* The bytes of a file. {0} is empty and may be closed. */
typedef struct {
    const unsigned char *data; /* _read puts a zero byte behind the last one */
    size_t               size;
    bool                 mapped;
} lcsm_file;

/* Reads a regular file of at most max_size bytes into memory. */
lcsm_status lcsm_file_read(lcsm_file *out, const char *path, size_t max_size, lcsm_error *err);

/* Maps a regular file, read-only; the pages are read when they are used. */
lcsm_status lcsm_file_map(lcsm_file *out, const char *path, lcsm_error *err);

/* Gives the memory of a mapped file back to the system, for now: its pages are read again when they
 * are used again. What was read into memory stays. */
void lcsm_file_release(const lcsm_file *file);
/* The same for the pages of some of its bytes. */
void lcsm_file_release_part(const lcsm_file *file, const void *from, size_t bytes);

void lcsm_file_close(lcsm_file *file);

/* A file that is written piece by piece and appears whole: the pieces go to path.tmp.PID.N beside
 * path, and _commit syncs that, renames it over path and syncs the folder. Until then, and after
 * any failure, path is as it was. What cannot be replaced so is written in place: a device, a pipe,
 * and the file that standard output or error goes to already. Give every writer to _close, which
 * removes what was not committed; {0} may be closed too. */
typedef struct {
    int  fd;
    bool open, in_place;
    char path[LCSM_PATH_MAX], temporary[LCSM_PATH_MAX];
} lcsm_file_writer;

lcsm_status lcsm_file_writer_open(lcsm_file_writer *w, const char *path, lcsm_error *err);
lcsm_status lcsm_file_writer_write(lcsm_file_writer *w, const void *data, size_t size,
                                   lcsm_error *err);
/* Writes over bytes that were written before; not in place. */
lcsm_status lcsm_file_writer_patch(lcsm_file_writer *w, size_t at, const void *data, size_t size,
                                   lcsm_error *err);
lcsm_status lcsm_file_writer_commit(lcsm_file_writer *w, lcsm_error *err);
void        lcsm_file_writer_close(lcsm_file_writer *w);

/* All of the above for one piece. */
lcsm_status lcsm_file_write_atomic(const char *path, const void *data, size_t size,
                                   lcsm_error *err);

/* Removes what writers whose process was killed left in a folder, as far as it can. */
lcsm_status lcsm_file_sweep(const char *folder, lcsm_error *err);

#endif
