// The row is replaced by its softmax; every element is read and written by one thread.
#define THREADS 32

__global__ void softmax_in_place(float* x, int vocab) {
    float* row = x + (size_t)blockIdx.x * vocab;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < vocab; i += 32) m = fmaxf(m, row[i]);
    for (int mask = 16; mask > 0; mask /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, mask));
    float d = 0.0f;
    for (int i = threadIdx.x; i < vocab; i += 32) {
        row[i] = expf(row[i] - m);
        d += row[i];
    }
    for (int mask = 16; mask > 0; mask /= 2) d += __shfl_xor_sync(~0u, d, mask);
    for (int i = threadIdx.x; i < vocab; i += 32) row[i] /= d;
}
