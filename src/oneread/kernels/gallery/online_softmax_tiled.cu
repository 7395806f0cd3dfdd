// Online softmax by tiles: the second kernel of the two-kernel page, corrected.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3, a tile at a time; the page's structure,
//            with what online_softmax_tiled_racy lacks: a barrier, a guard at the load, a finite
//            number to subtract, 64-bit row offsets, checks of TILE
// Passes     2
// Accesses   2 loads of x and 1 store of y an element
// Budget     56 registers, 8 TILE + 8 bytes of shared memory
// Launch     rows blocks of TILE threads
// Limits     two trees a tile are more work than they save: online_softmax_lane needs one a row

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block, columns of a tile
#endif
static_assert(TILE >= 1 && TILE <= 1024 && (TILE & (TILE - 1)) == 0,
              "halving reaches every lane only if TILE is a power of two");

extern "C" __global__ void __launch_bounds__(TILE)
online_softmax_tiled(const float* x, float* y, int vocab) {
    __shared__ float tile[TILE];
    __shared__ float scratch[TILE];
    __shared__ float m_row, d_row;
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    if (lane == 0) {
        m_row = -INFINITY;
        d_row = 0.0f;
    }
    __syncthreads();  // wrote: lane 0, m_row and d_row; reads: all

    // Pass 1: m_row = max of the columns before t, d_row = sum of exp(x - m_row) over them
    for (int t = 0; t < vocab; t += TILE) {
        tile[lane] = t + lane < vocab ? x_row[t + lane] : -INFINITY;  // adds exp(-inf) = 0
        __syncthreads();  // orders nothing: each lane reads back its own element only

        scratch[lane] = tile[lane];
        __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
        for (int s = TILE / 2; s > 0; s /= 2) {
            // max(scratch[0 .. 2s)) is that of the tile
            if (lane < s) scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
            __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
        }
        const float m_old = m_row;
        const float m_new = fmaxf(m_old, scratch[0]);
        // As long as all is -inf, -inf - m has no value. Any finite number makes the terms 0.
        const float base = m_new == -INFINITY ? 0.0f : m_new;
        __syncthreads();  // read: all, scratch[0]; writes: lane 0, the first exponential

        scratch[lane] = expf(tile[lane] - base);
        __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
        for (int s = TILE / 2; s > 0; s /= 2) {
            // sum(scratch[0 .. 2s)) is that of the tile
            if (lane < s) scratch[lane] += scratch[lane + s];
            __syncthreads();  // wrote: lane < s; reads: half of those, at the end lane 0
        }
        if (lane == 0) {
            d_row = d_row * expf(m_old - base) + scratch[0];
            m_row = m_new;
        }
        __syncthreads();  // wrote: lane 0, m_row and d_row; reads: all
    }

    // Pass 2
    const float m = m_row;
    const float d = d_row;
    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i] - m) / d;
}
