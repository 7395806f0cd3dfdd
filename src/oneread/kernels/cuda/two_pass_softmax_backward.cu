// The gradient to the logits of softmax and log_softmax, of rows of any length.
//
// Formula    dx = y (g - sum of g y); of log_softmax g - exp(y) sum of g
// Accesses   2 loads of y and of g, of which a cache may serve the second ones, and 1 store of dx
//            an element; log_softmax sums without y; dx may be y or g
// Launch     rows * CLUSTER blocks of BLOCK_THREADS threads
//
// LOG            1 for log_softmax
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors of each input that a thread loads at a time
// CLUSTER        blocks that share a row
// MIN_BLOCKS     blocks that must fit a multiprocessor
typedef long long Index;
#define ABSENT of_zero()

#include "backward.cuh"
#include "row.cuh"
#include "sum.cuh"

constexpr int WARPS = BLOCK_THREADS / 32;

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
two_pass_softmax_backward(const Element* y, Element* dx, long long rows, long long vocab,
                          long long y_stride, long long dx_stride, long long g_stride,
                          const Element* g) {
    __shared__ Real scratch[WARPS + CLUSTER];
    const Index index = blockIdx.x / CLUSTER;
    const Row of_y = row_at(y + index * y_stride, dx + index * dx_stride, vocab);
    Row of_g = of_y;
    of_g.x = (const Vector*)(g + index * g_stride - of_y.head);
#if CLUSTER > 1
    cluster_arrive_relaxed();
    const Index rank = cluster_rank();
#else
    const Index rank = 0;
#endif
    // Each step of the cluster reads VECTORS times as many vectors as it has threads.
    constexpr Index STEP = (Index)BLOCK_THREADS * VECTORS * CLUSTER;
    const Index first = rank * BLOCK_THREADS * VECTORS + threadIdx.x;

    const Hinted keep{keep_policy()};
    Real weight = 0, lost = 0;  // what rounding took from it
    for (Index at = first; at < of_y.end; at += STEP) {
        Vector read_y[VECTORS], read_g[VECTORS];
        if (!LOG) load<VECTORS, BLOCK_THREADS>(of_y, at, read_y, keep);
        load<VECTORS, BLOCK_THREADS>(of_g, at, read_g, keep);
        const Real more = weight_of<VECTORS>(read_y, read_g) - lost;
        const Real sum = weight + more;
        lost = fabs(sum) < infinity() ? sum - weight - more : (Real)0;
        weight = sum;
    }
#if CLUSTER > 1
    cluster_wait();  // every block has started
    weight = sum_blocks<WARPS, CLUSTER>(weight, scratch);
#else
    weight = sum_warps<WARPS>(weight, scratch);
#endif

    // From the end: what was read last is the likeliest to be in a cache.
    const Hinted drop{drop_policy()};
    const Index steps = (of_y.end + STEP - 1) / STEP;
    for (Index at = first + (steps - 1) * STEP; at >= first; at -= STEP) {
        Vector read_y[VECTORS], read_g[VECTORS];
        load<VECTORS, BLOCK_THREADS>(of_y, at, read_y, drop);
        load<VECTORS, BLOCK_THREADS>(of_g, at, read_g, drop);
        const bool whole = are_whole<VECTORS, BLOCK_THREADS>(of_y, at);
#pragma unroll
        for (int i = 0; i < VECTORS; ++i)
            store(of_y, at, i * BLOCK_THREADS, whole, backward_of(read_y[i], read_g[i], weight));
    }
}
