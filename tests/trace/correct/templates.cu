// Threads of a block as a template argument; the tree is a device function of it.
template <int THREADS>
__device__ float tree_max(float* scratch, float value) {
    const int lane = threadIdx.x;
    scratch[lane] = value;
    __syncthreads();
#pragma unroll
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (lane < s) scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
        __syncthreads();
    }
    const float result = scratch[0];
    __syncthreads();
    return result;
}

template <int THREADS>
__device__ float tree_sum(float* scratch, float value) {
    const int lane = threadIdx.x;
    scratch[lane] = value;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (lane < s) scratch[lane] += scratch[lane + s];
        __syncthreads();
    }
    const float result = scratch[0];
    __syncthreads();
    return result;
}

template <int THREADS>
__global__ void softmax_template(const float* x, float* y, int vocab) {
    __shared__ float scratch[THREADS];
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < vocab; i += THREADS) m = fmaxf(m, x_row[i]);
    m = tree_max<THREADS>(scratch, m);
    float d = 0.0f;
    for (int i = threadIdx.x; i < vocab; i += THREADS) d += expf(x_row[i] - m);
    d = tree_sum<THREADS>(scratch, d);
    for (int i = threadIdx.x; i < vocab; i += THREADS) y_row[i] = expf(x_row[i] - m) / d;
}
