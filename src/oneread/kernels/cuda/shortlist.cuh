// The vectors of a row that may hold one of its k <= 64 first numbers, listed in shared memory.
//
// Each of k threads has seen a number that reaches the k-th largest of the threads' maxima: that
// bound is never above the k-th number of the row. Vectors that reach it are listed, by their
// largest number and their place, each warp in a list of its own. A list that is full is cut down
// to the k first vectors: a number that is not in them has k numbers before it. So ties, however
// many, are in the order of their columns.
//
// SUMS, BLOCK_THREADS, VECTORS, CLUSTER  as in topk.cu
#pragma once
#include "order.cuh"
#include "row.cuh"

constexpr int MOST_K = 64;
constexpr int WARPS = BLOCK_THREADS / 32;
constexpr int ROOM = 128;  // vectors that a warp lists, a multiple of 32
constexpr int OPEN = 128;  // vectors that are opened at the end
constexpr int SENT = 64;   // vectors that a block of a cluster sends
constexpr int POOL = WARPS * ROOM > OPEN * WIDTH ? WARPS * ROOM : OPEN * WIDTH;
constexpr unsigned ALL = 0xffffffffu;
static_assert(BLOCK_THREADS >= MOST_K, "a bound takes k maxima");
static_assert(OPEN >= MOST_K && SENT >= MOST_K && ROOM / 2 >= MOST_K, "lists hold k");

struct Shared {
    Candidate pool[POOL];   // the lists of the warps; then the numbers of the vectors opened
    Candidate list[OPEN];   // vectors to be opened; then the winners
    Candidate last[WARPS];  // what comes before nothing of a warp's list that was cut down
    unsigned maxima[BLOCK_THREADS];
    unsigned bound;  // high part of a key that k numbers of the row reach
    int counts[WARPS];
    int listed;
    int found;
#if LEAVES_OUT
    int missing[2 * WARPS];  // as missing.cuh counts
#endif
#if SUMS
    Running scratch[WARPS * CLUSTER];
#endif
#if CLUSTER > 1
    Candidate landing[CLUSTER * SENT];  // in the first block, what each block sent
    int landed[CLUSTER];
    unsigned shares[2][CLUSTER];  // after the first step and the last, what each block has shown
    int gathered;
#endif
};

__device__ __forceinline__ int lane_of() { return (int)threadIdx.x % 32; }
__device__ __forceinline__ int warp_of() { return (int)threadIdx.x / 32; }
__device__ __forceinline__ unsigned below_lane() { return (1u << lane_of()) - 1; }

// One warp: a number that at least k of the maxima reach, and few more; `low` is one, too.
__device__ __forceinline__ unsigned bound_of(const unsigned* maxima, unsigned low, int k) {
    unsigned held[WARPS];
    unsigned least = ALL, most = 0;
#pragma unroll
    for (int i = 0; i < WARPS; ++i) {
        held[i] = load_relaxed(&maxima[32 * i + lane_of()]);
        least = min(least, held[i]);
        most = max(most, held[i]);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        least = min(least, __shfl_xor_sync(ALL, least, step));
        most = max(most, __shfl_xor_sync(ALL, most, step));
    }
    low = k == 1 ? most : max(low, least);
    while (low < most) {  // k or more reach low, fewer reach most + 1
        const unsigned middle = low + (most - low) / 2 + 1;
        int reach = 0;
#pragma unroll
        for (int i = 0; i < WARPS; ++i) reach += __popc(__ballot_sync(ALL, held[i] >= middle));
        if (reach < k) {
            most = middle - 1;
        } else {
            low = middle;
            if (reach <= k + k / 8) break;
        }
    }
    return low;
}

__device__ __forceinline__ void raise_bound(Shared& s, int k) {
    const unsigned bound = bound_of(s.maxima, load_relaxed(&s.bound), k);
    if (lane_of() == 0) atomicMax(&s.bound, bound);
    __syncwarp();
}

#if CLUSTER > 1
// k numbers of the row reach the least of what a CLUSTER-th of k reach in each block. All threads of
// the cluster; the maxima must have been written, and every block have started.
__device__ __forceinline__ void share_bounds(Shared& s, unsigned* shares, int k) {
    const int lane = lane_of();
    if (warp_of() == 0) {
        const unsigned own = bound_of(s.maxima, 0, (k + CLUSTER - 1) / CLUSTER);
        if (lane < CLUSTER) store_remote(&shares[cluster_rank()], lane, own);
    }
    cluster_arrive();
    cluster_wait();  // wrote: each block its share into every block; reads: warp 0
    if (warp_of() == 0) {
        unsigned least = lane < CLUSTER ? shares[lane] : ALL;
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
            least = min(least, __shfl_xor_sync(ALL, least, step));
        if (lane == 0) atomicMax(&s.bound, least);
    }
    __syncthreads();  // wrote: warp 0 the bound; reads: all
}
#endif

