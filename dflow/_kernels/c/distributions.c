/* Random numbers of many distributions: see _kernels/c/distributions.h.

   Which bits an element uses. The lower half of Philox's counter is a position within the draw. The elements 16 g .. of
   a group of sixteen positions share its 2048 bits, in the order in which `bits` stores them: 32 or 64 bits each, or
   128 or 256 where it says EACH. An element that needs more (a rejection) has positions of its own:
   MORE | attempt << 48 | element. */

#define SOURCE_WORDS 4
#include "_kernels/c/distributions.h"
#include "_kernels/c/simd.h"
#include "_kernels/c/ziggurat.h"
#include <math.h>
#include <string.h>

#define CHUNK 512                   /* elements made at once: their bits and results stay in the first-level cache */
#define ALIGNED __attribute__((aligned(64)))

typedef struct {                    /* what there is for each set of instructions: see _kernels/c/philox_simd.inc.h */
    void (*bits)(const Draw *, uint64_t group, int ngroups, uint32_t *out);
    void (*uniform32)(const uint32_t *bits, int n, float *out, float offset, float scale);
    void (*uniform64)(const uint64_t *bits, int n, double *out, double offset, double scale);
    int (*bounded8)(const uint32_t *, int, uint8_t *, uint64_t low, uint32_t range, uint32_t threshold);
    int (*bounded16)(const uint32_t *, int, uint16_t *, uint64_t low, uint32_t range, uint32_t threshold);
    int (*bounded32)(const uint32_t *, int, uint32_t *, uint64_t low, uint32_t range, uint32_t threshold);
    int (*bounded64)(const uint32_t *, int, uint64_t *, uint64_t low, uint32_t range, uint32_t threshold);
} Set;

/* ---- sets of instructions ---------------------------------------------------------------------------------------- */

#define SET(name) name##_plain
#define LANES 2
#if defined(__x86_64__)
#define MULTIPLY(a, b) ((vec_plain)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#elif defined(__aarch64__)
#include <arm_neon.h>
#define MULTIPLY(a, b) ((vec_plain)vmull_u32(vmovn_u64((uint64x2_t)(a)), vmovn_u64((uint64x2_t)(b))))
#else
#define MULTIPLY(a, b) (((a) & 0xffffffffu) * ((b) & 0xffffffffu))
#endif
#include "_kernels/c/philox_simd.inc.h"

#if defined(__x86_64__)
TARGET("avx2")
#define SET(name) name##_avx2
#define LANES 4
#define MULTIPLY(a, b) ((vec_avx2)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#include "_kernels/c/philox_simd.inc.h"
END_TARGET

TARGET("avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512")
#define SET(name) name##_avx512
#define LANES 8
#define MULTIPLY(a, b) ((vec_avx512)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#include "_kernels/c/philox_simd.inc.h"
END_TARGET

static const Set *const sets[] = {&set_plain, &set_avx2, &set_avx512};
#else
static const Set *const sets[] = {&set_plain};
#endif

static const Set *set = &set_plain;

int random_sets(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2"))
        return 1;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512bw") ? 3 : 2;
#else
    return 1;
#endif
}

