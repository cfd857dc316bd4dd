/* Loops that move elements to and from where indices and masks say. Their sizes and types are constants in what the
 * compiler sees: the functions below are inlined into one loop for each. */
#ifndef DFLOW_SELECT_H
#define DFLOW_SELECT_H

#include <string.h>
#include <numpy/npy_common.h>
#include "_kernels/c/masks.h"
#include "_kernels/c/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* CALL(size) with a constant, for the sizes of numbers. */
#define BY_SIZE(size, CALL) \
    switch (size) { \
    case 1: CALL(1) break; \
    case 2: CALL(2) break; \
    case 4: CALL(4) break; \
    case 8: CALL(8) break; \
    case 16: CALL(16) break; \
    default: CALL(size) \
    }

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* n elements, `step` bytes apart, become one value. */
#define FILL(T) { \
        T one; \
        memcpy(&one, value, sizeof one); \
        if (step == sizeof one) \
            for (npy_intp i = 0; i < n; i++) memcpy(out + i * (npy_intp)sizeof one, &one, sizeof one); \
        else \
            for (npy_intp i = 0; i < n; i++) memcpy(out + i * step, &one, sizeof one); \
        break; }
#define FILL_LOOP(name) \
    static void name(char *out, npy_intp step, char const *value, npy_intp n, npy_intp size) { \
        switch (size) { \
        case 1: FILL(npy_uint8) \
        case 2: FILL(npy_uint16) \
        case 4: FILL(npy_uint32) \
        case 8: FILL(npy_uint64) \
        case 16: FILL(two_words) \
        default: for (npy_intp i = 0; i < n; i++) memmove(out + i * step, value, size); \
        } \
    }
typedef struct { npy_uint64 half[2]; } two_words;
FILL_LOOP(fill_steps_plain)
#ifdef TARGET
TARGET("avx2")
FILL_LOOP(fill_steps_avx2)
END_TARGET
static inline void fill_steps(char *out, npy_intp step, char const *value, npy_intp n, npy_intp size) {
    (__builtin_cpu_supports("avx2") ? fill_steps_avx2 : fill_steps_plain)(out, step, value, n, size);
}
#else
#define fill_steps fill_steps_plain
#endif
#undef FILL_LOOP
#undef FILL

INLINE void copy_steps(char *out, npy_intp out_step, char const *in, npy_intp in_step, npy_intp n, npy_intp size) {
    if (in_step == size && out_step == size)
        memcpy(out, in, n * size);
    else
        for (npy_intp i = 0; i < n; i++)
            memcpy(out + i * out_step, in + i * in_step, size);
}

/* ---- indices ----------------------------------------------------------------------------------------------------- */

enum { I1, I2, I4, I8, U1, U2, U4, U8, INDEX_KINDS };

INLINE npy_intp index_at(char const *p, int kind) {
    switch (kind) {
    case I1: return *(npy_int8 const *)p;
    case I2: return *(npy_int16 const *)p;
    case I4: return *(npy_int32 const *)p;
    case U1: return *(npy_uint8 const *)p;
    case U2: return *(npy_uint16 const *)p;
    case U4: return *(npy_uint32 const *)p;
    default: return (npy_intp)*(npy_int64 const *)p;        /* NumPy, too, takes an index of 64 bits for a signed one */
    }
}

/* Bytes from the first of `length` elements; negative indices count from the end. */
INLINE npy_intp place_at(char const *p, int kind, npy_intp length, npy_intp stride) {
    npy_intp j = index_at(p, kind);
    return (j < 0 ? j + length : j) * stride;
}

/* Whether all are indices of an axis of that length. Without a branch: the compiler looks at several at once. */
INLINE int all_inside(char const *p, npy_intp n, npy_intp length, int kind, int size) {
    npy_uint64 bad = 0, end = (npy_uint64)length;
    if ((kind == U1 && length > 0xff) || (kind == U2 && length > 0xffff))
        return 1;
    for (npy_intp i = 0; i < n; i++) {
        npy_uint64 j = (npy_uint64)index_at(p + i * size, kind);
        bad |= (j + end) | (end - 1 - j);
    }
    return !(bad >> 63);
}

INLINE void add_places(npy_intp *total, char const *p, npy_intp step, npy_intp n, npy_intp length, npy_intp stride,
                       int kind, int size) {
    if (step == size) {                                         /* steps that the compiler knows */
#define ADD(STRIDE) for (npy_intp i = 0; i < n; i++) total[i] += place_at(p + i * size, kind, length, STRIDE);
        BY_SIZE(stride, ADD)
#undef ADD
        return;
    }
    for (npy_intp i = 0; i < n; i++)
        total[i] += place_at(p + i * step, kind, length, stride);
}

