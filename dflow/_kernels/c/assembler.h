/* Writes loops over vectors, as machine code: for AVX-512, 64 bytes and v0..v30, for AVX2, 32 bytes and v0..v13, or, in
 * neon.h, for AArch64.
 *
 * A loop is a list of steps over the vectors and the operands, each of which is an address, in `at`:
 *
 *     void loop(char **at, intptr_t n, intptr_t rows, const intptr_t *steps)
 *
 * n elements of 4 or 8 bytes, or bools, one after the other, or, if they are PAIRED, complex numbers of two such; and
 * that for so many rows: between two each address goes its step on. `at` and `steps` have places for a multiple of 8
 * operands. One row needs no steps.
 *
 * What is true or false is a mask in a vector: all bits of an element, or none. In memory it is a byte, 1 or 0; any
 * but 0 is read as true.
 *
 * What is the same for every element of a row comes first. What is left of the last vector is masked in AVX-512, and
 * goes one by one in AVX2: other lanes are neither read nor written nor computed, so that they raise no flags. Of two
 * NaNs the first operand's comes out, as in NumPy's loops.
 *
 * Values for which there is no vector lie on the stack, in a room of a vector each, from rsp on.
 *
 * rdi: at; rsi: elements left, less a vector; rcx: elements done; r10: steps; r11: rows left; rdx: rsp before the
 * rooms. The addresses of the first operands that are loaded or stored whole are in registers of their own
 * (bases_of()); rax: another one. AVX-512: k1: what is left; v31, k2: a step's own, and v30 where numbers are paired.
 * AVX2: v14, v15, r8, r9: a step's own. Where there is an exponential, v28 to v30 are its own, too, or v11 to v13. */
#ifndef DFLOW_ASSEMBLER_H
#define DFLOW_ASSEMBLER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "_kernels/c/neon.h"
#include "_kernels/c/steps.h"

typedef struct {
    uint8_t *at, *end;                                 /* where the next byte goes; at > end: there was no room */
    int set;
    int wide;                                          /* elements of 8 bytes */
    int single;                                        /* AVX2: the first lane alone, or pair */
    int paired;
    int half;                                          /* AVX-512: of the lower half of a vector */
    const uint8_t *pool;                               /* EXP_..., in front of the code, for STEP_EXP */
    int ahead;                                         /* vectors, by which a step of a copy is */
    int operands;
    uint8_t base[256];                                 /* the register that has an operand's address; 0, rax: none */
} Pen;

static inline void put(Pen *pen, const void *bytes, size_t n) {
    if (pen->at + n <= pen->end) memcpy(pen->at, bytes, n);
    pen->at += n;
}

#define BYTES(pen, ...) do { const uint8_t bytes_[] = {__VA_ARGS__}; put(pen, bytes_, sizeof bytes_); } while (0)

static inline void put_i32(Pen *pen, int64_t x) {
    int32_t n = (int32_t)x;
    put(pen, &n, 4);
}

/* The jump of 32 bits that ends at `place` goes to where the pen is. */
static inline void land(Pen *pen, uint8_t *place) {
    int32_t far = (int32_t)(pen->at - place);
    if (place <= pen->end) memcpy(place - 4, &far, 4);
}

/* The prefix EVEX and the opcode. map: 1 of 0F, 2 of 0F38, 3 of 0F3A; pp: 0 none, 1 of 66. to, a, b: registers, of
 * which b may be 0 for memory. mask: k1 or k2, or 0; what it leaves out becomes zero, or stays. */
static inline void put_evex(Pen *pen, int map, int pp, int opcode, int to, int a, int b, int mask, int zero) {
    BYTES(pen, 0x62,
        (uint8_t)((~to >> 3 & 1) << 7 | (~b >> 4 & 1) << 6 | (~b >> 3 & 1) << 5 | (~to >> 4 & 1) << 4 | map),
        (uint8_t)(pen->wide << 7 | (~a & 15) << 3 | 4 | pp),
        (uint8_t)((mask && zero) << 7 | (2 - pen->half) << 5 | (~a >> 4 & 1) << 3 | mask),
        (uint8_t)opcode);
}

/* The prefix VEX and the opcode; pp also 2 of F3, 3 of F2: those of one lane, as a rule. w: for shifts, of 8 bytes. */
static inline void put_vex_w(Pen *pen, int w, int map, int pp, int opcode, int to, int a, int b) {
    BYTES(pen, 0xc4, (uint8_t)((~to >> 3 & 1) << 7 | 1 << 6 | (~b >> 3 & 1) << 5 | map),
        (uint8_t)(w << 7 | (~a & 15) << 3 | !pen->single << 2 | pp), (uint8_t)opcode);
}

static inline void put_vex(Pen *pen, int map, int pp, int opcode, int to, int a, int b) {
    put_vex_w(pen, 0, map, pp, opcode, to, a, b);
}

static inline void put_address(Pen *pen, int operand) {                    /* mov rax, [rdi + 8 * operand] */
    BYTES(pen, 0x48, 0x8b, 0x87);
    put_i32(pen, 8 * operand);
}

/* vbroadcast to, ...: but for the operand. Of so many bytes, 4, 8 or 16. */
static inline void put_spread(Pen *pen, int to, int bytes) {
    int opcode = bytes == 16 ? 0x1a : bytes == 8 ? 0x19 : 0x18, wide = pen->wide;
    pen->wide = bytes > 4;
    if (pen->set == AVX512) put_evex(pen, 2, 1, opcode, to, 0, 0, 0, 0);
    else put_vex(pen, 2, 1, opcode, to, 0, 0);
    pen->wide = wide;
}

static inline int element_of(const Pen *pen) { return 4 << pen->wide << pen->paired; }

/* How pp tells of the type: packed, or of one lane. */
static inline int type_of(const Pen *pen, int opcode) {
    return !pen->single || pen->paired || (opcode >= 0x54 && opcode <= 0x57) ? pen->wide : 2 + pen->wide;
}

/* to, a, b, all of them registers. Where there is one input, it is b. */
static inline void put_registers(Pen *pen, int opcode, int to, int a, int b, int mask, int zero) {
    if (pen->set == AVX512) put_evex(pen, 1, pen->wide, opcode, to, a, b, mask, zero);
    else put_vex(pen, 1, type_of(pen, opcode), opcode, to, a, b);
    BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3 | (b & 7)));
}

/* The instruction alone gives b where one is a NaN, and tells of it: so what is told is found out once more, by NumPy's
 * loop, whose way this is but for that. It is a where `tested`, a or b, is a NaN. */
static inline void put_extreme(Pen *pen, int opcode, int to, int a, int b, int tested, int mask) {
    if (pen->set == AVX2) {
        put_registers(pen, 0xc2, 15, tested, tested, 0, 0);                /* vcmp v15, tested, tested, unordered */
        BYTES(pen, 3);
        put_registers(pen, opcode, 14, a, b, 0, 0);
        put_vex(pen, 3, 1, pen->wide ? 0x4b : 0x4a, to, 14, a);            /* vblendv to, v14, a, v15 */
        BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3 | (a & 7)), 15 << 4);
        return;
    }
    put_registers(pen, 0xc2, 2, tested, tested, mask, 0);                  /* vcmp k2, tested, ... , ordered or not */
    BYTES(pen, to == a ? 7 : 3);
    if (to == a) {
        put_registers(pen, opcode, to, a, b, 2, 0);
    } else {
        put_registers(pen, opcode, to, a, b, mask, 1);
        put_registers(pen, 0x28, to, 0, a, 2, 0);                          /* vmovap to {k2}, a */
    }
}

