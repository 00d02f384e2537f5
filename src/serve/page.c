/* page.c - the content security policy of the page. */
#include "serve/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/sha256.h"

enum { DIGEST = 32, BASE64 = 45 };

static void to_base64(char out[BASE64], const unsigned char digest[DIGEST])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char             *to       = out;
    for (size_t j = 0; j < DIGEST; j += 3) {
        unsigned b = (unsigned)digest[j] << 16 | (unsigned)digest[j + 1] << 8;
        if (j + 2 < DIGEST) b |= digest[j + 2];
        for (int shift = 18; shift >= 0; shift -= 6) *to++ = digits[b >> shift & 63];
    }
    out[BASE64 - 2] = '='; /* 32 bytes end in a group of two */
    out[BASE64 - 1] = '\0';
}

/* The hash of what stands between the first <name> and its end. */
static void hash_part(char out[BASE64], const char *page, const char *begin, const char *end)
{
    char          text[LCSM_SHA256_TEXT], pair[3] = "";
    unsigned char digest[DIGEST + 1] = {0};
    const char   *from               = strstr(page, begin);
    const char   *to                 = NULL;
    out[0]                           = '\0';
    if (from == NULL) return;
    from += strlen(begin);
    to = strstr(from, end);
    if (to == NULL) return;
    lcsm_sha256(text, from, (size_t)(to - from));
    for (size_t j = 0; j < DIGEST; j++) {
        memcpy(pair, text + 2 * j, 2);
        digest[j] = (unsigned char)strtoul(pair, NULL, 16);
    }
    to_base64(out, digest);
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
