/* pickle.c - a stack, a memo, and a table of instructions. */
#include "format/pickle.h"

#include <stdlib.h>
#include <string.h>

typedef lcsm_pickle_value value;

enum { BLOCK = 512 };

struct lcsm_pickle_block {
    struct lcsm_pickle_block *next;
    size_t                    used;
    value                     values[BLOCK];
};

typedef struct {
    lcsm_pickle         *out;
    const char          *label;
    const unsigned char *begin, *at, *end;
    value              **stack;
    size_t               height, stack_room;
    value              **memo;
    size_t               memo_room, memo_next;
    bool                 stopped, failed;
    value                spare;
    lcsm_error          *err;
} machine;

/* What a name does when it is called. */
typedef enum { MAKES_DICT, MAKES_TENSOR, MAKES_PARAMETER, MAKES_NOTHING } maker;

static const struct {
    const char  *module, *name;
    maker        makes;
    lcsm_element element; /* of a storage */
} NAMES[] = {
    {"collections", "OrderedDict", MAKES_DICT, LCSM_ELEMENT_F32},
    {"torch._utils", "_rebuild_tensor_v2", MAKES_TENSOR, LCSM_ELEMENT_F32},
    {"torch._utils", "_rebuild_parameter", MAKES_PARAMETER, LCSM_ELEMENT_F32},
    {"torch", "FloatStorage", MAKES_NOTHING, LCSM_ELEMENT_F32},
    {"torch", "HalfStorage", MAKES_NOTHING, LCSM_ELEMENT_F16},
    {"torch", "BFloat16Storage", MAKES_NOTHING, LCSM_ELEMENT_BF16},
    {"torch", "DoubleStorage", MAKES_NOTHING, LCSM_ELEMENT_F64},
    {"torch", "LongStorage", MAKES_NOTHING, LCSM_ELEMENT_I64},
    {"torch", "IntStorage", MAKES_NOTHING, LCSM_ELEMENT_I32},
    {"torch", "ShortStorage", MAKES_NOTHING, LCSM_ELEMENT_I16},
    {"torch", "CharStorage", MAKES_NOTHING, LCSM_ELEMENT_I8},
    {"torch", "ByteStorage", MAKES_NOTHING, LCSM_ELEMENT_U8},
    {"torch", "BoolStorage", MAKES_NOTHING, LCSM_ELEMENT_BOOL},
};

static lcsm_status bad(const machine *m, const char *what)
{
    return lcsm_fail(m->err, LCSM_ERR_FORMAT, "%.100s: byte %zu of its pickle: %s", m->label,
                     (size_t)(m->at - m->begin), what);
}

static lcsm_status no_memory(const machine *m)
{
    return lcsm_fail(m->err, LCSM_ERR_MEMORY, "%.100s: not enough memory for its pickle", m->label);
}

/* ---- the stack and the memo ------------------------------------------------------------- */

/* A new value, from the blocks; the last one for all when there is no memory, which run() sees. */
static value *make(machine *m, lcsm_pickle_kind kind)
{
    struct lcsm_pickle_block *b = m->out->blocks;
    if (b == NULL || b->used == BLOCK) {
        b = malloc(sizeof *b);
        if (b == NULL) {
            m->failed = true;
            m->spare  = (value){.kind = kind};
            return &m->spare;
        }
        b->next        = m->out->blocks;
        b->used        = 0;
        m->out->blocks = b;
    }
    value *v = &b->values[b->used++];
    *v       = (value){.kind = kind};
    m->out->count++;
    return v;
}

static lcsm_status push(machine *m, value *v)
{
    m->stack[m->height++] = v;
    return LCSM_OK;
}

static value *pop(machine *m)
{
    return m->height > 0 && m->stack[m->height - 1]->kind != LCSM_PICKLE_MARK
             ? m->stack[--m->height]
             : NULL;
}

static value *top(const machine *m)
{
    return m->height > 0 ? m->stack[m->height - 1] : NULL;
}

static lcsm_status empty(const machine *m)
{
    return bad(m, "a value is missing on the stack");
}

static lcsm_status remember(machine *m, size_t at)
{
    value *v = top(m);
    if (v == NULL || v->kind == LCSM_PICKLE_MARK) return empty(m);
    if (at >= m->memo_room) return bad(m, "a number in the memo is too large");
    m->memo[at] = v;
    return LCSM_OK;
}

static lcsm_status recall(machine *m, size_t at)
{
    if (at >= m->memo_room || m->memo[at] == NULL) return bad(m, "the memo has no such number");
    return push(m, m->memo[at]);
}

/* A value that is in a list already is put into another as a copy of its head, which is made by the
 * instruction that puts it. */
