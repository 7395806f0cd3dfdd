// The k <= 64 first columns of rows that fit the registers of a warp, with their probabilities.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 4, selection by a bound in place of a list
// Accesses   1 load of x an element
// Launch     ceil(rows / (BLOCK_THREADS / 32)) blocks of BLOCK_THREADS threads, a warp a row
//
// The k-th largest of the vectors' largest numbers is not above the k-th number of the row. A vector
// that k others come before, by largest number and place, holds no winner.
//
// SUMS           1 when the normalizer of the whole row is asked for
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors that a thread holds: 32 * VECTORS hold the row
// MIN_BLOCKS     blocks that must fit a multiprocessor
typedef int Index;

#include "missing.cuh"
#include "order.cuh"
#include "row.cuh"

constexpr int MOST_K = 64;
constexpr int ROWS = BLOCK_THREADS / 32;
constexpr unsigned ALL = 0xffffffffu;
static_assert(!LONG, "a row that a warp holds is short");

// What a warp shares.
struct Shared {
    Vector vectors[MOST_K];  // that may hold a winner
    Index places[MOST_K];
    Candidate pool[MOST_K * WIDTH];  // their numbers that reach the bound
    Candidate winners[MOST_K];
    int found;
};

__device__ __forceinline__ int lane_of() { return (int)threadIdx.x % 32; }
__device__ __forceinline__ unsigned below_lane() { return (1u << lane_of()) - 1; }

// How many vectors of the warp have a key of at least that.
__device__ __forceinline__ int reaching(const Key* keys, Key bound) {
    int reach = 0;
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) reach += __popc(__ballot_sync(ALL, keys[i] >= bound));
    return reach;
}

// A key that k vectors or a few more reach, and more than MOST_K only if their keys are equal; one
// that all reach if there are no more than k.
__device__ __forceinline__ Key bound_of(const Key* keys, int vectors, int k) {
    if (vectors <= k) return 1;
    Key most = keys[0];
#pragma unroll
    for (int i = 1; i < VECTORS; ++i) most = max(most, keys[i]);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) most = max(most, __shfl_xor_sync(ALL, most, step));
    Key low = 1;
    while (low < most) {  // k or more reach low, fewer reach most + 1
        const Key middle = low + (most - low) / 2 + 1;
        const int reach = reaching(keys, middle);
        if (reach < k) {
            most = middle - 1;
        } else {
            low = middle;
            if (reach <= min(k + k / 8, MOST_K)) break;
        }
    }
    return low;
}

// List the vectors that reach the bound, of ties no more than make k. Returns how many.
__device__ __forceinline__ int list(Shared& s, const Vector* v, const Key* keys, Key bound, int k) {
    const bool cut = reaching(keys, bound) > MOST_K;
    const int above = cut && bound + 1 != 0 ? reaching(keys, bound + 1) : 0;
    int ties = cut ? k - above : MOST_K;  // that may still be listed
    int listed = 0;
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {  // in the order of their places
        const unsigned tied = __ballot_sync(ALL, keys[i] == bound);
        const bool takes = keys[i] > bound ||
                           (keys[i] == bound && __popc(tied & below_lane()) < ties);
        const unsigned takers = __ballot_sync(ALL, takes);
        if (takes) {
            const int place = listed + __popc(takers & below_lane());
            s.vectors[place] = v[i];
            s.places[place] = 32 * i + lane_of();
        }
        listed += __popc(takers);
        ties -= __popc(tied);
    }
    __syncwarp();
    return listed;
}

// The numbers of the listed vectors that reach the bound, in the pool. Returns how many.
__device__ __forceinline__ int open(Shared& s, const Row& row, int vectors, Key bound) {
    for (int i = lane_of(); i < vectors; i += 32) {
        const Vector v = s.vectors[i];
        const Index at = s.places[i];
        unsigned reach = 0;
#pragma unroll
        for (int e = 0; e < WIDTH; ++e)
            if (key_of(number(v, e)) >= bound && has(row, at, e)) reach |= 1u << e;
        int place = atomicAdd(&s.found, __popc(reach));
#pragma unroll
        for (int e = 0; e < WIDTH; ++e)
            if (reach >> e & 1)
                s.pool[place++] = candidate(key_of(number(v, e)), at * WIDTH + e - row.head);
    }
    __syncwarp();
    return s.found;
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
topk_row(const Element* x, void* values, long long rows, long long vocab, long long x_stride,
         long long most, long long kind, long long index_bytes, void* indices, Real* lse,
         Element* logits, double temperature, const double* temperatures, const Beside beside) {
    __shared__ Shared all_rows[ROWS];
    Shared& s = all_rows[threadIdx.x / 32];
    const int k = (int)most;
    const long long index = (long long)blockIdx.x * ROWS + threadIdx.x / 32;
    if (index >= rows) return;  // with all of its warp
    const Row row = until_length(
        row_of(x, nullptr, index, x_stride, 0, (Index)vocab, true, beside), index, beside);
    const Scale scale = scale_of(temperature, temperatures, index);
    if (lane_of() == 0) s.found = 0;

    Vector v[VECTORS];
    load<VECTORS, 32>(row, lane_of(), v);
    Running all = {0, 0};
#if SUMS
    Stream stream = nothing();
    absorb<VECTORS>(stream, v, scale);
    all = checked(merge_lanes<32>(total(stream, scale), scale), row);
    if (lse && lane_of() == 0) lse[index] = logsumexp_of(all, scale);
#endif
    Key keys[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; ++i)
        keys[i] = has_some(row, 32 * i + lane_of()) ? key_of(largest(v[i])) : 0;
    const Key bound = bound_of(keys, row.end, k);
    const int vectors = list(s, v, keys, bound, k);
    const int n = open(s, row, vectors, bound);
    for (int i = lane_of(); i < n; i += 32) {
        const Candidate own = s.pool[i];
        int rank = 0;
#pragma unroll 4
        for (int j = 0; j < n; ++j) rank += before(s.pool[j], own);
        if (rank < k) s.winners[rank] = own;
    }
    __syncwarp();
#if LEAVES_OUT
    int numbers = 0;  // above -inf
    for (int i = lane_of(); i < MOST_K; i += 32)
        numbers += __popc(__ballot_sync(
            ALL, i < min(n, k) && key_at(s.winners[i]) > key_of(-infinity())));
    if (numbers < k) {
        put_missing<32>(row, vocab, numbers, k, nullptr, [&](int i, Key key, long long j) {
            s.winners[i] = candidate(key, (Index)j);
        });
        __syncwarp();
    }
#endif
    for (int i = lane_of(); i < k; i += 32) {
        if (kind > WINNERS) all = over_winners(s.winners, k, scale);
        write_winner(Results{values, indices, logits, (int)kind, (int)index_bytes}, index * k + i, row,
                     place_of(s.winners[i]), key_at(s.winners[i]), all, scale);
    }
}
