// Cells that are hard to read back: 64-bit integers, flags, a struct, doubles, atomics on one cell,
// a load that a condition leaves lanes out of, a stride with bank conflicts, a local array.

struct Pair {
    float value;
    int place;
};

__global__ void corners(const float* x, double* y, int rows, int vocab) {
    __shared__ unsigned long long wide[32];
    __shared__ bool flags[32];
    __shared__ Pair pairs[32];
    __shared__ float apart[32 * 8];
    __shared__ int total;
    const int lane = threadIdx.x;
    float mine[2];
    wide[lane] = 0xffffffffffffffffULL - lane;
    flags[lane] = lane % 3 == 0;
    pairs[lane].value = x[lane];
    pairs[lane].place = lane;
    apart[lane * 8] = 1.0f;
    if (lane == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, lane);
    mine[0] = lane < 20 ? x[lane] : -INFINITY;
    mine[1] = mine[0] + 1.0f;
    __syncthreads();
    const bool odd = lane % 2 == 1;
    const double third = 1.0 / 3.0;
    y[lane] = third * lane + mine[1] * 0.0f;
}
