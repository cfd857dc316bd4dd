/* What a header needs that C and CUDA's language both compile: types of a known size, and how a function begins. For a GPU
   its text is put where it is included (`functions` in _gpu/codegen.py); the compiler there has no headers of C's. */
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
#define RARE static __attribute__((noinline, unused))  /* few elements call it: it is to stay out of the others' loops */
#endif

#endif
