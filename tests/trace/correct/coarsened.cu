// Each thread keeps eight columns in registers: one read of x.
#define THREADS 32
#define EACH 8

__global__ void softmax_coarsened(const float* x, float* y, int vocab) {
    __shared__ float scratch[THREADS];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;
    float kept[EACH];
    float m = -INFINITY;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        const int column = lane + i * THREADS;
        kept[i] = column < vocab ? x_row[column] : -INFINITY;
        m = fmaxf(m, kept[i]);
    }
    scratch[lane] = m;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (lane < s) scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
        __syncthreads();
    }
    m = scratch[0];
    __syncthreads();
    float d = 0.0f;
    for (int i = 0; i < EACH; ++i) {
        kept[i] = expf(kept[i] - m);
        d += kept[i];
    }
    scratch[lane] = d;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (lane < s) scratch[lane] += scratch[lane + s];
        __syncthreads();
    }
    const float inverse = 1.0f / scratch[0];
    for (int i = 0; i < EACH; ++i) {
        const int column = lane + i * THREADS;
        if (column < vocab) y_row[column] = kept[i] * inverse;
    }
}
