// The k <= 64 first columns of rows of any length, with their probabilities.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 4, selection by bounds in place of a list
// Accesses   1 load of x an element, and the vectors of about k elements a row once more
// Launch     rows * CLUSTER blocks of BLOCK_THREADS threads
//
// Each of k threads has seen a number that reaches the k-th largest of the threads' maxima: that
// bound is never above the k-th number of the row. Vectors that reach it are listed, by their
// largest number and their place, each warp in a list of its own. A list that is full is cut down
// to the k first vectors: a number that is not in them has k numbers before it. So ties, however
// many, are in the order of their columns. Warps wait for one another after the first step and
// after the last: in between a warp goes on with a bound that others may have raised meanwhile.
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

#include "order.cuh"
#include "row.cuh"

constexpr int MOST_K = 64;
constexpr int WARPS = BLOCK_THREADS / 32;
constexpr int ROOM = 128;                     // vectors that a warp lists
constexpr int OPEN = CLUSTER > 1 ? 64 : 128;  // vectors that are opened at the end
constexpr int POOL = WARPS * ROOM > OPEN * WIDTH ? WARPS * ROOM : OPEN * WIDTH;
constexpr unsigned ALL = 0xffffffffu;
static_assert(BLOCK_THREADS >= MOST_K, "a bound takes k maxima");
static_assert(OPEN >= MOST_K && ROOM / 2 >= MOST_K && ROOM % 32 == 0, "lists hold k");

struct Shared {
    Candidate pool[POOL];  // the lists of the warps; then the numbers of the vectors opened
    Candidate list[OPEN];  // vectors to be opened; then the winners
    Candidate last[WARPS];  // what comes before nothing of a warp's list that was cut down
    unsigned maxima[BLOCK_THREADS];
    unsigned bound;  // high part of a key that k numbers of the row reach
    int counts[WARPS];
    int listed;
    int found;
#if SUMS
    Running scratch[WARPS * CLUSTER];
#endif
#if CLUSTER > 1
    Candidate landing[CLUSTER * OPEN];  // in the first block, what each block listed
    int landed[CLUSTER];
    unsigned shares[CLUSTER];  // bounds of a CLUSTER-th of k numbers in each block
    int gathered;
#endif
};

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

__device__ __forceinline__ int lane_of() { return (int)threadIdx.x % 32; }
__device__ __forceinline__ int warp_of() { return (int)threadIdx.x / 32; }

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
        if (keeps) own[kept + __popc(keepers & ((1u << lane) - 1))] = held[i];
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

// Which of a thread's vectors, STEP apart from `at`, may hold a winner: bit i for vector i.
__device__ __forceinline__ unsigned that_reach(const Shared& s, const Key* keys, Index at,
                                               Index end) {
    const unsigned bound = load_relaxed(&s.bound);
    const Candidate last = s.last[warp_of()];
    unsigned found = 0;
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {
        const Index place = at + i * BLOCK_THREADS;
        if (place < end && high(keys[i]) >= bound && !before(last, candidate(keys[i], place)))
            found |= 1u << i;
    }
    return found;
}

// List those vectors of a step of a warp. Returns how many are listed then.
__device__ __forceinline__ int list(Shared& s, const Vector* v, Index at, Index end, int count,
                                    int k) {
    Key keys[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) keys[i] = key_of(largest(v[i]));
    unsigned waiting = that_reach(s, keys, at, end);
    while (const unsigned givers = __ballot_sync(ALL, waiting != 0)) {
        if (count + __popc(givers) > ROOM) {
            count = make_room(s, count, k);
            waiting &= that_reach(s, keys, at, end);
            continue;
        }
        if (waiting) {
            const int first = __ffs((int)waiting) - 1;
            Key key = keys[0];
#pragma unroll
            for (int i = 1; i < VECTORS; ++i) key = i == first ? keys[i] : key;
            const int place = count + __popc(givers & ((1u << lane_of()) - 1));
            s.pool[warp_of() * ROOM + place] = candidate(key, at + first * BLOCK_THREADS);
            waiting &= waiting - 1;
        }
        count += __popc(givers);
    }
    return count;
}

// What numbers to come must have to be worth a look, once a warp's list was cut down.
__device__ __forceinline__ unsigned floor_of(const Shared& s) {
    const Key key = key_at(s.last[warp_of()]);
    // Places to come are larger, so that a tie is lost: but for the part of a key left out.
    return high(key) + (key > 0 && sizeof(Key) == 4 && key < ALL);
}

