/* What is worth vector instructions; included once for each set of them. The including file defines

       SET(name)    the name with a suffix for the set
       LANES        64-bit lanes of a vector
       MULTIPLY(a, b)       the products of the lower halves of the lanes

   Every set gives the same bits: integers, exact operations, and multiplications and additions, not contracted. */

typedef uint64_t SET(vec) __attribute__((vector_size(8 * LANES)));

/* Philox at positions 16 * group .. 16 * (group + ngroups). Of sixteen outputs, the first words come first, then the
   second ones: word w of output l is out[16 * w + l], for every number of lanes. The upper halves of lanes hold rubbish
   on the way, which multiplications do not see. Even and odd positions are apart until they interleave in the end. */
static void SET(bits)(const Draw *d, uint64_t group, int ngroups, uint32_t *out)
{
    const SET(vec) zero = {0};
    const SET(vec) m0 = zero + PHILOX_M0, m1 = zero + PHILOX_M1, low = zero + 0xffffffffu;
    SET(vec) lane, k0[PHILOX_ROUNDS], k1[PHILOX_ROUNDS];
    for (int i = 0; i < LANES; i++)
        lane[i] = 2 * (uint64_t)i;
    for (uint32_t r = 0; r < PHILOX_ROUNDS; r++) {
        k0[r] = zero + (uint32_t)(d->stream.key[0] + r * PHILOX_W0);
        k1[r] = zero + (uint32_t)(d->stream.key[1] + r * PHILOX_W1);
    }
    for (int g = 0; g < ngroups; g++, out += 64)
        for (int h = 0; h < 16; h += 2 * LANES) {
            SET(vec) a0 = lane + (16 * (group + g) + h), b0 = a0 + 1;
            SET(vec) a1 = a0 >> 32, b1 = b0 >> 32;
            SET(vec) a2 = zero + (uint32_t)d->stream.draw, b2 = a2, a3 = zero + (d->stream.draw >> 32), b3 = a3;
            for (int r = 0; r < PHILOX_ROUNDS; r++) {
                SET(vec) p0 = MULTIPLY(a0, m0), p1 = MULTIPLY(a2, m1), q0 = MULTIPLY(b0, m0), q1 = MULTIPLY(b2, m1);
                a0 = (p1 >> 32) ^ a1 ^ k0[r];
                b0 = (q1 >> 32) ^ b1 ^ k0[r];
                a2 = (p0 >> 32) ^ a3 ^ k1[r];
                b2 = (q0 >> 32) ^ b3 ^ k1[r];
                a1 = p1; b1 = q1; a3 = p0; b3 = q0;
            }
            a0 = (a0 & low) | (b0 << 32);
            a1 = (a1 & low) | (b1 << 32);
            a2 = (a2 & low) | (b2 << 32);
            a3 = (a3 & low) | (b3 << 32);
            memcpy(out + h, &a0, sizeof a0);
            memcpy(out + h + 16, &a1, sizeof a0);
            memcpy(out + h + 32, &a2, sizeof a0);
            memcpy(out + h + 48, &a3, sizeof a0);
        }
}

/* scale * u + offset, u uniform in [0, 1) of 24 or 53 bits. */
static void SET(uniform32)(const uint32_t *bits, int n, float *out, float offset, float scale)
{
    for (int i = 0; i < n; i++)
        out[i] = unit24(bits[i]) * scale + offset;
}

static void SET(uniform64)(const uint64_t *bits, int n, double *out, double offset, double scale)
{
    for (int i = 0; i < n; i++)
        out[i] = unit53(bits[i]) * scale + offset;
}

/* low + an integer below range, less than 2^32 (Lemire 2019: the upper half of a product); whether one must be drawn
   again, as its lower half is below the threshold. */
#define BOUNDED(type)                                                                                                  \
static int SET(bounded_##type)(const uint32_t *bits, int n, type *out, uint64_t low, uint32_t range,                   \
                               uint32_t threshold)                                                                     \
{                                                                                                                      \
    uint32_t again = 0;                                                                                                \
    for (int i = 0; i < n; i++) {                                                                                      \
        uint64_t product = (uint64_t)bits[i] * range;                                                                  \
        out[i] = (type)((type)low + (type)(product >> 32));                                                            \
        again |= (uint32_t)product < threshold;                                                                        \
    }                                                                                                                  \
    return (int)again;                                                                                                 \
}
BOUNDED(uint8_t)
BOUNDED(uint16_t)
BOUNDED(uint32_t)
BOUNDED(uint64_t)
#undef BOUNDED

static const Set SET(set) = {SET(bits), SET(uniform32), SET(uniform64), SET(bounded_uint8_t), SET(bounded_uint16_t),
                             SET(bounded_uint32_t), SET(bounded_uint64_t)};
#undef SET
#undef LANES
#undef MULTIPLY
