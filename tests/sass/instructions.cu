// Kernels for the decoder: as many different instructions as a short source brings forth.
// They compute nothing that anyone wants.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

extern "C" __global__ void halves(const u32* a, const u32* b, u32* out) {
    u32 x = a[threadIdx.x], y = b[threadIdx.x], r, s;
    asm("fma.rn.f16x2 %0, %1, %2, %1;" : "=r"(r) : "r"(x), "r"(y));
    asm("add.f16x2 %0, %1, %2;" : "=r"(s) : "r"(r), "r"(y));
    asm("mul.f16x2 %0, %1, %2;" : "=r"(r) : "r"(s), "r"(x));
    asm("{.reg .pred p, q; setp.gt.f16x2 p|q, %1, %2; selp.b32 %0, %1, %2, p;}"
        : "=r"(s) : "r"(r), "r"(x));
    asm("ex2.approx.f16x2 %0, %1;" : "=r"(r) : "r"(s));
    float low, high;
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"
        : "=f"(low), "=f"(high) : "r"(r));
    asm("{.reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}"
        : "=r"(s) : "f"(low + 1), "f"(high * 2));
    out[threadIdx.x] = s;
}

extern "C" __global__ void doubles(const double* a, double* out, float* small, i64* whole) {
    double x = a[threadIdx.x], y = a[threadIdx.x + 32];
    double z = fma(x, y, 2.0) / (y + 1.0);
    if (z > x) z = fmax(z, y) - fmin(x, y);
    out[threadIdx.x] = sqrt(z) + exp(x);
    small[threadIdx.x] = (float)z;
    whole[threadIdx.x] = (i64)x + (int)y;
    out[threadIdx.x + 32] = (double)whole[threadIdx.x + 64] + (double)small[threadIdx.x + 32];
}

extern "C" __global__ void floats(const float* a, float* out, i64* whole) {
    float x = a[threadIdx.x];
    out[0] = sinf(x) + __logf(x) + rsqrtf(x) + tanhf(x) + __powf(x, 3.0f);
    out[1] = truncf(x) + ceilf(x) + roundf(x) + fabsf(x) * copysignf(x, out[2]);
    whole[0] = (i64)x + (u64)out[3];
    out[4] = (float)whole[1] + (float)(u64)whole[2] + (float)(int)whole[3];
    out[5] = __fdividef(x, out[6]) + 1.0f / out[7] + x / out[8] + __frcp_rn(x);
    out[9] = fmaxf(fmaxf(x, out[10]), fminf(out[11], out[12]));
}

extern "C" __global__ void integers(const i64* a, i64* out, int n) {
    i64 x = a[threadIdx.x], y = a[threadIdx.x + 32];
    out[0] = x * y + (x >> 3) - (y << (n & 63)) + x / y + x % (y + 1);
    out[1] = __popcll(x) + __clzll(y) + __brevll(x) + __ffsll(y);
    out[2] = x > y ? max(x, y) : min(x, y);
    int p = (int)x, q = (int)y;
    out[3] = __byte_perm(p, q, 0x3210) + __dp4a(p, q, n) + __funnelshift_l(p, q, n) + abs(p);
    out[4] = p / q + p % (q + 1) + min(max(p, n), q) + (p & q | n ^ p) + __mulhi(p, q);
    out[5] = (signed char)p + (short)q + ((u32)p >> (n & 31)) + (u64)__umulhi(p, q);
    out[6] = __vmaxs2(p, q) + __vabsdiffu4(p, q) + __sad(p, q, n) + (u64)(u32)p * (u32)q;
    out[7] = x < y && p < q || n > 3 && !(x == y);
}

extern "C" __global__ void atomics(int* i, float* f, u64* l, double* d, int n) {
    __shared__ int s[64];
    __shared__ u64 t[64];
    s[threadIdx.x] = n;
    t[threadIdx.x] = n;
    __syncthreads();
    i[8] = atomicAdd(i, n) + atomicCAS(i + 1, n, 3) + atomicExch(i + 2, n) + atomicMax(i + 3, n);
    atomicAdd(i + 4, n);
    atomicAdd(f, 1.0f);
    l[8] = atomicAdd(l, 3ull) + atomicCAS(l + 1, 3ull, 4ull);
    d[8] = atomicAdd(d, 1.0);
    atomicAdd(d + 1, 2.0);
    i[9] = atomicAdd(s + n, 1) + atomicCAS(s + 1, n, 2);
    atomicMin(s + 2, n);
    l[9] = atomicCAS(t + n, 3ull, 4ull) + atomicAdd(t + 1, 1ull);
    __threadfence();
    __syncthreads();
    i[10] = s[n] + (int)t[n];
}

