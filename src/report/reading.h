/* reading.h - the two ways to read the paper: what its text describes, and what its code ran. */
#ifndef LCSM_REPORT_READING_H
#define LCSM_REPORT_READING_H
#include <stddef.h>

typedef enum { LCSM_READING_DESCRIBED, LCSM_READING_AS_RUN, LCSM_READINGS } lcsm_reading;

enum { LCSM_READING_ALL = (1 << LCSM_READINGS) - 1 }; /* a set has the bit 1 << reading */

/* In experiment.json and on the command line, and in sentences. */
extern const char *const LCSM_READING_NAMES[LCSM_READINGS];
extern const char *const LCSM_READING_WORDS[LCSM_READINGS];

/* The set of a name, "both" or NULL (described); 0 if there is no such name. */
unsigned lcsm_readings_of(const char *name);

#endif
