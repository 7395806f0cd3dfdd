// Maximum, normalizer, and the sums that entropy and the sum of squared probabilities are made of,
// brought together from lanes, warps, blocks and clusters.
//
// With t = (x - m) / temperature, over all columns but one that holds m: sum[0] of exp(t), which
// running.cuh calls r, sum[S1] of t exp(t) and sum[S2] of exp(2 t). The column kept apart would add
// 1, 0 and 1. Of no columns: m = -inf, and all sums are 0.
//
// ENTROPY, SUM_P2  1 to have the sums that each needs
#pragma once
#include "running.cuh"

constexpr int SUMS = 1 + ENTROPY + SUM_P2;
constexpr int S1 = 1;
constexpr int S2 = 1 + ENTROPY;

struct __align__(2 * sizeof(Real)) Moments {
    Real m;
    Real sum[SUMS];
};

// Sums below m as they are below `top`, with `apart` columns at m more: 1 for that which was kept
// out of them. By the square of a root, so that nothing is lost that the result can hold.
__device__ __forceinline__ void move_sums(Real* sum, Real m, Real top, Real apart,
                                          const Scale& scale) {
    const Real gap = over_temperature(m - top, scale);
    const Real root = m == -infinity() ? (Real)0 : exp_below(gap / 2);
#if ENTROPY
    // t exp(t) of a column infinitely far below is 0, its limit.
    sum[S1] = root == 0 ? (Real)0 : (sum[S1] + gap * (sum[0] + apart)) * root * root;
#endif
#if SUM_P2
    sum[S2] = (sum[S2] + apart) * (root * root) * (root * root);
#endif
    sum[0] = (sum[0] + apart) * root * root;
}

// Columns taken in so far by one thread. All but those in `seen` are in the sums, of which `lost`
// is what rounding took. These are below `base`, the largest of the columns in them, so that the
// powers that count are near 1.
struct MomentStream {
    Most seen;
    Most added;
    Real base;
    Real sum[SUMS];
    Real lost[SUMS];
};

__device__ __forceinline__ MomentStream no_moments() {
    MomentStream s = {};
    s.seen = s.added = least();
    s.base = -infinity();
    return s;
}

__device__ __forceinline__ Real top(const MomentStream& s) { return largest_of(s.seen); }

// Of each number and the largest so far keep the larger; the smaller takes its place in the
// vector, so that the largest of all is never in a sum.
__device__ __forceinline__ void displace(MomentStream& s, Vector& v) {
#if PAIRED_MAX
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
        const unsigned pair = v.w[i];
        v.w[i] = min_of_pairs(s.seen, pair);
        s.seen = max_of_pairs(s.seen, pair);
        s.added = max_of_pairs(s.added, v.w[i]);
    }
#else
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        const Real x = number(v, i);
        const Real low = smaller(s.seen, x);
        s.seen = larger(s.seen, x);
        s.added = larger(s.added, low);
        set(v, i, to_element(low));
    }
#endif
}

#if FUSED
// Numbers of 16 bits: x log2 e - base log2 e is a single FMA, whose rounding counts for little where
// the power counts. What rounding took from base log2 e is multiplied out at last.
struct Below {
    Real unit;     // log2 e
    Real product;  // base * unit, rounded
    Real lost;     // what that took
    Real back;     // 1 / unit
#if ENTROPY
    Element floor;  // what lies lower is raised to it: its power is 0, and 0 * inf has no value
    bool flat;      // whether there is no floor: then only columns at the base have a power
#endif
};

__device__ __forceinline__ Below below(Real base) {
    Below b;
    // From 2^17 on numbers are 512 apart or more: any unit makes the others' powers 0, and this one
    // keeps products exact and finite.
    const bool is_far = fabsf(base) >= 131072.0f;
    b.unit = is_far ? 0.25f : 1.4426950408889634f;
    b.back = is_far ? 4.0f : 0.69314718055994531f;
    b.product = base * b.unit;
    b.lost = fmaf(base, b.unit, -b.product);
#if ENTROPY
#if ELEMENT == BFLOAT16
    const Element floor = 0xfe80;  // -2^126, so that no product overflows
#else
    const Element floor = 0xfbff;  // -65504
#endif
    b.flat = base <= to_real(floor) + 200;
    b.floor = b.flat ? lowest() : floor;
#endif
    return b;
}

__device__ __forceinline__ Real floored(const Below& b, Real x) {
#if ENTROPY && !PAIRED_MAX
    return larger(x, to_real(b.floor));
#else
    return x;
#endif
}

