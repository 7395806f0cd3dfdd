// The loops of softmax, each alone on an SM that is full: 2,048 threads, a row in the L1 cache.
//
// Every warp sweeps the whole row `sweeps` times, a column a lane, and writes when it began, when
// it ended and where it ran. What two numbers of sweeps differ by has neither start nor end in it.
// Launch: two blocks of 1,024 threads for each SM; no shared memory, so that the cache is large.

#include <float.h>
#include <math.h>

struct Clock {
    long long start;
    long long stop;
    long long sm;
};

__device__ void note(Clock* clocks, long long start, long long stop) {
    unsigned int sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread % 32 == 0) clocks[thread / 32] = Clock{start, stop, (long long)sm};
}

// Algorithm 2, line 3: the maximum alone.
extern "C" __global__ void __launch_bounds__(1024, 2)
row_max(const float* __restrict__ x, float* __restrict__ y, Clock* clocks, int columns,
        int sweeps) {
    float m = -INFINITY;
    const long long start = clock64();
    for (int sweep = 0; sweep < sweeps; ++sweep) {
#pragma unroll 8
        for (int i = threadIdx.x % 32; i < columns; i += 32) m = fmaxf(m, x[i]);
    }
    const long long stop = clock64();
    y[blockIdx.x * blockDim.x + threadIdx.x] = m;
    note(clocks, start, stop);
}

// Algorithm 2, line 7: the sum of exponentials, the maximum known.
extern "C" __global__ void __launch_bounds__(1024, 2)
row_sum(const float* __restrict__ x, float* __restrict__ y, Clock* clocks, int columns,
        int sweeps) {
    const float m = x[0];
    float d = 0.0f;
    const long long start = clock64();
    for (int sweep = 0; sweep < sweeps; ++sweep) {
#pragma unroll 8
        for (int i = threadIdx.x % 32; i < columns; i += 32) d += expf(x[i] - m);
    }
    const long long stop = clock64();
    y[blockIdx.x * blockDim.x + threadIdx.x] = d;
    note(clocks, start, stop);
}

// Algorithm 3, lines 4 and 5: both at once, as the SASS note's kernel has them.
extern "C" __global__ void __launch_bounds__(1024, 2)
row_online(const float* __restrict__ x, float* __restrict__ y, Clock* clocks, int columns,
           int sweeps) {
    float m = -FLT_MAX;
    float d = 0.0f;
    const long long start = clock64();
    for (int sweep = 0; sweep < sweeps; ++sweep) {
#pragma unroll 8
        for (int i = threadIdx.x % 32; i < columns; i += 32) {
            const float v = x[i];
            const float m_new = m > v ? m : v;
            d = d * expf(m - m_new) + expf(v - m_new);
            m = m_new;
        }
    }
    const long long stop = clock64();
    y[blockIdx.x * blockDim.x + threadIdx.x] = m + d;
    note(clocks, start, stop);
}
