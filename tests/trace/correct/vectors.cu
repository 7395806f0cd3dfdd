#define THREADS 32
// One warp a row, 16 bytes a load; vocab is a multiple of 4.
__global__ void softmax_vectors(const float* x, float* y, int vocab) {
    const float4* x4 = reinterpret_cast<const float4*>(x + (size_t)blockIdx.x * vocab);
    float4* y4 = reinterpret_cast<float4*>(y + (size_t)blockIdx.x * vocab);
    const int lane = threadIdx.x;
    const int groups = vocab / 4;
    float m = -INFINITY, d = 0.0f;
    for (int i = lane; i < groups; i += 32) {
        const float4 v = x4[i];
        const float most = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
        const float m_new = fmaxf(m, most);
        if (m_new > -INFINITY) {
            d = d * expf(m - m_new) + expf(v.x - m_new) + expf(v.y - m_new) + expf(v.z - m_new) +
                expf(v.w - m_new);
            m = m_new;
        }
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        const float m_other = __shfl_xor_sync(0xffffffff, m, offset);
        const float d_other = __shfl_xor_sync(0xffffffff, d, offset);
        const float m_new = fmaxf(m, m_other);
        if (m_new > -INFINITY) d = d * expf(m - m_new) + d_other * expf(m_other - m_new);
        m = m_new;
    }
    for (int i = lane; i < groups; i += 32) {
        float4 v = x4[i];
        v.x = expf(v.x - m) / d;
        v.y = expf(v.y - m) / d;
        v.z = expf(v.z - m) / d;
        v.w = expf(v.w - m) / d;
        y4[i] = v;
    }
}
