// Maximum and normalizer of a row, brought together from lanes, warps, blocks and clusters.
//
// Of some columns: m the largest, r the sum of exp(x - m) over all others. The normalizer of
// Milakov & Gimelshein (2018), Algorithm 3, is d = 1 + r: the maximum itself never enters the sum,
// which keeps log(d) exact where r is small. Of no columns: m = -inf, and r counts for nothing.
//
// TEMPERATURE  0 for none, 1 for one for all rows, 2 for one a row
#pragma once
#include "element.cuh"

struct __align__(2 * sizeof(Real)) Running {
    Real m;
    Real r;
};

// What x is compared with before exp: any number as long as all is -inf, so that -inf stays so.
__device__ __forceinline__ Real reference(Real m) { return m == -infinity() ? (Real)0 : m; }

// Numbers of 16 bits need no exact exponential. Results of another type are those of float32,
// rounded.
#define QUICK (RESULT == ELEMENT && (ELEMENT == FLOAT16 || ELEMENT == BFLOAT16))

// A temperature, in two parts where one Real cannot hold it, and its rounded inverse.
struct Scale {
    Real inverse;
    Real high;
    Real low;
    Real unit;  // log2 e over the temperature, rounded
};

// That of a row: `temperature` for all, or its own. NaN, and so a row of NaN, for one that is none.
__device__ __forceinline__ Scale scale_of(double temperature, const double* temperatures,
                                          long long row) {
#if TEMPERATURE == 0
    return Scale{1, 1, 0, 1};
#else
#if TEMPERATURE == 2
    temperature = temperatures[row];
    if (!(temperature > 0 && temperature <= 1.7976931348623157e308))
        temperature = __longlong_as_double(0x7ff8000000000000ll);
#endif
    // A float holds no larger one; ordinary logits over it are below 1e-36 all the same.
    if (sizeof(Real) == 4 && temperature > 3.4e38) temperature = 3.4e38;
    // A float has no larger inverse; a gap that is not 0 is beyond all powers then.
    const double inverse = 1 / temperature;
    const double most = sizeof(Real) == 4 ? 3.4e38 : inverse;
    const double unit = inverse * 1.4426950408889634;
    const Real high = (Real)temperature;
    return Scale{(Real)(inverse > most ? most : inverse), high, (Real)(temperature - high),
                 (Real)(unit > most ? most : unit)};
#endif
}

// A gap over the temperature, and what the quotient lost by rounding.
struct Quotient {
    Real rounded;
    Real rest;
};

__device__ __forceinline__ Quotient divided(Real gap, const Scale& scale) {
    const Real q = gap * scale.inverse;
    const Real remainder = fma(-q, scale.low, fma(-q, scale.high, gap));
    return Quotient{q, fabs(q) < infinity() ? remainder * scale.inverse : (Real)0};
}

__device__ __forceinline__ Real over_temperature(Real gap, const Scale& scale) {
#if TEMPERATURE == 0
    return gap;
#else
    const Quotient q = divided(gap, scale);
    return q.rounded + q.rest;
#endif
}

#if QUICK
// What 2 has to be raised to for exp(gap / temperature); finite also for a gap of -inf.
__device__ __forceinline__ Real in_powers_of_two(Real gap, const Scale& scale) {
    return larger(gap * scale.unit, -150.0f);
}
#endif

// exp(gap / temperature) of a gap of an element.
__device__ __forceinline__ Real exp_of_gap(Real gap, const Scale& scale) {
#if QUICK && TEMPERATURE
    return exp2_approx(in_powers_of_two(gap, scale));
#else
    return exp_below(over_temperature(gap, scale));
#endif
}

// exp((x - m) / temperature), with what rounding took from the difference and from the quotient.
__device__ __forceinline__ Real exp_of_quotient(Real x, Real m, const Scale& scale) {
    const Real gap = x - m;
    const Real back = gap - x;
    const Real lost = (x - (gap - back)) - (m + back);
    const Quotient q = divided(gap, scale);
    const Real p = exp_below(q.rounded);
    return fabs(q.rounded) < infinity() ? fma(p, fma(lost, scale.inverse, q.rest), p) : p;
}

// Without a temperature x log2 e - m log2 e is a single FMA.
#define FUSED (QUICK && !TEMPERATURE)

// The number m that exponentials are taken below.
struct Origin {
    Real m;
#if FUSED
    Real unit;     // log2 e
    Real product;  // m * unit, rounded
#endif
};

