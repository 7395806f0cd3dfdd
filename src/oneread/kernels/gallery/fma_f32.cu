// Multiply and add: a * b + c. What the accumulator of online softmax does at each column.
//
// Algorithm  z = a * b + c; one FFMA an element, or FMUL and FADD where -fmad=false forbids it
// Passes     1
// Accesses   3 loads and 1 store an element
// Budget     16 registers, no shared memory, no barrier
// Launch     ceil(rows * vocab / TILE) blocks of TILE threads
// Limits     the name `fma` belongs to CUDA's own function in C

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
static_assert(TILE >= 1 && TILE <= 1024, "a block has at most 1024 threads");

extern "C" __global__ void __launch_bounds__(TILE)
fma_f32(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
        float* __restrict__ z, int rows, int vocab) {
    const size_t i = (size_t)blockIdx.x * TILE + threadIdx.x;
    if (i < (size_t)rows * vocab) z[i] = a[i] * b[i] + c[i];
}
