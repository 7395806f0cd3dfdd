// softmax, log_softmax and logsumexp of rows whose neighbours lie side by side in memory.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3
// Accesses   2 loads of x, of which a cache may serve the second, and 1 store of y an element; for
//            logsumexp 1 load
// Launch     outer * ceil(inner / SIDE) blocks of SIDE * SHARES threads
//
// Row (o, i) has its column j at x[o * x_outer + i * x_inner + j * x_step]. A warp reads one column
// of SIDE rows at a time, side by side where x_inner is 1.
//
// OP      0 softmax, 1 log_softmax, 2 logsumexp
// SIDE    rows of a block
// SHARES  threads that share a row, each with every SHARES-th column
// AHEAD   columns that a thread loads at a time
typedef long long Index;

#define LOG (OP == 1)
#include "beside.cuh"
#include "ending.cuh"

static_assert(VECTOR_BYTES == sizeof(Element), "neighbours of a column belong to other rows");

extern "C" __global__ void __launch_bounds__(SIDE * SHARES)
softmax_across(const Element* x, void* result, long long outer, long long inner, long long vocab,
               long long x_outer, long long x_inner, long long x_step, long long y_outer,
               long long y_inner, long long y_step, double temperature,
               const double* temperatures, const Beside beside) {
    __shared__ Running scratch[SHARES][SIDE];
    const Index lane = threadIdx.x % SIDE;
    const Index share = threadIdx.x / SIDE;
    const Index groups = (inner + SIDE - 1) / SIDE;
    const Index o = blockIdx.x / groups;
    const Index i = blockIdx.x % groups * SIDE + lane;
    const bool inside = i < inner;
    const Scale scale =
        scale_of(temperature, temperatures, inside ? o * inner + i : o * inner);
    const Element* x_row = x + o * x_outer + i * x_inner;
#if WHERE
    const unsigned char* where = beside.where + o * beside.where_outer + i * beside.where_inner;
#endif
    // Columns from here on, and those that the mask leaves out, count as -inf.
    const Index length = inside ? length_of(beside, o * inner + i, vocab) : 0;
    auto column = [&](Index j) {
#if WHERE
        if (j < length && !where[j * beside.where_step]) return lowest();
#endif
        return j < length ? x_row[j * x_step] : lowest();
    };

    Stream stream = nothing();
    if (inside) {
        for (Index j = share; j < length; j += SHARES * AHEAD) {
            Vector v[AHEAD];
#pragma unroll
            for (int a = 0; a < AHEAD; ++a) v[a].w[0] = column(j + a * SHARES);
            absorb<AHEAD>(stream, v, scale);
        }
    }
    scratch[share][lane] = total(stream, scale);
    __syncthreads();  // wrote: each thread its own; reads: the shares of its row
    Running all = scratch[0][lane];
    for (int s = 1; s < SHARES; ++s) all = merge(all, scratch[s][lane], scale);
    if (!inside) return;

#if OP == 2
    const bool regular = fabs(all.m) < infinity();
    const Real top = length < 0 ? not_a_number() : all.m;
    if (share == 0)
        ((Real*)result)[o * inner + i] =
            regular ? over_temperature(all.m, scale) + log_one_plus(all.r) : top;
#else
    Result* y_row = (Result*)result + o * y_outer + i * y_inner;
    const Ending ending = ending_of(all);
    // From the end: what was read last is the likeliest to be in a cache.
    const Index turns = (vocab - share + SHARES * AHEAD - 1) / (SHARES * AHEAD);
    for (Index turn = turns - 1; turn >= 0; --turn) {
        const Index j = share + turn * SHARES * AHEAD;
        Element e[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a)
            if (j + a * SHARES < vocab) e[a] = column(j + a * SHARES);
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) {
            if (j + a * SHARES >= vocab) continue;
            const Real y = unscaled(ending, to_real(e[a]), scale) * ending.factor;
            y_row[(j + a * SHARES) * y_step] = to_result(y);
        }
    }
#endif
}
