/* Types of a known size, and how a function begins, for headers that are compiled as C and as CUDA's language. A GPU's
   compiler finds no files: it gets the text of such a header where it is included (`functions` in _gpu/codegen.py). */
#ifndef DFLOW_PORTABLE_H
#define DFLOW_PORTABLE_H

#ifdef __cplusplus
typedef unsigned int u32;
typedef unsigned long long u64;
#define HELPER __device__ static inline
#define RARE HELPER
#else
#include <math.h>
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#define HELPER static inline
#define RARE static __attribute__((noinline, unused))   /* called for few elements, out of the loop over all of them */
#endif

#endif
