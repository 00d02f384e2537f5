/* svg.c - the parts of a figure. Coordinates have one digit behind the point. */
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/escape.h"

/* Eight colours after Okabe and Ito, darker on white and lighter on black where they need it, and
 * four more for long tables; then a ramp from blue to orange that gets lighter step by step, so
 * that readers with and without colour blindness can follow it. All stand out from the page, 3 to 1
 * or more. */
#define LIGHT_RAMP                                                                                 \
    ";--r0:#12237d;--r1:#2a2685;--r2:#3e288d;--r3:#502a96"                                         \
    ";--r4:#622c9a;--r5:#732e97;--r6:#852f93;--r7:#972e8f"                                         \
    ";--r8:#a72e8a;--r9:#b2377e;--r10:#bd3e71;--r11:#c84362"                                       \
    ";--r12:#d14b54;--r13:#d65847;--r14:#db6537;--r15:#e0701a"
#define DARK_RAMP                                                                                  \
    ";--r0:#3f6fee;--r1:#626fef;--r2:#7d6eef;--r3:#956cef"                                         \
    ";--r4:#a86fe2;--r5:#ba71d5;--r6:#cc71c7;--r7:#de70b9"                                         \
    ";--r8:#e678a9;--r9:#ed7f98;--r10:#f48684;--r11:#fb8d6e"                                       \
    ";--r12:#ff975d;--r13:#ffa655;--r14:#ffb44b;--r15:#ffc23d"
#define LIGHT                                                                                      \
    "--ink:#1c2126;--soft:#5b6570;--rule:#d9dee3;--paper:#fff;--c0:#0072b2;--c1:#d55e00;"          \
    "--c2:#00855f;--c3:#b5498a;--c4:#a87400;--c5:#2f9bd6;--c6:#6a51a3;--c7:#5b6570"                \
    ";--c8:#7f4f24;--c9:#c2185b;--c10:#5d7a00;--c11:#1f3a93" LIGHT_RAMP
#define DARK                                                                                       \
    "--ink:#e6eaee;--soft:#9aa5b1;--rule:#343c45;--paper:#14181c;--c0:#4ba3dc;--c1:#f28c4b;"       \
    "--c2:#3fc49a;--c3:#e08cc0;--c4:#e0b04a;--c5:#8fd0f5;--c6:#a99bdc;--c7:#aab4be"                \
    ";--c8:#c9976b;--c9:#ff6f9f;--c10:#b5cc4a;--c11:#7d93ff" DARK_RAMP

const char LCSM_SVG_STYLE[] =
    ":root{" LIGHT "}\n"
    "@media (prefers-color-scheme:dark){:root{" DARK "}}\n"
    "@media print{:root{" LIGHT "}}\n"
    "svg.fig{display:block;width:100%;height:auto;font:12px system-ui,-apple-system,'Segoe UI',"
    "Roboto,'Noto Sans',sans-serif;font-variant-numeric:tabular-nums}\n"
    ".fig text{fill:var(--ink)}.fig .soft{fill:var(--soft)}.fig "
    ".head{font-weight:600;font-size:13px}\n"
    ".fig .grid{stroke:var(--rule);stroke-width:1}.fig .edge{stroke:var(--soft);stroke-width:1}\n"
    ".fig .line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}\n"
    ".fig .band{stroke:none;opacity:.16}.fig .dot{stroke:var(--paper);stroke-width:.8}\n"
    ".fig .thin{stroke-width:1.1}.fig .void{fill:none;stroke:var(--rule)}\n"
    ".k0{--k:var(--c0)}.k1{--k:var(--c1)}.k2{--k:var(--c2)}.k3{--k:var(--c3)}"
    ".k4{--k:var(--c4)}.k5{--k:var(--c5)}.k6{--k:var(--c6)}.k7{--k:var(--c7)}"
    ".k8{--k:var(--c8)}.k9{--k:var(--c9)}.k10{--k:var(--c10)}.k11{--k:var(--c11)}\n"
    ".r0{--k:var(--r0)}.r1{--k:var(--r1)}.r2{--k:var(--r2)}.r3{--k:var(--r3)}"
    ".r4{--k:var(--r4)}.r5{--k:var(--r5)}.r6{--k:var(--r6)}.r7{--k:var(--r7)}"
    ".r8{--k:var(--r8)}.r9{--k:var(--r9)}.r10{--k:var(--r10)}.r11{--k:var(--r11)}"
    ".r12{--k:var(--r12)}.r13{--k:var(--r13)}.r14{--k:var(--r14)}.r15{--k:var(--r15)}\n"
    ".fig .line{stroke:var(--k)}.fig .band,.fig .dot,.fig .bar,.fig .cell{fill:var(--k)}\n"
    ".fig .cell{shape-rendering:crispEdges}\n"
    ".fig .whisker{stroke:var(--ink);stroke-width:1.2;fill:none}\n";

void lcsm_svg_open(lcsm_strbuf *s, double height, const char *title)
{
    lcsm_strbuf_printf(s,
                       "<svg class=\"fig\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
                       "viewBox=\"0 0 %d %.0f\" aria-label=\"",
                       LCSM_SVG_WIDTH, height);
    lcsm_put_html(s, title);
    lcsm_strbuf_add(s, "\">\n");
    /* Letters of a head are an eighth wider. */
    lcsm_svg_label(s, 0, 14, LCSM_START, "head", title, LCSM_SVG_WIDTH * 7 / 8.0);
}

