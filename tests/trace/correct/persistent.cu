// Blocks stay and take row after row from a counter, until none is left.
#define THREADS 64

__global__ void softmax_persistent(const float* x, float* y, int* next, int rows, int vocab) {
    __shared__ int shared_row;
    __shared__ float scratch[2][THREADS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (;;) {
        if (threadIdx.x == 0) shared_row = atomicAdd(next, 1);
        __syncthreads();
        const int row = shared_row;
        if (row >= rows) break;
        const float* x_row = x + static_cast<size_t>(row) * vocab;
        float* y_row = y + static_cast<size_t>(row) * vocab;
        float m = -INFINITY;
        for (int i = threadIdx.x; i < vocab; i += THREADS) m = fmaxf(m, x_row[i]);
        for (int s = 16; s; s >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, s));
        if (lane == 0) scratch[0][warp] = m;
        __syncthreads();
        m = fmaxf(scratch[0][0], scratch[0][1]);
        float d = 0.f;
        for (int i = threadIdx.x; i < vocab; i += THREADS) d += expf(x_row[i] - m);
        for (int s = 16; s; s >>= 1) d += __shfl_xor_sync(0xffffffff, d, s);
        if (lane == 0) scratch[1][warp] = d;  // its own half: no barrier since the maximum was read
        __syncthreads();
        d = scratch[1][0] + scratch[1][1];
        for (int i = threadIdx.x; i < vocab; i += THREADS) y_row[i] = expf(x_row[i] - m) / d;
    }
}
