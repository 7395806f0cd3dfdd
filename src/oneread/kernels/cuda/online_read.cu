// Everything that is shorter than the row, from one read of it: logsumexp, maximum and its column,
// selected log-probabilities and their place, entropy, sum of squared probabilities.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3, lines 1 to 6, with more sums
// Accesses   1 load of x an element; of the vectors among which the maximum is one more for ARGMAX
// Launch     ceil(rows / (BLOCK_THREADS / ROW_THREADS)) * CLUSTER blocks of BLOCK_THREADS threads
//
// Row i begins at x[i / inner * x_outer + i % inner * x_inner].
//
// ARGMAX         1 when it is asked for; further switches are in results.cuh
// RANKS          how many selected columns of a row get their place, from the first
// ROW_THREADS    threads that share a row, a power of two: less than BLOCK_THREADS up to a warp
// BLOCK_THREADS  threads of a block, a multiple of 32
// VECTORS        vectors that a thread loads at a time
// CLUSTER        blocks that share a row
// MIN_BLOCKS     blocks that must fit a multiprocessor
typedef long long Index;

#include "place.cuh"
#include "results.cuh"

constexpr int ROWS = BLOCK_THREADS / ROW_THREADS;  // rows of a block
constexpr int WARPS = BLOCK_THREADS / 32;
static_assert(ROWS == 1 || ROW_THREADS <= 32, "several rows a block: each within a warp");
static_assert(ROWS == 1 || CLUSTER == 1, "a cluster shares one row");

// Of a number of each thread of the row; scratch is for this alone.
template <class Join>
__device__ __forceinline__ long long joined(long long a, long long* scratch) {
    constexpr int LANES = ROWS > 1 ? ROW_THREADS : 32;
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        a = Join::of(a, __shfl_xor_sync(0xffffffffu, a, step, LANES));
    if (ROWS > 1 || WARPS * CLUSTER == 1) return a;
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
#if CLUSTER > 1
    if (lane == 0)
        store_remote((float2*)&scratch[cluster_rank() * WARPS + warp], 0,
                     __int_as_float((int)a), __int_as_float((int)(a >> 32)));
    cluster_arrive();
    cluster_wait();  // wrote: each warp into the first block; reads: all of it
#else
    if (lane == 0) scratch[warp] = a;
    __syncthreads();  // wrote: lane 0 of each warp; reads: all
#endif
    a = scratch[0];
    for (int i = 1; i < WARPS * CLUSTER; ++i) a = Join::of(a, scratch[i]);
    return a;
}

// Whether a column of the row, which has `vocab` with those beyond its length, is not left out. One
// that lies elsewhere is not.
__device__ __forceinline__ bool is_in(const Row& row, Index vocab, long long column) {
    return !LEAVES_OUT || column < 0 || column >= vocab ||
           (column < row.vocab && keeps(row, column));
}

// The number in a column of the row: -inf in one left out, NaN where there is none.
__device__ __forceinline__ Real number_in(const Row& row, Index vocab, long long column) {
    if (column < 0 || column >= vocab) return not_a_number();
    return is_in(row, vocab, column) ? to_real(columns_of(row)[column]) : -infinity();
}

#if RANKS
// The logit of a selected column: given, or where the row has it.
__device__ __forceinline__ Real logit_of(const Row& row, Index vocab, long long column,
                                         const double* logits, long long place) {
#if STATE
    return row.vocab ? (Real)logits[place] : (Real)0;
#else
    return column >= 0 && column < vocab ? number_in(row, vocab, column) : (Real)0;
#endif
}
#endif

#if ARGMAX
// The first column that holds m, or NaN, of N vectors from `at`, STEP apart.
template <int N, int STEP>
__device__ __noinline__ Index first_of(const Row row, Index at, Real m) {
    Index found = NOWHERE;
    for (int i = N - 1; i >= 0; --i) {
        Vector v;
        load<1, STEP>(row, at + i * STEP, &v);
#pragma unroll
        for (int e = WIDTH - 1; e >= 0; --e) {
            const Real x = number(v, e);
            if (has(row, at + i * STEP, e) && (x == m || (x != x && m != m)))
                found = (at + i * STEP) * WIDTH + e - row.head;
        }
    }
    return found;
}

