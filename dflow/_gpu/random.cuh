/* Random numbers on a GPU, with the bits of _kernels/c/distributions.c: see there. Products must not be contracted with
 * sums.
 *
 * It is C++ that CUDA's compiler takes, and any other, once there is __device__. An element is computed by itself, from
 * its number within the draw. */
#include "_kernels/c/ziggurat.h"

HELPER u32 word_at(Stream s, u64 position, int word) {
    u32 x[4];
    philox_at(&s, position, x);
    return word == 0 ? x[0] : word == 1 ? x[1] : word == 2 ? x[2] : x[3];
}

/* Sixteen positions hold 64 elements of 32 bits, or 32 of 64: the first words of all positions, then the second. */
HELPER u32 bits32(Stream s, u64 element) {
    return word_at(s, element / 64 * 16 + element % 16, (int)(element / 16 % 4));
}
HELPER u64 bits64(Stream s, u64 element) {
    u64 position = element / 32 * 16 + element * 2 % 16;
    int word = (int)(element / 8 % 4);
    return word_at(s, position, word) | (u64)word_at(s, position + 1, word) << 32;
}

HELPER double scaled(double x, double offset, double scale) {
    return offset != 0 || scale != 1 ? x * scale + offset : x;
}
HELPER float scaled32(float x, float offset, float scale) {
    return offset != 0 || scale != 1 ? x * scale + offset : x;
}

/* ---- uniform, integers ------------------------------------------------------------------------------------------- */

HELPER float random_uniform32(Stream s, u64 i, double offset, double scale) {
    return unit24(bits32(s, i)) * (float)scale + (float)offset;
}
HELPER double random_uniform64(Stream s, u64 i, double offset, double scale) {
    return unit53(bits64(s, i)) * scale + offset;
}

template <class T> HELPER T random_bounded(Stream s, u64 i, u64 low, u64 range, u64 threshold) {
    u32 bits = bits32(s, i);
    Source from = source(&s, i);
    return (T)((T)low + (T)(range ? bounded_product(&from, bits, (u32)range, (u32)threshold) >> 32 : bits));
}

HELPER u64 high_half(u64 a, u64 b) {
    u64 a0 = (u32)a, a1 = a >> 32, b0 = (u32)b, b1 = b >> 32, middle = a1 * b0 + (a0 * b0 >> 32);
    return a1 * b1 + (middle >> 32) + ((a0 * b1 + (u32)middle) >> 32);
}
HELPER u64 random_bounded_wide(Stream s, u64 i, u64 low, u64 range, u64 threshold) {
    u64 bits = bits64(s, i);
    Source from = source(&s, i);
    if (range == 0)
        return low + bits;
    while (bits * range < threshold)
        bits = more(&from);
    return low + high_half(bits, range);
}

/* ---- normal, exponential ----------------------------------------------------------------------------------------- */

HELPER double random_normal64(Stream s, u64 i, double offset, double scale, Ziggurat64 z) {
    Source from = source(&s, i);
    return scaled(ziggurat_normal64(&from, bits64(s, i), z), offset, scale);
}
HELPER float random_normal32(Stream s, u64 i, double offset, double scale, Ziggurat32 z) {
    Source from = source(&s, i);
    return scaled32(ziggurat_normal32(&from, bits32(s, i), z), (float)offset, (float)scale);
}
HELPER double random_exponential64(Stream s, u64 i, double offset, double scale, Ziggurat64 z) {
    Source from = source(&s, i);
    return scaled(ziggurat_exponential64(&from, bits64(s, i), z), offset, scale);
}
HELPER float random_exponential32(Stream s, u64 i, double offset, double scale, Ziggurat32 z) {
    Source from = source(&s, i);
    return scaled32(ziggurat_exponential32(&from, bits32(s, i), z), (float)offset, (float)scale);
}
HELPER double random_laplace(Stream s, u64 i, double offset, double scale, Ziggurat64 z) {
    Source from = source(&s, i);
    u64 bits = bits64(s, i);
    return scaled(signed_by(ziggurat_exponential64(&from, bits, z), SIGN(bits)), offset, scale);
}