// Cut down the list of a warp: to what reaches the bound, and where that leaves it half full, to
// the k first. Returns how many are left.
__device__ __forceinline__ int make_room(Shared& s, int count, int k) {
    raise_bound(s, k);
    const unsigned bound = load_relaxed(&s.bound);
    const int lane = lane_of();
    Candidate* own = s.pool + warp_of() * ROOM;
    Candidate held[ROOM / 32];
#pragma unroll
    for (int i = 0; i < ROOM / 32; ++i) held[i] = own[32 * i + lane];
    __syncwarp();
    int kept = 0;
#pragma unroll
    for (int i = 0; i < ROOM / 32; ++i) {
        const bool keeps = 32 * i + lane < count && high(key_at(held[i])) >= bound;
        const unsigned keepers = __ballot_sync(ALL, keeps);
        if (keeps) own[kept + __popc(keepers & below_lane())] = held[i];
        kept += __popc(keepers);
    }
    __syncwarp();
    if (kept <= ROOM / 2) return kept;
    int ranks[ROOM / 32];
#pragma unroll
    for (int i = 0; i < ROOM / 32; ++i) {
        held[i] = own[32 * i + lane];
        ranks[i] = 32 * i + lane < kept ? 0 : k;
    }
    for (int j = 0; j < kept; ++j)
#pragma unroll
        for (int i = 0; i < ROOM / 32; ++i) ranks[i] += before(own[j], held[i]);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < ROOM / 32; ++i)
        if (ranks[i] < k) own[ranks[i]] = held[i];
    __syncwarp();
    if (lane == 0) s.last[warp_of()] = own[k - 1];
    __syncwarp();
    return k;
}

// List the vectors of a warp's step that may hold a winner, BLOCK_THREADS apart from `at`. Returns
// how many are listed then.
__device__ __forceinline__ int list(Shared& s, const Row& row, const Vector* v, Index at,
                                    int count, int k) {
    const Real low = number_of(least_of(load_relaxed(&s.bound)));
    Real tops[VECTORS];
    unsigned waiting = 0;  // bit i for vector i
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {
        tops[i] = largest(v[i]);
        if (!(tops[i] < low)) waiting |= 1u << i;
    }
    while (__any_sync(ALL, waiting != 0)) {
        const int first = __ffs((int)waiting) - 1;
        Real top_here = tops[0];
#pragma unroll
        for (int i = 1; i < VECTORS; ++i) top_here = i == first ? tops[i] : top_here;
        const Index place = at + first * BLOCK_THREADS;
        const Candidate c = candidate(key_of(top_here), place);
        const bool gives = waiting != 0 && has_some(row, place) &&
                           high(key_at(c)) >= load_relaxed(&s.bound) &&
                           !before(s.last[warp_of()], c);
        const unsigned givers = __ballot_sync(ALL, gives);
        if (count + __popc(givers) > ROOM) {
            count = make_room(s, count, k);
            continue;
        }
        if (gives) s.pool[warp_of() * ROOM + count + __popc(givers & below_lane())] = c;
        count += __popc(givers);
        waiting &= waiting - 1;
    }
    return count;
}

// What numbers to come must have to be worth a look, once a warp's list was cut down.
__device__ __forceinline__ unsigned floor_of(const Shared& s) {
    const Key key = key_at(s.last[warp_of()]);
    // Places to come are larger, so that a tie is lost: but for the part of a key left out.
    return high(key) + (key > 0 && sizeof(Key) == 4 && key < ALL);
}

// Bring together of LISTS lists, PITCH apart, what reaches the bound: up to MOST, else the k first.
// Returns how many. All threads of the block; what they read must have been written.
template <int LISTS, int PITCH, int MOST>
__device__ __forceinline__ int gather(Shared& s, const Candidate* from, const int* counts,
                                      int& listed, int k) {
    const unsigned bound = s.bound;
    for (int l = warp_of(); l < LISTS; l += WARPS)
        for (int i = lane_of(); i < counts[l]; i += 32) {
            const Candidate c = from[l * PITCH + i];
            if (high(key_at(c)) < bound) continue;
            const int place = atomicAdd(&listed, 1);
            if (place < MOST) s.list[place] = c;
        }
    __syncthreads();  // wrote: all threads list and listed; reads: all
    if (listed <= MOST) return listed;
    for (int l = warp_of(); l < LISTS; l += WARPS)
        for (int i = lane_of(); i < counts[l]; i += 32) {
            const Candidate c = from[l * PITCH + i];
            int rank = 0;
            for (int m = 0; m < LISTS; ++m)
                for (int j = 0; j < counts[m]; ++j) rank += before(from[m * PITCH + j], c);
            if (rank < k) s.list[rank] = c;
        }
    __syncthreads();  // wrote: all threads list; reads: all
    return k;
}

// The numbers of the listed vectors that reach the bound, in the pool. Returns how many.
__device__ __forceinline__ int open(Shared& s, const Row& row, int vectors) {
    const unsigned bound = s.bound;
    for (int i = threadIdx.x; i < vectors; i += BLOCK_THREADS) {
        const Index at = place_of(s.list[i]);
        const Vector v = load_edge(row, at);
        unsigned reach = 0;
#pragma unroll
        for (int e = 0; e < WIDTH; ++e)
            if (high(key_of(number(v, e))) >= bound && has(row, at, e)) reach |= 1u << e;
        int place = atomicAdd(&s.found, __popc(reach));
#pragma unroll
        for (int e = 0; e < WIDTH; ++e)
            if (reach >> e & 1)
                s.pool[place++] = candidate(key_of(number(v, e)), at * WIDTH + e - row.head);
    }
    __syncthreads();  // wrote: all threads pool and found; reads: all
    return s.found;
}