void random_use(int i)
{
    set = sets[i];
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

static inline void bits32(const Draw *d, uint64_t first, int n, uint32_t *out)
{
    set->bits(d, first / 64, (n + 63) / 64, out);
}

static inline void bits64(const Draw *d, uint64_t first, int n, uint64_t *out)
{
    set->bits(d, first / 32, (n + 31) / 32, (uint32_t *)out);
}

static inline void scale32(float *x, int n, const Draw *d)
{
    float offset = (float)d->u.p[0], scale = (float)d->u.p[1];
    if (offset != 0 || scale != 1)
        for (int i = 0; i < n; i++)
            x[i] = x[i] * scale + offset;
}

static inline void scale64(double *x, int n, const Draw *d)
{
    double offset = d->u.p[0], scale = d->u.p[1];
    if (offset != 0 || scale != 1)
        for (int i = 0; i < n; i++)
            x[i] = x[i] * scale + offset;
}

/* ---- uniform, integers ------------------------------------------------------------------------------------------- */

static void uniform32(const Draw *d, uint64_t first, int n, void *out)
{
    uint32_t bits[CHUNK] ALIGNED;
    bits32(d, first, n, bits);
    set->uniform32(bits, n, out, (float)d->u.p[0], (float)d->u.p[1]);
}

static void unit64(const Draw *d, uint64_t first, int n, double *out, double offset, double scale)
{
    uint64_t bits[CHUNK] ALIGNED;
    bits64(d, first, n, bits);
    set->uniform64(bits, n, out, offset, scale);
}

static void uniform64(const Draw *d, uint64_t first, int n, void *out)
{
    unit64(d, first, n, out, d->u.p[0], d->u.p[1]);
}

static uint32_t again32(const Stream *stream, uint64_t element, uint32_t bits, uint32_t range, uint32_t threshold)
{
    Source s = source(stream, element);
    return (uint32_t)(bounded_product(&s, bits, range, threshold) >> 32);
}

/* low + an integer below range < 2^32: see bounded_product. range 0: all bits. */
#define BOUNDED(bits_of_it, type) \
static void bounded##bits_of_it(const Draw *d, uint64_t first, int n, void *out) \
{ \
    uint32_t bits[CHUNK] ALIGNED, range = (uint32_t)d->u.i.range, threshold = (uint32_t)d->u.i.threshold; \
    type *x = out; \
    bits32(d, first, n, bits); \
    if (range == 0) \
        for (int i = 0; i < n; i++) \
            x[i] = (type)((type)d->u.i.low + (type)bits[i]); \
    else if (set->bounded##bits_of_it(bits, n, x, d->u.i.low, range, threshold)) \
        for (int i = 0; i < n; i++) \
            if (bits[i] * range < threshold) \
                x[i] = (type)((type)d->u.i.low + (type)again32(&d->stream, first + i, bits[i], range, threshold)); \
}

BOUNDED(8, uint8_t)
BOUNDED(16, uint16_t)
BOUNDED(32, uint32_t)
BOUNDED(64, uint64_t)

/* The same for any range, from 64 bits. */
static void bounded_wide(const Draw *d, uint64_t first, int n, void *out)
{
    uint64_t bits[CHUNK] ALIGNED, *x = out, range = d->u.i.range;
    bits64(d, first, n, bits);
    for (int i = 0; i < n; i++) {
        Source s = source(&d->stream, first + i);
        unsigned __int128 product = (unsigned __int128)bits[i] * range;
        while ((uint64_t)product < d->u.i.threshold)
            product = (unsigned __int128)more(&s) * range;
        x[i] = d->u.i.low + (range ? (uint64_t)(product >> 64) : bits[i]);
    }
}

/* ---- normal, exponential: the ziggurat ------------------------------------------------------------------------------
   See _kernels/c/ziggurat.h. r and v are solutions of "the last layer ends at the peak". */

typedef struct {
    Layer64 wide[LAYERS64];
    double densities64[LAYERS64 + 1];
    Layer32 narrow[LAYERS32];
    double densities32[LAYERS32 + 1];
} Tables;

static Tables normal, exponential;

#define NORMAL_R64 4.038849846109504522714
#define NORMAL_V64 0.001226324646353088072886
#define NORMAL_R32 3.654152885361008771645
#define NORMAL_V32 0.004928673233974655347363
#define EXPONENTIAL_R64 9.256164544265543686697
#define EXPONENTIAL_V64 0.0009796789906620209168364
#define EXPONENTIAL_R32 7.697117470131049714044
#define EXPONENTIAL_V32 0.003949659822581557219978

#define NORMAL64 (Ziggurat64){normal.wide, normal.densities64, NORMAL_R64}
#define NORMAL32 (Ziggurat32){normal.narrow, normal.densities32, NORMAL_R32}
#define EXPONENTIAL64 (Ziggurat64){exponential.wide, exponential.densities64, EXPONENTIAL_R64}
#define EXPONENTIAL32 (Ziggurat32){exponential.narrow, exponential.densities32, EXPONENTIAL_R32}

static double density(int is_normal, double x)
{
    return portable_exp(is_normal ? -0.5 * x * x : -x);
}

static double inverse(int is_normal, double y)
{
    return y >= 1 ? 0 : is_normal ? sqrt(-2 * portable_log(y)) : -portable_log(y);
}

/* inside[i] and width[i] in units of 2^-units; densities[i] at x[i], and 1 at the end. */
static void layers(int is_normal, double r, double v, int n, int units, double *inside, double *width,
                   double *densities)
{
    double x = v / density(is_normal, r), next = r;
    densities[0] = 0;
    for (int i = 0; i < n; i++) {
        width[i] = ldexp(x, -units);
        inside[i] = floor(ldexp(next / x, units));
        densities[i + 1] = i + 1 < n ? density(is_normal, next) : 1;
        x = next;
        next = i + 2 < n ? inverse(is_normal, density(is_normal, x) + v / x) : 0;
    }
}

static void make_tables(Tables *t, int is_normal)
{
    double inside[LAYERS64], width[LAYERS64];
    layers(is_normal, is_normal ? NORMAL_R64 : EXPONENTIAL_R64, is_normal ? NORMAL_V64 : EXPONENTIAL_V64, LAYERS64, 53,
           inside, width, t->densities64);
    for (int i = 0; i < LAYERS64; i++) {
        t->wide[i].inside = (uint64_t)inside[i];
        t->wide[i].width = width[i];
    }
    layers(is_normal, is_normal ? NORMAL_R32 : EXPONENTIAL_R32, is_normal ? NORMAL_V32 : EXPONENTIAL_V32, LAYERS32,
           is_normal ? 23 : 24, inside, width, t->densities32);
    for (int i = 0; i < LAYERS32; i++) {
        t->narrow[i].inside = (uint32_t)inside[i];
        t->narrow[i].width = (float)width[i];
    }
}

void random_setup(void)
{
    make_tables(&normal, 1);
    make_tables(&exponential, 0);
    random_use(random_sets() - 1);
}

int random_tables(int is_normal, int bits, const void **layers, const double **densities, double *r)
{
    const Tables *t = is_normal ? &normal : &exponential;
    *layers = bits == 64 ? (const void *)t->wide : t->narrow;
    *densities = bits == 64 ? t->densities64 : t->densities32;
    *r = is_normal ? bits == 64 ? NORMAL_R64 : NORMAL_R32 : bits == 64 ? EXPONENTIAL_R64 : EXPONENTIAL_R32;
    return bits == 64 ? LAYERS64 : LAYERS32;
}

RARE double normal_again(Source *s, uint64_t bits)
{
    return ziggurat_normal64(s, bits, NORMAL64);
}

RARE float normal_again32(Source *s, uint32_t bits)
{
    return ziggurat_normal32(s, bits, NORMAL32);
}

RARE double exponential_again(Source *s, uint64_t bits)
{
    return ziggurat_exponential64(s, bits, EXPONENTIAL64);
}

RARE float exponential_again32(Source *s, uint32_t bits)
{
    return ziggurat_exponential32(s, bits, EXPONENTIAL32);
}

/* Fills out[0 .. n) of a chunk: `at` is the number that an element's bits r make in their layer l, `again` what
   `Source s` makes instead of one that is not inside for certain. Those go into a list first, without a branch to be
   mispredicted. */
#define ZIGGURAT(bits_of_it, Word, Layer, layers, layer_of, position, at, again) \
    Word bits[CHUNK] ALIGNED; \
    uint16_t rest[CHUNK + 1]; \
    int left = 0; \
    bits_of_it(d, first, n, bits); \
    for (int i = 0; i < n; i++) { \
        Word r = bits[i]; \
        const Layer *l = &layers[layer_of(r)]; \
        out[i] = (at); \
        rest[left] = (uint16_t)i; \
        left += position(r) >= l->inside; \
    } \
    for (int k = 0; k < left; k++) { \
        Word r = bits[rest[k]]; \
        Source s = source(&d->stream, first + rest[k]); \
        out[rest[k]] = (again); \
    }

/* Standard normals. */
static void normals(const Draw *d, uint64_t first, int n, double *out)
{
    ZIGGURAT(bits64, uint64_t, Layer64, normal.wide, LAYER, POSITION, normal_at(r, l), normal_again(&s, r))
}

static void normal32(const Draw *d, uint64_t first, int n, void *result)
{
    float *out = result;
    ZIGGURAT(bits32, uint32_t, Layer32, normal.narrow, LAYER32, POSITION23, normal_at32(r, l), normal_again32(&s, r))
    scale32(out, n, d);
}

/* Standard exponentials; with the sign of a bit that they do not use, if `sign` is 1. */
static inline void exponentials(const Draw *d, uint64_t first, int n, double *out, uint64_t sign)
{
    ZIGGURAT(bits64, uint64_t, Layer64, exponential.wide, LAYER, POSITION,
             signed_by(exponential_at(r, l), SIGN(r) & sign), signed_by(exponential_again(&s, r), SIGN(r) & sign))
}

static void exponential32(const Draw *d, uint64_t first, int n, void *result)
{
    float *out = result;
    ZIGGURAT(bits32, uint32_t, Layer32, exponential.narrow, LAYER32, POSITION24, exponential_at32(r, l),
             exponential_again32(&s, r))
    scale32(out, n, d);
}

static void normal64(const Draw *d, uint64_t first, int n, void *out)
{
    normals(d, first, n, out);
    scale64(out, n, d);
}

static void exponential64(const Draw *d, uint64_t first, int n, void *out)
{
    exponentials(d, first, n, out, 0);
    scale64(out, n, d);
}

static void laplace(const Draw *d, uint64_t first, int n, void *out)
{
    exponentials(d, first, n, out, 1);
    scale64(out, n, d);
}

/* ---- functions of one of these ----------------------------------------------------------------------------------- */

#define FUNCTION(name, base, type, expression) \
static void name(const Draw *d, uint64_t first, int n, void *out) \
{ \
    double room[CHUNK], p = d->u.p[0], q = d->u.p[1]; \
    type *to = out; \
    (void)p; (void)q; \
    base; \
    for (int i = 0; i < n; i++) { double x = room[i]; to[i] = (expression); } \
}
#define NORMALS normals(d, first, n, room)
#define EXPONENTIALS exponentials(d, first, n, room, 0)
#define UNIFORMS unit64(d, first, n, room, 0, 1)

static inline double logit(double u)
{
    return log(u / (1 - u));
}

static inline int64_t at_least_one(double k)
{
    return k >= 0x1p63 ? INT64_MAX : k > 1 ? (int64_t)k : 1;
}

static double triangle(const double *p, double u)       /* left, mode, right */
{
    double base = p[2] - p[0], left = p[1] - p[0];
    return u * base <= left ? p[0] + sqrt(u * base * left) : p[2] - sqrt((1 - u) * base * (p[2] - p[1]));
}

FUNCTION(lognormal, NORMALS, double, exp(x * q + p))
FUNCTION(logistic, UNIFORMS, double, p + q * logit(x > 0 ? x : 0x1p-54))
FUNCTION(gumbel, EXPONENTIALS, double, p - q * log(x > 0 ? x : 0x1p-60))
FUNCTION(rayleigh, EXPONENTIALS, double, p * sqrt(x + x))
FUNCTION(weibull, EXPONENTIALS, double, p == 0 ? 0 : pow(x, 1 / p))
FUNCTION(pareto, EXPONENTIALS, double, expm1(x / p))
FUNCTION(power, EXPONENTIALS, double, exp(-x / p))
FUNCTION(geometric, EXPONENTIALS, int64_t, at_least_one(ceil(x / -log1p(-p))))
FUNCTION(triangular, UNIFORMS, double, triangle(d->u.p, x))

/* ---- one by one -------------------------------------------------------------------------------------------------- */

/* An element begins with so many words of 64 bits, 2 or 4. What depends on the parameters only is `Setup s`, made by
   setup(d, &s); one(&source, &s) is an element. */
#define EACH(name, n_words, type, Setup, setup, one) \
static void name(const Draw *d, uint64_t first, int n, void *out) \
{ \
    uint64_t bits[n_words * CHUNK] ALIGNED; \
    Setup s; \
    setup(d, &s); \
    bits64(d, first * n_words, n * n_words, bits); \
    for (int i = 0; i < n; i++) { \
        Source from = source(&d->stream, first + i); \
        memcpy(from.words, bits + n_words * i, 8 * n_words); \
        from.left = n_words; \
        ((type *)out)[i] = (type)one(&from, &s); \
    } \
}

static inline double normal_of(Source *s)
{
    uint64_t r = more(s);
    const Layer64 *l = &normal.wide[LAYER(r)];
    if (__builtin_expect(POSITION(r) < l->inside, 1))
        return normal_at(r, l);
    return normal_again(s, r);
}

static inline double exponential_of(Source *s)
{
    uint64_t r = more(s);
    const Layer64 *l = &exponential.wide[LAYER(r)];
    if (__builtin_expect(POSITION(r) < l->inside, 1))
        return exponential_at(r, l);
    return exponential_again(s, r);
}

/* Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). A shape below 1 is raised by 1, and the
   result multiplied by a power of a uniform: its logarithm is what `boost` divides. */
typedef struct { double shape, scale, d, c, boost; } Gamma;

static inline Gamma gamma_setup(double shape, double scale)
{
    Gamma g = {shape, scale, 0, 0, 0};
    g.boost = shape < 1 ? shape : 0;
    g.d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
    g.c = 1 / sqrt(9 * g.d);
    return g;
}

static inline double gamma_main(Source *s, const Gamma *g)
{
    for (;;) {
        double x = normal_of(s), v = 1 + g->c * x, u;
        if (v <= 0)
            continue;
        v = v * v * v;
        u = open52(more(s));
        if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + g->d * (1 - v + log(v)))
            return g->d * v;
        if (isnan(g->d))
            return g->d;
    }
}

static inline double gamma_of(Source *s, const Gamma *g)
{
    double x;
    if (g->shape == 0)
        return 0;
    x = gamma_main(s, g);
    return g->boost ? x * exp(-exponential_of(s) / g->boost) : x;
}

static inline double gamma_log(Source *s, const Gamma *g)
{
    double x = log(gamma_main(s, g));
    return g->boost ? x - exponential_of(s) / g->boost : x;
}

static inline double gamma_one(Source *s, const Gamma *g)
{
    return gamma_of(s, g) * g->scale;
}

static inline void gamma_parameters(const Draw *d, Gamma *g)
{
    *g = gamma_setup(d->u.p[0], d->u.p[1]);
}

EACH(gamma64, 2, double, Gamma, gamma_parameters, gamma_one)
EACH(gamma32, 2, float, Gamma, gamma_parameters, gamma_one)

static inline void half_parameter(const Draw *d, Gamma *g)
{
    *g = gamma_setup(d->u.p[0] / 2, 2);
}

static inline double student_one(Source *s, const Gamma *g)
{
    double x = normal_of(s);
    return x * sqrt(g->shape) / sqrt(gamma_of(s, g));
}

EACH(chisquare, 2, double, Gamma, half_parameter, gamma_one)
EACH(student, 4, double, Gamma, half_parameter, student_one)

typedef struct { Gamma a, b; } TwoGammas;

static inline void beta_parameters(const Draw *d, TwoGammas *g)
{
    g->a = gamma_setup(d->u.p[0], 1);
    g->b = gamma_setup(d->u.p[1], 1);
}

/* x / (x + y); of logarithms where a gamma of small shape might vanish. */
static inline double beta_one(Source *s, const TwoGammas *g)
{
    double x, y;
    if (g->a.boost || g->b.boost) {
        x = gamma_log(s, &g->a);
        y = gamma_log(s, &g->b);
        return y - x > 700 ? exp(x - y) : 1 / (1 + exp(y - x));     /* which would lose what is below 2^-1022 */
    }
    x = gamma_main(s, &g->a);
    y = gamma_main(s, &g->b);
    return x / (x + y);
}

EACH(beta, 4, double, TwoGammas, beta_parameters, beta_one)

static inline void f_parameters(const Draw *d, TwoGammas *g)
{
    g->a = gamma_setup(d->u.p[0] / 2, d->u.p[1]);
    g->b = gamma_setup(d->u.p[1] / 2, d->u.p[0]);
}

static inline double f_one(Source *s, const TwoGammas *g)
{
    double x = gamma_one(s, &g->a);
    return x / gamma_one(s, &g->b);
}

EACH(f_ratio, 4, double, TwoGammas, f_parameters, f_one)

typedef struct { int unused; } Nothing;

static inline void no_setup(const Draw *d, Nothing *s)
{
    (void)d;
    s->unused = 0;
}

static inline double cauchy_one(Source *s, const Nothing *n)
{
    double x = normal_of(s);
    (void)n;
    return x / normal_of(s);
}

EACH(cauchy, 2, double, Nothing, no_setup, cauchy_one)

/* ---- poisson, binomial ----------------------------------------------------------------------------------------------
   Up to a standard deviation of some twenty, by a table: the first k whose cumulated probability exceeds a uniform,
   from where a guide says (Chen and Asau 1974). It grows as far as it is needed. Beyond, the transformed rejection of
   Hoermann (PTRS and BTRS, 1993). Logarithms of probabilities as Loader (2000) computes them, without cancellation. */

#define TABLE 512
#define GUIDE 256

typedef struct {
    double n, p, mean, a, b, centre, accept, scale, mode_log;       /* n < 0: poisson */
    int table, flip;                /* table: its greatest length, or 0 */
    int length, guided;             /* entries made so far, of both tables */
    double probability, sum, above, below;      /* of the next entry; see tabulate */
    double lowest, cumulated[TABLE];            /* of lowest, lowest + 1, .. */
    uint16_t guide[GUIDE];                      /* where a search for u in units of 1 / GUIDE begins */
} Counts;

/* ln k! less Stirling's formula for it. */
static double stirling_error(double k)
{
    static const double small[10] = {
        0, 0.0810614667953272582, 0.0413406959554092941, 0.0276779256849983391, 0.0207906721037650931,
        0.0166446911898211922, 0.013876128823070748, 0.0118967099458917701, 0.0104112652619720965,
        0.00925546218271273292};
    double r = 1 / k;
    return k < 10 ? small[(int)k]
                  : (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - r * r / 1188) * r * r) * r * r) * r * r) * r;
}

