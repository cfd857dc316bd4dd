/* The functions of elementwise operations on a GPU, as NumPy defines them: op_NAME<R>(arguments) is element of type R.
 *
 * It is C++ that CUDA's compiler takes, and any other, once there are complex<T>, float16 and __device__. Half floats
 * are computed as floats, as NumPy does. Integers wrap around: their arithmetic is that of unsigned ones. */
#if defined(__CUDACC_RTC__) && __has_include(<cupy/float16.cuh>)         /* before CuPy 14, carray.cuh has it */
#include <cupy/float16.cuh>
#endif
#include "_kernels/c/portable.h"

/* ---- types ------------------------------------------------------------------------------------------------------- */

template <class T> struct wide { typedef T type; };                     /* in which to compute with a T */
template <> struct wide<float16> { typedef float type; };
template <class T> struct ring { typedef unsigned long long type; };    /* and to add and multiply: integers wrap */
template <> struct ring<float16> { typedef float type; };
template <> struct ring<float> { typedef float type; };
template <> struct ring<double> { typedef double type; };
template <class T> struct ring<complex<T> > { typedef complex<T> type; };

template <class T> HELPER typename wide<T>::type W(T x) { return (typename wide<T>::type)x; }
template <class T> HELPER typename ring<T>::type G(T x) { return (typename ring<T>::type)x; }

template <class T> struct is_floating { enum { value = 0 }; };
template <> struct is_floating<float> { enum { value = 1 }; };
template <> struct is_floating<double> { enum { value = 1 }; };

template <class R, class T> struct Cast {
    HELPER R of(T x) {                          /* negative numbers wrap around in unsigned types, as they do on CPUs */
        return is_floating<typename wide<T>::type>::value && R(-1) > R(0) && (sizeof(R) < 8 || W(x) < 0)
            ? (R)(long long)W(x) : (R)W(x);
    }
};
template <class R, class T> struct Cast<complex<R>, T> { HELPER complex<R> of(T x) { return complex<R>((R)W(x), 0); } };
template <class R, class T> struct Cast<R, complex<T> > { HELPER R of(complex<T> x) { return (R)x.real(); } };
template <class R, class T> struct Cast<complex<R>, complex<T> > {
    HELPER complex<R> of(complex<T> x) { return complex<R>((R)x.real(), (R)x.imag()); } };
template <class T> struct Cast<bool, T> { HELPER bool of(T x) { return W(x) != 0; } };
template <class T> struct Cast<bool, complex<T> > {
    HELPER bool of(complex<T> x) { return x.real() != 0 || x.imag() != 0; } };

template <class R, class T> HELPER R op_cast(T x) { return Cast<R, T>::of(x); }
template <class T> HELPER bool truth(T x) { return Cast<bool, T>::of(x); }

/* The same bits, as another type of that size. */
template <class R, class T> HELPER R op_bits(T x) {
    union { T from; R to; char room[16]; } both = {x};
    return both.to;
}

template <class R, class T> HELPER R op_where(bool mask, T a, T b) { return mask ? a : b; }

/* Elements that a thread reads or writes at once. */
template <class T, int N> struct alignas(N * sizeof(T)) Pack { T of[N]; };

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

#define UNARY(NAME, ...) template <class R, class T> HELPER R op_##NAME(T x) { return (R)(__VA_ARGS__); }
#define BINARY(NAME, ...) template <class R, class A, class B> HELPER R op_##NAME(A x, B y) { return (R)(__VA_ARGS__); }

BINARY(add, G(x) + G(y))
BINARY(subtract, G(x) - G(y))
BINARY(multiply, G(x) * G(y))
UNARY(negative, -G(x))
UNARY(positive, x)
UNARY(square, G(x) * G(x))
template <class R> struct Quotient { HELPER R of(R x, R y) { return x / y; } };
template <class T> struct Quotient<complex<T> > {           /* Smith's way, as NumPy has it */
    HELPER complex<T> of(complex<T> x, complex<T> y) {
        T a = y.real(), b = y.imag();
        if (fabs(a) >= fabs(b)) {
            if (a == 0 && b == 0)
                return complex<T>(x.real() / fabs(a), x.imag() / fabs(a));
            T ratio = b / a, scale = T(1) / (a + b * ratio);
            return complex<T>((x.real() + x.imag() * ratio) * scale, (x.imag() - x.real() * ratio) * scale);
        }
        T ratio = a / b, scale = T(1) / (b + a * ratio);
        return complex<T>((x.real() * ratio + x.imag()) * scale, (x.imag() * ratio - x.real()) * scale);
    }
};
BINARY(divide, Quotient<typename wide<R>::type>::of(Cast<typename wide<R>::type, A>::of(x),
                                                    Cast<typename wide<R>::type, B>::of(y)))