__device__ __forceinline__ Origin origin_at(Real m) {
#if FUSED
    // From 2^17 on numbers of 16 bits are 512 apart or more: any unit makes the others' powers
    // 0, and 1 keeps the product exact, which rounding would move by more than `drift` can undo.
    const Real unit = fabsf(m) >= 131072.0f ? 1.0f : 1.4426950408889634f;
    return Origin{m, unit, m * unit};
#else
    return Origin{m};
#endif
}

// exp((x - m) / temperature), but for the factor `drift`.
__device__ __forceinline__ Real power(const Origin& o, Real x, const Scale& scale) {
#if FUSED
    return exp2_approx(fmaf(x, o.unit, -o.product));
#elif QUICK || TEMPERATURE == 0
    return exp_of_gap(x - o.m, scale);
#else
    return exp_of_quotient(x, o.m, scale);
#endif
}

// What a sum or a power has to be multiplied with, since the product was rounded.
__device__ __forceinline__ Real drift(const Origin& o) {
#if FUSED
    return exp2_approx(-fmaf(o.m, o.unit, -o.product));
#else
    return 1;
#endif
}

// Of the columns of both (equation 4). The same bits whichever comes first.
__device__ __forceinline__ Running merge(Running a, Running b, const Scale& scale) {
    const bool swap = b.m > a.m;
    const Real m = larger(a.m, b.m);
    const Real r_high = swap ? b.r : a.r;
    const Real r_low = swap ? a.r : b.r;
    const Real low = swap ? a.m : b.m;
    if (low == -infinity()) return Running{m, r_high};
    const Real f = exp_below(over_temperature(low - m, scale));
    return Running{m, r_low * f + r_high + f};
}

// Add the columns of vectors to `own` as softmax needs them: d = 1 + r is exact, r is not.
template <int N>
__device__ __forceinline__ void add(Running& own, const Vector* v, const Scale& scale) {
    Real m = own.m;
#pragma unroll
    for (int i = 0; i < N; ++i) m = larger(m, largest(v[i]));
    const Origin origin = origin_at(reference(m));
    Real sums[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < N; ++i)
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) sums[e % 2] += power(origin, number(v[i], e), scale);
    const Real f = exp_below(over_temperature(own.m - origin.m, scale));
    own.r = (1 + own.r) * f + (sums[0] + sums[1]) * drift(origin) - 1;
    own.m = m;
}

// The largest so far: with paired halves that of the even places and that of the odd ones.
#if PAIRED_MAX
typedef unsigned Most;
#else
typedef Real Most;
#endif

__device__ __forceinline__ Real largest_of(Most most) {
#if PAIRED_MAX
    return larger(low_of(most), high_of(most));
#else
    return most;
#endif
}

__device__ __forceinline__ Most least() {
#if PAIRED_MAX
    return 0x10001u * lowest();
#else
    return -infinity();
#endif
}

// Add to a sum of which rounding took `lost`, so that a long row is as exact as a short one.
__device__ __forceinline__ void add_exactly(Real& sum, Real& lost, Real more) {
    const Real before = sum;
    more -= lost;
    sum = before + more;
    lost = sum - before - more;
}

// Columns taken in so far by one thread: r is the sum over all but those in `seen`, below the
// largest of these. `lost` is what rounding took from r.
struct Stream {
    Most seen;
    Real r;
    Real lost;
};

__device__ __forceinline__ Real top(const Stream& s) { return largest_of(s.seen); }

__device__ __forceinline__ Stream nothing() { return Stream{least(), 0, 0}; }

// Take in a vector below `base`, the largest so far: of two numbers the smaller is added, so that
// the largest of all is never in the sum.
__device__ __forceinline__ Real displaced(Stream& s, const Vector& v, Real base,
                                          const Scale& scale) {
    Real sums[2] = {0, 0};
#if PAIRED_MAX
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
        const unsigned pair = v.w[i];
        const unsigned low = min_of_pairs(s.seen, pair);
        s.seen = max_of_pairs(s.seen, pair);
        sums[0] += exp_of_gap(low_of(low) - base, scale);
        sums[1] += exp_of_gap(high_of(low) - base, scale);
    }
#else
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        const Real x = number(v, i);
        sums[i % 2] += exp_of_gap(smaller(s.seen, x) - base, scale);
        s.seen = larger(s.seen, x);
    }
#endif
    return sums[0] + sums[1];
}

// Take in vectors, after which `m` is the largest.
template <int N>
__device__ __forceinline__ void absorb(Stream& s, const Vector* v, Real m, const Scale& scale) {
    const Real before = top(s);
    const Real base = reference(m);
    Real sum = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) sum += displaced(s, v[i], base, scale);
    const Real f = exp_below(over_temperature(before - base, scale));
    s.r *= f;
    s.lost *= f;
    add_exactly(s.r, s.lost, sum);
}

