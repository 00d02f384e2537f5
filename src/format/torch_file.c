/* torch_file.c - tensors of the pickle with the numbers of the archive. */
#include "format/torch_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "format/json_doc.h"
#include "format/json_scan.h"
#include "format/pickle.h"
#include "format/zip.h"

enum { NAME_BYTES = 512, PREFIX = 200 };

typedef struct {
    lcsm_torch_file *out;
    const char      *label;
    lcsm_zip         zip;
    lcsm_pickle      pickle;
    char             prefix[PREFIX + 8]; /* "NAME/" */
    size_t           prefix_size;
    size_t           letters; /* of the names so far */
    size_t           room;    /* bytes that copies may still have */
} reading;

typedef lcsm_pickle_value value;

/* ---- the archive ------------------------------------------------------------------------ */

static bool ends_with(const lcsm_zip_member *m, const char *text)
{
    size_t n = strlen(text);
    return m->name_size >= n && memcmp(m->name + m->name_size - n, text, n) == 0;
}

static const lcsm_zip_member *member(const reading *r, const char *folder, const char *key,
                                     size_t size)
{
    char   name[PREFIX + 8 + NAME_BYTES];
    size_t n = r->prefix_size, f = strlen(folder);
    if (n + f + size > sizeof name) return NULL;
    memcpy(name, r->prefix, n);
    memcpy(name + n, folder, f); /* with its size. NOLINT(bugprone-not-null-terminated-result) */
    if (size > 0) memcpy(name + n + f, key, size);
    return lcsm_zip_find(&r->zip, name, n + f + size);
}

/* The pickle, whose folder is that of all members. */
static const lcsm_zip_member *find_pickle(reading *r)
{
    for (size_t j = 0; j < r->zip.count; j++) {
        const lcsm_zip_member *m = &r->zip.members[j];
        if (!ends_with(m, "/data.pkl") || m->name_size > PREFIX) continue;
        r->prefix_size = m->name_size - strlen("data.pkl");
        memcpy(r->prefix, m->name, r->prefix_size);
        return m;
    }
    return NULL;
}

static lcsm_status read_archive(reading *r, const unsigned char *data, size_t size, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_zip_parse(&r->zip, r->label, data, size, err));
    const lcsm_zip_member *pickle = find_pickle(r);
    if (pickle == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%.120s is a zip archive without data.pkl, so not a file of PyTorch",
                         r->label);
    const lcsm_zip_member *order = member(r, "byteorder", NULL, 0);
    if (order != NULL && (order->size != 6 || memcmp(order->data, "little", 6) != 0))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%.120s: its numbers are not little-endian",
                         r->label);
    return lcsm_pickle_parse(&r->pickle, r->label, pickle->data, pickle->size, err);
}

/* ---- tensors ---------------------------------------------------------------------------- */

static lcsm_status bad(const reading *r, const char *name, lcsm_error *err, const char *what)
{
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%.100s: tensor %.60s %s", r->label, name, what);
}

/* Non-negative integers; false if there are too many, or others. */
static bool sizes(size_t out[LCSM_NAMED_RANK], size_t *count, const value *list)
{
    *count = 0;
    for (const value *v = list->first; v != NULL; v = v->next) {
        if (v->kind != LCSM_PICKLE_INT || v->number < 0 || *count == LCSM_NAMED_RANK) return false;
        out[(*count)++] = (size_t)v->number;
    }
    return true;
}

/* Whether the numbers lie in order; *last is the place of the last one. */
static bool in_order(const lcsm_named_tensor *t, const size_t *stride, bool *dense, size_t *last)
{
    size_t expected = 1;
    *dense          = true;
    *last           = 0;
    for (size_t j = t->rank; j-- > 0;) {
        size_t reach;
        if (t->shape[j] == 0) return true;
        if (t->shape[j] > 1 && stride[j] != expected) *dense = false;
        if (!lcsm_size_mul(t->shape[j] - 1, stride[j], &reach) || !lcsm_size_add(*last, reach, last)
            || !lcsm_size_mul(expected, t->shape[j], &expected))
            return false;
    }
    return true;
}

