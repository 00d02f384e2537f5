/* gguf_write.c - the writer of GGUF files. */
#include <stdlib.h>
#include <string.h>

#include "format/gguf.h"

enum { ALIGN = 32, VERSION = 3 };

/* ---- bytes ------------------------------------------------------------------------------ */

typedef struct {
    lcsm_file_writer file;
    uint64_t         at;
    lcsm_status      st;
    lcsm_error      *err;
} writer;

static void put(writer *w, const void *data, size_t size)
{
    if (w->st == LCSM_OK) w->st = lcsm_file_writer_write(&w->file, data, size, w->err);
    w->at += size;
}

static void put_u32(writer *w, uint32_t v)
{
    put(w, &v, sizeof v);
}

static void put_u64(writer *w, uint64_t v)
{
    put(w, &v, sizeof v);
}

static void put_text(writer *w, const char *text)
{
    put_u64(w, strlen(text));
    put(w, text, strlen(text));
}

static void pad(writer *w)
{
    static const unsigned char zeros[ALIGN];
    put(w, zeros, (size_t)((ALIGN - w->at % ALIGN) % ALIGN));
}

/* ---- metadata --------------------------------------------------------------------------- */

static void put_key(writer *w, const char *name, const json_t *value)
{
    enum { U32 = 4, F32 = 6, BOOL = 7, STRING = 8 };
    put_text(w, name);
    if (json_is_boolean(value)) {
        put_u32(w, BOOL);
        put(w, &(unsigned char){json_is_true(value)}, 1);
    } else if (json_is_integer(value)) {
        put_u32(w, U32);
        put_u32(w, (uint32_t)json_integer_value(value));
    } else if (json_is_real(value)) {
        float x = (float)json_real_value(value);
        put_u32(w, F32);
        put(w, &x, sizeof x);
    } else {
        put_u32(w, STRING);
        put_text(w, json_is_string(value) ? json_string_value(value) : "");
    }
}

/* ---- tensors ---------------------------------------------------------------------------- */

static size_t columns(const lcsm_gguf_out *t)
{
    return t->shape[t->rank - 1];
}

static size_t count_of(const lcsm_gguf_out *t)
{
    size_t n = 1;
    for (size_t j = 0; j < t->rank; j++) n *= t->shape[j];
    return n;
}

/* The asked type where rows are whole blocks of it; vectors and small tables stay F32. */
static const lcsm_block_type *type_of(const lcsm_gguf_out *t, uint32_t id)
{
    const lcsm_block_type *type = lcsm_block_type_of(id);
    bool                   fits = t->dense && columns(t) % type->values == 0;
    return fits ? type : lcsm_block_type_of(0);
}

static uint64_t bytes_of(const lcsm_gguf_out *t, uint32_t id)
{
    const lcsm_block_type *type = type_of(t, id);
    return count_of(t) / type->values * type->bytes;
}

static void put_info(writer *w, const lcsm_gguf_out *t, uint32_t id, uint64_t offset)
{
    put_text(w, t->name);
    put_u32(w, (uint32_t)t->rank);
    for (size_t j = t->rank; j > 0; j--) put_u64(w, t->shape[j - 1]);
    put_u32(w, type_of(t, id)->id);
    put_u64(w, offset);
}

/* Many values at a time: each `put` asks the system. */
static void put_values(writer *w, const lcsm_gguf_out *t, uint32_t id)
{
    enum { MANY = 4096 };
    const lcsm_block_type *type = type_of(t, id);
    unsigned char          bytes[MANY * sizeof(float)];
    for (size_t j = 0, n = count_of(t), k; j < n; j += k) {
        k = n - j < MANY ? n - j : MANY;
        if (type->encode == NULL) memcpy(bytes, t->data + j, k * sizeof(float));
        else lcsm_blocks_encode(bytes, type, t->data + j, k);
        put(w, bytes, k / type->values * type->bytes);
    }
    pad(w);
}

static void put_all(writer *w, const json_t *keys, const lcsm_gguf_out *list, size_t count,
                    uint32_t type)
{
    const char *name;
    json_t     *value;
    uint64_t    offset = 0;
    put(w, "GGUF", 4);
    put_u32(w, VERSION);
    put_u64(w, count);
    put_u64(w, json_object_size(keys));
    json_object_foreach((json_t *)(uintptr_t)keys, name, value) put_key(w, name, value);
    for (size_t j = 0; j < count; j++) {
        put_info(w, &list[j], type, offset);
        offset += (bytes_of(&list[j], type) + ALIGN - 1) / ALIGN * ALIGN;
    }
    pad(w);
    for (size_t j = 0; j < count; j++) put_values(w, &list[j], type);
}

lcsm_status lcsm_gguf_save(const char *path, const json_t *keys, const lcsm_gguf_out *list,
                           size_t count, uint32_t type, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    writer      w  = {.err = err};
    LCSM_TRY(lcsm_file_writer_open(&w.file, path, err));
    put_all(&w, keys, list, count, type);
    LCSM_TRY(w.st);
    LCSM_TRY(lcsm_file_writer_commit(&w.file, err));
cleanup:
    lcsm_file_writer_close(&w.file);
    return st;
}
