/* What loops over vectors are written from, whatever the processor: steps, and the numbers that they know. */
#ifndef DFLOW_STEPS_H
#define DFLOW_STEPS_H

#include <stddef.h>
#include <stdint.h>

/* Before the loop: a vector of the one element that an operand has in a row, or of a number of LITERALS.
 * In the loop: to and from operands, to and from rooms on the stack, and arithmetic, to = a op b. */
enum { STEP_SPREAD = 1, STEP_LITERAL,
       STEP_COPIES,                                    /* so many vectors a turn, `to`: see below */
       STEP_LOAD, STEP_STORE, STEP_LOAD_MASK, STEP_STORE_MASK, STEP_LOAD_NARROW,
       STEP_STORE_NARROW,
       STEP_LOAD_ONE,                                  /* as STEP_SPREAD, in the loop */
       STEP_PUT_OFF, STEP_TAKE_BACK,
       STEP_ADD, STEP_SUBTRACT, STEP_MULTIPLY, STEP_DIVIDE, STEP_SQRT,
       STEP_AND, STEP_XOR, STEP_OR, STEP_BUT,          /* bits; the last: of b, but those of a */
       STEP_RINT, STEP_FLOOR, STEP_CEIL, STEP_TRUNC,
       STEP_MAXIMUM, STEP_MINIMUM,                     /* of a NaN and a number the NaN; of zeros the second, or in
                                                          NEON, as NumPy's, the greater, with the sign -, the less */
       STEP_FMAX, STEP_FMIN,                           /* of a NaN and a number the number; of zeros the same */
       STEP_PAIR_MULTIPLY,                             /* of complex numbers: (ac - [bd], ad + [bc]), one rounding each
                                                          besides that of the products in brackets */
       STEP_EXP,                                       /* of floats of 4 bytes; not in NEON, whose NumPy has another */
       STEP_ROUND,                                     /* of floats of 4 bytes, to those that 2 have; not in NEON */
       STEP_TO_FLOATS, STEP_TO_INTEGERS,               /* of as many bytes; in AVX2 of 4 */
       STEP_UNSIGNED_TO_FLOATS,                        /* the same; not in AVX2 */
       /* Of 8 bytes to 4, which are packed into the lower half of the vector; the second: not in NEON; the last two:
          not in AVX2. */
       STEP_HALVE_FLOATS, STEP_HALVE_TO_INTEGERS, STEP_HALVE_TO_FLOATS, STEP_HALVE_UNSIGNED_TO_FLOATS,
       STEP_INT_ADD, STEP_INT_SUBTRACT, STEP_INT_MULTIPLY, STEP_INT_MAXIMUM, STEP_INT_MINIMUM,    /* signed ones */
       STEP_SHIFT_LEFT, STEP_SHIFT_RIGHT, STEP_SHIFT_SIGNED,           /* any number of bits; zeros or signs follow */
       STEP_LESS, STEP_LESS_EQUAL, STEP_EQUAL, STEP_NOT_EQUAL,         /* masks; NaNs are told of by none */
       STEP_INT_LESS, STEP_INT_LESS_EQUAL, STEP_INT_EQUAL, STEP_INT_NOT_EQUAL };       /* of signed ones */

/* What perf and tests call a step; NULL: there is none of this number. */
static inline const char *step_name(int op) {
    static const char *const names[] = {
        [STEP_SPREAD] = "spread", [STEP_LITERAL] = "literal", [STEP_COPIES] = "copies", [STEP_LOAD] = "load",
        [STEP_STORE] = "store",
        [STEP_LOAD_MASK] = "load_mask", [STEP_STORE_MASK] = "store_mask", [STEP_LOAD_NARROW] = "load_narrow",
        [STEP_STORE_NARROW] = "store_narrow", [STEP_LOAD_ONE] = "load_one", [STEP_PUT_OFF] = "put_off",
        [STEP_TAKE_BACK] = "take_back", [STEP_ADD] = "add", [STEP_SUBTRACT] = "sub", [STEP_MULTIPLY] = "mul",
        [STEP_DIVIDE] = "div", [STEP_SQRT] = "sqrt", [STEP_AND] = "and", [STEP_XOR] = "xor", [STEP_OR] = "or",
        [STEP_BUT] = "but", [STEP_RINT] = "rint", [STEP_FLOOR] = "floor", [STEP_CEIL] = "ceil",
        [STEP_TRUNC] = "trunc", [STEP_MAXIMUM] = "max", [STEP_MINIMUM] = "min", [STEP_FMAX] = "fmax",
        [STEP_FMIN] = "fmin", [STEP_PAIR_MULTIPLY] = "pair_mul", [STEP_EXP] = "exp", [STEP_ROUND] = "round",
        [STEP_TO_FLOATS] = "to_floats",
        [STEP_TO_INTEGERS] = "to_ints", [STEP_UNSIGNED_TO_FLOATS] = "unsigned_to_floats",
        [STEP_HALVE_FLOATS] = "halve_floats", [STEP_HALVE_TO_INTEGERS] = "halve_to_ints",
        [STEP_HALVE_TO_FLOATS] = "halve_to_floats", [STEP_HALVE_UNSIGNED_TO_FLOATS] = "halve_unsigned_to_floats",
        [STEP_INT_ADD] = "int_add", [STEP_INT_SUBTRACT] = "int_sub", [STEP_INT_MULTIPLY] = "int_mul",
        [STEP_INT_MAXIMUM] = "int_max", [STEP_INT_MINIMUM] = "int_min", [STEP_SHIFT_LEFT] = "shl",
        [STEP_SHIFT_RIGHT] = "shr", [STEP_SHIFT_SIGNED] = "sar", [STEP_LESS] = "lt", [STEP_LESS_EQUAL] = "le",
        [STEP_EQUAL] = "eq", [STEP_NOT_EQUAL] = "ne", [STEP_INT_LESS] = "int_lt", [STEP_INT_LESS_EQUAL] = "int_le",
        [STEP_INT_EQUAL] = "int_eq", [STEP_INT_NOT_EQUAL] = "int_ne"};
    return op >= 0 && op < (int)(sizeof names / sizeof *names) ? names[op] : NULL;
}

