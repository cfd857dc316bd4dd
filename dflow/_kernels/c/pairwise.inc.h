/* Pairwise summation, included once for each type and set of instructions. The including file defines

       REAL         the type of the elements
       SUM(name)    the name with a suffix for the type and the set
       WIDTH        bytes of a vector

   The tree is NumPy's, and so is every bit: runs of at most 128 elements are added into eight sums, these and what is
   left of the run to one; longer runs are halved, at a multiple of eight. NumPy's loop adds the eight one by one; here
   they are vectors, and of what is `near`, in a cache, two or four runs of one length go side by side, as each addition
   waits for the one before it in its run. From memory that takes twice as long: it is read ahead in one place. */

typedef REAL SUM(vec) __attribute__((vector_size(WIDTH), aligned(sizeof(REAL)), may_alias));

#define RUN 128
#define LANES (WIDTH / (int)sizeof(REAL))
#define PARTS (8 / LANES)

/* The sums of so many runs of n elements each, a multiple of eight and no more than RUN. */
static inline __attribute__((always_inline)) void SUM(runs)(const REAL *p, ptrdiff_t n, int runs, REAL *sums)
{
    SUM(vec) v[4][PARTS];
    REAL r[8];
    for (int k = 0; k < runs; k++)
        for (int j = 0; j < PARTS; j++)
            v[k][j] = *(const SUM(vec) *)(p + k * n + j * LANES);
    for (ptrdiff_t i = 8; i < n; i += 8)
        for (int k = 0; k < runs; k++)
            for (int j = 0; j < PARTS; j++)
                v[k][j] += *(const SUM(vec) *)(p + k * n + i + j * LANES);
    for (int k = 0; k < runs; k++) {
        memcpy(r, v[k], sizeof r);
        sums[k] = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
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

#undef RUN
#undef LANES
#undef PARTS
