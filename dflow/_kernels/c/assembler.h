/* Writes loops over vectors of 64 bytes, as machine code for AVX-512.
 *
 * A loop is a list of steps over the vectors v0..v31 and the operands, each of which is an address, in `at`:
 *
 *     void loop(char **at, intptr_t n)            n elements of 4 or 8 bytes, one after the other
 *
 * What is the same for every element comes first. The last, shorter vector is masked: its other lanes are neither
 * read nor written nor computed, so that they raise no flags. Of two NaNs the first operand's comes out, as in NumPy's
 * loops.
 *
 * rdi: at; rsi: elements left, less a vector; rcx: bytes done; rax: an operand; k1: the mask; k2: a step's own. */
#ifndef DFLOW_ASSEMBLER_H
#define DFLOW_ASSEMBLER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Before the loop: a vector of the one element of an operand, or of a number of LITERALS.
 * In the loop: to and from operands, and arithmetic, to = a op b. */
enum { STEP_SPREAD = 1, STEP_LITERAL, STEP_LOAD, STEP_STORE,
       STEP_ADD, STEP_SUBTRACT, STEP_MULTIPLY, STEP_DIVIDE, STEP_SQRT, STEP_AND, STEP_XOR,
       STEP_MAXIMUM, STEP_MINIMUM };                   /* of a NaN and a number the NaN; of zeros the second */

enum { LITERAL_SIGN, LITERAL_ALL_BUT_SIGN, LITERAL_ONE, LITERALS };

/* `a` is an operand's number in STEP_SPREAD and STEP_LOAD, a literal's in STEP_LITERAL; STEP_STORE is from `to`. */
typedef struct { uint8_t op, to, a, b; } Step;

typedef struct { uint8_t *at, *end; } Pen;             /* where the next byte goes; at > end: there was no room */

static inline void put(Pen *pen, const void *bytes, size_t n) {
    if (pen->at + n <= pen->end) memcpy(pen->at, bytes, n);
    pen->at += n;
}

#define PUT(pen, ...) do { const uint8_t bytes_[] = {__VA_ARGS__}; put(pen, bytes_, sizeof bytes_); } while (0)

static inline void put_i32(Pen *pen, int64_t x) {
    int32_t n = (int32_t)x;
    put(pen, &n, 4);
}

/* The prefix EVEX and the opcode. map: 1 of 0F, 2 of 0F38; pp: 0 none, 1 of 66. to, a, b: registers, of which b may
 * be 0 for memory. mask: k1 or k2, or 0; what it leaves out becomes zero, or stays. */
static inline void put_evex(Pen *pen, int map, int pp, int wide, int opcode, int to, int a, int b, int mask, int zero) {
    PUT(pen, 0x62,
        (uint8_t)((~to >> 3 & 1) << 7 | (~b >> 4 & 1) << 6 | (~b >> 3 & 1) << 5 | (~to >> 4 & 1) << 4 | map),
        (uint8_t)(wide << 7 | (~a & 15) << 3 | 4 | pp),
        (uint8_t)((mask && zero) << 7 | 2 << 5 | (~a >> 4 & 1) << 3 | mask),
        (uint8_t)opcode);
}

static inline void put_address(Pen *pen, int operand) {                    /* mov rax, [rdi + 8 * operand] */
    PUT(pen, 0x48, 0x8b, 0x87);
    put_i32(pen, 8 * operand);
}

static inline void put_spread(Pen *pen, int wide, int to) {                /* vbroadcast to, ...: but for the operand */
    put_evex(pen, 2, 1, wide, wide ? 0x19 : 0x18, to, 0, 0, 0, 0);
}

/* to, a, b, all of them registers. Where there is one input, it is b. */
static inline void put_registers(Pen *pen, int wide, int opcode, int to, int a, int b, int mask, int zero) {
    put_evex(pen, 1, wide, wide, opcode, to, a, b, mask, zero);
    PUT(pen, (uint8_t)(0xc0 | (to & 7) << 3 | (b & 7)));
}

/* The instruction alone gives b where one is a NaN, and tells of it: so what is told is found out once more, by NumPy's
 * loop, whose way this is but for that. */
static inline void put_extreme(Pen *pen, int wide, int opcode, int to, int a, int b, int mask) {
    put_registers(pen, wide, 0xc2, 2, a, a, mask, 0);                      /* vcmp k2, a, a, ordered or unordered */
    PUT(pen, to == a ? 7 : 3);
    if (to == a) {
        put_registers(pen, wide, opcode, to, a, b, 2, 0);
    } else {
        put_registers(pen, wide, opcode, to, a, b, mask, 1);
        put_registers(pen, wide, 0x28, to, 0, a, 2, 0);                    /* vmovap to {k2}, a */
    }
}