/* x ln(x / mean) + mean - x. */
static double deviance(double x, double mean)
{
    double away = (x - mean) / mean;
    return x == 0 ? mean : fabs(away) < 0.5 ? mean * ((1 + away) * log1p(away) - away) : x * log(x / mean) + mean - x;
}

static double log_probability(const Counts *c, double k)
{
    const double log_2pi = 1.8378770664093454836;
    double left = c->n - k;
    if (c->n < 0)
        return k == 0 ? -c->mean : -stirling_error(k) - deviance(k, c->mean) - 0.5 * (log_2pi + log(k));
    if (k == 0)
        return c->n * log1p(-c->p);
    if (left == 0)
        return c->n * log(c->p);
    return stirling_error(c->n) - stirling_error(k) - stirling_error(left) - deviance(k, c->mean)
        - deviance(left, c->n - c->mean) - 0.5 * (log_2pi + log(k) + log1p(-k / c->n));
}

/* Begins a table, if one does. The probability of k is that of k - 1 times (above / k - below). */
static void tabulate(Counts *c, double above, double below)
{
    double root = sqrt(c->mean * (1 - c->p)), width = 24 * root + 30;
    c->table = width < TABLE ? (int)width : 0;
    if (c->table == 0)
        return;
    c->lowest = c->mean - 11 * root > 0 ? floor(c->mean - 11 * root) : 0;
    c->probability = exp(log_probability(c, c->lowest));
    c->above = above;
    c->below = below;
    c->length = c->guided = 0;
    c->sum = 0;
}

