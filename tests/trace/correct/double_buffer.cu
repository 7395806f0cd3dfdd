// The next tile is fetched into the other half while one is folded: one barrier a tile. Lane 0 of
// each warp folds nothing of its own; every thread reads the whole tile, so m and d need no tree.
#define TILE 64

__global__ void softmax_double_buffer(const float* x, float* y, int vocab) {
    __shared__ float tiles[2][TILE];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;
    const int count = (vocab + TILE - 1) / TILE;
    tiles[0][lane] = lane < vocab ? x_row[lane] : -INFINITY;
    __syncthreads();
    float m = -INFINITY, d = 0.0f;
    for (int t = 0; t < count; ++t) {
        const int next = (t + 1) * TILE + lane;
        if (t + 1 < count) tiles[(t + 1) & 1][lane] = next < vocab ? x_row[next] : -INFINITY;
        for (int i = 0; i < TILE; ++i) {
            const float v = tiles[t & 1][i];
            if (v > m) {
                d = d * expf(m - v) + 1.0f;
                m = v;
            } else if (v != -INFINITY) {
                d += expf(v - m);
            }
        }
        __syncthreads();
    }
    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i] - m) / d;
}
