/* jinja_run.h - what the parts of the interpreter share. */
#ifndef LCSM_TEXT_JINJA_RUN_H
#define LCSM_TEXT_JINJA_RUN_H
#include <stdbool.h>
#include <stdint.h>

#include "text/jinja.h"

/* Variables of a loop, of a macro or of the whole. */
typedef struct jinja_scope {
    json_t                   *vars;   /* an object */
    json_t                   *spaces; /* the namespaces, which only attributes reach */
    const struct jinja_scope *up;
} jinja_scope;

enum { JINJA_MACROS = 64 };

typedef struct {
    const lcsm_jinja *of;
    lcsm_strbuf      *out;
    jinja_scope      *scope, *global;
    const json_t     *text; /* of a set block, for its filters */
    size_t            line; /* of what is evaluated */
    size_t            steps, depth;
    bool              breaks, continues;
    const jinja_node *macros[JINJA_MACROS];
    size_t            macro_count;
    lcsm_error       *err;
} jinja_run;

enum { JINJA_ARGUMENTS = 16 };

/* The arguments of a call, evaluated. */
typedef struct {
    json_t     *list[JINJA_ARGUMENTS];
    const char *names[JINJA_ARGUMENTS]; /* NULL: by its place */
    size_t      count;
} jinja_args;

/* Everywhere: false, or a status, after r->err has the message. *out is a new reference, NULL the
 * undefined value. */
lcsm_status jinja_fail(const jinja_run *r, const char *fmt, ...) LCSM_PRINTF(2, 3);
lcsm_status jinja_no_memory(const jinja_run *r);

/* Where `what` begins in a text; NULL: nowhere. */
lcsm_status jinja_search(jinja_run *r, const char *text, size_t size, const char *what, size_t n,
                         const char **out);

/* Counts steps; an error when there were too many. */
lcsm_status jinja_spend(jinja_run *r, size_t steps);

lcsm_status jinja_eval(jinja_run *r, const jinja_node *n, json_t **out);
lcsm_status jinja_execute(jinja_run *r, const jinja_node *n);
lcsm_status jinja_set(jinja_run *r, jinja_scope *s, const char *name, json_t *value);

/* Arguments from their nodes. _free gives them back also after a failure. */
lcsm_status jinja_args_eval(jinja_run *r, jinja_args *args, const jinja_node *n);
void        jinja_args_free(jinja_args *args);
/* The argument at a place or of a name; NULL: there is none. Borrowed. */
json_t *jinja_arg(const jinja_args *args, size_t at, const char *name);
/* At most so many arguments. */
lcsm_status jinja_args_most(const jinja_run *r, const jinja_args *args, size_t most,
                            const char *what);

/* Filters, tests, functions and methods by name. _function returns false in *known for a name that
 * is none. */
lcsm_status jinja_filter(jinja_run *r, const char *name, json_t *value, const jinja_args *args,
                         json_t **out);
lcsm_status jinja_test(jinja_run *r, const char *name, json_t *value, const jinja_args *args,
                       bool *out);
lcsm_status jinja_function(jinja_run *r, const char *name, const jinja_args *args, json_t **out,
                           bool *known);
lcsm_status jinja_method(jinja_run *r, json_t *of, const char *name, const jinja_args *args,
                         json_t **out);

/* ---- values ---- */

bool        jinja_truth(const json_t *v);
const char *jinja_type(const json_t *v); /* as "a string" */
lcsm_status jinja_equal(jinja_run *r, const json_t *a, const json_t *b, bool *out);
/* < 0, 0 or > 0 of two numbers or two strings. */
lcsm_status jinja_compare(jinja_run *r, const json_t *a, const json_t *b, int *out);
lcsm_status jinja_contains(jinja_run *r, const json_t *all, const json_t *one, bool *out);
lcsm_status jinja_binary(jinja_run *r, jinja_op op, json_t *a, json_t *b, json_t **out);

/* The value as text: as it is printed, as Python writes it, or as JSON. indent < 0: one line. */
lcsm_status jinja_print(jinja_run *r, lcsm_strbuf *out, const json_t *v);
lcsm_status jinja_write_json(jinja_run *r, lcsm_strbuf *out, const json_t *v, int indent);

/* A string of bytes that are UTF-8; frees the buffer. */
lcsm_status jinja_string(jinja_run *r, lcsm_strbuf *from, json_t **out);
lcsm_status jinja_bytes(jinja_run *r, const char *bytes, size_t size, json_t **out);
/* Keeps a new value, or says that there is no memory. */
lcsm_status jinja_keep(const jinja_run *r, json_t *value, json_t **out);
/* Refuses a value that is nested too deeply. */
lcsm_status jinja_shallow(jinja_run *r, const json_t *v);

/* All items of a list, keys of an object or characters of a string as a list. */
lcsm_status jinja_items(jinja_run *r, json_t *v, json_t **out);
size_t      jinja_characters(const json_t *text);
/* The place of a character; the size behind the last. */
size_t jinja_place(const json_t *text, size_t character);

#endif