/* One more entry; the last is greater than every uniform. */
static void extend(Counts *c)
{
    int k = c->length++;
    c->sum += c->probability;
    c->probability *= c->above / (c->lowest + k + 1) - c->below;
    if (k == c->table - 1 || (!(c->probability > 0x1p-80) && c->sum > 0.5))
        c->sum = 2;
    c->cumulated[k] = c->sum;
    for (; c->guided < GUIDE && c->guided < c->sum * GUIDE; c->guided++)
        c->guide[c->guided] = (uint16_t)k;
}

static double look_up(Counts *c, double u)
{
    int i, g = (int)(u * GUIDE);
    while (c->guided <= g)
        extend(c);
    for (i = c->guide[g]; c->cumulated[i] <= u; i++)
        if (i + 1 == c->length)
            extend(c);
    return c->lowest + i;
}

static void poisson_setup(const Draw *d, Counts *c)
{
    double mean = d->u.p[0];
    c->n = -1;
    c->p = c->mode_log = 0;
    c->mean = mean;
    c->flip = 0;
    tabulate(c, mean, 0);
    if (c->table)
        return;
    c->b = 0.931 + 2.53 * sqrt(mean);
    c->a = -0.059 + 0.02483 * c->b;
    c->scale = 1.1239 + 1.1328 / (c->b - 3.4);
    c->accept = 0.9277 - 3.6224 / (c->b - 2);
    c->centre = mean + 0.43;
}

