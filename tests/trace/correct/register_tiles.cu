// Registers hold the row: float4 while whole groups of four last, single columns behind them. The
// row is read once. vocab is at most 4 * THREADS * GROUPS + THREADS.
#define THREADS 32
#define GROUPS 2

__device__ __forceinline__ float most(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }

__device__ __forceinline__ float4 powers(float4 v, float m) {
    return make_float4(expf(v.x - m), expf(v.y - m), expf(v.z - m), expf(v.w - m));
}

__global__ void __launch_bounds__(THREADS)
softmax_register_tiles(const float* __restrict__ x, float* __restrict__ y, int vocab) {
    const int lane = threadIdx.x;
    const size_t offset = (size_t)blockIdx.x * vocab;
    // Only rows that begin at a multiple of 16 bytes can be read by float4.
    const int groups = offset % 4 == 0 ? vocab / 4 : 0;
    const float4* x4 = reinterpret_cast<const float4*>(x + offset);
    float4* y4 = reinterpret_cast<float4*>(y + offset);
    float4 tile[GROUPS];
    float m = -INFINITY, d = 0.0f;
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
        const int at = g * THREADS + lane;
        tile[g] = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        if (at < groups) tile[g] = x4[at];
        m = fmaxf(m, most(tile[g]));
    }
    for (int i = 4 * groups + lane; i < vocab; i += THREADS) m = fmaxf(m, x[offset + i]);
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, mask));
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
        tile[g] = powers(tile[g], m);
        d += (tile[g].x + tile[g].y) + (tile[g].z + tile[g].w);
    }
    for (int i = 4 * groups + lane; i < vocab; i += THREADS) d += expf(x[offset + i] - m);
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) d += __shfl_xor_sync(~0u, d, mask);
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
        const int at = g * THREADS + lane;
        const float4 e = tile[g];
        if (at < groups) y4[at] = make_float4(e.x / d, e.y / d, e.z / d, e.w / d);
    }
    for (int i = 4 * groups + lane; i < vocab; i += THREADS) y[offset + i] = expf(x[offset + i] - m) / d;
}