// Add what the columns of a vector have, in powers of 2.
__device__ __forceinline__ void add_powers(Real* sum, Vector v, const Below& b) {
#if ENTROPY && PAIRED_MAX
#pragma unroll
    for (int i = 0; i < WORDS; ++i) v.w[i] = max_of_pairs(v.w[i], 0x10001u * b.floor);
#endif
    Real own[SUMS];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        const Real p = fmaf(floored(b, number(v, i)), b.unit, -b.product);
        const Real e = exp2_approx(p);
        own[0] = i == 0 ? e : own[0] + e;
#if ENTROPY
        own[S1] = i == 0 ? p * e : fma(p, e, own[S1]);
#endif
#if SUM_P2
        own[S2] = i == 0 ? e * e : fma(e, e, own[S2]);
#endif
    }
#pragma unroll
    for (int k = 0; k < SUMS; ++k) sum[k] += own[k];
}

// From powers of 2 to what moments are.
__device__ __forceinline__ void settle(Real* sum, const Below& b) {
    const Real drift = exp2_approx(-b.lost);
#if ENTROPY
    sum[S1] = b.flat ? (Real)0 : (sum[S1] - b.lost * sum[0]) * (b.back * drift);
#endif
#if SUM_P2
    sum[S2] *= drift * drift;
#endif
    sum[0] *= drift;
}
#else
// Add what the columns of a vector have below `base`; numbers of 16 bits in powers of 2.
__device__ __forceinline__ void add_powers(Real* sum, const Vector& v, Real base,
                                           const Scale& scale) {
    Real own[SUMS];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        const Real gap = number(v, i) - base;
        // Never -inf: 0 times that has no value.
#if QUICK
        const Real t = in_powers_of_two(gap, scale);
        const Real e = exp2_approx(t);
#else
        const Real t = larger(over_temperature(gap, scale), LEAST_POWER);
        const Real e = exp_within(t);
#endif
        own[0] = i == 0 ? e : own[0] + e;
#if ENTROPY
        own[S1] = i == 0 ? t * e : fma(t, e, own[S1]);
#endif
#if SUM_P2
        own[S2] = i == 0 ? e * e : fma(e, e, own[S2]);
#endif
    }
#pragma unroll
    for (int k = 0; k < SUMS; ++k) sum[k] += own[k];
}
#endif

// Take in N vectors, of which nothing is left.
template <int N>
__device__ __forceinline__ void absorb(MomentStream& s, Vector* v, const Scale& scale) {
    const Real before = s.base;
#pragma unroll
    for (int i = 0; i < N; ++i) displace(s, v[i]);
    s.base = largest_of(s.added);
    Real added[SUMS] = {};
#if FUSED
    const Below b = below(reference(s.base));
#pragma unroll
    for (int i = 0; i < N; ++i) add_powers(added, v[i], b);
    settle(added, b);
#else
#pragma unroll
    for (int i = 0; i < N; ++i) add_powers(added, v[i], reference(s.base), scale);
#if QUICK && ENTROPY
    added[S1] *= 0.69314718055994531f;
#endif
#endif
    move_sums(s.sum, before, reference(s.base), 0, scale);
    move_sums(s.lost, before, reference(s.base), 0, scale);
#pragma unroll
    for (int k = 0; k < SUMS; ++k) add_exactly(s.sum[k], s.lost[k], added[k]);
}

__device__ __forceinline__ Moments total(const MomentStream& s, const Scale& scale) {
    Moments all;
    all.m = top(s);
#pragma unroll
    for (int k = 0; k < SUMS; ++k) all.sum[k] = s.sum[k] - s.lost[k];
    move_sums(all.sum, s.base, all.m, 0, scale);
#if PAIRED_MAX
    Real other[SUMS] = {};
    move_sums(other, smaller(low_of(s.seen), high_of(s.seen)), all.m, 1, scale);
#pragma unroll
    for (int k = 0; k < SUMS; ++k) all.sum[k] += other[k];
#endif
    return all;
}

// Of the columns of both.
__device__ __forceinline__ Moments merge(Moments a, Moments b, const Scale& scale) {
    const bool swap = b.m > a.m;
    Moments high = swap ? b : a;
    Moments low = swap ? a : b;
    const Real m = larger(a.m, b.m);
    move_sums(low.sum, low.m, m, 1, scale);
#pragma unroll
    for (int k = 0; k < SUMS; ++k) high.sum[k] += low.sum[k];
    high.m = m;
    return high;
}

__device__ __forceinline__ Moments lowered(Moments a, Real m, Real apart, const Scale& scale) {
    move_sums(a.sum, a.m, m, apart, scale);
    a.m = m;
    return a;
}

template <int LANES>
__device__ __forceinline__ Moments of_lanes(Moments a) {
#pragma unroll
    for (int k = 0; k < SUMS; ++k) a.sum[k] = sum_of_lanes<LANES>(a.sum[k]);
    return a;
}

#if HAS_CLUSTERS
__device__ __forceinline__ void send(Moments* place, unsigned rank, const Moments& a) {
    RealPair* pairs = (RealPair*)place;
    store_remote(pairs, rank, a.m, a.sum[0]);
    if (SUMS > 1) store_remote(pairs + 1, rank, a.sum[1 % SUMS], a.sum[SUMS - 1]);
}
#endif
