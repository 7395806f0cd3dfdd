// Safe softmax with trees for any number of lanes.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 2
// Passes     3
// Accesses   3 loads of x and 1 store of y an element
// Budget     56 registers, 8 TILE bytes of shared memory
// Launch     rows blocks of TILE threads
// Fault zoo  the mended twin of zoo_odd_tree

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
static_assert(TILE >= 1 && TILE <= 1024, "a block has at most 1024 threads");

extern "C" __global__ void __launch_bounds__(TILE)
zoo_odd_tree_fixed(const float* x, float* y, int vocab) {
    __shared__ float m_scratch[TILE];
    __shared__ float d_scratch[TILE];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    m_scratch[lane] = -INFINITY;
    for (int i = lane; i < vocab; i += TILE) m_scratch[lane] = fmaxf(m_scratch[lane], x_row[i]);
    __syncthreads();  // wrote: each lane its own; reads: lane < n / 2, two of them
    for (int n = TILE; n > 1; n = (n + 1) / 2) {
        const int s = (n + 1) / 2;  // of an odd number the middle one waits for the next step
        if (lane < n / 2) m_scratch[lane] = fmaxf(m_scratch[lane], m_scratch[lane + s]);
        __syncthreads();  // wrote: lane < n / 2; reads: half of those, at the end all, at 0
    }
    const float m = m_scratch[0];

    d_scratch[lane] = 0.0f;
    for (int i = lane; i < vocab; i += TILE) d_scratch[lane] += expf(x_row[i] - m);
    __syncthreads();  // wrote: each lane its own; reads: lane < n / 2, two of them
    for (int n = TILE; n > 1; n = (n + 1) / 2) {
        const int s = (n + 1) / 2;
        if (lane < n / 2) d_scratch[lane] += d_scratch[lane + s];
        __syncthreads();  // wrote: lane < n / 2; reads: half of those, at the end all, at 0
    }
    const float d = d_scratch[0];

    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i] - m) / d;
}
