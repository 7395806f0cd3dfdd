// Online softmax, a row a thread: Algorithm 3 line by line, for reading its machine code.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3; the structure of the SASS note's kernel
// Passes     2
// Accesses   2 loads of x and 1 store of y an element
// Budget     40 registers, no shared memory, no barrier
// Launch     rows blocks of 32 threads, of which the first works
// Limits     31 of 32 lanes are idle: a specimen, not a way to compute softmax

#include <float.h>

extern "C" __global__ void __launch_bounds__(32)
online_softmax_single_thread(const float* __restrict__ x, float* __restrict__ y, int vocab) {
    if (threadIdx.x != 0) return;
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    // m = max(x_row[0 .. j)), d = sum of exp(x_row[i] - m) over i < j.
    // The lowest number stands for "nothing yet": -inf would make -inf - -inf of a first -inf.
    // It is right here because nothing but the row's own columns enters d; see docs/fault-zoo.md.
    float m = -FLT_MAX;
    float d = 0.0f;
    for (int j = 0; j < vocab; ++j) {
        const float v = x_row[j];
        const float m_new = m > v ? m : v;          // line 4; NaN replaces m
        d = d * expf(m - m_new) + expf(v - m_new);  // line 5
        m = m_new;
    }

    for (int i = 0; i < vocab; ++i) y_row[i] = expf(x_row[i] - m) / d;  // line 8
}
