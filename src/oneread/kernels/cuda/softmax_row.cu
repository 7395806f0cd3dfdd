// softmax and log_softmax of rows that fit the registers of the threads that share them.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3, the row kept between its two halves
// Accesses   1 load of x and 1 store of y an element
// Launch     ceil(rows / (BLOCK_THREADS / ROW_THREADS)) * CLUSTER blocks of BLOCK_THREADS threads
//
// LOG            1 for log_softmax
// ROW_THREADS    threads that share a row, a power of two: less than BLOCK_THREADS up to a warp
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors that a thread holds: VECTORS * ROW_THREADS * CLUSTER hold the row
// CLUSTER        blocks that share a row
// MIN_BLOCKS     blocks that must fit a multiprocessor
// KEEP           1 keeps the exponentials, 0 computes them again for the result
typedef int Index;

#include "ending.cuh"
#include "row.cuh"

constexpr int ROWS = BLOCK_THREADS / ROW_THREADS;  // rows of a block
constexpr int WARPS = BLOCK_THREADS / 32;
static_assert(ROWS == 1 || ROW_THREADS <= 32, "several rows a block: each within a warp");
static_assert(ROWS == 1 || CLUSTER == 1, "a cluster shares one row");

__device__ __forceinline__ Running merge_row(Running a, const Scale& scale) {
#if CLUSTER > 1
    __shared__ Running scratch[WARPS * CLUSTER];
    return merge_blocks<WARPS, CLUSTER>(a, scale, scratch);
#else
    __shared__ Running scratch[WARPS];
    if (ROWS > 1) return merge_lanes<ROW_THREADS>(a, scale);
    return merge_warps<WARPS>(a, scale, scratch);
#endif
}

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
softmax_row(const Element* x, Result* y, long long rows, long long vocab, long long x_stride,
            long long y_stride, double temperature, const double* temperatures,
            const Beside beside) {
#if CLUSTER > 1
    cluster_arrive_relaxed();
    const long long index = blockIdx.x / CLUSTER;
#else
    const long long index = (long long)blockIdx.x * ROWS + threadIdx.x / ROW_THREADS;
#endif
    // Lanes of a row beyond the last stay, with nothing: their warp merges together.
    const bool inside = index < rows;
    const Scale scale = scale_of(temperature, temperatures, inside ? index : 0);
    Row row = row_of(x, y, index, x_stride, y_stride, (Index)vocab, inside, beside);
    Index first = threadIdx.x % ROW_THREADS;
#if CLUSTER > 1
    first += keep_share<CLUSTER>(row, cluster_rank());
#endif

    Vector v[VECTORS];
    load<VECTORS, ROW_THREADS>(until_length(row, index, beside), first, v);
#if LOG
    Stream stream = nothing();
    absorb<VECTORS>(stream, v, scale);
    const Running own = total(stream, scale);
#else
    Running own = Running{largest(v[0]), 0};
#pragma unroll
    for (int i = 1; i < VECTORS; ++i) own.m = larger(own.m, largest(v[i]));
    const Origin origin = origin_at(reference(own.m));
#endif

#if KEEP && !LOG
    Real kept[VECTORS * WIDTH];
#endif
#if !LOG
    Real sums[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < VECTORS * WIDTH; ++i) {
        const Real p = power(origin, number(v[i / WIDTH], i % WIDTH), scale);
        sums[i % 2] += p;
#if KEEP
        kept[i] = p;
#endif
    }
    own.r = (sums[0] + sums[1]) * drift(origin) - 1;
#endif

#if !KEEP
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) forget(v[i]);
#endif

#if CLUSTER > 1
    cluster_wait();  // every block has started
#endif
    const Running all = merge_row(own, scale);
    const bool whole = are_whole<VECTORS, ROW_THREADS>(row, first);
#if KEEP && !LOG
    const Real part = exp_below(over_temperature(own.m - all.m, scale)) * drift(origin);
    const Real factor = fabs(all.m) < infinity() ? part / (1 + all.r) : not_a_number();
#pragma unroll
    for (int i = 0; i < VECTORS; ++i)
        store(row, first, i * ROW_THREADS, whole, scaled(kept + i * WIDTH, factor));
#else
    const Ending ending = ending_of(all);
#pragma unroll
    for (int i = 0; i < VECTORS; ++i)
        store(row, first, i * ROW_THREADS, whole, output_of(ending, v[i], scale));
#endif
}