template <int N>
__device__ __forceinline__ void absorb(Stream& s, const Vector* v, const Scale& scale) {
    Real m = top(s);
#pragma unroll
    for (int i = 0; i < N; ++i) m = larger(m, largest(v[i]));
    absorb<N>(s, v, m, scale);
}

__device__ __forceinline__ Running total(const Stream& s, const Scale& scale) {
#if PAIRED_MAX
    const Real even = low_of(s.seen);
    const Real odd = high_of(s.seen);
    return merge(Running{larger(even, odd), s.r}, Running{smaller(even, odd), 0}, scale);
#else
    return Running{s.seen, s.r};
#endif
}

// What is below a.m as it is below m, with `apart` columns at a.m more: 1 for that which was kept
// out of the sum.
__device__ __forceinline__ Running lowered(const Running& a, Real m, Real apart,
                                           const Scale& scale) {
    const Real f =
        a.m == -infinity() ? (Real)0 : exp_below(over_temperature(a.m - m, scale));
    return Running{m, a.m == -infinity() ? (Real)0 : a.r * f + apart * f};
}

template <int LANES>
__device__ __forceinline__ Real sum_of_lanes(Real x) {
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step, LANES);
    return x;
}

template <int LANES>
__device__ __forceinline__ Running of_lanes(const Running& a) {
    return Running{a.m, sum_of_lanes<LANES>(a.r)};
}

// From here on T is Running, or the Moments of moments.cuh, whose merge, lowered, of_lanes and send
// are there.

// Of the LANES lanes of a warp that share a row: all get the same.
template <int LANES, typename T>
__device__ __forceinline__ T merge_lanes(T a, const Scale& scale) {
    Real m = a.m;
#if HAS_WARP_MAX && ELEMENT != FLOAT64
    if (LANES == 32) {
        m = largest_of_warp(m);
    } else
#endif
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        m = larger(m, __shfl_xor_sync(0xffffffffu, m, step, LANES));
    // One lane with the maximum keeps it out of the sums; of the others each adds its own.
    const int lane = (int)threadIdx.x % 32;
    const unsigned row_mask = LANES == 32 ? 0xffffffffu
                                          : ((1u << LANES % 32) - 1u) << lane / LANES * LANES;
    const unsigned holders = __ballot_sync(0xffffffffu, a.m == m) & row_mask;
    const bool keeps = holders != 0 && __ffs(holders) - 1 == lane;
    return of_lanes<LANES>(lowered(a, m, keeps ? 0 : 1, scale));
}

// Of a block of 32 * WARPS threads that shares a row: all get the same.
template <int WARPS, typename T>
__device__ __forceinline__ T merge_warps(T a, const Scale& scale, T* scratch) {
    a = merge_lanes<32>(a, scale);
    if (WARPS == 1) return a;
    const int lane = (int)threadIdx.x % 32;
    if (lane == 0) scratch[threadIdx.x / 32] = a;
    __syncthreads();  // wrote: lane 0 of each warp; reads: every warp all of them
    T b = {-infinity()};
    if (lane < WARPS) b = scratch[lane];
    return merge_lanes<32>(b, scale);
}

#if HAS_CLUSTERS
__device__ __forceinline__ void send(Running* place, unsigned rank, const Running& a) {
    store_remote((RealPair*)place, rank, a.m, a.r);
}

// Of a cluster of BLOCKS blocks of 32 * WARPS threads: all get the same. Every block must have
// started: a block that has not cannot be written to. `scratch` holds WARPS * BLOCKS.
template <int WARPS, int BLOCKS, typename T>
__device__ __forceinline__ T merge_blocks(T a, const Scale& scale, T* scratch) {
    constexpr bool BLOCKS_FIRST = WARPS * BLOCKS > 128;  // faster from there on
    constexpr int PARTS = BLOCKS_FIRST ? BLOCKS : BLOCKS * WARPS;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    a = BLOCKS_FIRST ? merge_warps<WARPS>(a, scale, scratch + BLOCKS) : merge_lanes<32>(a, scale);
    if (lane < BLOCKS && (!BLOCKS_FIRST || warp == 0)) {
        T* place = &scratch[cluster_rank() * (PARTS / BLOCKS) + (BLOCKS_FIRST ? 0 : warp)];
        send(place, lane, a);
    }
    cluster_arrive();
    cluster_wait();  // wrote: each warp, or block, into every block; reads: every warp all of them
    T b = {-infinity()};
#pragma unroll
    for (int i = lane; i < PARTS; i += 32) b = merge(b, scratch[i], scale);
    return merge_lanes<32>(b, scale);
}
#endif
