// softmax and log_softmax of rows that fit the shared memory of the blocks that share them, a part
// of it the registers.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3, the row kept between its two halves
// Accesses   1 load of x and 1 store of y an element; 1 store and 2 loads in shared memory
// Launch     rows * CLUSTER blocks of BLOCK_THREADS threads, with (VECTORS - HELD) * VECTOR_BYTES
//            bytes of shared memory a thread
//
// LOG            1 for log_softmax
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors that a thread holds: VECTORS * BLOCK_THREADS * CLUSTER hold the row
// HELD           how many of those are held in registers
// AT_ONCE        vectors of shared memory that a thread computes with at once
// CLUSTER        blocks that share a row
// MIN_BLOCKS     blocks that must fit a multiprocessor
typedef int Index;

#include "ending.cuh"
#include "row.cuh"

constexpr int WARPS = BLOCK_THREADS / 32;
constexpr int SLOTS = VECTORS - HELD;
static_assert(SLOTS % AT_ONCE == 0, "steps are whole");
static_assert(VECTOR_BYTES == 16, "what is copied past the registers comes 16 bytes at a time");

#if LOG
typedef Stream Sum;
#define NO_SUM nothing()
#else
typedef Running Sum;
#define NO_SUM (Running{-infinity(), -1})
#endif

template <int N>
__device__ __forceinline__ void take(Sum& sum, const Vector* v, const Scale& scale) {
#if LOG
    absorb<N>(sum, v, scale);
#else
    add<N>(sum, v, scale);
#endif
}

// Each group as soon as it has come.
template <int AT>
__device__ __forceinline__ void take_slots(Sum& sum, const Vector* own_slots, const Scale& scale) {
    if constexpr (AT < SLOTS) {
        wait_for_groups<(SLOTS - AT) / AT_ONCE - 1>();
        Vector v[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) v[i] = own_slots[(AT + i) * BLOCK_THREADS];
        take<AT_ONCE>(sum, v, scale);
        take_slots<AT + AT_ONCE>(sum, own_slots, scale);
    }
}

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
softmax_shared(const Element* x, Result* y, long long rows, long long vocab, long long x_stride,
               long long y_stride, double temperature, const double* temperatures,
               const Beside beside) {
    extern __shared__ Vector slots[];  // slot i * BLOCK_THREADS + thread: its i-th vector
    __shared__ Running scratch[WARPS * CLUSTER];
    const long long index = blockIdx.x / CLUSTER;
    const Scale scale = scale_of(temperature, temperatures, index);
    Row row = row_of(x, y, index, x_stride, y_stride, (Index)vocab, true, beside);
    Index first = threadIdx.x;
#if CLUSTER > 1
    cluster_arrive_relaxed();
    first += keep_share<CLUSTER>(row, cluster_rank());
#endif

    // Each thread reads none but its own slots: no barrier is needed.
    Vector* own_slots = slots + threadIdx.x;
    const Row read = until_length(row, index, beside);
#pragma unroll
    for (int i = 0; i < SLOTS; ++i) {
        const Index place = first + i * BLOCK_THREADS;
        if (WHERE)  // which has to pass the registers
            load<1, 1>(read, place, own_slots + i * BLOCK_THREADS);
        else if (is_whole(read, place))
            begin_copy(own_slots + i * BLOCK_THREADS, read.x + place);
        else
            own_slots[i * BLOCK_THREADS] = of_lowest();
        if ((i + 1) % AT_ONCE == 0) end_group();
    }
#if HELD
    Vector held[HELD];
    load<HELD, BLOCK_THREADS>(read, first + SLOTS * BLOCK_THREADS, held);
#endif
#pragma unroll
    for (int i = 0; i < SLOTS; ++i) {
        const Index place = first + i * BLOCK_THREADS;
        if (!WHERE && is_part(read, place)) own_slots[i * BLOCK_THREADS] = load_part(read, place);
    }

    Sum sum = NO_SUM;
    take_slots<0>(sum, own_slots, scale);
#if HELD
    take<HELD>(sum, held, scale);
#pragma unroll
    for (int i = 0; i < HELD; ++i) forget(held[i]);
#endif
#if LOG
    const Running own = total(sum, scale);
#else
    const Running own = sum;
#endif
#if CLUSTER > 1
    cluster_wait();  // every block has started
    const Running all = merge_blocks<WARPS, CLUSTER>(own, scale, scratch);
#else
    const Running all = merge_warps<WARPS>(own, scale, scratch);
#endif
    const Ending ending = ending_of(all);

    const bool whole = are_whole<VECTORS, BLOCK_THREADS>(row, first);
#if HELD
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        store<false>(row, first, (SLOTS + i) * BLOCK_THREADS, whole,
                     output_of(ending, held[i], scale));
#endif
#pragma unroll
    for (int i = 0; i < SLOTS; ++i)
        store<false>(row, first, i * BLOCK_THREADS, whole,
                     output_of(ending, own_slots[i * BLOCK_THREADS], scale));
}
