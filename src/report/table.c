/* table.c - tables as text, Markdown, CSV and HTML. */
#include "report/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/escape.h"

void lcsm_table_column(lcsm_table *t, const char *head, lcsm_align align)
{
    lcsm_head *more = realloc(t->heads, (t->columns + 1) * sizeof *more);
    char      *text = strdup(head);
    if (more != NULL) t->heads = more;
    if (more == NULL || text == NULL) {
        free(text);
        t->failed = true;
        return;
    }
    t->heads[t->columns++] = (lcsm_head){text, align};
}

static lcsm_cell *add_cell(lcsm_table *t)
{
    if (t->count == t->capacity) {
        size_t     more  = t->capacity == 0 ? 64 : 2 * t->capacity;
        lcsm_cell *cells = realloc(t->cells, more * sizeof *cells);
        if (cells == NULL) {
            t->failed = true;
            return NULL;
        }
        t->cells    = cells;
        t->capacity = more;
    }
    t->cells[t->count] = (lcsm_cell){0};
    return &t->cells[t->count++];
}

void lcsm_table_cell(lcsm_table *t, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int        length = vsnprintf(NULL, 0, fmt, args);
    lcsm_cell *cell   = add_cell(t);
    if (cell != NULL) cell->text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (cell != NULL && cell->text != NULL)
        (void)vsnprintf(cell->text, (size_t)length + 1, fmt, again);
    else t->failed = true;
    va_end(again);
    va_end(args);
}

void lcsm_table_mark(lcsm_table *t, lcsm_mark mark)
{
    if (t->count > 0) t->cells[t->count - 1].mark = mark;
}

const char *lcsm_number_text(char text[LCSM_NUMBER_TEXT], int digits, double x)
{
    if (fabs(x) < 1e12) (void)snprintf(text, LCSM_NUMBER_TEXT, "%.*f", digits, x);
    else (void)snprintf(text, LCSM_NUMBER_TEXT, "%.3g", x);
    return text;
}

void lcsm_table_number(lcsm_table *t, int digits, double x)
{
    char text[LCSM_NUMBER_TEXT];
    if (isfinite(x)) lcsm_table_cell(t, "%s", lcsm_number_text(text, digits, x));
    else lcsm_table_cell(t, "%s", "");
}

size_t lcsm_table_rows(const lcsm_table *t)
{
    return t->columns == 0 ? 0 : t->count / t->columns;
}

void lcsm_table_free(lcsm_table *t)
{
    for (size_t j = 0; j < t->columns; j++) free(t->heads[j].text);
    for (size_t j = 0; j < t->count; j++) free(t->cells[j].text);
    free(t->heads);
    free(t->cells);
    *t = (lcsm_table){0};
}

static const lcsm_cell *at(const lcsm_table *t, size_t row, size_t column)
{
    return &t->cells[row * t->columns + column];
}

/* ---- text and Markdown: columns as wide as their widest cell ------------------------------- */

static void put_padded(lcsm_strbuf *out, const char *text, size_t width, lcsm_align align)
{
    size_t letters = lcsm_text_width(text);
    int    pad     = width > letters ? (int)(width - letters) : 0;
    if (align == LCSM_RIGHT) lcsm_strbuf_printf(out, "%*s", pad, "");
    lcsm_put_text(out, text);
    if (align == LCSM_LEFT) lcsm_strbuf_printf(out, "%*s", pad, "");
}

static size_t width_of(const lcsm_table *t, size_t column)
{
    size_t widest = lcsm_text_width(t->heads[column].text);
    for (size_t r = 0; r < lcsm_table_rows(t); r++) {
        size_t width = lcsm_text_width(at(t, r, column)->text);
        if (width > widest) widest = width;
    }
    return widest;
}

static void trim(lcsm_strbuf *out)
{
    while (out->size > 0 && out->text[out->size - 1] == ' ') out->text[--out->size] = '\0';
}

