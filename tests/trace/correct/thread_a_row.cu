// One thread a row, m and d by reference.
#define THREADS 32

__device__ void fold(float& m, float& d, float value) {
    const float m_new = value > m ? value : m;
    if (m_new == -INFINITY) return;
    d = d * expf(m - m_new) + expf(value - m_new);
    m = m_new;
}

__global__ void softmax_thread_a_row(const float* x, float* y, int rows, int vocab) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float m = -INFINITY, d = 0.0f;
    const float* x_row = x + (size_t)row * vocab;
    for (int i = 0; i < vocab; i++) fold(m, d, x_row[i]);
    for (int i = 0; i < vocab; i++) y[(size_t)row * vocab + i] = expf(x_row[i] - m) / d;
}
