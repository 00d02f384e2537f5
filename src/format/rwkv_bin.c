/* rwkv_bin.c - the reader: a pass that checks and counts, memory for the index, a pass that fills.
 */
#include "format/rwkv_bin.h"

#include <stdlib.h>
#include <string.h>

#include "format/json_scan.h"

enum { HEADER = 6, ENTRY = 3 }; /* int32 in front of a file, and of a tensor */

static const uint32_t MAGIC = 0x67676d66;

/* The types of the format by their numbers; those behind are quantised. */
static const lcsm_element TYPES[] = {LCSM_ELEMENT_F32, LCSM_ELEMENT_F16};

static int32_t int_at(const unsigned char *p, size_t index)
{
    int32_t value;
    memcpy(&value, p + index * sizeof value, sizeof value);
    return value;
}

static lcsm_status read_header(lcsm_rwkv_bin *b, const unsigned char *data, size_t size,
                               lcsm_error *err)
{
    static const char *const NAMES[] = {"n_vocab", "n_embed", "n_layer"};
    if (size < HEADER * sizeof(int32_t))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %zu bytes; expected a header of 24", b->label,
                         size);
    if ((uint32_t)int_at(data, 0) != MAGIC)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s is not a rwkv.cpp file: magic 0x%08x; expected 0x%08x", b->label,
                         (unsigned)int_at(data, 0), (unsigned)MAGIC);
    b->version = int_at(data, 1);
    if (b->version != 100 && b->version != 101)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: version %d; expected 100 or 101", b->label,
                         b->version);
    for (size_t j = 0; j < COUNT(NAMES); j++)
        if (int_at(data, 2 + j) < 1)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %s is %d; expected at least 1", b->label,
                             NAMES[j], int_at(data, 2 + j));
    b->vocab     = int_at(data, 2);
    b->embed     = int_at(data, 3);
    b->layers    = int_at(data, 4);
    int32_t type = int_at(data, 5);
    if (type < 0 || type >= (int32_t)COUNT(TYPES))
        return lcsm_fail(
            err, LCSM_ERR_FORMAT,
            "%s: data type %d; expected 0 (F32) or 1 (F16); quantised files are not supported",
            b->label, type);
    b->element = TYPES[type];
    return LCSM_OK;
}

/* A tensor as it lies in the file. */
typedef struct {
    lcsm_named_tensor tensor; /* without its name */
    const char       *key;
    size_t            key_size, size; /* of all of it */
} entry;

static lcsm_status cut_short(const lcsm_rwkv_bin *b, size_t at, lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_FORMAT,
                     "%s: the tensor at byte %zu extends beyond the end of the file", b->label, at);
}

/* Rank, key length and type, and that sizes and key lie in the file. */
static lcsm_status read_lengths(entry *e, const lcsm_rwkv_bin *b, const unsigned char *p,
                                size_t left, size_t at, lcsm_error *err)
{
    if (left < ENTRY * sizeof(int32_t)) return cut_short(b, at, err);
    int32_t rank = int_at(p, 0), key = int_at(p, 1), type = int_at(p, 2);
    if (rank < 1 || rank > LCSM_NAMED_RANK)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: the tensor at byte %zu has %d axes; expected 1 to %d", b->label, at,
                         rank, LCSM_NAMED_RANK);
    if (key < 1 || key > LCSM_RWKV_BIN_NAME)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: the tensor at byte %zu has a key of %d bytes; expected 1 to %d",
                         b->label, at, key, LCSM_RWKV_BIN_NAME);
    if (type < 0 || type >= (int32_t)COUNT(TYPES)
        || (b->element == LCSM_ELEMENT_F32 && TYPES[type] != LCSM_ELEMENT_F32))
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: the tensor at byte %zu has data type %d in a file of %s", b->label,
                         at, type, lcsm_element_name(b->element));
    e->tensor.element = TYPES[type];
    e->tensor.rank    = (size_t)rank;
    e->key_size       = (size_t)key;
    e->size           = (ENTRY + e->tensor.rank) * sizeof(int32_t) + e->key_size;
    return e->size > left ? cut_short(b, at, err) : LCSM_OK;
}

/* The tensor at p, of which `left` bytes are there; `at` is its place for messages. */
static lcsm_status read_entry(entry *e, const lcsm_rwkv_bin *b, const unsigned char *p, size_t left,
                              size_t at, lcsm_error *err)
{
    size_t      count, bytes = 0;
    lcsm_status st = read_lengths(e, b, p, left, at, err);
    if (st != LCSM_OK) return st;
    size_t rank = e->tensor.rank;
    e->key      = (const char *)p + (ENTRY + rank) * sizeof(int32_t);
    if (lcsm_utf8_check(e->key, e->key_size) != e->key_size || memchr(e->key, 0, e->key_size))
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s: the key of the tensor at byte %zu is not UTF-8 without zeros",
                         b->label, at);
    for (size_t j = 0; j < rank; j++) {
        int32_t dim = int_at(p, ENTRY + j);
        if (dim < 1)
            return lcsm_fail(err, LCSM_ERR_FORMAT,
                             "%s: %.*s has an axis of %d; expected at least 1", b->label,
                             (int)e->key_size, e->key, dim);
        e->tensor.shape[rank - 1 - j] = (size_t)dim;
    }
    if (!lcsm_named_tensor_measure(&e->tensor, &count, &bytes) || bytes > left - e->size)
        return cut_short(b, at, err);
    e->tensor.data = p + e->size;
    e->size += bytes;
    return LCSM_OK;
}