// Bring together of LISTS lists, PITCH apart, what reaches the bound: all if OPEN hold it, else the
// k first. Returns how many. All threads of the block; what they read must have been written.
template <int LISTS, int PITCH>
__device__ __forceinline__ int gather(Shared& s, const Candidate* from, const int* counts,
                                      int& listed, int k) {
    const unsigned bound = s.bound;
    for (int i = threadIdx.x; i < LISTS * PITCH; i += BLOCK_THREADS) {
        if (i % PITCH >= counts[i / PITCH] || high(key_at(from[i])) < bound) continue;
        const int place = atomicAdd(&listed, 1);
        if (place < OPEN) s.list[place] = from[i];
    }
    __syncthreads();  // wrote: all threads list and listed; reads: all
    if (listed <= OPEN) return listed;
    for (int i = threadIdx.x; i < LISTS * PITCH; i += BLOCK_THREADS) {
        if (i % PITCH >= counts[i / PITCH]) continue;
        int rank = 0;
        for (int l = 0; l < LISTS; ++l)
            for (int j = 0; j < counts[l]; ++j) rank += before(from[l * PITCH + j], from[i]);
        if (rank < k) s.list[rank] = from[i];
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
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) {
            const Key key = key_of(number(v, e));
            if (high(key) >= bound && has(row, at, e))
                s.pool[atomicAdd(&s.found, 1)] = candidate(key, at * WIDTH + e - row.head);
        }
    }
    __syncthreads();  // wrote: all threads pool and found; reads: all
    return s.found;
}

// Of the k winners at s.list: their first number and the powers of the others.
__device__ __forceinline__ Running over_winners(const Shared& s, int k, const Scale& scale) {
    Running all = {number_of(key_at(s.list[0])), 0};
    for (int i = 1; i < k; ++i)
        all.r += exact_power(number_of(key_at(s.list[i])), all.m, scale);
    return all;
}

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
topk(const Element* x, void* values, long long rows, long long vocab, long long x_stride,
     long long most, long long kind, long long index_bytes, void* indices, Real* lse,
     double temperature, const double* temperatures) {
    __shared__ Shared s;
    const int k = (int)most;
    const long long index = blockIdx.x / CLUSTER;
    x += index * x_stride;
    const Row row = row_at(x, nullptr, (Index)vocab);
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
    for (Index base = start; base < row.end; base += STEP, ++step) {
        const Index at = base + (Index)threadIdx.x;
        Vector v[VECTORS];
        load<VECTORS, BLOCK_THREADS>(row, at, v);
        const Real most_here = largest<VECTORS>(v);
        take_in(seen, v, most_here, scale);
        if (step == 0) {
            s.maxima[threadIdx.x] = high(key_of(top(seen)));
            __syncthreads();  // wrote: all threads maxima; reads: warp 0
            if (warp_of() == 0) raise_bound(s, k);
            __syncthreads();  // wrote: warp 0 the bound; reads: all
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
        count = list(s, v, at, row.end, count, k);
        floor = floor_of(s);
    }

    if (lane_of() == 0) s.counts[warp_of()] = count;
    Running all = {0, 0};
#if CLUSTER > 1
    const unsigned rank = cluster_rank();
    __syncthreads();  // wrote: all warps maxima and counts; reads: warp 0, then all
    cluster_wait();   // every block has started
    if (warp_of() == 0) {
        // k numbers reach the least of what a CLUSTER-th of k reach in each block.
        const unsigned share = bound_of(s.maxima, 0, (k + CLUSTER - 1) / CLUSTER);
        if (lane_of() < CLUSTER) store_remote(&s.shares[rank], lane_of(), share);
    }
#if SUMS
    all = merge_blocks<WARPS, CLUSTER>(total(seen, scale), scale, s.scratch);
#else
    cluster_arrive();
    cluster_wait();  // wrote: each block its share into every block; reads: thread 0
#endif
    if (threadIdx.x == 0) {
        unsigned least = s.shares[0];
        for (int i = 1; i < CLUSTER; ++i) least = min(least, s.shares[i]);
        s.bound = max(s.bound, least);
    }
    __syncthreads();  // wrote: thread 0 the bound; reads: all
    int n = gather<WARPS, ROOM>(s, s.pool, s.counts, s.listed, k);
    for (int i = threadIdx.x; i < n; i += BLOCK_THREADS)
        store_remote(&s.landing[rank * OPEN + i], 0, s.list[i]);
    if (threadIdx.x == 0) store_remote((unsigned*)&s.landed[rank], 0, (unsigned)n);
    cluster_arrive();
    if (rank != 0) return;
    cluster_wait();  // wrote: each block its vectors into this one; reads: all
    n = gather<CLUSTER, OPEN>(s, s.landing, s.landed, s.gathered, k);
#else
#if SUMS
    all = merge_warps<WARPS>(total(seen, scale), scale, s.scratch);
#endif
    __syncthreads();  // wrote: all warps their lists, maxima and counts; reads: all
    int listed = 0;
    for (int i = 0; i < WARPS; ++i) listed += s.counts[i];
    if (listed > OPEN) {
        if (warp_of() == 0) raise_bound(s, k);
        __syncthreads();  // wrote: warp 0 the bound; reads: all
    }
    int n = gather<WARPS, ROOM>(s, s.pool, s.counts, s.listed, k);
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
#if SUMS
    if (lse && threadIdx.x == 0) {
        const bool regular = fabs(all.m) < infinity();
        lse[index] = regular ? over_temperature(all.m, scale) + log_one_plus(all.r) : all.m;
    }
#endif
    for (int i = threadIdx.x; i < k; i += BLOCK_THREADS) {
        if (kind > WINNERS) all = over_winners(s, k, scale);
        write_winner(Results{values, indices, (int)kind, (int)index_bytes}, index * k + i, x,
                     place_of(s.list[i]), key_at(s.list[i]), all, scale);
    }
}