static inline void put_step(Pen *pen, const Step *s, int wide, int mask) {
    static const uint8_t opcodes[] = {[STEP_ADD] = 0x58, [STEP_MULTIPLY] = 0x59, [STEP_SUBTRACT] = 0x5c,
                                      [STEP_DIVIDE] = 0x5e, [STEP_AND] = 0x54, [STEP_XOR] = 0x57};
    if (s->op == STEP_LOAD || s->op == STEP_STORE) {                       /* vmovup to, [rax + rcx], or back */
        put_address(pen, s->a);
        put_evex(pen, 1, wide, wide, s->op == STEP_LOAD ? 0x10 : 0x11, s->to, 0, 0, mask, s->op == STEP_LOAD);
        PUT(pen, (uint8_t)((s->to & 7) << 3 | 4), 0x08);
    } else if (s->op == STEP_SQRT) {
        put_registers(pen, wide, 0x51, s->to, 0, s->a, mask, 1);
    } else if (s->op >= STEP_MAXIMUM) {
        put_extreme(pen, wide, s->op == STEP_MAXIMUM ? 0x5f : 0x5d, s->to, s->a, s->b, mask);
    } else {
        put_registers(pen, wide, opcodes[s->op], s->to, s->a, s->b, mask, 1);
    }
}

static inline void put_body(Pen *pen, const Step *steps, int n, int wide, int mask) {
    for (int i = 0; i < n; i++)
        if (steps[i].op >= STEP_LOAD) put_step(pen, &steps[i], wide, mask);
}

/* The jump of 32 bits that ends at `place` goes to where the pen is. */
static inline void land(Pen *pen, uint8_t *place) {
    int32_t far = (int32_t)(pen->at - place);
    if (place <= pen->end) memcpy(place - 4, &far, 4);
}

/* Writes the loop. Returns how many bytes it has, 0 where they are more than `room`. */
static inline size_t assemble(uint8_t *code, size_t room, const Step *steps, int n, int itemsize) {
    static const uint64_t doubles[LITERALS] = {1ull << 63, ~(1ull << 63), 0x3ff0000000000000ull};
    static const uint32_t floats[LITERALS] = {1u << 31, ~(1u << 31), 0x3f800000u};
    Pen pen = {code, code + room};
    int wide = itemsize == 8;
    uint8_t lanes = (uint8_t)(64 / itemsize);
    uint8_t *literals[LITERALS] = {0}, *loop, *to_tail, *to_end;

    PUT(&pen, 0xf3, 0x0f, 0x1e, 0xfa);                                     /* endbr64 */
    for (int i = 0; i < n; i++)
        if (steps[i].op == STEP_SPREAD) {
            put_address(&pen, steps[i].a);
            put_spread(&pen, wide, steps[i].to);
            PUT(&pen, (uint8_t)((steps[i].to & 7) << 3));                  /* [rax] */
        } else if (steps[i].op == STEP_LITERAL) {
            put_spread(&pen, wide, steps[i].to);
            PUT(&pen, (uint8_t)((steps[i].to & 7) << 3 | 5), 0, 0, 0, 0);  /* [rip + ...]: see below */
            literals[steps[i].a] = pen.at;
        }
    PUT(&pen, 0x31, 0xc9);                                                 /* xor ecx, ecx */
    PUT(&pen, 0x48, 0x83, 0xee, lanes);                                    /* sub rsi, lanes */
    PUT(&pen, 0x0f, 0x8c, 0, 0, 0, 0);                                     /* jl tail */
    to_tail = pen.at;
    loop = pen.at;
    put_body(&pen, steps, n, wide, 0);
    PUT(&pen, 0x48, 0x83, 0xc1, 64);                                       /* add rcx, 64 */
    PUT(&pen, 0x48, 0x83, 0xee, lanes);                                    /* sub rsi, lanes */
    PUT(&pen, 0x0f, 0x8d);                                                 /* jge loop */
    put_i32(&pen, loop - (pen.at + 4));
    land(&pen, to_tail);
    PUT(&pen, 0x48, 0x83, 0xc6, lanes);                                    /* add rsi, lanes */
    PUT(&pen, 0x0f, 0x84, 0, 0, 0, 0);                                     /* jz end */
    to_end = pen.at;
    PUT(&pen, 0xb8, 0xff, 0xff, 0xff, 0xff);                               /* mov eax, -1 */
    PUT(&pen, 0xc4, 0xe2, 0x48, 0xf5, 0xc0);                               /* bzhi eax, eax, esi */
    PUT(&pen, 0xc5, 0xf8, 0x92, 0xc8);                                     /* kmovw k1, eax */
    put_body(&pen, steps, n, wide, 1);
    land(&pen, to_end);
    PUT(&pen, 0xc5, 0xf8, 0x77, 0xc3);                                     /* vzeroupper; ret */
    for (int i = 0; i < LITERALS; i++)
        if (literals[i]) {
            land(&pen, literals[i]);
            put(&pen, wide ? (const void *)&doubles[i] : &floats[i], (size_t)itemsize);
        }
    return pen.at <= pen.end ? (size_t)(pen.at - code) : 0;
}

#endif
