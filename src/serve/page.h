/* serve/page.h - the page at /, as it is embedded in the program (src/serve/page.html). */
#ifndef LCSM_SERVE_PAGE_H
#define LCSM_SERVE_PAGE_H
#include <stddef.h>

/* The bytes of the file, a zero behind them; cmake/serve.cmake makes them. */
extern const unsigned char LCSM_PAGE[];
extern const size_t        LCSM_PAGE_SIZE;

enum { LCSM_PAGE_POLICY = 400 };

/* What a browser may do with a page: run its one script and its one style, which are named by their
 * hashes, and ask this server. */
void lcsm_page_policy(char out[LCSM_PAGE_POLICY], const char *page);

#endif
