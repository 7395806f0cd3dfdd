// Safe softmax of a row that fits in shared memory: x is loaded once.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 2, its three passes over shared memory; the
//            structure of the SASS note's second kernel
// Passes     1 over x
// Accesses   1 load of x and 1 store of y an element, 1 exponential a column
// Budget     56 registers, 4 vocab + 4 TILE bytes of shared memory
// Launch     rows blocks of TILE threads, 4 vocab bytes of dynamic shared memory
// Limits     vocab <= 11000, so that all fits in 48 KB

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
static_assert(TILE >= 1 && TILE <= 1024 && (TILE & (TILE - 1)) == 0,
              "halving reaches every lane only if TILE is a power of two");

extern "C" __global__ void __launch_bounds__(TILE)
safe_softmax_shared(const float* __restrict__ x, float* __restrict__ y, int vocab) {
    extern __shared__ float row[];
    __shared__ float scratch[TILE];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    // row[i] = x_row[i] for this lane's columns before i; no other lane touches these
    float m_lane = -INFINITY;
    for (int i = lane; i < vocab; i += TILE) {
        row[i] = x_row[i];
        m_lane = fmaxf(m_lane, row[i]);
    }
    scratch[lane] = m_lane;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        // max(scratch[0 .. 2s)) is that of the row
        if (lane < s) scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
    }
    const float m = scratch[0];
    __syncthreads();  // read: all, scratch[0]; writes: each lane, its sum

    // row[i] = exp(x_row[i] - m) and d_lane their sum, for this lane's columns before i
    float d_lane = 0.0f;
    for (int i = lane; i < vocab; i += TILE) {
        row[i] = expf(row[i] - m);
        d_lane += row[i];
    }
    scratch[lane] = d_lane;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        // sum(scratch[0 .. 2s)) is that of the row
        if (lane < s) scratch[lane] += scratch[lane + s];
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
    }
    const float d = scratch[0];

    for (int i = lane; i < vocab; i += TILE) y_row[i] = row[i] / d;
}
