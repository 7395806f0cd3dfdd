// The last winners of a row that has fewer numbers above -inf than winners are wanted, once masks
// and lengths leave columns out: kept columns of -inf, then those left out, by column each.
#pragma once
#include "order.cuh"

#if LEAVES_OUT
// Whether it holds for a thread of the block, or of the warp.
template <int THREADS>
__device__ __forceinline__ bool any_of(bool holds) {
    return THREADS == 32 ? __any_sync(0xffffffffu, holds) : __syncthreads_or(holds);
}

// Give columns below `end` that pass places from `from` on, below k, in ascending order. Returns
// where they end. All threads of the block, or of the warp; `counts` holds two of each warp.
template <int THREADS, typename Passes, typename Put>
__device__ __forceinline__ int append(long long end, int from, int k, int* counts, Passes passes,
                                      Put put) {
    constexpr int WARPS = THREADS / 32;
    constexpr int AT_ONCE = 8;  // columns that a thread looks at before it waits for the others
    const int own = (int)threadIdx.x % THREADS;
    const unsigned below = (1u << own % 32) - 1;
    for (long long base = 0; base < end && from < k; base += AT_ONCE * THREADS) {
        unsigned passing = 0;
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
            const long long column = base + u * THREADS + own;
            if (column < end && passes(column)) passing |= 1u << u;
        }
        if (!any_of<THREADS>(passing != 0)) continue;
#pragma unroll 1
        for (int u = 0; u < AT_ONCE; ++u) {
            const bool passed = passing >> u & 1;
            const unsigned here = __ballot_sync(0xffffffffu, passed);
            int place = from + __popc(here & below);
            int sum = __popc(here);
            if (WARPS > 1) {
                int* now = counts + u % 2 * WARPS;
                if (own % 32 == 0) now[own / 32] = sum;
                // Wrote: each warp its own; reads: all. Those of the turn before last have been read.
                __syncthreads();
                sum = 0;
                for (int w = 0; w < WARPS; ++w) {
                    if (w < own / 32) place += now[w];
                    sum += now[w];
                }
            }
            if (passed && place < k) put(place, base + u * THREADS + own);
            from += sum;
        }
    }
    return min(from, k);
}

// Put the winners from place `from` on, where those above -inf end. `row` ends at its length, the
// whole row has `vocab` columns. Whoever reads what is put has to wait for it.
template <int THREADS, typename Put>
__device__ __forceinline__ void put_missing(const Row& row, long long vocab, int from, int k,
                                            int* counts, Put put) {
    const Element* x = columns_of(row);
    from = append<THREADS>(
        row.vocab, from, k, counts,
        [=](long long j) { return keeps(row, j) && to_real(x[j]) == -infinity(); },
        [=](int place, long long j) { put(place, key_of(-infinity()), j); });
    append<THREADS>(
        vocab, from, k, counts, [=](long long j) { return j >= row.vocab || !keeps(row, j); },
        [=](int place, long long j) { put(place, (Key)0, j); });
}
#endif
