/* jinja_run.c - statements, and the run of a whole template. */
#include "text/jinja_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

lcsm_status jinja_fail(const jinja_run *r, const char *fmt, ...)
{
    char    text[180];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return lcsm_fail(r->err, LCSM_ERR_FORMAT, "%.60s: line %zu: %s", r->of->label, r->line, text);
}

lcsm_status jinja_no_memory(const jinja_run *r)
{
    return lcsm_fail(r->err, LCSM_ERR_MEMORY, "%.60s: not enough memory", r->of->label);
}

lcsm_status jinja_spend(jinja_run *r, size_t steps)
{
    r->steps += steps < LCSM_JINJA_STEPS ? steps : LCSM_JINJA_STEPS;
    if (r->steps <= LCSM_JINJA_STEPS) return LCSM_OK;
    return jinja_fail(r, "more than %d steps", LCSM_JINJA_STEPS);
}

/* ---- variables -------------------------------------------------------------------------- */

static lcsm_status put(const jinja_run *r, json_t **object, const char *name, json_t *value)
{
    if (*object == NULL) *object = json_object();
    return json_object_set(*object, name, value) == 0 ? LCSM_OK : jinja_no_memory(r);
}

/* An undefined value takes the name away from what stood there. */
lcsm_status jinja_set(jinja_run *r, jinja_scope *s, const char *name, json_t *value)
{
    (void)json_object_del(s->spaces, name);
    if (value != NULL) return put(r, &s->vars, name, value);
    (void)json_object_del(s->vars, name);
    return LCSM_OK;
}

static const char *name_of(const jinja_node *n)
{
    return json_string_value(n->value);
}

static json_t *space_of(const jinja_run *r, const char *name)
{
    for (const jinja_scope *s = r->scope; s != NULL; s = s->up) {
        json_t *found = json_object_get(s->spaces, name);
        if (found != NULL) return found;
    }
    return NULL;
}

/* A value for a name, an attribute of a namespace, or several names. */
static lcsm_status assign(jinja_run *r, jinja_scope *s, const jinja_node *target, json_t *value)
{
    size_t at = 0;
    if (target->kind == JINJA_NAME) return jinja_set(r, s, name_of(target), value);
    if (target->kind == JINJA_ATTR) {
        json_t *space = space_of(r, name_of(target->a));
        if (space == NULL) return jinja_fail(r, "%.40s is not a namespace", name_of(target->a));
        return put(r, &space, name_of(target), value != NULL ? value : json_null());
    }
    for (const jinja_node *n = target->a; n != NULL; n = n->next, at++)
        if (json_array_size(value) <= at) break;
        else LCSM_OR_RETURN(assign(r, s, n, json_array_get(value, at)));
    size_t names = 0;
    for (const jinja_node *n = target->a; n != NULL; n = n->next) names++;
    if (names == json_array_size(value)) return LCSM_OK;
    return jinja_fail(r, "%zu names for %zu values", names, json_array_size(value));
}

static bool makes_namespace(const jinja_node *n)
{
    return n->kind == JINJA_CALL && n->a->kind == JINJA_NAME
        && strcmp(name_of(n->a), "namespace") == 0;
}

/* set name = namespace(attributes) */
static lcsm_status set_namespace(jinja_run *r, const jinja_node *n)
{
    jinja_args  args;
    json_t     *space = json_object();
    const char *name  = name_of(n->a);
    lcsm_status st    = jinja_args_eval(r, &args, n->b->b);
    for (size_t j = 0; j < args.count && st == LCSM_OK; j++) {
        if (args.names[j] == NULL && json_is_object(args.list[j]))
            (void)json_object_update(space, args.list[j]);
        else if (args.names[j] == NULL) st = jinja_fail(r, "namespace() takes named values");
        else st = put(r, &space, args.names[j], args.list[j] != NULL ? args.list[j] : json_null());
    }
    (void)json_object_del(r->scope->vars, name);
    if (st == LCSM_OK) st = put(r, &r->scope->spaces, name, space);
    json_decref(space);
    jinja_args_free(&args);
    return st;
}

static lcsm_status run_set(jinja_run *r, const jinja_node *n)
{
    json_t     *v = NULL;
    lcsm_status st;
    if (makes_namespace(n->b) && n->a->kind == JINJA_NAME) return set_namespace(r, n);
    st = jinja_eval(r, n->b, &v);
    if (st == LCSM_OK) st = assign(r, r->scope, n->a, v);
    json_decref(v);
    return st;
}

static lcsm_status run_set_text(jinja_run *r, const jinja_node *n)
{
    lcsm_strbuf   text = {0}, *before = r->out;
    const json_t *outer = r->text;
    json_t       *whole = NULL, *v = NULL;
    lcsm_status   st;
    r->out = &text;
    st     = jinja_execute(r, n->b);
    r->out = before;
    LCSM_TRY(st);
    LCSM_TRY(jinja_string(r, &text, &whole));
    r->text = whole;
    LCSM_TRY(jinja_eval(r, n->c, &v));
    LCSM_TRY(assign(r, r->scope, n->a, v));
cleanup:
    r->text = outer;
    lcsm_strbuf_free(&text);
    json_decref(whole);
    json_decref(v);
    return st;
}

/* ---- loops ------------------------------------------------------------------------------ */

