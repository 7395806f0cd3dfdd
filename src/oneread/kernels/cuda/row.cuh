// A row in memory as vectors, the first and the last of which it may share with its neighbours.
//
// ALIGNED     1 when every row begins at a vector's boundary and ends at one, else 0
// LINE_BYTES  where vector 0 begins: at a multiple of this, VECTOR_BYTES if left out
// LOOPS       2 when the rows lie in two loops over memory, 1 for one
// WHERE       1 when a mask leaves columns out, 2 when its bytes for a vector are one access, else 0
// LENGTHS     1 when rows may end early
// ABSENT      the vector that stands where a row has no column: of -inf if left out
// Index       numbers the columns of a row
#pragma once
#include "beside.cuh"

#ifndef LINE_BYTES
#define LINE_BYTES VECTOR_BYTES
#endif
#ifndef ABSENT
#define ABSENT of_lowest()
#endif

// Vectors of a row: column 0 is element `head` of those from vector 0 on.
struct Row {
    const Vector* x;
    PieceBits* y;
    int head;
    Index vocab;
    Index whole;      // the first vector whose elements are all of this row,
    Index whole_end;  // the first one after those that is not or is not this block's,
    Index end;        // and the first after all of this block's
#if WHERE
    const unsigned char* where;  // of element 0 of vector 0; 0 leaves one out
#endif
};

// Rows of x and y lie alike: where a vector of x begins, a piece of results does.
__device__ __forceinline__ Row row_at(const Element* x, Result* y, Index vocab) {
    Row row;
    row.head = ALIGNED ? 0 : (int)((unsigned long long)x % LINE_BYTES / sizeof(Element));
    row.x = (const Vector*)(x - row.head);
    row.y = (PieceBits*)(y - row.head);
    row.vocab = vocab;
    row.end = (row.head + vocab + WIDTH - 1) / WIDTH;
    row.whole = ALIGNED ? 0 : (row.head + WIDTH - 1) / WIDTH;
    row.whole_end = ALIGNED ? row.end : (row.head + vocab) / WIDTH;
    return row;
}

// Row `index` of all; one of no columns where that is not `inside`.
__device__ __forceinline__ Row row_of(const Element* x, Result* y, long long index,
                                      long long x_stride, long long y_stride, Index vocab,
                                      bool inside, const Beside& beside) {
    if (!inside) index = 0;
    long long inner = index;
#if LOOPS == 2
    const long long outer = index / beside.inner;
    inner -= outer * beside.inner;
    x += outer * beside.x_outer;
    y += outer * beside.y_outer;
#endif
    Row row = row_at(x + inner * x_stride, y + inner * y_stride, inside ? vocab : 0);
#if WHERE
    row.where = beside.where + inner * beside.where_inner - row.head;
#if LOOPS == 2
    row.where += outer * beside.where_outer;
#endif
#endif
    return row;
}

// The part of a row that is read: what comes before its length.
__device__ __forceinline__ Row until_length(Row row, long long index, const Beside& beside) {
#if LENGTHS
    if (row.vocab > 0) {
        row.vocab = (Index)length_of(beside, index, row.vocab);
        row.whole_end = min(row.whole_end, (row.head + row.vocab) / WIDTH);
        row.end = min(row.end, (row.head + row.vocab + WIDTH - 1) / WIDTH);
    }
#endif
    return row;
}

// Leave a row the vectors of the rank-th of `blocks` that share it; where those begin.
template <int BLOCKS>
__device__ __forceinline__ Index keep_share(Row& row, Index rank) {
    constexpr Index UNIT = BLOCKS * LINE_BYTES / VECTOR_BYTES;
    const Index share = (row.end + UNIT - 1) / UNIT * (LINE_BYTES / VECTOR_BYTES);
    row.end = min(row.end, (rank + 1) * share);
    row.whole_end = min(row.whole_end, row.end);
    return rank * share;
}

// Whether all of vector i belongs to this row.
__device__ __forceinline__ bool is_whole(const Row& row, Index i) {
    return (ALIGNED || i >= row.whole) && i < row.whole_end;
}

// Whether that holds for N vectors from `at`, STEP apart, as nearly always.
template <int N, int STEP>
__device__ __forceinline__ bool are_whole(const Row& row, Index at) {
    return (ALIGNED || at >= row.whole) && at + (N - 1) * STEP < row.whole_end;
}

// Whether some elements of vector i belong to this row and some do not.
__device__ __forceinline__ bool is_part(const Row& row, Index i) {
    return (!ALIGNED || LENGTHS) && i < row.end && i >= row.head / WIDTH && !is_whole(row, i);
}

__device__ __forceinline__ bool has(const Row& row, Index i, int e) {
    const Index column = i * WIDTH + e - row.head;
    return i < row.end && column >= 0 && column < row.vocab;
}

// Whether the mask keeps element e of vector i.
__device__ __forceinline__ bool is_kept(const Row& row, Index i, int e) {
#if WHERE
    return row.where[i * WIDTH + e] != 0;
#else
    return true;
#endif
}

// Whether the mask keeps a column.
__device__ __forceinline__ bool keeps(const Row& row, Index column) {
#if WHERE
    return row.where[row.head + column] != 0;
#else
    return true;
#endif
}

__device__ __forceinline__ const Element* columns_of(const Row& row) {
    return (const Element*)row.x + row.head;
}

// Put -inf where the mask leaves a column out. All of vector i belongs to the row.
__device__ __forceinline__ void leave_out(const Row& row, Index i, Vector& v) {
#if WHERE == 2
    const unsigned long long flags = flags_at(row.where + i * WIDTH);
#pragma unroll
    for (int e = 0; e < WIDTH; ++e)
        if (!(flags >> 8 * e & 0xff)) set(v, e, lowest());
#elif WHERE
#pragma unroll
    for (int e = 0; e < WIDTH; ++e)
        if (!is_kept(row, i, e)) set(v, e, lowest());
#endif
}

