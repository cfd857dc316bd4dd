/* The loops of assembler.h for AArch64: of 16 bytes, and v0..v21, with what every processor of it has.
 *
 * Of what is left of the last vector an element, or a pair, at a time is loaded into all lanes, and stored from the
 * first: so the steps between are those of whole vectors, and no lane raises a flag that the element does not.
 *
 * x0: at; x1: elements of a row; x2: rows left; x3: steps; x4: elements done, x5: their bytes; x6: elements left, less
 * a vector; x7, x8: a step's own. The addresses of the first operands that are read or written in the loop are in x9 to
 * x17. v30 and v31: a step's own; the vectors of steps are v0 to v7 and v16 to v29, of which none is the caller's.
 * Where numbers are paired, each lane counts as an element. */
#ifndef DFLOW_NEON_H
#define DFLOW_NEON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "_kernels/c/steps.h"

enum { NEON_VECTORS = 22 };

typedef struct {
    uint8_t *at, *end;                                 /* as in Pen */
    int wide, paired;
    int single;                                        /* one element, or pair, in all lanes */
    int unknown;                                       /* there was a step that is not for this set */
    int operands;
    uint8_t base[256];                                 /* the register that has an operand's address; 0: none */
} Text;

enum { X7 = 7, X8 = 8, BASES = 9, V30 = 30, V31 = 31, SP = 31 };

static inline void word(Text *t, uint32_t bits) {
    if (t->at + 4 <= t->end) memcpy(t->at, &bits, 4);
    t->at += 4;
}

/* Instructions have their operands in the same places, nearly all. */
static inline void three(Text *t, uint32_t bits, int to, int a, int b) {
    word(t, bits | (uint32_t)b << 16 | (uint32_t)a << 5 | (uint32_t)to);
}

static inline void two(Text *t, uint32_t bits, int to, int a) { three(t, bits, to, a, 0); }

/* The same of elements of 8 bytes, too: this bit tells, of floats and of integers. */
static inline uint32_t sized(const Text *t, uint32_t bits) { return bits | (uint32_t)t->wide << 22; }

static inline int vector(int v) { return v < 8 ? v : v + 8; }

static inline int log_2(int n) { return n > 8 ? 4 : n > 4 ? 3 : n > 2 ? 2 : n > 1; }     /* of 1, 2, 4, 8 and 16 */

static inline int bytes_of_element(const Text *t) { return 4 << t->wide << t->paired; }

/* The jump at `place` goes to where the next word goes. Those with a condition, and loads of literals. */
static inline void set_target(Text *t, uint8_t *place, const uint8_t *target) {
    uint32_t bits;
    if (place + 4 > t->end) return;
    memcpy(&bits, place, 4);
    bits |= ((uint32_t)((target - place) / 4) & 0x7ffff) << 5;
    memcpy(place, &bits, 4);
}

enum { EQ = 0, NE = 1, GE = 10, LT = 11 };

static inline uint8_t *jump_if(Text *t, int condition, const uint8_t *target) {           /* NULL: it comes later */
    uint8_t *place = t->at;
    word(t, 0x54000000u | (uint32_t)condition);
    if (target != NULL) set_target(t, place, target);
    return place;
}

/* add, subs, adds to, a, a number below 4096. */
enum { ADD = 0x91000000, ADDS = 0xb1000000, SUB = 0xd1000000, SUBS = 0xf1000000 };

static inline void with_number(Text *t, uint32_t bits, int to, int a, int number) {
    two(t, bits | (uint32_t)number << 10, to, a);
}

static inline void add_words(Text *t, int to, int a, int b, int bits) {                   /* add to, a, b, lsl bits */
    three(t, 0x8b000000u | (uint32_t)bits << 10, to, a, b);
}

static inline void address(Text *t, int to, int from, int operand) {                      /* ldr to, [from, ...] */
    two(t, 0xf9400000u | (uint32_t)operand << 10, to, from);
}

static inline int base_of(Text *t, int operand) {
    if (t->base[operand]) return t->base[operand];
    address(t, X7, 0, operand);
    return X7;
}

/* ldr of so many bytes, or str, of a vector. */
static inline void in_memory(Text *t, int load, int v, int bytes, int base, int room) {
    static const uint32_t words[] = {0x3d000000u, 0x7d000000u, 0xbd000000u, 0xfd000000u, 0x3d800000u};
    two(t, words[log_2(bytes)] | (uint32_t)load << 22 | (uint32_t)room << 10, v, base);
}

