/* gguf.c - the reader of GGUF files. */
#include "format/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "format/json_scan.h"

/* Types of values. */
enum {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    BOOL,
    STRING,
    ARRAY,
    U64,
    I64,
    F64,
    TYPES,
    DEPTH = 4 /* of lists in lists */
};
static const size_t WIDTHS[TYPES] = {
    [U8] = 1,  [I8] = 1,   [U16] = 2, [I16] = 2, [U32] = 4, [I32] = 4,
    [F32] = 4, [BOOL] = 1, [U64] = 8, [I64] = 8, [F64] = 8};

/* ---- bytes ------------------------------------------------------------------------------ */

/* Where the reader is. A failure is sticky; err is filled by the first. */
typedef struct {
    const unsigned char *data;
    size_t               size, at;
    const char          *label;
    bool                 failed;
    lcsm_error          *err;
} reader;

static bool fail(reader *r, const char *what)
{
    if (!r->failed)
        (void)lcsm_fail(r->err, LCSM_ERR_FORMAT, "%s: byte %zu: %s", r->label, r->at, what);
    r->failed = true;
    return false;
}

static const unsigned char *take(reader *r, uint64_t bytes)
{
    if (r->failed) return NULL;
    if (bytes > r->size - r->at) {
        (void)fail(r, "the file ends inside its header");
        return NULL;
    }
    const unsigned char *p = r->data + r->at;
    r->at += (size_t)bytes;
    return p;
}

