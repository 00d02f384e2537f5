/*
 * source.h - the files that a dataset is made of, and their bytes.
 *
 * What is named is expanded into regular files: a folder into the text files in it and below, in
 * the order of names. A reader gives the bytes of a file, unpacked where it is compressed by gzip.
 */
#ifndef LCSM_DATA_SOURCE_H
#define LCSM_DATA_SOURCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct {
    char    *path;
    uint64_t size;                 /* on the disk */
    int64_t  seconds, nanoseconds; /* when it was last changed */
    bool     shard;
} lcsm_source;

/* {0} is empty and may be freed. */
typedef struct {
    lcsm_source *items;
    size_t       count, capacity;
    size_t       skipped; /* files in folders that are hidden or no text */
    uint64_t     size;    /* of all */
} lcsm_sources;

lcsm_status lcsm_sources_list(lcsm_sources *out, const char *const *paths, size_t count,
                              lcsm_error *err);
void        lcsm_sources_free(lcsm_sources *s);

/* {0} may be closed. */
typedef struct {
    void       *gz;
    const char *path; /* borrowed */
} lcsm_reader;

lcsm_status lcsm_reader_open(lcsm_reader *out, const char *path, lcsm_error *err);
/* Up to capacity bytes; *size 0 at the end. A compressed file that ends early is an error. */
lcsm_status lcsm_reader_read(lcsm_reader *r, char *out, size_t capacity, size_t *size,
                             lcsm_error *err);
/* How many bytes of the file on the disk are used up. */
uint64_t lcsm_reader_position(const lcsm_reader *r);
void     lcsm_reader_close(lcsm_reader *r);

#endif
