// The k largest columns of a row, k up to 2048, with their probabilities, at one read of the row.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 4, without its sorted list: numbers above a
//            bound are candidates in shared memory; when these are many they are cut back to the k
//            best and a few more, the least of which is the new bound. Columns come in ascending
//            order, so that what equals the bound later on is out. The k best are sorted at the end
// Accesses   1 load of x an element, and k of the row again for LOGIT
// Launch     rows * CLUSTER blocks of BLOCK_THREADS threads, with CAPACITY candidates (a key and 4
//            bytes) of shared memory each
//
// The first bound is there before any candidate: as many of the largest numbers of the first step's
// vectors reach it as winners are wanted. That is worth it where these are half of them or fewer.
//
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors that a thread loads at a time, of 32 elements together at most
// CAPACITY       candidates that a block holds: see candidates.cuh; the more above k, the better
// LONG           1 for rows whose columns do not fit an int; 2^32 - 1 is the most
// SUMS           1 where the normalizer of the row is wanted
// CLUSTER        blocks that share a row
// MIN_BLOCKS     blocks that must fit a multiprocessor
#if LONG
typedef long long Index;
#else
typedef int Index;
#endif

#include "candidates.cuh"
#include "missing.cuh"
#include "row.cuh"

constexpr int WARPS = BLOCK_THREADS / 32;
static_assert(VECTORS * WIDTH <= 32, "what a thread has loaded is told by the bits of a word");
static_assert(CAPACITY % BLOCK_THREADS == 0, "no thread is left out");
static_assert(VECTORS * BLOCK_THREADS <= CAPACITY, "a step's vectors are counted as candidates");

