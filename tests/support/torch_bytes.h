/* torch_bytes.h - files of PyTorch, byte by byte: a pickle, and a zip archive around it. */
#ifndef LCSM_TORCH_BYTES_H
#define LCSM_TORCH_BYTES_H
#include <stdint.h>
#include <string.h>

typedef struct {
    unsigned char data[4096];
    size_t        size;
} bytes;

static inline void put_bytes(bytes *b, const void *data, size_t size)
{
    if (size > sizeof b->data - b->size) size = sizeof b->data - b->size;
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void put_number(bytes *b, uint64_t value, int count)
{
    for (int j = 0; j < count; j++, value >>= 8) put_bytes(b, &(unsigned char){value & 255}, 1);
}

static inline void put_code(bytes *b, const char *text)
{
    put_bytes(b, text, strlen(text));
}

static inline void put_text(bytes *b, const char *text)
{
    put_code(b, "X");
    put_number(b, strlen(text), 4);
    put_code(b, text);
}

/* The value of a tensor of one storage: rows x cols with strides; cols 0: one axis. */
static inline void put_tensor(bytes *b, const char *type, const char *key, int count, int first,
                              int rows, int cols, int step, int next)
{
    put_code(
        b, "ctorch._utils\n_rebuild_tensor_v2\n(("); /* marks: of the arguments, of the reference */
    put_text(b, "storage");
    put_code(b, "ctorch\n");
    put_code(b, type);
    put_code(b, "\n");
    put_text(b, key);
    put_text(b, "cpu");
    put_code(b, "K");
    put_number(b, (uint64_t)count, 1);
    put_code(b, "tQK");
    put_number(b, (uint64_t)first, 1);
    put_code(b, "K");
    put_number(b, (uint64_t)rows, 1);
    if (cols > 0) put_code(b, "K"), put_number(b, (uint64_t)cols, 1);
    put_code(b, cols > 0 ? "\x86" : "\x85");
    put_code(b, "K");
    put_number(b, (uint64_t)step, 1);
    if (cols > 0) put_code(b, "K"), put_number(b, (uint64_t)next, 1);
    put_code(b, cols > 0 ? "\x86" : "\x85");
    put_code(b, "\x89"
                "ccollections\nOrderedDict\n)RtR");
}

static inline void put_member(bytes *zip, bytes *directory, const char *name, const void *data,
                              size_t size)
{
    size_t at = zip->size, n = strlen(name);
    put_bytes(zip, "PK\003\004\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18);
    put_number(zip, size, 4);
    put_number(zip, size, 4);
    put_number(zip, n, 2);
    put_number(zip, 0, 2);
    put_code(zip, name);
    put_bytes(zip, data, size);
    put_bytes(directory, "PK\001\002\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
    put_number(directory, size, 4);
    put_number(directory, size, 4);
    put_number(directory, n, 2);
    put_bytes(directory, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
    put_number(directory, at, 4);
    put_code(directory, name);
}

static inline void put_end(bytes *zip, const bytes *directory, int count)
{
    size_t at = zip->size;
    put_bytes(zip, directory->data, directory->size);
    put_bytes(zip, "PK\005\006\0\0\0\0", 8);
    put_number(zip, (uint64_t)count, 2);
    put_number(zip, (uint64_t)count, 2);
    put_number(zip, directory->size, 4);
    put_number(zip, at, 4);
    put_number(zip, 0, 2);
}

/* An archive of this pickle and of a storage "0" of 6 floats 0 .. 5. */
static inline bytes torch_archive(const bytes *pickle)
{
    static const float VALUES[6] = {0, 1, 2, 3, 4, 5};
    bytes              zip = {.size = 0}, directory = {.size = 0};
    put_member(&zip, &directory, "m/data.pkl", pickle->data, pickle->size);
    put_member(&zip, &directory, "m/byteorder", "little", 6);
    put_member(&zip, &directory, "m/data/0", VALUES, sizeof VALUES);
    put_end(&zip, &directory, 3);
    return zip;
}

#endif
