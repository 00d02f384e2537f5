/*
 * eos_scan.h - the scan form: every element-wise o.
 *
 * With C = 16 steps in a cell, 32 for a static o, the buffers of a tile stay in the first-level
 * cache. Scratch of backward is below C K D reals wherever K D is large enough to need tiles (K >=
 * 8 and D >= 8 VW); below that it is a few pages.
 */
#ifndef LCSM_KERNEL_EOS_SCAN_H
#define LCSM_KERNEL_EOS_SCAN_H
#include "kernel/eos/eos.h"

extern const R_(lcsm_eos_kernels) K_(lcsm_eos_scan);
#endif
