/* html.c - a document as one page that needs nothing else. */
#include <lcsm/lcsm.h>
#include <string.h>

#include "report/doc.h"
#include "report/escape.h"
#include "report/svg.h"

static const char STYLE[] =
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%;text-size-adjust:100%}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"
    "'Segoe UI',Roboto,'Noto Sans',sans-serif;font-variant-numeric:tabular-nums lining-nums}\n"
    "main,header,footer{max-width:62rem;margin:0 auto;padding:0 1.1rem}\n"
    "header{padding-top:2.6rem}footer{padding-top:2rem;padding-bottom:3rem;color:var(--soft);"
    "font-size:.85rem}\n"
    "h1{font-size:1.9rem;line-height:1.2;margin:0 0 .4rem;letter-spacing:-.01em}\n"
    "h2{font-size:1.45rem;line-height:1.25;margin:3.2rem 0 .5rem;padding-top:1.1rem;"
    "border-top:2px solid var(--ink);letter-spacing:-.005em}\n"
    "h3{font-size:1.06rem;margin:2.1rem 0 .6rem}\n"
    "p{margin:.5rem 0 1rem;max-width:44rem;text-wrap:pretty}p.lead{font-size:1.06rem}\n"
    "nav ol{list-style:none;margin:1rem 0 0;padding:0;display:flex;flex-wrap:wrap;gap:.15rem "
    "1.3rem}\n"
    "a{color:var(--c0);text-underline-offset:.15em}\n"
    "dl.facts{display:flex;flex-wrap:wrap;gap:.7rem 2rem;margin:1.1rem 0 1.4rem}\n"
    ".facts div{min-width:5.5rem}.facts dt{color:var(--soft);font-size:.8rem;line-height:1.3}\n"
    ".facts dd{margin:0;font-size:1.15rem;font-weight:600;overflow-wrap:anywhere}\n"
    /* Shadows at the sides where a table goes on. */
    ".scroll{overflow-x:auto;margin:.3rem 0 .4rem;-webkit-overflow-scrolling:touch;background:"
    "linear-gradient(to right,var(--paper) 40%,transparent) 0 0/2.4rem 100% no-repeat local,"
    "linear-gradient(to left,var(--paper) 40%,transparent) 100% 0/2.4rem 100% no-repeat local,"
    "linear-gradient(to right,var(--soft),transparent) 0 0/.7rem 100% no-repeat scroll,"
    "linear-gradient(to left,var(--soft),transparent) 100% 0/.7rem 100% no-repeat scroll}\n"
    "table{border-collapse:collapse;font-size:.9rem;line-height:1.4;border-bottom:1px solid "
    "var(--soft)}\n"
    "th,td{padding:.28rem .8rem;border-top:1px solid var(--rule);vertical-align:baseline;"
    "font-weight:400;text-align:left}\n"
    "thead th{border-top:1px solid var(--soft);border-bottom:1px solid var(--soft);"
    "color:var(--soft);font-size:.8rem;vertical-align:bottom;max-width:9rem}\n"
    "th:first-child{position:sticky;left:0;background:var(--paper);padding-left:0;"
    "overflow-wrap:anywhere;min-width:5.5rem;max-width:20rem}\n"
    ".n{text-align:right;white-space:nowrap}thead "
    ".n{white-space:normal;min-width:4.5rem}.best{font-weight:700}.faint{color:var(--soft)}"
    ".bad{color:var(--c1)}\n"
    ".caption,figcaption{color:var(--soft);font-size:.85rem;line-height:1.45;max-width:44rem;"
    "margin:.3rem 0 1.5rem;text-wrap:pretty}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,23rem),1fr));"
    "gap:1.4rem 2.2rem;margin:1.2rem 0;align-items:start}\n"
    "figure{margin:0;max-width:40rem}\n"
    "ul.findings{list-style:none;margin:.6rem 0 1.4rem;padding:0;max-width:46rem}\n"
    ".findings li{padding:.45rem 0 .5rem 8.4rem;position:relative;border-top:1px solid "
    "var(--rule)}\n"
    ".findings b{position:absolute;left:0;top:.5rem;font-size:.8rem;font-weight:600;"
    "color:var(--soft)}\n"
    ".findings .yes b{color:var(--c2)}.findings .no b{color:var(--c1)}\n"
    ".findings small{display:block;color:var(--soft);font-size:.83rem;line-height:1.45}\n"
    ".note{border-left:3px solid var(--c1);padding-left:.8rem}\n"
    "details{border-top:1px solid var(--rule);margin:.2rem 0}\n"
    "details[open]{padding-bottom:.8rem}\n"
    "summary{cursor:pointer;padding:.5rem 0;font-weight:600}\n"
    "pre{margin:.4rem 0 1rem;padding:.7rem .9rem;overflow-x:auto;border:1px solid var(--rule);"
    "border-radius:4px;font:.82rem/1.5 ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono',"
    "monospace;white-space:pre-wrap;overflow-wrap:anywhere}\n"
    "@media (max-width:40rem){body{font-size:15px}h1{font-size:1.55rem}h2{font-size:1.25rem}"
    "th,td{padding:.28rem .55rem}.findings li{padding-left:0;padding-top:1.6rem}}\n"
    "@media "
    "print{@page{margin:16mm}body{font-size:10pt}main,header,footer{max-width:none;padding:0}"
    "h2{break-before:auto}h2,h3{break-after:avoid}figure,tr,.findings li{break-inside:avoid}"
    "thead{display:table-header-group}th,td:first-child,th:first-child{position:static}.scroll{"
    "overflow:visible;background:none}.figures{grid-"
    "template-columns:1fr "
    "1fr}summary{list-style:none}nav{display:none}table{font-size:8.5pt}th,td{padding:.15rem .4rem}"
    "a{color:inherit}}\n";

