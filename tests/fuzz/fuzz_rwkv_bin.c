/* fuzz_rwkv_bin.c - what the reader accepts can be read. */
#include <stdlib.h>
#include <string.h>

#include "format/rwkv_bin.h"
#include "fuzz.h"

bool fuzz_one(const unsigned char *data, size_t size)
{
    lcsm_rwkv_bin b;
    lcsm_error    err = {0};
    if (lcsm_rwkv_bin_parse(&b, "fuzz", data, size, &err) != LCSM_OK) {
        PROMISE(err.status != LCSM_OK && err.text[0] != '\0' && b.rows == NULL);
        return false;
    }
    for (size_t j = 0; j < b.count; j++) {
        lcsm_named_tensor t     = lcsm_rwkv_bin_at(&b, j), found;
        size_t            count = 0, bytes = 0;
        PROMISE(lcsm_named_tensor_measure(&t, &count, &bytes) && bytes <= size);
        (void)lcsm_named_tensor_nonfinite(&t);
        float *values = calloc(count, sizeof *values);
        PROMISE(values != NULL && lcsm_named_tensor_f32(values, &t, NULL) == LCSM_OK);
        free(values);
        PROMISE(lcsm_rwkv_bin_find(&found, &b, t.name) && found.data == t.data);
    }
    lcsm_rwkv_bin_close(&b);
    return true;
}

static void put(unsigned char *out, size_t *size, const void *bytes, size_t more)
{
    memcpy(out + *size, bytes, more);
    *size += more;
}

size_t fuzz_seed(size_t n, unsigned char *out, size_t capacity)
{
    static const int32_t HEADER[]    = {0x67676d66, 100, 5, 3, 2};
    static const char    KEYS[2][11] = {"emb.weight", "ln0.weight"};
    static const float   VALUES[6]   = {0, 1, 2, 3, 4, 5};
    size_t               size        = 0;
    if (n > 2) return 0;
    PROMISE(capacity >= 256);
    int32_t type = n == 2;
    put(out, &size, HEADER, sizeof HEADER);
    put(out, &size, &type, sizeof type);
    for (size_t j = 0; j < n; j++) {
        const int32_t entry[] = {j == 0 ? 2 : 1, 10, type, 3, 2};
        put(out, &size, entry, j == 0 ? 20 : 16);
        put(out, &size, KEYS[j], 10);
        put(out, &size, VALUES, (j == 0 ? 6U : 3U) * (type == 0 ? 4U : 2U));
    }
    return size;
}
