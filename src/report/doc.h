/*
 * doc.h - a report before it has a format: headings, paragraphs, tables, figures, in order.
 *
 * Builders append blocks; html.c and markdown.c write them. Texts are plain and escaped by the
 * writers. A failure is sticky: append freely, ask `failed` once.
 */
#ifndef LCSM_REPORT_DOC_H
#define LCSM_REPORT_DOC_H
#include "report/table.h"

/* What the reports compare with. */
#define LCSM_PAPER                                                                                 \
    "The paper: Zhen Qin, Xuyang Shen, Dong Li, Weigao Sun, Stan Birchfield, Richard Hartley, "    \
    "Yiran Zhong: Unlocking the Secrets of Linear Complexity Sequence Model from A Unified "       \
    "Perspective, ICML 2024, arXiv:2405.17383"

typedef enum {
    LCSM_BLOCK_SECTION, /* a heading of the first level below the title */
    LCSM_BLOCK_HEADING,
    LCSM_BLOCK_LEAD, /* the first words of a section */
    LCSM_BLOCK_TEXT,
    LCSM_BLOCK_NOTE,    /* something is not as it should be */
    LCSM_BLOCK_FACT,    /* text: a name, more: its value; neighbours stand in one row */
    LCSM_BLOCK_FINDING, /* text: what is claimed, more: what was seen */
    LCSM_BLOCK_TABLE,   /* text: its caption */
    LCSM_BLOCK_FIGURE,  /* text: its caption, more: the SVG, name: of its file */
    LCSM_BLOCK_CODE,
    LCSM_BLOCK_FOLD, /* what follows up to _UNFOLD is for those who ask; text: a title */
    LCSM_BLOCK_UNFOLD,
} lcsm_block_kind;

typedef enum {
    LCSM_FINDING_OPEN,
    LCSM_FINDING_CONFIRMED,
    LCSM_FINDING_NOT_CONFIRMED
} lcsm_finding_state;

typedef struct {
    lcsm_block_kind    kind;
    char              *text, *more;
    char               name[96];
    lcsm_table         table;
    lcsm_finding_state finding;
} lcsm_block;

/* {0} is empty and may be freed. */
typedef struct {
    char        title[160];
    lcsm_block *blocks;
    size_t      count, capacity;
    bool        failed;
} lcsm_doc;

void lcsm_doc_add(lcsm_doc *d, lcsm_block_kind kind, const char *fmt, ...) LCSM_PRINTF(3, 4);
void lcsm_doc_fact(lcsm_doc *d, const char *name, const char *fmt, ...) LCSM_PRINTF(3, 4);
void lcsm_doc_finding(lcsm_doc *d, lcsm_finding_state state, const char *text, const char *seen);
/* Takes over what the table and the figure hold, and leaves them empty. Figures that are given the
 * same name are numbered. */
void lcsm_doc_table(lcsm_doc *d, lcsm_table *t, const char *fmt, ...) LCSM_PRINTF(3, 4);
void lcsm_doc_figure(lcsm_doc *d, lcsm_strbuf *svg, const char *name, const char *fmt, ...)
    LCSM_PRINTF(4, 5);
/* Takes back all blocks but the first `count`. */
void lcsm_doc_cut(lcsm_doc *d, size_t count);
void lcsm_doc_free(lcsm_doc *d);

void lcsm_doc_html(const lcsm_doc *d, lcsm_strbuf *out);
/* figures: what stands before the names of SVG files in a link, or NULL for none. */
void lcsm_doc_markdown(const lcsm_doc *d, const char *figures, lcsm_strbuf *out);
/* What a terminal shows: facts, findings and tables. */
void lcsm_doc_text(const lcsm_doc *d, lcsm_strbuf *out);

#endif