static void binomial_setup(const Draw *d, Counts *c)
{
    double n = d->u.p[0], p = d->u.p[1], root;
    c->flip = p > 0.5;
    c->n = n;
    c->p = p = c->flip ? 1 - p : p;
    c->mean = n * p;
    tabulate(c, (n + 1) * p / (1 - p), p / (1 - p));
    if (c->table)
        return;
    root = sqrt(c->mean * (1 - p));
    c->b = 1.15 + 2.53 * root;
    c->a = -0.0873 + 0.0248 * c->b + 0.01 * p;
    c->scale = (2.83 + 5.1 / c->b) * root;
    c->accept = 0.92 - 4.2 / c->b;
    c->centre = c->mean + 0.5;
    c->mode_log = log_probability(c, floor((n + 1) * p));
}

static double count_transformed(Source *s, const Counts *c)
{
    for (;;) {
        double u = unit53(more(s)) - 0.5, v = open52(more(s)), us = 0.5 - fabs(u);
        double k = floor((2 * c->a / us + c->b) * u + c->centre);
        if (us >= 0.07 && v <= c->accept)
            return k;
        if (!(k >= 0) || (c->n >= 0 ? k > c->n : us < 0.013 && v > us))
            continue;
        if (log(v * c->scale / (c->a / (us * us) + c->b)) <= log_probability(c, k) - c->mode_log)
            return k;
    }
}

