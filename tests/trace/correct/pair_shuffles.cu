// (m, d) as a struct through shuffles, then through shared memory; the widths are template
// arguments, and the last fold is done by the first warp alone.
#define THREADS 128

struct alignas(8) Running {
    float m;
    float d;
};

__device__ __forceinline__ Running joined(Running a, Running b) {
    const float m = fmaxf(a.m, b.m);
    if (m == -INFINITY) return a;
    Running both;
    both.m = m;
    both.d = a.d * __expf(a.m - m) + b.d * __expf(b.m - m);
    return both;
}

template <int WIDTH>
__device__ __forceinline__ Running over_lanes(Running mine) {
#pragma unroll
    for (int step = WIDTH / 2; step >= 1; step /= 2) {
        Running other;
        other.m = __shfl_xor_sync(0xffffffffu, mine.m, step, WIDTH);
        other.d = __shfl_xor_sync(0xffffffffu, mine.d, step, WIDTH);
        mine = joined(mine, other);
    }
    return mine;
}

__global__ void softmax_pair_shuffles(const float* x, float* y, int vocab) {
    __shared__ Running of_warp[THREADS / 32];
    __shared__ Running of_row;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    x += (size_t)blockIdx.x * vocab;
    y += (size_t)blockIdx.x * vocab;
    Running mine{-INFINITY, 0.0f};
    for (int i = threadIdx.x; i < vocab; i += THREADS) {
        Running one;
        one.m = x[i];
        one.d = 1.0f;
        mine = joined(mine, one);
    }
    mine = over_lanes<32>(mine);
    if (lane == 0) of_warp[warp] = mine;
    __syncthreads();
    if (warp == 0) {
        mine = over_lanes<THREADS / 32>(of_warp[lane % (THREADS / 32)]);
        if (lane == 0) of_row = mine;
    }
    __syncthreads();
    const float m = of_row.m, inverse = 1.0f / of_row.d;
    for (int i = threadIdx.x; i < vocab; i += THREADS) y[i] = __expf(x[i] - m) * inverse;
}
