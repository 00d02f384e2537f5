/* jinja_eval.c - expressions. */
#include <stdlib.h>
#include <string.h>

#include "text/jinja_run.h"

enum { DEEP = 1000 }; /* expressions in expressions, and calls */

/* ---- names ------------------------------------------------------------------------------ */

static json_t *find_space(const jinja_run *r, const char *name)
{
    for (const jinja_scope *s = r->scope; s != NULL; s = s->up) {
        json_t *found = json_object_get(s->spaces, name);
        if (found != NULL) return found;
        if (json_object_get(s->vars, name) != NULL) return NULL;
    }
    return NULL;
}

static lcsm_status eval_name(jinja_run *r, const char *name, json_t **out)
{
    for (const jinja_scope *s = r->scope; s != NULL; s = s->up) {
        *out = json_incref(json_object_get(s->vars, name));
        if (*out != NULL) return LCSM_OK;
        if (json_object_get(s->spaces, name) != NULL)
            return jinja_fail(r, "the namespace %.40s can be used by its attributes only", name);
    }
    return LCSM_OK; /* undefined */
}

/* ---- containers ------------------------------------------------------------------------- */

/* An undefined item is none. */
static json_t *or_null(json_t *v)
{
    return v != NULL ? v : json_null();
}

static lcsm_status eval_list(jinja_run *r, const jinja_node *n, json_t **out)
{
    LCSM_OR_RETURN(jinja_keep(r, json_array(), out));
    for (const jinja_node *at = n->a; at != NULL; at = at->next) {
        json_t *v = NULL;
        LCSM_OR_RETURN(jinja_eval(r, at, &v));
        if (json_array_append_new(*out, or_null(v)) != 0) return jinja_no_memory(r);
    }
    return jinja_shallow(r, *out);
}

static lcsm_status eval_dict(jinja_run *r, const jinja_node *n, json_t **out)
{
    LCSM_OR_RETURN(jinja_keep(r, json_object(), out));
    for (const jinja_node *at = n->a; at != NULL; at = at->next->next) {
        json_t     *key = NULL, *v = NULL;
        lcsm_status st = jinja_eval(r, at, &key);
        if (st == LCSM_OK && !json_is_string(key))
            st = jinja_fail(r, "a key is %s; expected a string", jinja_type(key));
        if (st == LCSM_OK) st = jinja_eval(r, at->next, &v);
        if (st == LCSM_OK && json_object_set_new(*out, json_string_value(key), or_null(v)) != 0)
            st = jinja_no_memory(r);
        json_decref(key);
        if (st != LCSM_OK) return st;
    }
    return jinja_shallow(r, *out);
}

static const char *name_of(const jinja_node *n)
{
    return json_string_value(n->value);
}

static lcsm_status eval_attr(jinja_run *r, const jinja_node *n, json_t **out)
{
    json_t *of = NULL, *space = n->a->kind == JINJA_NAME ? find_space(r, name_of(n->a)) : NULL;
    if (space != NULL) {
        *out = json_incref(json_object_get(space, name_of(n)));
        return LCSM_OK;
    }
    LCSM_OR_RETURN(jinja_eval(r, n->a, &of));
    if (of == NULL)
        return jinja_fail(r, "%.40s is undefined, so it has no %.40s",
                          n->a->kind == JINJA_NAME ? name_of(n->a) : "a value", name_of(n));
    *out = json_incref(json_object_get(of, name_of(n)));
    json_decref(of);
    return LCSM_OK;
}

/* A place counted from the front, or with a minus from the end; false: there is none. */
static bool place(const json_t *at, size_t count, size_t *out)
{
    json_int_t j = json_integer_value(at);
    if (!json_is_integer(at)) return false;
    if (j < 0) j += (json_int_t)count;
    *out = (size_t)j;
    return j >= 0 && (size_t)j < count;
}

static lcsm_status item_of(jinja_run *r, json_t *of, const json_t *at, json_t **out)
{
    size_t j;
    if (of == NULL) return jinja_fail(r, "an item of an undefined value");
    if (json_is_object(of) && json_is_string(at))
        *out = json_incref(json_object_get(of, json_string_value(at)));
    else if (json_is_array(of) && place(at, json_array_size(of), &j))
        *out = json_incref(json_array_get(of, j));
    else if (json_is_string(of)) {
        LCSM_OR_RETURN(jinja_spend(r, json_string_length(of) / 8));
        if (!place(at, jinja_characters(of), &j)) return LCSM_OK;
        size_t begin = jinja_place(of, j), end = jinja_place(of, j + 1);
        return jinja_bytes(r, json_string_value(of) + begin, end - begin, out);
    }
    return LCSM_OK;
}