static lcsm_status append(machine *m, value *list, value *item)
{
    if (m->out->count >= m->out->room) return bad(m, "its values are used too often");
    value *own = make(m, item->kind);
    *own       = *item;
    own->next  = NULL;
    if (list->last == NULL) list->first = own;
    else list->last->next = own;
    list->last = own;
    list->number++;
    return LCSM_OK;
}

/* ---- bytes ------------------------------------------------------------------------------ */

static lcsm_status take(machine *m, size_t count, const unsigned char **out)
{
    if (count > (size_t)(m->end - m->at)) return bad(m, "it is cut short");
    *out = m->at;
    m->at += count;
    return LCSM_OK;
}

static lcsm_status take_number(machine *m, int bytes, uint64_t *out)
{
    const unsigned char *p = m->at;
    LCSM_OR_RETURN(take(m, (size_t)bytes, &p));
    *out = 0;
    for (int j = bytes; j-- > 0;) *out = *out << 8 | p[j];
    return LCSM_OK;
}

static lcsm_status push_text(machine *m, int length_bytes)
{
    uint64_t             size = 0;
    const unsigned char *p    = m->at;
    LCSM_OR_RETURN(take_number(m, length_bytes, &size));
    if (size > (size_t)(m->end - m->at)) return bad(m, "a text is cut short");
    LCSM_OR_RETURN(take(m, (size_t)size, &p));
    value *v = make(m, LCSM_PICKLE_TEXT);
    v->text  = (const char *)p;
    v->size  = (size_t)size;
    return push(m, v);
}

static lcsm_status push_int(machine *m, int64_t number)
{
    value *v  = make(m, LCSM_PICKLE_INT);
    v->number = number;
    return push(m, v);
}

/* An integer of up to 8 bytes with a sign. */
static lcsm_status push_long(machine *m)
{
    uint64_t size = 0, number = 0;
    LCSM_OR_RETURN(take_number(m, 1, &size));
    if (size > 8) return bad(m, "an integer is too large");
    LCSM_OR_RETURN(take_number(m, (int)size, &number));
    if (size > 0 && size < 8 && (number >> (8 * size - 1)) != 0) number |= UINT64_MAX << (8 * size);
    return push_int(m, (int64_t)number);
}

/* ---- names ------------------------------------------------------------------------------ */

static bool is_text(const char *text, const char *at, size_t size)
{
    return strlen(text) == size && memcmp(text, at, size) == 0;
}

static lcsm_status push_name(machine *m, const char *module, size_t module_size, const char *name,
                             size_t name_size)
{
    for (size_t j = 0; j < COUNT(NAMES); j++) {
        if (!is_text(NAMES[j].module, module, module_size)
            || !is_text(NAMES[j].name, name, name_size))
            continue;
        value *v  = make(m, LCSM_PICKLE_NAME);
        v->number = (int64_t)j;
        return push(m, v);
    }
    return lcsm_fail(m->err, LCSM_ERR_FORMAT,
                     "%.80s: its pickle names %.*s.%.*s; only tensors are read, nothing is run",
                     m->label, module_size < 40 ? (int)module_size : 40, module,
                     name_size < 40 ? (int)name_size : 40, name);
}

/* A line up to its end. */
static lcsm_status take_line(machine *m, const char **out, size_t *size)
{
    const unsigned char *stop = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (stop == NULL) return bad(m, "a name without its end");
    *out  = (const char *)m->at;
    *size = (size_t)(stop - m->at);
    m->at = stop + 1;
    return LCSM_OK;
}

static lcsm_status push_global(machine *m)
{
    const char *module = "", *name = "";
    size_t      module_size = 0, name_size = 0;
    LCSM_OR_RETURN(take_line(m, &module, &module_size));
    LCSM_OR_RETURN(take_line(m, &name, &name_size));
    return push_name(m, module, module_size, name, name_size);
}

static lcsm_status push_stack_global(machine *m)
{
    const value *name = pop(m), *module = pop(m);
    if (name == NULL || module == NULL || name->kind != LCSM_PICKLE_TEXT
        || module->kind != LCSM_PICKLE_TEXT)
        return empty(m);
    return push_name(m, module->text, module->size, name->text, name->size);
}

/* ---- collections ------------------------------------------------------------------------ */

/* The place of the last mark; SIZE_MAX: there is none. */
static size_t find_mark(const machine *m)
{
    for (size_t j = m->height; j-- > 0;)
        if (m->stack[j]->kind == LCSM_PICKLE_MARK) return j;
    return SIZE_MAX;
}

/* What lies above `from` becomes items; the stack then ends at `left`. */
static lcsm_status gather(machine *m, value *list, size_t from, size_t left)
{
    for (size_t j = from; j < m->height; j++) LCSM_OR_RETURN(append(m, list, m->stack[j]));
    m->height = left;
    return LCSM_OK;
}

