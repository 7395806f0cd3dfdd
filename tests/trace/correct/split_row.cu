// Blocks share a row: each folds its (m, d) into one 64-bit word by compare-and-swap; the block that
// comes last reads the word.
#define THREADS 32
#define SPAN 64

__device__ unsigned long long packed(float m, float d) {
    return ((unsigned long long)__float_as_uint(m) << 32) | __float_as_uint(d);
}

__device__ void fold(unsigned long long* word, float m, float d) {
    unsigned long long seen = atomicAdd(word, 0ull);
    while (true) {
        const float m_seen = __uint_as_float((unsigned)(seen >> 32));
        const float d_seen = __uint_as_float((unsigned)seen);
        const float m_new = fmaxf(m_seen, m);
        const float base = m_new == -INFINITY ? 0.0f : m_new;
        const float d_new = d_seen * expf(m_seen - base) + d * expf(m - base);
        const unsigned long long found = atomicCAS(word, seen, packed(m_new, d_new));
        if (found == seen) return;
        seen = found;
    }
}

__global__ void logsumexp_split_row(const float* x, unsigned long long* word, unsigned* done,
                                    float* lse, int vocab) {
    const int blocks = (vocab + SPAN - 1) / SPAN;
    const int row = blockIdx.x / blocks;
    const int start = blockIdx.x % blocks * SPAN;
    const int stop = min(start + SPAN, vocab);
    const float* x_row = x + (size_t)row * vocab;
    float m = -INFINITY, d = 0.0f;
    for (int i = start + threadIdx.x; i < stop; i += THREADS) m = fmaxf(m, x_row[i]);
    for (int mask = 16; mask > 0; mask /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, mask));
    if (m != -INFINITY)
        for (int i = start + threadIdx.x; i < stop; i += THREADS) d += expf(x_row[i] - m);
    for (int mask = 16; mask > 0; mask /= 2) d += __shfl_xor_sync(~0u, d, mask);
    if (threadIdx.x != 0) return;
    fold(word + row, m, d);
    __threadfence();
    if (atomicAdd(done + row, 1u) != blocks - 1) return;
    const unsigned long long all = atomicAdd(word + row, 0ull);
    lse[row] = __uint_as_float((unsigned)(all >> 32)) + logf(__uint_as_float((unsigned)all));
}
