// The gradient of statistics of each row to its logits, from what forward passes kept of the row.
//
// Formula    dx = (p (scale + slope l + square p) + at_target [column = target] + uniform w) dz/dx
//            with l = z / temperature - lse and p = exp(l)
// Accesses   1 load of x and 1 store of dx an element; dx may be x
// Launch     ceil(rows / (BLOCK_THREADS / ROW_THREADS)) * shares blocks of BLOCK_THREADS threads:
//            `shares` times VECTORS * ROW_THREADS vectors hold a row
//
// SLOPE          1 with a slope, else 0
// SQUARE         1 with a square, else 0
// TARGET         1 with a target, else 0
// UNIFORM        1 for the same in every column, 2 times a weight of the column's own, else 0
// SOFTCAP        1 for z = softcap tanh(x / softcap), 0 for z = x
// ROW_THREADS    threads that share a row: BLOCK_THREADS, or a power of two up to 32
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors that a thread loads
// MIN_BLOCKS     blocks that must fit a multiprocessor
typedef long long Index;

#include "row.cuh"
#include "running.cuh"

constexpr int ROWS = BLOCK_THREADS / ROW_THREADS;  // rows of a block
#define NARROW_ELEMENTS (ELEMENT == FLOAT16 || ELEMENT == BFLOAT16)

// What one row's gradient is made of.
struct Coefficients {
    Real base;  // lse, but such that a row of -inf has powers of 0 and one with +inf has none
    Real scale;
    Real slope;
    Real square;
    Real uniform;
    Real at_target;
    Index target;
    bool idle;  // all of them are 0
    Real cap;
    Real inverse_cap;
    Scale scale_of_z;
};

__device__ __forceinline__ Real base_of(Real lse) {
    if (lse == -infinity()) return infinity();
    return lse == infinity() ? not_a_number() : lse;
}

// z of x, and dz/dx = 1 - tanh^2 without the difference, which would cancel.
__device__ __forceinline__ Real capped(Real x, const Coefficients& k, Real& steepness) {
    const Real y = x * k.inverse_cap;
    const Real e = exp_below(-2 * fabs(y));
#if NARROW_ELEMENTS
    const Real over = __fdividef(1.0f, 1 + e);
    const Real t = copysignf((1 - e) * over, y);
#elif ELEMENT == FLOAT32
    const Real over = 1 / (1 + e);
    const Real t = tanhf(y);
#else
    const Real over = 1 / (1 + e);
    const Real t = tanh(y);
#endif
    steepness = 4 * e * over * over;
    return k.cap * t;
}

// p (scale + slope l + square p) + more. Where p is 0 the product is, too: l is kept finite.
__device__ __forceinline__ Real from_power(Real z, Real more, const Coefficients& k) {
#if NARROW_ELEMENTS
    const Real gap = TEMPERATURE ? fmaf(z, k.scale_of_z.inverse, -k.base) : z - k.base;
    const Real l = larger(gap, LEAST_POWER);
    const Real p = exp2_approx(l * 1.4426950408889634f);
#else
    const Quotient q = TEMPERATURE ? divided(z, k.scale_of_z) : Quotient{z, 0};
    const Real gap = q.rounded - k.base;
    const Real back = gap - q.rounded;
    const Real lost = gap <= LEAST_POWER
                          ? (Real)0
                          : (q.rounded - (gap - back)) - (k.base + back) + q.rest;
    const Real kept = larger(gap, LEAST_POWER);
    // A quotient of 1e5 has lost up to 0.008, too much to be left to the first order.
    const Real l = TEMPERATURE ? kept + lost : kept;
    const Real rounded = exp_within(l);
    const Real p = fma(rounded, TEMPERATURE ? lost - (l - kept) : lost, rounded);
#endif
    Real factor = SLOPE ? fma(k.slope, l, k.scale) : k.scale;
    if (SQUARE) factor = fma(k.square, p, factor);
    return fma(p, factor, more);
}