static lcsm_status push_tuple(machine *m, size_t count, bool marked)
{
    size_t mark = marked ? find_mark(m) : 0;
    if (marked ? mark == SIZE_MAX : m->height < count) return empty(m);
    size_t from = marked ? mark + 1 : m->height - count;
    for (size_t j = from; j < m->height; j++)
        if (m->stack[j]->kind == LCSM_PICKLE_MARK) return empty(m);
    value *list = make(m, LCSM_PICKLE_LIST);
    LCSM_OR_RETURN(gather(m, list, from, marked ? mark : from));
    return push(m, list);
}

/* Items, or keys and values, into what lies under them. */
static lcsm_status add_items(machine *m, lcsm_pickle_kind kind, size_t count, bool marked)
{
    size_t mark = marked ? find_mark(m) : 0;
    if (marked ? mark == SIZE_MAX : m->height < count) return empty(m);
    size_t from = marked ? mark + 1 : m->height - count, base = marked ? mark : from;
    if (base == 0 || m->stack[base - 1]->kind != kind
        || (kind == LCSM_PICKLE_DICT && (m->height - from) % 2 != 0))
        return bad(m, "items for what is not a collection");
    for (size_t j = from; j < m->height; j++)
        if (m->stack[j] == m->stack[base - 1]) return bad(m, "a collection in itself");
    return gather(m, m->stack[base - 1], from, base);
}

/* ---- tensors ---------------------------------------------------------------------------- */

static const value *item(const value *list, size_t at)
{
    const value *v = list->first;
    while (v != NULL && at-- > 0) v = v->next;
    return v;
}

static bool is(const value *v, lcsm_pickle_kind kind)
{
    return v != NULL && v->kind == kind;
}

/* ('storage', type, key, place, elements) */
static lcsm_status push_storage(machine *m)
{
    const value *id = pop(m);
    if (!is(id, LCSM_PICKLE_LIST)) return empty(m);
    const value *what = item(id, 0), *type = item(id, 1), *key = item(id, 2), *n = item(id, 4);
    if (!is(what, LCSM_PICKLE_TEXT) || !is_text("storage", what->text, what->size)
        || !is(type, LCSM_PICKLE_NAME) || NAMES[type->number].makes != MAKES_NOTHING
        || !is(key, LCSM_PICKLE_TEXT) || !is(n, LCSM_PICKLE_INT) || n->number < 0)
        return bad(m, "a reference that is not a storage of numbers");
    value *v   = make(m, LCSM_PICKLE_STORAGE);
    v->text    = key->text;
    v->size    = key->size;
    v->number  = n->number;
    v->element = NAMES[type->number].element;
    return push(m, v);
}

/* (storage, first, sizes, strides, ...) */
static lcsm_status push_tensor(machine *m, const value *args)
{
    const value *storage = item(args, 0), *first = item(args, 1), *size = item(args, 2),
                *stride = item(args, 3);
    if (!is(storage, LCSM_PICKLE_STORAGE) || !is(first, LCSM_PICKLE_INT) || first->number < 0
        || !is(size, LCSM_PICKLE_LIST) || !is(stride, LCSM_PICKLE_LIST))
        return bad(m, "a tensor of other parts than a storage, a place, sizes and strides");
    value *v  = make(m, LCSM_PICKLE_TENSOR);
    v->first  = args->first; /* in this order */
    v->number = first->number;
    return push(m, v);
}

static lcsm_status reduce(machine *m)
{
    const value *args = pop(m), *name = pop(m);
    if (!is(args, LCSM_PICKLE_LIST) || !is(name, LCSM_PICKLE_NAME)) return empty(m);
    maker makes = NAMES[name->number].makes;
    if (makes == MAKES_TENSOR) return push_tensor(m, args);
    if (makes == MAKES_PARAMETER && is(args->first, LCSM_PICKLE_TENSOR))
        return push(m, args->first);
    if (makes == MAKES_DICT && args->first == NULL) return push(m, make(m, LCSM_PICKLE_DICT));
    return bad(m, "a call of what is not a tensor or a dictionary");
}

/* Attributes of a dictionary, which do not matter. */
static lcsm_status build(machine *m)
{
    const value *state = pop(m);
    if (state == NULL || !is(top(m), LCSM_PICKLE_DICT))
        return bad(m, "attributes of what is not a dictionary");
    return LCSM_OK;
}

/* ---- instructions ----------------------------------------------------------------------- */

