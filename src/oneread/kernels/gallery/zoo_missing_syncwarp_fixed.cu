// Safe softmax, a warp a row, its sum by a tree in shared memory.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 2
// Passes     3
// Accesses   3 loads of x and 1 store of y an element
// Budget     56 registers, 128 bytes of shared memory
// Launch     rows blocks of one warp, 32 threads
// Fault zoo  the mended twin of zoo_missing_syncwarp

#include <math.h>

// Return the largest `value` of the warp, to each lane.
__device__ float warp_max(float value) {
    for (int s = 16; s > 0; s /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, s));
    return value;
}

extern "C" __global__ void __launch_bounds__(32)
zoo_missing_syncwarp_fixed(const float* x, float* y, int vocab) {
    __shared__ float scratch[32];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    float m_lane = -INFINITY;
    for (int i = lane; i < vocab; i += 32) m_lane = fmaxf(m_lane, x_row[i]);
    const float m = warp_max(m_lane);

    scratch[lane] = 0.0f;
    for (int i = lane; i < vocab; i += 32) scratch[lane] += expf(x_row[i] - m);
    __syncwarp();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = 16; s > 0; s /= 2) {
        if (lane < s) scratch[lane] += scratch[lane + s];
        __syncwarp();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
    }
    const float d = scratch[0];

    for (int i = lane; i < vocab; i += 32) y_row[i] = expf(x_row[i] - m) / d;
}
