/* sin and cos of float64: see _kernels/c/sincos.h.

   glibc's algorithm since 2.28: the nearest multiple of pi/2 is taken off; what is left is a sum of two doubles. Its
   sine is a short series, or follows from sine and cosine of the nearest multiple of 1/128, from a table. Where glibc's
   build for CPUs with FMA contracts a product and a sum, an FMA is written here. Whether the C library does just so is
   found out before that is relied on (`use_sincos` in _kernels/trig.pyx). */

#include "_kernels/c/sincos.h"
#include "_kernels/c/simd.h"
#include <stdint.h>
#include <string.h>

double sincos_table[256][4] __attribute__((aligned(64)));

#define CHUNK 256                       /* elements of a strided operand gathered at once */

/* Where glibc changes its method. */
#define NEAR 0x1.b6p-1
#define MIDDLE 0x1.368fdp+1
#define SMALL 0.126
/* As bits. What is larger, up to nan, is left to NumPy's loop, and so is what is smaller, but not 0: its powers would
   underflow. */
#define LARGEST INT64_C(0x419921fb00000000)     /* 105414336 */
#define LEAST INT64_C(0x2d30000000000000)       /* 2^-300 */

#define ROUNDER 0x1.8p52                /* added: what comes is rounded to a multiple of 1 */
#define SPACING 0x1.8p45                /* or of 1/128 */
#define TWO_OVER_PI 0x1.45f306dc9c883p-1
/* pi/2 in parts whose products with k are exact, but the last; and in two. */
#define PI_1 0x1.921fb58p0
#define PI_2 -0x1.dde973cp-27
#define PI_3 -0x1.cb3b398p-55
#define PI_4 -0x1.d747f23e32ed7p-83
#define HALF_PI 0x1.921fb54442d18p0
#define HALF_PI_LOW 0x1.1a62633145c07p-54
/* Coefficients of the series: up to 0.126, and up to 1/256. */
#define TAYLOR_3 -0x1.5555555555555p-3
#define TAYLOR_5 0x1.1111111110ecep-7
#define TAYLOR_7 -0x1.a01a019db08b8p-13
#define TAYLOR_9 0x1.71de27b9a7ed9p-19
#define TAYLOR_11 -0x1.addffc2fcdf59p-26
#define SIN_3 -1.66666666666664880952546298448555E-01
#define SIN_5 8.33333214285722277379541354343671E-03
#define COS_2 4.99999999999999999999950396842453E-01
#define COS_4 -4.16666666666664434524222570944589E-02
#define COS_6 1.38888874007937613028114285595617E-03

typedef void (*Run)(const double *x, double *out, ptrdiff_t n, const Theirs *theirs);

/* ---- sets of instructions ---------------------------------------------------------------------------------------- */

#if defined(__x86_64__)

static void ask(const double *x, double *out, ptrdiff_t n, const Theirs *theirs)
{
    char *args[2] = {(char *)x, (char *)out};
    ptrdiff_t steps[2] = {sizeof *x, sizeof *x};
    theirs->loop(args, &n, steps, theirs->data);
}

TARGET("avx2,fma")
static inline int outside_avx2(__m256i x)
{
    __m256i size = _mm256_and_si256(x, _mm256_set1_epi64x(INT64_MAX));
    __m256i small = _mm256_andnot_si256(_mm256_cmpeq_epi64(size, _mm256_setzero_si256()),
                                        _mm256_cmpgt_epi64(_mm256_set1_epi64x(LEAST), size));
    __m256i large = _mm256_cmpgt_epi64(size, _mm256_set1_epi64x(LARGEST - 1));
    return _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_or_si256(small, large)));
}

#define SET(name) name##_avx2
#define LANES 4
#define SHORTER(name) ask
#define MASK ints_avx2
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define LESS(a, b) ((ints_avx2)((a) < (b)))
#define ODD(n) ((n) << 63)              /* of a mask, blendv looks at the sign */
#define PICK(m, a, b) _mm256_blendv_pd(b, a, (__m256d)(m))
#define OUTSIDE(x) outside_avx2((__m256i)(x))
/* Rows are loaded as they are, and turned: less work than to gather the columns. */
#define LOOKUP(rows, s0, s1, c0, c1) do { \
    _Alignas(32) int64_t at[4]; \
    _mm256_store_si256((__m256i *)at, (__m256i)(rows)); \
    __m256d p = _mm256_load_pd(sincos_table[at[0]]), q = _mm256_load_pd(sincos_table[at[1]]); \
    __m256d u = _mm256_load_pd(sincos_table[at[2]]), v = _mm256_load_pd(sincos_table[at[3]]); \
    __m256d pq0 = _mm256_unpacklo_pd(p, q), pq1 = _mm256_unpackhi_pd(p, q); \
    __m256d uv0 = _mm256_unpacklo_pd(u, v), uv1 = _mm256_unpackhi_pd(u, v); \
    s0 = _mm256_permute2f128_pd(pq0, uv0, 0x20); \
    s1 = _mm256_permute2f128_pd(pq1, uv1, 0x20); \
    c0 = _mm256_permute2f128_pd(pq0, uv0, 0x31); \
    c1 = _mm256_permute2f128_pd(pq1, uv1, 0x31); \
} while (0)
#include "_kernels/c/sincos_simd.inc.h"
END_TARGET

