/* zip.c - the end, the directory, the members. */
#include "format/zip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    END       = 22, /* bytes of the records without their variable parts */
    LOCATOR   = 20,
    END64     = 56,
    DIRECTORY = 46,
    LOCAL     = 30,
    MOST      = 1 << 20, /* members */
};

typedef struct {
    const char          *label;
    const unsigned char *data;
    size_t               size;
    uint64_t             at, bytes, count; /* of the directory */
} reading;

static uint64_t number(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int j = bytes; j-- > 0;) v = v << 8 | p[j];
    return v;
}

static lcsm_status bad(const reading *r, lcsm_error *err, const char *what)
{
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%.120s is not a whole zip archive: %s", r->label, what);
}

/* ---- the end ---------------------------------------------------------------------------- */

/* The record at the end, which a comment may follow. */
static const unsigned char *find_end(const reading *r)
{
    size_t most = r->size < END + 65535 ? r->size : END + 65535;
    for (size_t back = END; back <= most; back++) {
        const unsigned char *p = r->data + r->size - back;
        if (memcmp(p, "PK\005\006", 4) == 0 && number(p + 20, 2) == back - END) return p;
    }
    return NULL;
}

/* The record for large archives, if the end says that there is one. */
static lcsm_status read_end64(reading *r, const unsigned char *end, lcsm_error *err)
{
    size_t place = (size_t)(end - r->data);
    if (place < LOCATOR || memcmp(end - LOCATOR, "PK\006\007", 4) != 0) return LCSM_OK;
    uint64_t at = number(end - LOCATOR + 8, 8);
    if (at > r->size || r->size - at < END64 || memcmp(r->data + at, "PK\006\006", 4) != 0)
        return bad(r, err, "its zip64 record is not there");
    r->count = number(r->data + at + 32, 8);
    r->bytes = number(r->data + at + 40, 8);
    r->at    = number(r->data + at + 48, 8);
    return LCSM_OK;
}

static lcsm_status read_end(reading *r, lcsm_error *err)
{
    const unsigned char *end = r->size >= END ? find_end(r) : NULL;
    if (end == NULL) return bad(r, err, "its end is missing; the file may be cut short");
    r->count = number(end + 10, 2);
    r->bytes = number(end + 12, 4);
    r->at    = number(end + 16, 4);
    LCSM_OR_RETURN(read_end64(r, end, err));
    if (r->at > r->size || r->bytes > r->size - r->at)
        return bad(r, err, "its directory extends beyond the end");
    if (r->count > MOST || r->count > r->bytes / DIRECTORY)
        return bad(r, err, "its directory is shorter than its number of members needs");
    return LCSM_OK;
}

/* ---- members ---------------------------------------------------------------------------- */

/* Sizes and the place that are all ones stand in the extra part with the number 1. */
static bool read_extra(const unsigned char *p, size_t size, uint64_t *values[3])
{
    while (size >= 4) {
        size_t n = (size_t)number(p + 2, 2);
        if (n > size - 4) return false;
        if (number(p, 2) == 1) {
            const unsigned char *at = p + 4, *end = at + n;
            for (int j = 0; j < 3; j++) {
                if (*values[j] != UINT32_MAX) continue;
                if (end - at < 8) return false;
                *values[j] = number(at, 8);
                at += 8;
            }
        }
        p += 4 + n;
        size -= 4 + n;
    }
    return true;
}

/* What the local header says of the place of the data. */
static lcsm_status find_data(lcsm_zip_member *m, const reading *r, uint64_t at, uint64_t size,
                             lcsm_error *err)
{
    if (at > r->at || r->at - at < LOCAL || memcmp(r->data + at, "PK\003\004", 4) != 0)
        return bad(r, err, "a member has no header");
    uint64_t head = LOCAL + number(r->data + at + 26, 2) + number(r->data + at + 28, 2);
    if (head > r->at - at || size > r->at - at - head)
        return bad(r, err, "a member extends into the directory");
    m->data = r->data + at + head;
    m->size = (size_t)size;
    return LCSM_OK;
}

/* One entry of the directory, `left` bytes from its end; *used is its size. */
static lcsm_status read_entry(lcsm_zip_member *m, const reading *r, const unsigned char *p,
                              size_t left, size_t *used, lcsm_error *err)
{
    if (left < DIRECTORY || memcmp(p, "PK\001\002", 4) != 0)
        return bad(r, err, "its directory is broken");
    size_t name = (size_t)number(p + 28, 2), extra = (size_t)number(p + 30, 2);
    *used = DIRECTORY + name + extra + (size_t)number(p + 32, 2);
    if (*used > left) return bad(r, err, "its directory is cut short");
    uint64_t  packed = number(p + 20, 4), size = number(p + 24, 4), at = number(p + 42, 4);
    uint64_t *values[3] = {&size, &packed, &at};
    if (!read_extra(p + DIRECTORY + name, extra, values))
        return bad(r, err, "an entry of its directory is broken");
    m->name      = (const char *)p + DIRECTORY;
    m->name_size = name;
    if (number(p + 10, 2) != 0 || (number(p + 8, 2) & 1u) != 0 || packed != size)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%.120s: the member %.*s is compressed or encrypted; PyTorch stores "
                         "members as they are",
                         r->label, name < 60 ? (int)name : 60, m->name);
    return find_data(m, r, at, size, err);
}

static int by_name(const void *a, const void *b)
{
    const lcsm_zip_member *x = a, *y = b;
    size_t                 n = x->name_size < y->name_size ? x->name_size : y->name_size;
    int                    c = memcmp(x->name, y->name, n);
    return c != 0 ? c : (x->name_size > y->name_size) - (x->name_size < y->name_size);
}

lcsm_status lcsm_zip_parse(lcsm_zip *out, const char *label, const unsigned char *data, size_t size,
                           lcsm_error *err)
{
    reading     r = {.label = label, .data = data, .size = size};
    lcsm_status st;
    *out = (lcsm_zip){0};
    LCSM_TRY(read_end(&r, err));
    out->members = calloc((size_t)r.count + 1, sizeof *out->members);
    if (out->members == NULL)
        LCSM_TRY(
            lcsm_fail(err, LCSM_ERR_MEMORY, "%.120s: not enough memory for its members", label));
    const unsigned char *p    = data + r.at;
    size_t               left = (size_t)r.bytes, used = 0;
    for (; out->count < r.count; out->count++, p += used, left -= used)
        LCSM_TRY(read_entry(&out->members[out->count], &r, p, left, &used, err));
    qsort(out->members, out->count, sizeof *out->members, by_name);
    for (size_t j = 1; j < out->count; j++)
        if (by_name(&out->members[j - 1], &out->members[j]) == 0)
            LCSM_TRY(bad(&r, err, "two members have one name"));
cleanup:
    if (st != LCSM_OK) lcsm_zip_free(out);
    return st;
}

void lcsm_zip_free(lcsm_zip *z)
{
    free(z->members);
    *z = (lcsm_zip){0};
}

const lcsm_zip_member *lcsm_zip_find(const lcsm_zip *z, const char *name, size_t name_size)
{
    lcsm_zip_member key = {.name = name, .name_size = name_size};
    return z->count == 0 ? NULL : bsearch(&key, z->members, z->count, sizeof key, by_name);
}
