// logsumexp of rows of any length.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3, lines 1 to 6
// Accesses   1 load of x an element
// Launch     ceil(rows / (BLOCK_THREADS / ROW_THREADS)) * CLUSTER blocks of BLOCK_THREADS threads
//
// ROW_THREADS    threads that share a row, a power of two: less than BLOCK_THREADS up to a warp
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors that a thread loads at a time
// CLUSTER        blocks that share a row
// MIN_BLOCKS     blocks that must fit a multiprocessor
typedef long long Index;

#include "row.cuh"
#include "running.cuh"

constexpr int ROWS = BLOCK_THREADS / ROW_THREADS;  // rows of a block
constexpr int WARPS = BLOCK_THREADS / 32;
static_assert(ROWS == 1 || ROW_THREADS <= 32, "several rows a block: each within a warp");
static_assert(ROWS == 1 || CLUSTER == 1, "a cluster shares one row");

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
logsumexp(const Element* x, Real* lse, long long rows, long long vocab, long long x_stride,
          double temperature, const double* temperatures, const Beside beside) {
    __shared__ Running scratch[WARPS * CLUSTER];
#if CLUSTER > 1
    cluster_arrive_relaxed();
    const Index index = blockIdx.x / CLUSTER;
    const Index first = (Index)cluster_rank() * BLOCK_THREADS * VECTORS + threadIdx.x;
#else
    const Index index = (Index)blockIdx.x * ROWS + threadIdx.x / ROW_THREADS;
    const Index first = threadIdx.x % ROW_THREADS;
#endif
    // Lanes of a row beyond the last stay, with nothing: their warp merges together.
    const bool inside = index < rows;
    const Scale scale = scale_of(temperature, temperatures, inside ? index : 0);
    const Row row = until_length(
        row_of(x, nullptr, index, x_stride, 0, vocab, inside, beside), index, beside);

    constexpr Index STEP = (Index)ROW_THREADS * VECTORS * CLUSTER;
    Stream stream = nothing();
    for (Index at = first; at < row.end; at += STEP) {
        Vector v[VECTORS];
        load<VECTORS, ROW_THREADS>(row, at, v);
        absorb<VECTORS>(stream, v, scale);
    }
    const Running own = total(stream, scale);
#if CLUSTER > 1
    cluster_wait();  // every block has started
    const Running all = merge_blocks<WARPS, CLUSTER>(own, scale, scratch);
#else
    const Running all = ROWS > 1 ? merge_lanes<ROW_THREADS>(own, scale)
                                 : merge_warps<WARPS>(own, scale, scratch);
#endif
    if (!inside || first != 0) return;
    // An infinite maximum is the result, and so is NaN, that of a length that no row can have.
    const bool regular = fabs(all.m) < infinity();
    const Real top = row.vocab < 0 ? not_a_number() : all.m;
    lse[index] = regular ? over_temperature(all.m, scale) + log_one_plus(all.r) : top;
}
