/* doc.c - the list of blocks. */
#include "report/doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lcsm_block *append(lcsm_doc *d, lcsm_block_kind kind)
{
    if (d->count == d->capacity) {
        size_t      more   = d->capacity == 0 ? 64 : 2 * d->capacity;
        lcsm_block *blocks = realloc(d->blocks, more * sizeof *blocks);
        if (blocks == NULL) {
            d->failed = true;
            return NULL;
        }
        d->blocks   = blocks;
        d->capacity = more;
    }
    d->blocks[d->count] = (lcsm_block){.kind = kind};
    return &d->blocks[d->count++];
}

static char *format(lcsm_doc *d, const char *fmt, va_list args) LCSM_PRINTF(2, 0);

static char *format(lcsm_doc *d, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int   length = vsnprintf(NULL, 0, fmt, args);
    char *text   = length < 0 ? NULL : malloc((size_t)length + 1);
    if (text != NULL) (void)vsnprintf(text, (size_t)length + 1, fmt, again);
    else d->failed = true;
    va_end(again);
    return text;
}

static char *copy(lcsm_doc *d, const char *text)
{
    char *same = strdup(text);
    if (same == NULL) d->failed = true;
    return same;
}

void lcsm_doc_add(lcsm_doc *d, lcsm_block_kind kind, const char *fmt, ...)
{
    va_list     args;
    lcsm_block *b = append(d, kind);
    va_start(args, fmt);
    if (b != NULL) b->text = format(d, fmt, args);
    va_end(args);
}

void lcsm_doc_fact(lcsm_doc *d, const char *name, const char *fmt, ...)
{
    va_list     args;
    lcsm_block *b = append(d, LCSM_BLOCK_FACT);
    va_start(args, fmt);
    if (b != NULL) {
        b->text = copy(d, name);
        b->more = format(d, fmt, args);
    }
    va_end(args);
}

void lcsm_doc_finding(lcsm_doc *d, lcsm_finding_state state, const char *text, const char *seen)
{
    lcsm_block *b = append(d, LCSM_BLOCK_FINDING);
    if (b == NULL) return;
    b->text    = copy(d, text);
    b->more    = copy(d, seen);
    b->finding = state;
}

void lcsm_doc_table(lcsm_doc *d, lcsm_table *t, const char *fmt, ...)
{
    va_list     args;
    lcsm_block *b = append(d, LCSM_BLOCK_TABLE);
    va_start(args, fmt);
    if (t->failed) d->failed = true;
    if (b != NULL) {
        b->text  = format(d, fmt, args);
        b->table = *t;
        *t       = (lcsm_table){0};
    }
    va_end(args);
    lcsm_table_free(t);
}

static bool has_figure(const lcsm_doc *d, const char *name)
{
    for (size_t j = 0; j < d->count; j++)
        if (strcmp(d->blocks[j].name, name) == 0) return true;
    return false;
}

/* A figure's name is that of its file, so no other has it: the second one gets -2. */
static void name_figure(const lcsm_doc *d, lcsm_block *b, const char *name)
{
    char own[sizeof b->name];
    (void)snprintf(own, sizeof own, "%.70s", name);
    for (size_t n = 2; has_figure(d, own); n++)
        (void)snprintf(own, sizeof own, "%.70s-%zu", name, n);
    memcpy(b->name, own, sizeof own);
}

void lcsm_doc_figure(lcsm_doc *d, lcsm_strbuf *svg, const char *name, const char *fmt, ...)
{
    va_list     args;
    lcsm_block *b = append(d, LCSM_BLOCK_FIGURE);
    va_start(args, fmt);
    if (svg->failed) d->failed = true;
    if (b != NULL) {
        b->text = format(d, fmt, args);
        b->more = copy(d, lcsm_strbuf_text(svg));
        name_figure(d, b, name);
    }
    va_end(args);
    lcsm_strbuf_free(svg);
}

void lcsm_doc_cut(lcsm_doc *d, size_t count)
{
    while (d->count > count) {
        lcsm_block *b = &d->blocks[--d->count];
        free(b->text);
        free(b->more);
        lcsm_table_free(&b->table);
    }
}

void lcsm_doc_free(lcsm_doc *d)
{
    lcsm_doc_cut(d, 0);
    free(d->blocks);
    *d = (lcsm_doc){0};
}