static inline int64_t count_one(Source *s, Counts *c)
{
    double k = c->table ? look_up(c, unit53(more(s))) : count_transformed(s, c);
    return (int64_t)(c->flip ? c->n - k : k);
}

EACH(poisson, 2, int64_t, Counts, poisson_setup, count_one)
EACH(binomial, 2, int64_t, Counts, binomial_setup, count_one)

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

const Distribution distributions[] = {
    {"random", uniform32, 64, 4, 0.5f}, {"random", uniform64, 32, 8, 1},
    {"standard_normal", normal32, 64, 4, 2}, {"standard_normal", normal64, 32, 8, 2.4f},
    {"standard_exponential", exponential32, 64, 4, 2}, {"standard_exponential", exponential64, 32, 8, 2.4f},
    {"integers8", bounded8, 64, 1, 0.5f}, {"integers16", bounded16, 64, 2, 0.5f},
    {"integers32", bounded32, 64, 4, 0.5f}, {"integers64", bounded64, 64, 8, 0.5f},
    {"integers", bounded_wide, 32, 8, 2},
    {"laplace", laplace, 32, 8, 2.6f}, {"lognormal", lognormal, 32, 8, 7}, {"logistic", logistic, 32, 8, 5.5f},
    {"gumbel", gumbel, 32, 8, 6}, {"rayleigh", rayleigh, 32, 8, 3.3f}, {"weibull", weibull, 32, 8, 12},
    {"pareto", pareto, 32, 8, 10}, {"power", power, 32, 8, 7}, {"geometric", geometric, 32, 8, 4},
    {"triangular", triangular, 32, 8, 3.4f},
    {"gamma", gamma32, 16, 4, 7.5f}, {"gamma", gamma64, 16, 8, 7.5f}, {"chisquare", chisquare, 16, 8, 7.5f},
    {"standard_t", student, 8, 8, 12}, {"beta", beta, 8, 8, 16}, {"f", f_ratio, 8, 8, 19},
    {"standard_cauchy", cauchy, 16, 8, 4.5f}, {"poisson", poisson, 16, 8, 5}, {"binomial", binomial, 16, 8, 5},
    {NULL, NULL, 0, 0, 0}
};

