/* fuzz_torch_file.c - what the reader accepts can be read. */
#include <stdlib.h>
#include <string.h>

#include "format/torch_file.h"
#include "fuzz.h"
#include "torch_bytes.h"

bool fuzz_one(const unsigned char *data, size_t size)
{
    lcsm_torch_file t;
    lcsm_error      err = {0};
    if (lcsm_torch_file_parse(&t, "fuzz", data, size, &err) != LCSM_OK) {
        PROMISE(err.status != LCSM_OK && err.text[0] != '\0' && t.list == NULL);
        return false;
    }
    for (size_t j = 0; j < t.count; j++) {
        size_t count = 0, length = 0;
        PROMISE(lcsm_named_tensor_measure(&t.list[j], &count, &length) && length <= size);
        (void)lcsm_named_tensor_nonfinite(&t.list[j]);
        float *values = calloc(count + 1, sizeof *values);
        PROMISE(values != NULL);
        (void)lcsm_named_tensor_f32(values, &t.list[j], NULL);
        free(values);
    }
    lcsm_torch_file_close(&t);
    return true;
}

size_t fuzz_seed(size_t n, unsigned char *out, size_t capacity)
{
    bytes p = {.size = 0};
    if (n > 2) return 0;
    put_code(&p, "\x80\x02}q\x01(");
    put_text(&p, "a.weight");
    if (n == 1) put_tensor(&p, "FloatStorage", "0", 6, 0, 3, 2, 1, 3);
    else put_tensor(&p, n == 0 ? "FloatStorage" : "BFloat16Storage", "0", 6, 0, 2, 3, 3, 1);
    put_text(&p, "b");
    put_tensor(&p, "FloatStorage", "0", 6, 2, 3, 0, 1, 0);
    put_text(&p, "step");
    put_code(&p, "J\1\2\3\4u.");
    bytes archive = torch_archive(&p);
    PROMISE(archive.size <= capacity);
    memcpy(out, archive.data, archive.size);
    return archive.size;
}
