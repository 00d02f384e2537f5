/*
 * state_store.c - kept states: a list in the order of their use, in memory or over a folder.
 */
#include "serve/state_store.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "format/json_doc.h"

static const char PREFIX[] = "state-";
enum { PREFIX_SIZE = sizeof PREFIX - 1, DIGITS = 32, STATE_MOST = 1 << 30 };

typedef struct entry {
    struct entry    *next, *prev; /* a ring: the last used first */
    lcsm_state_facts f;
    void            *bytes; /* NULL: in the folder */
} entry;

struct lcsm_state_store {
    pthread_mutex_t lock;
    char           *folder; /* NULL: none */
    int             folder_lock;
    size_t          budget, bytes, count;
    uint64_t        evicted;
    entry           ring;
};

bool lcsm_state_id_is_valid(const char *id)
{
    return strlen(id) == PREFIX_SIZE + DIGITS && strncmp(id, PREFIX, PREFIX_SIZE) == 0
        && strspn(id + PREFIX_SIZE, "0123456789abcdef") == DIGITS;
}

static void make_id(char id[LCSM_STATE_ID])
{
    unsigned char random[DIGITS / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        memset(random, 0, sizeof random);
    int at = snprintf(id, LCSM_STATE_ID, "%s", PREFIX);
    for (size_t j = 0; j < sizeof random; j++, at += 2)
        (void)snprintf(id + at, LCSM_STATE_ID - (size_t)at, "%02x", random[j]);
}

/* ---- files ------------------------------------------------------------------------------ */

static lcsm_status path_of(char out[LCSM_PATH_MAX], const lcsm_state_store *s, const char *id,
                           const char *suffix, lcsm_error *err)
{
    char name[LCSM_STATE_ID + 16];
    (void)snprintf(name, sizeof name, "%s%s", id, suffix);
    return lcsm_path_join(out, s->folder, name, err);
}

static void remove_files(const lcsm_state_store *s, const char *id)
{
    char path[LCSM_PATH_MAX];
    if (path_of(path, s, id, ".json", NULL) == LCSM_OK) (void)unlink(path);
    if (path_of(path, s, id, ".state", NULL) == LCSM_OK) (void)unlink(path);
}

json_t *lcsm_state_json(const lcsm_state_facts *f)
{
    return json_pack("{s:s, s:s, s:s, s:s?, s:I, s:I, s:f}", "id", f->id, "object", "state",
                     "model", f->model, "parent", f->parent[0] != '\0' ? f->parent : NULL,
                     "position", (json_int_t)f->position, "bytes", (json_int_t)f->bytes, "created",
                     f->created);
}

/* The facts as ID.json has them. */
static json_t *document(const lcsm_state_facts *f)
{
    json_t *all = lcsm_state_json(f), *list = json_array();
    for (size_t j = 0; f->tokens != NULL && j < f->token_count; j++)
        (void)json_array_append_new(list, json_integer(f->tokens[j]));
    if (f->tokens != NULL) (void)json_object_set(all, "tokens", list);
    (void)json_object_set_new(all, "prompt_tokens", json_integer((json_int_t)f->prompt_count));
    json_decref(list);
    return all;
}

static lcsm_status write_files(const lcsm_state_store *s, const lcsm_state_facts *f,
                               const void *bytes, lcsm_error *err)
{
    char    path[LCSM_PATH_MAX];
    json_t *facts = document(f);
    char   *text  = facts != NULL ? json_dumps(facts, JSON_COMPACT) : NULL;
    json_decref(facts);
    lcsm_status st = path_of(path, s, f->id, ".state", err);
    if (text == NULL) st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to keep a state");
    if (st == LCSM_OK) st = lcsm_file_write_atomic(path, bytes, f->bytes, err);
    if (st == LCSM_OK) st = path_of(path, s, f->id, ".json", err);
    if (st == LCSM_OK) st = lcsm_file_write_atomic(path, text, strlen(text), err);
    free(text);
    if (st != LCSM_OK) remove_files(s, f->id);
    return st;
}

static lcsm_status read_tokens(lcsm_state_facts *f, const lcsm_json *root, lcsm_error *err)
{
    lcsm_json   list;
    lcsm_status st = LCSM_OK;
    if (!lcsm_json_has(root, "tokens")) return LCSM_OK;
    LCSM_OR_RETURN(
        lcsm_json_get_array(&list, lcsm_json_may(root, "tokens"), 0, LCSM_STATE_TOKENS, err));
    f->token_count = lcsm_json_count(&list);
    f->tokens      = calloc(f->token_count + 1, sizeof *f->tokens);
    if (f->tokens == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a state");
    for (size_t j = 0; st == LCSM_OK && j < f->token_count; j++) {
        int64_t token = 0;
        st            = lcsm_json_get_int(&token, lcsm_json_item(&list, j), 0, INT32_MAX, err);
        f->tokens[j]  = (int32_t)token;
    }
    if (st == LCSM_OK)
        st = lcsm_json_get_size(&f->prompt_count, lcsm_json_need(root, "prompt_tokens"), 0,
                                f->token_count, err);
    return st;
}

static lcsm_status read_facts(lcsm_state_facts *f, const lcsm_json *root, lcsm_error *err)
{
    const char *model = "", *parent = "";
    int64_t     position = 0;
    LCSM_OR_RETURN(lcsm_json_get_text(&model, lcsm_json_need(root, "model"), err));
    if (lcsm_json_has(root, "parent"))
        LCSM_OR_RETURN(lcsm_json_get_text(&parent, lcsm_json_may(root, "parent"), err));
    LCSM_OR_RETURN(
        lcsm_json_get_int(&position, lcsm_json_need(root, "position"), 0, INT64_MAX, err));
    LCSM_OR_RETURN(
        lcsm_json_get_size(&f->bytes, lcsm_json_need(root, "bytes"), 1, STATE_MOST, err));
    LCSM_OR_RETURN(lcsm_json_get_real(&f->created, lcsm_json_need(root, "created"), 0, 1e15, err));
    f->position = (uint64_t)position;
    (void)snprintf(f->model, sizeof f->model, "%s", model);
    if (lcsm_state_id_is_valid(parent)) (void)snprintf(f->parent, sizeof f->parent, "%s", parent);
    return read_tokens(f, root, err);
}

/* ---- the ring --------------------------------------------------------------------------- */

static void unlink_entry(entry *e)
{
    e->next->prev = e->prev;
    e->prev->next = e->next;
}

static void link_first(lcsm_state_store *s, entry *e)
{
    e->next       = s->ring.next;
    e->prev       = &s->ring;
    e->next->prev = s->ring.next = e;
}

static void free_entry(entry *e)
{
    if (e == NULL) return;
    free(e->f.tokens);
    free(e->bytes);
    free(e);
}

static void drop_entry(lcsm_state_store *s, entry *e)
{
    unlink_entry(e);
    s->bytes -= e->f.bytes;
    s->count--;
    if (s->folder != NULL) remove_files(s, e->f.id);
    free_entry(e);
}

static void add_entry(lcsm_state_store *s, entry *e)
{
    link_first(s, e);
    s->bytes += e->f.bytes;
    s->count++;
    while (s->bytes > s->budget && s->ring.prev != e) {
        drop_entry(s, s->ring.prev); /* NOLINT(clang-analyzer-unix.Malloc): it left the ring */
        s->evicted++;
    }
}

static entry *find(const lcsm_state_store *s, const char *id)
{
    entry *e = s->ring.next;
    while (e != &s->ring && strcmp(e->f.id, id) != 0) e = e->next;
    return e == &s->ring ? NULL : e;
}

static lcsm_status none(const char *id, lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "there is no state %.40s (any more)", id);
}

/* ---- opening ---------------------------------------------------------------------------- */

/* When a state was last used, as the time of its facts. */
typedef struct {
    entry *e;
    double used;
} found;

static bool load_entry(const lcsm_state_store *s, const char *id, found *out)
{
    char          path[LCSM_PATH_MAX];
    struct stat   about, state;
    lcsm_json_doc doc = {0};
    entry        *e   = calloc(1, sizeof *e);
    bool          ok  = e != NULL && path_of(path, s, id, ".state", NULL) == LCSM_OK
           && stat(path, &state) == 0 && path_of(path, s, id, ".json", NULL) == LCSM_OK
           && stat(path, &about) == 0
           && lcsm_json_doc_read(&doc, path, LCSM_JSON_CONFIG_SIZE, NULL) == LCSM_OK;
    if (ok) {
        lcsm_json root = lcsm_json_root(&doc);
        (void)snprintf(e->f.id, sizeof e->f.id, "%s", id);
        ok   = read_facts(&e->f, &root, NULL) == LCSM_OK && (size_t)state.st_size == e->f.bytes;
        *out = (found){e, (double)about.st_mtim.tv_sec + 1e-9 * (double)about.st_mtim.tv_nsec};
    }
    lcsm_json_doc_free(&doc);
    if (!ok) free_entry(e);
    return ok;
}

static int by_use(const void *a, const void *b)
{
    const found *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

/* The id that a file's name begins with, if it is one of a state's files. */
static bool id_of(const char *name, char id[LCSM_STATE_ID], bool *facts)
{
    const char *dot = strrchr(name, '.');
    if (dot == NULL || (size_t)(dot - name) >= LCSM_STATE_ID) return false;
    (void)snprintf(id, LCSM_STATE_ID, "%.*s", (int)(dot - name), name);
    *facts = strcmp(dot, ".json") == 0;
    return lcsm_state_id_is_valid(id) && (*facts || strcmp(dot, ".state") == 0);
}

static lcsm_status load_folder(lcsm_state_store *s, size_t *skipped, lcsm_error *err)
{
    lcsm_folder_list list = {0};
    char             id[LCSM_STATE_ID];
    bool             facts;
    size_t           count = 0;
    LCSM_OR_RETURN(lcsm_folder_read(&list, s->folder, err));
    found *all = calloc(list.count + 1, sizeof *all);
    for (size_t j = 0; all != NULL && j < list.count; j++) {
        if (!id_of(list.names[j], id, &facts) || !facts) continue;
        if (load_entry(s, id, &all[count])) count++;
        else ++*skipped;
    }
    if (all != NULL) qsort(all, count, sizeof *all, by_use);
    for (size_t j = 0; all != NULL && j < count; j++) add_entry(s, all[j].e);
    for (size_t j = 0; all != NULL && j < list.count; j++) /* a state without facts is nothing */
        if (id_of(list.names[j], id, &facts) && !facts && find(s, id) == NULL) remove_files(s, id);
    lcsm_folder_list_free(&list);
    lcsm_status st = all != NULL ? LCSM_OK : lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory");
    free(all);
    return st;
}

static lcsm_status open_folder(lcsm_state_store *s, const char *folder, size_t *skipped,
                               lcsm_error *err)
{
    s->folder = strdup(folder);
    if (s->folder == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for states");
    LCSM_OR_RETURN(lcsm_folder_make(folder, err));
    LCSM_OR_RETURN(lcsm_folder_lock(&s->folder_lock, folder, err));
    if (s->folder_lock < 0)
        return lcsm_fail(err, LCSM_ERR_IO, "%.150s is in use by another server", folder);
    LCSM_OR_RETURN(lcsm_file_sweep(folder, err));
    return load_folder(s, skipped, err);
}

lcsm_status lcsm_state_store_open(lcsm_state_store **out, const char *folder, size_t budget,
                                  size_t *skipped, lcsm_error *err)
{
    lcsm_status       st = LCSM_OK;
    lcsm_state_store *s  = calloc(1, sizeof *s);
    *out                 = NULL;
    *skipped             = 0;
    if (s == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for states");
    (void)pthread_mutex_init(&s->lock, NULL);
    s->budget      = budget;
    s->folder_lock = -1;
    s->ring.next = s->ring.prev = &s->ring;
    if (folder != NULL) LCSM_TRY(open_folder(s, folder, skipped, err));
    *out = s;
    s    = NULL;
cleanup:
    lcsm_state_store_close(s);
    return st;
}

void lcsm_state_store_close(lcsm_state_store *s)
{
    if (s == NULL) return;
    while (s->ring.next != &s->ring) {
        entry *e = s->ring.next;
        unlink_entry(e); /* NOLINT(clang-analyzer-unix.Malloc): the one before left the ring */
        free_entry(e);
    }
    if (s->folder_lock >= 0) lcsm_folder_unlock(s->folder_lock);
    (void)pthread_mutex_destroy(&s->lock);
    free(s->folder);
    free(s);
}

/* ---- use -------------------------------------------------------------------------------- */

static void *copy_of(const void *bytes, size_t size)
{
    void *copy = malloc(size + 1);
    if (copy != NULL && size > 0) memcpy(copy, bytes, size);
    return copy;
}

static lcsm_status copy_facts(lcsm_state_facts *to, const lcsm_state_facts *from, lcsm_error *err)
{
    *to = *from;
    if (from->tokens == NULL) return LCSM_OK;
    to->tokens = copy_of(from->tokens, from->token_count * sizeof *from->tokens);
    if (to->tokens != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the tokens of a state");
}

static lcsm_status keep(lcsm_state_store *s, entry *e, const lcsm_state_facts *facts,
                        const void *bytes, lcsm_error *err)
{
    LCSM_OR_RETURN(copy_facts(&e->f, facts, err));
    if (s->folder != NULL) return write_files(s, &e->f, bytes, err);
    e->bytes = copy_of(bytes, e->f.bytes);
    if (e->bytes != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a state of %zu bytes",
                     e->f.bytes);
}

lcsm_status lcsm_state_store_put(lcsm_state_store *s, lcsm_state_facts *facts, const void *bytes,
                                 lcsm_error *err)
{
    if (facts->bytes > s->budget)
        return lcsm_fail(err, LCSM_ERR_SPACE,
                         "the state has %zu bytes, all states together may have %zu", facts->bytes,
                         s->budget);
    entry *e = calloc(1, sizeof *e);
    if (e == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a state");
    make_id(facts->id);
    facts->created = lcsm_wall_time();
    lcsm_status st = keep(s, e, facts, bytes, err);
    if (st != LCSM_OK) {
        free_entry(e);
        return st;
    }
    (void)pthread_mutex_lock(&s->lock);
    add_entry(s, e);
    (void)pthread_mutex_unlock(&s->lock);
    return LCSM_OK;
}

static lcsm_status read_state(const lcsm_state_store *s, const entry *e, void **bytes,
                              lcsm_error *err)
{
    char      path[LCSM_PATH_MAX];
    lcsm_file file = {0};
    if (s->folder == NULL) {
        *bytes = copy_of(e->bytes, e->f.bytes);
    } else {
        LCSM_OR_RETURN(path_of(path, s, e->f.id, ".state", err));
        LCSM_OR_RETURN(lcsm_file_read(&file, path, STATE_MOST, err));
        bool whole = file.size == e->f.bytes;
        if (whole) *bytes = copy_of(file.data, file.size);
        lcsm_file_close(&file);
        if (!whole)
            return lcsm_fail(err, LCSM_ERR_FORMAT, "the file of state %.40s is damaged", e->f.id);
        if (path_of(path, s, e->f.id, ".json", NULL) == LCSM_OK)
            (void)utimensat(AT_FDCWD, path, NULL, 0);
    }
    if (*bytes != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a state");
}

lcsm_status lcsm_state_store_get(lcsm_state_store *s, const char *id, lcsm_state_facts *facts,
                                 void **bytes, lcsm_error *err)
{
    lcsm_state_facts f  = {0};
    lcsm_status      st = LCSM_OK;
    (void)pthread_mutex_lock(&s->lock);
    entry *e = find(s, id);
    if (e == NULL) LCSM_TRY(none(id, err));
    LCSM_TRY(copy_facts(&f, &e->f, err));
    if (bytes == NULL) goto cleanup;
    LCSM_TRY(read_state(s, e, bytes, err));
    unlink_entry(e);
    link_first(s, e);
cleanup:
    (void)pthread_mutex_unlock(&s->lock);
    if (st == LCSM_OK) *facts = f;
    else free(f.tokens);
    return st;
}

lcsm_status lcsm_state_store_drop(lcsm_state_store *s, const char *id, lcsm_error *err)
{
    (void)pthread_mutex_lock(&s->lock);
    entry *e = find(s, id);
    if (e != NULL) drop_entry(s, e);
    (void)pthread_mutex_unlock(&s->lock);
    return e != NULL ? LCSM_OK : none(id, err);
}

json_t *lcsm_state_store_list(lcsm_state_store *s)
{
    json_t *list = json_array();
    (void)pthread_mutex_lock(&s->lock);
    for (const entry *e = s->ring.next; e != &s->ring; e = e->next)
        (void)json_array_append_new(list, lcsm_state_json(&e->f));
    (void)pthread_mutex_unlock(&s->lock);
    return list;
}

void lcsm_state_store_measure(lcsm_state_store *s, size_t *count, size_t *bytes, uint64_t *evicted)
{
    (void)pthread_mutex_lock(&s->lock);
    *count   = s->count;
    *bytes   = s->bytes;
    *evicted = s->evicted;
    (void)pthread_mutex_unlock(&s->lock);
}
