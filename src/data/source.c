/* source.c - files and folders as a list, and the bytes of each. */
#include "data/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/folder.h"
#include "data/shard.h"

enum {
    MAX_DEPTH   = 64,      /* of folders in folders: a loop of links ends */
    PROBE       = 4096,    /* bytes that tell text from the rest */
    READ_BUFFER = 1 << 17, /* of zlib */
    READ_MOST   = 1 << 30, /* bytes that zlib is asked for at once */
};

/* ---- bytes ------------------------------------------------------------------------------ */

lcsm_status lcsm_reader_open(lcsm_reader *out, const char *path, lcsm_error *err)
{
    errno = 0;
    *out  = (lcsm_reader){.gz = gzopen(path, "rb"), .path = path};
    if (out->gz == NULL)
        return lcsm_fail(err, errno == 0 ? LCSM_ERR_MEMORY : LCSM_ERR_IO, "%s: cannot open: %s",
                         path, errno == 0 ? "no memory" : strerror(errno));
    (void)gzbuffer(out->gz, READ_BUFFER);
    return LCSM_OK;
}

lcsm_status lcsm_reader_read(lcsm_reader *r, char *out, size_t capacity, size_t *size,
                             lcsm_error *err)
{
    unsigned most = capacity > READ_MOST ? READ_MOST : (unsigned)capacity;
    int      got  = gzread(r->gz, out, most);
    int      code = Z_OK;
    *size         = got > 0 ? (size_t)got : 0;
    if (got > 0) return LCSM_OK;
    const char *text = gzerror(r->gz, &code);
    if (got == 0 && (code == Z_OK || code == Z_STREAM_END)) return LCSM_OK;
    if (code == Z_ERRNO)
        return lcsm_fail(err, LCSM_ERR_IO, "%s: cannot read: %s", r->path, strerror(errno));
    if (code == Z_MEM_ERROR)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory", r->path);
    if (code == Z_BUF_ERROR)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: the compressed file ends unexpectedly at byte %llu", r->path,
                         (unsigned long long)lcsm_reader_position(r));
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: the compressed file is damaged: %s", r->path, text);
}

uint64_t lcsm_reader_position(const lcsm_reader *r)
{
    z_off_t at = gzoffset(r->gz);
    return at < 0 ? 0 : (uint64_t)at;
}

void lcsm_reader_close(lcsm_reader *r)
{
    if (r->gz != NULL) (void)gzclose(r->gz);
    *r = (lcsm_reader){0};
}

/* ---- the list --------------------------------------------------------------------------- */

void lcsm_sources_free(lcsm_sources *s)
{
    for (size_t j = 0; j < s->count; j++) free(s->items[j].path);
    free(s->items);
    *s = (lcsm_sources){0};
}

static lcsm_status append(lcsm_sources *s, const char *path, const struct stat *info, bool shard,
                          lcsm_error *err)
{
    if (s->count == s->capacity) {
        size_t       more  = s->capacity * 2 + 16;
        lcsm_source *items = realloc(s->items, more * sizeof *items);
        if (items == NULL)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a list of files");
        s->items    = items;
        s->capacity = more;
    }
    char *copy = strdup(path);
    if (copy == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a list of files");
    s->items[s->count++] = (lcsm_source){
        .path        = copy,
        .size        = (uint64_t)info->st_size,
        .seconds     = (int64_t)info->st_mtim.tv_sec,
        .nanoseconds = (int64_t)info->st_mtim.tv_nsec,
        .shard       = shard,
    };
    s->size += (uint64_t)info->st_size;
    return LCSM_OK;
}

/* What the first bytes, unpacked, say: a shard, text (no zero byte), or something else. */
static lcsm_status probe(const char *path, bool *shard, bool *text, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    lcsm_reader r    = {0};
    size_t      size = 0;
    char        bytes[PROBE];
    LCSM_TRY(lcsm_reader_open(&r, path, err));
    LCSM_TRY(lcsm_reader_read(&r, bytes, sizeof bytes, &size, err));
    *shard = size >= LCSM_SHARD_MAGIC_SIZE
          && memcmp(bytes, LCSM_SHARD_MAGIC, LCSM_SHARD_MAGIC_SIZE) == 0;
    *text = size > 0 && memchr(bytes, 0, size) == NULL;
cleanup:
    lcsm_reader_close(&r);
    return st;
}

static lcsm_status add_path(lcsm_sources *s, const char *path, unsigned depth, lcsm_error *err);

static lcsm_status add_folder(lcsm_sources *s, const char *path, unsigned depth, lcsm_error *err)
{
    lcsm_status      st   = LCSM_OK;
    lcsm_folder_list list = {0};
    char             inner[LCSM_PATH_MAX];
    if (depth > MAX_DEPTH)
        return lcsm_fail(err, LCSM_ERR_IO, "%s: more than %d nested folders", path, MAX_DEPTH);
    LCSM_TRY(lcsm_folder_read(&list, path, err));
    for (size_t j = 0; j < list.count; j++) {
        if (list.names[j][0] == '.') {
            s->skipped++;
            continue;
        }
        LCSM_TRY(lcsm_path_join(inner, path, list.names[j], err));
        LCSM_TRY(add_path(s, inner, depth + 1, err));
    }
cleanup:
    lcsm_folder_list_free(&list);
    return st;
}

/* depth 0 is what the user named, which is read whatever it holds. */
static lcsm_status add_path(lcsm_sources *s, const char *path, unsigned depth, lcsm_error *err)
{
    struct stat info;
    bool        shard = false, text = false;
    if (stat(path, &info) != 0)
        return lcsm_fail(err, LCSM_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) return add_folder(s, path, depth, err);
    if (!S_ISREG(info.st_mode) && depth == 0)
        return lcsm_fail(err, LCSM_ERR_IO, "%s is neither a file nor a folder", path);
    if (S_ISREG(info.st_mode)) LCSM_OR_RETURN(probe(path, &shard, &text, err));
    if (depth == 0 || (text && !shard)) return append(s, path, &info, shard, err);
    s->skipped++;
    return LCSM_OK;
}

lcsm_status lcsm_sources_list(lcsm_sources *out, const char *const *paths, size_t count,
                              lcsm_error *err)
{
    lcsm_status  st = LCSM_OK;
    lcsm_sources s  = {0};
    *out            = s;
    for (size_t j = 0; j < count; j++) {
        size_t before = s.count;
        LCSM_TRY(add_path(&s, paths[j], 0, err));
        if (s.count == before) {
            st = lcsm_fail(err, LCSM_ERR_FORMAT, "%s: this folder contains no text", paths[j]);
            goto cleanup;
        }
    }
    *out = s;
    s    = (lcsm_sources){0};
cleanup:
    lcsm_sources_free(&s);
    return st;
}
