/* svg.h - what the figures share: text, frames, colours. */
#ifndef LCSM_REPORT_SVG_H
#define LCSM_REPORT_SVG_H
#include "base/strbuf.h"
#include "report/axis.h"

enum { LCSM_SVG_WIDTH = 460, LCSM_SVG_COLOURS = 12, LCSM_SVG_RAMP = 16 };

/* The rules that colour the figures: variables for light and dark, then classes. */
extern const char LCSM_SVG_STYLE[];

/* <svg ...> and the title as its first line, which a screen reader says too; closed by
 * lcsm_svg_close. */
void lcsm_svg_open(lcsm_strbuf *s, double height, const char *title);
void lcsm_svg_close(lcsm_strbuf *s);

typedef enum { LCSM_START, LCSM_MIDDLE, LCSM_END } lcsm_anchor;

void lcsm_svg_text(lcsm_strbuf *s, double x, double y, lcsm_anchor anchor, const char *css,
                   const char *text);
/* The same, cut with an ellipsis where the text is wider than the room; <title> has all of it. */
void lcsm_svg_label(lcsm_strbuf *s, double x, double y, lcsm_anchor anchor, const char *css,
                    const char *text, double room);
void lcsm_svg_line(lcsm_strbuf *s, double x1, double y1, double x2, double y2, const char *css);
void lcsm_svg_title(lcsm_strbuf *s, const char *text); /* <title>, inside an open element */

/* How wide a text of the figures is, about. */
double lcsm_svg_width(const char *text);

/* A rectangle of a figure in which data are drawn. */
typedef struct {
    double    left, top, width, height;
    lcsm_axis x, y;
} lcsm_plot;

double lcsm_plot_x(const lcsm_plot *p, double x);
double lcsm_plot_y(const lcsm_plot *p, double y);

/* Grid, ticks and their labels; the axes' names below and above left. */
void lcsm_plot_x_axis(lcsm_strbuf *s, const lcsm_plot *p, const char *name);
void lcsm_plot_y_axis(lcsm_strbuf *s, const lcsm_plot *p, const char *name);

/* The class of a colour on the ramp from blue, at 0, to orange, at 1: "r0" to "r15", each for a
 * sixteenth. */
void lcsm_ramp(char out[8], double place);

/* A whole SVG file around a figure. */
void lcsm_svg_file(lcsm_strbuf *out, const char *figure);

#endif