// The first column that is not left out, of every THREADS-th from `first`.
template <int THREADS>
__device__ __noinline__ Index first_kept(const Row row, Index first) {
    for (Index j = first; j < row.vocab; j += THREADS)
        if (keeps(row, j)) return j;
    return NOWHERE;
}
#endif

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(BLOCK_THREADS, MIN_BLOCKS)
online_read(const Element* x, void* result, long long rows, long long inner, long long vocab,
            long long x_outer, long long x_inner, long long selects, Real* max, long long* argmax,
            const long long* select, const double* logits, Real* selected, long long* rank,
            Real* entropy, Real* sum_p2,
            double temperature, const double* temperatures, const Beside beside) {
    __shared__ Moments scratch[WARPS * CLUSTER];
#if RANKS || ARGMAX
    __shared__ long long counts[(RANKS + ARGMAX) * WARPS * CLUSTER];
#endif
#if CLUSTER > 1
    cluster_arrive_relaxed();
    const Index index = blockIdx.x / CLUSTER;
    const Index member = cluster_rank() * BLOCK_THREADS + threadIdx.x;
    const Index first = (Index)cluster_rank() * BLOCK_THREADS * VECTORS + threadIdx.x;
#else
    const Index index = (Index)blockIdx.x * ROWS + threadIdx.x / ROW_THREADS;
    const Index member = threadIdx.x % ROW_THREADS;
    const Index first = member;
#endif
    // Lanes of a row beyond the last stay, with nothing: their warp merges together.
    const bool inside = index < rows;
    const Scale scale = scale_of(temperature, temperatures, inside ? index : 0);
    const Index outer = index < inner ? 0 : index / inner;
    const Index in_loop = index - outer * inner;
    const Element* columns = x + (inside ? outer * x_outer + in_loop * x_inner : 0);
    Row row = row_at(columns, nullptr, inside ? vocab : 0);
#if WHERE
    if (inside)
        row.where = beside.where + outer * beside.where_outer + in_loop * beside.where_inner -
                    row.head;
#endif
    row = until_length(row, index, beside);

#if RANKS
    Place places[RANKS];
#pragma unroll
    for (int k = 0; k < RANKS; ++k) {
        const long long column = inside ? select[index * selects + k] : -1;
        const Real logit = logit_of(row, vocab, column, logits, index * selects + k);
        places[k] = place_of(row.head, row.vocab, column, logit);
    }
#endif

    constexpr Index STEP = (Index)ROW_THREADS * VECTORS * CLUSTER;
    MomentStream stream = no_moments();
#if ARGMAX
    Index best = first;  // where this thread's largest came in
#endif
    for (Index at = first; at < row.end; at += STEP) {
        Vector v[VECTORS];
        load<VECTORS, ROW_THREADS>(row, at, v);
#if RANKS
#pragma unroll
        for (int k = 0; k < RANKS; ++k) count<VECTORS, ROW_THREADS>(places[k], at, v);
#endif
#if ARGMAX
        const Real before = top(stream);
#endif
        absorb<VECTORS>(stream, v, scale);
#if ARGMAX
        if (before == before && !(top(stream) <= before)) best = at;
#endif
    }
    const Moments own = total(stream, scale);
#if CLUSTER > 1
    cluster_wait();  // every block has started
    Moments all = merge_blocks<WARPS, CLUSTER>(own, scale, scratch);
#else
    Moments all = ROWS > 1 ? merge_lanes<ROW_THREADS>(own, scale)
                                 : merge_warps<WARPS>(own, scale, scratch);
#endif

#if RANKS
#pragma unroll
    for (int k = 0; k < RANKS; ++k) {
        const long long place = index * selects + k;
        const long long column = inside ? select[place] : -1;
        const Real logit = logit_of(row, vocab, column, logits, place);
        Index before = places[k].count;
#if LEAVES_OUT
        const Index columns_here = inside ? vocab : 0;
        if (logit == -infinity())
            before = count_lowest<ROW_THREADS * CLUSTER>(row, columns_here, member, column,
                                                         is_in(row, columns_here, column));
        else
#endif
        if (logit != logit)
            before = count_nans<ROW_THREADS * CLUSTER>(row, member, within(row.vocab, column));
        else if (member == 0)
            before += rest(row, places[k].vector, within(row.vocab, column), logit);
        before = joined<Sum>(before, counts + k * WARPS * CLUSTER);
        if (inside && member == 0)
            rank[place] = STATE || (column >= 0 && column < vocab) ? before : -1;
    }
#endif
#if ARGMAX
    const bool holds = own.m == all.m || (own.m != own.m && all.m != all.m);
    Index found = NOWHERE;
    if (LEAVES_OUT && all.m == -infinity())
        found = first_kept<ROW_THREADS * CLUSTER>(row, member);
    else if (holds)
        found = first_of<VECTORS, ROW_THREADS>(row, best, all.m);
    const long long column = joined<Least>(found, counts + RANKS * WARPS * CLUSTER);
    // Of columns that are all left out the first one.
    if (inside && member == 0) argmax[index] = STATE || column != NOWHERE ? column : 0;
#endif
    if (LENGTHS && row.vocab < 0) all.m = not_a_number();

    if (!inside) return;
#if !STATE
    if (selected) {
        for (long long j = member; j < selects; j += ROW_THREADS * CLUSTER) {
            const long long place = index * selects + j;
            selected[place] = log_probability(all, number_in(row, vocab, select[place]), scale);
        }
    }
#endif
    if (member == 0) write_row(Results{result, max, entropy, sum_p2}, index, rows, all, scale);
}
