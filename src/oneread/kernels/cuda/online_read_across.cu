// What online_read.cu does, of rows whose neighbours lie side by side in memory.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3, lines 1 to 6, with more sums
// Accesses   1 load of x an element; of the columns among which the maximum is one more for ARGMAX
// Launch     outer * ceil(inner / SIDE) blocks of SIDE * SHARES threads
//
// Row (o, i) has its column j at x[o * x_outer + i * x_inner + j * x_step]. A warp reads one column
// of SIDE rows at a time, side by side where x_inner is 1.
//
// ARGMAX  1 when it is asked for; further switches are in results.cuh
// RANKS   how many selected columns of a row get their place, from the first
// SIDE    rows of a block
// SHARES  threads that share a row, each with every SHARES-th column
// AHEAD   columns that a thread loads at a time
typedef long long Index;

#include "place.cuh"
#include "results.cuh"

static_assert(VECTOR_BYTES == sizeof(Element), "neighbours of a column belong to other rows");

// Of a number of each thread of the row: all get the same.
template <class Join>
__device__ __forceinline__ long long joined(long long a, long long (*room)[SIDE]) {
    const int lane = (int)threadIdx.x % SIDE;
    room[threadIdx.x / SIDE][lane] = a;
    __syncthreads();  // wrote: each thread its own; reads: the shares of its row
    a = room[0][lane];
    for (int s = 1; s < SHARES; ++s) a = Join::of(a, room[s][lane]);
    __syncthreads();  // read: the shares of each row; writes: the next to be joined
    return a;
}

extern "C" __global__ void __launch_bounds__(SIDE * SHARES)
online_read_across(const Element* x, void* result, long long outer, long long inner,
                   long long vocab, long long x_outer, long long x_inner, long long x_step,
                   long long selects, Real* max, long long* argmax, const long long* select,
                   const double* logits, Real* selected, long long* rank, Real* entropy,
                   Real* sum_p2, double temperature, const double* temperatures,
                   const Beside beside) {
    __shared__ Moments scratch[SHARES][SIDE];
#if RANKS || ARGMAX
    __shared__ long long room[SHARES][SIDE];
#endif
    const Index lane = threadIdx.x % SIDE;
    const Index share = threadIdx.x / SIDE;
    const Index groups = (inner + SIDE - 1) / SIDE;
    const Index o = blockIdx.x / groups;
    const Index i = blockIdx.x % groups * SIDE + lane;
    const bool inside = i < inner;
    const Index index = inside ? o * inner + i : o * inner;
    const Scale scale = scale_of(temperature, temperatures, index);
    const Element* columns = x + o * x_outer + (inside ? i * x_inner : 0);
#if WHERE
    const unsigned char* where = beside.where + o * beside.where_outer + i * beside.where_inner;
#endif
    const Index end = inside ? length_of(beside, index, vocab) : 0;
    // Of columns that the row has, with those beyond its length.
    auto is_in = [&](Index j) {
#if WHERE
        if (j < end && !where[j * beside.where_step]) return false;
#endif
        return j < end;
    };
    auto number_in = [&](Index j) { return is_in(j) ? to_real(columns[j * x_step]) : -infinity(); };
    auto exists = [&](Index j) { return inside && j >= 0 && j < vocab; };

#if RANKS
    Place places[RANKS];
#pragma unroll
    for (int k = 0; k < RANKS; ++k) {
        const long long column = select[index * selects + k];
#if STATE
        const Real logit = (Real)logits[index * selects + k];
#else
        const Real logit = exists(column) ? number_in(column) : (Real)0;
#endif
        places[k] = place_of(0, vocab, column, logit);
    }
#endif

    MomentStream stream = no_moments();
#if ARGMAX
    Index best = share;  // where this thread's largest came in
#endif
    for (Index j = share; j < end; j += SHARES * AHEAD) {
        Vector v[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a)
            v[a].w[0] = is_in(j + a * SHARES) ? columns[(j + a * SHARES) * x_step] : lowest();
#if RANKS
#pragma unroll
        for (int k = 0; k < RANKS; ++k) count<AHEAD, SHARES>(places[k], j, v);
#endif
#if ARGMAX
        const Real before = top(stream);
#endif
        absorb<AHEAD>(stream, v, scale);
#if ARGMAX
        if (before == before && !(top(stream) <= before)) best = j;
#endif
    }
    const Moments own = total(stream, scale);
    scratch[share][lane] = own;
    __syncthreads();  // wrote: each thread its own; reads: the shares of its row
    Moments all = scratch[0][lane];
    for (int s = 1; s < SHARES; ++s) all = merge(all, scratch[s][lane], scale);

#if RANKS
#pragma unroll
    for (int k = 0; k < RANKS; ++k) {
        const long long column = select[index * selects + k];
        Index before = places[k].count;
        const Real logit = to_real(places[k].right);
        if (logit != logit) {  // before a NaN come other NaNs to its left alone
            before = 0;
            for (Index j = share; j < (inside ? within(end, column) : 0); j += SHARES)
                before += number_in(j) != number_in(j);
        }
#if LEAVES_OUT
        // Columns left out look like -inf and come last.
        if (logit == -infinity()) {
            before = 0;
            const bool kept = !exists(column) || is_in(column);
            for (Index j = share; j < (inside ? vocab : 0); j += SHARES)
                before += kept ? is_in(j) && (j < column || !(number_in(j) <= -infinity()))
                               : is_in(j) || j < column;
        }
#endif
        before = joined<Sum>(before, room);
        if (inside && share == 0)
            rank[index * selects + k] = STATE || exists(column) ? before : -1;
    }
#endif
#if ARGMAX
    Index found = NOWHERE;
    if (LEAVES_OUT && all.m == -infinity())
        for (Index j = share; j < end && found == NOWHERE; j += SHARES) {
            if (is_in(j)) found = j;
        }
    else if (own.m == all.m || (own.m != own.m && all.m != all.m))
        for (int a = AHEAD - 1; a >= 0; --a) {
            const Index j = best + a * SHARES;
            if (j >= end) continue;
            const Real value = number_in(j);
            if (value == all.m || (value != value && all.m != all.m)) found = j;
        }
    found = joined<Least>(found, room);
    // Of columns that are all left out the first one.
    if (inside && share == 0) argmax[index] = STATE || found != NOWHERE ? found : 0;
#endif
    if (LENGTHS && end < 0) all.m = not_a_number();

    if (!inside) return;
#if !STATE
    if (selected) {
        for (long long j = share; j < selects; j += SHARES) {
            const long long at = select[index * selects + j];
            const Real value = exists(at) ? number_in(at) : not_a_number();
            selected[index * selects + j] = log_probability(all, value, scale);
        }
    }
#endif
    if (share == 0)
        write_row(Results{result, max, entropy, sum_p2}, index, outer * inner, all, scale);
}
