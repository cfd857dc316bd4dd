/* Functions for a set of instructions that not every x86-64 CPU has: those between TARGET("names") and END_TARGET. A
   caller asks __builtin_cpu_supports first. */

#ifndef DFLOW_SIMD_H
#define DFLOW_SIMD_H

#if defined(__x86_64__)
#include <immintrin.h>
#define TEXT(x) #x
#if defined(__clang__)
#define TARGET(names) _Pragma(TEXT(clang attribute push(__attribute__((target(names))), apply_to = function)))
#define END_TARGET _Pragma("clang attribute pop")
#else
#define TARGET(names) _Pragma("GCC push_options") _Pragma(TEXT(GCC target(names)))
#define END_TARGET _Pragma("GCC pop_options")
#endif
#endif

#endif
