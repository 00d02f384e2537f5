/* gpt2_scan.h - the pattern of GPT-2 on ASCII text, by hand. */
#ifndef LCSM_TEXT_GPT2_SCAN_H
#define LCSM_TEXT_GPT2_SCAN_H
#include <stddef.h>

/* Where the word that begins at `at` < size ends: what LCSM_GPT2_PATTERN matches there. 0 if that
 * depends on a character beyond ASCII. */
size_t lcsm_gpt2_scan(const char *text, size_t size, size_t at);

#endif