template <class T> HELPER T python_fmod(T x, T y) {
    T m = fmod(x, y);
    return m == 0 ? copysign(T(0), y) : (y < 0) != (m < 0) ? m + y : m;
}
template <class T> HELPER T python_floor(T x, T y) {
    if (y == 0)
        return x / y;
    T m = fmod(x, y), quotient = (x - m) / y;
    if (m != 0 && (y < 0) != (m < 0))
        quotient -= 1;
    if (quotient == 0)
        return copysign(T(0), x / y);
    T down = floor(quotient);
    return quotient - down > T(0.5) ? down + 1 : down;
}
template <class T> struct Division {                    /* of integers */
    HELPER T remainder(T x, T y) {
        if (y == 0 || (y < 0 && y == T(-1)))            /* the least integer by -1 does not fit */
            return 0;
        T m = x % y;
        return m != 0 && (y < 0) != (m < 0) ? m + y : m;
    }
    HELPER T floor(T x, T y) {
        if (y == 0)
            return 0;
        if (y < 0 && y == T(-1))
            return (T)-G(x);
        T quotient = x / y;
        return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
    }
    HELPER T fmod(T x, T y) { return y == 0 || (y < 0 && y == T(-1)) ? T(0) : T(x % y); }
};
template <> struct Division<float> {
    HELPER float remainder(float x, float y) { return python_fmod(x, y); }
    HELPER float floor(float x, float y) { return python_floor(x, y); }
    HELPER float fmod(float x, float y) { return ::fmodf(x, y); }
};
template <> struct Division<double> {
    HELPER double remainder(double x, double y) { return python_fmod(x, y); }
    HELPER double floor(double x, double y) { return python_floor(x, y); }
    HELPER double fmod(double x, double y) { return ::fmod(x, y); }
};
BINARY(remainder, Division<typename wide<A>::type>::remainder(W(x), W(y)))
BINARY(floor_divide, Division<typename wide<A>::type>::floor(W(x), W(y)))
BINARY(fmod, Division<typename wide<A>::type>::fmod(W(x), W(y)))

/* NaN, if there is one, is what they give; fmax and fmin give the other. */
BINARY(maximum, W(x) >= W(y) || W(x) != W(x) ? W(x) : W(y))
BINARY(minimum, W(x) <= W(y) || W(x) != W(x) ? W(x) : W(y))
BINARY(fmax, W(x) >= W(y) || W(y) != W(y) ? W(x) : W(y))
BINARY(fmin, W(x) <= W(y) || W(y) != W(y) ? W(x) : W(y))

template <class R, class T> struct Absolute { HELPER R of(T x) { return x < 0 ? (R)-G(x) : (R)x; } };
template <class R> struct Absolute<R, float16> { HELPER R of(float16 x) { return (R)fabs((float)x); } };
template <class R> struct Absolute<R, float> { HELPER R of(float x) { return fabs(x); } };
template <class R> struct Absolute<R, double> { HELPER R of(double x) { return fabs(x); } };
template <class R, class T> struct Absolute<R, complex<T> > {
    HELPER R of(complex<T> x) { return hypot(x.real(), x.imag()); }
};
UNARY(absolute, Absolute<R, T>::of(x))
UNARY(fabs, Absolute<R, T>::of(x))
UNARY(sign, W(x) > 0 ? 1 : W(x) < 0 ? -1 : W(x) == 0 ? 0 : W(x))
template <class T> struct Conjugate { HELPER T of(T x) { return x; } };
template <class T> struct Conjugate<complex<T> > {
    HELPER complex<T> of(complex<T> x) { return complex<T>(x.real(), -x.imag()); }
};
UNARY(conjugate, Conjugate<T>::of(x))
UNARY(reciprocal, typename wide<T>::type(1) / W(x))

/* ---- comparison, logic, bits ------------------------------------------------------------------------------------- */

template <class A, class B> struct Order {
    HELPER bool same(A x, B y) { return W(x) == W(y); }
    HELPER bool less(A x, B y) { return W(x) < W(y); }
    HELPER bool most(A x, B y) { return W(x) <= W(y); }
};
template <> struct Order<long long, unsigned long long> {
    HELPER bool same(long long x, unsigned long long y) { return x >= 0 && (unsigned long long)x == y; }
    HELPER bool less(long long x, unsigned long long y) { return x < 0 || (unsigned long long)x < y; }
    HELPER bool most(long long x, unsigned long long y) { return x < 0 || (unsigned long long)x <= y; }
};
template <> struct Order<unsigned long long, long long> {
    HELPER bool same(unsigned long long x, long long y) { return y >= 0 && x == (unsigned long long)y; }
    HELPER bool less(unsigned long long x, long long y) { return y >= 0 && x < (unsigned long long)y; }
    HELPER bool most(unsigned long long x, long long y) { return y >= 0 && x <= (unsigned long long)y; }
};
BINARY(equal, Order<A, B>::same(x, y))
BINARY(not_equal, !Order<A, B>::same(x, y))
BINARY(less, Order<A, B>::less(x, y))
BINARY(less_equal, Order<A, B>::most(x, y))
BINARY(greater, Order<B, A>::less(y, x))
BINARY(greater_equal, Order<B, A>::most(y, x))
BINARY(logical_and, truth(x) && truth(y))
BINARY(logical_or, truth(x) || truth(y))
BINARY(logical_xor, truth(x) != truth(y))
UNARY(logical_not, !truth(x))
BINARY(bitwise_and, x & y)
BINARY(bitwise_or, x | y)
BINARY(bitwise_xor, x ^ y)
template <class T> struct Invert { HELPER T of(T x) { return (T)~x; } };
template <> struct Invert<bool> { HELPER bool of(bool x) { return !x; } };
UNARY(invert, Invert<T>::of(x))
BINARY(left_shift, (unsigned long long)y < 8 * sizeof(A) ? G(x) << y : 0)
BINARY(right_shift, (unsigned long long)y < 8 * sizeof(A) ? x >> y : x < 0 ? -1 : 0)

