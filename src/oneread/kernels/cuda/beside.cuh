// What the kernel of an op takes beside x, y and their strides: a mask, lengths, a second loop.
//
// LOOPS, WHERE and LENGTHS are those of row.cuh.
#pragma once
#include "element.cuh"

#ifndef LOOPS
#define LOOPS 1
#endif
#ifndef WHERE
#define WHERE 0
#endif
#ifndef LENGTHS
#define LENGTHS 0
#endif
#define LEAVES_OUT (WHERE || LENGTHS)

// kernels/cpu/cuda_launch.hpp fills it. Strides are in elements; a mask has one byte for each.
struct Beside {
    const unsigned char* where;
    const long long* lengths;  // one a row, in the order of the rows
    long long inner;           // rows of the inner loop, whose strides come as those of rows do
    long long x_outer;
    long long y_outer;
    long long where_outer;
    long long where_inner;
    long long where_step;
};

// Columns of a row that count: `vocab`, or its length; -1 for one that no row can have.
__device__ __forceinline__ long long length_of(const Beside& beside, long long row,
                                               long long vocab) {
#if LENGTHS
    const long long length = beside.lengths[row];
    return length >= 0 && length <= vocab ? length : -1;
#else
    return vocab;
#endif
}

// The bytes of a mask for the elements of a vector, the first lowest.
__device__ __forceinline__ unsigned long long flags_at(const unsigned char* p) {
    if (WIDTH == 8) {
        const uint2 both = __ldg((const uint2*)p);
        return (unsigned long long)both.y << 32 | both.x;
    }
    if (WIDTH == 4) return __ldg((const unsigned*)p);
    if (WIDTH == 2) return __ldg((const unsigned short*)p);
    return __ldg(p);
}