static lcsm_status step_number(machine *m, unsigned char code)
{
    uint64_t             n = 0;
    const unsigned char *skipped;
    switch (code) {
    case 0x80: return take(m, 1, &skipped); /* protocol */
    case 0x95: return take(m, 8, &skipped); /* frame */
    case 'G':                               /* a real */
        LCSM_OR_RETURN(take(m, 8, &skipped));
        return push(m, make(m, LCSM_PICKLE_OTHER));
    case 'J': LCSM_OR_RETURN(take_number(m, 4, &n)); return push_int(m, (int32_t)n);
    case 'K': LCSM_OR_RETURN(take_number(m, 1, &n)); return push_int(m, (int64_t)n);
    case 'M': LCSM_OR_RETURN(take_number(m, 2, &n)); return push_int(m, (int64_t)n);
    case 'q': LCSM_OR_RETURN(take_number(m, 1, &n)); return remember(m, (size_t)n);
    case 'r': LCSM_OR_RETURN(take_number(m, 4, &n)); return remember(m, (size_t)n);
    case 0x94: return remember(m, m->memo_next++);
    case 'h': LCSM_OR_RETURN(take_number(m, 1, &n)); return recall(m, (size_t)n);
    case 'j': LCSM_OR_RETURN(take_number(m, 4, &n)); return recall(m, (size_t)n);
    case 0x8a: return push_long(m);
    default: break;
    }
    return lcsm_fail(m->err, LCSM_ERR_FORMAT,
                     "%.80s: its pickle has the instruction 0x%02x at byte %zu, which no file of "
                     "tensors needs; nothing is run",
                     m->label, code, (size_t)(m->at - m->begin) - 1);
}

static lcsm_status step(machine *m, unsigned char code)
{
    switch (code) {
    case '.': m->stopped = true; return LCSM_OK;
    case '(': return push(m, make(m, LCSM_PICKLE_MARK));
    case ')':
    case ']': return push(m, make(m, LCSM_PICKLE_LIST));
    case '}': return push(m, make(m, LCSM_PICKLE_DICT));
    case 'N':
    case 0x88:
    case 0x89: return push(m, make(m, LCSM_PICKLE_OTHER));
    case 'X': return push_text(m, 4);
    case 0x8c:
    case 'U': return push_text(m, 1);
    case 0x85: return push_tuple(m, 1, false);
    case 0x86: return push_tuple(m, 2, false);
    case 0x87: return push_tuple(m, 3, false);
    case 't': return push_tuple(m, 0, true);
    case 'a': return add_items(m, LCSM_PICKLE_LIST, 1, false);
    case 'e': return add_items(m, LCSM_PICKLE_LIST, 0, true);
    case 's': return add_items(m, LCSM_PICKLE_DICT, 2, false);
    case 'u': return add_items(m, LCSM_PICKLE_DICT, 0, true);
    case 'c': return push_global(m);
    case 0x93: return push_stack_global(m);
    case 'Q': return push_storage(m);
    case 'R': return reduce(m);
    case 'b': return build(m);
    default: return step_number(m, code);
    }
}

static lcsm_status run(machine *m)
{
    while (!m->stopped) {
        const unsigned char *code = m->at;
        LCSM_OR_RETURN(take(m, 1, &code));
        if (m->out->count >= m->out->room) return bad(m, "its values are used too often");
        LCSM_OR_RETURN(step(m, *code));
        if (m->failed) return no_memory(m);
    }
    if (m->height != 1) return bad(m, "it ends with another number of values than 1");
    m->out->root = m->stack[0];
    return LCSM_OK;
}

/* Every byte makes at most one value, and puts at most one into a list. */
lcsm_status lcsm_pickle_parse(lcsm_pickle *out, const char *label, const unsigned char *data,
                              size_t size, lcsm_error *err)
{
    machine m = {
        .out = out, .label = label, .begin = data, .at = data, .end = data + size, .err = err};
    lcsm_status st = LCSM_OK;
    *out           = (lcsm_pickle){.room = 2 * size + 1};
    if (size > LCSM_PICKLE_SIZE)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%.100s: a pickle of %zu bytes; expected at most %d",
                         label, size, LCSM_PICKLE_SIZE);
    /* Arrays of pointers. NOLINTBEGIN(bugprone-sizeof-expression) */
    m.stack = malloc((size + 1) * sizeof *m.stack);
    m.memo  = calloc(size + 1, sizeof *m.memo);
    /* NOLINTEND(bugprone-sizeof-expression) */
    m.memo_room = size + 1;
    st          = m.stack != NULL && m.memo != NULL ? run(&m) : no_memory(&m);
    free(m.stack);
    free(m.memo);
    if (st != LCSM_OK) lcsm_pickle_free(out);
    return st;
}

void lcsm_pickle_free(lcsm_pickle *p)
{
    for (struct lcsm_pickle_block *b = p->blocks, *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    *p = (lcsm_pickle){0};
}