static inline void put_rounded(Pen *pen, int how, int to, int a, int mask) {
    if (pen->set == AVX512) put_evex(pen, 3, 1, 8 + pen->wide, to, 0, a, mask, 1);                /* vrndscale */
    else put_vex(pen, 3, 1, 8 + 2 * pen->single + pen->wide, to, pen->single ? a : 0, a);         /* vround */
    BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3 | (a & 7)), (uint8_t)(8 | how));  /* 8: do not tell that it is inexact */
}

static inline void put_element(Pen *pen, int reg, int scale) {             /* reg, [rax + rcx << scale] */
    BYTES(pen, (uint8_t)((reg & 7) << 3 | 4), (uint8_t)(scale << 6 | 1 << 3));
}

static inline void put_moved(Pen *pen, const Step *s, int mask) {          /* vmovup to, [base + rcx << ...], or back */
    int load = s->op == STEP_LOAD, base = pen->base[s->a], offset = (base & 7) == 5;     /* rbp, r13: never without */
    int far = pen->ahead * (pen->set == AVX512 ? 64 : 32);
    int one_pair = pen->single && pen->paired && !pen->wide;               /* 8 bytes */
    if (!base) put_address(pen, s->a);
    if (pen->set == AVX512) put_evex(pen, 1, pen->wide, load ? 0x10 : 0x11, s->to, 0, base, mask, load);
    else put_vex(pen, 1, one_pair ? 3 : type_of(pen, 0x10), load ? 0x10 : 0x11, s->to, 0, base);
    BYTES(pen, (uint8_t)((far ? 2 : offset) << 6 | (s->to & 7) << 3 | 4),
          (uint8_t)((2 + pen->wide) << 6 | 1 << 3 | (base & 7)));
    if (far) put_i32(pen, far);
    else if (offset) BYTES(pen, 0);
}

static inline void put_from_halves(Pen *pen, int to, int a, int mask) {    /* vcvtph2ps */
    if (pen->set == AVX512) put_evex(pen, 2, 1, 0x13, to, 0, a, mask, 1);
    else put_vex(pen, 2, 1, 0x13, to, 0, a);
    BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3 | (a & 7)));
}

static inline void put_to_halves(Pen *pen, int from, int to, int mask) {   /* vcvtps2ph, but for `to` and how: 0 */
    if (pen->set == AVX512) put_evex(pen, 3, 1, 0x1d, from, 0, to, mask, to != 0);
    else put_vex(pen, 3, 1, 0x1d, from, 0, to);
}

static inline void put_loaded_one(Pen *pen, int to, int operand, int narrow) {
    int single = pen->single;
    put_address(pen, operand);
    pen->single = 0;
    if (narrow == LOAD_HALVES) {
        if (pen->set == AVX512) {                                          /* movzx eax, word [rax]; imul eax, ... */
            BYTES(pen, 0x0f, 0xb7, 0, 0x69, 0xc0, 1, 0, 1, 0);
            put_evex(pen, 2, 1, 0x7c, to, 0, 0, 0, 0);                     /* vpbroadcastd to, eax */
            BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3));
        } else {
            put_vex(pen, 2, 1, 0x79, to, 0, 0);                            /* vpbroadcastw to, [rax] */
            BYTES(pen, (uint8_t)((to & 7) << 3));
        }
        put_from_halves(pen, to, to, 0);
    } else {
        put_spread(pen, to, element_of(pen));
        BYTES(pen, (uint8_t)((to & 7) << 3));                              /* [rax] */
    }
    pen->single = single;
}

/* To the nearest of 2 bytes, and back. AVX2: the other lanes of what counts in one may have anything. */
static inline void put_round(Pen *pen, int to, int a, int mask) {
    int own = pen->set == AVX512 ? 31 : 15;
    if (pen->single) {
        put_vex(pen, 1, 0, 0x57, 15, 15, 15);                              /* vxorps */
        BYTES(pen, 0xc0 | 7 << 3 | 7);
        put_vex(pen, 1, 2, 0x10, 15, 15, a);                               /* vmovss v15, v15, a */
        BYTES(pen, (uint8_t)(0xc0 | 7 << 3 | (a & 7)));
        a = 15;
    }
    put_to_halves(pen, a, own, mask);
    BYTES(pen, (uint8_t)(0xc0 | (a & 7) << 3 | 7), 0);
    put_from_halves(pen, to, own, mask);
}

static inline void put_room(Pen *pen, const Step *s) {                     /* vmovup to, [rsp + ...], or back */
    int load = s->op == STEP_TAKE_BACK;
    if (pen->set == AVX512) put_evex(pen, 1, pen->wide, load ? 0x10 : 0x11, s->to, 0, 0, 0, 0);
    else put_vex(pen, 1, pen->wide, load ? 0x10 : 0x11, s->to, 0, 0);
    BYTES(pen, (uint8_t)(0x80 | (s->to & 7) << 3 | 4), 0x24);
    put_i32(pen, (pen->set == AVX512 ? 64 : 32) * s->a);
}

static inline void put_from_k2(Pen *pen, int to) {                         /* vpmovm2q to, k2, or vpmovm2d */
    put_evex(pen, 2, 2, 0x38, to, 0, 0, 0, 0);
    BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3 | 2));
}

static inline void put_compared(Pen *pen, int how, int to, int a, int b, int mask) {
    static const uint8_t quiet[] = {17, 18, 0, 4};                         /* LT_OQ, LE_OQ, EQ_OQ, NEQ_UQ */
    put_registers(pen, 0xc2, pen->set == AVX512 ? 2 : to, a, b, mask, 0);  /* vcmp k2 or to, a, b */
    BYTES(pen, quiet[how]);
    if (pen->set == AVX512) put_from_k2(pen, to);
}

static inline void put_one_moved(Pen *pen, int to) {                       /* vmovd to, r8d */
    put_vex(pen, 1, 1, 0x6e, to, 0, 8);
    BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3));
}

static inline void put_mask_loaded(Pen *pen, int to, int operand, int mask) {
    put_address(pen, operand);
    if (pen->set == AVX512) {
        put_evex(pen, 2, 1, 0x31 + pen->wide, to, 0, 0, mask, 1);          /* vpmovzxbq to, [...], or vpmovzxbd */
        put_element(pen, to, 0);
        put_evex(pen, 2, 1, 0x27, 2, to, to, mask, 0);                     /* vptestm k2, to, to */
        BYTES(pen, (uint8_t)(0xc0 | 2 << 3 | (to & 7)));
        put_from_k2(pen, to);
        return;
    }
    if (pen->single) {
        BYTES(pen, 0x44, 0x0f, 0xb6, 0x04, 0x08);                            /* movzx r8d, byte [rax + rcx] */
        put_one_moved(pen, to);
    } else {
        put_vex(pen, 2, 1, 0x31 + pen->wide, to, 0, 0);
        put_element(pen, to, 0);
    }
    put_vex(pen, 1, 1, 0xef, 15, 15, 15);                                  /* vpxor v15, v15, v15 */
    BYTES(pen, 0xc0 | 7 << 3 | 7);
    put_vex(pen, pen->wide ? 2 : 1, 1, pen->wide ? 0x37 : 0x66, to, to, 15);   /* vpcmpgt to, to, v15 */
    BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3 | 7));
}

