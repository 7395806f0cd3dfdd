// Two rows a warp: shuffles of width 16.
#define THREADS 32

__global__ void softmax_half_warps(const float* x, float* y, int rows, int vocab) {
    const int row = blockIdx.x * 2 + threadIdx.x / 16;
    const int lane = threadIdx.x & 15;
    const bool here = row < rows;
    float m = -INFINITY;
    float d = 0.0f;
    if (here)
        for (int i = lane; i < vocab; i += 16) m = fmaxf(m, x[(size_t)row * vocab + i]);
    for (int offset = 8; offset > 0; offset /= 2)
        m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, offset, 16));
    if (here)
        for (int i = lane; i < vocab; i += 16) d += expf(x[(size_t)row * vocab + i] - m);
    for (int offset = 8; offset > 0; offset /= 2) d += __shfl_down_sync(0xffffffff, d, offset, 16);
    d = __shfl_sync(0xffffffff, d, 0, 16);
    if (here)
        for (int i = lane; i < vocab; i += 16)
            y[(size_t)row * vocab + i] = expf(x[(size_t)row * vocab + i] - m) / d;
}