/* Folded parts are printed too. */
static const char SCRIPT[] =
    "addEventListener('beforeprint',function(){document.querySelectorAll('details')"
    ".forEach(function(d){d.open=true})});";

static void put_element(lcsm_strbuf *out, const char *open, const char *text, const char *close)
{
    lcsm_strbuf_add(out, open);
    lcsm_put_html(out, text);
    lcsm_strbuf_add(out, close);
}

/* ---- blocks -------------------------------------------------------------------------------- */

/* Neighbours of these kinds stand in one element. */
static const struct {
    lcsm_block_kind kind;
    const char     *open, *close;
} GROUPS[] = {
    {LCSM_BLOCK_FACT, "<dl class=\"facts\">\n", "</dl>\n"},
    {LCSM_BLOCK_FINDING, "<ul class=\"findings\">\n", "</ul>\n"},
    {LCSM_BLOCK_FIGURE, "<div class=\"figures\">\n", "</div>\n"},
};

static void put_group(lcsm_strbuf *out, const lcsm_doc *d, size_t j, bool open)
{
    lcsm_block_kind kind = d->blocks[j].kind;
    bool            same = open ? j > 0 && d->blocks[j - 1].kind == kind
                                : j + 1 < d->count && d->blocks[j + 1].kind == kind;
    for (size_t g = 0; g < COUNT(GROUPS) && !same; g++)
        if (GROUPS[g].kind == kind) lcsm_strbuf_add(out, open ? GROUPS[g].open : GROUPS[g].close);
}

static void put_finding(lcsm_strbuf *out, const lcsm_block *b)
{
    static const char *const open[] = {
        "<li><b>not run</b>",
        "<li class=\"yes\"><b>&#10003; confirmed</b>",
        "<li class=\"no\"><b>&#10007; not confirmed</b>",
    };
    put_element(out, open[b->finding], b->text, "");
    if (b->more[0] != '\0') put_element(out, "<small>", b->more, "</small>");
    lcsm_strbuf_add(out, "</li>\n");
}