template <class T> HELPER bool not_number(T x) { return x != x; }
template <class T> HELPER bool unbounded(T x) { return x - x != x - x && x == x; }
template <class T> struct Number {
    HELPER bool nan(T x) { return not_number(W(x)); }
    HELPER bool inf(T x) { return unbounded(W(x)); }
};
template <class T> struct Number<complex<T> > {
    HELPER bool nan(complex<T> x) { return not_number(x.real()) || not_number(x.imag()); }
    HELPER bool inf(complex<T> x) { return unbounded(x.real()) || unbounded(x.imag()); }
};
UNARY(isnan, Number<T>::nan(x))
UNARY(isinf, Number<T>::inf(x))
UNARY(isfinite, !Number<T>::nan(x) && !Number<T>::inf(x))
UNARY(signbit, copysign(typename wide<T>::type(1), W(x)) < 0)

/* ---- floating point ---------------------------------------------------------------------------------------------- */

#define REAL typename wide<T>::type
UNARY(exp, exp(W(x)))
UNARY(log, log(W(x)))
UNARY(sqrt, sqrt(W(x)))
UNARY(sin, sin(W(x)))
UNARY(cos, cos(W(x)))
UNARY(tan, tan(W(x)))
UNARY(sinh, sinh(W(x)))
UNARY(cosh, cosh(W(x)))
UNARY(tanh, tanh(W(x)))
UNARY(exp2, exp2(W(x)))
UNARY(expm1, expm1(W(x)))
UNARY(log2, log2(W(x)))
UNARY(log10, log10(W(x)))
UNARY(log1p, log1p(W(x)))
UNARY(cbrt, cbrt(W(x)))
UNARY(arcsin, asin(W(x)))
UNARY(arccos, acos(W(x)))
UNARY(arctan, atan(W(x)))
UNARY(arcsinh, asinh(W(x)))
UNARY(arccosh, acosh(W(x)))
UNARY(arctanh, atanh(W(x)))
UNARY(floor, floor(W(x)))
UNARY(ceil, ceil(W(x)))
UNARY(trunc, trunc(W(x)))
UNARY(rint, rint(W(x)))
UNARY(radians, W(x) * REAL(3.14159265358979323846 / 180))
UNARY(deg2rad, W(x) * REAL(3.14159265358979323846 / 180))
UNARY(degrees, W(x) * REAL(180 / 3.14159265358979323846))
UNARY(rad2deg, W(x) * REAL(180 / 3.14159265358979323846))
UNARY(erf, erf(W(x)))
UNARY(erfc, erfc(W(x)))
UNARY(expit, REAL(1) / (REAL(1) + exp(-W(x))))
BINARY(power, pow(W(x), W(y)))
BINARY(float_power, pow(W(x), W(y)))
BINARY(arctan2, atan2(W(x), W(y)))
BINARY(hypot, hypot(W(x), W(y)))
BINARY(copysign, copysign(W(x), W(y)))
BINARY(heaviside, W(x) != W(x) ? W(x) : W(x) == 0 ? W(y) : W(x) < 0 ? 0 : 1)
template <class T> HELPER T log_sum(T x, T y, T log_of_base) {
    if (x == y)
        return x + log_of_base;
    T d = x - y;
    return d > 0 ? x + log1p(exp(-d)) : d <= 0 ? y + log1p(exp(d)) : d;
}
template <class T> HELPER T log_sum2(T x, T y) {
    if (x == y)
        return x + 1;
    T d = x - y;
    return d > 0 ? x + log1p(exp2(-d)) * T(1.44269504088896340736)
        : d <= 0 ? y + log1p(exp2(d)) * T(1.44269504088896340736) : d;
}
BINARY(logaddexp, log_sum(W(x), W(y), typename wide<A>::type(0.69314718055994530942)))
BINARY(logaddexp2, log_sum2(W(x), W(y)))
