// softmax and log_softmax of rows that lie side by side in memory, and whose columns fit the
// registers of a block: a strip of rows.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3, the rows kept between its two halves
// Accesses   1 load of x and 1 store of y an element
// Launch     outer * ceil(inner / (SIDE * WIDTH)) blocks of BLOCK_THREADS threads
//
// Row (o, i) has its column j at x[o * x_outer + i * x_inner + j * x_step]. A vector is of
// neighbouring rows: x_inner and y_inner are 1 and WIDTH divides inner, or WIDTH is 1.
//
// LOG            1 for log_softmax
// SIDE          threads side by side, a power of two up to a warp; the rest share their rows
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        columns that a thread holds: VECTORS * BLOCK_THREADS / SIDE hold the row
// MIN_BLOCKS     blocks that must fit a multiprocessor
typedef int Index;

#include "ending.cuh"

constexpr int SHARES = BLOCK_THREADS / SIDE;  // threads of a row
constexpr int WARPS = BLOCK_THREADS / 32;  // a power of two
constexpr int ROWS = SIDE * WIDTH;  // rows of a block
constexpr int NEAR = WIDTH / WORDS;  // rows of a word

// The largest of each row of a word, or NaN.
__device__ __forceinline__ void largest_of_rows(const Vector* v, int word, Real* m) {
#if PAIRED_MAX
    unsigned best = v[0].w[word];
#pragma unroll
    for (int c = 1; c < VECTORS; ++c) best = max_of_pairs(best, v[c].w[word]);
    m[0] = low_of(best);
    m[1] = high_of(best);
#else
#pragma unroll
    for (int e = 0; e < NEAR; ++e) {
        m[e] = number(v[0], word * NEAR + e);
#pragma unroll
        for (int c = 1; c < VECTORS; ++c) m[e] = larger(m[e], number(v[c], word * NEAR + e));
    }
#endif
}

// The sum of all powers but that of the maximum, of one row.
__device__ __forceinline__ Real sum_below(const Vector* v, int e, Real m, const Scale& scale) {
#if LOG
    // Of two numbers the smaller is added, so that the largest is never in the sum.
    const Real base = reference(m);
    Real seen = -infinity();
    Real sum = 0;
#pragma unroll
    for (int c = 0; c < VECTORS; ++c) {
        const Real x = number(v[c], e);
        sum += exp_of_gap(smaller(seen, x) - base, scale);
        seen = larger(seen, x);
    }
    return sum;
#else
    const Origin origin = origin_at(reference(m));
    Real sums[2] = {0, 0};
#pragma unroll
    for (int c = 0; c < VECTORS; ++c) sums[c % 2] += power(origin, number(v[c], e), scale);
    return (sums[0] + sums[1]) * drift(origin) - 1;
#endif
}

// What one row needs for its results; of all rows of a block, shared.
struct __align__(2 * sizeof(Real)) Total {
    Real m;
    Real end;  // factor or log_d
};

__device__ __forceinline__ Total total_of(const Running& all) {
    const Ending ending = ending_of(all);
    return Total{all.m, LOG ? ending.log_d : ending.factor};
}

__device__ __forceinline__ Ending ending_from(const Total& total) {
    return Ending{origin_at(total.m), LOG ? 1 : total.end, total.end};
}