/* Of the element at an address all lanes. */
static inline void spread(Text *t, int to, int base, int bytes) {
    if (bytes == 16) in_memory(t, 1, to, 16, base, 0);
    else two(t, 0x4d40c000u | (uint32_t)log_2(bytes) << 10, to, base);                    /* ld1r */
}

/* A vector, or one element, from an operand whose elements have so many bytes, or back. */
static inline void moved(Text *t, int load, int v, int operand, int bytes) {
    int base = base_of(t, operand), lanes = 16 / bytes_of_element(t);
    if (!t->single && bytes == bytes_of_element(t)) {
        three(t, load ? 0x3ce06800u : 0x3ca06800u, v, base, 5);                           /* ldr v, [base, x5] */
        return;
    }
    add_words(t, X7, base, 4, log_2(bytes) - t->paired);
    if (t->single && load) spread(t, v, X7, bytes);
    else in_memory(t, load, v, t->single ? bytes : bytes * lanes, X7, 0);
}

/* Elements of so many bytes become of twice as many, of the lower half; or half as many, from the other way. */
static inline void widened(Text *t, int sign, int v, int bytes) {
    two(t, (sign ? 0x0f00a400u : 0x2f00a400u) | (uint32_t)bytes << 19, v, v);             /* sxtl, uxtl */
}

static inline void halved(Text *t, int to, int a, int bytes) {
    two(t, 0x0e212800u | (uint32_t)log_2(bytes / 2) << 22, to, a);                        /* xtn */
}

/* Of an element's bits, shl, or ushr, of 4 or 8 bytes as the loop's. */
static inline void shifted(Text *t, int left, int to, int a, int bits) {
    int width = 32 << t->wide;
    two(t, (left ? 0x4f005400u : 0x6f000400u) | (uint32_t)(left ? width + bits : 2 * width - bits) << 16, to, a);
}

static inline void copied(Text *t, int to, int a) { three(t, 0x4ea01c00u, to, a, a); }    /* mov */

static inline void narrow_loaded(Text *t, int to, int operand, int b) {
    int bytes = b & 15, how = b >> 4, size = 4 << t->wide;
    moved(t, 1, to, operand, bytes);
    if (how == NARROW_FLOATS) {
        two(t, 0x0e617800u, to, to);                                                      /* fcvtl to.2d, to.2s */
    } else if (how == NARROW_TO_PAIRS) {
        if (size == 4) widened(t, 0, to, 4);                                              /* 8: zeros follow already */
    } else {
        for (; bytes < size; bytes *= 2) widened(t, how != NARROW_UNSIGNED, to, bytes);
        if (how == NARROW_TO_FLOATS) two(t, 0x4e61d800u, to, to);                         /* scvtf to.2d */
    }
}

static inline void narrow_stored(Text *t, int from, int operand, int bytes, int size) {
    for (; size > bytes; size /= 2, from = V30) halved(t, V30, from, size);
    moved(t, 0, from, operand, bytes);
}

static inline void mask_loaded(Text *t, int to, int operand) {
    int size = 4 << t->wide;
    moved(t, 1, to, operand, 1);
    for (int bytes = 1; bytes < size; bytes *= 2) widened(t, 0, to, bytes);
    three(t, sized(t, 0x4ea08c00u), to, to, to);                                          /* cmtst */
}

static inline void mask_stored(Text *t, int from, int operand) {
    int size = 4 << t->wide;
    shifted(t, 0, V30, from, 8 * size - 1);
    narrow_stored(t, V30, operand, 1, size);
}

/* fcmgt and fcmge tell of quiet NaNs, fcmeq does not: where there is one, zeros are compared, and the mask is empty. */
static inline void less(Text *t, int or_equal, int to, int a, int b) {
    three(t, sized(t, 0x4e20e400u), V30, a, a);                                           /* fcmeq */
    three(t, sized(t, 0x4e20e400u), V31, b, b);
    three(t, 0x4e201c00u, V30, V30, V31);                                                 /* and */
    three(t, 0x4e201c00u, V31, a, V30);
    three(t, 0x4e201c00u, to, b, V30);
    three(t, sized(t, or_equal ? 0x6e20e400u : 0x6ea0e400u), to, to, V31);                /* fcmge, fcmgt */
    three(t, 0x4e201c00u, to, to, V30);
}

