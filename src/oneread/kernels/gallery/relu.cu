// ReLU: the larger of x and 0. One load, one store, no exchange: what softmax is compared with.
//
// Algorithm  y = max(x, 0); the SASS note shows it as one FMNMX an element
// Passes     1
// Accesses   1 load of x and 1 store of y an element
// Budget     16 registers, no shared memory, no barrier
// Launch     ceil(rows * vocab / TILE) blocks of TILE threads
// Limits     NaN becomes 0, as fmaxf takes the number of the two

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
static_assert(TILE >= 1 && TILE <= 1024, "a block has at most 1024 threads");

extern "C" __global__ void __launch_bounds__(TILE)
relu(const float* __restrict__ x, float* __restrict__ y, int rows, int vocab) {
    const size_t i = (size_t)blockIdx.x * TILE + threadIdx.x;
    if (i < (size_t)rows * vocab) y[i] = fmaxf(x[i], 0.0f);
}
