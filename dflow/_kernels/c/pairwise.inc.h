/* Pairwise summation, included once for each type and set of instructions. The including file defines

       REAL         the type of the elements
       SUM(name)    the name with a suffix for the type and the set
       WIDTH        bytes of a vector

   The tree is NumPy's, and so is every bit: runs of at most 128 elements are added into eight sums, these and what is
   left of the run to one; longer runs are halved, at a multiple of eight. NumPy's loop adds the eight one by one; here
   they are vectors, and of what is `near`, in a cache, two or four runs of one length go side by side, as each addition
   waits for the one before it in its run. From memory that takes twice as long: it is read ahead in one place.

   Complex numbers are two sums: of the even ones of the eight, and of the odd ones. */

typedef REAL SUM(vec) __attribute__((vector_size(WIDTH), aligned(sizeof(REAL)), may_alias));

#define RUN 128
#define LANES (WIDTH / (int)sizeof(REAL))
#define PARTS (8 / LANES)

/* The eight sums of each of so many runs of n elements, a multiple of eight and no more than RUN. */
static inline __attribute__((always_inline)) void SUM(eights)(const REAL *p, ptrdiff_t n, int runs, REAL r[][8])
{
    SUM(vec) v[4][PARTS];
    for (int k = 0; k < runs; k++)
        for (int j = 0; j < PARTS; j++)
            v[k][j] = *(const SUM(vec) *)(p + k * n + j * LANES);
    for (ptrdiff_t i = 8; i < n; i += 8)
        for (int k = 0; k < runs; k++)
            for (int j = 0; j < PARTS; j++)
                v[k][j] += *(const SUM(vec) *)(p + k * n + i + j * LANES);
    for (int k = 0; k < runs; k++)
        memcpy(r[k], v[k], sizeof r[k]);
}

/* The sums of these runs. */
static inline __attribute__((always_inline)) void SUM(runs)(const REAL *p, ptrdiff_t n, int runs, REAL *sums)
{
    REAL r[4][8];
    SUM(eights)(p, n, runs, r);
    for (int k = 0; k < runs; k++)
        sums[k] = ((r[k][0] + r[k][1]) + (r[k][2] + r[k][3])) + ((r[k][4] + r[k][5]) + (r[k][6] + r[k][7]));
}

/* Of complex numbers, real and imaginary parts by turns. */
static inline __attribute__((always_inline)) void SUM(pair_runs)(const REAL *p, ptrdiff_t n, int runs, REAL sums[][2])
{
    REAL r[4][8];
    SUM(eights)(p, n, runs, r);
    for (int k = 0; k < runs; k++)
        for (int part = 0; part < 2; part++)
            sums[k][part] = (r[k][part] + r[k][part + 2]) + (r[k][part + 4] + r[k][part + 6]);
}

static REAL SUM(pairwise)(const REAL *p, ptrdiff_t n, int near)
{
    REAL sums[4], sum = (REAL)-0.0;         /* what keeps the sign of a sum of negative zeros */
    ptrdiff_t whole = n & ~(ptrdiff_t)7;
    if (n > RUN) {
        ptrdiff_t half = n / 2 & ~(ptrdiff_t)7;
        if (near && n <= 2 * RUN && n % 16 == 0) {
            SUM(runs)(p, n / 2, 2, sums);
            return sums[0] + sums[1];
        }
        if (near && n > 2 * RUN && n <= 4 * RUN && n % 32 == 0) {
            SUM(runs)(p, n / 4, 4, sums);
            return (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
        return SUM(pairwise)(p, half, near) + SUM(pairwise)(p + half, n - half, near);
    }
    if (whole) {
        SUM(runs)(p, whole, 1, sums);
        sum = sums[0];
    }
    for (ptrdiff_t i = whole; i < n; i++)
        sum += p[i];
    return sum;
}

/* n: parts. */
static void SUM(pair_pairwise)(const REAL *p, ptrdiff_t n, int near, REAL sum[2])
{
    REAL s[4][2];
    ptrdiff_t whole = n & ~(ptrdiff_t)7;
    if (n > RUN) {
        ptrdiff_t half = n / 2 & ~(ptrdiff_t)7;
        if (near && n > 2 * RUN && n <= 4 * RUN && n % 32 == 0) {
            SUM(pair_runs)(p, n / 4, 4, s);
            for (int part = 0; part < 2; part++)
                sum[part] = (s[0][part] + s[1][part]) + (s[2][part] + s[3][part]);
            return;
        }
        if (near && n <= 2 * RUN && n % 16 == 0)
            SUM(pair_runs)(p, half, 2, s);
        else {
            SUM(pair_pairwise)(p, half, near, s[0]);
            SUM(pair_pairwise)(p + half, n - half, near, s[1]);
        }
        for (int part = 0; part < 2; part++)
            sum[part] = s[0][part] + s[1][part];
        return;
    }
    sum[0] = sum[1] = (REAL)-0.0;
    if (whole)
        SUM(pair_runs)(p, whole, 1, (REAL (*)[2])sum);
    for (ptrdiff_t i = whole; i < n; i++)
        sum[i % 2] += p[i];
}

/* out = the sum of p, or out + it. */
static void SUM(total)(void *out, const void *p, ptrdiff_t n, int fresh, int near)
{
    REAL sum = SUM(pairwise)((const REAL *)p, n, near);
    *(REAL *)out = fresh ? sum : *(REAL *)out + sum;
}

/* The same of each of `rows`, so many bytes apart: of short ones a call takes longer than the sum. */
static void SUM(totals)(char *out, ptrdiff_t out_step, const char *p, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t n,
                        int fresh)
{
    for (; rows > 0; rows--, out += out_step, p += step) {
        REAL sum = (REAL)-0.0;
        if (n < 8)
            for (ptrdiff_t i = 0; i < n; i++)
                sum += ((const REAL *)p)[i];
        else
            sum = SUM(pairwise)((const REAL *)p, n, 0);
        *(REAL *)out = fresh ? sum : *(REAL *)out + sum;
    }
}

/* Of n complex numbers. */
static void SUM(pair_total)(void *out, const void *p, ptrdiff_t n, int fresh, int near)
{
    REAL sum[2], *to = out;
    SUM(pair_pairwise)((const REAL *)p, 2 * n, near, sum);
    for (int part = 0; part < 2; part++)
        to[part] = fresh ? sum[part] : to[part] + sum[part];
}

static void SUM(pair_totals)(char *out, ptrdiff_t out_step, const char *p, ptrdiff_t step, ptrdiff_t rows, ptrdiff_t n,
                             int fresh)
{
    for (; rows > 0; rows--, out += out_step, p += step)
        SUM(pair_total)(out, p, n, fresh, 0);
}

#undef RUN
#undef LANES
#undef PARTS