static lcsm_status eval_item(jinja_run *r, const jinja_node *n, json_t **out)
{
    json_t     *of = NULL, *at = NULL;
    lcsm_status st;
    LCSM_TRY(jinja_eval(r, n->b, &at));
    if (n->a->kind == JINJA_NAME && json_is_string(at) && find_space(r, name_of(n->a)) != NULL) {
        *out = json_incref(json_object_get(find_space(r, name_of(n->a)), json_string_value(at)));
        goto cleanup;
    }
    LCSM_TRY(jinja_eval(r, n->a, &of));
    LCSM_TRY(item_of(r, of, at, out));
cleanup:
    json_decref(of);
    json_decref(at);
    return st;
}

/* ---- slices ----------------------------------------------------------------------------- */

typedef struct {
    json_int_t begin, end, step;
} slice;

static lcsm_status number_of(jinja_run *r, const jinja_node *n, json_int_t *out, bool *there)
{
    json_t     *v  = NULL;
    lcsm_status st = n != NULL ? jinja_eval(r, n, &v) : LCSM_OK;
    *there         = v != NULL && !json_is_null(v);
    *out           = json_integer_value(v);
    if (st == LCSM_OK && *there && !json_is_integer(v))
        st = jinja_fail(r, "a slice with %s", jinja_type(v));
    json_decref(v);
    return st;
}

static json_int_t bound(json_int_t v, json_int_t count, bool backwards)
{
    if (v < 0) v += count;
    if (v < 0) return backwards ? -1 : 0;
    if (v >= count) return backwards ? count - 1 : count;
    return v;
}

static lcsm_status read_slice(jinja_run *r, const jinja_node *n, json_int_t count, slice *s)
{
    bool begin, end, step;
    LCSM_OR_RETURN(number_of(r, n->b, &s->begin, &begin));
    LCSM_OR_RETURN(number_of(r, n->c, &s->end, &end));
    LCSM_OR_RETURN(number_of(r, n->d, &s->step, &step));
    if (!step) s->step = 1;
    if (s->step == 0) return jinja_fail(r, "a slice with the step 0");
    bool back = s->step < 0;
    if (s->step > count + 1) s->step = count + 1;
    if (s->step < -count - 1) s->step = -count - 1;
    s->begin = begin ? bound(s->begin, count, back) : back ? count - 1 : 0;
    s->end   = end ? bound(s->end, count, back) : back ? -1 : count;
    return jinja_spend(r, (size_t)count);
}

static lcsm_status eval_slice(jinja_run *r, const jinja_node *n, json_t **out)
{
    json_t     *of = NULL, *all = NULL, *some = NULL;
    slice       s;
    lcsm_status st;
    lcsm_strbuf text = {0};
    LCSM_TRY(jinja_eval(r, n->a, &of));
    if (!json_is_string(of) && !json_is_array(of))
        LCSM_TRY(jinja_fail(r, "a slice of %s", jinja_type(of)));
    LCSM_TRY(jinja_items(r, of, &all));
    LCSM_TRY(read_slice(r, n, (json_int_t)json_array_size(all), &s));
    LCSM_TRY(jinja_keep(r, json_array(), &some));
    for (json_int_t j = s.begin; s.step > 0 ? j < s.end : j > s.end; j += s.step) {
        json_t *item = json_array_get(all, (size_t)j);
        if (json_is_string(of)) lcsm_strbuf_add(&text, json_string_value(item));
        else if (json_array_append(some, item) != 0) LCSM_TRY(jinja_no_memory(r));
    }
    if (json_is_string(of)) LCSM_TRY(jinja_string(r, &text, out));
    else *out = json_incref(some);
cleanup:
    lcsm_strbuf_free(&text);
    json_decref(of);
    json_decref(all);
    json_decref(some);
    return st;
}

/* ---- calls ------------------------------------------------------------------------------ */

void jinja_args_free(jinja_args *args)
{
    for (size_t j = 0; j < args->count; j++) json_decref(args->list[j]);
    args->count = 0;
}

