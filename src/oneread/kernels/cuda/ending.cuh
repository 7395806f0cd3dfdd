// The second half of Algorithm 3: from the maximum and normalizer of a row to its results.
//
// LOG  1 for log_softmax, 0 for softmax
#pragma once
#include "running.cuh"

// x becomes its power below the origin times `factor`, or its distance from there less `log_d`.
struct Ending {
    Origin origin;
    Real factor;
    Real log_d;
};

// NaN for a row whose maximum is infinite or NaN.
__device__ __forceinline__ Ending ending_of(const Running& all) {
    const Origin origin = origin_at(all.m);
    const bool regular = fabs(all.m) < infinity();
#if LOG
    return Ending{origin, 1, regular ? log_one_plus(all.r) : not_a_number()};
#else
    return Ending{origin, regular ? drift(origin) / (1 + all.r) : not_a_number(), 0};
#endif
}

// What x becomes, but for the factor.
__device__ __forceinline__ Real unscaled(const Ending& ending, Real x, const Scale& scale) {
#if LOG
    return over_temperature(x - ending.origin.m, scale) - ending.log_d;
#else
    return power(ending.origin, x, scale);
#endif
}

__device__ __forceinline__ Output output_of(const Ending& ending, const Vector& v,
                                            const Scale& scale) {
    Real out[WIDTH];
#pragma unroll
    for (int e = 0; e < WIDTH; ++e) out[e] = unscaled(ending, number(v, e), scale);
    return scaled(out, ending.factor);
}