TARGET("avx512f,avx512dq,avx512vl,avx512bw,fma,prefer-vector-width=512")
static inline int outside_avx512(__m512i x)
{
    __m512i size = _mm512_and_si512(x, _mm512_set1_epi64(INT64_MAX));
    return _mm512_mask_cmpge_epu64_mask(_mm512_test_epi64_mask(size, size),
                                        _mm512_sub_epi64(size, _mm512_set1_epi64(LEAST)),
                                        _mm512_set1_epi64(LARGEST - LEAST));
}

#define SET(name) name##_avx512
#define LANES 8
#define SHORTER(name) name##_avx2
#define MASK __mmask8
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define LESS(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define ODD(n) _mm512_test_epi64_mask((__m512i)(n), _mm512_set1_epi64(1))
#define PICK(m, a, b) _mm512_mask_blend_pd(m, b, a)
#define OUTSIDE(x) outside_avx512((__m512i)(x))
#define TWO_ROWS(j, k) _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_load_pd(sincos_table[at[j]])), \
                                          _mm256_load_pd(sincos_table[at[k]]), 1)
/* The assembly says that `at` changes, so it is read from memory: taking a vector apart needs the units that turn. */
#define LOOKUP(rows, s0, s1, c0, c1) do { \
    _Alignas(64) int64_t at[8]; \
    _mm512_store_si512(at, (__m512i)(rows)); \
    __asm__("" : "+m"(at)); \
    __m512d p = TWO_ROWS(0, 2), q = TWO_ROWS(1, 3), u = TWO_ROWS(4, 6), v = TWO_ROWS(5, 7); \
    __m512d pq0 = _mm512_unpacklo_pd(p, q), pq1 = _mm512_unpackhi_pd(p, q); \
    __m512d uv0 = _mm512_unpacklo_pd(u, v), uv1 = _mm512_unpackhi_pd(u, v); \
    s0 = _mm512_shuffle_f64x2(pq0, uv0, 0x88); \
    s1 = _mm512_shuffle_f64x2(pq1, uv1, 0x88); \
    c0 = _mm512_shuffle_f64x2(pq0, uv0, 0xdd); \
    c1 = _mm512_shuffle_f64x2(pq1, uv1, 0xdd); \
} while (0)
#include "_kernels/c/sincos_simd.inc.h"
END_TARGET

static const Run ways[][2] = {{NULL, NULL}, {sin_avx2, cos_avx2}, {sin_avx512, cos_avx512}};

int sincos_ways(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 1;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512bw") ? 3 : 2;
}
#else
static const Run ways[][2] = {{NULL, NULL}};

int sincos_ways(void)
{
    return 1;
}
#endif

static const Run *chosen = ways[0];

void sincos_use(int way)
{
    chosen = ways[way];
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static void run(Run ours, char **args, ptrdiff_t *dims, ptrdiff_t *steps, const Theirs *theirs)
{
    ptrdiff_t n = dims[0];
    if (ours == NULL || n == 1) {
        theirs->loop(args, dims, steps, theirs->data);
        return;
    }
    if (steps[0] == sizeof(double) && steps[1] == sizeof(double)) {
        ours((const double *)args[0], (double *)args[1], n, theirs);
        return;
    }
    double part[CHUNK];
    for (ptrdiff_t start = 0; start < n; start += CHUNK) {
        ptrdiff_t m = n - start < CHUNK ? n - start : CHUNK;
        for (ptrdiff_t i = 0; i < m; i++)
            part[i] = *(const double *)(args[0] + (start + i) * steps[0]);
        ours(part, part, m, theirs);
        for (ptrdiff_t i = 0; i < m; i++)
            *(double *)(args[1] + (start + i) * steps[1]) = part[i];
    }
}

void sin_loop(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *theirs)
{
    run(chosen[0], args, dims, steps, theirs);
}

void cos_loop(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *theirs)
{
    run(chosen[1], args, dims, steps, theirs);
}
