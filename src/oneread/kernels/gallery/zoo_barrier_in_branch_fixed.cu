// Safe softmax with its trees in shared memory.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 2
// Passes     3
// Accesses   3 loads of x and 1 store of y an element
// Budget     56 registers, 8 TILE bytes of shared memory
// Launch     rows blocks of TILE threads
// Fault zoo  the mended twin of zoo_barrier_in_branch

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
static_assert(TILE >= 1 && TILE <= 1024 && (TILE & (TILE - 1)) == 0,
              "halving reaches every lane only if TILE is a power of two");

extern "C" __global__ void __launch_bounds__(TILE)
zoo_barrier_in_branch_fixed(const float* x, float* y, int vocab) {
    __shared__ float m_scratch[TILE];
    __shared__ float d_scratch[TILE];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    float m_lane = -INFINITY;
    for (int i = lane; i < vocab; i += TILE) m_lane = fmaxf(m_lane, x_row[i]);
    m_scratch[lane] = m_lane;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        if (lane < s) m_scratch[lane] = fmaxf(m_scratch[lane], m_scratch[lane + s]);
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, at 0
    }
    const float m = m_scratch[0];

    float d_lane = 0.0f;
    for (int i = lane; i < vocab; i += TILE) d_lane += expf(x_row[i] - m);
    d_scratch[lane] = d_lane;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        if (lane < s) {
            d_scratch[lane] += d_scratch[lane + s];
        }
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, at 0
    }
    const float d = d_scratch[0];

    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i] - m) / d;
}
