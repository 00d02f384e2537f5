/*
 * fuzz.h - what a fuzz target is: tests/fuzz/fuzz_<name>.c defines these two.
 *
 * A target is built twice: with replay.c, as the test fuzz/<name>, which runs mutated seeds and any
 * files it is given; and with libfuzzer.c, as build/tests/libfuzzer_<name>, where LCSM_FUZZ is on
 * and the compiler is Clang.
 */
#ifndef LCSM_FUZZ_H
#define LCSM_FUZZ_H
#include <stdbool.h>
#include <stddef.h>

/* Gives the bytes to the reader and uses all that it returns. Says whether they were accepted;
 * aborts when the reader breaks a promise. */
bool fuzz_one(const unsigned char *data, size_t size);

/* Writes valid input n and returns its size, at most capacity; 0 if there are fewer. */
size_t fuzz_seed(size_t n, unsigned char *out, size_t capacity);

/* As assert(), in every build. */
#define PROMISE(condition) ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))
void fuzz_broken(const char *condition, const char *file, int line);

#endif
