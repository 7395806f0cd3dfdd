// Online softmax by tiles, as the second kernel of the two-kernel page does it, faults and all.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3, a tile at a time; written anew with the
//            page's structure. online_softmax_tiled is the same, corrected
// Passes     2
// Accesses   2 loads of x and 1 store of y an element, where TILE divides vocab
// Budget     56 registers, 8 TILE + 8 bytes of shared memory
// Launch     rows blocks of exactly TILE threads: nothing checks that
// Faults     every lane reads scratch[0], the tile's maximum, while lane 0 may store the first
//            exponential there; the last tile reads past the row; a first tile of -inf makes the
//            row NaN; a TILE of 48 drops lanes; row * vocab overflows from 2^31 on

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block, columns of a tile
#endif

extern "C" __global__ void online_softmax_tiled_racy(const float* x, float* y, int vocab) {
    __shared__ float tile[TILE];
    __shared__ float scratch[TILE];
    __shared__ float m_row, d_row;
    const int lane = threadIdx.x;
    const int row = blockIdx.x;
    const float* x_row = x + row * vocab;
    float* y_row = y + row * vocab;

    if (lane == 0) {
        m_row = -INFINITY;
        d_row = 0.0f;
    }
    __syncthreads();  // wrote: lane 0, m_row and d_row; reads: all

    // Pass 1: m_row = max of the columns before t, d_row = sum of exp(x - m_row) over them
    for (int t = 0; t < vocab; t += TILE) {
        tile[lane] = x_row[t + lane];
        __syncthreads();  // orders nothing: each lane reads back its own element only

        scratch[lane] = tile[lane];
        __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
        for (int s = TILE / 2; s > 0; s /= 2) {
            if (lane < s) scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
            __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
        }
        const float m_old = m_row;
        const float m_new = fmaxf(m_old, scratch[0]);

        scratch[lane] = expf(tile[lane] - m_new);
        __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
        for (int s = TILE / 2; s > 0; s /= 2) {
            if (lane < s) scratch[lane] += scratch[lane + s];
            __syncthreads();  // wrote: lane < s; reads: half of those, at the end lane 0
        }
        if (lane == 0) {
            d_row = d_row * expf(m_old - m_new) + scratch[0];
            m_row = m_new;
        }
        __syncthreads();  // wrote: lane 0, m_row and d_row; reads: all
    }

    // Pass 2
    const float m = m_row;
    const float d = d_row;
    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i] - m) / d;
}