// Make candidates of the elements of vector i that pass. Returns those that find no place, by
// their bits; `full` becomes true when there are as many as the limit.
template <typename Passes>
__device__ __forceinline__ unsigned offer(Pool& pool, Key* keys, unsigned* columns, const Row& row,
                                          Index i, bool whole, const Vector& v, unsigned limit,
                                          bool& full, Passes passes) {
    unsigned left = 0;
#pragma unroll
    for (int e = 0; e < WIDTH; ++e) {
        if (!passes(number(v, e), e) || !(whole || has(row, i, e))) continue;
        const unsigned place = atomicAdd(&pool.held, 1);
        full |= place >= limit;
        if (place < CAPACITY) {
            keys[place] = key_of(number(v, e));
            columns[place] = (unsigned)(i * WIDTH + e - row.head);
        } else {
            left |= 1u << e;
        }
    }
    return left;
}

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
big_topk(const Element* x, void* values, long long rows, long long vocab, long long x_stride,
         long long k, long long kind, long long index_bytes, void* indices, Real* lse,
         Element* logits, double temperature, const double* temperatures, const Beside beside) {
    extern __shared__ Key keys[];
    unsigned* columns = (unsigned*)(keys + CAPACITY);
    __shared__ Pool pool;
    __shared__ Running scratch[WARPS * CLUSTER];
#if LEAVES_OUT
    __shared__ int missing[2 * WARPS];  // as missing.cuh counts
#endif
    const long long index = blockIdx.x / CLUSTER;
    const Scale scale = scale_of(temperature, temperatures, index);
    Row row = until_length(row_of(x, nullptr, index, x_stride, 0, (Index)vocab, true, beside),
                           index, beside);
    // Candidates that there are at least; masked ones are candidates of -inf.
    const unsigned want = LENGTHS ? (unsigned)max((Index)0, min(row.vocab, (Index)k)) : (unsigned)k;
    if (want == 0) row.end = 0;
    Index begin = 0;
#if CLUSTER > 1
    begin = keep_share<CLUSTER>(row, (Index)cluster_rank());
#endif
    constexpr Index STEP = (Index)BLOCK_THREADS * VECTORS;
    prepare(pool);
#if CLUSTER > 1
    __syncwarp();  // a barrier of a cluster takes whole warps
    cluster_arrive();
#endif
    __syncthreads();  // wrote: some threads; reads: all threads

    // To cut back costs a few hundred pushes: about as much as those that a later cut would cost.
    const unsigned limit = min(2 * want + 512, (unsigned)CAPACITY);
    const unsigned most = want + (limit - want) / 8;
    const unsigned last_column = (unsigned)(vocab - 1);
    Turns turns = {0, 0};
    Stream stream = nothing();
    Real bound = not_a_number();  // which no number is below
    for (; begin < row.end; begin += STEP) {
        const Index at = begin + (Index)threadIdx.x;
        Vector v[VECTORS];
        load<VECTORS, BLOCK_THREADS>(row, at, v);
        // In the first step, if any.
        if (turns.own == 0 && min(row.end - begin, STEP) >= 2 * (Index)want) {
            Key tops[VECTORS];
#pragma unroll
            for (int i = 0; i < VECTORS; ++i)
                tops[i] = has_some(row, at + i * BLOCK_THREADS) ? key_of(largest(v[i])) : 0;
            bound = first_bound<VECTORS>(pool, turns, keys, tops, want);
        }
        const Real best = largest<VECTORS>(v);
        unsigned left = 0;
        bool full = false;
        if (!(best <= bound)) {
            const bool whole = are_whole<VECTORS, BLOCK_THREADS>(row, at);
#pragma unroll
            for (int i = 0; i < VECTORS; ++i)
                if (!(largest(v[i]) <= bound))
                    left |= offer(pool, keys, columns, row, at + i * BLOCK_THREADS, whole, v[i],
                                  limit, full, [=](Real x, int) { return !(x <= bound); })
                            << i * WIDTH;
        }
#if SUMS
        absorb<VECTORS>(stream, v, larger(top(stream), best), scale);
#endif
        // Wrote: all threads; reads, if the candidates are at the limit: all of them.
        while (__syncthreads_or(full)) {
            const unsigned held = min(pool.held, (unsigned)CAPACITY);
            const Cut cut = cut_for<1>(pool, turns, keys, columns, held, last_column, want, most);
            keep(pool, keys, columns, held, cut);
            bound = pool.floor == ~(Key)0 ? infinity() : number_of(pool.floor);
            full = false;
            const unsigned again = left;
            left = 0;
            // Some of these columns come before those kept: what equals the bound may be in.
#pragma unroll 1
            for (int i = 0; i < VECTORS; ++i) {
                const unsigned bits = again >> i * WIDTH;
                if (bits % (1u << WIDTH) == 0) continue;
                const Index here = at + i * BLOCK_THREADS;
                left |= offer(pool, keys, columns, row, here, false, load_edge(row, here), limit,
                              full, [=](Real x, int e) { return bits >> e & 1 && !(x < bound); })
                        << i * WIDTH;
            }
        }
    }

#if CLUSTER > 1
    __syncwarp();
    cluster_wait();  // every block has started, and is prepared
#endif
    Running all = Running{0, 0};
#if SUMS
    const Running own = total(stream, scale);
#if CLUSTER > 1
    all = merge_blocks<WARPS, CLUSTER>(own, scale, scratch);
#else
    all = merge_warps<WARPS>(own, scale, scratch);
#endif
#elif CLUSTER > 1
    barrier<CLUSTER>();  // no block cuts back its own any more
#endif
    if (want > 0) {
        const unsigned held = pool.held;
        const Cut cut = cut_for<CLUSTER>(pool, turns, keys, columns, held, last_column, want, want);
#if CLUSTER > 1
        if (cluster_rank() == 0) keep(pool, keys, columns, held, cut);
        barrier<CLUSTER>();  // wrote: the first block; reads: where its candidates end
        if (cluster_rank() != 0)
#pragma unroll 1
            for (unsigned i = threadIdx.x; i < held; i += BLOCK_THREADS)
                if (reaches(keys[i], columns[i], cut)) {
                    const unsigned place = atomicAdd(remote(&pool.held, 0), 1);
                    *remote(&keys[place], 0) = keys[i];
                    *remote(&columns[place], 0) = columns[i];
                }
        barrier<CLUSTER>();  // wrote: every block into the first; reads: that one
#else
        keep(pool, keys, columns, held, cut);
#endif
    }
#if CLUSTER > 1
    if (cluster_rank() != 0) return;
#endif
    if (want > 0) sort(keys, columns, want);
#if LEAVES_OUT
    int numbers = 0;  // above -inf
    for (unsigned base = 0; base < want; base += BLOCK_THREADS) {
        const unsigned i = base + threadIdx.x;
        numbers += __syncthreads_count(i < want && keys[i] > key_of(-infinity()));
    }
    if (numbers < k) {
        put_missing<BLOCK_THREADS>(row, vocab, numbers, (int)k, missing,
                                   [=](int i, Key key, long long j) {
                                       keys[i] = key;
                                       columns[i] = (unsigned)j;
                                   });
        __syncthreads();  // wrote: all threads; reads: all of them
    }
#endif

    all = checked(all, row);
    if (lse != nullptr && threadIdx.x == 0) lse[index] = logsumexp_of(all, scale);
    if (kind > LOGPROB) {
        Running winners = Running{-infinity(), 0};
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < want; i += BLOCK_THREADS)
            winners = merge(winners, Running{number_of(keys[i]), 0}, scale);
        __syncthreads();  // read: every warp all of scratch; writes: each warp
        all = merge_warps<WARPS>(winners, scale, scratch);
    }
    const Results results = {values, indices, logits, (int)kind, (int)index_bytes};
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < k; i += BLOCK_THREADS)
        write_winner(results, index * k + i, row, columns[i], keys[i], all, scale);
}
