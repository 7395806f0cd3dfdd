// A file as it is: a kernel and the program around it. `oneread trace examples/layer_norm.cu` runs
// the kernel with no GPU, launched as below, and leaves the rest of the file alone.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

// y = (x - mean(x)) / sqrt(var(x) + epsilon) * gamma + beta, one block a row.
__global__ void layer_norm(const float* x, const float* gamma, const float* beta, float* y,
                           float* mean, int rows, int hidden) {
    extern __shared__ float scratch[];
    const int row = blockIdx.x;
    if (row >= rows) return;
    const float* x_row = x + (size_t)row * hidden;
    const int lane = threadIdx.x;

    float sum = 0.0f;
    for (int i = lane; i < hidden; i += blockDim.x) sum += x_row[i];
    scratch[lane] = sum;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (lane < s) scratch[lane] += scratch[lane + s];
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
    }
    const float mu = scratch[0] / hidden;
    __syncthreads();  // read: all, scratch[0]; writes: each lane its own

    float squares = 0.0f;
    for (int i = lane; i < hidden; i += blockDim.x) squares += (x_row[i] - mu) * (x_row[i] - mu);
    scratch[lane] = squares;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (lane < s) scratch[lane] += scratch[lane + s];
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
    }
    const float scale = rsqrtf(scratch[0] / hidden + 1e-5f);

    if (lane == 0) mean[row] = mu;
    float* y_row = y + (size_t)row * hidden;
    for (int i = lane; i < hidden; i += blockDim.x)
        y_row[i] = (x_row[i] - mu) * scale * gamma[i] + beta[i];
}

int main(int argc, char** argv) {
    const int rows = argc > 1 ? std::atoi(argv[1]) : 512, hidden = 1024;
    float *x, *gamma, *beta, *y, *mean;
    cudaMalloc(&x, sizeof(float) * rows * hidden);
    cudaMalloc(&gamma, sizeof(float) * hidden);
    cudaMalloc(&beta, sizeof(float) * hidden);
    cudaMalloc(&y, sizeof(float) * rows * hidden);
    cudaMalloc(&mean, sizeof(float) * rows);
    constexpr int threads = 64;
    layer_norm<<<rows, threads, threads * sizeof(float)>>>(x, gamma, beta, y, mean, rows, hidden);
    std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