INLINE void move_each(char *out, npy_intp out_step, char const *in, npy_intp in_step, char const *index,
                      npy_intp index_step, npy_intp n, npy_intp length, npy_intp stride, int kind, int scatter,
                      npy_intp size) {
    npy_intp each = 1 << (kind & 3);
    if (stride == size && index_step == each && (scatter ? out_step == 0 : in_step == 0 && out_step == size)) {
        if (!scatter)                                           /* steps that the compiler knows */
            for (npy_intp i = 0; i < n; i++)
                memcpy(out + i * size, in + place_at(index + i * each, kind, length, size), size);
        else
            for (npy_intp i = 0; i < n; i++, in += in_step)
                memcpy(out + place_at(index + i * each, kind, length, size), in, size);
        return;
    }
    for (npy_intp i = 0; i < n; i++) {
        npy_intp place = place_at(index + i * index_step, kind, length, stride);
        memcpy(out + i * out_step + (scatter ? place : 0), in + i * in_step + (scatter ? 0 : place), size);
    }
}

/* As kernels: operands of `args`, whose core dimension counts items that lie together, `data` bytes each. Core steps:
 * the bytes between elements of the indexed axis, and its length. Repeated indices: the last one wins. */
INLINE void by_index(char **args, npy_intp const *dims, npy_intp const *steps, void *data, int kind, int scatter) {
    int in = scatter ? 1 : 0, index = scatter ? 2 : 1, out = scatter ? 0 : 2;
    npy_intp size = dims[1] * (npy_intp)data, stride = steps[3], length = steps[4];
    if (steps[index] == 0) {                                    /* all of them from, or to, one place */
        npy_intp place = place_at(args[index], kind, length, stride);
        char *to = args[out] + (scatter ? place : 0);
        char const *from = args[in] + (scatter ? 0 : place);
        if (steps[in] == 0) {
            fill_steps(to, steps[out], from, dims[0], size);
            return;
        }
#define COPY(SIZE) copy_steps(to, steps[out], from, steps[in], dims[0], SIZE);
        BY_SIZE(size, COPY)
#undef COPY
        return;
    }
#define MOVE(SIZE) move_each(args[out], steps[out], args[in], steps[in], args[index], steps[index], dims[0], length, \
                             stride, kind, scatter, SIZE);
    BY_SIZE(size, MOVE)
#undef MOVE
}

#if defined(__x86_64__)
TARGET("avx2")
#define FOR_KIND(kind, size) \
    static int inside_avx2_##kind(char const *p, npy_intp n, npy_intp length) { \
        return all_inside(p, n, length, kind, size); }
FOR_KIND(I1, 1) FOR_KIND(I2, 2) FOR_KIND(I4, 4) FOR_KIND(I8, 8)
FOR_KIND(U1, 1) FOR_KIND(U2, 2) FOR_KIND(U4, 4) FOR_KIND(U8, 8)
#undef FOR_KIND
END_TARGET
#define INSIDE(kind, size) \
    __builtin_cpu_supports("avx2") ? inside_avx2_##kind(p, n, length) : all_inside(p, n, length, kind, size)
#else
#define INSIDE(kind, size) all_inside(p, n, length, kind, size)
#endif

#define FOR_KIND(kind, size)                                                                                           \
    static void gather_##kind(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {                  \
        by_index(args, dims, steps, data, kind, 0); }                                                                  \
    static void scatter_##kind(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {                 \
        by_index(args, dims, steps, data, kind, 1); }                                                                  \
    static int inside_##kind(char const *p, npy_intp n, npy_intp length) {                                             \
        return INSIDE(kind, size); }                                                                                   \
    static void add_##kind(npy_intp *total, char const *p, npy_intp step, npy_intp n, npy_intp length,                 \
                           npy_intp stride) {                                                                          \
        add_places(total, p, step, n, length, stride, kind, size); }
FOR_KIND(I1, 1) FOR_KIND(I2, 2) FOR_KIND(I4, 4) FOR_KIND(I8, 8)
FOR_KIND(U1, 1) FOR_KIND(U2, 2) FOR_KIND(U4, 4) FOR_KIND(U8, 8)
#undef FOR_KIND

typedef void (*index_loop)(char **, npy_intp const *, npy_intp const *, void *);
#define EACH(name) {name##_I1, name##_I2, name##_I4, name##_I8, name##_U1, name##_U2, name##_U4, name##_U8}
static const index_loop gather_loops[INDEX_KINDS] = EACH(gather);
static const index_loop scatter_loops[INDEX_KINDS] = EACH(scatter);
static int (*const inside_loops[INDEX_KINDS])(char const *, npy_intp, npy_intp) = EACH(inside);
static void (*const add_loops[INDEX_KINDS])(npy_intp *, char const *, npy_intp, npy_intp, npy_intp, npy_intp) =
    EACH(add);
