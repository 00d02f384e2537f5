/* serve/page.h - the pages at /, as they are embedded in the program (src/serve/page_*.html). */
#ifndef LCSM_SERVE_PAGE_H
#define LCSM_SERVE_PAGE_H
#include <stddef.h>

/* The bytes of a file, a zero behind them; cmake/serve.cmake makes them. */
typedef struct {
    const unsigned char *bytes;
    size_t               size;
} lcsm_page;

extern const lcsm_page LCSM_PAGE_MODELS, LCSM_PAGE_VIEW;

enum { LCSM_PAGE_POLICY = 400 };

/* What a browser may do with a page: run its one script and its one style, which are named by their
 * hashes, and ask this server. */
void lcsm_page_policy(char out[LCSM_PAGE_POLICY], const char *page);

#endif
