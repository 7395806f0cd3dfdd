// The gradient to the logits of softmax and log_softmax, of rows that fit the shared memory or the
// registers of the threads that share them.
//
// Formula    dx = y (g - sum of g y); of log_softmax g - exp(y) sum of g
// Accesses   1 load of y, 1 load of g and 1 store of dx an element; dx may be y or g
// Launch     ceil(rows / (BLOCK_THREADS / ROW_THREADS)) * CLUSTER blocks of BLOCK_THREADS threads,
//            with 2 * (VECTORS - HELD) * VECTOR_BYTES bytes of shared memory a thread
//
// LOG            1 for log_softmax
// ROW_THREADS    threads that share a row, a power of two: less than BLOCK_THREADS up to a warp
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors of each input that a thread holds: of all threads, they hold a row
// HELD           how many of those are held in registers: all of them where rows share a block
// AT_ONCE        vectors of shared memory that a thread computes with at once
// CLUSTER        blocks that share a row
// MIN_BLOCKS     blocks that must fit a multiprocessor
typedef int Index;
#define ABSENT of_zero()

#include "backward.cuh"
#include "row.cuh"
#include "sum.cuh"

constexpr int ROWS = BLOCK_THREADS / ROW_THREADS;  // rows of a block
constexpr int WARPS = BLOCK_THREADS / 32;
constexpr int SLOTS = VECTORS - HELD;
static_assert(ROWS == 1 || ROW_THREADS <= 32, "several rows a block: each within a warp");
static_assert(ROWS == 1 || (CLUSTER == 1 && SLOTS == 0), "rows share a block in registers alone");
static_assert(SLOTS % AT_ONCE == 0, "steps are whole");
static_assert(SLOTS == 0 || VECTOR_BYTES == 16, "16 bytes at a time are copied past the registers");

#if HELD < VECTORS
// Each group as soon as it has come. Slots alternate: of y, of g.
template <int AT>
__device__ __forceinline__ void take_slots(Real& weight, const Vector* own_slots) {
    if constexpr (AT < SLOTS) {
        wait_for_groups<(SLOTS - AT) / AT_ONCE - 1>();
        Vector y[AT_ONCE], g[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            y[i] = own_slots[2 * (AT + i) * BLOCK_THREADS];
            g[i] = own_slots[(2 * (AT + i) + 1) * BLOCK_THREADS];
        }
        weight += weight_of<AT_ONCE>(y, g);
        take_slots<AT + AT_ONCE>(weight, own_slots);
    }
}

__device__ __forceinline__ void fetch(const Row& row, Index place, Vector* slot) {
    if (is_whole(row, place))
        begin_copy(slot, row.x + place);
    else
        *slot = of_zero();
}
#endif

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
softmax_backward(const Element* y, Element* dx, long long rows, long long vocab,
                 long long y_stride, long long dx_stride, long long g_stride, const Element* g) {
#if HELD < VECTORS
    extern __shared__ Vector slots[];
#endif
    __shared__ Real scratch[WARPS + CLUSTER];
#if CLUSTER > 1
    cluster_arrive_relaxed();
    long long index = blockIdx.x / CLUSTER;
#else
    long long index = (long long)blockIdx.x * ROWS + threadIdx.x / ROW_THREADS;
#endif
    // Lanes of a row beyond the last stay, with nothing: their warp adds together.
    const bool inside = index < rows;
    if (!inside) index = 0;
    Row of_y = row_at(y + index * y_stride, dx + index * dx_stride, inside ? (Index)vocab : 0);
    Index first = threadIdx.x % ROW_THREADS;
#if CLUSTER > 1
    first += keep_share<CLUSTER>(of_y, cluster_rank());
#endif
    Row of_g = of_y;
    of_g.x = (const Vector*)(g + index * g_stride - of_y.head);

#if HELD < VECTORS
    // Each thread reads none but its own slots: no barrier is needed.
    Vector* own_slots = slots + threadIdx.x;
#pragma unroll
    for (int i = 0; i < SLOTS; ++i) {
        fetch(of_y, first + i * ROW_THREADS, own_slots + 2 * i * BLOCK_THREADS);
        fetch(of_g, first + i * ROW_THREADS, own_slots + (2 * i + 1) * BLOCK_THREADS);
        if ((i + 1) % AT_ONCE == 0) end_group();
    }
#endif
#if HELD
    Vector held_y[HELD], held_g[HELD];
    load<HELD, ROW_THREADS>(of_y, first + SLOTS * ROW_THREADS, held_y);
    load<HELD, ROW_THREADS>(of_g, first + SLOTS * ROW_THREADS, held_g);
#endif
    Real weight = 0;
#if HELD < VECTORS
#pragma unroll
    for (int i = 0; i < SLOTS; ++i) {
        const Index place = first + i * ROW_THREADS;
        if (!is_part(of_y, place)) continue;
        own_slots[2 * i * BLOCK_THREADS] = load_part(of_y, place);
        own_slots[(2 * i + 1) * BLOCK_THREADS] = load_part(of_g, place);
    }
    take_slots<0>(weight, own_slots);
#endif
#if HELD
    weight += weight_of<HELD>(held_y, held_g);
#pragma unroll
    for (int i = 0; i < HELD; ++i) forget(held_y[i]), forget(held_g[i]);
#endif
#if CLUSTER > 1
    cluster_wait();  // every block has started
    weight = sum_blocks<WARPS, CLUSTER>(weight, scratch);
#else
    weight = ROWS > 1 ? sum_lanes<ROW_THREADS>(weight) : sum_warps<WARPS>(weight, scratch);
#endif

    const bool whole = are_whole<VECTORS, ROW_THREADS>(of_y, first);
#if HELD
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        store<SLOTS == 0>(of_y, first, (SLOTS + i) * ROW_THREADS, whole,
                          backward_of(held_y[i], held_g[i], weight));
#endif
#if HELD < VECTORS
#pragma unroll
    for (int i = 0; i < SLOTS; ++i)
        store<false>(of_y, first, i * ROW_THREADS, whole,
                     backward_of(own_slots[2 * i * BLOCK_THREADS],
                                 own_slots[(2 * i + 1) * BLOCK_THREADS], weight));
#endif
}
