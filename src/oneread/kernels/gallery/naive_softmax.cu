// Naive softmax: exponentials of the logits as they are, divided by their sum.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 1
// Passes     2: the sum (lines 1-4), the quotients (lines 5-7)
// Accesses   2 loads of x and 1 store of y an element
// Budget     56 registers, 4 TILE bytes of shared memory
// Launch     rows blocks of TILE threads
// Limits     exp(x) overflows from x = 88.73 on, a sum before: NaN and 0. Hence Algorithms 2 and 3

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
static_assert(TILE >= 1 && TILE <= 1024 && (TILE & (TILE - 1)) == 0,
              "halving reaches every lane only if TILE is a power of two");

// Return the sum of `value` over the block, to each lane.
__device__ float block_sum(float value, float* scratch) {
    const int lane = threadIdx.x;
    scratch[lane] = value;
    __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
    for (int s = TILE / 2; s > 0; s /= 2) {
        // sum(scratch[0 .. 2s)) is that of all values
        if (lane < s) scratch[lane] += scratch[lane + s];
        __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
    }
    return scratch[0];
}

extern "C" __global__ void __launch_bounds__(TILE)
naive_softmax(const float* x, float* y, int vocab) {
    __shared__ float scratch[TILE];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    // Line 3, by lanes: d_lane = sum of exp(x_row[j]) over this lane's j < i
    float d_lane = 0.0f;
    for (int i = lane; i < vocab; i += TILE) d_lane += expf(x_row[i]);
    const float d = block_sum(d_lane, scratch);

    // Line 6
    for (int i = lane; i < vocab; i += TILE) y_row[i] = expf(x_row[i]) / d;
}
