/*
 * escape.h - text on its way into HTML, SVG, Markdown, CSV and terminals.
 *
 * Where it says text, the result is one line of UTF-8: control characters, line ends among them,
 * become spaces, and bytes that are no UTF-8 become U+FFFD.
 */
#ifndef LCSM_REPORT_ESCAPE_H
#define LCSM_REPORT_ESCAPE_H
#include "base/strbuf.h"

/* As text that a terminal shows and does not obey. */
void lcsm_put_text(lcsm_strbuf *s, const char *text);

/* Its first letter; returns the bytes that this used up. */
size_t lcsm_put_letter(lcsm_strbuf *s, const char *text);

/* As text or as an attribute in double quotes. */
void lcsm_put_html(lcsm_strbuf *s, const char *text);

/* The same for <pre>, where lines stay lines. */
void lcsm_put_html_lines(lcsm_strbuf *s, const char *text);

/* As text that Markdown takes literally, also in a cell of a table. */
void lcsm_put_markdown(lcsm_strbuf *s, const char *text);

/* The same at the start of a line, where it is no heading, list or quote either. */
void lcsm_put_markdown_line(lcsm_strbuf *s, const char *text);

/* As a part of a relative URL: letters, digits and -._~/ stay, other bytes become %XX. */
void lcsm_put_url(lcsm_strbuf *s, const char *text);

/* As a field: quoted if it has to be (RFC 4180), and never one that a spreadsheet takes for a
 * formula unless it is a number. */
void lcsm_put_csv(lcsm_strbuf *s, const char *text);

/* Letters, digits, '.' and '-'; others become '-'. For names of files and anchors. */
void lcsm_put_slug(lcsm_strbuf *s, const char *text);

/* Letters as a reader counts them: code points; a byte that is no UTF-8 counts as one. */
size_t lcsm_text_width(const char *text);

#endif