/* Goes through the tensors; keeps them if there is memory for rows and names. */
static lcsm_status read_all(lcsm_rwkv_bin *b, size_t *letters, const unsigned char *data,
                            size_t size, lcsm_error *err)
{
    b->count = 0;
    *letters = 0;
    for (size_t at = HEADER * sizeof(int32_t); at < size;) {
        entry       e  = {0};
        lcsm_status st = read_entry(&e, b, data + at, size - at, at, err);
        if (st != LCSM_OK) return st;
        if (b->count == LCSM_RWKV_BIN_TENSORS)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: more than %d tensors", b->label,
                             LCSM_RWKV_BIN_TENSORS);
        if (b->rows != NULL) {
            char *name = b->pool + *letters;
            memcpy(name, e.key, e.key_size);
            name[e.key_size]  = '\0';
            b->rows[b->count] = (lcsm_rwkv_bin_row){.name = name, .entry = data + at};
        }
        *letters += e.key_size + 1;
        b->count++;
        at += e.size;
    }
    return LCSM_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const lcsm_rwkv_bin_row *)a)->name, ((const lcsm_rwkv_bin_row *)b)->name);
}

static lcsm_status sort_rows(lcsm_rwkv_bin *b, lcsm_error *err)
{
    qsort(b->rows, b->count, sizeof *b->rows, by_name);
    for (size_t j = 1; j < b->count; j++)
        if (by_name(&b->rows[j - 1], &b->rows[j]) == 0)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: two tensors have the name %.80s", b->label,
                             b->rows[j].name);
    return LCSM_OK;
}

lcsm_status lcsm_rwkv_bin_parse(lcsm_rwkv_bin *out, const char *label, const unsigned char *data,
                                size_t size, lcsm_error *err)
{
    lcsm_status   st      = LCSM_OK;
    lcsm_rwkv_bin b       = {.label = strdup(label)};
    size_t        letters = 0;
    *out                  = (lcsm_rwkv_bin){0};
    if (b.label == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for its name", label);
    LCSM_TRY(read_header(&b, data, size, err));
    LCSM_TRY(read_all(&b, &letters, data, size, err));
    b.rows = calloc(b.count + 1, sizeof *b.rows);
    b.pool = malloc(letters + 1);
    if (b.rows == NULL || b.pool == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for an index of %zu tensors",
                       label, b.count);
        goto cleanup;
    }
    LCSM_TRY(read_all(&b, &letters, data, size, err));
    LCSM_TRY(sort_rows(&b, err));
    *out = b;
    b    = (lcsm_rwkv_bin){0};
cleanup:
    lcsm_rwkv_bin_close(&b);
    return st;
}

lcsm_status lcsm_rwkv_bin_open(lcsm_rwkv_bin *out, const char *path, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    lcsm_file   file = {0};
    *out             = (lcsm_rwkv_bin){0};
    LCSM_TRY(lcsm_file_map(&file, path, err));
    LCSM_TRY(lcsm_rwkv_bin_parse(out, path, file.data, file.size, err));
    out->file = file;
    file      = (lcsm_file){0};
cleanup:
    lcsm_file_close(&file);
    return st;
}

void lcsm_rwkv_bin_close(lcsm_rwkv_bin *b)
{
    free(b->label);
    free(b->rows);
    free(b->pool);
    lcsm_file_close(&b->file);
    *b = (lcsm_rwkv_bin){0};
}

lcsm_named_tensor lcsm_rwkv_bin_at(const lcsm_rwkv_bin *b, size_t row)
{
    entry e = {0};
    (void)read_entry(&e, b, b->rows[row].entry, SIZE_MAX, 0, NULL); /* it was checked */
    e.tensor.name = b->rows[row].name;
    e.tensor.file = &b->file;
    return e.tensor;
}

bool lcsm_rwkv_bin_find(lcsm_named_tensor *out, const lcsm_rwkv_bin *b, const char *name)
{
    lcsm_rwkv_bin_row  key = {.name = name};
    lcsm_rwkv_bin_row *found =
        b->count == 0 ? NULL : bsearch(&key, b->rows, b->count, sizeof *b->rows, by_name);
    if (found == NULL) return false;
    *out = lcsm_rwkv_bin_at(b, (size_t)(found - b->rows));
    return true;
}
