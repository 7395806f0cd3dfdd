// The column of the maximum, by a ballot over the lanes that hold it; the softmax beside.
#define THREADS 32

__global__ void softmax_votes(const float* x, float* y, int* column, int vocab) {
    const unsigned all = __activemask();
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float m = -INFINITY;
    int at = 0;
    for (int i = lane; i < vocab; i += 32) {
        const float v = x_row[i];
        if (v > m) {
            m = v;
            at = i;
        }
    }
    float m_row = m;
    for (int mask = 16; mask > 0; mask /= 2) m_row = fmaxf(m_row, __shfl_xor_sync(all, m_row, mask));
    const unsigned holders = __ballot_sync(all, m == m_row);
    const int winner = __ffs(holders) - 1;
    if (lane == winner) column[blockIdx.x] = at;
    float d = 0.0f;
    int i = lane;
    do {
        if (i >= vocab) break;
        d += expf(x_row[i] - m_row);
        i += 32;
    } while (true);
    for (int mask = 16; mask > 0; mask /= 2) d += __shfl_xor_sync(all, d, mask);
    for (int j = lane;; j += 32) {
        if (j >= vocab) break;
        if (x_row[j] == -INFINITY) {
            y[(size_t)blockIdx.x * vocab + j] = 0.0f;
            continue;
        }
        y[(size_t)blockIdx.x * vocab + j] = expf(x_row[j] - m_row) / d;
    }
}
