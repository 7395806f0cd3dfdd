// What is made of the sums of a row, and how numbers of threads are joined.
//
// ENTROPY, SUM_P2  1 when it is asked for
// STATE            1 to write, in place of results, the sums that they are made of
#pragma once
#include "moments.cuh"

struct Results {
    void* first;  // lse of each row; of a state the maxima, then each sum of all rows, in double
    Real* max;
    Real* entropy;
    Real* sum_p2;
};

__device__ __forceinline__ bool is_regular(const Moments& all) {
    return fabs(all.m) < infinity();
}

__device__ __forceinline__ Real log_probability(const Moments& all, Real x, const Scale& scale) {
    return is_regular(all) ? over_temperature(x - all.m, scale) - log_one_plus(all.sum[0])
                           : not_a_number();
}

__device__ __forceinline__ void write_row(const Results& to, long long index, long long rows,
                                          const Moments& all, const Scale& scale) {
#if STATE
    double* state = (double*)to.first;
    state[index] = all.m;
#pragma unroll
    for (int k = 0; k < SUMS; ++k) state[(k + 1) * rows + index] = all.sum[k];
#else
    const bool regular = is_regular(all);
    const Real d = regular ? 1 + all.sum[0] : not_a_number();
    const Real log_d = regular ? log_one_plus(all.sum[0]) : not_a_number();
    const Real m = over_temperature(all.m, scale);
    // An infinite maximum is the result, and so is NaN.
    ((Real*)to.first)[index] = regular ? m + log_d : m;
    to.max[index] = m;
#if ENTROPY
    to.entropy[index] = log_d - all.sum[S1] / d;
#endif
#if SUM_P2
    to.sum_p2[index] = (1 + all.sum[S2]) / d / d;
#endif
#endif
}

struct Sum {
    static __device__ long long of(long long a, long long b) { return a + b; }
};
struct Least {
    static __device__ long long of(long long a, long long b) { return a < b ? a : b; }
};
constexpr long long NOWHERE = 0x7fffffffffffffff;  // beyond any column
