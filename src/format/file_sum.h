/*
 * file_sum.h - the size and the checksum (128-bit XXH3) of a file, taken while it is written or
 * from the file itself.
 */
#ifndef LCSM_FORMAT_FILE_SUM_H
#define LCSM_FORMAT_FILE_SUM_H
#include <stdbool.h>

#include "base/file.h"

enum { LCSM_FILE_SUM_TEXT = 33 };

typedef struct {
    size_t size;
    char   text[LCSM_FILE_SUM_TEXT]; /* 32 lower-case hexadecimal digits */
} lcsm_file_sum;

/* The sum of a file on the disk. */
lcsm_status lcsm_file_sum_read(lcsm_file_sum *out, const char *path, lcsm_error *err);

bool lcsm_file_sum_equal(const lcsm_file_sum *a, const lcsm_file_sum *b);

/* A file writer (base/file.h) that sums what passes. {0} may be closed. */
typedef struct {
    lcsm_file_writer     file;
    struct XXH3_state_s *state;
    size_t               size;
} lcsm_sum_writer;

lcsm_status lcsm_sum_writer_open(lcsm_sum_writer *w, const char *path, lcsm_error *err);
/* An lcsm_write_fn. */
lcsm_status lcsm_sum_writer_write(void *w, const void *data, size_t size, lcsm_error *err);
lcsm_status lcsm_sum_writer_commit(lcsm_sum_writer *w, lcsm_file_sum *sum, lcsm_error *err);
void        lcsm_sum_writer_close(lcsm_sum_writer *w);

#endif
