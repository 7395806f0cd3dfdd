// States of the same rows after different columns, brought together.
//
// Algorithm  Milakov & Gimelshein (2018), equation 4, with more sums
// Accesses   1 load of each number of both states and 1 store of each of the result
// Launch     ceil(max(rows, selected) / BLOCK_THREADS) blocks of BLOCK_THREADS threads
//
// With t = (x - m) / temperature, over all columns but one that holds m: r of exp(t), s1 of
// t exp(t), s2 of exp(2 t). What no state keeps is null. The bits are the same whichever state
// comes first.
//
// BLOCK_THREADS  threads of a block, each with a row and a selected column
#include "element.cuh"

// What states are asked to remember of a selected column: not seen, seen, or masked.
constexpr unsigned char UNSEEN = 0;

struct Sums {
    double m, r, s1, s2;
};

struct Moved {
    bool first;     // whether the first state has the larger maximum
    bool tie;       // whether both have it, and it is a number: one of them becomes a column
    bool lost;      // NaN or +inf: t has no value
    double weight;  // exp(step)
    double step;    // t of the lower maximum, an ordinary column now
};

__device__ __forceinline__ Moved moved(const Sums& a, const Sums& b, double m, double temperature) {
    Moved to;
    to.first = a.m > b.m;
    to.tie = a.m == b.m && m > -infinity();
    to.lost = !(m < infinity());
    const double low = to.first ? b.m : a.m;
    to.step = (low - m) / temperature;
    to.weight = low == -infinity() ? 0 : exp(to.step);
    if (to.weight == 0) to.step = 0;  // the limit: t exp(t) of a column at -inf is 0
    return to;
}

// One sum of both: `low` is what that of the lower state has become.
__device__ __forceinline__ double joined(const Moved& to, double a, double b, double low,
                                         double one) {
    if (to.lost) return not_a_number();
    return to.tie ? a + b + one : (to.first ? a : b) + low;
}

__device__ __forceinline__ Sums merge(const Sums& a, const Sums& b, double temperature) {
    const double m = larger(a.m, b.m);
    const Moved to = moved(a, b, m, temperature);
    const Sums& low = to.first ? b : a;
    const double w = to.weight;
    Sums both;
    both.m = m != m ? not_a_number() : m + 0.0;  // all NaN are one, and so are -0 and 0
    both.r = joined(to, a.r, b.r, w * (1 + low.r), 1);
    both.s1 = joined(to, a.s1, b.s1, w * (low.s1 + to.step * (1 + low.r)), 0);
    both.s2 = joined(to, a.s2, b.s2, w * w * (1 + low.s2), 1);
    return both;
}

__device__ __forceinline__ double at(const double* sums, long long row) {
    return sums ? sums[row] : 0;
}

// The column of the maximum of both: NaN before all numbers, of equal ones the first.
__device__ __forceinline__ long long first_of(double m, long long column, double other_m,
                                              long long other) {
    const bool nan = m != m;
    const bool other_nan = other_m != other_m;
    if (m == other_m || (nan && other_nan)) return column < other ? column : other;
    return m > other_m || nan ? column : other;
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS)
online_merge(const double* a_m, double* m, long long rows, long long selected, const double* b_m,
             const double* a_r, const double* b_r, double* r, const double* a_s1,
             const double* b_s1, double* s1, const double* a_s2, const double* b_s2, double* s2,
             const long long* a_column, const long long* b_column, long long* column,
             const unsigned char* a_seen, const unsigned char* b_seen, unsigned char* seen,
             const double* a_logit, const double* b_logit, double* logit, const long long* a_rank,
             const long long* b_rank, long long* rank, double temperature,
             const double* temperatures) {
    const long long i = (long long)blockIdx.x * BLOCK_THREADS + threadIdx.x;
    if (i < rows) {
        const Sums a = {a_m[i], a_r[i], at(a_s1, i), at(a_s2, i)};
        const Sums b = {b_m[i], b_r[i], at(b_s1, i), at(b_s2, i)};
        const Sums both = merge(a, b, temperatures ? temperatures[i] : temperature);
        m[i] = both.m;
        r[i] = both.r;
        if (s1) s1[i] = both.s1;
        if (s2) s2[i] = both.s2;
        if (column) column[i] = first_of(a.m, a_column[i], b.m, b_column[i]);
    }
    if (i < selected) {
        const unsigned char own = a_seen[i];
        const unsigned char other = b_seen[i];
        seen[i] = own > other ? own : other;
        logit[i] = own == UNSEEN ? b_logit[i] : a_logit[i];
        rank[i] = a_rank[i] + b_rank[i];
    }
}
