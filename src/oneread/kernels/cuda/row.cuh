// A row in memory as vectors, the first and the last of which it may share with its neighbours.
//
// ALIGNED  1 when every row begins at a vector's boundary and ends at one, else 0
// Index    numbers the columns of a row
#pragma once
#include "element.cuh"

#if VECTOR_BYTES == 16
typedef uint4 Bits;
#elif VECTOR_BYTES == 8
typedef uint2 Bits;
#elif VECTOR_BYTES == 4
typedef unsigned Bits;
#else
typedef unsigned short Bits;
#endif

// Vectors of a row: column 0 is element `head` of vector 0.
struct Row {
    const Vector* x;
    Vector* y;
    int head;
    Index vocab;
    Index end;  // first vector that is not read or written here
};

// Rows of x and y lie alike: their addresses differ by a multiple of VECTOR_BYTES.
__device__ __forceinline__ Row row_at(const Element* x, Element* y, Index vocab) {
    Row row;
    row.head = ALIGNED ? 0 : (int)((unsigned long long)x % VECTOR_BYTES / sizeof(Element));
    row.x = (const Vector*)(x - row.head);
    row.y = (Vector*)(y - row.head);
    row.vocab = vocab;
    row.end = (row.head + vocab + WIDTH - 1) / WIDTH;
    return row;
}

// Whether all of vector i belongs to this row.
__device__ __forceinline__ bool is_whole(const Row& row, Index i) {
    if (ALIGNED) return i < row.end;
    return i < row.end && (i > 0 || row.head == 0) && (i + 1) * WIDTH <= row.head + row.vocab;
}

// Whether that holds for N vectors from `at`, STEP apart, as nearly always.
template <int N, int STEP>
__device__ __forceinline__ bool are_whole(const Row& row, Index at) {
    return (ALIGNED || at > 0 || row.head == 0) && is_whole(row, at + (N - 1) * STEP);
}

__device__ __forceinline__ bool has(const Row& row, Index i, int e) {
    const Index column = i * WIDTH + e - row.head;
    return i < row.end && column >= 0 && column < row.vocab;
}

// Columns of vector i that the row has, read one by one; -inf in place of the others. Kept apart:
// what is run at most twice a row must not lie in the way of the rest.
__device__ __noinline__ uint4 load_part(const Row row, Index i) {
    Vector v = of_lowest();
#pragma unroll
    for (int e = 0; e < WIDTH; ++e)
        if (has(row, i, e)) set(v, e, ((const Element*)(row.x + i))[e]);
    uint4 bits = {0, 0, 0, 0};
    *(Bits*)&bits = *(Bits*)&v;
    return bits;
}

__device__ __noinline__ void store_part(const Row row, Index i, uint4 bits) {
    const Vector v = *(const Vector*)&bits;
#pragma unroll
    for (int e = 0; e < WIDTH; ++e)
        if (has(row, i, e)) ((Element*)(row.y + i))[e] = element(v, e);
}

// Vector i; -inf where the row has no column.
__device__ __forceinline__ Vector load_edge(const Row& row, Index i) {
    Vector v = of_lowest();
    if (is_whole(row, i)) {
        load_once(*(Bits*)&v, row.x + i);
    } else if (!ALIGNED && i < row.end) {
        const uint4 bits = load_part(row, i);
        v = *(const Vector*)&bits;
    }
    return v;
}

// N vectors from `at`, STEP apart.
template <int N, int STEP>
__device__ __forceinline__ void load(const Row& row, Index at, Vector* v) {
    if (are_whole<N, STEP>(row, at)) {
#pragma unroll
        for (int i = 0; i < N; ++i) load_once(*(Bits*)&v[i], row.x + at + i * STEP);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] = load_edge(row, at + i * STEP);
    }
}

// The same, telling the second-level cache what to do with the lines.
template <int N, int STEP>
__device__ __forceinline__ void load(const Row& row, Index at, Vector* v,
                                     unsigned long long policy) {
#if VECTOR_BYTES == 16
    if (are_whole<N, STEP>(row, at)) {
#pragma unroll
        for (int i = 0; i < N; ++i) load_hinted(*(Bits*)&v[i], row.x + at + i * STEP, policy);
        return;
    }
#endif
    load<N, STEP>(row, at, v);
}

// Results are not read again here: they leave the caches first. `whole` is what are_whole says.
__device__ __forceinline__ void store(const Row& row, Index at, int offset, bool whole,
                                      const Vector& v) {
    if (whole || is_whole(row, at + offset)) {
        __stcs((Bits*)(row.y + at + offset), *(const Bits*)&v);
    } else if (!ALIGNED && at + offset < row.end) {
        uint4 bits = {0, 0, 0, 0};
        *(Bits*)&bits = *(const Bits*)&v;
        store_part(row, at + offset, bits);
    }
}
