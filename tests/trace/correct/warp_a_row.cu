// Several rows a block, one warp each; warps without a row leave at once.
#define THREADS 128

__global__ void softmax_warp_a_row(const float* x, float* y, int rows, int vocab) {
    const int warps = blockDim.x / warpSize;
    const int row = blockIdx.x * warps + threadIdx.x / warpSize;
    if (row >= rows) return;
    const int lane = threadIdx.x % warpSize;
    const float* x_row = x + (long long)row * vocab;
    float* y_row = y + (long long)row * vocab;
    float m = -INFINITY;
    for (int i = lane; i < vocab; i += warpSize) m = fmaxf(m, x_row[i]);
    for (int offset = 16; offset; offset >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, offset));
    float d = 0.0f;
    for (int i = lane; i < vocab; i += warpSize) d += expf(x_row[i] - m);
    for (int offset = 16; offset; offset >>= 1) d += __shfl_xor_sync(0xffffffff, d, offset);
    for (int i = lane; i < vocab; i += warpSize) y_row[i] = expf(x_row[i] - m) / d;
}