#undef EACH

/* ---- masks ------------------------------------------------------------------------------------------------------- */

/* out: the elements under the mask, of which there are `count` (or were, if others write to it meanwhile). Where it has
 * no pattern a branch would be mispredicted: each element is copied, and the next over it unless it counts. */
INLINE void select_each(char *out, char const *in, char const *mask, npy_intp n, npy_intp count, npy_intp size) {
    npy_intp i = 0, k = 0;
    if (size > 16) {                                            /* of what is long, only what counts */
        for (; k < count && i < n; i++)
            if (mask[i])
                memcpy(out + k++ * size, in + i * size, size);
        return;
    }
    while (k < count && i < n) {
        npy_uint64 eight = n - i >= 8 ? eight_at(mask + i) : 1;
        if (eight == 0)
            i += 8;
        else if (eight == ALL_TRUE) {
            memcpy(out + k * size, in + i * size, 8 * size);
            i += 8;
            k += 8;
        }
        else if (n - i >= 8 && count - k >= 8)
            for (npy_intp end = i + 8; i < end; i++) {
                memcpy(out + k * size, in + i * size, size);
                k += mask[i] != 0;
            }
        else {
            memcpy(out + k * size, in + i * size, size);
            k += mask[i] != 0;
            i++;
        }
    }
}

/* Elements under the mask become the values, one after the other. */
INLINE void put_each(char *out, char const *values, npy_intp value_step, char const *mask, npy_intp n, npy_intp size) {
    for (npy_intp i = 0; i < n;) {
        npy_intp end = i + 8 <= n ? i + 8 : n;
        npy_uint64 eight = end == i + 8 ? eight_at(mask + i) : 1;
        if (eight == 0)
            i = end;
        else if (eight == ALL_TRUE && value_step == size) {
            memcpy(out + i * size, values, 8 * size);
            i = end;
            values += 8 * size;
        }
        for (; i < end; i++) {
            char *to = out + i * size;
            npy_uintp const here = (npy_uintp)to, all = 0 - (npy_uintp)(mask[i] != 0);     /* no compiler's branch */
            if (size <= 16 || all)
                memmove(to, (char const *)(here ^ ((here ^ (npy_uintp)values) & all)), size);
            values += value_step & (npy_intp)all;
        }
    }
}

/* Elements under the mask become the one value: of 32 that are not all left out each is written. */
#define FILL(T) { \
        T const one = *(T const *)value; \
        T *to = (T *)out + i; \
        for (npy_intp j = 0; j < 32; j++) to[j] = mask[i + j] ? one : to[j]; \
        break; }
#define FILL_LOOP(name) \
    static npy_intp name(char *out, char const *value, char const *mask, npy_intp n, npy_intp size) { \
        npy_intp i = 0; \
        for (; i + 32 <= n; i += 32) { \
            npy_uint64 first = eight_at(mask + i) | eight_at(mask + i + 8); \
            if ((first | eight_at(mask + i + 16) | eight_at(mask + i + 24)) == 0) \
                continue; \
            switch (size) { \
            case 1: FILL(npy_uint8) \
            case 2: FILL(npy_uint16) \
            case 4: FILL(npy_uint32) \
            case 8: FILL(npy_uint64) \
            default: return 0; \
            } \
        } \
        return i; \
    }
FILL_LOOP(fill_plain)
#ifdef TARGET
TARGET("avx2")
FILL_LOOP(fill_avx2)
END_TARGET
static inline npy_intp fill_under(char *out, char const *value, char const *mask, npy_intp n, npy_intp size) {
    return (__builtin_cpu_supports("avx2") ? fill_avx2 : fill_plain)(out, value, mask, n, size);
}
#else
#define fill_under fill_plain
#endif
#undef FILL_LOOP
#undef FILL

/* The same with `count` values, again and again. */
INLINE void place_each(char *out, char const *values, char const *mask, npy_intp n, npy_intp count, npy_intp size) {
    char const *value = values, *end = values + count * size;
    for (npy_intp i = 0; i < n;) {
        npy_intp stop = i + 8 <= n ? i + 8 : n;
        if (stop == i + 8 && eight_at(mask + i) == 0)
            i = stop;
        for (; i < stop; i++) {
            memmove(out + i * size, mask[i] ? value : out + i * size, size);
            value += mask[i] ? size : 0;
            value = value == end ? values : value;
        }
    }
}

