// The element types, vectors of them as memory is read and written, and exp.
//
// ELEMENT       FLOAT32, FLOAT16, BFLOAT16 or FLOAT64, by number
// VECTOR_BYTES  bytes of one access: 16, or less where addresses allow no more
// RESULT        the type that results are written in, likewise; ELEMENT if left out
#pragma once

#define FLOAT32 0
#define FLOAT16 1
#define BFLOAT16 2
#define FLOAT64 3

#ifndef RESULT
#define RESULT ELEMENT
#endif

#include "ptx.cuh"

#if ELEMENT == FLOAT64
typedef double Real;  // what is computed in
typedef double Element;
typedef double2 RealPair;
#elif ELEMENT == FLOAT32
typedef float Real;
typedef float Element;
typedef float2 RealPair;
#else
typedef float Real;
typedef unsigned short Element;  // its bits
typedef float2 RealPair;
#endif

#if RESULT == ELEMENT
typedef Element Result;
#elif RESULT == FLOAT32
typedef float Result;
#else
typedef unsigned short Result;
#endif

// Elements of 16 bits are held as pairs, and compared so where the machine can.
#define PAIRED (VECTOR_BYTES > 2 && (ELEMENT == FLOAT16 || ELEMENT == BFLOAT16))
#define PAIRED_MAX (PAIRED && HAS_PAIRED_MAX)
#define PAIRED_OUT \
    ((RESULT == FLOAT16 || RESULT == BFLOAT16) && VECTOR_BYTES > (ELEMENT == FLOAT32 ? 4 : 2))

#if PAIRED
typedef unsigned Word;
#else
typedef Element Word;
#endif

constexpr int WIDTH = VECTOR_BYTES / (int)sizeof(Element);  // elements of a vector
constexpr int WORDS = VECTOR_BYTES / (int)sizeof(Word);

struct __align__(VECTOR_BYTES) Vector {
    Word w[WORDS];
};

// What one access moves.
template <int BYTES>
struct Access {
    typedef uint4 type;
};
template <>
struct Access<8> {
    typedef uint2 type;
};
template <>
struct Access<4> {
    typedef unsigned type;
};
template <>
struct Access<2> {
    typedef unsigned short type;
};
typedef Access<VECTOR_BYTES>::type Bits;

// The results of a vector, written in as many pieces as they take accesses.
constexpr int RESULT_BYTES = WIDTH * (int)sizeof(Result);
constexpr int PIECE_BYTES = RESULT_BYTES < 16 ? RESULT_BYTES : 16;
constexpr int PIECES = RESULT_BYTES / PIECE_BYTES;
typedef Access<PIECE_BYTES>::type PieceBits;

#if RESULT == ELEMENT
typedef Vector Output;
constexpr int OUTPUT_WORDS = WORDS;
#else
constexpr int OUTPUT_WORDS = PAIRED_OUT ? WIDTH / 2 : WIDTH;
struct __align__(PIECE_BYTES) Output {
#if PAIRED_OUT
    unsigned w[OUTPUT_WORDS];
#else
    Result w[OUTPUT_WORDS];
#endif
};
#endif

__device__ __forceinline__ Real infinity() {
#if ELEMENT == FLOAT64
    return __longlong_as_double(0x7ff0000000000000ll);
#else
    return __int_as_float(0x7f800000);
#endif
}

__device__ __forceinline__ Real not_a_number() {
#if ELEMENT == FLOAT64
    return __longlong_as_double(0x7ff8000000000000ll);
#else
    return __int_as_float(0x7fffffff);
#endif
}

__device__ __forceinline__ Real to_real(Element e) {
#if ELEMENT == BFLOAT16
    return __uint_as_float((unsigned)e << 16);
#elif ELEMENT == FLOAT16
    return half_to_float(e);
#else
    return e;
#endif
}

__device__ __forceinline__ Element to_element(Real x) {
#if ELEMENT == BFLOAT16
    return float_to_bfloat(x);
#elif ELEMENT == FLOAT16
    return float_to_half(x);
#else
    return x;
#endif
}

__device__ __forceinline__ Element lowest() {
#if ELEMENT == BFLOAT16
    return 0xff80;
#elif ELEMENT == FLOAT16
    return 0xfc00;
#else
    return -infinity();
#endif
}

__device__ __forceinline__ Result to_result(Real x) {
#if RESULT == ELEMENT
    return to_element(x);
#elif RESULT == BFLOAT16
    return float_to_bfloat(x);
#elif RESULT == FLOAT16
    return float_to_half(x);
#else
    return x;
#endif
}

// The larger number, or NaN if either is one.
__device__ __forceinline__ Real larger(Real a, Real b) {
#if ELEMENT == FLOAT64
    return a > b || a != a ? a : b;
#else
    return max_or_nan(a, b);
#endif
}