static inline void put_mask_stored(Pen *pen, int from, int operand, int mask) {
    int wide = pen->wide;
    if (pen->set == AVX512) {
        put_evex(pen, 1, 1, 0x72 + wide, 2, 31, from, 0, 0);               /* vpsrl v31, from, 63 or 31 */
        BYTES(pen, (uint8_t)(0xc0 | 2 << 3 | (from & 7)), (uint8_t)(wide ? 63 : 31));
        put_address(pen, operand);
        pen->wide = 0;
        put_evex(pen, 2, 2, 0x31 + wide, 31, 0, 0, mask, 0);               /* vpmovqb [...], v31, or vpmovdb */
        pen->wide = wide;
        put_element(pen, 31, 0);
        return;
    }
    put_address(pen, operand);
    put_vex(pen, 1, wide, 0x50, 8, 0, from);                               /* vmovmskp r8d, from */
    BYTES(pen, (uint8_t)(0xc0 | (from & 7)));
    if (pen->single) BYTES(pen, 0x41, 0x83, 0xe0, 1, 0x44, 0x88, 0x04, 0x08);    /* and r8d, 1; mov [...], r8b */
    else if (wide) BYTES(pen, 0x41, 0xb9, 1, 1, 1, 1, 0xc4, 0x42, 0x3b, 0xf5, 0xc1,      /* r9d; pdep r8d, r8d, r9d */
                       0x44, 0x89, 0x04, 0x08);                            /* mov [...], r8d */
    else BYTES(pen, 0x49, 0xb9, 1, 1, 1, 1, 1, 1, 1, 1, 0xc4, 0x42, 0xbb, 0xf5, 0xc1, /* r9; pdep r8, r8, r9 */
               0x4c, 0x89, 0x04, 0x08);                                    /* mov [...], r8 */
}

/* Whole vectors even where one lane counts: of integers none raises a flag. */
static inline void put_packed(Pen *pen, int map, int opcode, int to, int a, int b, int mask) {
    if (pen->set == AVX512) put_evex(pen, map, 1, opcode, to, a, b, mask, 1);
    else put_vex_w(pen, pen->wide, map, 1, opcode, to, a, b);
    BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3 | (b & 7)));
}

static inline void put_bits_moved(Pen *pen, int way, int to, int a, int bits) {    /* AVX2: vpslld, vpsrad */
    put_vex(pen, 1, 1, 0x72, way, to, a);
    BYTES(pen, (uint8_t)(0xc0 | way << 3 | (a & 7)), (uint8_t)bits);
}

static inline void put_shifted(Pen *pen, int way, int to, int a) {         /* AVX2: vpsrlq to, a, 32, or vpsllq */
    put_vex(pen, 1, 1, 0x73, way, to, a);
    BYTES(pen, (uint8_t)(0xc0 | way << 3 | (a & 7)), 32);
}

/* What AVX2 lacks for 8 bytes. */
static inline void put_integers_avx2(Pen *pen, int op, int to, int a, int b) {
    int most = op == STEP_INT_MAXIMUM;
    if (op == STEP_INT_MULTIPLY) {
        put_shifted(pen, 2, 14, a);
        put_packed(pen, 1, 0xf4, 14, 14, b, 0);                            /* vpmuludq */
        put_shifted(pen, 2, 15, b);
        put_packed(pen, 1, 0xf4, 15, 15, a, 0);
        put_packed(pen, 1, 0xd4, 14, 14, 15, 0);                           /* vpaddq */
        put_shifted(pen, 6, 14, 14);
        put_packed(pen, 1, 0xf4, 15, a, b, 0);
        put_packed(pen, 1, 0xd4, to, 14, 15, 0);
    } else if (op == STEP_SHIFT_SIGNED) {                                  /* of a negative one all bits are turned */
        put_packed(pen, 1, 0xef, 15, 15, 15, 0);                           /* vpxor */
        put_packed(pen, 2, 0x37, 15, 15, a, 0);                            /* vpcmpgtq */
        put_packed(pen, 1, 0xef, 14, 15, a, 0);
        put_packed(pen, 2, 0x45, 14, 14, b, 0);                            /* vpsrlvq */
        put_packed(pen, 1, 0xef, to, 14, 15, 0);
    } else {
        put_packed(pen, 2, 0x37, 15, a, b, 0);
        put_vex(pen, 3, 1, 0x4b, to, most ? b : a, most ? a : b);          /* vblendvpd to, ..., ..., v15 */
        BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3 | ((most ? a : b) & 7)), 15 << 4);
    }
}

static inline void put_integers(Pen *pen, int op, int to, int a, int b, int mask) {
    static const struct { uint8_t map, narrow, wide; } rows[] = {
        {1, 0xfe, 0xd4}, {1, 0xfa, 0xfb}, {2, 0x40, 0x40}, {2, 0x3d, 0x3d}, {2, 0x39, 0x39}, {2, 0x47, 0x47},
        {2, 0x45, 0x45}, {2, 0x46, 0x46}};
    int row = op - STEP_INT_ADD;
    if (pen->set == AVX2 && pen->wide && op >= STEP_INT_MULTIPLY && op != STEP_SHIFT_LEFT && op != STEP_SHIFT_RIGHT)
        put_integers_avx2(pen, op, to, a, b);
    else
        put_packed(pen, rows[row].map, pen->wide ? rows[row].wide : rows[row].narrow, to, a, b, mask);
}

static inline void put_integers_compared(Pen *pen, int how, int to, int a, int b, int mask) {
    static const uint8_t predicates[] = {1, 2, 0, 4};
    if (pen->set == AVX512) {
        put_evex(pen, 3, 1, 0x1f, 2, a, b, mask, 0);                       /* vpcmp k2, a, b */
        BYTES(pen, (uint8_t)(0xc0 | 2 << 3 | (b & 7)), predicates[how]);
        put_from_k2(pen, to);
        return;
    }
    if (how < 2)                                                           /* vpcmpgt to, b, a or to, a, b */
        put_packed(pen, pen->wide ? 2 : 1, pen->wide ? 0x37 : 0x66, to, how ? a : b, how ? b : a, 0);
    else
        put_packed(pen, pen->wide ? 2 : 1, pen->wide ? 0x29 : 0x76, to, a, b, 0);               /* vpcmpeq */
    if (how % 2) {
        put_packed(pen, 1, 0x76, 15, 15, 15, 0);                           /* vpcmpeqd v15, v15, v15: all bits */
        put_packed(pen, 1, 0xef, to, to, 15, 0);                           /* vpxor */
    }
}

