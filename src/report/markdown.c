/* markdown.c - a document as Markdown, and as text for a terminal. */
#include <stdio.h>

#include "report/doc.h"
#include "report/escape.h"

static const char *const FINDINGS[] = {"not run", "shown", "not shown"};

static void put_line(lcsm_strbuf *out, const char *before, const char *text, const char *after)
{
    lcsm_strbuf_add(out, before);
    lcsm_put_markdown(out, text);
    lcsm_strbuf_add(out, after);
}

/* Indented by four: code that needs no fence, which the text might contain. */
static void put_code(lcsm_strbuf *out, const char *text)
{
    lcsm_strbuf_add(out, "    ");
    for (; *text != '\0'; text++) {
        lcsm_strbuf_bytes(out, text, 1);
        if (*text == '\n' && text[1] != '\0') lcsm_strbuf_add(out, "    ");
    }
    lcsm_strbuf_add(out, "\n\n");
}

static void put_figure(lcsm_strbuf *out, const lcsm_block *b, const char *figures)
{
    if (figures == NULL) return;
    put_line(out, "![", b->text, "](");
    lcsm_strbuf_printf(out, "%s/%s.svg)\n\n", figures, b->name);
    put_line(out, "", b->text, "\n\n");
}

static void put_block(lcsm_strbuf *out, const lcsm_block *b, const char *figures, bool last)
{
    switch (b->kind) {
    case LCSM_BLOCK_SECTION: put_line(out, "## ", b->text, "\n\n"); return;
    case LCSM_BLOCK_HEADING:
    case LCSM_BLOCK_FOLD: put_line(out, "### ", b->text, "\n\n"); return;
    case LCSM_BLOCK_LEAD:
    case LCSM_BLOCK_TEXT: put_line(out, "", b->text, "\n\n"); return;
    case LCSM_BLOCK_NOTE: put_line(out, "> ", b->text, "\n\n"); return;
    case LCSM_BLOCK_FACT:
        put_line(out, "- ", b->text, ": ");
        put_line(out, "", b->more, last ? "\n\n" : "\n");
        return;
    case LCSM_BLOCK_FINDING:
        lcsm_strbuf_printf(out, "- **%s**: ", FINDINGS[b->finding]);
        put_line(out, "", b->text, b->more[0] != '\0' ? "\\\n  " : "");
        put_line(out, "", b->more, last ? "\n\n" : "\n");
        return;
    case LCSM_BLOCK_TABLE:
        lcsm_table_markdown(&b->table, out);
        put_line(out, "\n", b->text, b->text[0] != '\0' ? "\n\n" : "");
        return;
    case LCSM_BLOCK_FIGURE: put_figure(out, b, figures); return;
    case LCSM_BLOCK_CODE: put_code(out, b->text); return;
    case LCSM_BLOCK_UNFOLD: return;
    }
}

static bool ends_group(const lcsm_doc *d, size_t j)
{
    return j + 1 == d->count || d->blocks[j + 1].kind != d->blocks[j].kind;
}

void lcsm_doc_markdown(const lcsm_doc *d, const char *figures, lcsm_strbuf *out)
{
    put_line(out, "# ", d->title, "\n\n");
    for (size_t j = 0; j < d->count; j++) put_block(out, &d->blocks[j], figures, ends_group(d, j));
}

/* Folded parts, figures and captions are left to the other formats. */
void lcsm_doc_text(const lcsm_doc *d, lcsm_strbuf *out)
{
    bool folded = false;
    for (size_t j = 0; j < d->count; j++) {
        const lcsm_block *b = &d->blocks[j];
        folded = (folded || b->kind == LCSM_BLOCK_FOLD) && b->kind != LCSM_BLOCK_UNFOLD;
        if (folded) continue;
        if (b->kind == LCSM_BLOCK_SECTION)
            lcsm_strbuf_printf(out, "%s%s\n", j > 0 ? "\n" : "", b->text);
        if (b->kind == LCSM_BLOCK_NOTE) lcsm_strbuf_printf(out, "  %s\n", b->text);
        if (b->kind == LCSM_BLOCK_FACT) lcsm_strbuf_printf(out, "  %-22s %s\n", b->text, b->more);
        if (b->kind == LCSM_BLOCK_FINDING)
            lcsm_strbuf_printf(out, "  %-9s  %s\n%s%s%s", FINDINGS[b->finding], b->text,
                               b->more[0] != '\0' ? "             " : "", b->more,
                               b->more[0] != '\0' ? "\n" : "");
        if (b->kind == LCSM_BLOCK_TABLE) {
            lcsm_strbuf_add(out, "\n");
            lcsm_table_text(&b->table, out);
        }
    }
}