extern "C" __global__ void votes(const int* a, u32* out) {
    int x = a[threadIdx.x];
    out[0] = __ballot_sync(0xffffffff, x > 3) + __any_sync(0xffffffff, x > 4);
    out[1] = __all_sync(0xffffffff, x > 5) + __activemask() + __match_any_sync(0xffffffff, x);
    int pred;
    out[2] = __match_all_sync(0xffffffff, x, &pred) + pred;
    out[3] = __shfl_sync(0xffffffff, x, 3) + __shfl_up_sync(0xffffffff, x, 1)
             + __shfl_down_sync(0xffffffff, x, x & 7) + __shfl_xor_sync(0xffffffff, x, 16);
#if __CUDA_ARCH__ >= 800
    out[4] = __reduce_add_sync(0xffffffff, x) + __reduce_max_sync(0xffffffff, x)
             + __reduce_or_sync(0xffffffff, x);
#endif
    __syncwarp();
    out[5] = __syncthreads_count(x > 2) + __syncthreads_or(x > 1);
    out[6] = clock() + (u32)clock64();
    __nanosleep(20);
}

extern "C" __global__ void tensors(const u32* a, float* out, int* whole, double* wide) {
    __shared__ __align__(128) u32 tile[512];
    tile[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    u32 at = (u32)__cvta_generic_to_shared(tile + threadIdx.x), r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    float c[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]));
    int w[2] = {0, 0};
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+r"(w[0]), "+r"(w[1]) : "r"(r[0]), "r"(r[1]));
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[1]), "r"(r[2]));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, "
                 "{%6,%7}, {%0,%1};"
                 : "+r"(r[0]), "+r"(r[1])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[1]), "r"(r[2]));
    double d[2] = {0, 0};
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(d[0]), "+d"(d[1]) : "d"(wide[0]), "d"(wide[1]));
    wide[2] = d[0] + d[1];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(at), "l"(a));
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
#endif
    out[threadIdx.x] = c[0] + c[1] + c[2] + c[3] + r[0] + r[1];
    whole[threadIdx.x] = w[0] + w[1] + tile[threadIdx.x ^ 1];
}

__constant__ float table[64];

__device__ __noinline__ float callee(const float* a, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * table[i & 63];
    return sum;
}

extern "C" __global__ void flow(const float* a, float* out, int n) {
    float own[16];
    for (int i = 0; i < 16; ++i) own[i] = a[i];
    own[n & 15] = callee(a, n);
    float x = own[(n + 1) & 15];
    switch (n) {
        case 0: x += 1; break;
        case 1: x = sqrtf(x); break;
        case 2: x = callee(out, 3); break;
        case 3: x *= a[7]; break;
        case 4: x = -x; break;
        case 5: out[9] = x; break;
        case 6: x = 4 - x; break;
        case 7: return;
    }
    while (x > 0 && n-- > 0) {
        if (a[n] < 0) continue;
        if (a[n] > 9) break;
        x -= a[n];
    }
    out[threadIdx.x] = x;
}

extern "C" __global__ void wide(const float4* a, float4* b, const char* c, short* d, u64* e) {
    float4 v = a[threadIdx.x];
    v.x += v.y;
    b[threadIdx.x] = v;
    d[threadIdx.x] = c[threadIdx.x] + c[threadIdx.x + 64];
    e[threadIdx.x] = __ldg(e + 64 + threadIdx.x) + ((volatile u64*)e)[128];
    __shared__ float4 s[32];
    s[threadIdx.x] = v;
    __syncthreads();
    float2 w = *(float2*)&s[threadIdx.x ^ 1].y;
    b[threadIdx.x + 32] = make_float4(w.x, w.y, s[31].x, 0);
}