static void copy_items(char *to, ptrdiff_t step, const char *from, int itemsize, int n)
{
    if (step == itemsize)
        memcpy(to, from, (size_t)n * (size_t)itemsize);
    else
        for (int i = 0; i < n; i++, to += step, from += itemsize)
            memcpy(to, from, (size_t)itemsize);
}

static void fill_run(const Distribution *k, const Draw *d, uint64_t index, ptrdiff_t n, char *out, ptrdiff_t step)
{
    char room[CHUNK * 8] ALIGNED;
    while (n > 0) {
        int skip = (int)(index % (uint64_t)k->group), count = n < CHUNK - skip ? (int)n : CHUNK - skip;
        if (skip == 0 && step == k->itemsize)
            k->fill(d, index, count, out);
        else {
            k->fill(d, index - (uint64_t)skip, skip + count, room);
            copy_items(out, step, room + skip * k->itemsize, k->itemsize, count);
        }
        index += (uint64_t)count;
        out += count * step;
        n -= count;
    }
}

void random_loop(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *distribution)
{
    uint64_t index = (uintptr_t)args[0];
    Draw d;
    memcpy(&d, args[1], sizeof d);
    if (steps[0] == 1)
        fill_run(distribution, &d, index, dims[0], args[2], steps[2]);
    else                            /* the output's memory order is not that of its indices */
        for (ptrdiff_t i = 0; i < dims[0]; i++)
            fill_run(distribution, &d, index + (uint64_t)(i * steps[0]), 1, args[2] + i * steps[2], steps[2]);
}
