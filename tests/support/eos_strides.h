/* eos_strides.h - kernels on operands that lie far apart in memory, for every variant. */
#ifndef LCSM_EOS_STRIDES_H
#define LCSM_EOS_STRIDES_H

/* The scan on packed operands and on the same operands with strides of 2 and more between columns,
 * rows and steps, all gradients at once and each on its own: the count of numbers that differ. */
int eos_strides_scan_f32_portable(void);
int eos_strides_scan_f32_avx2(void);
int eos_strides_scan_f32_avx512(void);
int eos_strides_scan_f32_neon(void);
int eos_strides_scan_f64_portable(void);
#endif
