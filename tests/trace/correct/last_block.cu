// Blocks share a row; the one that comes last merges what all have published behind a fence.
#define THREADS 32
#define SPAN 64

__global__ void logsumexp_last_block(const float* x, float* m_part, float* d_part, unsigned* done,
                                     float* lse, int vocab) {
    __shared__ bool is_last;
    const int lane = threadIdx.x;
    const int start = blockIdx.x * SPAN;
    const int stop = min(start + SPAN, vocab);
    float m = -INFINITY, d = 0.0f;
    for (int i = start + lane; i < stop; i += THREADS) m = fmaxf(m, x[i]);
    for (int mask = 16; mask > 0; mask /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, mask));
    if (m != -INFINITY)
        for (int i = start + lane; i < stop; i += THREADS) d += expf(x[i] - m);
    for (int mask = 16; mask > 0; mask /= 2) d += __shfl_xor_sync(~0u, d, mask);
    if (lane == 0) {
        m_part[blockIdx.x] = m;
        d_part[blockIdx.x] = d;
        __threadfence();
        is_last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    if (lane == 0) {
        float m_row = -INFINITY, d_row = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) m_row = fmaxf(m_row, m_part[b]);
        for (int b = 0; b < gridDim.x; ++b)
            if (m_part[b] != -INFINITY) d_row += d_part[b] * expf(m_part[b] - m_row);
        *lse = m_row + logf(d_row);
    }
}
