#define TILE 32
struct MD { float m; float d; };
__device__ float larger(float a, float b) { return a > b ? a : b; }
__device__ MD merge(MD a, MD b) {
    float m = larger(a.m, b.m);
    return MD{m, a.d * expf(a.m - m) + b.d * expf(b.m - m)};
}
extern "C" __global__ void softmax(const float* x, float* y, int vocab) {
    __shared__ float scratch[TILE];
    int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;
    MD md = {-INFINITY, 0.0f};
    for (int i = lane; i < vocab; i += TILE) {
        md = merge(md, MD{x_row[i], 1.0f});
    }
    scratch[lane] = md.m;
    __syncthreads();
    for (int s = TILE / 2; s > 0; s /= 2) {
        if (lane < s) scratch[lane] = fmaxf(scratch[lane], scratch[lane + s]);
        __syncthreads();
    }
    float m = scratch[0];
    float d = __shfl_sync(0xffffffffu, md.d, 0);
    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i] - m) / d;
}