void lcsm_svg_close(lcsm_strbuf *s)
{
    lcsm_strbuf_add(s, "</svg>\n");
}

static void open_text(lcsm_strbuf *s, double x, double y, lcsm_anchor anchor, const char *css)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    lcsm_strbuf_printf(s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y,
                       anchors[anchor], css);
}

void lcsm_svg_text(lcsm_strbuf *s, double x, double y, lcsm_anchor anchor, const char *css,
                   const char *text)
{
    open_text(s, x, y, anchor, css);
    lcsm_put_html(s, text);
    lcsm_strbuf_add(s, "</text>\n");
}

/* Letters of a wide sans-serif face at 12 units are about 7 wide, those of Chinese, Japanese and
 * Korean 12: they have three bytes or more. A byte that goes on with a letter adds nothing. */
static double byte_width(unsigned char byte)
{
    return byte >= 0xE0 ? 12 : byte >= 0x80 && byte < 0xC0 ? 0 : 7;
}

double lcsm_svg_width(const char *text)
{
    double width = 0;
    for (; *text != '\0'; text++) width += byte_width((unsigned char)*text);
    return width;
}

/* The letters of the text that fit into the room, as many bytes. */
static size_t bytes_within(const char *text, double room)
{
    size_t n = 0;
    for (; text[n] != '\0'; n++)
        if ((room -= byte_width((unsigned char)text[n])) < 0) break;
    return n;
}

void lcsm_svg_label(lcsm_strbuf *s, double x, double y, lcsm_anchor anchor, const char *css,
                    const char *text, double room)
{
    static const char ellipsis[] = "\xE2\x80\xA6";
    lcsm_strbuf       cut        = {0};
    if (lcsm_svg_width(text) <= room) {
        lcsm_svg_text(s, x, y, anchor, css, text);
        return;
    }
    lcsm_strbuf_bytes(&cut, text, bytes_within(text, room - lcsm_svg_width(ellipsis)));
    lcsm_strbuf_add(&cut, ellipsis);
    if (cut.failed) s->failed = true;
    open_text(s, x, y, anchor, css);
    lcsm_svg_title(s, text);
    lcsm_put_html(s, lcsm_strbuf_text(&cut));
    lcsm_strbuf_add(s, "</text>\n");
    lcsm_strbuf_free(&cut);
}

void lcsm_svg_line(lcsm_strbuf *s, double x1, double y1, double x2, double y2, const char *css)
{
    lcsm_strbuf_printf(s, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n",
                       x1, y1, x2, y2, css);
}

void lcsm_svg_title(lcsm_strbuf *s, const char *text)
{
    lcsm_strbuf_add(s, "<title>");
    lcsm_put_html(s, text);
    lcsm_strbuf_add(s, "</title>");
}

double lcsm_plot_x(const lcsm_plot *p, double x)
{
    return p->left + p->width * lcsm_axis_place(&p->x, x);
}

double lcsm_plot_y(const lcsm_plot *p, double y)
{
    return p->top + p->height * (1 - lcsm_axis_place(&p->y, y));
}

void lcsm_plot_x_axis(lcsm_strbuf *s, const lcsm_plot *p, const char *name)
{
    double bottom = p->top + p->height, last = -1e9;
    for (size_t j = 0; j < p->x.count; j++) {
        char   label[LCSM_AXIS_LABEL];
        double x = lcsm_plot_x(p, p->x.ticks[j]);
        lcsm_axis_label(label, &p->x, p->x.ticks[j]);
        lcsm_svg_line(s, x, p->top, x, bottom, "grid");
        double half = lcsm_svg_width(label) / 2;
        if (x - half < last + 4) continue; /* no room for this label */
        lcsm_svg_text(s, x, bottom + 16, LCSM_MIDDLE, "soft", label);
        last = x + half;
    }
    lcsm_svg_line(s, p->left, bottom, p->left + p->width, bottom, "edge");
    lcsm_svg_text(s, p->left + p->width / 2, bottom + 33, LCSM_MIDDLE, "soft", name);
}

void lcsm_plot_y_axis(lcsm_strbuf *s, const lcsm_plot *p, const char *name)
{
    for (size_t j = 0; j < p->y.count; j++) {
        char   label[LCSM_AXIS_LABEL];
        double y = lcsm_plot_y(p, p->y.ticks[j]);
        lcsm_axis_label(label, &p->y, p->y.ticks[j]);
        lcsm_svg_line(s, p->left, y, p->left + p->width, y, "grid");
        lcsm_svg_text(s, p->left - 6, y + 4, LCSM_END, "soft", label);
    }
    lcsm_svg_text(s, p->left, p->top - 9, LCSM_START, "soft", name);
}

void lcsm_ramp(char out[8], double place)
{
    double at = place > 0 ? fmin(place * LCSM_SVG_RAMP, LCSM_SVG_RAMP - 1) : 0;
    (void)snprintf(out, 8, "r%d", (int)at);
}

void lcsm_svg_file(lcsm_strbuf *out, const char *figure)
{
    const char *body = strchr(figure, '\n'); /* behind the opening tag */
    if (body == NULL) return;
    lcsm_strbuf_bytes(out, figure, (size_t)(body - figure));
    lcsm_strbuf_printf(out, "\n<style>%s</style>\n", LCSM_SVG_STYLE);
    lcsm_strbuf_add(out, "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>");
    lcsm_strbuf_add(out, body);
}
