/* svg.c - the parts of a figure. Coordinates have one digit behind the point. */
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/escape.h"

/* Eight colours after Okabe and Ito, darker on white and lighter on black where they need it. */
#define LIGHT                                                                                      \
    "--ink:#1c2126;--soft:#5b6570;--rule:#d9dee3;--paper:#fff;--c0:#0072b2;--c1:#d55e00;"          \
    "--c2:#00855f;--c3:#b5498a;--c4:#a87400;--c5:#2f9bd6;--c6:#6a51a3;--c7:#5b6570"
#define DARK                                                                                       \
    "--ink:#e6eaee;--soft:#9aa5b1;--rule:#343c45;--paper:#14181c;--c0:#4ba3dc;--c1:#f28c4b;"       \
    "--c2:#3fc49a;--c3:#e08cc0;--c4:#e0b04a;--c5:#8fd0f5;--c6:#a99bdc;--c7:#aab4be"

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
    ".k4{--k:var(--c4)}.k5{--k:var(--c5)}.k6{--k:var(--c6)}.k7{--k:var(--c7)}\n"
    ".fig .line,.fig .whisker{stroke:var(--k)}.fig .band,.fig .dot,.fig .bar{fill:var(--k)}\n"
    ".fig .whisker{stroke:var(--ink);stroke-width:1.2;fill:none}\n";

void lcsm_svg_open(lcsm_strbuf *s, double height, const char *label)
{
    lcsm_strbuf_printf(s,
                       "<svg class=\"fig\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
                       "viewBox=\"0 0 %d %.0f\" aria-label=\"",
                       LCSM_SVG_WIDTH, height);
    lcsm_put_html(s, label);
    lcsm_strbuf_add(s, "\">\n");
}

void lcsm_svg_close(lcsm_strbuf *s)
{
    lcsm_strbuf_add(s, "</svg>\n");
}

void lcsm_svg_text(lcsm_strbuf *s, double x, double y, lcsm_anchor anchor, const char *css,
                   const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    lcsm_strbuf_printf(s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y,
                       anchors[anchor], css);
    lcsm_put_html(s, text);
    lcsm_strbuf_add(s, "</text>\n");
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

/* Letters of a wide sans-serif face at 12 units are about 7 wide. */
double lcsm_svg_width(const char *text)
{
    return 7 * (double)lcsm_text_width(text);
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

/* Points of the cividis map, which looks alike to readers with and without colour blindness. */
void lcsm_ramp(char out[8], double place)
{
    static const unsigned char stops[][3] = {
        {0, 34, 78},     {18, 53, 112},   {59, 73, 108},   {87, 93, 109},  {112, 113, 115},
        {138, 134, 120}, {165, 156, 116}, {195, 179, 105}, {225, 204, 85}, {254, 232, 56}};
    enum { LAST = sizeof stops / sizeof stops[0] - 1 };
    double at = (place > 0 ? fmin(place, 1) : 0) * LAST;
    size_t j  = at >= LAST ? LAST - 1 : (size_t)at;
    int    rgb[3];
    for (int c = 0; c < 3; c++)
        rgb[c] = (int)lround(stops[j][c] + (at - (double)j) * (stops[j + 1][c] - stops[j][c]));
    (void)snprintf(out, 8, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
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
