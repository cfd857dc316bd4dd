/* Pairwise summation, included once for each type. The including file defines

       REAL         the type of the elements
       SUM(name)    the name with a suffix for the type
       WIDTH        bytes of a vector

   The tree is NumPy's, and so is every bit: runs of at most 128 elements are added into eight sums, these and what is
   left of the run to one; longer runs are halved, at a multiple of eight. NumPy's loop adds the eight one by one; here
   they are vectors, and a run takes so few instructions that the CPU begins the next ones meanwhile. */

typedef REAL SUM(vec) __attribute__((vector_size(WIDTH), aligned(sizeof(REAL)), may_alias));

#define RUN 128
#define LANES (WIDTH / (int)sizeof(REAL))
#define PARTS (8 / LANES)

static REAL SUM(pairwise)(const REAL *p, ptrdiff_t n)
{
    if (n > RUN) {
        ptrdiff_t half = n / 2 & ~(ptrdiff_t)7;
        return SUM(pairwise)(p, half) + SUM(pairwise)(p + half, n - half);
    }
    REAL sum = (REAL)-0.0;                  /* what keeps the sign of a sum of negative zeros */
    ptrdiff_t i = 0;
    if (n >= 8) {
        SUM(vec) v[PARTS];
        REAL r[8];
        for (int j = 0; j < PARTS; j++)
            v[j] = *(const SUM(vec) *)(p + j * LANES);
        for (i = 8; i + 8 <= n; i += 8)
            for (int j = 0; j < PARTS; j++)
                v[j] += *(const SUM(vec) *)(p + i + j * LANES);
        memcpy(r, v, sizeof r);
        sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
    for (; i < n; i++)
        sum += p[i];
    return sum;
}

/* out = the sum of p, or out + it. */
static void SUM(total)(void *out, const void *p, ptrdiff_t n, int fresh)
{
    REAL sum = SUM(pairwise)((const REAL *)p, n);
    *(REAL *)out = fresh ? sum : *(REAL *)out + sum;
}

#undef RUN
#undef LANES
#undef PARTS