void lcsm_table_text(const lcsm_table *t, lcsm_strbuf *out)
{
    size_t *width = malloc((t->columns + 1) * sizeof *width);
    if (width == NULL) {
        out->failed = true;
        return;
    }
    for (size_t c = 0; c < t->columns; c++) width[c] = width_of(t, c);
    for (size_t r = 0; r < lcsm_table_rows(t) + 1; r++) {
        for (size_t c = 0; c < t->columns; c++) {
            if (c > 0) lcsm_strbuf_add(out, "  ");
            put_padded(out, r == 0 ? t->heads[c].text : at(t, r - 1, c)->text, width[c],
                       t->heads[c].align);
        }
        trim(out);
        lcsm_strbuf_add(out, "\n");
    }
    free(width);
}

static void markdown_cell(lcsm_strbuf *out, const char *text, lcsm_mark mark)
{
    bool bold = mark == LCSM_MARK_BEST && *text != '\0';
    lcsm_strbuf_add(out, bold ? " **" : " ");
    lcsm_put_markdown(out, text);
    lcsm_strbuf_add(out, bold ? "** |" : " |");
}

void lcsm_table_markdown(const lcsm_table *t, lcsm_strbuf *out)
{
    lcsm_strbuf_add(out, "|");
    for (size_t c = 0; c < t->columns; c++) markdown_cell(out, t->heads[c].text, LCSM_MARK_NONE);
    lcsm_strbuf_add(out, "\n|");
    for (size_t c = 0; c < t->columns; c++)
        lcsm_strbuf_add(out, t->heads[c].align == LCSM_RIGHT ? "---:|" : "---|");
    lcsm_strbuf_add(out, "\n");
    for (size_t r = 0; r < lcsm_table_rows(t); r++) {
        lcsm_strbuf_add(out, "|");
        for (size_t c = 0; c < t->columns; c++)
            markdown_cell(out, at(t, r, c)->text, at(t, r, c)->mark);
        lcsm_strbuf_add(out, "\n");
    }
}

/* ---- CSV and HTML -------------------------------------------------------------------------- */

void lcsm_table_csv(const lcsm_table *t, lcsm_strbuf *out)
{
    for (size_t r = 0; r < lcsm_table_rows(t) + 1; r++) {
        for (size_t c = 0; c < t->columns; c++) {
            if (c > 0) lcsm_strbuf_add(out, ",");
            lcsm_put_csv(out, r == 0 ? t->heads[c].text : at(t, r - 1, c)->text);
        }
        lcsm_strbuf_add(out, "\r\n");
    }
}

static void html_cell(lcsm_strbuf *out, const char *tag, const char *text, lcsm_align align,
                      lcsm_mark mark)
{
    static const char *const classes[] = {"", " best", " faint", " bad"};
    const char              *number    = align == LCSM_RIGHT ? "n" : "t";
    lcsm_strbuf_printf(out, "<%s class=\"%s%s\">", tag, number, classes[mark]);
    lcsm_put_html(out, text);
    lcsm_strbuf_printf(out, "</%.2s>", tag);
}

void lcsm_table_html(const lcsm_table *t, lcsm_strbuf *out)
{
    lcsm_strbuf_add(out, "<div class=\"scroll\"><table>\n<thead><tr>");
    for (size_t c = 0; c < t->columns; c++)
        html_cell(out, "th scope=\"col\"", t->heads[c].text, t->heads[c].align, LCSM_MARK_NONE);
    lcsm_strbuf_add(out, "</tr></thead>\n<tbody>\n");
    for (size_t r = 0; r < lcsm_table_rows(t); r++) {
        lcsm_strbuf_add(out, "<tr>");
        for (size_t c = 0; c < t->columns; c++)
            html_cell(out, c == 0 ? "th scope=\"row\"" : "td", at(t, r, c)->text, t->heads[c].align,
                      at(t, r, c)->mark);
        lcsm_strbuf_add(out, "</tr>\n");
    }
    lcsm_strbuf_add(out, "</tbody></table></div>\n");
}
