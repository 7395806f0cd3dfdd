// Safe softmax in three passes: the first kernel of the two-kernel page, which calls it naive.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 2; written anew with the page's structure
// Passes     3
// Accesses   3 loads of x and 1 store of y an element
// Budget     56 registers, 4 TILE + 8 bytes of shared memory
// Launch     rows blocks of TILE threads

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block, columns of a tile
#endif
static_assert(TILE >= 1 && TILE <= 1024 && (TILE & (TILE - 1)) == 0,
              "halving reaches every lane only if TILE is a power of two");

extern "C" __global__ void __launch_bounds__(TILE)
safe_softmax_tiled(const float* x, float* y, int vocab) {
    __shared__ float scratch[TILE];
    __shared__ float m_row, d_row;
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    // Pass 1: m_lane = max of this lane's columns before i
    float m_lane = -INFINITY;
    for (int i = lane; i < vocab; i += TILE) m_lane = fmaxf(m_lane, x_row[i]);
    scratch[lane] = m_lane;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        // max(scratch[0 .. 2s)) is that of the row
        if (lane < s) scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end lane 0
    }
    if (lane == 0) m_row = scratch[0];
    __syncthreads();  // wrote: lane 0, m_row; reads: all. Read: lane 0, scratch[0]; writes: pass 2
    const float m = m_row;

    // Pass 2: d_lane = sum of exp(x - m) over this lane's columns before i
    float d_lane = 0.0f;
    for (int i = lane; i < vocab; i += TILE) d_lane += expf(x_row[i] - m);
    scratch[lane] = d_lane;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        // sum(scratch[0 .. 2s)) is that of the row
        if (lane < s) scratch[lane] += scratch[lane + s];
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end lane 0
    }
    if (lane == 0) d_row = scratch[0];
    __syncthreads();  // wrote: lane 0, d_row; reads: all
    const float d = d_row;

    // Pass 3
    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i] - m) / d;
}
