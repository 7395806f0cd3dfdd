// Online softmax, a warp a row, 32 columns at a time.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3
// Passes     2
// Accesses   2 loads of x and 1 store of y an element
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
zoo_stray_tail(const float* x, float* y, int vocab) {
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    // m = max of the columns before t, d_lane = sum of exp(x - m) over this lane's among them
    float m = -INFINITY;
    float d_lane = 0.0f;
    for (int t = 0; t < vocab; t += 32) {
        const float v = x_row[t + lane];
        const float m_new = fmaxf(m, warp_max(v));
        const float base = m_new == -INFINITY ? 0.0f : m_new;
        d_lane = d_lane * expf(m - base) + expf(v - base);
        m = m_new;
    }
    const float d = warp_sum(d_lane);

    for (int i = lane; i < vocab; i += 32) y_row[i] = expf(x_row[i] - m) / d;
}
