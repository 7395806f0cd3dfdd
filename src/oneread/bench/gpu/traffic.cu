// Plain traffic, to compare kernels with: a copy and a read, 16 bytes an access, VECTORS of them on
// their way for each thread. Streaming stores: what is written is not read again.

// Launch: one thread for each VECTORS vectors, blocks of THREADS.
extern "C" __global__ void __launch_bounds__(THREADS)
copy(const int4* __restrict__ x, int4* __restrict__ y, long long count) {
    const long long first = (long long)blockIdx.x * (THREADS * VECTORS) + threadIdx.x;
    int4 held[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (first + i * THREADS < count) held[i] = __ldcs(&x[first + i * THREADS]);
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (first + i * THREADS < count) __stcs(&y[first + i * THREADS], held[i]);
}

// The same launch. Its one store, which needs bits that no test data have, keeps the loads alive.
extern "C" __global__ void __launch_bounds__(THREADS)
read(const int4* __restrict__ x, int4* __restrict__ y, long long count) {
    const long long first = (long long)blockIdx.x * (THREADS * VECTORS) + threadIdx.x;
    int4 held[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        held[i] = make_int4(0, 0, 0, 0);
        if (first + i * THREADS < count) held[i] = __ldcs(&x[first + i * THREADS]);
    }
    int all = -1;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) all &= held[i].x & held[i].y & held[i].z & held[i].w;
    if (all == -1) y[0] = held[0];
}
