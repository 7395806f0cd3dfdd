// Top-k: the k largest numbers of each row and their columns, largest first, ties by column.
//
// Algorithm  the insertion of Milakov & Gimelshein (2018), Algorithm 4, lines 8-15, in each lane;
//            then k rounds, each of which takes the best of what the lanes have left
// Passes     1
// Accesses   1 load of x an element, 1 store a result
// Budget     32 registers, 8 TILE bytes of shared memory, 8 K_MAX bytes a thread of local memory
// Launch     rows blocks of TILE threads
// Limits     1 <= k <= min(vocab, K_MAX)

#include <math.h>

#ifndef TILE
#define TILE 128  // lanes of a block
#endif
#ifndef K_MAX
#define K_MAX 8  // columns that each lane keeps
#endif
static_assert(TILE >= 1 && TILE <= 1024 && (TILE & (TILE - 1)) == 0,
              "halving reaches every lane only if TILE is a power of two");
static_assert(K_MAX >= 1 && K_MAX <= 64, "each lane keeps K_MAX columns in local memory");

// A number and where it stands. {-inf, NOWHERE} comes after every column of a row.
struct Place {
    float value;
    int column;
};
constexpr int NOWHERE = 0x7fffffff;

// Whether a comes before b: NaN first, then the larger, equal ones by column.
__device__ bool before(Place a, Place b) {
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan;
    if (a_nan || a.value == b.value) return a.column < b.column;
    return a.value > b.value;
}

extern "C" __global__ void __launch_bounds__(TILE)
top_k(const float* x, float* values, int* indices, int vocab, int k) {
    __shared__ Place scratch[TILE];
    const int lane = threadIdx.x;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* values_row = values + (size_t)blockIdx.x * k;
    int* indices_row = indices + (size_t)blockIdx.x * k;

    // own[0 .. k) are the best of this lane's columns before i, in order
    Place own[K_MAX];
    for (int s = 0; s < k; ++s) own[s] = Place{-INFINITY, NOWHERE};
    for (int i = lane; i < vocab; i += TILE) {
        const Place next = Place{x_row[i], i};
        if (!before(next, own[k - 1])) continue;
        int s = k - 1;
        for (; s > 0 && before(next, own[s - 1]); --s) own[s] = own[s - 1];
        own[s] = next;
    }

    int given = 0;  // own[0 .. given) are among the results so far
    for (int r = 0; r < k; ++r) {
        scratch[lane] = own[given];
        __syncthreads();  // wrote: each lane its own; reads: lane < s, two of them
        for (int s = TILE / 2; s > 0; s /= 2) {
            // the first of scratch[0 .. 2s) is that of all
            if (lane < s && before(scratch[lane + s], scratch[lane])) {
                scratch[lane] = scratch[lane + s];
            }
            __syncthreads();  // wrote: lane < s; reads: half of those, at the end all, scratch[0]
        }
        const Place best = scratch[0];
        __syncthreads();  // read: all, scratch[0]; writes: the next round
        if (own[given].column == best.column) ++given;
        if (lane == 0) {
            values_row[r] = best.value;
            indices_row[r] = best.column;
        }
    }
}
