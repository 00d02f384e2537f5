/* shell.h - words of a command that a person may copy. */
#ifndef LCSM_BASE_SHELL_H
#define LCSM_BASE_SHELL_H
#include "base/strbuf.h"

/* A text as one word of a shell's command line, quoted if it has to be. */
void lcsm_put_shell(lcsm_strbuf *s, const char *text);

#endif
