/* fuzz_gguf.c - what the reader accepts can be read. */
#include <stdlib.h>
#include <string.h>

#include "format/gguf.h"
#include "fuzz.h"

bool fuzz_one(const unsigned char *data, size_t size)
{
    lcsm_gguf  g;
    lcsm_error err = {0};
    if (lcsm_gguf_parse(&g, "fuzz", data, size, &err) != LCSM_OK) {
        PROMISE(err.status != LCSM_OK && err.text[0] != '\0' && g.rows == NULL);
        return false;
    }
    lcsm_named_tensor *list = calloc(g.count + 1, sizeof *list);
    PROMISE(list != NULL && lcsm_gguf_tensors(list, &g, NULL) == LCSM_OK);
    for (size_t j = 0; j < g.count; j++) {
        size_t count = 0, bytes = 0;
        PROMISE(lcsm_named_tensor_measure(&list[j], &count, &bytes));
        float *values = calloc(count + 1, sizeof *values);
        PROMISE(values != NULL && lcsm_named_tensor_f32(values, &list[j], NULL) == LCSM_OK);
        free(values);
    }
    free(list);
    lcsm_gguf_close(&g);
    return true;
}

static void put(unsigned char *out, size_t *size, const void *bytes, size_t more)
{
    memcpy(out + *size, bytes, more);
    *size += more;
}

size_t fuzz_seed(size_t n, unsigned char *out, size_t capacity)
{
    static const uint32_t TYPES[] = {0, 1, 8, 2, 12};
    static const char     HEAD[]  = "GGUF\3\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\024\0\0\0\0\0\0\0"
                                    "general.architecture\010\0\0\0\6\0\0\0\0\0\0\0mamba2";
    static const unsigned char DATA[1024] = {1, 2, 3, 60};
    const uint64_t             length = 1, dims[] = {256, 1}, offset = 0;
    const uint32_t             rank = 2;
    size_t                     size = 0;
    if (n >= sizeof TYPES / sizeof TYPES[0]) return 0;
    PROMISE(capacity >= 2048);
    put(out, &size, HEAD, sizeof HEAD - 1);
    put(out, &size, &length, sizeof length);
    put(out, &size, "x", 1);
    put(out, &size, &rank, sizeof rank);
    put(out, &size, dims, sizeof dims);
    put(out, &size, &TYPES[n], sizeof TYPES[n]);
    put(out, &size, &offset, sizeof offset);
    while (size % 32 != 0) put(out, &size, "", 1);
    put(out, &size, DATA, sizeof DATA);
    return size;
}
