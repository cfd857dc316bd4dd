/* Sums of contiguous floating-point numbers: NumPy's bits, in less time. */

#ifndef DFLOW_SUMS_H
#define DFLOW_SUMS_H

#include <stddef.h>
#include <string.h>

/* Vectors of 16 bytes, which every machine has: two additions of them in three cycles are more than memory gives. */
#define WIDTH 16

#define REAL float
#define SUM(name) name##_float
#include "_kernels/c/pairwise.inc.h"
#undef REAL
#undef SUM

#define REAL double
#define SUM(name) name##_double
#include "_kernels/c/pairwise.inc.h"
#undef REAL
#undef SUM

#undef WIDTH

#endif