/* Shuffles, multiplies, and shuffles the products: the same as products of what is shuffled, with a register less. */
static inline void put_pairs_multiplied(Pen *pen, int to, int a, int b, int mask) {
    int x = pen->set == AVX512 ? 30 : 14, y = x + 1, opcode = 4 + pen->wide;
    static const uint8_t second[] = {0xf5, 0xff}, turned[] = {0xb1, 0x55}, first[] = {0xa0, 0};
    int wide = pen->wide;
    pen->wide = pen->set == AVX512 && wide;                                /* VEX: W is 0 here */
    put_packed(pen, 3, opcode, x, 0, a, 0);                                /* vpermilp x, a: (a.im, a.im) */
    BYTES(pen, second[wide]);
    pen->wide = wide;
    put_registers(pen, 0x59, x, x, b, mask, 1);                            /* vmulp x, x, b */
    pen->wide = pen->set == AVX512 && wide;
    put_packed(pen, 3, opcode, x, 0, x, 0);                                /* its products change places */
    BYTES(pen, turned[wide]);
    put_packed(pen, 3, opcode, y, 0, a, 0);                                /* (a.re, a.re) */
    BYTES(pen, first[wide]);
    pen->wide = wide;
    put_packed(pen, 2, 0xa6, y, b, x, mask);                               /* vfmaddsub213p y, b, x */
    put_registers(pen, 0x28, to, 0, y, 0, 0);                              /* vmovap to, y */
}

static inline void put_cast(Pen *pen, const Step *s, int mask) {
    int to_floats = s->op == STEP_TO_FLOATS;
    if (s->op == STEP_UNSIGNED_TO_FLOATS) {                                /* vcvtuqq2pd, vcvtudq2ps */
        put_evex(pen, 1, pen->wide ? 2 : 3, 0x7a, s->to, 0, s->a, mask, 1);
    } else if (pen->set == AVX512 && pen->wide) {
        put_evex(pen, 1, to_floats ? 2 : 1, to_floats ? 0xe6 : 0x7a, s->to, 0, s->a, mask, 1);  /* vcvtqq2pd, back */
    } else if (pen->set == AVX512) {
        put_evex(pen, 1, to_floats ? 0 : 2, 0x5b, s->to, 0, s->a, mask, 1);                     /* vcvtdq2ps, back */
    } else if (pen->single && !to_floats) {
        put_vex(pen, 1, 2, 0x2c, 8, 0, s->a);                              /* vcvttss2si r8d, a */
        BYTES(pen, (uint8_t)(0xc0 | (s->a & 7)));
        put_one_moved(pen, s->to);
        return;
    } else {
        put_vex(pen, 1, to_floats ? 0 : 2, 0x5b, s->to, 0, s->a);
    }
    BYTES(pen, (uint8_t)(0xc0 | (s->to & 7) << 3 | (s->a & 7)));
}

static inline void put_halved(Pen *pen, const Step *s, int mask) {
    static const struct { uint8_t pp, opcode; } rows[] = {{1, 0x5a}, {1, 0xe6}, {0, 0x5b}, {3, 0x7a}};
    int row = s->op - STEP_HALVE_FLOATS;                                   /* vcvtpd2ps, ttpd2dq, qq2ps, uqq2ps */
    if (pen->set == AVX512) {
        put_evex(pen, 1, rows[row].pp, rows[row].opcode, s->to, 0, s->a, mask, 1);
    } else if (pen->single && s->op == STEP_HALVE_TO_INTEGERS) {
        put_vex(pen, 1, 3, 0x2c, 8, 0, s->a);                              /* vcvttsd2si r8d, a */
        BYTES(pen, (uint8_t)(0xc0 | (s->a & 7)));
        put_one_moved(pen, s->to);
        return;
    } else {                                                               /* or vcvtsd2ss to, a, a */
        put_vex(pen, 1, pen->single ? 3 : 1, rows[row].opcode, s->to, pen->single ? s->a : 0, s->a);
    }
    BYTES(pen, (uint8_t)(0xc0 | (s->to & 7) << 3 | (s->a & 7)));
}

/* AVX2: of xmm or, `whole`, ymm: vpslld to, a, bits, vpsrad to, to, bits: what is packed then fits. */
static inline void put_cut(Pen *pen, int whole, int to, int a, int bits) {
    static const uint8_t ways[] = {6, 4};
    int single = pen->single;
    pen->single = !whole;
    for (int i = 0; i < 2; i++, a = to) put_bits_moved(pen, ways[i], to, a, bits);
    pen->single = single;
}

/* AVX2, whole vectors: the lower bytes of each lane, packed in xmm15, and from there to memory. */
static inline void put_packed_stored(Pen *pen, int from, int bytes, int halved) {
    int four = pen->wide, bits = 32 - 8 * bytes;                           /* dwords in one xmm; else eight in a ymm */
    if (four && !halved) {
        put_vex(pen, 3, 1, 0x39, from, 0, 15);                             /* vextracti128 xmm15, from, 1 */
        BYTES(pen, (uint8_t)(0xc0 | (from & 7) << 3 | 7), 1);
    }
    pen->single = 1;                                                       /* xmm */
    if (four && !halved) {
        put_vex(pen, 1, 0, 0xc6, 15, from, 15);                            /* vshufps xmm15, from, xmm15 */
        BYTES(pen, 0xc0 | 7 << 3 | 7, 0x88);
        from = 15;
    }
    if (bytes < 4) {
        int other = 15;
        put_cut(pen, !four, 15, from, bits);
        if (!four) {
            pen->single = 0;
            put_vex(pen, 3, 1, 0x39, 15, 0, 14);                           /* vextracti128 xmm14, ymm15, 1 */
            BYTES(pen, 0xc0 | 7 << 3 | 6, 1);
            pen->single = 1;
            other = 14;
        }
        put_vex(pen, 1, 1, 0x6b, 15, 15, other);                           /* vpackssdw xmm15, xmm15, ... */
        BYTES(pen, (uint8_t)(0xc0 | 7 << 3 | (other & 7)));
        if (bytes == 1) {
            put_vex(pen, 1, 1, 0x63, 15, 15, 15);                          /* vpacksswb xmm15, xmm15, xmm15 */
            BYTES(pen, 0xc0 | 7 << 3 | 7);
        }
        from = 15;
    }
    bits = (four ? 4 : 8) * bytes;                                         /* now bytes: 16, 8 or 4 */
    if (bits == 16) put_vex(pen, 1, 0, 0x11, from, 0, 0);                  /* vmovups [...], from */
    else put_vex(pen, 1, 1, bits == 8 ? 0xd6 : 0x7e, from, 0, 0);          /* vmovq, vmovd */
    put_element(pen, from, bytes / 2);
    pen->single = 0;
}

