// A block of two dimensions: threadIdx.y chooses the row, threadIdx.x the column; the tree of each
// row runs in a padded line of shared memory.
#define COLUMNS 32
#define ROWS 4

__global__ void softmax_grid_of_warps(const float* x, float* y, int rows, int vocab) {
    __shared__ float scratch[ROWS][COLUMNS + 1];
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    const int lane = threadIdx.x;
    float* mine = scratch[threadIdx.y];
    const bool here = row < rows;
    const float* x_row = x + (size_t)(here ? row : 0) * vocab;
    float m = -INFINITY;
    if (here)
        for (int i = lane; i < vocab; i += COLUMNS) m = fmaxf(m, x_row[i]);
    mine[lane] = m;
    __syncthreads();
    for (int s = COLUMNS / 2; s > 0; s /= 2) {
        if (lane < s) mine[lane] = fmaxf(mine[lane], mine[lane + s]);
        __syncthreads();
    }
    m = mine[0];
    __syncthreads();
    float d = 0.0f;
    if (here)
        for (int i = lane; i < vocab; i += COLUMNS) d += expf(x_row[i] - m);
    mine[lane] = d;
    __syncthreads();
    for (int s = COLUMNS / 2; s > 0; s /= 2) {
        if (lane < s) mine[lane] += mine[lane + s];
        __syncthreads();
    }
    if (!here) return;
    float* y_row = y + (size_t)row * vocab;
    for (int i = lane; i < vocab; i += COLUMNS) y_row[i] = expf(x_row[i] - m) / mine[0];
}
