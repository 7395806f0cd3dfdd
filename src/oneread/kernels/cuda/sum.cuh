// Sums of a row, brought together from lanes, warps and the blocks of a cluster: always in one order.
#pragma once
#include "element.cuh"

// Of the LANES lanes of a warp that share a row: all get the same.
template <int LANES>
__device__ __forceinline__ Real sum_lanes(Real a) {
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        a += __shfl_xor_sync(0xffffffffu, a, step, LANES);
    return a;
}

// Of a block of 32 * WARPS threads that shares a row: all get the same. `scratch` holds WARPS.
template <int WARPS>
__device__ __forceinline__ Real sum_warps(Real a, Real* scratch) {
    a = sum_lanes<32>(a);
    if (WARPS == 1) return a;
    const int lane = (int)threadIdx.x % 32;
    if (lane == 0) scratch[threadIdx.x / 32] = a;
    __syncthreads();  // wrote: lane 0 of each warp; reads: every warp all of them
    return sum_lanes<32>(lane < WARPS ? scratch[lane] : (Real)0);
}

#if HAS_CLUSTERS
__device__ __forceinline__ void store_number(Real* p, unsigned rank, Real a) {
#if ELEMENT == FLOAT64
    store_remote((unsigned long long*)p, rank, (unsigned long long)__double_as_longlong(a));
#else
    store_remote((unsigned*)p, rank, __float_as_uint(a));
#endif
}

// Of a cluster of BLOCKS blocks of 32 * WARPS threads: all get the same. Every block must have
// started: a block that has not cannot be written to. `scratch` holds WARPS + BLOCKS.
template <int WARPS, int BLOCKS>
__device__ __forceinline__ Real sum_blocks(Real a, Real* scratch) {
    const int lane = (int)threadIdx.x % 32;
    a = sum_warps<WARPS>(a, scratch + BLOCKS);
    if (threadIdx.x < BLOCKS) store_number(scratch + cluster_rank(), threadIdx.x, a);
    cluster_arrive();
    cluster_wait();  // wrote: each block into every block; reads: every warp all of them
    return sum_lanes<32>(lane < BLOCKS ? scratch[lane] : (Real)0);
}
#endif