static inline void put_narrow_stored(Pen *pen, const Step *s, int mask) {
    int bytes = s->b & 15, halved = s->b & HALVED, wide = pen->wide, from = s->to;
    put_address(pen, s->a);
    if (s->b == STORE_HALVES && pen->single) {
        put_to_halves(pen, from, 15, 0);
        BYTES(pen, (uint8_t)(0xc0 | (from & 7) << 3 | 7), 0);
        from = 15;
    } else if (s->b == STORE_HALVES) {
        put_to_halves(pen, from, 0, mask);
        put_element(pen, from, 1);
        BYTES(pen, 0);
        return;
    }
    if (pen->set == AVX512) {
        pen->wide = 0;
        pen->half = halved != 0;
        if (halved && bytes == 4) put_evex(pen, 1, 0, 0x11, s->to, 0, 0, mask, 0);      /* vmovups [...], ymm */
        else put_evex(pen, 2, 2, bytes == 4 ? 0x35 : 0x2f + 2 * bytes + (wide && !halved),
                      s->to, 0, 0, mask, 0);                               /* vpmov */
        put_element(pen, s->to, bytes / 2);
        pen->wide = wide;
        pen->half = 0;
    } else if (pen->single) {
        put_vex(pen, 1, 1, 0x7e, from, 0, 8);                              /* vmovd r8d, xmm; mov [...], r8 */
        BYTES(pen, (uint8_t)(0xc0 | (from & 7) << 3));
        if (bytes == 2) BYTES(pen, 0x66);
        BYTES(pen, 0x44, bytes == 1 ? 0x88 : 0x89, 0x04, (uint8_t)(bytes / 2 << 6 | 8));
    } else {
        put_packed_stored(pen, s->to, bytes, halved);
    }
}

static inline void put_pairs_loaded(Pen *pen, const Step *s, int mask) {
    int wide = pen->wide;
    if (pen->set == AVX512) {
        BYTES(pen, 0xb8, 0x55, 0x55, 0, 0, 0xc5, 0xf8, 0x92, 0xd0);          /* mov eax, 0x5555; kmovw k2, eax */
        if (mask) BYTES(pen, 0xc5, 0xec, 0x41, 0xd1);                        /* kandw k2, k2, k1 */
        put_address(pen, s->a);
        put_evex(pen, 2, 1, 0x88, s->to, 0, 0, 2, 1);                        /* vexpandp to {k2}, [...] */
    } else {
        put_address(pen, s->a);
        if (pen->single) put_vex(pen, 1, 2 + wide, 0x10, s->to, 0, 0);       /* vmovss, vmovsd to, [...] */
        else if (!wide) put_vex(pen, 2, 1, 0x35, s->to, 0, 0);               /* vpmovzxdq to, [...] */
        else {
            pen->single = 1;
            put_vex(pen, 1, 1, 0x10, s->to, 0, 0);                           /* vmovupd xmm, [...]: zeros follow */
            pen->single = 0;
        }
    }
    put_element(pen, s->to, 1 + wide);
    if (pen->set == AVX2 && wide && !pen->single) {
        put_vex_w(pen, 1, 3, 1, 0x01, s->to, 0, s->to);                      /* vpermpd to, to, (0, 2, 1, 2) */
        BYTES(pen, (uint8_t)(0xc0 | (s->to & 7) << 3 | (s->to & 7)), 0x98);
    }
}

static inline void put_narrow_loaded(Pen *pen, const Step *s, int mask) {
    int bytes = s->b & 15, how = s->b >> 4, wide = pen->wide, scale = bytes / 2;
    int whole = how == NARROW_SIGNED || how == NARROW_UNSIGNED || how == NARROW_HALVES, map = 1 + whole;
    int pp = whole ? 1 : how == NARROW_FLOATS ? 0 : 2;
    int opcode = how == NARROW_HALVES ? 0x13                               /* vcvtph2ps */
                 : !whole ? (how == NARROW_FLOATS ? 0x5a : 0xe6)           /* vcvtps2pd, vcvtdq2pd */
                 : (bytes == 4 ? 0x25 : 0x1f + 2 * bytes + wide) + (how == NARROW_UNSIGNED ? 0x10 : 0);
    put_address(pen, s->a);
    pen->wide = 0;
    if (pen->set == AVX512) {
        put_evex(pen, map, pp, opcode, s->to, 0, 0, mask, 1);
        put_element(pen, s->to, scale);
    } else if (!pen->single) {
        put_vex(pen, map, pp, opcode, s->to, 0, 0);
        put_element(pen, s->to, scale);
    } else {                                                               /* the others are zeros: no flags */
        if (bytes == 4) {
            put_vex(pen, 1, 2, 0x10, s->to, 0, 0);                         /* vmovss to, [...] */
            put_element(pen, s->to, scale);
        } else {
            BYTES(pen, 0x44, 0x0f, (uint8_t)(0xb5 + bytes), 0x04, (uint8_t)(scale << 6 | 8));     /* movzx r8d, [...] */
            put_one_moved(pen, s->to);
        }
        put_vex(pen, map, pp, opcode, s->to, 0, s->to);
        BYTES(pen, (uint8_t)(0xc0 | (s->to & 7) << 3 | (s->to & 7)));
    }
    pen->wide = wide;
}

/* NumPy's exponential of floats: x = n log(2) + r, exp(r) as a ratio of polynomials P / Q, times 2^n. Beyond -104 and
 * 89 it is 0 and infinity, and tells of it, as those do. A NaN gives NumPy's one. */
enum { EXP_LOW, EXP_HIGH, EXP_LOG2_E, EXP_LOG_2, EXP_LOG_2_REST, EXP_P5, EXP_P4, EXP_P3, EXP_P2, EXP_P1, EXP_P0, EXP_Q2,
       EXP_Q1, EXP_Q0, EXP_NAN, EXP_POOL };

static const float exp_pool[EXP_POOL] = {
    -104.0f, 89.0f, 1.442695040888963407359924681001892137f, -6.93145752e-1f, -1.42860677e-6f,
    5.082762527590693718096e-04f, 6.757896990527504603057e-03f, 5.114512081637298353406e-02f,
    2.473615434895520810817e-01f, 7.257664613233124478488e-01f, 9.999999999980870924916e-01f,
    2.159509375685829852307e-02f, -2.742335390411667452936e-01f, 1.0f, 0 /* its bits: see put_exp_pool() */};

/* AVX-512 spreads a number as it reads it; for AVX2 it is there eight times, on a multiple of 32 bytes, as code is. */
static inline int pooled_bytes(const Pen *pen) { return pen->set == AVX512 ? 4 : 32; }

static inline void put_exp_pool(Pen *pen, const uint8_t *code) {
    static const uint32_t nan = 0x7fc00000u;
    int size = pooled_bytes(pen);
    uint8_t *place, zero = 0;
    BYTES(pen, 0xe9, 0, 0, 0, 0);                                            /* jmp over it */
    place = pen->at;
    while (size == 32 && (pen->at - code) % 32) put(pen, &zero, 1);
    pen->pool = pen->at;
    for (int i = 0; i < EXP_POOL; i++)
        for (int k = 0; k < size; k += 4) put(pen, i == EXP_NAN ? (const void *)&nan : &exp_pool[i], 4);
    land(pen, place);
}

