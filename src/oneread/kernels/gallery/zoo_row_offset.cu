// Safe softmax, a warp a row.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 2
// Passes     3
// Accesses   3 loads of x and 1 store of y an element
// Budget     56 registers, no shared memory, no barrier
// Launch     rows blocks of one warp, 32 threads
// Fault zoo  one thing is wrong here; docs/fault-zoo.md leads to it

#include <math.h>

// Return the largest `value` of the warp, to each lane.
__device__ float warp_max(float value) {
    for (int s = 16; s > 0; s /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, s));
    return value;
}

// Return the sum of `value` over the warp, to each lane.
__device__ float warp_sum(float value) {
    for (int s = 16; s > 0; s /= 2) value += __shfl_xor_sync(0xffffffff, value, s);
    return value;
}

extern "C" __global__ void __launch_bounds__(32)
zoo_row_offset(const float* x, float* y, int vocab) {
    const int lane = threadIdx.x;
    const int row = blockIdx.x;
    const float* x_row = x + row * vocab;
    float* y_row = y + row * vocab;

    float m_lane = -INFINITY;
    for (int i = lane; i < vocab; i += 32) m_lane = fmaxf(m_lane, x_row[i]);
    const float m = warp_max(m_lane);

    float d_lane = 0.0f;
    for (int i = lane; i < vocab; i += 32) d_lane += expf(x_row[i] - m);
    const float d = warp_sum(d_lane);

    for (int i = lane; i < vocab; i += 32) y_row[i] = expf(x_row[i] - m) / d;
}
