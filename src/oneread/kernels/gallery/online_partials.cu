// Online softmax over several blocks a row, first kernel: m and d of each span of columns.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3, lines 1-6, a span a block; section 3.1
// Passes     1
// Accesses   1 load of x an element, 1 store of m and d a span
// Budget     56 registers, 8 TILE bytes of shared memory
// Launch     rows * ceil(vocab / SPAN) blocks of TILE threads; online_merge follows

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
#ifndef SPAN
#define SPAN 4096  // columns of a block
#endif
static_assert(TILE >= 1 && TILE <= 1024 && (TILE & (TILE - 1)) == 0,
              "halving reaches every lane only if TILE is a power of two");
static_assert(SPAN >= 1, "a block has some columns");

// Of some columns: m their maximum, d the sum of exp(x - m). Of none: (-inf, 0).
struct MD {
    float m;
    float d;
};

// Return the MD of the columns of a and b together (equation 4).
__device__ MD merge(MD a, MD b) {
    const float m = fmaxf(a.m, b.m);
    // As long as all is -inf, -inf - m has no value. Any finite number makes the terms 0.
    const float base = m == -INFINITY ? 0.0f : m;
    return MD{m, a.d * expf(a.m - base) + b.d * expf(b.m - base)};
}

extern "C" __global__ void __launch_bounds__(TILE)
online_partials(const float* x, float* m_part, float* d_part, int vocab) {
    __shared__ MD scratch[TILE];
    const int lane = threadIdx.x;
    const int spans = (vocab - 1) / SPAN + 1;
    const int row = blockIdx.x / spans;
    const int first = blockIdx.x % spans * SPAN;
    const int columns = min(SPAN, vocab - first);
    const float* x_span = x + (size_t)row * vocab + first;

    // md is that of this lane's columns before i
    MD md = MD{-INFINITY, 0.0f};
    for (int i = lane; i < columns; i += TILE) md = merge(md, MD{x_span[i], 1.0f});

    scratch[lane] = md;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        // scratch[0 .. 2s) together are all columns of the span
        if (lane < s) scratch[lane] = merge(scratch[lane], scratch[lane + s]);
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end lane 0
    }
    if (lane == 0) {
        m_part[blockIdx.x] = scratch[0].m;
        d_part[blockIdx.x] = scratch[0].d;
    }
}
