/* safetensors_write.c - the writer: a header in order, padded, and the tensors as they are. */
#include <stdlib.h>
#include <string.h>

#include <lcsm/lcsm.h>

#include "base/size.h"
#include "format/json_scan.h"
#include "format/json_write.h"
#include "format/safetensors.h"

/* A tensor and where it goes. */
typedef struct {
    const lcsm_named_tensor *tensor;
    size_t                   begin, end;
} placed;

static int in_order(const void *a, const void *b)
{
    const lcsm_named_tensor *x = ((const placed *)a)->tensor, *y = ((const placed *)b)->tensor;
    unsigned                 x_bits = lcsm_element_bits(x->element);
    unsigned                 y_bits = lcsm_element_bits(y->element);
    if (x_bits != y_bits) return x_bits > y_bits ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const placed *)a)->tensor->name, ((const placed *)b)->tensor->name);
}

static lcsm_status check_tensor(const lcsm_named_tensor *t, size_t *bytes, lcsm_error *err)
{
    char   text[LCSM_NAMED_TEXT];
    size_t size = strlen(t->name), count;
    if (size < 1 || size > LCSM_SAFETENSORS_NAME || strcmp(t->name, "__metadata__") == 0
        || lcsm_utf8_check(t->name, size) != size)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "\"%.80s\" is not a valid tensor name; expected 1 to %d bytes of UTF-8",
                         t->name, LCSM_SAFETENSORS_NAME);
    if (t->rank > LCSM_NAMED_RANK)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%.80s has rank %zu; expected at most %d", t->name,
                         t->rank, LCSM_NAMED_RANK);
    if (!lcsm_named_tensor_measure(t, &count, bytes))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "%.60s is %.80s, whose size in bytes is not defined", t->name,
                         lcsm_named_tensor_text(text, t));
    return LCSM_OK;
}

/* Fills list with the tensors in the order of the file. */
static lcsm_status place_all(placed *list, const lcsm_named_tensor *tensors, size_t count,
                             lcsm_error *err)
{
    size_t end = 0, bytes = 0;
    for (size_t j = 0; j < count; j++) {
        lcsm_status st = check_tensor(&tensors[j], &bytes, err);
        if (st != LCSM_OK) return st;
        list[j] = (placed){.tensor = &tensors[j], .end = bytes};
    }
    qsort(list, count, sizeof *list, by_name);
    for (size_t j = 1; j < count; j++)
        if (by_name(&list[j - 1], &list[j]) == 0)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "two tensors have the name %.80s",
                             list[j].tensor->name);
    qsort(list, count, sizeof *list, in_order);
    for (size_t j = 0; j < count; j++) {
        list[j].begin = end;
        if (!lcsm_size_add(end, list[j].end, &end))
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the total size of the tensors is too large");
        list[j].end = end;
    }
    return LCSM_OK;
}

static lcsm_status check_metadata(const lcsm_safetensors_pair *pairs, size_t count, lcsm_error *err)
{
    for (size_t j = 0; j < count; j++)
        for (size_t k = 0; k < j; k++)
            if (strcmp(pairs[j].key, pairs[k].key) == 0)
                return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the metadata contain %.80s twice",
                                 pairs[j].key);
    return LCSM_OK;
}

static void put_metadata(lcsm_json_writer *w, const lcsm_safetensors_pair *pairs, size_t count)
{
    static const lcsm_safetensors_pair ALWAYS[] = {{"format", "pt"},
                                                   {"lcsm_version", LCSM_VERSION}};
    lcsm_json_open_object(w, "__metadata__");
    for (size_t j = 0; j < COUNT(ALWAYS); j++) {
        size_t given = 0;
        while (given < count && strcmp(pairs[given].key, ALWAYS[j].key) != 0) given++;
        if (given == count) lcsm_json_put_text(w, ALWAYS[j].key, ALWAYS[j].value);
    }
    for (size_t j = 0; j < count; j++) lcsm_json_put_text(w, pairs[j].key, pairs[j].value);
    lcsm_json_close(w);
}

