// Online softmax over several blocks a row, second kernel: merge the spans, write the quotients.
//
// Algorithm  Milakov & Gimelshein (2018), equation 4 over the spans, Algorithm 3, lines 7-9
// Passes     1
// Accesses   1 load of x and 1 store of y an element; each block of a row loads its m and d all
// Budget     56 registers, 8 TILE bytes of shared memory
// Launch     rows * ceil(vocab / SPAN) blocks of TILE threads, SPAN that of online_partials

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
online_merge(const float* x, const float* m_part, const float* d_part, float* y, int vocab) {
    __shared__ MD scratch[TILE];
    const int lane = threadIdx.x;
    const int spans = (vocab - 1) / SPAN + 1;
    const int row = blockIdx.x / spans;
    const int first = blockIdx.x % spans * SPAN;
    const int columns = min(SPAN, vocab - first);
    const size_t offset = (size_t)row * vocab + first;
    const float* m_row = m_part + (size_t)row * spans;
    const float* d_row = d_part + (size_t)row * spans;

    // md is that of this lane's spans before p
    MD md = MD{-INFINITY, 0.0f};
    for (int p = lane; p < spans; p += TILE) md = merge(md, MD{m_row[p], d_row[p]});

    scratch[lane] = md;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        // scratch[0 .. 2s) together are all spans of the row
        if (lane < s) scratch[lane] = merge(scratch[lane], scratch[lane + s]);
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
    }
    const MD all = scratch[0];

    for (int i = lane; i < columns; i += TILE) {
        y[offset + i] = expf(x[offset + i] - all.m) / all.d;
    }
}
