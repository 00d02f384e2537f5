/* fuzz_safetensors.c - what the reader accepts can be read, and written and read again. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/strbuf.h"
#include "format/safetensors.h"
#include "fuzz.h"

static lcsm_status to_text(void *to, const void *data, size_t size, lcsm_error *err)
{
    (void)err;
    lcsm_strbuf_bytes(to, data, size);
    return ((lcsm_strbuf *)to)->failed ? LCSM_ERR_MEMORY : LCSM_OK;
}

/* Reads every byte of the tensor and finds it by its name. */
static void use(const lcsm_safetensors *s, const lcsm_named_tensor *t)
{
    lcsm_named_tensor found;
    size_t            count = 0, bytes = 0, sum = 0;
    PROMISE(lcsm_named_tensor_measure(t, &count, &bytes));
    for (size_t j = 0; j < bytes; j++) sum += ((const unsigned char *)t->data)[j];
    PROMISE(sum <= 255 * bytes);
    (void)lcsm_named_tensor_nonfinite(t);
    double *values = calloc(count + 1, sizeof *values);
    if (values != NULL) (void)lcsm_named_tensor_f64(values, t, NULL);
    free(values);
    PROMISE(lcsm_safetensors_find(&found, s, t->name) && found.data == t->data);
}

static void write_again(const lcsm_safetensors *s, const lcsm_named_tensor *list)
{
    lcsm_strbuf      text = {0};
    lcsm_safetensors again;
    PROMISE(
        lcsm_safetensors_write(to_text, &text, list, s->count, s->metadata, s->metadata_count, NULL)
        == LCSM_OK);
    PROMISE(lcsm_safetensors_parse(&again, "again", (const unsigned char *)text.text, text.size,
                                   LCSM_SAFETENSORS_STRICT, NULL)
            == LCSM_OK);
    PROMISE(again.count == s->count && again.buffer_size == s->buffer_size);
    for (size_t j = 0; j < s->count; j++) {
        lcsm_named_tensor t     = lcsm_safetensors_at(&again, j);
        size_t            count = 0, bytes = 0;
        PROMISE(strcmp(t.name, list[j].name) == 0 && t.element == list[j].element);
        PROMISE(t.rank == list[j].rank);
        PROMISE(memcmp(t.shape, list[j].shape, t.rank * sizeof *t.shape) == 0);
        PROMISE(lcsm_named_tensor_measure(&t, &count, &bytes));
        PROMISE(memcmp(t.data, list[j].data, bytes) == 0);
    }
    lcsm_safetensors_close(&again);
    lcsm_strbuf_free(&text);
}

/* The header is JSON to others too. */
static void check_with_jansson(const lcsm_safetensors *s)
{
    json_t *root =
        json_loadb(s->header, s->header_size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    PROMISE(root != NULL);
    PROMISE(json_object_size(root)
            == s->count + (json_object_get(root, "__metadata__") != NULL ? 1 : 0));
    json_decref(root);
}

/* A zero in the metadata cannot be told from the end of a text, so it is not written again. */
static bool has_zero(const lcsm_safetensors *s)
{
    for (size_t j = 0; j + 6 <= s->header_size; j++)
        if (memcmp(s->header + j, "\\u0000", 6) == 0) return true;
    return false;
}

bool fuzz_one(const unsigned char *data, size_t size)
{
    lcsm_safetensors s;
    lcsm_error       err = {0};
    if (lcsm_safetensors_parse(&s, "fuzz", data, size, 0, &err) != LCSM_OK) {
        PROMISE(err.status != LCSM_OK && err.text[0] != '\0' && s.rows == NULL);
        return false;
    }
    lcsm_named_tensor *list = calloc(s.count + 1, sizeof *list);
    PROMISE(list != NULL);
    for (size_t j = 0; j < s.count; j++) {
        list[j] = lcsm_safetensors_at(&s, j);
        use(&s, &list[j]);
    }
    if (!has_zero(&s)) {
        check_with_jansson(&s);
        write_again(&s, list);
    }
    free(list);
    lcsm_safetensors_close(&s);
    return true;
}

size_t fuzz_seed(size_t n, unsigned char *out, size_t capacity)
{
    static const struct {
        const char *header;
        size_t      buffer;
    } SEEDS[] = {
        {"{}", 0},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
         "\"b.c\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[24,26]},"
         "\"__metadata__\":{\"format\":\"pt\",\"k\":\"\\u00e9\\n\"}}   ",
         26},
        {" \n{ \"x\" : { \"shape\" : [ 0 , 7 ] , \"data_offsets\" : [ 0 , 0 ] , \"dtype\" : "
         "\"F64\" "
         "} , \"\\u0079\" : {\"data_offsets\":[0,3],\"dtype\":\"F4\",\"shape\":[6]}}",
         3},
        {"{\"i\":{\"dtype\":\"I64\",\"shape\":[1,1,1,1,1,1,1,2],\"data_offsets\":[4,20]},"
         "\"h\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]}}",
         20},
    };
    if (n >= COUNT(SEEDS)) return 0;
    uint64_t length = strlen(SEEDS[n].header);
    size_t   whole  = 8 + (size_t)length + SEEDS[n].buffer;
    PROMISE(whole <= capacity);
    memset(out, 0x3C, whole);
    memcpy(out, &length, 8);
    memcpy(out + 8, SEEDS[n].header, (size_t)length);
    return whole;
}