/* The numbers in order, number by number. */
static lcsm_status copy_strided(lcsm_torch_file *out, lcsm_named_tensor *t, const size_t *stride,
                                size_t count, lcsm_error *err)
{
    size_t         width = lcsm_element_bits(t->element) / 8, at[LCSM_NAMED_RANK] = {0};
    unsigned char *to = malloc(count * width + 1);
    if (to == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for tensor %.60s", t->name);
    out->copies[out->copy_count++] = to;
    for (size_t n = 0; n < count; n++, to += width) {
        size_t place = 0;
        for (size_t j = 0; j < t->rank; j++) place += at[j] * stride[j];
        memcpy(to, (const unsigned char *)t->data + place * width, width);
        for (size_t j = t->rank; j-- > 0 && ++at[j] == t->shape[j];) at[j] = 0;
    }
    t->data = out->copies[out->copy_count - 1];
    return LCSM_OK;
}

/* A tensor of the pickle, of this name, with its numbers. */
static lcsm_status read_tensor(reading *r, lcsm_named_tensor *t, const value *v, lcsm_error *err)
{
    const value *storage = v->first, *shape = storage->next->next, *strides = shape->next;
    size_t       stride[LCSM_NAMED_RANK], rank, count, bytes, last, need;
    bool         dense;
    t->element = storage->element;
    if (!sizes(t->shape, &t->rank, shape) || !sizes(stride, &rank, strides) || rank != t->rank)
        return bad(r, t->name, err, "has sizes or strides that do not fit");
    const lcsm_zip_member *m = member(r, "data/", storage->text, storage->size);
    if (m == NULL) return bad(r, t->name, err, "has a storage that is not in the archive");
    size_t width = lcsm_element_bits(t->element) / 8;
    if (!lcsm_named_tensor_measure(t, &count, &bytes) || !in_order(t, stride, &dense, &last)
        || !lcsm_size_add(last, (size_t)v->number, &need)
        || (count > 0 && (m->size / width == 0 || need > m->size / width - 1)) || bytes > m->size)
        return bad(r, t->name, err, "extends beyond its storage");
    t->data = count > 0 ? m->data + (size_t)v->number * width : m->data;
    if (dense) return LCSM_OK;
    if (bytes > r->room) return bad(r, t->name, err, "shares its storage too often");
    r->room -= bytes;
    return copy_strided(r->out, t, stride, count, err);
}

static lcsm_status keep_name(reading *r, const value *key, const char **name, lcsm_error *err)
{
    if (key->size == 0 || key->size > NAME_BYTES || memchr(key->text, 0, key->size) != NULL
        || lcsm_utf8_check(key->text, key->size) != key->size)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%.120s: the name of a tensor is not UTF-8 of 1 to %d bytes", r->label,
                         NAME_BYTES);
    char *own = r->out->names + r->letters;
    memcpy(own, key->text, key->size);
    own[key->size] = '\0';
    r->letters += key->size + 1;
    *name = own;
    return LCSM_OK;
}

/* The member of a dictionary under a name, if that is a dictionary. */
static const value *inner(const value *dict, const char *name)
{
    for (const value *k = dict->first; k != NULL; k = k->next->next)
        if (k->kind == LCSM_PICKLE_TEXT && k->size == strlen(name)
            && memcmp(k->text, name, k->size) == 0 && k->next->kind == LCSM_PICKLE_DICT)
            return k->next;
    return NULL;
}

/* The dictionary with the tensors. */
static const value *dictionary(const reading *r)
{
    const value *v = r->pickle.root;
    if (v->kind != LCSM_PICKLE_DICT) return NULL;
    const value *own = inner(v, "state_dict");
    if (own == NULL) own = inner(v, "model");
    return own != NULL ? own : v;
}

static bool is_tensor(const value *key)
{
    return key->kind == LCSM_PICKLE_TEXT && key->next->kind == LCSM_PICKLE_TENSOR;
}

static lcsm_status reserve(reading *r, const value *dict, lcsm_error *err)
{
    size_t count = 0, letters = 0;
    for (const value *k = dict->first; k != NULL; k = k->next->next)
        if (is_tensor(k)) {
            count++;
            letters += k->size + 1;
        }
    if (count == 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%.120s: its dictionary has no tensors", r->label);
    r->out->list   = calloc(count, sizeof *r->out->list);
    r->out->copies = calloc(count, sizeof *r->out->copies);
    r->out->names  = malloc(letters);
    if (r->out->list != NULL && r->out->copies != NULL && r->out->names != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "%.120s: not enough memory for %zu names", r->label,
                     count);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const lcsm_named_tensor *)a)->name, ((const lcsm_named_tensor *)b)->name);
}

static lcsm_status read_tensors(reading *r, lcsm_error *err)
{
    lcsm_torch_file *out  = r->out;
    const value     *dict = dictionary(r);
    if (dict == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%.120s: its pickle is not a dictionary of tensors",
                         r->label);
    LCSM_OR_RETURN(reserve(r, dict, err));
    for (const value *k = dict->first; k != NULL; k = k->next->next) {
        lcsm_named_tensor *t = &out->list[out->count];
        if (!is_tensor(k)) continue;
        LCSM_OR_RETURN(keep_name(r, k, &t->name, err));
        LCSM_OR_RETURN(read_tensor(r, t, k->next, err));
        out->count++;
    }
    qsort(out->list, out->count, sizeof *out->list, by_name);
    for (size_t j = 1; j < out->count; j++)
        if (by_name(&out->list[j - 1], &out->list[j]) == 0)
            return bad(r, out->list[j].name, err, "is there twice");
    return LCSM_OK;
}

lcsm_status lcsm_torch_file_parse(lcsm_torch_file *out, const char *label,
                                  const unsigned char *data, size_t size, lcsm_error *err)
{
    reading     r = {.out = out, .label = label, .room = size};
    lcsm_status st;
    *out = (lcsm_torch_file){0};
    LCSM_TRY(read_archive(&r, data, size, err));
    LCSM_TRY(read_tensors(&r, err));
cleanup:
    lcsm_zip_free(&r.zip);
    lcsm_pickle_free(&r.pickle);
    if (st != LCSM_OK) lcsm_torch_file_close(out);
    return st;
}