/* The ModRM byte and the address of a number of the pool, behind which `more` bytes of the instruction follow. */
static inline void put_pooled(Pen *pen, int to, int number, int more) {
    BYTES(pen, (uint8_t)((to & 7) << 3 | 5));
    put_i32(pen, pen->pool + pooled_bytes(pen) * number - (pen->at + 4 + more));
}

static inline void put_with_pooled(Pen *pen, int map, int pp, int opcode, int to, int a, int number, int mask) {
    int imm = map == 3;
    if (pen->set == AVX2) {
        put_vex(pen, map, pp, opcode, to, a, 0);
    } else {
        put_evex(pen, map, pp, opcode, to, a, 0, mask, 1);
        if (pen->at <= pen->end) pen->at[-2] |= 0x10;                        /* of memory one number for all */
    }
    put_pooled(pen, to, number, imm);
}

static inline void put_spread_pooled(Pen *pen, int to, int number, int mask) {
    if (pen->set == AVX2) put_vex(pen, 1, 0, 0x28, to, 0, 0);                /* vmovaps to, [...] */
    else put_evex(pen, 2, 1, 0x18, to, 0, 0, mask, 0);                            /* vbroadcastss to, [...] */
    put_pooled(pen, to, number, 0);
}

/* x -= n log(2), and P and Q, of which Q may be n. */
static inline void put_ratio(Pen *pen, int x, int n, int p, int q) {
    put_with_pooled(pen, 2, 1, 0xb8, x, n, EXP_LOG_2, 0);                    /* vfmadd231ps */
    put_with_pooled(pen, 2, 1, 0xb8, x, n, EXP_LOG_2_REST, 0);
    put_spread_pooled(pen, p, EXP_P5, 0);
    for (int i = EXP_P4; i <= EXP_P0; i++) put_with_pooled(pen, 2, 1, 0xa8, p, x, i, 0);      /* vfmadd213ps */
    put_spread_pooled(pen, q, EXP_Q2, 0);
    for (int i = EXP_Q1; i <= EXP_Q0; i++) put_with_pooled(pen, 2, 1, 0xa8, q, x, i, 0);
    put_registers(pen, 0x5e, p, p, q, 0, 0);                                 /* vdivps */
}

/* Of one lane, too, by whole vectors, of zeros but for it. 2^n is 2^(n / 2), which goes into the exponent of P / Q, and
 * the rest, by which that is multiplied: the one rounding that there is, and it tells of what is too large or small. */
static inline void put_exp_avx2(Pen *pen, int to, int a) {
    enum { MASK = 15, X = 14, N = 13, P = 12, Q = 11 };
    int single = pen->single;
    pen->single = 0;
    if (single) {
        put_registers(pen, 0x57, X, X, X, 0, 0);                             /* vxorps */
        put_vex(pen, 1, 2, 0x10, X, X, a);                                   /* vmovss X, X, a */
        BYTES(pen, (uint8_t)(0xc0 | (X & 7) << 3 | (a & 7)));
        a = X;
    }
    put_registers(pen, 0xc2, MASK, a, a, 0, 0);                              /* vcmpunordps */
    BYTES(pen, 3);
    put_registers(pen, 0x55, X, MASK, a, 0, 0);                              /* vandnps: no NaN tells */
    put_with_pooled(pen, 1, 0, 0x5f, X, X, EXP_LOW, 0);                      /* vmaxps */
    put_with_pooled(pen, 1, 0, 0x5d, X, X, EXP_HIGH, 0);                     /* vminps */
    put_with_pooled(pen, 1, 0, 0x59, N, X, EXP_LOG2_E, 0);                   /* vmulps */
    put_vex(pen, 1, 1, 0x5b, N, 0, N);                                       /* vcvtps2dq N, N */
    BYTES(pen, 0xc0 | (N & 7) << 3 | (N & 7));
    put_vex(pen, 1, 0, 0x5b, Q, 0, N);                                       /* vcvtdq2ps Q, N */
    BYTES(pen, 0xc0 | (Q & 7) << 3 | (N & 7));
    put_ratio(pen, X, Q, P, Q);
    put_bits_moved(pen, 4, Q, N, 1);                                         /* vpsrad Q, N, 1 */
    put_packed(pen, 1, 0xfa, N, N, Q, 0);                                    /* vpsubd */
    put_bits_moved(pen, 6, Q, Q, 23);                                        /* vpslld */
    put_packed(pen, 1, 0xfe, P, P, Q, 0);                                    /* vpaddd */
    put_bits_moved(pen, 6, N, N, 23);
    put_with_pooled(pen, 1, 1, 0xfe, N, N, EXP_Q0, 0);                       /* 1.0 */
    put_registers(pen, 0x59, P, P, N, 0, 0);                                 /* vmulps */
    put_vex(pen, 3, 1, 0x4a, to, P, 0);                                      /* vblendvps to, P, [...], MASK */
    put_pooled(pen, to, EXP_NAN, 1);
    BYTES(pen, MASK << 4);
    pen->single = single;
}

static inline void put_exp(Pen *pen, int to, int a, int mask) {
    enum { X = 31, N = 30, P = 29, Q = 28 };
    if (pen->set == AVX2) {
        put_exp_avx2(pen, to, a);
        return;
    }
    put_registers(pen, 0xc2, 2, a, a, mask, 0);                              /* vcmpunordps k2, a, a */
    BYTES(pen, 3);
    put_with_pooled(pen, 3, 1, 0x50, X, a, EXP_LOW, mask);                   /* vrangeps: the greater; no NaN tells */
    BYTES(pen, 5);
    put_with_pooled(pen, 3, 1, 0x50, X, X, EXP_HIGH, 0);                     /* the less */
    BYTES(pen, 4);
    put_with_pooled(pen, 1, 0, 0x59, N, X, EXP_LOG2_E, 0);                   /* vmulps */
    put_rounded(pen, 0, N, N, 0);
    put_ratio(pen, X, N, P, Q);
    put_evex(pen, 2, 1, 0x2c, to, P, N, mask, 1);                            /* vscalefps */
    BYTES(pen, (uint8_t)(0xc0 | (to & 7) << 3 | (N & 7)));
    put_spread_pooled(pen, to, EXP_NAN, 2);
}

