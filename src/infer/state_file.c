/*
 * state_file.c - sequences of a carried state as a safetensors file, or as the bytes of one.
 *
 *     tensors    "memory.NAME" for each carried state, "logits" (B, V), "recent" (B, 64)
 *     metadata   lcsm_state_version "2", lcsm_model_sha256, lcsm_position, lcsm_state_xxh3
 *
 * Everything is checked before the first number is taken.
 */
#include "infer/state_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "format/safetensors.h"

static const char VERSION_KEY[] = "lcsm_state_version", VERSION[] = "2";
static const char MODEL_KEY[]    = "lcsm_model_sha256";
static const char POSITION_KEY[] = "lcsm_position";
static const char SUM_KEY[]      = "lcsm_state_xxh3";

enum { NAME_SIZE = 320, SUM_TEXT = 17 };

/* ---- what a file holds ------------------------------------------------------------------ */

/* The tensors of a part, pointing into it. */
typedef struct {
    lcsm_named_tensor *list;
    char (*names)[NAME_SIZE];
    size_t count;
} state_list;

static void state_list_free(state_list *l)
{
    free(l->list);
    free(l->names);
}

static lcsm_named_tensor memory_of(const lcsm_state_part *s, size_t entry, char name[NAME_SIZE])
{
    static const lcsm_element element[LCSM_DTYPE_COUNT] = {[LCSM_F32] = LCSM_ELEMENT_F32,
                                                           [LCSM_F64] = LCSM_ELEMENT_F64,
                                                           [LCSM_I32] = LCSM_ELEMENT_I32,
                                                           [LCSM_I64] = LCSM_ELEMENT_I64};
    const lcsm_state_entry   *e                         = &s->state->list[entry];
    lcsm_named_tensor         t                         = {.name    = name,
                                                           .element = element[e->dtype],
                                                           .rank    = (size_t)e->shape.rank,
                                                           .data    = lcsm_state_row(s->state, entry, s->row)};
    (void)snprintf(name, NAME_SIZE, "memory.%s", e->name);
    for (int j = 0; j < e->shape.rank; j++) t.shape[j] = (size_t)e->shape.dim[j];
    t.shape[0] = s->batch;
    return t;
}

