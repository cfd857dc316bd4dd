/* Memory for machine code, mapped twice: written at one address, run at another, so that no page is both. */
#ifndef DFLOW_EXECUTABLE_H
#define DFLOW_EXECUTABLE_H

#include <stddef.h>
#include <stdint.h>
#include "_kernels/c/assembler.h"

#if defined(__x86_64__) && defined(__linux__)

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The best set that the processor has. With AVX-512 a loop needs what NumPy's own loops do, and bzhi. */
static inline int vector_set(void) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2"))
        return AVX512;
    return __builtin_cpu_supports("avx2") ? AVX2 : NO_VECTORS;
}

/* Both views of so many bytes, or 0: the system does not allow it. They are never unmapped. */
static inline int map_twice(size_t size, uint8_t **writable, uint8_t **runnable) {
    int file = (int)syscall(SYS_memfd_create, "dflow loops", 1u);          /* MFD_CLOEXEC */
    void *w, *r;
    if (file < 0) return 0;
    if (ftruncate(file, (off_t)size) != 0) { close(file); return 0; }
    w = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    r = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    close(file);
    if (w == MAP_FAILED || r == MAP_FAILED) {
        if (w != MAP_FAILED) munmap(w, size);
        if (r != MAP_FAILED) munmap(r, size);
        return 0;
    }
    *writable = (uint8_t *)w;
    *runnable = (uint8_t *)r;
    return 1;
}

#else

static inline int vector_set(void) { return NO_VECTORS; }
static inline int map_twice(size_t size, uint8_t **writable, uint8_t **runnable) { return 0; }

#endif
#endif
