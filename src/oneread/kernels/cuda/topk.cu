// The k <= 64 first columns of rows of any length, with their probabilities.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 4, selection by bounds in place of a list
// Accesses   1 load of x an element, and the vectors of about k elements a row once more
// Launch     rows * CLUSTER blocks of BLOCK_THREADS threads
//
// shortlist.cuh tells how winners are found. Warps wait for one another after the first step and
// after the last: in between each goes on with a bound that others may have raised meanwhile.
//
// SUMS           1 when the normalizer of the whole row is asked for
// BLOCK_THREADS  threads of a block, a multiple of 32, 64 or more
// VECTORS        vectors that a thread loads at a time
// CLUSTER        blocks that share a row
// MIN_BLOCKS     blocks that must fit a multiprocessor
#if LONG
typedef long long Index;
#else
typedef int Index;
#endif

#include "missing.cuh"
#include "shortlist.cuh"

// What a thread has seen of the row: its largest number and, if that is asked for, the sum.
#if SUMS
typedef Stream Seen;
__device__ __forceinline__ Seen nothing_seen() { return nothing(); }
__device__ __forceinline__ void take_in(Seen& seen, const Vector* v, Real most,
                                        const Scale& scale) {
    absorb<VECTORS>(seen, v, larger(top(seen), most), scale);
}
#else
struct Seen {
    Real most;
};
__device__ __forceinline__ Seen nothing_seen() { return Seen{-infinity()}; }
__device__ __forceinline__ Real top(const Seen& seen) { return seen.most; }
__device__ __forceinline__ void take_in(Seen& seen, const Vector*, Real most, const Scale&) {
    seen.most = larger(seen.most, most);
}
#endif

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
topk(const Element* x, void* values, long long rows, long long vocab, long long x_stride,
     long long most, long long kind, long long index_bytes, void* indices, Real* lse,
     Element* logits, double temperature, const double* temperatures, const Beside beside) {
    __shared__ Shared s;
    const int k = (int)most;
    const long long index = blockIdx.x / CLUSTER;
    const Row row = until_length(
        row_of(x, nullptr, index, x_stride, 0, (Index)vocab, true, beside), index, beside);
    const Scale scale = scale_of(temperature, temperatures, index);
#if CLUSTER > 1
    cluster_arrive_relaxed();
    const Index start = (Index)cluster_rank() * BLOCK_THREADS * VECTORS;
#else
    const Index start = 0;
#endif
    s.maxima[threadIdx.x] = 0;
    if (lane_of() == 0) s.last[warp_of()] = candidate(0, -1);
    if (threadIdx.x == 0) {
        s.bound = 0;
        s.listed = s.found = 0;
#if CLUSTER > 1
        s.gathered = 0;
#endif
    }

    constexpr Index STEP = (Index)BLOCK_THREADS * VECTORS * CLUSTER;
    Seen seen = nothing_seen();
    unsigned floor = 0;
    int count = 0;
    int step = 0;
    // Blocks of a cluster beyond the end of a short row take the first step, too.
    for (Index base = start; step == 0 || base < row.end; base += STEP, ++step) {
        const Index at = base + (Index)threadIdx.x;
        Vector v[VECTORS];
        load<VECTORS, BLOCK_THREADS>(row, at, v);
        const Real most_here = largest<VECTORS>(v);
        take_in(seen, v, most_here, scale);
        if (step == 0) {
            s.maxima[threadIdx.x] = high(key_of(top(seen)));
            __syncthreads();  // wrote: all threads maxima; reads: warp 0
#if CLUSTER > 1
            cluster_wait();  // every block has started
            share_bounds(s, s.shares[0], k);
#else
            if (warp_of() == 0) raise_bound(s, k);
            __syncthreads();  // wrote: warp 0 the bound; reads: all
#endif
        }
        const unsigned wanted = max(floor, load_relaxed(&s.bound));
        const bool reached = __any_sync(ALL, high(key_of(most_here)) >= wanted);
        if (reached) store_relaxed(&s.maxima[threadIdx.x], high(key_of(top(seen))));
        // After steps 1, 3, 7 and so on, one warp each.
        if (step > 0 && (step & (step + 1)) == 0 && __popc(step) % WARPS == warp_of()) {
            __syncwarp();
            raise_bound(s, k);
        }
        if (!reached) continue;
        count = list(s, row, v, at, count, k);
        floor = floor_of(s);
    }

    if (lane_of() == 0) s.counts[warp_of()] = count;
    Running all = {0, 0};
#if CLUSTER > 1
    const unsigned rank = cluster_rank();
#if SUMS
    const Running own = merge_lanes<32>(total(seen, scale), scale);
    if (lane_of() == 0)
        store_remote((RealPair*)&s.scratch[rank * WARPS + warp_of()], 0, own.m, own.r);
#endif
    __syncthreads();  // wrote: all warps lists, maxima and counts; reads: all
    if (row.end > STEP) share_bounds(s, s.shares[1], k);
    int n = gather<WARPS, ROOM, SENT>(s, s.pool, s.counts, s.listed, k);
    for (int i = threadIdx.x; i < n; i += BLOCK_THREADS)
        store_remote(&s.landing[rank * SENT + i], 0, s.list[i]);
    if (threadIdx.x == 0) store_remote((unsigned*)&s.landed[rank], 0, (unsigned)n);
    cluster_arrive();
    if (rank != 0) return;
    cluster_wait();  // wrote: each block its vectors and sums into this one; reads: all
#if SUMS
    all = Running{-infinity(), 0};
    for (int i = lane_of(); i < WARPS * CLUSTER; i += 32) all = merge(all, s.scratch[i], scale);
    all = merge_lanes<32>(all, scale);
#endif
    n = gather<CLUSTER, SENT, OPEN>(s, s.landing, s.landed, s.gathered, k);
#else
#if SUMS
    // Its barrier also parts the lists, maxima and counts of all warps from what reads them.
    all = merge_warps<WARPS>(total(seen, scale), scale, s.scratch);
#else
    __syncthreads();  // wrote: all warps lists, maxima and counts; reads: all
#endif
    int listed = 0;
    for (int i = 0; i < WARPS; ++i) listed += s.counts[i];
    if (listed > OPEN) {
        if (warp_of() == 0) raise_bound(s, k);
        __syncthreads();  // wrote: warp 0 the bound; reads: all
    }
    int n = gather<WARPS, ROOM, OPEN>(s, s.pool, s.counts, s.listed, k);
#endif
    n = open(s, row, n);
    for (int i = threadIdx.x; i < n; i += BLOCK_THREADS) {
        const Candidate own = s.pool[i];
        int rank_here = 0;
#pragma unroll 8
        for (int j = 0; j < n; ++j) rank_here += before(s.pool[j], own);
        if (rank_here < k) s.list[rank_here] = own;
    }
    __syncthreads();  // wrote: all threads list; reads: all
#if LEAVES_OUT
    const bool above = (int)threadIdx.x < min(n, k) &&
                       key_at(s.list[threadIdx.x]) > key_of(-infinity());
    const int numbers = __syncthreads_count(above);
    if (numbers < k) {
        put_missing<BLOCK_THREADS>(
            row, vocab, numbers, k, s.missing,
            [&](int i, Key key, long long j) { s.list[i] = candidate(key, (Index)j); });
        __syncthreads();  // wrote: all threads list; reads: all
    }
#endif
    all = checked(all, row);
#if SUMS
    if (lse && threadIdx.x == 0) lse[index] = logsumexp_of(all, scale);
#endif
    for (int i = threadIdx.x; i < k; i += BLOCK_THREADS) {
        if (kind > WINNERS) all = over_winners(s.list, k, scale);
        write_winner(Results{values, indices, logits, (int)kind, (int)index_bytes}, index * k + i, row,
                     place_of(s.list[i]), key_at(s.list[i]), all, scale);
    }
}