lcsm_status jinja_args_eval(jinja_run *r, jinja_args *args, const jinja_node *n)
{
    *args = (jinja_args){.count = 0};
    for (; n != NULL; n = n->next) {
        bool named = n->kind == JINJA_KEYWORD;
        if (args->count == JINJA_ARGUMENTS)
            return jinja_fail(r, "more than %d arguments", JINJA_ARGUMENTS);
        args->list[args->count]    = NULL;
        args->names[args->count++] = named ? name_of(n) : NULL;
        LCSM_OR_RETURN(jinja_eval(r, named ? n->a : n, &args->list[args->count - 1]));
    }
    return LCSM_OK;
}

json_t *jinja_arg(const jinja_args *args, size_t at, const char *name)
{
    for (size_t j = 0; j < args->count; j++)
        if (args->names[j] != NULL ? name != NULL && strcmp(args->names[j], name) == 0 : j == at)
            return args->list[j];
    return NULL;
}

lcsm_status jinja_args_most(const jinja_run *r, const jinja_args *args, size_t most,
                            const char *what)
{
    if (args->count <= most) return LCSM_OK;
    return jinja_fail(r, "%.40s with %zu arguments; expected at most %zu", what, args->count, most);
}

/* The parameters of a macro become the variables of its scope. */
static lcsm_status bind(jinja_run *r, jinja_scope *s, const jinja_node *macro,
                        const jinja_args *args)
{
    size_t at = 0;
    for (const jinja_node *p = macro->a; p != NULL; p = p->next, at++) {
        json_t *v = json_incref(jinja_arg(args, at, name_of(p)));
        if (v == NULL && p->kind == JINJA_KEYWORD) LCSM_OR_RETURN(jinja_eval(r, p->a, &v));
        if (v == NULL) continue;
        lcsm_status st = jinja_set(r, s, name_of(p), v);
        json_decref(v);
        LCSM_OR_RETURN(st);
    }
    return jinja_args_most(r, args, at, name_of(macro));
}

static lcsm_status call_macro(jinja_run *r, const jinja_node *macro, const jinja_args *args,
                              json_t **out)
{
    lcsm_strbuf text = {0}, *before = r->out;
    jinja_scope s = {.up = r->global}, *caller = r->scope;
    size_t      line = r->line;
    lcsm_status st   = bind(r, &s, macro, args);
    r->out           = &text;
    r->scope         = &s;
    if (st == LCSM_OK) st = jinja_execute(r, macro->b);
    r->out   = before;
    r->scope = caller;
    r->line  = line;
    json_decref(s.vars);
    json_decref(s.spaces);
    if (st == LCSM_OK) return jinja_string(r, &text, out);
    lcsm_strbuf_free(&text);
    return st;
}

static lcsm_status call_name(jinja_run *r, const char *name, const jinja_args *args, json_t **out)
{
    bool known = false;
    for (size_t j = r->macro_count; j-- > 0;)
        if (strcmp(name_of(r->macros[j]), name) == 0) return call_macro(r, r->macros[j], args, out);
    LCSM_OR_RETURN(jinja_function(r, name, args, out, &known));
    return known ? LCSM_OK : jinja_fail(r, "the function %.40s is not supported", name);
}

static lcsm_status eval_call(jinja_run *r, const jinja_node *n, json_t **out)
{
    jinja_args  args;
    json_t     *of = NULL;
    lcsm_status st;
    LCSM_TRY(jinja_args_eval(r, &args, n->b));
    if (n->a->kind == JINJA_NAME) LCSM_TRY(call_name(r, name_of(n->a), &args, out));
    else if (n->a->kind == JINJA_ATTR) {
        LCSM_TRY(jinja_eval(r, n->a->a, &of));
        LCSM_TRY(jinja_method(r, of, name_of(n->a), &args, out));
    } else LCSM_TRY(jinja_fail(r, "a value that is not a function is called"));
cleanup:
    json_decref(of);
    jinja_args_free(&args);
    return st;
}

/* ---- filters, tests, operators ---------------------------------------------------------- */

static lcsm_status eval_filter(jinja_run *r, const jinja_node *n, json_t **out)
{
    jinja_args  args = {.count = 0};
    json_t     *v    = NULL;
    lcsm_status st   = jinja_eval(r, n->a, &v);
    bool        flag = false;
    if (st == LCSM_OK) st = jinja_args_eval(r, &args, n->b);
    if (st == LCSM_OK && n->kind == JINJA_FILTER) st = jinja_filter(r, name_of(n), v, &args, out);
    else if (st == LCSM_OK) {
        st   = jinja_test(r, name_of(n), v, &args, &flag);
        *out = json_boolean(flag);
    }
    json_decref(v);
    jinja_args_free(&args);
    return st;
}

