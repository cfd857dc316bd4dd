/* The loops of _kernels/c/conv.c for one type and one set of instructions. The including file defines

       SET(name)            the name with a suffix for both
       T                    the type
       LANES                of a vector
       WIDE                 vectors that lie side by side in a tile: RAISED * WIDE sums fit into the registers
       FMA(a, b, c)         a * b + c of vectors
       SUM(v)               of a vector's elements

   Rows of a plane that follow each other are one run, as if a window could begin at each of its elements: those that
   begin where it does not fit give sums that are dropped, but vectors are full however short the rows are. */

typedef T SET(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

#define VEC SET(vec)
#define AT(p) (*(VEC *)(p))
#define ONE(p) (*(T *)(p))
#define ALL(value) ((VEC){0} + (value))
#define INLINE static inline __attribute__((always_inline))

/* Sums for `height` filters and the windows that begin in `width` vectors from p on; a run's last overlaps others. */
INLINE void SET(tile)(int height, int width, const Convolve *v, const char *x, const char *w, const char *bias,
                      ptrdiff_t p, ptrdiff_t length, T *to)
{
    const ptrdiff_t last = p + width * LANES <= length ? p + (width - 1) * LANES : length - LANES;
    VEC sums[RAISED][WIDE];
    for (int r = 0; r < height; r++)
        for (int t = 0; t < width; t++)
            sums[r][t] = ALL(ONE(bias + r * v->bias));
    x += p * sizeof(T);
    for (ptrdiff_t c = 0; c < v->c; c++)
        for (ptrdiff_t i = 0; i < v->i; i++)
            for (ptrdiff_t j = 0; j < v->j; j++) {
                const char *from = x + c * v->x_c + i * v->x_i + j * v->x_j, *from_last = from + (last - p) * sizeof(T);
                const char *q = w + c * v->w_c + i * v->w_i + j * v->w_j;
                for (ptrdiff_t k = 0; k < v->k; k++, from += v->x_k, from_last += v->x_k, q += v->w_k) {
                    VEC window[WIDE];
                    for (int t = 0; t < width; t++)
                        window[t] = AT(t < width - 1 ? from + t * sizeof(VEC) : from_last);
                    for (int r = 0; r < height; r++) {
                        VEC factor = ALL(ONE(q + r * v->w_o));
                        for (int t = 0; t < width; t++)
                            sums[r][t] = FMA(factor, window[t], sums[r][t]);
                    }
                }
            }
    for (int r = 0; r < height; r++)
        for (int t = 0; t < width; t++)
            AT(to + r * SPAN + (t < width - 1 ? p + t * LANES : last)) = sums[r][t];
}

/* All of a run of at least LANES elements, in tiles of about the same width. */
INLINE void SET(strip)(int height, const Convolve *v, const char *x, const char *w, const char *bias, ptrdiff_t length,
                       T *to)
{
    ptrdiff_t vectors = (length + LANES - 1) / LANES, tiles = (vectors + WIDE - 1) / WIDE, p = 0;
    for (; tiles > 0; tiles--) {
        ptrdiff_t width = (vectors + tiles - 1) / tiles;
        if (width == WIDE)
            SET(tile)(height, WIDE, v, x, w, bias, p, length, to);
        else if (WIDE > 3 && width == 3)
            SET(tile)(height, WIDE - 1, v, x, w, bias, p, length, to);
        else if (width == 2)
            SET(tile)(height, 2, v, x, w, bias, p, length, to);
        else
            SET(tile)(height, 1, v, x, w, bias, p, length, to);
        p += width * LANES;
        vectors -= width;
    }
}

static void SET(few)(const Convolve *v, const char *x, const char *w, const char *bias, ptrdiff_t length, T *to)
{
    for (ptrdiff_t p = 0; p < length; p++) {
        T sum = ONE(bias);
        for (ptrdiff_t c = 0; c < v->c; c++)
            for (ptrdiff_t i = 0; i < v->i; i++)
                for (ptrdiff_t j = 0; j < v->j; j++)
                    for (ptrdiff_t k = 0; k < v->k; k++)
                        sum += ONE(x + p * sizeof(T) + c * v->x_c + i * v->x_i + j * v->x_j + k * v->x_k)
                            * ONE(w + c * v->w_c + i * v->w_i + j * v->w_j + k * v->w_k);
        to[p] = sum;
    }
}

static void SET(convolve)(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *data)
{
    const ptrdiff_t filters = dims[1], *s = steps + 4, *out = s + 13;
    const Convolve v = {dims[2], dims[6], dims[7], dims[8], s[0], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11],
                        s[12]};
    _Alignas(64) T sums[RAISED * SPAN];
    Runs run;
    (void)data;
    for (ptrdiff_t n = 0; n < dims[0]; n++)
        for (start_runs(&run, dims[3], dims[4], dims[5], s[2], sizeof(T), SPAN, LANES); run.columns > 0;
             next_run(&run)) {
            const char *x = args[0] + n * steps[0] + run.z * s[1] + run.y * s[2] + run.x * s[3];
            for (ptrdiff_t o = 0, height; o < filters; o += height) {
                const char *w = args[1] + n * steps[1] + o * v.w_o, *bias = args[2] + n * steps[2] + o * s[12];
                height = run.length < LANES ? 1 : height_of(filters - o);
                if (run.length < LANES)
                    SET(few)(&v, x, w, bias, run.length, sums);
                else
                    FOR_HEIGHT(SET(strip), height, &v, x, w, bias, run.length, sums);
                char *to = args[3] + n * steps[3] + o * out[0] + run.z * out[1] + run.y * out[2] + run.x * out[3];
                for (int r = 0; r < height; r++)
                    move_rows(to + r * out[0], out[2], (char *)(sums + r * SPAN), run.pitch * sizeof(T), run.rows,
                              run.columns * sizeof(T));
            }
        }
}

