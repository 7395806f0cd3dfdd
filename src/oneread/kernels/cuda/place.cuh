// The place of a column in the order of its row: how many columns come before it. That is all that
// are NaN or larger, and to its left those that are equal.
//
// STATE  1 when the column's logit is given and it may lie outside of the columns at hand
#pragma once
#include "row.cuh"

// A column of which one thread counts what comes before it, among the columns that the thread reads:
// to the left of the vector that holds it those not <= `left`, the largest number below its own;
// from there on those not <= `right`, its own or, where the type has no such number, the next below.
struct Place {
    Word left;
    Word right;
    Index vector;
    unsigned count;  // no thread reads more columns
};

// The next smaller number; one NaN below -inf, above which is everything.
__device__ __forceinline__ Element next_below(Element e) {
#if ELEMENT == FLOAT64
    const long long bits = __double_as_longlong(e);
    const long long sign = (long long)(1ull << 63);
    return __longlong_as_double(e == 0 ? sign | 1 : bits < 0 ? bits + 1 : bits - 1);
#elif ELEMENT == FLOAT32
    const int bits = __float_as_int(e);
    return __int_as_float(e == 0 ? (int)0x80000001u : bits < 0 ? bits + 1 : bits - 1);
#else
    if ((e & 0x7fff) == 0) return 0x8001;
    return (Element)(e & 0x8000 ? e + 1 : e - 1);
#endif
}

__device__ __forceinline__ Word word_of(Element e) {
#if PAIRED
    return 0x10001u * e;
#else
    return e;
#endif
}

__device__ __forceinline__ Index within(Index vocab, long long column) {
    return column < 0 ? -1 : column < vocab ? column : vocab;
}

// That of a column of a row whose column 0 is element `head` of a vector; with STATE of any column,
// of which `logit` is the number.
__device__ __forceinline__ Place place_of(int head, Index vocab, long long column, Real logit) {
    Element own = to_element(logit);
    if (STATE && to_real(own) > logit) own = next_below(own);
    Place place;
    place.right = word_of(own);
    place.left = word_of(!STATE || to_real(own) == logit ? next_below(own) : own);
    // Nothing is to the left of vector 0, to which -1 rounds.
    place.vector = (head + within(vocab, column)) / WIDTH;
    place.count = 0;
    return place;
}

// Count in N vectors from `at`, STEP apart.
template <int N, int STEP>
__device__ __forceinline__ void count(Place& place, Index at, const Vector* v) {
    const Index ahead = place.vector - at;
    const int ahead_here = ahead > N * STEP ? N * STEP : ahead < 0 ? 0 : (int)ahead;
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        Vector bound;
        bound.w[0] = i * STEP < ahead_here ? place.left : place.right;
#if PAIRED && HAS_PAIRED_COUNT
        // 0xffff for each low half above, 0xffff0000 for each high one.
#pragma unroll
        for (int w = 0; w < WORDS; ++w) sum += above_in_pairs(v[i].w[w], bound.w[0]);
#else
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) sum += !(number(v[i], e) <= number(bound, 0));
#endif
    }
#if PAIRED && HAS_PAIRED_COUNT
    const unsigned low = -sum & 0xffffu;
    sum = low + ((0xffffu * low - sum) >> 16);
#endif
    place.count += sum;
}

// What `count` has of the vector that holds the column, and of lanes without one: one thread adds
// what is missing.
__device__ __forceinline__ Index rest(const Row& row, Index vector, Index column, Real logit) {
    const Element* x = columns_of(row);
    const Index from = vector * WIDTH - row.head;
    Index n = 0;
    for (Index j = from > 0 ? from : 0; j < column; ++j)
        n += keeps(row, j) && to_real(x[j]) == logit;
    // Below -inf is nothing, so that lanes to the left that no column fills were counted, too.
    if (logit == -infinity())
        n -= vector * WIDTH - (from < 0 ? 0 : from < row.vocab ? from : row.vocab);
    return n;
}

// Before a NaN come other NaNs to its left alone. Such rows are read again.
template <int THREADS>
__device__ __noinline__ Index count_nans(const Row row, Index first, Index column) {
    const Element* x = columns_of(row);
    Index n = 0;
    for (Index j = first; j < column; j += THREADS)
        n += keeps(row, j) && to_real(x[j]) != to_real(x[j]);
    return n;
}

#if LEAVES_OUT
// Columns left out look like -inf and come last. Where the selected one is of either kind, the row,
// of `vocab` columns with those beyond its length, is read again.
template <int THREADS>
__device__ __noinline__ Index count_lowest(const Row row, Index vocab, Index first, Index column,
                                           bool kept) {
    const Element* x = columns_of(row);
    Index n = 0;
    for (Index j = first; j < vocab; j += THREADS) {
        const bool counts = j < row.vocab && keeps(row, j);
        n += kept ? counts && (j < column || !(to_real(x[j]) <= -infinity()))
                  : counts || j < column;
    }
    return n;
}
#endif