static inline void put_step(Pen *pen, const Step *s, int mask) {
    static const uint8_t opcodes[] = {[STEP_ADD] = 0x58, [STEP_MULTIPLY] = 0x59, [STEP_SUBTRACT] = 0x5c,
                                      [STEP_DIVIDE] = 0x5e, [STEP_AND] = 0x54, [STEP_BUT] = 0x55, [STEP_OR] = 0x56,
                                      [STEP_XOR] = 0x57};
    if (s->op == STEP_LOAD || s->op == STEP_STORE)
        put_moved(pen, s, mask);
    else if (s->op == STEP_LOAD_ONE)
        put_loaded_one(pen, s->to, s->a, s->b);
    else if (s->op == STEP_PUT_OFF || s->op == STEP_TAKE_BACK)
        put_room(pen, s);
    else if (s->op == STEP_LOAD_MASK)
        put_mask_loaded(pen, s->to, s->a, mask);
    else if (s->op == STEP_STORE_MASK)
        put_mask_stored(pen, s->to, s->a, mask);
    else if (s->op == STEP_LOAD_NARROW && s->b >> 4 == NARROW_TO_PAIRS)
        put_pairs_loaded(pen, s, mask);
    else if (s->op == STEP_LOAD_NARROW)
        put_narrow_loaded(pen, s, mask);
    else if (s->op == STEP_STORE_NARROW)
        put_narrow_stored(pen, s, mask);
    else if (s->op == STEP_SQRT)
        put_registers(pen, 0x51, s->to, pen->single ? s->a : 0, s->a, mask, 1);
    else if (s->op >= STEP_INT_LESS)
        put_integers_compared(pen, s->op - STEP_INT_LESS, s->to, s->a, s->b, mask);
    else if (s->op >= STEP_LESS)
        put_compared(pen, s->op - STEP_LESS, s->to, s->a, s->b, mask);
    else if (s->op >= STEP_INT_ADD)
        put_integers(pen, s->op, s->to, s->a, s->b, mask);
    else if (s->op >= STEP_HALVE_FLOATS)
        put_halved(pen, s, mask);
    else if (s->op >= STEP_TO_FLOATS)
        put_cast(pen, s, mask);
    else if (s->op == STEP_ROUND)
        put_round(pen, s->to, s->a, mask);
    else if (s->op == STEP_EXP)
        put_exp(pen, s->to, s->a, mask);
    else if (s->op == STEP_PAIR_MULTIPLY)
        put_pairs_multiplied(pen, s->to, s->a, s->b, mask);
    else if (s->op >= STEP_FMAX)
        put_extreme(pen, s->op == STEP_FMAX ? 0x5f : 0x5d, s->to, s->a, s->b, s->b, mask);
    else if (s->op >= STEP_MAXIMUM)
        put_extreme(pen, s->op == STEP_MAXIMUM ? 0x5f : 0x5d, s->to, s->a, s->b, s->a, mask);
    else if (s->op >= STEP_RINT)
        put_rounded(pen, s->op - STEP_RINT, s->to, s->a, mask);
    else
        put_registers(pen, opcodes[s->op], s->to, s->a, s->b, mask, 1);
}

static inline void put_body(Pen *pen, const Step *steps, int n, int mask) {
    for (int i = 0; i < n; i++)
        if (steps[i].op >= STEP_LOAD) put_step(pen, &steps[i], mask);
}

/* The same for several vectors, whose steps take turns. */
static inline void put_copies(Pen *pen, const Step *steps, int n, const Step *copies) {
    uint8_t lanes = (uint8_t)((pen->set == AVX512 ? 64 : 32) >> (2 + pen->wide));
    int rooms = rooms_of(steps, n);
    for (int i = 0; i < n; i++)
        for (int k = 0; steps[i].op >= STEP_LOAD && k < copies->to; k++) {
            Step own = copy_of(&steps[i], copies, k, rooms);
            int moves = k && own.op >= STEP_LOAD_MASK && own.op <= STEP_STORE_NARROW;
            pen->ahead = k;
            if (moves) BYTES(pen, 0x48, 0x83, 0xc1, (uint8_t)(k * lanes));   /* add rcx, ... */
            put_step(pen, &own, 0);
            if (moves) BYTES(pen, 0x48, 0x83, 0xe9, (uint8_t)(k * lanes));   /* sub rcx, ... */
        }
    pen->ahead = 0;
}

/* What is left of the last vector: its elements, 1 at least, are in rsi. */
static inline void put_tail(Pen *pen, const Step *steps, int n) {
    uint8_t *loop;
    if (pen->set == AVX512) {
        BYTES(pen, 0xb8, 0xff, 0xff, 0xff, 0xff);                            /* mov eax, -1 */
        BYTES(pen, 0xc4, 0xe2, 0x48, 0xf5, 0xc0);                            /* bzhi eax, eax, esi */
        BYTES(pen, 0xc5, 0xf8, 0x92, 0xc8);                                  /* kmovw k1, eax */
        put_body(pen, steps, n, 1);
        return;
    }
    loop = pen->at;
    pen->single = 1;
    put_body(pen, steps, n, 0);
    pen->single = 0;
    BYTES(pen, 0x48, 0x83, 0xc1, (uint8_t)(1 << pen->paired));               /* add rcx, 1 or 2 */
    BYTES(pen, 0x48, 0x83, 0xee, (uint8_t)(1 << pen->paired));               /* sub rsi, 1 or 2 */
    BYTES(pen, 0x0f, 0x85);                                                  /* jnz loop */
    put_i32(pen, loop - (pen->at + 4));
}

enum { RBX = 3, RBP = 5, R8 = 8, R9, R12 = 12, R13, R14, R15 };

/* Gives addresses registers. Returns how many. */
static inline int bases_of(Pen *pen, const Step *steps, int n) {
    static const uint8_t registers[] = {RBX, RBP, R12, R13, R14, R15, R8, R9};
    int taken = 0, most = pen->set == AVX512 ? 8 : 6;
    for (int i = 0; i < n; i++) {
        int op = steps[i].op, a = steps[i].a;
        if (!has_operand(op)) continue;
        if (a >= pen->operands) pen->operands = a + 1;
        if ((op == STEP_LOAD || op == STEP_STORE) && !pen->base[a] && taken < most) pen->base[a] = registers[taken++];
    }
    return taken;
}

/* mov reg, [rdi + 8 * operand], or add reg, [r10 + 8 * operand]: opcode 0x8b, or 3. */
static inline void put_base(Pen *pen, int opcode, int operand) {
    int reg = pen->base[operand], from = opcode == 3 ? 10 : 7;
    BYTES(pen, (uint8_t)(0x48 | reg >> 3 << 2 | from >> 3), (uint8_t)opcode,
          (uint8_t)(0x80 | (reg & 7) << 3 | (from & 7)));
    put_i32(pen, 8 * operand);
}

/* push, 0x50, or pop, 0x58, what belongs to the caller: the first six of the registers. */
static inline void put_saved(Pen *pen, int opcode, int taken) {
    static const uint8_t registers[] = {RBX, RBP, R12, R13, R14, R15};
    for (int i = 0; i < taken && i < 6; i++) {
        int reg = registers[opcode == 0x50 ? i : (taken < 6 ? taken : 6) - 1 - i];
        if (reg > 7) BYTES(pen, 0x41);
        BYTES(pen, (uint8_t)(opcode + (reg & 7)));
    }
}

static inline void put_vector_at(Pen *pen, int opcode, int reg, int a, int base, int offset) {   /* of whole numbers */
    if (pen->set == AVX512) put_evex(pen, 1, opcode == 0xd4 ? 1 : 2, opcode, reg, a, base, 0, 0);
    else put_vex(pen, 1, opcode == 0xd4 ? 1 : 2, opcode, reg, a, base);
    BYTES(pen, (uint8_t)(0x80 | (reg & 7) << 3 | (base & 7)));
    put_i32(pen, offset);
}