static uint32_t u32_of(reader *r)
{
    uint32_t             v = 0;
    const unsigned char *p = take(r, sizeof v);
    if (p != NULL) memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t u64_of(reader *r)
{
    uint64_t             v = 0;
    const unsigned char *p = take(r, sizeof v);
    if (p != NULL) memcpy(&v, p, sizeof v);
    return v;
}

/* Bytes that are valid UTF-8; *size is their number. */
static const char *text_of(reader *r, size_t *size)
{
    uint64_t    n    = u64_of(r);
    const char *text = (const char *)take(r, n);
    *size            = text != NULL ? (size_t)n : 0;
    if (text != NULL && lcsm_utf8_check(text, *size) != *size) (void)fail(r, "text is not UTF-8");
    return r->failed ? NULL : text;
}

/* ---- metadata --------------------------------------------------------------------------- */

static json_t *number(uint32_t type, const unsigned char *p)
{
    union {
        uint8_t  u8;
        int8_t   i8;
        uint16_t u16;
        int16_t  i16;
        uint32_t u32;
        int32_t  i32;
        uint64_t u64;
        int64_t  i64;
        float    f32;
        double   f64;
    } v;
    memcpy(&v, p, WIDTHS[type]);
    switch (type) {
    case U8: return json_integer(v.u8);
    case I8: return json_integer(v.i8);
    case U16: return json_integer(v.u16);
    case I16: return json_integer(v.i16);
    case U32: return json_integer(v.u32);
    case I32: return json_integer(v.i32);
    case F32: return json_real((double)v.f32);
    case BOOL: return json_boolean(v.u8 != 0);
    case U64: return json_integer((json_int_t)v.u64);
    case I64: return json_integer(v.i64);
    default: return json_real(v.f64);
    }
}

static bool skip_array(reader *r, int depth)
{
    uint32_t type  = u32_of(r);
    uint64_t count = u64_of(r), bytes;
    size_t   size;
    if (r->failed) return false;
    if (type >= TYPES) return fail(r, "a list has values of an unknown type");
    if (type == ARRAY && depth == 0) return fail(r, "lists are nested too deeply");
    if (type != STRING && type != ARRAY) {
        bytes = count > r->size ? UINT64_MAX : count * WIDTHS[type];
        return take(r, bytes) != NULL;
    }
    for (uint64_t j = 0; j < count && !r->failed; j++)
        if (type == STRING) (void)text_of(r, &size);
        else (void)skip_array(r, depth - 1);
    return !r->failed;
}

/* A list of texts or numbers as an array; real numbers that are not finite become 0. */
static json_t *read_list(reader *r)
{
    uint32_t type  = u32_of(r);
    uint64_t count = u64_of(r);
    json_t  *list  = json_array();
    if (!r->failed && (type >= TYPES || type == ARRAY || list == NULL))
        (void)fail(r, "a list of the tokenizer has values of another type");
    for (uint64_t j = 0; j < count && !r->failed; j++) {
        size_t  size;
        json_t *value = NULL;
        if (type == STRING) {
            const char *text = text_of(r, &size);
            if (text != NULL) value = json_stringn_nocheck(text, size);
        } else {
            const unsigned char *p = take(r, WIDTHS[type]);
            if (p != NULL) value = number(type, p);
            if (p != NULL && value == NULL) value = json_integer(0);
        }
        if (!r->failed && json_array_append_new(list, value) != 0)
            (void)fail(r, "there is not enough memory for a list of the tokenizer");
    }
    if (!r->failed) return list;
    json_decref(list);
    return NULL;
}

/* Lists that are kept. */
static bool is_tokenizer(const char *name, size_t size)
{
    static const char PREFIX[] = "tokenizer.ggml.";
    return size >= sizeof PREFIX && memcmp(name, PREFIX, sizeof PREFIX - 1) == 0;
}

static bool bad_type(reader *r, const char *name, size_t size, uint32_t type)
{
    char   what[128], word[64];
    size_t n = size < sizeof word ? size : sizeof word - 1;
    for (size_t j = 0; j < n; j++) word[j] = name[j] > ' ' && name[j] <= '~' ? name[j] : '?';
    word[n] = '\0';
    (void)snprintf(what, sizeof what, "key %s has a value of the unknown type %u", word,
                   (unsigned)type);
    return fail(r, what);
}

/* One key and its value into the object; values that are NaN, infinite or lists of others than the
 * tokenizer's are left out. */
static bool read_key(reader *r, json_t *keys)
{
    size_t      size, letters;
    const char *name  = text_of(r, &size), *text;
    uint32_t    type  = u32_of(r);
    json_t     *value = NULL;
    if (r->failed) return false;
    if (type >= TYPES) return bad_type(r, name, size, type);
    if (type == ARRAY && !is_tokenizer(name, size)) return skip_array(r, DEPTH);
    if (type == ARRAY) value = read_list(r);
    else if (type == STRING) {
        text = text_of(r, &letters);
        if (text != NULL) value = json_stringn_nocheck(text, letters);
    } else {
        const unsigned char *p = take(r, WIDTHS[type]);
        if (p != NULL) value = number(type, p);
    }
    if (r->failed || value == NULL) return !r->failed;
    char *key = size < 256 && memchr(name, 0, size) == NULL ? strndup(name, size) : NULL;
    if (key == NULL || json_object_get(keys, key) != NULL) {
        json_decref(value);
        free(key);
        return fail(r, "a key occurs twice, or has more than 255 letters");
    }
    (void)json_object_set_new_nocheck(keys, key, value);
    free(key);
    return true;
}

/* ---- tensors ---------------------------------------------------------------------------- */

static bool measure(reader *r, lcsm_gguf_row *row)
{
    size_t bytes;
    row->count = 1;
    for (size_t j = 0; j < row->rank; j++)
        if (!lcsm_size_mul(row->count, row->shape[j], &row->count))
            return fail(r, "the size of a tensor overflows");
    if (row->shape[row->rank - 1] % row->type->values != 0)
        return fail(r, "a row of a tensor is not a whole number of blocks");
    if (!lcsm_size_mul(row->count / row->type->values, row->type->bytes, &bytes))
        return fail(r, "the size of a tensor overflows");
    row->size = bytes;
    return true;
}

static bool read_info(reader *r, lcsm_gguf_row *row)
{
    size_t      size;
    const char *name = text_of(r, &size);
    uint32_t    rank = u32_of(r);
    if (r->failed) return false;
    if (size == 0 || size >= sizeof row->name || memchr(name, 0, size) != NULL)
        return fail(r, "the name of a tensor has no letters, or more than 63");
    memcpy(row->name, name, size);
    if (rank < 1 || rank > LCSM_GGUF_RANK) return fail(r, "a tensor has no axes, or more than 4");
    row->rank = rank;
    for (uint32_t j = 0; j < rank; j++) row->shape[rank - 1 - j] = (size_t)u64_of(r);
    uint32_t type = u32_of(r);
    row->offset   = u64_of(r);
    if (r->failed) return false;
    row->type = lcsm_block_type_of(type);
    if (row->type == NULL) {
        (void)lcsm_fail(r->err, LCSM_ERR_FORMAT,
                        "%s: tensor %s has type %u, which is not supported; expected F32, F16, "
                        "BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K or Q6_K",
                        r->label, row->name, type);
        r->failed = true;
        return false;
    }
    return measure(r, row);
}

static int by_offset(const void *a, const void *b)
{
    const lcsm_gguf_row *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const lcsm_gguf_row *)a)->name, ((const lcsm_gguf_row *)b)->name);
}

/* Offsets aligned, in the file, without overlap; names that differ. */
static bool place(reader *r, lcsm_gguf *g, size_t start, uint64_t align)
{
    uint64_t end = 0, room = r->size - start;
    qsort(g->rows, g->count, sizeof *g->rows, by_offset);
    for (size_t j = 0; j < g->count; j++) {
        lcsm_gguf_row *row = &g->rows[j];
        if (row->offset % align != 0) return fail(r, "a tensor is not aligned");
        if (row->offset < end) return fail(r, "two tensors overlap");
        if (row->offset > room || row->size > room - row->offset)
            return fail(r, "a tensor extends beyond the end of the file");
        end       = row->offset + row->size;
        row->data = r->data + start + row->offset;
    }
    qsort(g->rows, g->count, sizeof *g->rows, by_name);
    for (size_t j = 1; j < g->count; j++)
        if (by_name(&g->rows[j - 1], &g->rows[j]) == 0)
            return fail(r, "two tensors have the same name");
    return true;
}

