/* page.c - the content security policy of the page. */
#include "serve/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/sha256.h"
#include "serve/base64.h"

enum { DIGEST = 32, BASE64 = 45 };

/* The hash of what stands between the first <name> and its end. */
static void hash_part(char out[BASE64], const char *page, const char *begin, const char *end)
{
    char          text[LCSM_SHA256_TEXT], pair[3] = "";
    unsigned char digest[DIGEST];
    const char   *from = strstr(page, begin), *to = NULL;
    lcsm_strbuf   base64 = {0};
    out[0]               = '\0';
    if (from == NULL) return;
    from += strlen(begin);
    to = strstr(from, end);
    if (to == NULL) return;
    lcsm_sha256(text, from, (size_t)(to - from));
    for (size_t j = 0; j < DIGEST; j++) {
        memcpy(pair, text + 2 * j, 2);
        digest[j] = (unsigned char)strtoul(pair, NULL, 16);
    }
    lcsm_base64_add(&base64, digest, DIGEST);
    (void)snprintf(out, BASE64, "%s", lcsm_strbuf_text(&base64));
    lcsm_strbuf_free(&base64);
}

void lcsm_page_policy(char out[LCSM_PAGE_POLICY], const char *page)
{
    char script[BASE64], style[BASE64];
    hash_part(script, page, "<script>", "</script>");
    hash_part(style, page, "<style>", "</style>");
    (void)snprintf(out, LCSM_PAGE_POLICY,
                   "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; "
                   "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                   "frame-ancestors 'none'",
                   script, style);
}