/* Each address goes its step on. */
static inline void put_next_row(Pen *pen) {
    int many = pen->set == AVX512 ? 8 : 4, own = pen->set == AVX512 ? 31 : 15, wide = pen->wide, apart;
    pen->wide = 1;
    for (int i = 0; i < pen->operands; i += many) {
        apart = 0;
        for (int k = i; k < i + many && k < pen->operands; k++) {
            if (pen->base[k]) put_base(pen, 3, k);
            else apart = 1;
        }
        if (!apart) continue;
        put_vector_at(pen, 0x6f, own, 0, 7, 8 * i);                          /* vmovdqu own, [rdi + ...] */
        put_vector_at(pen, 0xd4, own, own, 10, 8 * i);                       /* vpaddq own, own, [r10 + ...] */
        put_vector_at(pen, 0x7f, own, 0, 7, 8 * i);                          /* vmovdqu [rdi + ...], own */
    }
    pen->wide = wide;
}

/* Writes the loop. Returns how many bytes it has, 0 where they are more than `room`. */
static inline size_t assemble_x86(uint8_t *code, size_t room, const Step *steps, int n, int itemsize, int set,
                                  const Step *copies) {
    int size = itemsize & ~PAIRED, many = copies ? copies->to : 1;
    Pen pen = {code, code + room, set, size == 8, 0, (itemsize & PAIRED) != 0};
    int width = set == AVX512 ? 64 : 32, rooms = many * rooms_of(steps, n), taken = bases_of(&pen, steps, n);
    uint8_t lanes = (uint8_t)(width / size);
    uint8_t *literals[LITERALS] = {0}, *row, *loop, *to_few, *to_tail, *to_end, *to_return;

    BYTES(&pen, 0xf3, 0x0f, 0x1e, 0xfa);                                     /* endbr64 */
    if (has_step(steps, n, STEP_EXP)) put_exp_pool(&pen, code);
    put_saved(&pen, 0x50, taken);
    BYTES(&pen, 0x49, 0x89, 0xca, 0x49, 0x89, 0xd3);                         /* mov r10, rcx; mov r11, rdx */
    for (int i = 0; i < pen.operands; i++)
        if (pen.base[i]) put_base(&pen, 0x8b, i);
    if (rooms) {
        BYTES(&pen, 0x48, 0x89, 0xe2, 0x48, 0x81, 0xec);                     /* mov rdx, rsp; sub rsp, ... */
        put_i32(&pen, rooms * width);
        BYTES(&pen, 0x48, 0x83, 0xe4, (uint8_t)-width);                      /* and rsp, -width */
    }
    for (int i = 0; i < n; i++)
        if (steps[i].op == STEP_LITERAL) {
            put_spread(&pen, steps[i].to, steps[i].a == LITERAL_CONJUGATE ? element_of(&pen) : size);
            BYTES(&pen, (uint8_t)((steps[i].to & 7) << 3 | 5), 0, 0, 0, 0);  /* [rip + ...]: see below */
            literals[steps[i].a] = pen.at;
        }
    if (pen.paired) BYTES(&pen, 0x48, 0x01, 0xf6);                           /* add rsi, rsi */
    row = pen.at;
    for (int i = 0; i < n; i++)
        if (steps[i].op == STEP_SPREAD) put_loaded_one(&pen, steps[i].to, steps[i].a, steps[i].b);
    BYTES(&pen, 0x31, 0xc9);                                                 /* xor ecx, ecx */
    BYTES(&pen, 0x48, 0x83, 0xee, (uint8_t)(many * lanes));                  /* sub rsi, lanes */
    if (many > 1) {
        BYTES(&pen, 0x0f, 0x8c, 0, 0, 0, 0);                                 /* jl few */
        to_few = loop = pen.at;
        put_copies(&pen, steps, n, copies);
        BYTES(&pen, 0x48, 0x83, 0xc1, (uint8_t)(many * lanes));              /* add rcx, ... */
        BYTES(&pen, 0x48, 0x83, 0xee, (uint8_t)(many * lanes));              /* sub rsi, ... */
        BYTES(&pen, 0x0f, 0x8d);                                             /* jge loop */
        put_i32(&pen, loop - (pen.at + 4));
        land(&pen, to_few);
        BYTES(&pen, 0x48, 0x83, 0xc6, (uint8_t)((many - 1) * lanes));        /* add rsi, ... */
    }
    BYTES(&pen, 0x0f, 0x8c, 0, 0, 0, 0);                                     /* jl tail */
    to_tail = pen.at;
    loop = pen.at;
    put_body(&pen, steps, n, 0);
    BYTES(&pen, 0x48, 0x83, 0xc1, lanes);                                    /* add rcx, lanes */
    BYTES(&pen, 0x48, 0x83, 0xee, lanes);                                    /* sub rsi, lanes */
    BYTES(&pen, 0x0f, 0x8d);                                                 /* jge loop */
    put_i32(&pen, loop - (pen.at + 4));
    land(&pen, to_tail);
    BYTES(&pen, 0x48, 0x83, 0xc6, lanes);                                    /* add rsi, lanes */
    BYTES(&pen, 0x0f, 0x84, 0, 0, 0, 0);                                     /* jz end */
    to_end = pen.at;
    put_tail(&pen, steps, n);
    land(&pen, to_end);
    BYTES(&pen, 0x49, 0x83, 0xeb, 1);                                        /* sub r11, 1 */
    BYTES(&pen, 0x0f, 0x84, 0, 0, 0, 0);                                     /* jz return */
    to_return = pen.at;
    BYTES(&pen, 0x48, 0x01, 0xce);                                           /* add rsi, rcx: all elements */
    put_next_row(&pen);
    BYTES(&pen, 0xe9);                                                       /* jmp row */
    put_i32(&pen, row - (pen.at + 4));
    land(&pen, to_return);
    if (rooms) BYTES(&pen, 0x48, 0x89, 0xd4);                                /* mov rsp, rdx */
    BYTES(&pen, 0xc5, 0xf8, 0x77);                                           /* vzeroupper */
    put_saved(&pen, 0x58, taken);
    BYTES(&pen, 0xc3);                                                       /* ret */
    for (int i = 0; i < LITERALS; i++)
        if (literals[i]) {
            land(&pen, literals[i]);
            uint64_t zero = 0, bits = literal_bits(i, pen.wide);
            if (i == LITERAL_CONJUGATE) put(&pen, &zero, (size_t)size);
            put(&pen, &bits, (size_t)size);
        }
    return pen.at <= pen.end ? (size_t)(pen.at - code) : 0;
}

/* Each processor's loops can be written on any other, for tests. Where copies are too long, there are none. */
static inline size_t assemble(uint8_t *code, size_t room, const Step *steps, int n, int itemsize, int set) {
    const Step *copies = NULL;
    size_t size;
    if (set == NEON) return assemble_neon(code, room, steps, n, itemsize);
    for (int i = 0; i < n; i++)
        if (steps[i].op == STEP_COPIES) copies = &steps[i];
    size = assemble_x86(code, room, steps, n, itemsize, set, copies);
    return size || !copies ? size : assemble_x86(code, room, steps, n, itemsize, set, NULL);
}

#endif