/* The sum over samples of g times what x has at one place, without what is outside of g: 0 times infinity is not 0. */
static __attribute__((noinline)) T SET(exact)(const Correlate *v, const Runs *run, const T *g, const char *x)
{
    T sum = 0;
    for (ptrdiff_t n = 0; n < v->samples; n++, g += v->padded, x += v->x_s)
        for (ptrdiff_t row = 0; row < run->rows; row++)
            for (ptrdiff_t p = row * run->pitch, end = p + run->columns; p < end; p++)
                sum += g[p < v->whole ? p : p + v->shift] * ONE(x + p * sizeof(T));
    return sum;
}

/* Add to `height` rows of the gradient the sums for `width` places. */
INLINE void SET(sum_tile)(int height, int width, const Correlate *v, const Runs *run, const T *g, const char **x, T *to)
{
    VEC sums[RAISED][WIDE];
    for (int r = 0; r < height; r++)
        for (int t = 0; t < width; t++)
            sums[r][t] = ALL(0);
    for (ptrdiff_t n = 0; n < v->samples; n++)
        for (ptrdiff_t p = 0; p < v->padded; p += LANES) {
            ptrdiff_t at = n * v->x_s + (p < v->whole ? p : p - v->shift) * (ptrdiff_t)sizeof(T);
            VEC window[WIDE];
            for (int t = 0; t < width; t++)
                window[t] = AT(x[t] + at);
            for (int r = 0; r < height; r++) {
                VEC factor = AT(g + r * SPAN + n * v->padded + p);
                for (int t = 0; t < width; t++)
                    sums[r][t] = FMA(factor, window[t], sums[r][t]);
            }
        }
    for (int r = 0; r < height; r++)
        for (int t = 0; t < width; t++) {
            T sum = SUM(sums[r][t]);
            to[r * v->places + t] += sum - sum == 0 ? sum : SET(exact)(v, run, g + r * SPAN, x[t]);
        }
}

/* All places, for `height` filters. */
INLINE void SET(sum_places)(int height, const Correlate *v, const Runs *run, const T *g, const char *x, T *to)
{
    const char *at[WIDE];
    int found = 0;
    for (ptrdiff_t c = 0; c < v->c; c++)
        for (ptrdiff_t i = 0; i < v->i; i++)
            for (ptrdiff_t j = 0; j < v->j; j++)
                for (ptrdiff_t k = 0; k < v->k; k++) {
                    at[found++] = x + c * v->x_c + i * v->x_i + j * v->x_j + k * v->x_k;
                    if (found == WIDE) {
                        SET(sum_tile)(height, WIDE, v, run, g, at, to);
                        to += WIDE;
                        found = 0;
                    }
                }
    for (int t = 0; t < found; t++)
        SET(sum_tile)(height, 1, v, run, g, at + t, to + t);
}

