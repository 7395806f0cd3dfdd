// Reductions by shuffles within warps and through shared memory between them; the barriers stand
// in a device function.
#define THREADS 96
#define WARPS (THREADS / 32)

__device__ __forceinline__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    return value;
}

__device__ __forceinline__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    return __shfl_sync(0xffffffffu, value, 0);
}

template <bool IS_MAX>
__device__ float block_reduce(float value, float* scratch) {
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    value = IS_MAX ? warp_max(value) : warp_sum(value);
    __syncthreads();
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    float total = scratch[0];
    for (int i = 1; i < WARPS; i++) total = IS_MAX ? fmaxf(total, scratch[i]) : total + scratch[i];
    return total;
}

__global__ void __launch_bounds__(THREADS) softmax_shuffles(const float* __restrict__ x, float* __restrict__ y, int n) {
    __shared__ float scratch[WARPS];
    x += (size_t)blockIdx.x * n;
    y += (size_t)blockIdx.x * n;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, x[i]);
    m = block_reduce<true>(m, scratch);
    float d = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) d += expf(x[i] - m);
    d = block_reduce<false>(d, scratch);
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = expf(x[i] - m) / d;
}
