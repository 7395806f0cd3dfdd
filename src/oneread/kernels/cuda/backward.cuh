// The backward pass of softmax and log_softmax, vector by vector.
//
// LOG  1 for log_softmax
#pragma once
#include "element.cuh"

// What the gradient to logits subtracts: of N vectors the sum of g y, of log_softmax that of g.
template <int N>
__device__ __forceinline__ Real weight_of(const Vector* y, const Vector* g) {
    Real sums[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < N * WIDTH; ++i) {
        const Real gradient = number(g[i / WIDTH], i % WIDTH);
        if (LOG)
            sums[i % 2] += gradient;
        else
            sums[i % 2] = fma(gradient, number(y[i / WIDTH], i % WIDTH), sums[i % 2]);
    }
    return sums[0] + sums[1];
}

__device__ __forceinline__ Vector backward_of(const Vector& y, const Vector& g, Real weight) {
    Real out[WIDTH];
#pragma unroll
    for (int e = 0; e < WIDTH; ++e) {
        if (LOG)
            out[e] = fma(exp_below(number(y, e)), -weight, number(g, e));
        else
            out[e] = number(y, e) * (number(g, e) - weight);
    }
    return scaled(out, 1);
}