static void put_block(lcsm_strbuf *out, const lcsm_block *b, size_t number)
{
    switch (b->kind) {
    case LCSM_BLOCK_SECTION:
        lcsm_strbuf_printf(out, "<h2 id=\"s%zu\">", number);
        put_element(out, "", b->text, "</h2>\n");
        return;
    case LCSM_BLOCK_HEADING: put_element(out, "<h3>", b->text, "</h3>\n"); return;
    case LCSM_BLOCK_LEAD: put_element(out, "<p class=\"lead\">", b->text, "</p>\n"); return;
    case LCSM_BLOCK_TEXT: put_element(out, "<p>", b->text, "</p>\n"); return;
    case LCSM_BLOCK_NOTE: put_element(out, "<p class=\"note\">", b->text, "</p>\n"); return;
    case LCSM_BLOCK_FACT:
        put_element(out, "<div><dt>", b->text, "</dt>");
        put_element(out, "<dd>", b->more, "</dd></div>\n");
        return;
    case LCSM_BLOCK_FINDING: put_finding(out, b); return;
    case LCSM_BLOCK_TABLE:
        lcsm_table_html(&b->table, out);
        if (b->text[0] != '\0') put_element(out, "<p class=\"caption\">", b->text, "</p>\n");
        return;
    case LCSM_BLOCK_FIGURE:
        lcsm_strbuf_add(out, "<figure>\n");
        lcsm_strbuf_add(out, b->more);
        put_element(out, "<figcaption>", b->text, "</figcaption></figure>\n");
        return;
    case LCSM_BLOCK_CODE:
        lcsm_strbuf_add(out, "<pre>");
        lcsm_put_html_lines(out, b->text);
        lcsm_strbuf_add(out, "</pre>\n");
        return;
    case LCSM_BLOCK_FOLD: put_element(out, "<details><summary>", b->text, "</summary>\n"); return;
    case LCSM_BLOCK_UNFOLD: lcsm_strbuf_add(out, "</details>\n"); return;
    }
}

static void put_contents(lcsm_strbuf *out, const lcsm_doc *d)
{
    size_t sections = 0;
    for (size_t j = 0; j < d->count; j++) sections += d->blocks[j].kind == LCSM_BLOCK_SECTION;
    if (sections < 2) return;
    lcsm_strbuf_add(out, "<nav aria-label=\"Contents\"><ol>\n");
    for (size_t j = 0; j < d->count; j++) {
        if (d->blocks[j].kind != LCSM_BLOCK_SECTION) continue;
        lcsm_strbuf_printf(out, "<li><a href=\"#s%zu\">", j);
        put_element(out, "", d->blocks[j].text, "</a></li>\n");
    }
    lcsm_strbuf_add(out, "</ol></nav>\n");
}

void lcsm_doc_html(const lcsm_doc *d, lcsm_strbuf *out)
{
    lcsm_strbuf_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                         "<meta name=\"color-scheme\" content=\"light dark\">\n"
                         "<link rel=\"icon\" href=\"data:,\">\n");
    put_element(out, "<title>", d->title, "</title>\n<style>\n");
    lcsm_strbuf_add(out, LCSM_SVG_STYLE);
    lcsm_strbuf_add(out, STYLE);
    put_element(out, "</style>\n</head>\n<body>\n<header>\n<h1>", d->title, "</h1>\n");
    put_contents(out, d);
    lcsm_strbuf_add(out, "</header>\n<main>\n");
    for (size_t j = 0; j < d->count; j++) {
        put_group(out, d, j, true);
        put_block(out, &d->blocks[j], j);
        put_group(out, d, j, false);
    }
    lcsm_strbuf_printf(
        out, "</main>\n<footer>Written by lcsm %s. " LCSM_PAPER ".</footer>\n<script>%s</script>\n",
        LCSM_VERSION, SCRIPT);
    lcsm_strbuf_add(out, "</body>\n</html>\n");
}
