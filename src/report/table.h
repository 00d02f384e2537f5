/*
 * table.h - a table of texts, and how it looks in each format.
 *
 *     lcsm_table_column(&t, "code", LCSM_LEFT);
 *     lcsm_table_column(&t, "perplexity", LCSM_RIGHT);
 *     lcsm_table_cell(&t, "%s", code);
 *     lcsm_table_cell(&t, "%.2f", x);                   rows fill from left to right
 *
 * A failure is sticky: fill freely, ask `failed` once.
 */
#ifndef LCSM_REPORT_TABLE_H
#define LCSM_REPORT_TABLE_H
#include "base/strbuf.h"

typedef enum { LCSM_LEFT, LCSM_RIGHT } lcsm_align;
typedef enum { LCSM_MARK_NONE, LCSM_MARK_BEST, LCSM_MARK_FAINT, LCSM_MARK_BAD } lcsm_mark;

typedef struct {
    char     *text;
    lcsm_mark mark;
} lcsm_cell;

typedef struct {
    char      *text;
    lcsm_align align;
} lcsm_head;

/* {0} is empty and may be freed. */
typedef struct {
    lcsm_head *heads;
    lcsm_cell *cells; /* row by row */
    size_t     columns, count, capacity;
    bool       failed;
} lcsm_table;

void lcsm_table_column(lcsm_table *t, const char *head, lcsm_align align);
void lcsm_table_cell(lcsm_table *t, const char *fmt, ...) LCSM_PRINTF(2, 3);
void lcsm_table_mark(lcsm_table *t, lcsm_mark mark); /* the last cell */
/* A number with so many digits behind the point; nothing if it is not finite. */
void lcsm_table_number(lcsm_table *t, int digits, double x);

/* A number with so many digits behind its point; one that would be long, as a power of ten. */
enum { LCSM_NUMBER_TEXT = 32 };
const char *lcsm_number_text(char text[LCSM_NUMBER_TEXT], int digits, double x);

size_t lcsm_table_rows(const lcsm_table *t);
void   lcsm_table_free(lcsm_table *t);

void lcsm_table_text(const lcsm_table *t, lcsm_strbuf *out);
void lcsm_table_markdown(const lcsm_table *t, lcsm_strbuf *out);
void lcsm_table_csv(const lcsm_table *t, lcsm_strbuf *out);
void lcsm_table_html(const lcsm_table *t, lcsm_strbuf *out);

#endif
