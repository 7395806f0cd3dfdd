// What kernels do besides softmax: tiles, stencils, histograms, sorting networks, matrices.

#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void transpose(const float* x, float* y, int n) {
    __shared__ float tile[32][33];
    const int i = blockIdx.y * 32 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = x[(i + k) * n + j];
    __syncthreads();
    const int r = blockIdx.x * 32 + threadIdx.y, c = blockIdx.y * 32 + threadIdx.x;
    for (int k = 0; k < 32; k += 8) y[(r + k) * n + c] = tile[threadIdx.x][threadIdx.y + k];
}

template <class T, int TILE>
__global__ void product(const T* a, const T* b, T* c, int n) {
    __shared__ T left[TILE][TILE], right[TILE][TILE];
    const int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    T sum = T(0);
    for (int k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[i * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + j];
        __syncthreads();
        for (int l = 0; l < TILE; ++l) sum += left[threadIdx.y][l] * right[l][threadIdx.x];
        __syncthreads();
    }
    c[i * n + j] = sum;
}
template __global__ void product<float, 16>(const float*, const float*, float*, int);
template __global__ void product<double, 16>(const double*, const double*, double*, int);
template __global__ void product<int, 32>(const int*, const int*, int*, int);
template __global__ void product<__half, 8>(const __half*, const __half*, __half*, int);

extern "C" __global__ void tensor_product(const __half* a, const __half* b, float* c, int n) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> left;
    fragment<matrix_b, 16, 16, 16, __half, col_major> right;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        load_matrix_sync(left, a + blockIdx.y * 16 * n + k, n);
        load_matrix_sync(right, b + blockIdx.x * 16 * n + k, n);
        mma_sync(sum, left, right, sum);
    }
    store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, mem_row_major);
}

extern "C" __global__ void heat(const float* x, float* y, int width, int height) {
    const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1 || j < 1 || i >= height - 1 || j >= width - 1) return;
    const float* c = x + i * width + j;
    y[i * width + j] = c[0] + 0.1f * (c[1] + c[-1] + c[width] + c[-width] - 4.0f * c[0]);
}

extern "C" __global__ void histogram(const unsigned char* x, unsigned* counts, int n) {
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[x[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&counts[i], local[i]);
}

extern "C" __global__ void bitonic(int* x) {
    __shared__ int items[256];
    items[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    for (int size = 2; size <= 256; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            const int other = threadIdx.x ^ step;
            const int mine = items[threadIdx.x], theirs = items[other];
            const bool up = (threadIdx.x & size) == 0;
            __syncthreads();
            if ((mine > theirs) == (up == (threadIdx.x < other))) items[threadIdx.x] = theirs;
        }
    __syncthreads();
    x[blockIdx.x * 256 + threadIdx.x] = items[threadIdx.x];
}

extern "C" __global__ void bodies(const float4* place, float4* speed, int n) {
    const float4 mine = place[blockIdx.x * blockDim.x + threadIdx.x];
    float3 pull = make_float3(0, 0, 0);
    for (int i = 0; i < n; ++i) {
        const float4 p = place[i];
        const float dx = p.x - mine.x, dy = p.y - mine.y, dz = p.z - mine.z;
        const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
        const float weight = p.w * inverse * inverse * inverse;
        pull.x += weight * dx;
        pull.y += weight * dy;
        pull.z += weight * dz;
    }
    speed[blockIdx.x * blockDim.x + threadIdx.x] = make_float4(pull.x, pull.y, pull.z, 0);
}

extern "C" __global__ void mandelbrot(int* y, int width, float scale) {
    const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    const float cr = j * scale - 2.0f, ci = i * scale - 1.0f;
    float a = 0, b = 0;
    int steps = 0;
    while (a * a + b * b < 4.0f && steps < 1000) {
        const float next = a * a - b * b + cr;
        b = 2 * a * b + ci;
        a = next;
        ++steps;
    }
    y[i * width + j] = steps;
}

extern "C" __global__ void collatz(unsigned long long* x) {
    unsigned long long v = x[threadIdx.x], steps = 0;
    while (v != 1) {
        v = v % 2 ? 3 * v + 1 : v / 2;
        ++steps;
    }
    x[threadIdx.x] = steps;
}

extern "C" __global__ void greatest_divisor(unsigned* x, const unsigned* y) {
    unsigned a = x[threadIdx.x], b = y[threadIdx.x];
    while (b) {
        const unsigned rest = a % b;
        a = b;
        b = rest;
    }
    x[threadIdx.x] = a;
}

extern "C" __global__ void random_walk(unsigned* state, float* y, int steps) {
    unsigned s = state[threadIdx.x];
    float place = 0;
    for (int i = 0; i < steps; ++i) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        place += (s & 1) ? 1.0f : -1.0f;
    }
    state[threadIdx.x] = s;
    y[threadIdx.x] = place;
}

extern "C" __global__ void layer_norm(const float* x, float* y, int n) {
    const float* row = x + (size_t)blockIdx.x * n;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        sum += row[i];
        squares += row[i] * row[i];
    }
    for (int s = 16; s > 0; s /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, s);
        squares += __shfl_xor_sync(0xffffffff, squares, s);
    }
    const float mean = sum / n, inverse = rsqrtf(squares / n - mean * mean + 1e-5f);
    for (int i = threadIdx.x; i < n; i += 32) y[(size_t)blockIdx.x * n + i] = (row[i] - mean) * inverse;
}