lcsm_status lcsm_torch_file_open(lcsm_torch_file *out, const char *path, lcsm_error *err)
{
    lcsm_status st;
    lcsm_file   file = {0};
    *out             = (lcsm_torch_file){0};
    LCSM_TRY(lcsm_file_map(&file, path, err));
    LCSM_TRY(lcsm_torch_file_parse(out, path, file.data, file.size, err));
    out->file = file;
    file      = (lcsm_file){0};
cleanup:
    lcsm_file_close(&file);
    return st;
}

void lcsm_torch_file_close(lcsm_torch_file *t)
{
    for (size_t j = 0; j < t->copy_count; j++) free(t->copies[j]);
    free(t->copies);
    free(t->list);
    free(t->names);
    lcsm_file_close(&t->file);
    *t = (lcsm_torch_file){0};
}

/* ---- folders ---------------------------------------------------------------------------- */

#define ONE   "pytorch_model.bin"
#define INDEX "pytorch_model.bin.index.json"

static bool holds(const char *folder, const char *name)
{
    char path[LCSM_PATH_MAX];
    return lcsm_path_join(path, folder, name, NULL) == LCSM_OK && lcsm_path_exists(path);
}

bool lcsm_torch_folder_is(const char *folder)
{
    return holds(folder, ONE) || holds(folder, INDEX);
}

static lcsm_status open_one(lcsm_torch_folder *f, const char *folder, const char *name,
                            lcsm_error *err)
{
    char             path[LCSM_PATH_MAX];
    lcsm_torch_file *more = realloc(f->files, (f->file_count + 1) * sizeof *more);
    if (more == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for an index");
    f->files = more;
    LCSM_OR_RETURN(lcsm_path_join(path, folder, name, err));
    LCSM_OR_RETURN(lcsm_torch_file_open(&f->files[f->file_count], path, err));
    f->count += f->files[f->file_count++].count;
    return LCSM_OK;
}

/* A name without a folder. */
static bool is_bare(const char *name)
{
    return *name != '\0' && strpbrk(name, "/\\") == NULL && strcmp(name, "..") != 0;
}

/* Each file that the map names, once. */
static lcsm_status open_map(lcsm_torch_folder *f, const char *folder, const lcsm_json *map,
                            lcsm_error *err)
{
    json_t     *seen = json_object();
    lcsm_status st   = LCSM_OK;
    for (lcsm_json m = lcsm_json_first(map); m.value != NULL; m = lcsm_json_next(&m)) {
        const char *name = NULL;
        LCSM_TRY(lcsm_json_get_text(&name, m, err));
        if (json_object_get(seen, name) != NULL) continue;
        if (!is_bare(name)) LCSM_TRY(lcsm_json_fail(&m, err, "the name of a file in this folder"));
        if (f->file_count == LCSM_TORCH_FILES)
            LCSM_TRY(lcsm_json_fail(&m, err, "at most %d files", LCSM_TORCH_FILES));
        LCSM_TRY(open_one(f, folder, name, err));
        (void)json_object_set_new(seen, name, json_true());
    }
cleanup:
    json_decref(seen);
    return st;
}

lcsm_status lcsm_torch_folder_open(lcsm_torch_folder *out, const char *folder, lcsm_error *err)
{
    char          path[LCSM_PATH_MAX];
    lcsm_json_doc doc = {0};
    lcsm_status   st;
    *out = (lcsm_torch_folder){0};
    if (holds(folder, ONE)) LCSM_TRY(open_one(out, folder, ONE, err));
    else {
        lcsm_json map;
        LCSM_TRY(lcsm_path_join(path, folder, INDEX, err));
        LCSM_TRY(lcsm_json_doc_read(&doc, path, LCSM_JSON_LARGE_SIZE, err));
        lcsm_json root = lcsm_json_root(&doc);
        LCSM_TRY(lcsm_json_get_object(&map, lcsm_json_need(&root, "weight_map"), err));
        LCSM_TRY(open_map(out, folder, &map, err));
    }
cleanup:
    lcsm_json_doc_free(&doc);
    if (st != LCSM_OK) lcsm_torch_folder_close(out);
    return st;
}

void lcsm_torch_folder_close(lcsm_torch_folder *f)
{
    for (size_t j = 0; j < f->file_count; j++) lcsm_torch_file_close(&f->files[j]);
    free(f->files);
    *f = (lcsm_torch_folder){0};
}

lcsm_named_tensor lcsm_torch_folder_at(const lcsm_torch_folder *f, size_t row)
{
    size_t j = 0;
    for (; row >= f->files[j].count; j++) row -= f->files[j].count;
    lcsm_named_tensor    t    = f->files[j].list[row];
    const lcsm_file     *file = &f->files[j].file;
    const unsigned char *at   = t.data;
    if (at >= file->data && at < file->data + file->size) t.file = file;
    return t;
}
