/* What the machine can do, for the table of bench/fast.py: the same arithmetic as simple loops in one pass, with as
   many threads. Compiled when the bench runs, by native.py. */
#include <pthread.h>

#define MAX_THREADS 256
#define LEAST 100000L       /* elements for a thread: one costs some 20 us to start */
#define LANES 64            /* sums side by side, so that the compiler may use vectors */

struct part;
typedef void work(struct part *);

struct part {
    work *run;
    const void *x, *y;
    void *out;
    long start, stop, columns;
    double sum;
};

static void *enter(void *p) {
    struct part *part = p;
    part->run(part);
    return NULL;
}

/* Splits [start, stop) of `whole`, whose steps are `weight` elements each, over the threads; the sum of their sums. */
static double split(struct part whole, long weight, int threads) {
    struct part parts[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    int started[MAX_THREADS];
    long n = whole.stop - whole.start, most = n * weight / LEAST;
    double sum = 0;
    if (threads > most) threads = most < 1 ? 1 : (int)most;
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    for (int i = threads - 1; i >= 0; i--) {
        parts[i] = whole;
        parts[i].sum = 0;
        parts[i].start = whole.start + n * i / threads;
        parts[i].stop = whole.start + n * (i + 1) / threads;
        started[i] = i > 0 && pthread_create(&ids[i], NULL, enter, &parts[i]) == 0;
        if (!started[i]) whole.run(&parts[i]);
    }
    for (int i = 0; i < threads; i++) {
        if (started[i]) pthread_join(ids[i], NULL);
        sum += parts[i].sum;
    }
    return sum;
}

static void chain_part(struct part *p) {
    const float *restrict x = p->x, *restrict y = p->y;
    float *restrict out = p->out;
    for (long i = p->start; i < p->stop; i++) out[i] = x[i] * y[i] + 2 * x[i] - y[i] / 3;
}

static void inplace_part(struct part *p) {
    const double *restrict y = p->y;
    double *restrict x = p->out;
    for (long i = p->start; i < p->stop; i++) x[i] = (x[i] + y[i]) * 0.5;
}

static void stencil_part(struct part *p) {
    const long n = p->columns;
    for (long i = p->start; i < p->stop; i++) {
        const double *restrict x = (const double *)p->x + i * n;
        double *restrict out = (double *)p->out + i * n;
        for (long j = 1; j < n - 1; j++) out[j] = (x[j] + x[j - n] + x[j + n] + x[j - 1] + x[j + 1]) * 0.2;
    }
}

static void dot_part(struct part *p) {
    const float *restrict x = p->x, *restrict y = p->y;
    float sums[LANES] = {0};
    long i = p->start;
    for (; i + LANES <= p->stop; i += LANES)
        for (int j = 0; j < LANES; j++) sums[j] += x[i + j] * y[i + j];
    for (; i < p->stop; i++) sums[0] += x[i] * y[i];
    for (int j = 0; j < LANES; j++) p->sum += sums[j];
}

void chain(const float *x, const float *y, float *out, long n, int threads) {
    split((struct part){chain_part, x, y, out, 0, n, 0, 0}, 1, threads);
}

void inplace(double *x, const double *y, long n, int threads) {
    split((struct part){inplace_part, x, y, x, 0, n, 0, 0}, 1, threads);
}

void stencil(const double *x, double *out, long rows, long columns, int threads) {
    split((struct part){stencil_part, x, x, out, 1, rows - 1, columns, 0}, columns, threads);
}

double dot(const float *x, const float *y, long n, int threads) {
    return split((struct part){dot_part, x, y, NULL, 0, n, 0, 0}, 1, threads);
}
