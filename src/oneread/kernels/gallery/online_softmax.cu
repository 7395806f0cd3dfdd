// Online softmax: maximum and normalizer together, in one pass.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3; lanes are merged by equation 4
// Passes     2: maximum and sum (lines 1-6), the quotients (lines 7-9)
// Accesses   2 loads of x and 1 store of y an element
// Budget     56 registers, 8 TILE bytes of shared memory
// Launch     rows blocks of TILE threads

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
static_assert(TILE >= 1 && TILE <= 1024 && (TILE & (TILE - 1)) == 0,
              "halving reaches every lane only if TILE is a power of two");

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
online_softmax(const float* x, float* y, int vocab) {
    __shared__ MD scratch[TILE];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    // Lines 4 and 5: a column alone has the maximum x and the sum exp(x - x) = 1.
    // md is that of this lane's columns before i.
    MD md = MD{-INFINITY, 0.0f};
    for (int i = lane; i < vocab; i += TILE) md = merge(md, MD{x_row[i], 1.0f});

    scratch[lane] = md;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        // scratch[0 .. 2s) together are all columns of the row
        if (lane < s) scratch[lane] = merge(scratch[lane], scratch[lane + s]);
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
    }
    const MD row = scratch[0];

    // Line 8
    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i] - row.m) / row.d;
}
