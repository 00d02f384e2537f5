/* tally.c - sums over the targets of batches. */
#include "train/tally.h"

#include <math.h>

void lcsm_tally_add(lcsm_tally *sum, const lcsm_model_io *io)
{
    const float   *loss  = io->row_loss->data;
    const float   *right = io->right->data;
    const int32_t *kept  = io->targets->data;
    size_t         count = (size_t)lcsm_tensor_count(io->targets);
    for (size_t j = 0; j < count; j++) {
        if (kept[j] == LCSM_TARGET_NONE) continue;
        sum->loss += (double)loss[j];
        sum->right += right[j] > 0;
        sum->count++;
    }
}

double lcsm_tally_loss(const lcsm_tally *t)
{
    return t->count == 0 ? NAN : t->loss / (double)t->count;
}

double lcsm_tally_accuracy(const lcsm_tally *t)
{
    return t->count == 0 ? NAN : (double)t->right / (double)t->count;
}