__device__ __forceinline__ Real smaller(Real a, Real b) {
#if ELEMENT == FLOAT64
    return fmin(a, b);
#else
    return fminf(a, b);
#endif
}

// From here on down exp is 0.
#if ELEMENT == FLOAT64
constexpr Real LEAST_POWER = -800;
#else
constexpr Real LEAST_POWER = -104;
#endif

// exp(t) of t from LEAST_POWER to 0. The product t log2 e is rounded, and 2^p is corrected by what
// that lost: t - p ln 2, exact by FMA but for 2.7e-9 |t|.
__device__ __forceinline__ Real exp_within(Real t) {
#if ELEMENT == FLOAT64
    return exp(t);
#else
    const float p = t * 1.4426950408889634f;
    const float e = exp2_approx(p);
    return fmaf(e, fmaf(p, -0.69314718055994531f, t), e);
#endif
}

// exp(t) of t <= 0, -inf included, of which the correction would make inf - inf.
__device__ __forceinline__ Real exp_below(Real t) { return exp_within(larger(t, LEAST_POWER)); }

__device__ __forceinline__ Real log_one_plus(Real r) {
#if ELEMENT == FLOAT64
    return log1p(r);
#else
    return log1pf(r);
#endif
}

__device__ __forceinline__ Real low_of(unsigned pair) {
#if ELEMENT == BFLOAT16
    return __uint_as_float(pair << 16);
#else
    return to_real((Element)pair);
#endif
}

__device__ __forceinline__ Real high_of(unsigned pair) {
#if ELEMENT == BFLOAT16
    return __uint_as_float(pair & 0xffff0000u);
#else
    return to_real((Element)(pair >> 16));
#endif
}

// Element i of a vector.
__device__ __forceinline__ Real number(const Vector& v, int i) {
#if PAIRED
    return i % 2 ? high_of(v.w[i / 2]) : low_of(v.w[i / 2]);
#else
    return to_real(v.w[i]);
#endif
}

__device__ __forceinline__ Vector of_lowest() {
    Vector v;
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
#if PAIRED
        v.w[i] = 0x10001u * lowest();
#else
        v.w[i] = lowest();
#endif
    }
    return v;
}

__device__ __forceinline__ Vector of_zero() {
    Vector v;
#pragma unroll
    for (int i = 0; i < WORDS; ++i) v.w[i] = 0;
    return v;
}

__device__ __forceinline__ void set(Vector& v, int i, Element e) {
#if PAIRED
    v.w[i / 2] = __byte_perm(v.w[i / 2], e, i % 2 ? 0x5410 : 0x3254);
#else
    v.w[i] = e;
#endif
}

__device__ __forceinline__ Element element(const Vector& v, int i) {
#if PAIRED
    return (Element)(v.w[i / 2] >> 16 * (i % 2));
#else
    return v.w[i];
#endif
}

// The largest of a vector, or NaN.
__device__ __forceinline__ Real largest(const Vector& v) {
#if PAIRED_MAX
    unsigned best = v.w[0];
#pragma unroll
    for (int i = 1; i < WORDS; ++i) best = max_of_pairs(best, v.w[i]);
    return larger(low_of(best), high_of(best));
#else
    Real best = number(v, 0);
#pragma unroll
    for (int i = 1; i < WIDTH; ++i) best = larger(best, number(v, i));
    return best;
#endif
}

// The largest of N vectors, or NaN.
template <int N>
__device__ __forceinline__ Real largest(const Vector* v) {
#if PAIRED_MAX
    unsigned best = v[0].w[0];
#pragma unroll
    for (int i = 1; i < N * WORDS; ++i) best = max_of_pairs(best, v[i / WORDS].w[i % WORDS]);
    return larger(low_of(best), high_of(best));
#else
    Real best = largest(v[0]);
#pragma unroll
    for (int i = 1; i < N; ++i) best = larger(best, largest(v[i]));
    return best;
#endif
}

// `scale` times the numbers given, one for each element of a vector.
__device__ __forceinline__ Output scaled(const Real* numbers, Real scale) {
    Output output;
#pragma unroll
    for (int i = 0; i < OUTPUT_WORDS; ++i) {
#if PAIRED_OUT
        output.w[i] = pair_of(numbers[2 * i] * scale, numbers[2 * i + 1] * scale);
#else
        output.w[i] = to_result(numbers[i] * scale);
#endif
    }
    return output;
}

// Let the compiler make again what it made of a vector, instead of holding that in registers.
__device__ __forceinline__ void forget(Vector& v) {
#if PAIRED
#pragma unroll
    for (int i = 0; i < WORDS; ++i) forget_bits(v.w[i]);
#endif
}
