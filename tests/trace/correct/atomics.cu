// The maximum by atomicMax on ordered integers, the sum by atomicAdd, both in shared memory.
#define THREADS 64

__device__ int ordered(float value) {
    const int bits = __float_as_int(value);
    return bits >= 0 ? bits : bits ^ 0x7fffffff;
}

__device__ float number(int key) { return __int_as_float(key >= 0 ? key : key ^ 0x7fffffff); }

__global__ void softmax_atomics(const float* x, float* y, int vocab) {
    __shared__ int most;
    __shared__ float total;
    if (threadIdx.x == 0) {
        most = ordered(-INFINITY);
        total = 0.0f;
    }
    __syncthreads();
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < vocab; i += blockDim.x) m = fmaxf(m, x_row[i]);
    atomicMax(&most, ordered(m));
    __syncthreads();
    m = number(most);
    float d = 0.0f;
    for (int i = threadIdx.x; i < vocab; i += blockDim.x) d += expf(x_row[i] - m);
    atomicAdd(&total, d);
    __syncthreads();
    d = total;
    for (int i = threadIdx.x; i < vocab; i += blockDim.x) y_row[i] = expf(x_row[i] - m) / d;
}
