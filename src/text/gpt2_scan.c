/* gpt2_scan.c - one look at each byte; tests compare it with the pattern. */
#include "text/gpt2_scan.h"

#include <stdbool.h>
#include <string.h>

/* By byte, 16 a row: letters, digits, white space, others, and beyond ASCII. */
enum { LETTER = 'L', DIGIT = 'D', SPACE = 'S', HIGH = 'H' };
static const char CLASS[] = "oooooooooSSSSSoo"
                            "oooooooooooooooo"
                            "Sooooooooooooooo"
                            "DDDDDDDDDDoooooo"
                            "oLLLLLLLLLLLLLLL"
                            "LLLLLLLLLLLooooo"
                            "oLLLLLLLLLLLLLLL"
                            "LLLLLLLLLLLooooo"
                            "HHHHHHHHHHHHHHHH"
                            "HHHHHHHHHHHHHHHH"
                            "HHHHHHHHHHHHHHHH"
                            "HHHHHHHHHHHHHHHH"
                            "HHHHHHHHHHHHHHHH"
                            "HHHHHHHHHHHHHHHH"
                            "HHHHHHHHHHHHHHHH"
                            "HHHHHHHHHHHHHHHH";

static char class_of(char c)
{
    return CLASS[(unsigned char)c];
}

/* 's 't 'm 'd 're 've 'll: the bytes behind the apostrophe, or 0. */
static size_t contraction(const char *text, size_t left)
{
    if (left >= 1 && strchr("stmd", text[0]) != NULL && text[0] != '\0') return 1;
    if (left < 2) return 0;
    bool two =
        memcmp(text, "re", 2) == 0 || memcmp(text, "ve", 2) == 0 || memcmp(text, "ll", 2) == 0;
    return two ? 2 : 0;
}

static size_t run_of(char class, const char *text, size_t size, size_t at)
{
    while (at < size && class_of(text[at]) == class) at++;
    return at < size && class_of(text[at]) == HIGH ? 0 : at;
}

/* A run of whitespace leaves its last character to the word behind it. */
static size_t spaces(const char *text, size_t size, size_t at)
{
    size_t end = run_of(SPACE, text, size, at);
    return end == 0 || end == size || end - at == 1 ? end : end - 1;
}

size_t lcsm_gpt2_scan(const char *text, size_t size, size_t at)
{
    size_t first = at;
    if (text[at] == '\'') {
        size_t more = contraction(text + at + 1, size - at - 1);
        if (more > 0) return at + 1 + more;
    }
    if (text[at] == ' ' && at + 1 < size && class_of(text[at + 1]) != SPACE) first = at + 1;
    char class = class_of(text[first]);
    if (class == HIGH) return 0;
    return class == SPACE ? spaces(text, size, at) : run_of(class, text, size, first);
}