/* What there is of 4 bytes, not of 8: the products, from those of halves, and the extremes. */
static inline void wide_product(Text *t, int to, int a, int b) {
    two(t, 0x4ea00800u, V30, b);                                                          /* rev64 v30.4s, b */
    three(t, 0x4ea09c00u, V30, V30, a);                                                   /* mul v30.4s, v30, a */
    two(t, 0x6ea02800u, V30, V30);                                                        /* uaddlp v30.2d, v30.4s */
    shifted(t, 1, V30, V30, 32);
    halved(t, V31, a, 8);
    halved(t, to, b, 8);
    three(t, 0x2ea08000u, V30, V31, to);                                                  /* umlal v30.2d, v31.2s, to */
    copied(t, to, V30);
}

static inline void wide_extreme(Text *t, int most, int to, int a, int b) {
    three(t, 0x4ee03400u, V30, a, b);                                                     /* cmgt */
    three(t, 0x6e601c00u, V30, most ? a : b, most ? b : a);                               /* bsl */
    copied(t, to, V30);
}

/* The processor shifts left by the last byte of a count, which has a sign. Of counts that are too large, negative ones
 * among them, v30 tells: their bits beyond those of a width. */
static inline void shifted_by(Text *t, int op, int to, int a, int b) {
    shifted(t, 0, V30, b, 5 + t->wide);
    if (op == STEP_SHIFT_SIGNED) {                                                        /* they are the largest */
        three(t, sized(t, 0x4ea08c00u), V30, V30, V30);                                   /* cmtst */
        three(t, 0x4ea01c00u, V30, V30, b);                                               /* orr */
        word(t, (t->wide ? 0x6f061400u : 0x6f071400u) | V30);                             /* bic v30.4s, 0xc0, 0xe0 */
        two(t, sized(t, 0x6ea0b800u), V30, V30);                                          /* neg */
        three(t, sized(t, 0x4ea04400u), to, a, V30);                                      /* sshl */
        return;
    }
    two(t, sized(t, 0x4ea09800u), V30, V30);                                              /* cmeq v30, 0 */
    if (op == STEP_SHIFT_RIGHT) two(t, sized(t, 0x6ea0b800u), V31, b);
    three(t, sized(t, 0x6ea04400u), V31, a, op == STEP_SHIFT_RIGHT ? V31 : b);            /* ushl */
    three(t, 0x4e201c00u, to, V31, V30);
}

static inline void pairs_multiplied(Text *t, int to, int a, int b) {
    three(t, sized(t, 0x4e806800u), V30, a, a);                                           /* trn2: (a.im, a.im) */
    if (t->wide) three(t, 0x6e004000u, V31, b, b);                                        /* ext: (b.im, b.re) */
    else two(t, 0x4ea00800u, V31, b);                                                     /* rev64 */
    three(t, sized(t, 0x6e20dc00u), V30, V30, V31);                                       /* fmul */
    word(t, (t->wide ? 0x2f07e7e0u : 0x6f00e5e0u) | V31);                                 /* movi: all bits of re */
    shifted(t, 1, V31, V31, t->wide ? 63 : 31);
    three(t, 0x6e201c00u, V30, V30, V31);                                                 /* eor: the products' sign */
    three(t, sized(t, 0x4e802800u), V31, a, a);                                           /* trn1: (a.re, a.re) */
    three(t, sized(t, 0x4e20cc00u), V30, V31, b);                                         /* fmla v30, v31, b */
    copied(t, to, V30);
}

/* By way of other registers: there and back in vectors it would be rounded twice. */
static inline void halved_to_floats(Text *t, int sign, int to, int a) {
    uint32_t convert = sign ? 0x9e220000u : 0x9e230000u;                                  /* scvtf s, x; ucvtf */
    two(t, 0x9e660000u, X7, a);                                                           /* fmov x7, a */
    two(t, 0x4e183c00u, X8, a);                                                           /* mov x8, a.d[1] */
    two(t, convert, V30, X7);
    two(t, convert, V31, X8);
    three(t, 0x0e803800u, to, V30, V31);                                                  /* zip1 to.2s */
}

/* Steps of one instruction. */
enum { ONE = 1, TURNED = 2, NOT = 4, BITS = 8 };       /* of a alone; b comes first; the bits are turned; of any size */