static lcsm_status list_state(state_list *l, const lcsm_state_part *s, lcsm_error *err)
{
    size_t count = s->state->count;
    l->list      = calloc(count + 2, sizeof *l->list);
    l->names     = calloc(count + 1, sizeof *l->names);
    if (l->list == NULL || l->names == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the names of a state");
    for (size_t j = 0; j < count; j++) l->list[j] = memory_of(s, j, l->names[j]);
    l->list[count]     = (lcsm_named_tensor){.name    = "logits",
                                             .element = LCSM_ELEMENT_F32,
                                             .rank    = 2,
                                             .shape   = {s->batch, s->vocab},
                                             .data    = s->logits};
    l->list[count + 1] = (lcsm_named_tensor){.name    = "recent",
                                             .element = LCSM_ELEMENT_I32,
                                             .rank    = 2,
                                             .shape   = {s->batch, LCSM_STATE_RECENT},
                                             .data    = s->recent};
    l->count           = count + 2;
    return LCSM_OK;
}

/* The checksum of the position and of all numbers: the part's, or those of a file that has been
 * found to hold the same tensors. */
static void sum_state(char text[SUM_TEXT], const state_list *l, uint64_t position,
                      const lcsm_safetensors *f)
{
    uint64_t sum = position;
    for (size_t j = 0; j < l->count; j++) {
        lcsm_named_tensor t = l->list[j];
        size_t            count, bytes = 0;
        if (f != NULL) (void)lcsm_safetensors_find(&t, f, l->list[j].name);
        (void)lcsm_named_tensor_measure(&t, &count, &bytes);
        sum = XXH3_64bits_withSeed(t.data, bytes, sum);
    }
    (void)snprintf(text, SUM_TEXT, "%016" PRIx64, sum);
}

/* The hash of the model, which is taken once. */
static lcsm_status hash_model(const lcsm_state_part *s, lcsm_error *err)
{
    return s->sha256[0] != 0 ? LCSM_OK : lcsm_model_sha256(s->sha256, s->model, err);
}

/* ---- saving ----------------------------------------------------------------------------- */

/* Where the bytes of a state go. With a NULL `to` they are only counted. */
typedef struct {
    unsigned char *to;
    size_t         used, room;
} memory;

static lcsm_status to_memory(void *user, const void *data, size_t size, lcsm_error *err)
{
    memory *m = user;
    (void)err;
    if (m->to != NULL && size > 0 && m->used + size <= m->room) memcpy(m->to + m->used, data, size);
    m->used += size;
    return LCSM_OK;
}

/* To memory, or with a NULL m to a file. Where bytes are only counted, nothing is hashed: the
 * checksums have the same length whatever they are. */
static lcsm_status store(const lcsm_state_part *s, const char *path, memory *m, lcsm_error *err)
{
    lcsm_status st;
    state_list  l     = {0};
    bool        count = m != NULL && m->to == NULL;
    char        none[LCSM_SHA256_TEXT], position[24], sum[SUM_TEXT];
    LCSM_TRY(list_state(&l, s, err));
    (void)snprintf(none, sizeof none, "%0*d", LCSM_SHA256_TEXT - 1, 0);
    if (!count) LCSM_TRY(hash_model(s, err));
    (void)snprintf(position, sizeof position, "%" PRIu64, *s->position);
    (void)snprintf(sum, sizeof sum, "%0*d", SUM_TEXT - 1, 0);
    if (!count) sum_state(sum, &l, *s->position, NULL);
    lcsm_safetensors_pair pairs[] = {{VERSION_KEY, VERSION},
                                     {MODEL_KEY, count ? none : s->sha256},
                                     {POSITION_KEY, position},
                                     {SUM_KEY, sum}};
    LCSM_TRY(m == NULL
                 ? lcsm_safetensors_save(path, l.list, l.count, pairs, COUNT(pairs), err)
                 : lcsm_safetensors_write(to_memory, m, l.list, l.count, pairs, COUNT(pairs), err));
cleanup:
    state_list_free(&l);
    return st;
}

lcsm_status lcsm_state_part_save(const lcsm_state_part *s, const char *path, lcsm_error *err)
{
    return store(s, path, NULL, err);
}

lcsm_status lcsm_state_part_write(const lcsm_state_part *s, void *buffer, size_t *size,
                                  lcsm_error *err)
{
    memory      need = {0}, m = {.to = buffer, .room = *size};
    lcsm_status st = store(s, NULL, &need, err);
    if (st != LCSM_OK) return st;
    *size = need.used;
    if (buffer == NULL) return LCSM_OK;
    if (m.room < need.used)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the buffer has %zu bytes, the state needs %zu",
                         m.room, need.used);
    return store(s, NULL, &m, err);
}

/* ---- loading ---------------------------------------------------------------------------- */

static lcsm_status check_kind(const lcsm_safetensors *f, const lcsm_state_part *s, lcsm_error *err)
{
    const char *version = lcsm_safetensors_metadata(f, VERSION_KEY);
    const char *model   = lcsm_safetensors_metadata(f, MODEL_KEY);
    if (version == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s is not a saved state: it has no %s", f->label,
                         VERSION_KEY);
    if (strcmp(version, VERSION) != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %s is \"%.20s\"; expected \"%s\"", f->label,
                         VERSION_KEY, version, VERSION);
    lcsm_status st = hash_model(s, err);
    if (st != LCSM_OK) return st;
    if (model == NULL || strcmp(model, s->sha256) != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s was saved with another model: its SHA-256 is %.12s..., this one's is "
                         "%.12s...",
                         f->label, model != NULL ? model : "missing", s->sha256);
    return LCSM_OK;
}

static lcsm_status read_position(uint64_t *out, const lcsm_safetensors *f, lcsm_error *err)
{
    const char *text = lcsm_safetensors_metadata(f, POSITION_KEY);
    char       *end  = NULL;
    errno            = 0;
    if (text != NULL && *text >= '0' && *text <= '9') *out = strtoull(text, &end, 10);
    if (end == NULL || *end != '\0' || errno != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %s is \"%.24s\"; expected a whole number",
                         f->label, POSITION_KEY, text != NULL ? text : "missing");
    return LCSM_OK;
}