/* What a template sees as `loop`. */
static lcsm_status describe_loop(jinja_run *r, jinja_scope *s, const json_t *list, size_t at)
{
    size_t  n = json_array_size(list);
    json_t *loop =
        json_pack("{s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:I}", "index", (json_int_t)at + 1, "index0",
                  (json_int_t)at, "revindex", (json_int_t)(n - at), "revindex0",
                  (json_int_t)(n - at - 1), "first", (int)(at == 0), "last", (int)(at + 1 == n),
                  "length", (json_int_t)n, "depth", (json_int_t)1);
    if (loop == NULL) return jinja_no_memory(r);
    if (at > 0) (void)json_object_set(loop, "previtem", json_array_get(list, at - 1));
    if (at + 1 < n) (void)json_object_set(loop, "nextitem", json_array_get(list, at + 1));
    lcsm_status st = jinja_set(r, s, "loop", loop);
    json_decref(loop);
    return st;
}

/* The items of the list that the loop's condition picks. */
static lcsm_status pick(jinja_run *r, const jinja_node *n, const json_t *list, json_t *some)
{
    size_t  at;
    json_t *item;
    json_array_foreach(list, at, item)
    {
        jinja_scope s = {.up = r->scope}, *before = r->scope;
        json_t     *v  = NULL;
        lcsm_status st = assign(r, &s, n->a, item);
        r->scope       = &s;
        if (st == LCSM_OK) st = jinja_eval(r, n->e, &v);
        r->scope = before;
        if (st == LCSM_OK && jinja_truth(v) && json_array_append(some, item) != 0)
            st = jinja_no_memory(r);
        json_decref(v);
        json_decref(s.vars);
        json_decref(s.spaces);
        LCSM_OR_RETURN(st);
    }
    return LCSM_OK;
}

static lcsm_status run_item(jinja_run *r, const jinja_node *n, const json_t *list, size_t at)
{
    jinja_scope s = {.up = r->scope}, *before = r->scope;
    lcsm_status st = describe_loop(r, &s, list, at);
    if (st == LCSM_OK) st = assign(r, &s, n->a, json_array_get(list, at));
    r->scope = &s;
    if (st == LCSM_OK) st = jinja_execute(r, n->c);
    r->scope = before;
    json_decref(s.vars);
    json_decref(s.spaces);
    return st;
}

static lcsm_status run_for(jinja_run *r, const jinja_node *n)
{
    json_t     *of = NULL, *list = NULL, *some = json_array();
    lcsm_status st;
    LCSM_TRY(jinja_eval(r, n->b, &of));
    LCSM_TRY(jinja_items(r, of, &list));
    if (n->e != NULL) LCSM_TRY(pick(r, n, list, some));
    const json_t *used = n->e != NULL ? some : list;
    if (json_array_size(used) == 0) LCSM_TRY(jinja_execute(r, n->d));
    for (size_t at = 0; at < json_array_size(used) && !r->breaks; at++) {
        LCSM_TRY(jinja_spend(r, 16));
        LCSM_TRY(run_item(r, n, used, at));
        r->continues = false;
    }
    r->breaks = false;
cleanup:
    json_decref(of);
    json_decref(list);
    json_decref(some);
    return st;
}

/* ---- statements ------------------------------------------------------------------------- */

static lcsm_status run_print(jinja_run *r, const jinja_node *n)
{
    json_t     *v  = NULL;
    lcsm_status st = jinja_eval(r, n->a, &v);
    if (st == LCSM_OK) st = jinja_print(r, r->out, v);
    json_decref(v);
    return st;
}

static lcsm_status run_if(jinja_run *r, const jinja_node *n)
{
    for (;;) {
        json_t *v = NULL;
        LCSM_OR_RETURN(jinja_eval(r, n->a, &v));
        bool on = jinja_truth(v);
        json_decref(v);
        if (on) return jinja_execute(r, n->b);
        if (n->c == NULL || n->c->kind != JINJA_IF || n->c->next != NULL)
            return jinja_execute(r, n->c);
        n = n->c;
    }
}

static lcsm_status run_text(jinja_run *r, const jinja_node *n)
{
    return jinja_print(r, r->out, n->value);
}

static lcsm_status run_macro(jinja_run *r, const jinja_node *n)
{
    if (r->macro_count == JINJA_MACROS) return jinja_fail(r, "more than %d macros", JINJA_MACROS);
    r->macros[r->macro_count++] = n;
    return LCSM_OK;
}

static lcsm_status run_jump(jinja_run *r, const jinja_node *n)
{
    r->breaks    = n->kind == JINJA_BREAK;
    r->continues = n->kind == JINJA_CONTINUE;
    return LCSM_OK;
}

lcsm_status jinja_execute(jinja_run *r, const jinja_node *n)
{
    static lcsm_status (*const BY_KIND[])(jinja_run *, const jinja_node *) = {
        [JINJA_TEXT] = run_text,   [JINJA_PRINT] = run_print, [JINJA_IF] = run_if,
        [JINJA_FOR] = run_for,     [JINJA_SET] = run_set,     [JINJA_SET_TEXT] = run_set_text,
        [JINJA_MACRO] = run_macro, [JINJA_BREAK] = run_jump,  [JINJA_CONTINUE] = run_jump,
    };
    for (; n != NULL && !r->breaks && !r->continues; n = n->next) {
        LCSM_OR_RETURN(jinja_spend(r, 1));
        r->line = n->line;
        LCSM_OR_RETURN(BY_KIND[n->kind](r, n));
    }
    return LCSM_OK;
}

lcsm_status lcsm_jinja_render(const lcsm_jinja *t, const json_t *variables, lcsm_strbuf *out,
                              lcsm_error *err)
{
    jinja_scope given  = {.vars = (json_t *)(uintptr_t)variables};
    jinja_scope global = {.up = &given};
    jinja_run   r      = {.of = t, .out = out, .scope = &global, .global = &global, .err = err};
    lcsm_status st     = jinja_execute(&r, t->body);
    json_decref(global.vars);
    json_decref(global.spaces);
    return st;
}