static const struct { uint32_t bits; uint8_t form; } neon_steps[256] = {
    [STEP_ADD] = {0x4e20d400u, 0}, [STEP_SUBTRACT] = {0x4ea0d400u, 0}, [STEP_MULTIPLY] = {0x6e20dc00u, 0},
    [STEP_DIVIDE] = {0x6e20fc00u, 0}, [STEP_SQRT] = {0x6ea1f800u, ONE},
    [STEP_AND] = {0x4e201c00u, BITS}, [STEP_XOR] = {0x6e201c00u, BITS}, [STEP_OR] = {0x4ea01c00u, BITS},
    [STEP_BUT] = {0x4e601c00u, BITS | TURNED},
    [STEP_RINT] = {0x4e218800u, ONE}, [STEP_FLOOR] = {0x4e219800u, ONE}, [STEP_CEIL] = {0x4ea18800u, ONE},
    [STEP_TRUNC] = {0x4ea19800u, ONE},
    [STEP_MAXIMUM] = {0x4e20f400u, 0}, [STEP_MINIMUM] = {0x4ea0f400u, 0},                 /* fmax, fmin */
    [STEP_FMAX] = {0x4e20c400u, 0}, [STEP_FMIN] = {0x4ea0c400u, 0},                       /* fmaxnm, fminnm */
    [STEP_TO_FLOATS] = {0x4e21d800u, ONE}, [STEP_TO_INTEGERS] = {0x4ea1b800u, ONE},
    [STEP_UNSIGNED_TO_FLOATS] = {0x6e21d800u, ONE}, [STEP_HALVE_FLOATS] = {0x0e616800u, ONE | BITS},
    [STEP_INT_ADD] = {0x4ea08400u, 0}, [STEP_INT_SUBTRACT] = {0x6ea08400u, 0}, [STEP_INT_MULTIPLY] = {0x4ea09c00u, 0},
    [STEP_INT_MAXIMUM] = {0x4ea06400u, 0}, [STEP_INT_MINIMUM] = {0x4ea06c00u, 0},
    [STEP_EQUAL] = {0x4e20e400u, 0}, [STEP_NOT_EQUAL] = {0x4e20e400u, NOT},
    [STEP_INT_LESS] = {0x4ea03400u, TURNED}, [STEP_INT_LESS_EQUAL] = {0x4ea03c00u, TURNED},       /* cmgt, cmge */
    [STEP_INT_EQUAL] = {0x6ea08c00u, 0}, [STEP_INT_NOT_EQUAL] = {0x6ea08c00u, NOT}};

static inline void of_one(Text *t, int op, int to, int a, int b) {
    uint32_t bits = neon_steps[op].bits;
    int form = neon_steps[op].form;
    if (!bits) t->unknown = 1;
    if (!(form & BITS)) bits = sized(t, bits);
    if (form & ONE) two(t, bits, to, a);
    else if (form & TURNED) three(t, bits, to, b, a);
    else three(t, bits, to, a, b);
    if (form & NOT) two(t, 0x6e205800u, to, to);
}

static inline void neon_step(Text *t, const Step *s) {
    int op = s->op, to = vector(s->to), a = vector(s->a), b = vector(s->b), size = 4 << t->wide;
    if (op == STEP_LOAD || op == STEP_STORE) moved(t, op == STEP_LOAD, to, s->a, bytes_of_element(t));
    else if (op == STEP_LOAD_ONE) spread(t, to, base_of(t, s->a), bytes_of_element(t));
    else if (op == STEP_PUT_OFF || op == STEP_TAKE_BACK) in_memory(t, op == STEP_TAKE_BACK, to, 16, SP, s->a);
    else if (op == STEP_LOAD_MASK) mask_loaded(t, to, s->a);
    else if (op == STEP_STORE_MASK) mask_stored(t, to, s->a);
    else if (op == STEP_LOAD_NARROW) narrow_loaded(t, to, s->a, s->b);
    else if (op == STEP_STORE_NARROW) narrow_stored(t, to, s->a, s->b & 15, s->b & HALVED ? 4 : size);
    else if (op == STEP_LESS || op == STEP_LESS_EQUAL) less(t, op == STEP_LESS_EQUAL, to, a, b);
    else if (op == STEP_PAIR_MULTIPLY) pairs_multiplied(t, to, a, b);
    else if (op == STEP_HALVE_TO_FLOATS || op == STEP_HALVE_UNSIGNED_TO_FLOATS)
        halved_to_floats(t, op == STEP_HALVE_TO_FLOATS, to, a);
    else if (op >= STEP_SHIFT_LEFT && op <= STEP_SHIFT_SIGNED) shifted_by(t, op, to, a, b);
    else if (op == STEP_INT_MULTIPLY && t->wide) wide_product(t, to, a, b);
    else if ((op == STEP_INT_MAXIMUM || op == STEP_INT_MINIMUM) && t->wide)
        wide_extreme(t, op == STEP_INT_MAXIMUM, to, a, b);
    else of_one(t, op, to, a, b);
}

static inline void neon_body(Text *t, const Step *steps, int n) {
    for (int i = 0; i < n; i++)
        if (steps[i].op >= STEP_LOAD) neon_step(t, &steps[i]);
}

