// All inline PTX. With PLAIN_C defined, the same functions in C, as far as reductions need them.
#pragma once

#ifdef PLAIN_C

#ifndef HAS_PAIRED_MAX
#define HAS_PAIRED_MAX 0
#endif
#define HAS_PAIRED_COUNT HAS_PAIRED_MAX
#define HAS_WARP_MAX 0
#ifndef HAS_CLUSTERS
#define HAS_CLUSTERS 0
#endif

__device__ float exp2_approx(float x) { return exp2f(x); }
__device__ float max_or_nan(float a, float b) { return a > b || a != a ? a : b; }
__device__ void forget_bits(unsigned&) {}

#else

#define HAS_PAIRED_MAX (__CUDA_ARCH__ >= 800)
#define HAS_PAIRED_COUNT (__CUDA_ARCH__ >= 900)
#define HAS_WARP_MAX (__CUDA_ARCH__ >= 800)
#define HAS_CLUSTERS (__CUDA_ARCH__ >= 900)

// 2^x within 2 ulp; results below 2^-126 are 0.
__device__ __forceinline__ float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// The larger number, or NaN if either is one.
__device__ __forceinline__ float max_or_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
#else
    return a > b || a != a ? a : b;
#endif
}

#if HAS_WARP_MAX
// The largest number of a warp, or NaN: as integers that are ordered as the numbers are.
__device__ __forceinline__ float largest_of_warp(float x) {
    const int bits = __float_as_int(max_or_nan(x, x));  // one NaN for all, above infinity
    const int most = __reduce_max_sync(0xffffffffu, bits ^ (bits >> 31 & 0x7fffffff));
    return __int_as_float(most ^ (most >> 31 & 0x7fffffff));
}
#endif

__device__ __forceinline__ float half_to_float(unsigned short h) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(h));
    return y;
}

__device__ __forceinline__ unsigned short float_to_half(float x) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}

__device__ __forceinline__ unsigned short float_to_bfloat(float x) {
#if __CUDA_ARCH__ >= 800
    unsigned short h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
#else
    const unsigned bits = __float_as_uint(x);
    if (x != x) return 0x7fff;
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);  // to even
#endif
}

#if RESULT == BFLOAT16
__device__ __forceinline__ unsigned pair_of(float low, float high) {
#if __CUDA_ARCH__ >= 800
    unsigned y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
#else
    return (unsigned)float_to_bfloat(high) << 16 | float_to_bfloat(low);
#endif
}
#elif RESULT == FLOAT16
__device__ __forceinline__ unsigned pair_of(float low, float high) {
    return (unsigned)float_to_half(high) << 16 | float_to_half(low);
}
#endif

// Of each half the larger number, or NaN; the smaller number, if either is one.
#if HAS_PAIRED_MAX && (ELEMENT == FLOAT16 || ELEMENT == BFLOAT16)
__device__ __forceinline__ unsigned max_of_pairs(unsigned a, unsigned b) {
    unsigned y;
#if ELEMENT == BFLOAT16
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
#else
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
#endif
    return y;
}

