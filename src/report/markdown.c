/* markdown.c - a document as Markdown, and as text for a terminal. */
#include <lcsm/lcsm.h>
#include <stdio.h>

#include "report/doc.h"
#include "report/escape.h"

static const char *const FINDINGS[] = {"not run", "confirmed", "not confirmed"};

static void put_line(lcsm_strbuf *out, const char *before, const char *text, const char *after)
{
    lcsm_strbuf_add(out, before);
    lcsm_put_markdown_line(out, text);
    lcsm_strbuf_add(out, after);
}

/* Indented by four: code that needs no fence, which the text might contain. */
static void put_code(lcsm_strbuf *out, const char *text)
{
    lcsm_strbuf_add(out, "    ");
    while (*text != '\0') {
        if (*text != '\n') {
            text += lcsm_put_letter(out, text);
            continue;
        }
        lcsm_strbuf_add(out, *++text == '\0' ? "\n" : "\n    ");
    }
    lcsm_strbuf_add(out, "\n\n");
}

static void put_figure(lcsm_strbuf *out, const lcsm_block *b, const char *figures)
{
    if (figures == NULL) return;
    put_line(out, "![", b->text, "](");
    lcsm_put_url(out, figures);
    lcsm_strbuf_printf(out, "%s.svg)\n\n", b->name);
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
    lcsm_strbuf_printf(out, "---\n\nWritten by lcsm %s. %s.\n", LCSM_VERSION, LCSM_PAPER);
}

/* ---- a terminal ---------------------------------------------------------------------------- */

static void put_words(lcsm_strbuf *out, const char *before, const char *text)
{
    lcsm_strbuf_add(out, before);
    lcsm_put_text(out, text);
    lcsm_strbuf_add(out, "\n");
}

static void show_note(lcsm_strbuf *out, const lcsm_block *b)
{
    put_words(out, "  ", b->text);
}

static void show_fact(lcsm_strbuf *out, const lcsm_block *b)
{
    lcsm_strbuf_printf(out, "  %-22s ", b->text);
    put_words(out, "", b->more);
}

static void show_finding(lcsm_strbuf *out, const lcsm_block *b)
{
    lcsm_strbuf_printf(out, "  %-13s  ", FINDINGS[b->finding]);
    put_words(out, "", b->text);
    if (b->more[0] != '\0') put_words(out, "                 ", b->more);
}

static void show_table(lcsm_strbuf *out, const lcsm_block *b)
{
    lcsm_strbuf_add(out, "\n");
    lcsm_table_text(&b->table, out);
}

/* Folded parts, figures and captions are left to the other formats, and so are headings that have
 * nothing else below them. */
void lcsm_doc_text(const lcsm_doc *d, lcsm_strbuf *out)
{
    static void (*const show[LCSM_BLOCK_UNFOLD + 1])(lcsm_strbuf *, const lcsm_block *) = {
        [LCSM_BLOCK_NOTE]    = show_note,
        [LCSM_BLOCK_FACT]    = show_fact,
        [LCSM_BLOCK_FINDING] = show_finding,
        [LCSM_BLOCK_TABLE]   = show_table,
    };
    const lcsm_block *heading = NULL; /* that is still to be shown */
    bool              folded  = false;
    for (size_t j = 0; j < d->count; j++) {
        const lcsm_block *b = &d->blocks[j];
        folded = (folded || b->kind == LCSM_BLOCK_FOLD) && b->kind != LCSM_BLOCK_UNFOLD;
        if (b->kind == LCSM_BLOCK_SECTION) put_words(out, j > 0 ? "\n" : "", b->text);
        if (b->kind == LCSM_BLOCK_SECTION) heading = NULL;
        if (b->kind == LCSM_BLOCK_HEADING) heading = b;
        if (folded || show[b->kind] == NULL) continue;
        if (heading != NULL) put_words(out, "\n", heading->text);
        heading = NULL;
        show[b->kind](out, b);
    }
}
