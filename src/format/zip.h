/*
 * zip.h - zip archives whose members are stored as they are, as those of PyTorch.
 *
 *     members, each behind a local header | central directory | end (zip64 for large files)
 *
 * A file is checked whole before anything of it is used: every header lies in the file, members are
 * not compressed, not encrypted, and end in front of the directory. What the reader allocates is
 * less than the size of the file.
 */
#ifndef LCSM_FORMAT_ZIP_H
#define LCSM_FORMAT_ZIP_H
#include "base/file.h"

typedef struct {
    const char          *name; /* not ended by a zero */
    size_t               name_size;
    const unsigned char *data;
    size_t               size;
} lcsm_zip_member;

/* {0} is empty and may be freed. Members borrow from the bytes that were parsed. */
typedef struct {
    lcsm_zip_member *members; /* sorted by name */
    size_t           count;
} lcsm_zip;

lcsm_status lcsm_zip_parse(lcsm_zip *out, const char *label, const unsigned char *data, size_t size,
                           lcsm_error *err);
void        lcsm_zip_free(lcsm_zip *z);

/* The member of that name, or NULL. */
const lcsm_zip_member *lcsm_zip_find(const lcsm_zip *z, const char *name, size_t name_size);

#endif