// Columns of vector i that the row has, read one by one; ABSENT in place of the others. Kept apart:
// what is run at most twice a row must not lie in the way of the rest.
__device__ __noinline__ uint4 part_bits(const Row row, Index i) {
    Vector v = ABSENT;
#pragma unroll
    for (int e = 0; e < WIDTH; ++e)
        if (has(row, i, e) && is_kept(row, i, e)) set(v, e, ((const Element*)(row.x + i))[e]);
    uint4 bits = {0, 0, 0, 0};
    *(Bits*)&bits = *(Bits*)&v;
    return bits;
}

__device__ __forceinline__ Vector load_part(const Row& row, Index i) {
    const uint4 bits = part_bits(row, i);
    return *(const Vector*)&bits;
}

// A piece of the results of vector i, those that the row has.
__device__ __noinline__ void store_part(const Row row, Index i, int piece, uint4 bits) {
    Result* to = (Result*)(row.y + i * PIECES + piece);
    const Result* from = (const Result*)&bits;
#pragma unroll
    for (int e = 0; e < WIDTH / PIECES; ++e)
        if (has(row, i, piece * (WIDTH / PIECES) + e)) to[e] = from[e];
}

// How a vector is read: once and no more, or with word for the second-level cache.
struct Once {
    __device__ __forceinline__ void operator()(Vector& v, const Vector* p) const {
        load_once(*(Bits*)&v, p);
    }
};

struct Hinted {
    unsigned long long policy;
    __device__ __forceinline__ void operator()(Vector& v, const Vector* p) const {
#if VECTOR_BYTES == 16
        load_hinted(*(Bits*)&v, p, policy);
#else
        load_once(*(Bits*)&v, p);
#endif
    }
};

// Vector i, read once; ABSENT where the row has no column.
__device__ __forceinline__ Vector load_edge(const Row& row, Index i) {
    if (is_part(row, i)) return load_part(row, i);
    Vector v = ABSENT;
    if (!is_whole(row, i)) return v;
    Once()(v, row.x + i);
    leave_out(row, i, v);
    return v;
}

// N vectors from `at`, STEP apart; ABSENT where the row has no column. All that is whole is asked for
// before a part is waited for.
template <int N, int STEP, typename Read = Once>
__device__ __forceinline__ void load(const Row& row, Index at, Vector* v, Read read = Read()) {
    if (are_whole<N, STEP>(row, at)) {
#pragma unroll
        for (int i = 0; i < N; ++i) read(v[i], row.x + at + i * STEP);
#pragma unroll
        for (int i = 0; i < N; ++i) leave_out(row, at + i * STEP, v[i]);
        return;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        v[i] = ABSENT;
        if (is_whole(row, at + i * STEP)) read(v[i], row.x + at + i * STEP);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const Index place = at + i * STEP;
        if (is_part(row, place))
            v[i] = load_part(row, place);
        else if (WHERE && is_whole(row, place))
            leave_out(row, place, v[i]);
    }
}

// Results are not read again here: they leave the caches FIRST, where that is not slower.
template <bool FIRST>
__device__ __forceinline__ void put(PieceBits* to, const PieceBits& bits) {
    if (FIRST)
        __stcs(to, bits);
    else
        *to = bits;
}

__device__ __forceinline__ void put_part(const Row& row, Index i, int piece,
                                         const PieceBits& given) {
    uint4 bits = {0, 0, 0, 0};
    *(PieceBits*)&bits = given;
    store_part(row, i, piece, bits);
}

// Results of twice the width of vector i, which is next to that of the lane beside. The lanes
// exchange halves, so that both write to one vector at a time: a warp's access fills whole sectors.
// All lanes of a warp must be here.
template <bool FIRST>
__device__ __forceinline__ void store_halves(const Row& row, Index i, const uint4* halves) {
    const int odd = (int)threadIdx.x % 2;
    uint4 away = halves[1];
    if (odd) away = halves[0];
    away.x = __shfl_xor_sync(0xffffffffu, away.x, 1);
    away.y = __shfl_xor_sync(0xffffffffu, away.y, 1);
    away.z = __shfl_xor_sync(0xffffffffu, away.z, 1);
    away.w = __shfl_xor_sync(0xffffffffu, away.w, 1);
    const uint4 mine[2] = {odd ? away : halves[0], odd ? halves[1] : away};
#pragma unroll
    for (int p = 0; p < 2; ++p) {
        const Index place = i - odd + p;
        PieceBits* to = row.y + place * 2 + odd;
        if (is_whole(row, place))
            put<FIRST>(to, *(const PieceBits*)&mine[p]);
        else if (is_part(row, place))
            put_part(row, place, odd, *(const PieceBits*)&mine[p]);
    }
}

// `whole` is what are_whole says.
template <bool FIRST = true>
__device__ __forceinline__ void store(const Row& row, Index at, int offset, bool whole,
                                      const Output& output) {
    static_assert(PIECES <= 2, "results are at most twice as wide as what they are made of");
    if constexpr (PIECES == 2) {
        store_halves<FIRST>(row, at + offset, (const uint4*)&output);
    } else {
        const PieceBits& bits = *(const PieceBits*)&output;
        PieceBits* to = row.y + at + offset;
        if (whole || is_whole(row, at + offset))
            put<FIRST>(to, bits);
        else if (is_part(row, at + offset))
            put_part(row, at + offset, 0, bits);
    }
}