extern "C" __global__ void gelu(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

extern "C" __global__ void embed(const int* ids, const float4* table, float4* y, int width) {
    const float4* row = table + (size_t)ids[blockIdx.x] * width;
    for (int i = threadIdx.x; i < width; i += blockDim.x) y[(size_t)blockIdx.x * width + i] = row[i];
}

extern "C" __global__ void rotary(float2* x, const float* angles, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s, c;
    sincosf(angles[i], &s, &c);
    x[i] = make_float2(x[i].x * c - x[i].y * s, x[i].x * s + x[i].y * c);
}

extern "C" __global__ void quantize(const float* x, signed char* y, float scale, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (signed char)max(-128, min(127, __float2int_rn(x[i] * scale)));
}

extern "C" __global__ void dot_bytes(const int* a, const int* b, int* c, int n) {
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum = __dp4a(a[i], b[i], sum);
#if __CUDA_ARCH__ >= 800
    sum = __reduce_add_sync(0xffffffff, sum);
#endif
    c[threadIdx.x] = sum;
}

extern "C" __global__ void votes(const int* x, unsigned* y) {
    const int v = x[threadIdx.x];
    const unsigned some = __ballot_sync(0xffffffff, v > 0);
    y[threadIdx.x] = __popc(some) + __any_sync(0xffffffff, v == 7) + __match_any_sync(0xffffffff, v);
}

extern "C" __global__ void half_pairs(const __half2* x, const __half2* y, __half2* z, int n) {
    __half2 sum = __float2half2_rn(0);
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum = __hfma2(x[i], y[i], __hmax2(sum, x[i]));
    z[threadIdx.x] = h2exp2(sum);
}

extern "C" __global__ void last_block(const float* x, float* y, unsigned* done, int n) {
    __shared__ bool is_last;
    y[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    if (threadIdx.x == 0) is_last = atomicInc(done, gridDim.x) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += y[i];
    if (threadIdx.x == 0) y[0] = sum;
}

extern "C" __global__ void interpreter(const int* code, float* x, int n) {
    float v = x[threadIdx.x];
    for (int i = 0; i < n; ++i) switch (code[i]) {
            case 0: v += 1; break;
            case 1: v *= 2; break;
            case 2: v = sqrtf(v); break;
            case 3: v = -v; break;
            case 4: v = sinf(v); break;
            case 5: v = 1 / v; break;
            case 6: v = logf(v); break;
            default: v = 0;
        }
    x[threadIdx.x] = v;
}

__device__ __noinline__ int ackermann(int m, int n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursive(int* x) { x[threadIdx.x] = ackermann(2, x[threadIdx.x] & 7); }

extern "C" __global__ void timed(long long* y, float* x, int n) {
    const long long start = clock64();
    float v = x[threadIdx.x];
    for (int i = 0; i < n; ++i) v = v * 1.5f + 0.5f;
    x[threadIdx.x] = v;
    y[threadIdx.x] = clock64() - start;
}

extern "C" __global__ void watched(volatile int* flag, int* x) {
    while (*flag == 0) __nanosleep(100);
    x[threadIdx.x] = *flag;
    __trap();
}

extern "C" __global__ void shared_doubles(double* x, int n) {
    extern __shared__ double row[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = x[i];
    __syncthreads();
    double sum = 0;
    for (int i = 0; i < n; ++i) sum = fma(row[i], row[n - 1 - i], sum);
    x[threadIdx.x] = sqrt(sum) / exp(sum);
}

extern "C" __global__ void bytes(uchar4* x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const uchar4 v = x[i];
        x[i] = make_uchar4(v.w, min(v.x + v.y, 255), v.z >> 1, v.y ^ v.x);
    }
}

extern "C" __global__ void wide(unsigned long long* x) {
    const unsigned long long a = x[threadIdx.x], b = x[threadIdx.x + 32];
    x[threadIdx.x] = __umul64hi(a, b) + a * b + a / (b | 1) + (a << (b & 63));
}

extern "C" __global__ void nothing() {}
