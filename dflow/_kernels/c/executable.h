/* Memory for machine code, mapped twice: written at one address, run at another, so that no page is both. */
#ifndef DFLOW_EXECUTABLE_H
#define DFLOW_EXECUTABLE_H

#include <stddef.h>
#include <stdint.h>
#include "_kernels/c/steps.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__AARCH64EL__))

#include <stdio.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The best set that the processor has. With AVX-512 a loop needs what NumPy's own loops do, and bzhi; with AVX2 the
 * fused multiplications, and halves, that came with it. */
static inline int vector_set(void) {
#if defined(__x86_64__)
    unsigned int a, b, c = 0, d;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("bmi2"))
        return AVX512;
    __get_cpuid(1, &a, &b, &c, &d);
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && c & bit_F16C ? AVX2 : NO_VECTORS;
#else
    return NEON;
#endif
}

/* What was written is what any thread will run. On AArch64 it is to leave the cache of data, which both views are of,
 * and what was at its place is to leave the caches of instructions, and every processor that has begun to read it. */
static inline void make_coherent(uint8_t *writable, uint8_t *runnable, size_t size) {
#if defined(__AARCH64EL__)
    __builtin___clear_cache((char *)writable, (char *)writable + size);
    __builtin___clear_cache((char *)runnable, (char *)runnable + size);
#if defined(SYS_membarrier)
    syscall(SYS_membarrier, 1 << 6, 0);                /* ..._REGISTER_PRIVATE_EXPEDITED_SYNC_CORE; once is enough */
    syscall(SYS_membarrier, 1 << 5, 0);                /* MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE */
#endif
#else
    (void)writable, (void)runnable, (void)size;        /* x86 sees to it */
#endif
}

/* Both views of so many bytes, or 0: the system does not allow it. They are never unmapped. `named`: of anonymous
 * memory that is shared, since perf looks names up for no file. */
static inline int map_twice(size_t size, int named, uint8_t **writable, uint8_t **runnable) {
    int file = named ? -1 : (int)syscall(SYS_memfd_create, "dflow loops", 1u);         /* MFD_CLOEXEC */
    void *w, *r = MAP_FAILED;
    if (file < 0 && !named) return 0;
    if (file >= 0 && ftruncate(file, (off_t)size) != 0) { close(file); return 0; }
    w = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | (named ? MAP_ANONYMOUS : 0), file, 0);
    if (!named) {
        r = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
        close(file);
    } else if (w != MAP_FAILED) {
        r = (void *)syscall(SYS_mremap, w, 0, size, 1, NULL);              /* MREMAP_MAYMOVE: here, a second view */
        if (r != MAP_FAILED && mprotect(r, size, PROT_READ | PROT_EXEC) != 0) {
            munmap(r, size);
            r = MAP_FAILED;
        }
    }
    if (w == MAP_FAILED || r == MAP_FAILED) {
        if (w != MAP_FAILED) munmap(w, size);
        if (r != MAP_FAILED) munmap(r, size);
        return 0;
    }
    *writable = (uint8_t *)w;
    *runnable = (uint8_t *)r;
    return 1;
}

/* A line of the file in which perf looks names of code up: dflow_loop_HASH_ and what it computes. */
static inline void tell_perf(const void *code, size_t size, uint64_t hash, const Step *steps, int n) {
    char path[40], name[120] = "";
    size_t used = 0;
    FILE *file;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    for (int i = 0; i < n; i++)
        if (steps[i].op >= STEP_ADD && used < sizeof name)
            used += (size_t)snprintf(name + used, sizeof name - used, "_%s", step_name(steps[i].op));
    file = fopen(path, "a");
    if (file == NULL) return;
    fprintf(file, "%lx %zx dflow_loop_%016llx%s\n", (unsigned long)code, size, (unsigned long long)hash, name);
    fclose(file);
}

#else

static inline int vector_set(void) { return NO_VECTORS; }
static inline void make_coherent(uint8_t *writable, uint8_t *runnable, size_t size) {}
static inline int map_twice(size_t size, int named, uint8_t **writable, uint8_t **runnable) { return 0; }
static inline void tell_perf(const void *code, size_t size, uint64_t hash, const Step *steps, int n) {}

#endif
#endif