static lcsm_status check_tensor(const lcsm_safetensors *f, const lcsm_named_tensor *want,
                                lcsm_error *err)
{
    lcsm_named_tensor have;
    char              a[LCSM_NAMED_TEXT] = "missing", b[LCSM_NAMED_TEXT];
    bool              there              = lcsm_safetensors_find(&have, f, want->name);
    if (there && have.element == want->element && have.rank == want->rank
        && memcmp(have.shape, want->shape, have.rank * sizeof have.shape[0]) == 0)
        return LCSM_OK;
    if (there) (void)lcsm_named_tensor_text(a, &have);
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: tensor %.80s is %s; expected %s", f->label,
                     want->name, a, lcsm_named_tensor_text(b, want));
}

static lcsm_status check_recent(const lcsm_safetensors *f, size_t vocab, lcsm_error *err)
{
    lcsm_named_tensor t;
    int32_t           token;
    (void)lcsm_safetensors_find(&t, f, "recent");
    for (size_t j = 0; j < t.shape[0] * t.shape[1]; j++) {
        memcpy(&token, (const char *)t.data + j * sizeof token, sizeof token);
        if (token < 0 || (size_t)token >= vocab)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: token %d in recent; expected 0 to %zu",
                             f->label, (int)token, vocab - 1);
    }
    return LCSM_OK;
}

static lcsm_status check_file(const lcsm_safetensors *f, const lcsm_state_part *s,
                              const state_list *l, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(check_kind(f, s, err));
    if (f->count != l->count)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s has %zu tensors; expected %zu", f->label,
                         f->count, l->count);
    for (size_t j = 0; j < l->count; j++) LCSM_OR_RETURN(check_tensor(f, &l->list[j], err));
    LCSM_OR_RETURN(check_recent(f, s->vocab, err));
    LCSM_OR_RETURN(lcsm_safetensors_check_finite(f, err));
    return st;
}

static lcsm_status check_sum(const lcsm_safetensors *f, const state_list *l, uint64_t position,
                             lcsm_error *err)
{
    const char *have = lcsm_safetensors_metadata(f, SUM_KEY);
    char        want[SUM_TEXT];
    sum_state(want, l, position, f);
    if (have != NULL && strcmp(have, want) == 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s is damaged: %s is %.20s; expected %s", f->label,
                     SUM_KEY, have != NULL ? have : "missing", want);
}

/* The file's numbers over the part's own. */
static void take(const lcsm_safetensors *f, const lcsm_named_tensor *own, void *to)
{
    lcsm_named_tensor t;
    size_t            count, bytes = 0;
    (void)lcsm_safetensors_find(&t, f, own->name);
    (void)lcsm_named_tensor_measure(&t, &count, &bytes);
    memcpy(to, t.data, bytes);
}

static lcsm_status restore(const lcsm_state_part *s, const lcsm_safetensors *f, lcsm_error *err)
{
    lcsm_status st;
    state_list  l        = {0};
    uint64_t    position = 0;
    LCSM_TRY(list_state(&l, s, err));
    LCSM_TRY(check_file(f, s, &l, err));
    LCSM_TRY(read_position(&position, f, err));
    LCSM_TRY(check_sum(f, &l, position, err));
    for (size_t j = 0; j < s->state->count; j++)
        take(f, &l.list[j], lcsm_state_row(s->state, j, s->row));
    take(f, &l.list[l.count - 2], s->logits);
    take(f, &l.list[l.count - 1], s->recent);
    *s->position = position;
cleanup:
    state_list_free(&l);
    return st;
}

lcsm_status lcsm_state_part_load(const lcsm_state_part *s, const char *path, lcsm_error *err)
{
    lcsm_safetensors f  = {0};
    lcsm_status      st = lcsm_safetensors_open(&f, path, 0, err);
    if (st == LCSM_OK) st = restore(s, &f, err);
    lcsm_safetensors_close(&f);
    return st;
}

lcsm_status lcsm_state_part_read(const lcsm_state_part *s, const void *buffer, size_t size,
                                 lcsm_error *err)
{
    lcsm_safetensors f  = {0};
    lcsm_status      st = lcsm_safetensors_parse(&f, "the buffer", buffer, size, 0, err);
    if (st == LCSM_OK) st = restore(s, &f, err);
    lcsm_safetensors_close(&f);
    return st;
}
