/* file_sum.c - xxHash over files. */
#include "format/file_sum.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

static lcsm_file_sum sum_of(XXH128_hash_t hash, size_t size)
{
    lcsm_file_sum sum = {.size = size};
    (void)snprintf(sum.text, sizeof sum.text, "%016llx%016llx", (unsigned long long)hash.high64,
                   (unsigned long long)hash.low64);
    return sum;
}

lcsm_status lcsm_file_sum_read(lcsm_file_sum *out, const char *path, lcsm_error *err)
{
    lcsm_file   file;
    lcsm_status st = lcsm_file_map(&file, path, err);
    if (st != LCSM_OK) return st;
    *out = sum_of(XXH3_128bits(file.data, file.size), file.size);
    lcsm_file_close(&file);
    return LCSM_OK;
}

bool lcsm_file_sum_equal(const lcsm_file_sum *a, const lcsm_file_sum *b)
{
    return a->size == b->size && strcmp(a->text, b->text) == 0;
}

lcsm_status lcsm_sum_writer_open(lcsm_sum_writer *w, const char *path, lcsm_error *err)
{
    *w       = (lcsm_sum_writer){0};
    w->state = XXH3_createState();
    if (w->state == NULL || XXH3_128bits_reset(w->state) != XXH_OK)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for its checksum", path);
    return lcsm_file_writer_open(&w->file, path, err);
}

lcsm_status lcsm_sum_writer_write(void *writer, const void *data, size_t size, lcsm_error *err)
{
    lcsm_sum_writer *w = writer;
    if (size == 0) return LCSM_OK;
    (void)XXH3_128bits_update(w->state, data, size);
    w->size += size;
    return lcsm_file_writer_write(&w->file, data, size, err);
}

lcsm_status lcsm_sum_writer_commit(lcsm_sum_writer *w, lcsm_file_sum *sum, lcsm_error *err)
{
    *sum = sum_of(XXH3_128bits_digest(w->state), w->size);
    return lcsm_file_writer_commit(&w->file, err);
}

void lcsm_sum_writer_close(lcsm_sum_writer *w)
{
    lcsm_file_writer_close(&w->file);
    (void)XXH3_freeState(w->state);
    w->state = NULL;
}