/* As kernels: the core dimension is the mask's, the core steps are how many elements it takes, their size, and the step
 * of values. select: source, mask, out. put: values, mask, target. place: the same, the first step: how many values. */
static inline void select_loop(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (void)data;
#define SELECT(SIZE) select_each(args[2], args[0], args[1], dims[1], steps[3], SIZE);
    BY_SIZE(steps[4], SELECT)
#undef SELECT
}

static inline void put_under(char *out, char const *values, npy_intp value_step, char const *mask, npy_intp n,
                             npy_intp size) {
    npy_intp const done = value_step == 0 ? fill_under(out, values, mask, n, size) : 0;
#define PUT(SIZE) put_each(out + done * SIZE, values, value_step, mask + done, n - done, SIZE);
    BY_SIZE(size, PUT)
#undef PUT
}

static inline void put_loop(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (void)data;
    put_under(args[2], args[0], steps[5], args[1], dims[1], steps[4]);
}

static inline void place_loop(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (void)data;
#define PLACE(SIZE) place_each(args[2], args[0], args[1], dims[1], steps[3], SIZE);
    BY_SIZE(steps[4], PLACE)
#undef PLACE
}

/* values, mask, target of one space, without core: any part of it may be done alone. data: the size of an element. */
static inline void assign_loop(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    npy_intp size = (npy_intp)data;
    if (steps[0] == 0 && steps[1] == 1 && steps[2] == size) {
        put_under(args[2], args[0], 0, args[1], dims[0], size);
        return;
    }
    if (steps[1] == 0 && !*args[1])                             /* a row of which no element is meant, */
        return;
    if (steps[1] == 0 && steps[0] == 0) {                       /* or all */
        fill_steps(args[2], steps[2], args[0], dims[0], size);
        return;
    }
#define ASSIGN(SIZE) \
    for (npy_intp i = 0; i < dims[0]; i++) \
        if (args[1][i * steps[1]]) \
            memcpy(args[2] + i * steps[2], args[0] + i * steps[0], SIZE);
    BY_SIZE(size, ASSIGN)
#undef ASSIGN
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

#define WHERE_STEPS(T, CS, XS, YS, OS) \
    for (npy_intp i = 0; i < n; i++) { \
        T x = *(T const *)(args[1] + i * (XS)), y = *(T const *)(args[2] + i * (YS)); \
        *(T *)(args[3] + i * (OS)) = args[0][i * (CS)] ? x : y; \
    }
#define WHERE(T) { \
        npy_intp const size = sizeof(T); \
        npy_intp x_step = steps[1], y_step = steps[2]; \
        if (steps[0] != 1 || steps[3] != size) \
            WHERE_STEPS(T, steps[0], x_step, y_step, steps[3]) \
        else if (x_step == size && y_step == size) \
            WHERE_STEPS(T, 1, size, size, size) \
        else if (x_step == size && y_step == 0) \
            WHERE_STEPS(T, 1, size, 0, size) \
        else if (x_step == 0 && y_step == size) \
            WHERE_STEPS(T, 1, 0, size, size) \
        else if (x_step == 0 && y_step == 0) \
            WHERE_STEPS(T, 1, 0, 0, size) \
        else \
            WHERE_STEPS(T, 1, x_step, y_step, size) \
        break; }

#define WHERE_LOOP(name) \
    static void name(char **args, npy_intp const *dims, npy_intp const *steps, void *data) { \
        npy_intp n = dims[0]; \
        switch ((npy_intp)data) { \
        case 1: WHERE(npy_uint8) \
        case 2: WHERE(npy_uint16) \
        case 4: WHERE(npy_uint32) \
        case 8: WHERE(npy_uint64) \
        case 16: WHERE(two_words) \
        default: \
            for (npy_intp i = 0; i < n; i++) { \
                int k = args[0][i * steps[0]] ? 1 : 2; \
                memcpy(args[3] + i * steps[3], args[k] + i * steps[k], (npy_intp)data); \
            } \
        } \
    }

WHERE_LOOP(where_plain)

#ifdef TARGET                       /* the same, four elements of eight bytes at a time */
TARGET("avx2")
WHERE_LOOP(where_avx2)
END_TARGET
static inline void where_loop(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    (__builtin_cpu_supports("avx2") ? where_avx2 : where_plain)(args, dims, steps, data);
}
#else
#define where_loop where_plain
#endif

#undef WHERE_LOOP
#undef WHERE
#undef WHERE_STEPS
#undef BY_SIZE
#undef INLINE
#endif
