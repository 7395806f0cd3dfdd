// m and d together in a struct, folded by an associative function, in shared memory.
#define THREADS 64

struct __align__(8) Pair {
    float m;
    float d;
};

__device__ __forceinline__ Pair merged(Pair a, Pair b) {
    const bool a_larger = a.m > b.m;
    const Pair larger = a_larger ? a : b;
    const Pair smaller = a_larger ? b : a;
    Pair result;
    result.m = larger.m;
    result.d = smaller.m == -INFINITY ? larger.d : larger.d + smaller.d * expf(smaller.m - larger.m);
    return result;
}

__global__ void softmax_pairs(const float* x, float* y, int V) {
    __shared__ Pair all[THREADS];
    x += (size_t)blockIdx.x * V;
    y += (size_t)blockIdx.x * V;
    Pair mine = {-INFINITY, 0.0f};
    for (int i = threadIdx.x; i < V; i += THREADS) {
        Pair one = {x[i], 1.0f};
        mine = merged(mine, one);
    }
    all[threadIdx.x] = mine;
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s) all[threadIdx.x] = merged(all[threadIdx.x], all[threadIdx.x + s]);
    }
    __syncthreads();
    const Pair total = all[0];
    for (int i = threadIdx.x; i < V; i += THREADS) y[i] = expf(x[i] - total.m) / total.d;
}
