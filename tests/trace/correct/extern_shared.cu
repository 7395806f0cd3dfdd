// The row waits in dynamic shared memory, behind it the scratch of the reductions.
#define THREADS 32

__global__ void softmax_extern_shared(const float* x, float* y, int vocab) {
    extern __shared__ float row[];
    float* scratch = row + vocab;
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;
    float m = -INFINITY;
    for (int i = lane; i < vocab; i += THREADS) {
        row[i] = x_row[i];
        m = fmaxf(m, row[i]);
    }
    scratch[lane] = m;
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        __syncthreads();
        if (lane < s) scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
    }
    __syncthreads();
    m = scratch[0];
    __syncthreads();
    float d = 0.0f;
    for (int i = lane; i < vocab; i += THREADS) {
        row[i] = expf(row[i] - m);
        d += row[i];
    }
    scratch[lane] = d;
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        __syncthreads();
        if (lane < s) scratch[lane] += scratch[lane + s];
    }
    __syncthreads();
    d = scratch[0];
    for (int i = lane; i < vocab; i += THREADS) y_row[i] = row[i] / d;
}