// A word of each vector becomes results of its rows.
template <typename ScaleAt>
__device__ __forceinline__ void finish(Vector* v, int word, const Total* totals, Index lane,
                                       const ScaleAt& scale_at) {
    Ending endings[NEAR];
    Scale scales[NEAR];
#pragma unroll
    for (int e = 0; e < NEAR; ++e) {
        const Index row = lane * WIDTH + word * NEAR + e;
        endings[e] = ending_from(totals[row]);
        scales[e] = scale_at(row);
    }
#pragma unroll
    for (int c = 0; c < VECTORS; ++c) {
        Real out[NEAR];
#pragma unroll
        for (int e = 0; e < NEAR; ++e) {
            const Real x = number(v[c], word * NEAR + e);
            out[e] = unscaled(endings[e], x, scales[e]) * endings[e].factor;
        }
#if PAIRED
        v[c].w[word] = pair_of(out[0], out[1]);
        forget_bits(v[c].w[word]);  // word by word: all rows at once take too many registers
#else
        v[c].w[word] = to_element(out[0]);
#endif
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
softmax_strip(const Element* x, Element* y, long long outer, long long inner, long long vocab,
              long long x_outer, long long x_inner, long long x_step, long long y_outer,
              long long y_inner, long long y_step, double temperature,
              const double* temperatures) {
    // A column more, so that a warp reads the numbers of one row from different banks.
    __shared__ Running scratch[WARPS][ROWS + 1];
    __shared__ Total totals[ROWS];
    const Index lane = threadIdx.x % SIDE;
    const Index share = threadIdx.x / SIDE;
    const Index warp_lane = threadIdx.x % 32;
    const unsigned strips = (unsigned)((inner + ROWS - 1) / ROWS);  // no more than blocks
    const long long o = blockIdx.x / strips;
    const long long begin = (long long)(blockIdx.x % strips) * ROWS;  // the first row of the strip
    const long long i = begin + lane * WIDTH;
    // This thread has the columns share, share + SHARES, ...
    const Index columns = i < inner ? ((Index)vocab - share + SHARES - 1) / SHARES : 0;
    auto scale_at = [&](Index row) {
        const long long inside = begin + row < inner ? begin + row : 0;
        return scale_of(temperature, temperatures, o * inner + inside);
    };

    Vector v[VECTORS];
    const Element* from = x + o * x_outer + i * x_inner + share * x_step;
#pragma unroll
    for (int c = 0; c < VECTORS; ++c, from += SHARES * x_step) {
        v[c] = of_lowest();
        if (c < columns) load_once(*(Bits*)&v[c], from);
    }

#pragma unroll
    for (int word = 0; word < WORDS; ++word) {
        Real m[NEAR];
        largest_of_rows(v, word, m);
#pragma unroll
        for (int e = 0; e < NEAR; ++e) {
            const Index row = lane * WIDTH + word * NEAR + e;
            const Scale scale = scale_at(row);
            Running own{m[e], sum_below(v, word * NEAR + e, m[e], scale)};
#pragma unroll
            for (int step = 16; step >= SIDE; step /= 2) {
                const Real other_m = __shfl_xor_sync(0xffffffffu, own.m, step);
                const Real other_r = __shfl_xor_sync(0xffffffffu, own.r, step);
                own = merge(own, Running{other_m, other_r}, scale);
            }
            if (warp_lane < SIDE) scratch[threadIdx.x / 32][row] = own;
        }
    }
    __syncthreads();  // wrote: each warp its part of all rows; reads: WARPS lanes all of a row
    for (Index at = threadIdx.x; at - warp_lane < ROWS * WARPS; at += BLOCK_THREADS) {
        const Index row = min(at / WARPS, ROWS - 1);
        const bool first = at % WARPS == 0 && at < ROWS * WARPS;
        const Running all = merge_lanes<WARPS>(scratch[at % WARPS][row], scale_at(row));
        if (first) totals[row] = total_of(all);
    }
    __syncthreads();  // wrote: the first lane of each row; reads: every thread its rows

#pragma unroll
    for (int c = 0; c < VECTORS; ++c) forget(v[c]);
#pragma unroll
    for (int word = 0; word < WORDS; ++word) finish(v, word, totals, lane, scale_at);
    Element* to = y + o * y_outer + i * y_inner + share * y_step;
#pragma unroll
    for (int c = 0; c < VECTORS; ++c, to += SHARES * y_step)
        if (c < columns) __stcs((Bits*)to, *(const Bits*)&v[c]);
}