static void SET(sum_few)(const Correlate *v, const Runs *run, const T *g, const char *x, T *to)
{
    for (ptrdiff_t c = 0; c < v->c; c++)
        for (ptrdiff_t i = 0; i < v->i; i++)
            for (ptrdiff_t j = 0; j < v->j; j++)
                for (ptrdiff_t k = 0; k < v->k; k++)
                    *to++ += SET(exact)(v, run, g, x + c * v->x_c + i * v->x_i + j * v->x_j + k * v->x_k);
}

/* A run of rows of g as whole vectors: zeros between the rows and in the last vector, which overlaps the one before. */
static void SET(lay)(const Correlate *v, const Runs *run, const char *g, ptrdiff_t step, T *to)
{
    for (ptrdiff_t row = 0; row < run->rows; row++) {
        if (row > 0)
            memset(to + (row - 1) * run->pitch + run->columns, 0, (run->pitch - run->columns) * sizeof(T));
        memcpy(to + row * run->pitch, g + row * step, run->columns * sizeof(T));
    }
    memmove(to + v->whole + v->shift, to + v->whole, (run->length - v->whole) * sizeof(T));
    memset(to + v->whole, 0, v->shift * sizeof(T));
}

static void SET(correlate)(char **args, ptrdiff_t *dims, ptrdiff_t *steps, void *data)
{
    const ptrdiff_t all = dims[1], filters = dims[2], *s = steps + 3, *out = s + 13, *g = s + 8;
    Correlate v = {dims[3], dims[7], dims[8], dims[9], s[1], s[5], s[6], s[7], .x_s = s[0]};
    _Alignas(64) T laid[RAISED * SPAN];
    Runs run;
    (void)data;
    v.places = v.c * v.i * v.j * v.k;
    for (ptrdiff_t part = 0; part < dims[0]; part++) {
        T *to = (T *)(args[2] + part * steps[2]);
        for (ptrdiff_t i = 0; i < filters; i++)
            memset((char *)to + i * out[0], 0, v.places * sizeof(T));
        for (start_runs(&run, dims[4], dims[5], dims[6], s[3], sizeof(T), SPAN, LANES); run.columns > 0;
             next_run(&run)) {
            v.whole = run.length / LANES * LANES;
            v.shift = run.length < LANES || run.length == v.whole ? 0 : v.whole + LANES - run.length;
            v.padded = run.length + v.shift;
            for (ptrdiff_t n = 0; n < all; n += v.samples) {
                v.samples = SPAN / v.padded < all - n ? SPAN / v.padded : all - n;
                const char *x = args[0] + part * steps[0] + n * s[0] + run.z * s[2] + run.y * s[3] + run.x * s[4];
                for (ptrdiff_t o = 0, height; o < filters; o += height) {
                    const char *from = args[1] + part * steps[1] + n * g[0] + o * g[1] + run.z * g[2] + run.y * g[3]
                                       + run.x * g[4];
                    T *rows = to + o * v.places;
                    height = run.length < LANES ? 1 : height_of(filters - o);
                    for (ptrdiff_t r = 0; r < height; r++)
                        for (ptrdiff_t m = 0; m < v.samples; m++)
                            SET(lay)(&v, &run, from + r * g[1] + m * g[0], g[3], laid + r * SPAN + m * v.padded);
                    if (run.length < LANES)
                        SET(sum_few)(&v, &run, laid, x, rows);
                    else
                        FOR_HEIGHT(SET(sum_places), height, &v, &run, laid, x, rows);
                }
            }
        }
    }
}

#undef VEC
#undef AT
#undef ONE
#undef ALL
#undef INLINE
#undef SET
#undef T
#undef LANES
#undef WIDE
#undef FMA
#undef SUM