__device__ __forceinline__ unsigned min_of_pairs(unsigned a, unsigned b) {
    unsigned y;
#if ELEMENT == BFLOAT16
    asm("min.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
#else
    asm("min.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
#endif
    return y;
}
#endif

#if HAS_PAIRED_COUNT && (ELEMENT == FLOAT16 || ELEMENT == BFLOAT16)
// For each half all bits where that of the pair is not <= the bound's, else none.
__device__ __forceinline__ unsigned above_in_pairs(unsigned pair, unsigned bound) {
    unsigned above;
#if ELEMENT == BFLOAT16
    asm("set.gtu.u32.bf16x2 %0, %1, %2;" : "=r"(above) : "r"(pair), "r"(bound));
#else
    asm("set.gtu.u32.f16x2 %0, %1, %2;" : "=r"(above) : "r"(pair), "r"(bound));
#endif
    return above;
}
#endif

// The same bits, of which the compiler knows nothing any more: what it made of them before it must
// make again, instead of holding it in registers meanwhile.
__device__ __forceinline__ void forget_bits(unsigned& bits) { asm volatile("" : "+r"(bits)); }

// Loads of what is read once: past the first-level cache.
__device__ __forceinline__ void load_once(uint4& v, const void* p) {
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
}

__device__ __forceinline__ void load_once(uint2& v, const void* p) {
    asm volatile("ld.global.L1::no_allocate.v2.u32 {%0,%1}, [%2];"
                 : "=r"(v.x), "=r"(v.y) : "l"(p));
}

__device__ __forceinline__ void load_once(unsigned& v, const void* p) {
    asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(p));
}

__device__ __forceinline__ void load_once(unsigned short& v, const void* p) {
    asm volatile("ld.global.L1::no_allocate.u16 %0, [%1];" : "=h"(v) : "l"(p));
}

// Shared memory that other threads of the block may touch meanwhile.
__device__ __forceinline__ unsigned load_relaxed(const unsigned* p) {
    unsigned v;
    asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];"
                 : "=r"(v) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory");
    return v;
}

__device__ __forceinline__ void store_relaxed(unsigned* p, unsigned v) {
    asm volatile("st.relaxed.cta.shared.u32 [%0], %1;"
                 :: "r"((unsigned)__cvta_generic_to_shared(p)), "r"(v) : "memory");
}

#if __CUDA_ARCH__ >= 800
// What the second-level cache does with a line: keep it for the second pass, or drop it first.
__device__ __forceinline__ unsigned long long keep_policy() {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ unsigned long long drop_policy() {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ void load_hinted(uint4& v, const void* p, unsigned long long policy) {
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p), "l"(policy));
}
#else
__device__ __forceinline__ unsigned long long keep_policy() { return 0; }
__device__ __forceinline__ unsigned long long drop_policy() { return 0; }
__device__ __forceinline__ void load_hinted(uint4& v, const void* p, unsigned long long) {
    load_once(v, p);
}
#endif

#if __CUDA_ARCH__ >= 800
// Copy 16 bytes to shared memory, past the registers; this thread's until it has waited.
__device__ __forceinline__ void begin_copy(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

// What this thread began to copy since the last group, as one more group.
__device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait for all groups of this thread but the last PENDING.
template <int PENDING>
__device__ __forceinline__ void wait_for_groups() {
    asm volatile("cp.async.wait_group %0;" :: "n"(PENDING) : "memory");
}
#endif

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned cluster_rank() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// The place of `p` in the shared memory of another block of the cluster.
template <typename T>
__device__ __forceinline__ T* remote(T* p, unsigned rank) {
    T* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
    return there;
}

// Store two floats at the place of `p` in the shared memory of another block of the cluster.
__device__ __forceinline__ void store_remote(float2* p, unsigned rank, float a, float b) {
    unsigned place;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(place) : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(rank));
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1,%2};"
                 :: "r"(place), "f"(a), "f"(b) : "memory");
}

__device__ __forceinline__ void store_remote(double2* p, unsigned rank, double a, double b) {
    unsigned place;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(place) : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(rank));
    asm volatile("st.shared::cluster.v2.f64 [%0], {%1,%2};"
                 :: "r"(place), "d"(a), "d"(b) : "memory");
}

__device__ __forceinline__ void store_remote(unsigned* p, unsigned rank, unsigned v) {
    unsigned place;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(place) : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(rank));
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(place), "r"(v) : "memory");
}

__device__ __forceinline__ void store_remote(unsigned long long* p, unsigned rank,
                                             unsigned long long v) {
    unsigned place;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(place) : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(rank));
    asm volatile("st.shared::cluster.u64 [%0], %1;" :: "r"(place), "l"(v) : "memory");
}

__device__ __forceinline__ void cluster_arrive_relaxed() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
#endif

#endif  // PLAIN_C
