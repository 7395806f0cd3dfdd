// Safe softmax: the maximum first, so that no exponential overflows.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 2
// Passes     3: the maximum (lines 1-4), the sum (lines 5-8), the quotients (lines 9-11)
// Accesses   3 loads of x and 1 store of y an element
// Budget     56 registers, 4 TILE bytes of shared memory
// Launch     rows blocks of TILE threads

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
static_assert(TILE >= 1 && TILE <= 1024 && (TILE & (TILE - 1)) == 0,
              "halving reaches every lane only if TILE is a power of two");

// Return the largest `value` of the block, to each lane; NaN are passed over.
__device__ float block_max(float value, float* scratch) {
    const int lane = threadIdx.x;
    scratch[lane] = value;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        // max(scratch[0 .. 2s)) is that of all values
        if (lane < s) scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
    }
    const float largest = scratch[0];
    __syncthreads();  // read: all, scratch[0]; writes: whoever uses the scratch next
    return largest;
}

// Return the sum of `value` over the block, to each lane.
__device__ float block_sum(float value, float* scratch) {
    const int lane = threadIdx.x;
    scratch[lane] = value;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        // sum(scratch[0 .. 2s)) is that of all values
        if (lane < s) scratch[lane] += scratch[lane + s];
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
    }
    return scratch[0];
}

extern "C" __global__ void __launch_bounds__(TILE)
safe_softmax(const float* x, float* y, int vocab) {
    __shared__ float scratch[TILE];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    // Line 3, by lanes: m_lane = max of x_row[k] over this lane's k < i
    float m_lane = -INFINITY;
    for (int i = lane; i < vocab; i += TILE) m_lane = fmaxf(m_lane, x_row[i]);
    const float m = block_max(m_lane, scratch);

    // Line 7, by lanes: d_lane = sum of exp(x_row[j] - m) over this lane's j < i.
    // A NaN that the maximum passed over makes d NaN here, and +inf does, as inf - inf.
    float d_lane = 0.0f;
    for (int i = lane; i < vocab; i += TILE) d_lane += expf(x_row[i] - m);
    const float d = block_sum(d_lane, scratch);

    // Line 10
    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i] - m) / d;
}