static lcsm_status apply(jinja_run *r, jinja_op op, json_t *a, json_t *b, json_t **out)
{
    bool flag  = false;
    int  order = 0;
    if (op < JINJA_EQ) return jinja_binary(r, op, a, b, out);
    if (op == JINJA_EQ || op == JINJA_NE) LCSM_OR_RETURN(jinja_equal(r, a, b, &flag));
    else if (op == JINJA_IN || op == JINJA_NOT_IN) LCSM_OR_RETURN(jinja_contains(r, b, a, &flag));
    else LCSM_OR_RETURN(jinja_compare(r, a, b, &order));
    if (op == JINJA_NE || op == JINJA_NOT_IN) flag = !flag;
    if (op == JINJA_LT) flag = order < 0;
    if (op == JINJA_LE) flag = order <= 0;
    if (op == JINJA_GT) flag = order > 0;
    if (op == JINJA_GE) flag = order >= 0;
    *out = json_boolean(flag);
    return LCSM_OK;
}

static lcsm_status eval_binary(jinja_run *r, const jinja_node *n, json_t **out)
{
    json_t     *a = NULL, *b = NULL;
    lcsm_status st = jinja_eval(r, n->a, &a);
    if (st == LCSM_OK) st = jinja_eval(r, n->b, &b);
    if (st == LCSM_OK) st = apply(r, n->op, a, b, out);
    json_decref(a);
    json_decref(b);
    return st;
}

/* and, or: the value that decides. */
static lcsm_status eval_logic(jinja_run *r, const jinja_node *n, json_t **out)
{
    LCSM_OR_RETURN(jinja_eval(r, n->a, out));
    if (jinja_truth(*out) == (n->kind == JINJA_OR)) return LCSM_OK;
    json_decref(*out);
    *out = NULL;
    return jinja_eval(r, n->b, out);
}

static lcsm_status eval_unary(jinja_run *r, const jinja_node *n, json_t **out)
{
    json_t     *v = NULL, *zero = json_integer(0);
    lcsm_status st = jinja_eval(r, n->kind == JINJA_CHOICE ? n->b : n->a, &v);
    bool        on = jinja_truth(v);
    if (st == LCSM_OK && n->kind == JINJA_NOT) *out = json_boolean(!on);
    else if (st == LCSM_OK && n->kind == JINJA_NEGATE)
        st = jinja_binary(r, JINJA_SUBTRACT, zero, v, out);
    else if (st == LCSM_OK && (on || n->c != NULL)) st = jinja_eval(r, on ? n->a : n->c, out);
    json_decref(v);
    json_decref(zero);
    return st;
}

static lcsm_status eval_value(jinja_run *r, const jinja_node *n, json_t **out)
{
    if (n->kind == JINJA_NAME) return eval_name(r, name_of(n), out);
    *out = json_incref(n->value != NULL ? n->value : (json_t *)(uintptr_t)r->text);
    return LCSM_OK;
}

lcsm_status jinja_eval(jinja_run *r, const jinja_node *n, json_t **out)
{
    static lcsm_status (*const BY_KIND[])(jinja_run *, const jinja_node *, json_t **) = {
        [JINJA_LITERAL] = eval_value, [JINJA_NAME] = eval_value, [JINJA_LIST] = eval_list,
        [JINJA_DICT] = eval_dict,     [JINJA_ATTR] = eval_attr,  [JINJA_ITEM] = eval_item,
        [JINJA_SLICE] = eval_slice,   [JINJA_CALL] = eval_call,  [JINJA_FILTER] = eval_filter,
        [JINJA_TEST] = eval_filter,   [JINJA_NOT] = eval_unary,  [JINJA_NEGATE] = eval_unary,
        [JINJA_CHOICE] = eval_unary,  [JINJA_AND] = eval_logic,  [JINJA_OR] = eval_logic,
        [JINJA_BINARY] = eval_binary,
    };
    *out = NULL;
    LCSM_OR_RETURN(jinja_spend(r, 1));
    if (++r->depth > DEEP) return jinja_fail(r, "calls and expressions are nested too deeply");
    r->line = n->line;
    if (n->kind < JINJA_LITERAL || n->kind == JINJA_KEYWORD)
        return jinja_fail(r, "an argument with a name stands where none can");
    lcsm_status st = BY_KIND[n->kind](r, n, out);
    r->depth--;
    if (st == LCSM_OK) return st;
    json_decref(*out);
    *out = NULL;
    return st;
}
