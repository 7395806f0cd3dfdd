// Online softmax with a maximum and a sum in each lane, and one tree at the end.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3 in each lane, equation 4 between lanes
// Passes     2
// Accesses   2 loads of x and 1 store of y an element; 1 exponential a column in each pass
// Budget     56 registers, 8 TILE bytes of shared memory
// Launch     rows blocks of TILE threads

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
static_assert(TILE >= 1 && TILE <= 1024 && (TILE & (TILE - 1)) == 0,
              "halving reaches every lane only if TILE is a power of two");

extern "C" __global__ void __launch_bounds__(TILE)
online_softmax_lane(const float* x, float* y, int vocab) {
    __shared__ float m_scratch[TILE];
    __shared__ float d_scratch[TILE];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    // Pass 1: m_lane = max of this lane's columns before i, d_lane = sum of exp(x - m_lane).
    // Of the two exponentials of Algorithm 3, line 5, one is always exp(0) = 1.
    float m_lane = -INFINITY;
    float d_lane = 0.0f;
    for (int i = lane; i < vocab; i += TILE) {
        const float v = x_row[i];
        if (v > m_lane) {
            d_lane = d_lane * expf(m_lane - v) + 1.0f;
            m_lane = v;
        } else if (v != -INFINITY) {
            d_lane += expf(v - m_lane);  // NaN comes here and stays; -inf would add nothing
        }
    }

    m_scratch[lane] = m_lane;
    d_scratch[lane] = d_lane;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of each
    for (int s = TILE / 2; s > 0; s /= 2) {
        // the pairs 0 .. 2s together are all columns of the row
        if (lane < s) {
            const float m_new = fmaxf(m_scratch[lane], m_scratch[lane + s]);
            // 0 where both saw only -inf: -inf - -inf has no value. A maximum of +inf makes d NaN.
            const float base = m_new == -INFINITY ? 0.0f : m_new;
            d_scratch[lane] = d_scratch[lane] * expf(m_scratch[lane] - base) +
                              d_scratch[lane + s] * expf(m_scratch[lane + s] - base);
            m_scratch[lane] = m_new;
        }
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, both at 0
    }
    const float m = m_scratch[0];
    const float d = d_scratch[0];

    // Pass 2
    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i] - m) / d;
}
