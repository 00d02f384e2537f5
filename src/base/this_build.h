/* this_build.h - which build of lcsm this is. */
#ifndef LCSM_BASE_THIS_BUILD_H
#define LCSM_BASE_THIS_BUILD_H
#include <stddef.h>
#include <stdint.h>

/* "0.2.0, gcc 12.2.0": the version and the compiler. */
const char *lcsm_build_text(void);

/* Writes the path of the file that this code was loaded from, the shared library or the program;
 * "" if it is not known. */
void lcsm_build_file(char *out, size_t size);

/* The checksum of that file: equal for equal builds. 0 if it cannot be read. */
uint64_t lcsm_build_hash(void);

#endif
