/* decay.h - how long the memory of a trained model lasts. */
#ifndef LCSM_REPORT_DECAY_H
#define LCSM_REPORT_DECAY_H
#include "report/record.h"

/* Half-lives, in tokens, of every memory row: layer by layer, sorted in each, longest first. A row
 * that never forgets has INFINITY. {0} is empty and may be freed. */
typedef struct {
    size_t  layers, rows;
    double *half_life;    /* (layers, rows); NaN where a layer has fewer rows */
    bool    from_inspect; /* measured on text, not read from the weights */
} lcsm_decays;

/* From inspect.json if the run has one, else from the weights of codes and methods whose decays do
 * not depend on the data; layers is 0 if neither tells. */
lcsm_status lcsm_decays_read(lcsm_decays *out, const lcsm_record *r, lcsm_error *err);
void        lcsm_decays_free(lcsm_decays *d);

#endif