/* Gives addresses registers, and loads them. */
static inline void neon_bases(Text *t, const Step *steps, int n) {
    int next = BASES;
    for (int i = 0; i < n; i++) {
        int op = steps[i].op, a = steps[i].a;
        if (!has_operand(op)) continue;
        if (a >= t->operands) t->operands = a + 1;
        if (op == STEP_SPREAD || t->base[a] || next == BASES + 9) continue;
        t->base[a] = (uint8_t)next++;
        address(t, t->base[a], 0, a);
    }
}

/* Each address goes its step on. */
static inline void neon_next_row(Text *t) {
    for (int i = 0; i < t->operands; i++) {
        int base = base_of(t, i);
        address(t, X8, 3, i);
        add_words(t, base, base, X8, 0);
        if (base == X7) two(t, 0xf9000000u | (uint32_t)i << 10, X7, 0);                   /* str x7, [x0, ...] */
    }
}

static inline void neon_literal(Text *t, int which, int second) {
    uint64_t bits = which != LITERAL_CONJUGATE || second ? literal_bits(which, t->wide) : 0;
    word(t, (uint32_t)bits);
    if (t->wide) word(t, (uint32_t)(bits >> 32));
}

/* Writes the loop. Returns how many bytes it has, 0 where they are more than `room`, or a step is not for this set. */
static inline size_t assemble_neon(uint8_t *code, size_t room, const Step *steps, int n, int itemsize) {
    int size = itemsize & ~PAIRED, rooms = rooms_of(steps, n), lanes = 16 / size;
    Text t = {code, code + room, size == 8, (itemsize & PAIRED) != 0};
    int one = 1 << t.paired;
    uint8_t *literals[LITERALS] = {0}, *row, *loop, *to_tail, *to_end = NULL, *to_return;
    if (rooms > 255) return 0;                                                            /* sub has 12 bits */
    word(&t, 0xd503245fu);                                                                /* bti c */
    neon_bases(&t, steps, n);
    if (rooms) with_number(&t, SUB, SP, SP, 16 * rooms);
    for (int i = 0; i < n; i++)
        if (steps[i].op == STEP_LITERAL) {
            literals[steps[i].a] = t.at;
            word(&t, 0x9c000000u | (uint32_t)vector(steps[i].to));                        /* ldr q, ...: see below */
        }
    if (t.paired) add_words(&t, 1, 1, 1, 0);
    row = t.at;
    for (int i = 0; i < n; i++)
        if (steps[i].op == STEP_SPREAD)
            spread(&t, vector(steps[i].to), base_of(&t, steps[i].a), bytes_of_element(&t));
    word(&t, 0xd2800004u);                                                                /* mov x4, 0; mov x5, 0 */
    word(&t, 0xd2800005u);
    with_number(&t, SUBS, 6, 1, lanes);
    to_tail = jump_if(&t, LT, NULL);
    loop = t.at;
    neon_body(&t, steps, n);
    with_number(&t, ADD, 4, 4, lanes);
    with_number(&t, ADD, 5, 5, 16);
    with_number(&t, SUBS, 6, 6, lanes);
    jump_if(&t, GE, loop);
    set_target(&t, to_tail, t.at);
    if (lanes > one) {                                                                    /* else nothing is left */
        with_number(&t, ADDS, 6, 6, lanes);
        to_end = jump_if(&t, EQ, NULL);
        loop = t.at;
        t.single = 1;
        neon_body(&t, steps, n);
        with_number(&t, ADD, 4, 4, one);
        with_number(&t, SUBS, 6, 6, one);
        jump_if(&t, NE, loop);
        set_target(&t, to_end, t.at);
    }
    with_number(&t, SUBS, 2, 2, 1);
    to_return = jump_if(&t, EQ, NULL);
    neon_next_row(&t);
    word(&t, 0x14000000u | ((uint32_t)((row - t.at) / 4) & 0x3ffffff));                   /* b row */
    set_target(&t, to_return, t.at);
    if (rooms) with_number(&t, ADD, SP, SP, 16 * rooms);
    word(&t, 0xd65f03c0u);                                                                /* ret */
    while ((t.at - code) % 16) word(&t, 0);
    for (int i = 0; i < LITERALS; i++)
        if (literals[i]) {
            set_target(&t, literals[i], t.at);
            for (int k = 0; k < lanes; k++) neon_literal(&t, i, k % 2);
        }
    return t.at <= t.end && !t.unknown ? (size_t)(t.at - code) : 0;
}

#endif
