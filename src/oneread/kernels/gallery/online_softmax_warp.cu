// Online softmax, a row a warp: 16-byte loads, one rescaling for four columns, shuffles.
//
// Algorithm  Milakov & Gimelshein (2018), Algorithm 3 four columns at a time, equation 4 by lanes
// Passes     2
// Accesses   2 loads of x and 1 store of y an element, 16 bytes at a time between the ends
// Budget     56 registers, no shared memory, no barrier
// Launch     ceil(rows / WARPS) blocks of 32 WARPS threads; x and y begin at multiples of 16 bytes

#include <math.h>

#ifndef WARPS
#define WARPS 4  // warps of a block, each with a row of its own
#endif
static_assert(WARPS >= 1 && WARPS <= 32, "a block has at most 1024 threads");

// Of some columns: m their maximum, d the sum of exp(x - m). Of none: (-inf, 0).
struct MD {
    float m;
    float d;
};

// Return the number to subtract: m, or 0 as long as all is -inf, when -inf - m has no value.
__device__ float base_of(float m) { return m == -INFINITY ? 0.0f : m; }

// Return the MD of the columns of a and b together (equation 4).
__device__ MD merge(MD a, MD b) {
    const float m = fmaxf(a.m, b.m);
    const float base = base_of(m);
    return MD{m, a.d * expf(a.m - base) + b.d * expf(b.m - base)};
}

// Return the MD of the columns of a and four more.
__device__ MD merge4(MD a, float4 v) {
    const float m = fmaxf(a.m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    const float base = base_of(m);
    const float sum = (expf(v.x - base) + expf(v.y - base)) + (expf(v.z - base) + expf(v.w - base));
    return MD{m, a.d * expf(a.m - base) + sum};
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
online_softmax_warp(const float* __restrict__ x, float* __restrict__ y, int rows, int vocab) {
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= rows) return;  // a whole warp, and no barrier follows
    const size_t offset = (size_t)row * vocab;
    const float* x_row = x + offset;
    float* y_row = y + offset;

    // [0 .. head) lies before the first multiple of 16 bytes, [tail .. vocab) after the last
    const int head = min(vocab, (int)((4 - offset % 4) % 4));
    const int quads = (vocab - head) / 4;
    const int tail = head + 4 * quads;
    const float4* x_quads = reinterpret_cast<const float4*>(x_row + head);
    float4* y_quads = reinterpret_cast<float4*>(y_row + head);

    // Pass 1: md is that of this lane's columns so far
    MD md = MD{-INFINITY, 0.0f};
    if (lane < head) md = merge(md, MD{x_row[lane], 1.0f});
    for (int q = lane; q < quads; q += 32) md = merge4(md, x_quads[q]);
    if (tail + lane < vocab) md = merge(md, MD{x_row[tail + lane], 1.0f});

    for (int s = 16; s > 0; s /= 2) {
        // any 32 / (2s) lanes whose numbers are alike modulo 2s hold the row between them
        const MD other = MD{__shfl_xor_sync(0xffffffff, md.m, s),
                            __shfl_xor_sync(0xffffffff, md.d, s)};
        md = merge(md, other);
    }
    const float m = md.m;
    const float d = md.d;

    // Pass 2
    if (lane < head) y_row[lane] = expf(x_row[lane] - m) / d;
    for (int q = lane; q < quads; q += 32) {
        const float4 v = x_quads[q];
        y_quads[q] = make_float4(expf(v.x - m) / d, expf(v.y - m) / d, expf(v.z - m) / d,
                                 expf(v.w - m) / d);
    }
    if (tail + lane < vocab) y_row[tail + lane] = expf(x_row[tail + lane] - m) / d;
}