// Weights of the columns of a vector, two at a time where they lie so; 0 beyond the row.
__device__ __forceinline__ void weights_at(const Real* weights, Index column, Index vocab,
                                           Real* out) {
    if constexpr (WIDTH > 1) {
        const bool paired = (unsigned long long)(weights + column) % sizeof(RealPair) == 0;
        if (paired && column >= 0 && column + WIDTH <= vocab) {
#pragma unroll
            for (int e = 0; e < WIDTH; e += 2) {
                const RealPair pair = __ldg((const RealPair*)(weights + column + e));
                out[e] = pair.x;
                out[e + 1] = pair.y;
            }
            return;
        }
    }
#pragma unroll
    for (int e = 0; e < WIDTH; ++e)
        out[e] = column + e >= 0 && column + e < vocab ? __ldg(weights + column + e) : (Real)0;
}

// The gradient to a vector whose element 0 is in `column`.
__device__ __forceinline__ Vector gradient_to(const Vector& v, Index column, Index vocab,
                                              const Coefficients& k, const Real* class_weight) {
    const Index away = k.target - column;
    const int target = TARGET && away >= 0 && away < WIDTH ? (int)away : -1;
    Real weights[WIDTH];
    if (UNIFORM == 2) weights_at(class_weight, column, vocab, weights);
    Real out[WIDTH];
#pragma unroll
    for (int e = 0; e < WIDTH; ++e) {
        Real z = number(v, e), steepness = 1, more = 0;
        if (SOFTCAP) z = capped(z, k, steepness);
        if (UNIFORM == 1) more = k.uniform;
        if (UNIFORM == 2) more = k.uniform * weights[e];
        if (TARGET && e == target) more += k.at_target;
        out[e] = from_power(z, more, k);
        if (SOFTCAP) out[e] *= steepness;
    }
    return scaled(out, 1);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
logits_gradient(const Element* x, Element* dx, long long rows, long long vocab, long long x_stride,
                long long dx_stride, long long shares, const Real* lse, const Real* scale,
                const Real* slope, const Real* square, const long long* target,
                const Real* at_target, const Real* uniform, const Real* class_weight,
                double softcap, double temperature, const double* temperatures) {
    const unsigned group = blockIdx.x / (unsigned)shares;
    const Index share = blockIdx.x - group * (unsigned)shares;
    const Index index = (Index)group * ROWS + threadIdx.x / ROW_THREADS;
    const Index first = share * (VECTORS * ROW_THREADS) + threadIdx.x % ROW_THREADS;
    if (index >= rows) return;
    const Row row = row_at(x + index * x_stride, dx + index * dx_stride, vocab);
    Vector v[VECTORS];
    load<VECTORS, ROW_THREADS>(row, first, v);

    Coefficients k;
    k.base = base_of(__ldg(lse + index));
    k.scale = scale ? __ldg(scale + index) : (Real)0;
    k.slope = SLOPE ? __ldg(slope + index) : (Real)0;
    k.square = SQUARE ? __ldg(square + index) : (Real)0;
    k.uniform = UNIFORM ? __ldg(uniform + index) : (Real)0;
    k.at_target = TARGET ? __ldg(at_target + index) : (Real)0;
    k.target = TARGET ? __ldg(target + index) : -1;
    k.idle = k.scale == 0 && k.slope == 0 && k.square == 0 && k.uniform == 0 && k.at_target == 0;
    k.cap = (Real)softcap;
    k.inverse_cap = SOFTCAP ? (Real)(1 / softcap) : (Real)1;
    k.scale_of_z = scale_of(temperature, temperatures, index);

    const bool whole = are_whole<VECTORS, ROW_THREADS>(row, first);
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {
        const Index column = (first + i * ROW_THREADS) * WIDTH - row.head;
        Vector to = of_zero();
        if (!k.idle) to = gradient_to(v[i], column, vocab, k, class_weight);
        store(row, first, i * ROW_THREADS, whole, to);
    }
}
