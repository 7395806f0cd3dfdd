// softmax and log_softmax of rows of any length.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3
// Accesses   2 loads of x, of which a cache may serve the second, and 1 store of y an element
// Launch     rows * CLUSTER blocks of BLOCK_THREADS threads
//
// LOG            1 for log_softmax
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors that a thread loads at a time
// CLUSTER        blocks that share a row
// MIN_BLOCKS     blocks that must fit a multiprocessor
typedef long long Index;

#include "ending.cuh"
#include "row.cuh"

constexpr int WARPS = BLOCK_THREADS / 32;

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
two_pass_softmax(const Element* x, Result* y, long long rows, long long vocab,
                 long long x_stride, long long y_stride, double temperature,
                 const double* temperatures, const Beside beside) {
    __shared__ Running scratch[WARPS * CLUSTER];
    const Index index = blockIdx.x / CLUSTER;
    const Scale scale = scale_of(temperature, temperatures, index);
    const Row row = row_of(x, y, index, x_stride, y_stride, vocab, true, beside);
    const Row read = until_length(row, index, beside);
#if CLUSTER > 1
    cluster_arrive_relaxed();
    const Index rank = cluster_rank();
#else
    const Index rank = 0;
#endif
    // Each step of the cluster reads VECTORS times as many vectors as it has threads.
    constexpr Index STEP = (Index)BLOCK_THREADS * VECTORS * CLUSTER;
    const Index first = rank * BLOCK_THREADS * VECTORS + threadIdx.x;

    // Lines 1 to 6. stream is of the vectors that this thread has read, in steps before `at`.
    const Hinted keep{keep_policy()};
    Stream stream = nothing();
    for (Index at = first; at < read.end; at += STEP) {
        Vector v[VECTORS];
        load<VECTORS, BLOCK_THREADS>(read, at, v, keep);
        absorb<VECTORS>(stream, v, scale);
    }
    const Running own = total(stream, scale);
#if CLUSTER > 1
    cluster_wait();  // every block has started
    const Running all = merge_blocks<WARPS, CLUSTER>(own, scale, scratch);
#else
    const Running all = merge_warps<WARPS>(own, scale, scratch);
#endif
    const Ending ending = ending_of(all);

    // Lines 7 to 9, from the end: what was read last is the likeliest to be in a cache.
    const Hinted drop{drop_policy()};
    const Index steps = (row.end + STEP - 1) / STEP;
    for (Index at = first + (steps - 1) * STEP; at >= first; at -= STEP) {
        Vector v[VECTORS];
        load<VECTORS, BLOCK_THREADS>(read, at, v, drop);
        const bool whole = are_whole<VECTORS, BLOCK_THREADS>(row, at);
#pragma unroll
        for (int i = 0; i < VECTORS; ++i)
            store(row, at, i * BLOCK_THREADS, whole, output_of(ending, v[i], scale));
    }
}