/* STEP_LOAD_NARROW: elements of fewer bytes than the loop's become such: b is how many, and 16 times this. Floats come
 * from 4 bytes, to 8; integers that become floats, too. To pairs:
 * floats, of as many bytes as the loop's, with 0 beside each. Halves: floats of 2 bytes, to 4; these may be spread,
 * too, and loaded one by one. */
enum { NARROW_FLOATS, NARROW_SIGNED, NARROW_UNSIGNED, NARROW_TO_FLOATS, NARROW_TO_PAIRS, NARROW_HALVES,
       LOAD_HALVES = 2 + 16 * NARROW_HALVES };

/* STEP_STORE_NARROW: the first bytes of integers, as many as b says, or, with HALVED, of those in the lower half; or
 * floats, of which each is one of 2 bytes. */
enum { HALVED = 16, STORE_HALVES = 2 + 32 };

enum { LITERAL_SIGN, LITERAL_ALL_BUT_SIGN, LITERAL_ONE, LITERAL_INFINITY, LITERAL_ALL, LITERAL_ZERO, LITERAL_INT_ONE,
       /* For AVX2, see to_doubles() and from_unsigned(): half the bits; the lower half; 2^52, and so on, or of 4 bytes
          2^23, 2^39 and 2^39 + 2^23. */
       LITERAL_HALF, LITERAL_LOW, LITERAL_2_52, LITERAL_2_84_63, LITERAL_ALL_THREE, LITERAL_2_84, LITERAL_2_84_52,
       LITERAL_2_63,
       LITERAL_CONJUGATE,                              /* of pairs: the sign of the second */
       LITERALS };

enum { PAIRED = 32 };                                  /* beside the size of an element: two are a complex number */

/* `a` is an operand's number in STEP_SPREAD, loads and stores, a literal's in STEP_LITERAL, a room's on the stack;
 * stores are from `to`. */
typedef struct { uint8_t op, to, a, b; } Step;

/* A turn of the loop may be several vectors, which go through the steps side by side: a chain of steps waits for each
 * of them, and from within a long loop the processor does not see the next turn; a short one has fewer turns. Vectors
 * below `a` are one for all; of others, and of rooms, each copy has its own, `b` vectors further on. NEON: one. */
static inline Step copy_of(const Step *s, const Step *copies, int copy, int rooms) {
    Step other = *s;
    int on = copy * copies->b;
    if (s->to >= copies->a) other.to = (uint8_t)(s->to + on);
    if (s->op == STEP_PUT_OFF || s->op == STEP_TAKE_BACK) other.a = (uint8_t)(s->a + copy * rooms);
    if (s->op < STEP_ADD) return other;
    if (s->a >= copies->a) other.a = (uint8_t)(s->a + on);
    if (s->b >= copies->a) other.b = (uint8_t)(s->b + on);
    return other;
}

static inline int has_operand(int op) { return op == STEP_SPREAD || (op >= STEP_LOAD && op <= STEP_LOAD_ONE); }

enum { NO_VECTORS, AVX2, AVX512, NEON };               /* sets of instructions; the last: of AArch64 */

/* The bits of a literal's element; of a pair's second one. */
static inline uint64_t literal_bits(int which, int wide) {
    static const uint64_t doubles[LITERALS] = {1ull << 63, ~(1ull << 63), 0x3ff0000000000000ull, 0x7ff0000000000000ull,
                                               ~0ull, 0, 1, 32, 0xffffffffull, 0x4330000000000000ull,
                                               0x4530000080000000ull, 0x4530000080100000ull, 0x4530000000000000ull,
                                               0x4530000000100000ull, 0x43e0000000000000ull, 1ull << 63};
    static const uint32_t floats[LITERALS] = {1u << 31, ~(1u << 31), 0x3f800000u, 0x7f800000u, ~0u, 0, 1, 16, 0xffffu,
                                              0x4b000000u, 0, 0, 0x53000000u, 0x53000080u, 0, 1u << 31};
    return wide ? doubles[which] : floats[which];
}

static inline int rooms_of(const Step *steps, int n) {
    int rooms = 0;
    for (int i = 0; i < n; i++)
        if (steps[i].op == STEP_PUT_OFF && steps[i].a >= rooms) rooms = steps[i].a + 1;
    return rooms;
}

static inline int has_step(const Step *steps, int n, int op) {
    for (int i = 0; i < n; i++)
        if (steps[i].op == op) return 1;
    return 0;
}

#endif
