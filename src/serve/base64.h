/* serve/base64.h - bytes as text. */
#ifndef LCSM_SERVE_BASE64_H
#define LCSM_SERVE_BASE64_H
#include "base/strbuf.h"

/* Appends 4 characters for each 3 bytes, the last of them with = where bytes are missing. */
void lcsm_base64_add(lcsm_strbuf *out, const void *bytes, size_t size);

#endif
