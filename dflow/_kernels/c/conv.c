/* Convolutions without columns: see _kernels/c/conv.h. */

#include "_kernels/c/conv.h"
#include <string.h>
#include "_kernels/c/copy.h"
#include "_kernels/c/simd.h"

#define RAISED 6                /* filters of a tile, at most */
#define SPAN (ptrdiff_t)(4096 / sizeof(T))  /* elements of a run at most: RAISED of them stay in first-level cache */

typedef struct {
    ptrdiff_t c, i, j, k, x_c, x_i, x_j, x_k, w_o, w_c, w_i, w_j, w_k, bias;
} Convolve;

typedef struct {
    ptrdiff_t c, i, j, k, x_c, x_i, x_j, x_k, x_s;
    ptrdiff_t places;           /* c * i * j * k */
    ptrdiff_t samples;          /* that are done together */
    ptrdiff_t whole;            /* elements of a run in whole vectors */
    ptrdiff_t shift;            /* by how much others lie further behind in its last vector */
    ptrdiff_t padded;           /* elements with that vector */
} Correlate;

typedef struct {                /* rows of a plane, or part of one */
    ptrdiff_t z, y, x, rows, columns;
    ptrdiff_t length, pitch;    /* elements from its first to its last, and from row to row */
    ptrdiff_t planes, height, width, most, span;
} Runs;

static void fit_run(Runs *r)
{
    r->rows = r->height - r->y < r->most ? r->height - r->y : r->most;
    r->columns = r->width - r->x < r->span ? r->width - r->x : r->span;
    r->length = (r->rows - 1) * r->pitch + r->columns;
}

/* step: bytes from row to row. Rows are in one run if they are less than `lanes` long, or half of what it has. */
static void start_runs(Runs *r, ptrdiff_t planes, ptrdiff_t height, ptrdiff_t width, ptrdiff_t step, ptrdiff_t size,
                       ptrdiff_t span, ptrdiff_t lanes)
{
    ptrdiff_t runs;
    memset(r, 0, sizeof(*r));
    if (planes <= 0 || height <= 0 || width <= 0)
        return;
    r->planes = planes;
    r->height = height;
    r->width = width;
    r->span = span;
    r->pitch = step / size;
    r->most = 1;
    if (width <= span && r->pitch >= width && step % size == 0 && (r->pitch <= 2 * width || width < lanes))
        r->most = (span - width) / r->pitch + 1;
    runs = (height + r->most - 1) / r->most;
    r->most = (height + runs - 1) / runs;
    fit_run(r);
}

static void next_run(Runs *r)
{
    r->x += r->columns;
    if (r->x >= r->width) {
        r->x = 0;
        r->y += r->rows;
    }
    if (r->y >= r->height) {
        r->y = 0;
        r->z++;
    }
    if (r->z >= r->planes)
        r->columns = 0;
    else
        fit_run(r);
}

/* Of `filters` that are left, how many make a tile: all tiles have about the same height. */
static ptrdiff_t height_of(ptrdiff_t filters)
{
    ptrdiff_t tiles = (filters + RAISED - 1) / RAISED;
    return (filters + tiles - 1) / tiles;
}

/* A function whose height is known when it is compiled: its sums stay in registers. */
#define FOR_HEIGHT(function, height, ...) \
    switch (height) { \
    case 1: function(1, __VA_ARGS__); break; \
    case 2: function(2, __VA_ARGS__); break; \
    case 3: function(3, __VA_ARGS__); break; \
    case 4: function(4, __VA_ARGS__); break; \
    case 5: function(5, __VA_ARGS__); break; \
    default: function(6, __VA_ARGS__); break; \
    }

#define SET(name) name##_float_plain
#define T float
#define LANES 4
#define WIDE 2
#define FMA(a, b, c) ((a) * (b) + (c))
#define SUM(v) (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))
#include "_kernels/c/conv_simd.inc.h"

#define SET(name) name##_double_plain
#define T double
#define LANES 2
#define WIDE 2
#define FMA(a, b, c) ((a) * (b) + (c))
#define SUM(v) ((v)[0] + (v)[1])
#include "_kernels/c/conv_simd.inc.h"

#ifdef TARGET
TARGET("avx2,fma")
static inline float sum_float_avx2(__m256 v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

static inline double sum_double_avx2(__m256d v)
{
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#define SET(name) name##_float_avx2
#define T float
#define LANES 8
#define WIDE 2
#define FMA(a, b, c) ((SET(vec))_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define SUM(v) sum_float_avx2((__m256)(v))
#include "_kernels/c/conv_simd.inc.h"

#define SET(name) name##_double_avx2
#define T double
#define LANES 4
#define WIDE 2
#define FMA(a, b, c) ((SET(vec))_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define SUM(v) sum_double_avx2((__m256d)(v))
#include "_kernels/c/conv_simd.inc.h"
END_TARGET

TARGET("avx512f,fma,prefer-vector-width=512")
#define SET(name) name##_float_avx512
#define T float
#define LANES 16
#define WIDE 4
#define FMA(a, b, c) ((SET(vec))_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define SUM(v) _mm512_reduce_add_ps((__m512)(v))
#include "_kernels/c/conv_simd.inc.h"

#define SET(name) name##_double_avx512
#define T double
#define LANES 8
#define WIDE 4
#define FMA(a, b, c) ((SET(vec))_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define SUM(v) _mm512_reduce_add_pd((__m512d)(v))
#include "_kernels/c/conv_simd.inc.h"
END_TARGET

int conv_sets(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 1;
    return __builtin_cpu_supports("avx512f") ? 3 : 2;
}

#define WAYS(name) {name##_plain, name##_avx2, name##_avx512}
#else
int conv_sets(void)
{
    return 1;
}

#define WAYS(name) {name##_plain}
#endif

static int chosen;

void conv_use(int way)
{
    chosen = way;
}

#define CHOOSE(name) \
    void name(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *data) \
    { \
        static convolve_loop *const ways[] = WAYS(name); \
        ways[chosen](args, dims, steps, data); \
    }

CHOOSE(convolve_float)
CHOOSE(convolve_double)
CHOOSE(correlate_float)
CHOOSE(correlate_double)