/* ---- files ------------------------------------------------------------------------------ */

static bool bad_version(reader *r, uint32_t version)
{
    char what[64];
    if (version > 0xFFFF) return fail(r, "a big-endian GGUF file; expected little-endian");
    (void)snprintf(what, sizeof what, "GGUF version %u; expected 2 or 3", (unsigned)version);
    return fail(r, what);
}

static bool read_header(reader *r, uint64_t *tensors, uint64_t *keys)
{
    const unsigned char *magic   = take(r, 4);
    uint32_t             version = u32_of(r);
    if (r->failed) return false;
    if (memcmp(magic, "GGUF", 4) != 0) return fail(r, "not a GGUF file");
    if (version != 2 && version != 3) return bad_version(r, version);
    *tensors = u64_of(r);
    *keys    = u64_of(r);
    /* a key has at least 12 bytes, an info 24 */
    if (*keys > r->size / 12 || *tensors > r->size / 24)
        return fail(r, "more keys or tensors than the file has room for");
    return !r->failed;
}

static bool read_rest(reader *r, lcsm_gguf *g, uint64_t tensors, uint64_t keys)
{
    uint64_t align = 32;
    for (uint64_t j = 0; j < keys; j++)
        if (!read_key(r, g->keys)) return false;
    json_t *said = json_object_get(g->keys, "general.alignment");
    if (said != NULL) align = (uint64_t)json_integer_value(said);
    if (align == 0 || align > 65536 || (align & (align - 1)) != 0)
        return fail(r, "general.alignment is not a power of two up to 65536");
    for (uint64_t j = 0; j < tensors; j++)
        if (!read_info(r, &g->rows[g->count++])) return false;
    size_t start = (r->at + (size_t)align - 1) / (size_t)align * (size_t)align;
    return place(r, g, start > r->size ? r->size : start, align);
}

lcsm_status lcsm_gguf_parse(lcsm_gguf *out, const char *label, const unsigned char *data,
                            size_t size, lcsm_error *err)
{
    lcsm_error own;
    reader     r = {.data = data, .size = size, .label = label, .err = err != NULL ? err : &own};
    uint64_t   tensors = 0, keys = 0;
    *out = (lcsm_gguf){.label = strdup(label), .keys = json_object()};
    if (!read_header(&r, &tensors, &keys)) goto failed;
    out->rows = calloc((size_t)tensors + 1, sizeof *out->rows);
    if (out->rows == NULL || out->keys == NULL || out->label == NULL) {
        lcsm_gguf_close(out);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for its header", label);
    }
    if (read_rest(&r, out, tensors, keys)) return LCSM_OK;
failed:
    lcsm_gguf_close(out);
    return LCSM_ERR_FORMAT;
}

lcsm_status lcsm_gguf_open(lcsm_gguf *out, const char *path, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    lcsm_file   file = {0};
    *out             = (lcsm_gguf){0};
    LCSM_TRY(lcsm_file_map(&file, path, err));
    LCSM_TRY(lcsm_gguf_parse(out, path, file.data, file.size, err));
    out->file = file;
    file      = (lcsm_file){0};
cleanup:
    lcsm_file_close(&file);
    return st;
}

void lcsm_gguf_close(lcsm_gguf *g)
{
    lcsm_file_close(&g->file);
    json_decref(g->keys);
    free(g->label);
    free(g->rows);
    free(g->decoded);
    *g = (lcsm_gguf){0};
}

/* The type of a file of ours, or that of decoded numbers. */
static lcsm_element element_of(const lcsm_block_type *t)
{
    lcsm_element e;
    return lcsm_element_find(&e, t->name, strlen(t->name)) ? e : LCSM_ELEMENT_F32;
}

lcsm_status lcsm_gguf_tensors(lcsm_named_tensor *list, lcsm_gguf *g, lcsm_error *err)
{
    size_t total = 0, used = 0;
    for (size_t j = 0; j < g->count; j++)
        if (g->rows[j].type->values > 1) total += g->rows[j].count;
    free(g->decoded);
    g->decoded = malloc((total + 1) * sizeof *g->decoded);
    if (g->decoded == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for %zu numbers", g->label,
                         total);
    for (size_t j = 0; j < g->count; j++) {
        const lcsm_gguf_row *row = &g->rows[j];
        lcsm_named_tensor    t   = {.name    = row->name,
                                    .element = element_of(row->type),
                                    .rank    = row->rank,
                                    .data    = row->data,
                                    .file    = &g->file};
        memcpy(t.shape, row->shape, sizeof row->shape);
        if (row->type->values > 1) {
            lcsm_blocks_decode(g->decoded + used, row->type, row->data, row->count);
            t.data = g->decoded + used;
            t.file = NULL;
            used += row->count;
        }
        list[j] = t;
    }
    return LCSM_OK;
}
