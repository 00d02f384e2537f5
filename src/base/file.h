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

void lcsm_file_close(lcsm_file *file);

/* Writes path.tmp.PID beside path, syncs it, renames it over path and syncs the folder. On
 * failure path is as it was and the temporary file is gone. */
lcsm_status lcsm_file_write_atomic(const char *path, const void *data, size_t size,
                                   lcsm_error *err);

#endif
