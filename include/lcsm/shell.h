/*
 * lcsm/shell.h - words of a command that a person may copy.
 *
 * Ownership  The caller frees what is returned.
 * Threads    Safe from any thread.
 */
#ifndef LCSM_SHELL_H
#define LCSM_SHELL_H
#include <lcsm/export.h>

LCSM_BEGIN_DECLS

/* The text as one word of a shell, quoted if it has to be; NULL if there is no memory. */
LCSM_API char *lcsm_shell_word(const char *text);

LCSM_END_DECLS
#endif
