// softmax and log_softmax of rows that fit the shared memory of the blocks that share them.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3, the row kept between its two halves
// Accesses   1 load of x and 1 store of y an element; 1 store and 2 loads in shared memory
// Launch     rows * CLUSTER blocks of BLOCK_THREADS threads, with VECTORS * VECTOR_BYTES bytes of
//            shared memory a thread
//
// LOG            1 for log_softmax
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors that a thread holds: VECTORS * BLOCK_THREADS * CLUSTER hold the row
// AT_ONCE        vectors that a thread computes with at once; divides VECTORS
// CLUSTER        blocks that share a row
// MIN_BLOCKS     blocks that must fit a multiprocessor
typedef int Index;

#include "row.cuh"
#include "running.cuh"

constexpr int WARPS = BLOCK_THREADS / 32;
static_assert(VECTORS % AT_ONCE == 0, "steps are whole");
static_assert(VECTOR_BYTES == 16, "what is copied past the registers comes 16 bytes at a time");

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
softmax_shared(const Element* x, Element* y, long long rows, long long vocab, long long x_stride,
               long long y_stride, double temperature, const double* temperatures) {
    extern __shared__ Vector slots[];  // slot i * BLOCK_THREADS + thread: its i-th vector
    __shared__ Running scratch[WARPS * CLUSTER];
    const long long index = blockIdx.x / CLUSTER;
    const Scale scale = scale_of(temperature, temperatures, index);
    Row row = row_at(x + index * x_stride, y + index * y_stride, (Index)vocab);
    Index first = threadIdx.x;
#if CLUSTER > 1
    cluster_arrive_relaxed();
    const Index share = (row.end + CLUSTER - 1) / CLUSTER;
    first += (Index)cluster_rank() * share;
    row.end = min(row.end, ((Index)cluster_rank() + 1) * share);
#endif

    // Each thread reads none but its own slots: no barrier is needed.
    Vector* own_slots = slots + threadIdx.x;
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {
        const Index place = first + i * BLOCK_THREADS;
        if (is_whole(row, place))
            begin_copy(own_slots + i * BLOCK_THREADS, row.x + place);
        else
            own_slots[i * BLOCK_THREADS] = load_edge(row, place);
    }
    wait_for_copies();

#if LOG
    Stream stream = nothing();
#else
    Running own = Running{-infinity(), -1};
#endif
#pragma unroll
    for (int at = 0; at < VECTORS; at += AT_ONCE) {
        Vector v[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) v[i] = own_slots[(at + i) * BLOCK_THREADS];
#if LOG
        absorb<AT_ONCE>(stream, v, scale);
#else
        add<AT_ONCE>(own, v, scale);
#endif
    }
#if LOG
    const Running own = total(stream, scale);
#endif
#if CLUSTER > 1
    cluster_wait();  // every block has started
    const Running all = merge_blocks<WARPS, CLUSTER>(own, scale, scratch);
#else
    const Running all = merge_warps<WARPS>(own, scale, scratch);
#endif
    const bool regular = fabs(all.m) < infinity();
#if LOG
    const Real log_d = regular ? log_one_plus(all.r) : not_a_number();
#else
    const Origin origin = origin_at(all.m);
    const Real factor = regular ? drift(origin) / (1 + all.r) : not_a_number();
#endif

    const bool whole = are_whole<VECTORS, BLOCK_THREADS>(row, first);
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {
        const Vector v = own_slots[i * BLOCK_THREADS];
        Real out[WIDTH];
#pragma unroll
        for (int e = 0; e < WIDTH; ++e) {
#if LOG
            out[e] = over_temperature(number(v, e) - all.m, scale) - log_d;
#else
            out[e] = power(origin, number(v, e), scale);
#endif
        }
#if LOG
        store(row, first, i * BLOCK_THREADS, whole, scaled(out, (Real)1));
#else
        store(row, first, i * BLOCK_THREADS, whole, scaled(out, factor));
#endif
    }
}
