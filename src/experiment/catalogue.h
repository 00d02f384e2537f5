/* catalogue.h - the experiments of the tree, as the build has put them into the library. */
#ifndef LCSM_EXPERIMENT_CATALOGUE_H
#define LCSM_EXPERIMENT_CATALOGUE_H
#include <stddef.h>

typedef struct {
    const char          *name;
    const unsigned char *grid;
    size_t               grid_size;
    const unsigned char *paper;
    size_t               paper_size;
} lcsm_catalogue_row;

extern const lcsm_catalogue_row LCSM_CATALOGUE[]; /* in order of names */
extern const size_t             LCSM_CATALOGUE_COUNT;

#endif