static void put_tensor(lcsm_json_writer *w, const placed *p)
{
    lcsm_json_open_object(w, p->tensor->name);
    lcsm_json_put_text(w, "dtype", lcsm_element_name(p->tensor->element));
    lcsm_json_open_array(w, "shape");
    for (size_t j = 0; j < p->tensor->rank; j++) lcsm_json_put_size(w, NULL, p->tensor->shape[j]);
    lcsm_json_close(w);
    lcsm_json_open_array(w, "data_offsets");
    lcsm_json_put_size(w, NULL, p->begin);
    lcsm_json_put_size(w, NULL, p->end);
    lcsm_json_close(w);
    lcsm_json_close(w);
}

/* The header with its length before it and spaces behind, so that the buffer is aligned. */
static lcsm_status write_header(lcsm_write_fn *write, void *to, lcsm_json_writer *w,
                                lcsm_error *err)
{
    static const char SPACES[LCSM_ALIGN + 1] =
        "                                                                ";
    size_t used = sizeof(uint64_t) + w->text.size, whole = 0;
    if (!lcsm_round_up(used, LCSM_ALIGN, &whole) || whole > LCSM_SAFETENSORS_HEADER)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a header of %zu bytes; expected at most %d",
                         w->text.size, LCSM_SAFETENSORS_HEADER);
    uint64_t length = whole - sizeof length;
    LCSM_OR_RETURN(write(to, &length, sizeof length, err));
    LCSM_OR_RETURN(write(to, w->text.text, w->text.size, err));
    return write(to, SPACES, whole - used, err);
}

lcsm_status lcsm_safetensors_write(lcsm_write_fn *write, void *to, const lcsm_named_tensor *tensors,
                                   size_t count, const lcsm_safetensors_pair *metadata,
                                   size_t metadata_count, lcsm_error *err)
{
    lcsm_status      st   = LCSM_OK;
    lcsm_json_writer w    = lcsm_json_writer_compact();
    placed          *list = NULL;
    if (count > LCSM_SAFETENSORS_TENSORS)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%zu tensors for one file; expected at most %d",
                         count, LCSM_SAFETENSORS_TENSORS);
    list = calloc(count + 1, sizeof *list);
    if (list == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a list of %zu tensors",
                         count);
    LCSM_TRY(check_metadata(metadata, metadata_count, err));
    LCSM_TRY(place_all(list, tensors, count, err));
    lcsm_json_open_object(&w, NULL);
    put_metadata(&w, metadata, metadata_count);
    for (size_t j = 0; j < count; j++) put_tensor(&w, &list[j]);
    lcsm_json_close(&w);
    LCSM_TRY(lcsm_json_writer_finish(&w, err));
    LCSM_TRY(write_header(write, to, &w, err));
    for (size_t j = 0; j < count; j++)
        LCSM_TRY(write(to, list[j].tensor->data, list[j].end - list[j].begin, err));
cleanup:
    lcsm_json_writer_free(&w);
    free(list);
    return st;
}

static lcsm_status to_file(void *to, const void *data, size_t size, lcsm_error *err)
{
    return lcsm_file_writer_write(to, data, size, err);
}

lcsm_status lcsm_safetensors_save(const char *path, const lcsm_named_tensor *tensors, size_t count,
                                  const lcsm_safetensors_pair *metadata, size_t metadata_count,
                                  lcsm_error *err)
{
    lcsm_status      st = LCSM_OK;
    lcsm_file_writer file;
    LCSM_TRY(lcsm_file_writer_open(&file, path, err));
    LCSM_TRY(lcsm_safetensors_write(to_file, &file, tensors, count, metadata, metadata_count, err));
    LCSM_TRY(lcsm_file_writer_commit(&file, err));
cleanup:
    lcsm_file_writer_close(&file);
    return st;
}
