/* shell.c - words of a shell's command line. */
#include "base/shell.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

void lcsm_put_shell(lcsm_strbuf *s, const char *text)
{
    bool plain = *text != '\0';
    for (const char *p = text; *p != '\0'; p++)
        plain = plain && (isalnum((unsigned char)*p) || strchr("-_./,=:+@%", *p) != NULL);
    if (plain) {
        lcsm_strbuf_add(s, text);
        return;
    }
    lcsm_strbuf_add(s, "'");
    for (; *text != '\0'; text++) {
        if (*text == '\'') lcsm_strbuf_add(s, "'\\''");
        else lcsm_strbuf_bytes(s, text, 1);
    }
    lcsm_strbuf_add(s, "'");
}
