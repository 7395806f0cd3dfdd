// Fewer blocks than rows: each takes every gridDim.x-th row. The scratch is used again for the
// next row, so a barrier ends each.
#define THREADS 64

__global__ void softmax_grid_stride(const float* x, float* y, int rows, int vocab) {
    __shared__ float scratch[THREADS];
    const unsigned lane = threadIdx.x;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float* x_row = &x[(size_t)row * vocab];
        float* y_row = &y[(size_t)row * vocab];
        float m = -INFINITY;
        for (int i = lane; i < vocab; i += THREADS) m = max(m, x_row[i]);
        scratch[lane] = m;
        __syncthreads();
        for (unsigned s = THREADS / 2; s > 0; s >>= 1) {
            if (lane < s) scratch[lane] = max(scratch[lane], scratch[lane + s]);
            __syncthreads();
        }
        m = scratch[0];
        __syncthreads();
        float d = 0;
        for (int i = lane; i < vocab; i += THREADS) d += exp(x_row[i] - m);
        scratch[lane] = d;
        __syncthreads();
        for (unsigned s = THREADS / 2; s > 0; s >>= 1) {
            if (lane < s) scratch[lane] += scratch[lane + s];
            __syncthreads();
        }
        d = scratch[0];
        for (int i = lane; i < vocab; i += THREADS) y_row[i] = exp(x_row[i] - m) / d;
        __syncthreads();
    }
}
