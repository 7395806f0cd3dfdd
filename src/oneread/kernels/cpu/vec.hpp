// Vectors of one instruction set: the few primitives that differ between them.
//
// Included only by files that are compiled once for each instruction set, with ONEREAD_ISA set to
// its namespace. Nothing here may instantiate a template of the standard library: the linker merges
// such code between builds and would run one instruction set's on a machine that lacks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "count.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define ONEREAD_INLINE inline __attribute__((always_inline))

namespace oneread::ONEREAD_ISA {

// ONEREAD_SCALAR: vectors of one element, whatever the machine has.
#if defined(ONEREAD_SCALAR)
inline constexpr int kVectorBytes = 1;
#elif defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class C>
struct Types;

template <>
struct Types<float> {
  static constexpr int W = kVectorBytes < 4 ? 1 : kVectorBytes / 4;
  using F __attribute__((vector_size(W * 4))) = float;
  using I __attribute__((vector_size(W * 4))) = int32_t;
  using U __attribute__((vector_size(W * 4))) = uint32_t;
};

template <>
struct Types<double> {
  static constexpr int W = kVectorBytes < 8 ? 1 : kVectorBytes / 8;
  using F __attribute__((vector_size(W * 8))) = double;
  using I __attribute__((vector_size(W * 8))) = int64_t;
  using U __attribute__((vector_size(W * 8))) = uint64_t;
};

// One vector of W numbers of the compute type C.
template <class C>
struct Vec : Types<C> {
  using typename Types<C>::F;
  using typename Types<C>::I;
  using Types<C>::W;
  // W numbers in double: what sums are folded into. For C = double it is F itself.
  using Wide __attribute__((vector_size(W * 8))) = double;

  // Not F{} + a: adding would flush a subnormal a.
  static ONEREAD_INLINE F set(C a) { return set_lanes(a, std::make_index_sequence<W>{}); }
  template <size_t... Lane>
  static ONEREAD_INLINE F set_lanes(C a, std::index_sequence<Lane...>) {
    return F{((void)Lane, a)...};
  }
  // A constant that stays in its register through a loop: GCC would load it anew in each round.
  // Only where there are 32 registers.
  static ONEREAD_INLINE F pinned(C a) {
    F v = set(a);
#if defined(__AVX512F__)
    asm("" : "+v"(v));
#elif defined(__aarch64__) && !defined(ONEREAD_SCALAR)
    asm("" : "+w"(v));
#endif
    return v;
  }
  static ONEREAD_INLINE F load(const C* p) {
    F v;
    count_loads(p, W);
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  static ONEREAD_INLINE void store(C* p, F v) {
    count_stores(p, W);
    __builtin_memcpy(p, &v, sizeof v);
  }

  // The larger and the smaller of two. A NaN in `a` is dropped by `hi`, one in `b` comes back from
  // both: these are the rules of MAXPS and MINPS, which the sums rely on.
#if defined(ONEREAD_SCALAR)  // GCC takes vectors of one through general registers here
  static ONEREAD_INLINE F hi(F a, F b) { return F{a[0] > b[0] ? a[0] : b[0]}; }
  static ONEREAD_INLINE F lo(F a, F b) { return F{a[0] < b[0] ? a[0] : b[0]}; }
#elif defined(__AVX512F__)  // GCC compares and selects where it sees how the bits were made
  static ONEREAD_INLINE F hi(F a, F b) {
    if constexpr (sizeof(C) == 4) return (F)_mm512_max_ps((__m512)a, (__m512)b);
    else return (F)_mm512_max_pd((__m512d)a, (__m512d)b);
  }
  static ONEREAD_INLINE F lo(F a, F b) {
    if constexpr (sizeof(C) == 4) return (F)_mm512_min_ps((__m512)a, (__m512)b);
    else return (F)_mm512_min_pd((__m512d)a, (__m512d)b);
  }
#else
  static ONEREAD_INLINE F hi(F a, F b) { return a > b ? a : b; }
  static ONEREAD_INLINE F lo(F a, F b) { return a < b ? a : b; }
#endif

  static ONEREAD_INLINE F fma(F a, F b, F c) {
#if defined(ONEREAD_SCALAR) && defined(__aarch64__)
    if constexpr (sizeof(C) == 4) return F{__builtin_fmaf(a[0], b[0], c[0])};
    else return F{__builtin_fma(a[0], b[0], c[0])};
#elif defined(__AVX512F__)
    if constexpr (sizeof(C) == 4) return (F)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    else return (F)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    if constexpr (sizeof(C) == 4) return (F)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    else return (F)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
    if constexpr (sizeof(C) == 4)
      return (F)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
    else return (F)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return a * b + c;  // two roundings: x86-64-v2 has no fused multiply-add
#endif
  }

  // a * b - p for p = a * b rounded; without FMA by Dekker's splitting, for |a| and |b| whose
  // products with 2^27 are finite.
  static ONEREAD_INLINE F product_error(F a, F b, F p) {
#if defined(__FMA__) || defined(__aarch64__)
    return fma(a, b, -p);
#else
    F splitter = set((C)((1 << (sizeof(C) == 4 ? 12 : 27)) + 1));
    F c = a * splitter, a_high = c - (c - a), a_low = a - a_high;
    c = b * splitter;
    F b_high = c - (c - b), b_low = b - b_high;
    return ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low;
#endif
  }

  static ONEREAD_INLINE bool any(I mask) {
#if defined(ONEREAD_SCALAR)
    return mask[0] != 0;
#elif defined(__AVX512F__)
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_epi8((__m256i)mask) != 0;
#elif defined(__x86_64__)
    return _mm_movemask_epi8((__m128i)mask) != 0;
#elif defined(__aarch64__)
    return vmaxvq_u32((uint32x4_t)mask) != 0;
#endif
  }
  static ONEREAD_INLINE bool any_gt(F a, F b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(C) == 4) return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ) != 0;
    else return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ) != 0;
#else
    return any(a > b);
#endif
  }
  static ONEREAD_INLINE bool any_nan(F a) { return any(a != a); }

  // How often a number was met: a mask's bits are counted beside the vectors, where there are
  // masks.
#if defined(__AVX512F__)
  using Count = size_t;
#else
  using Count = typename Types<C>::I;
#endif
  // v with `none` in the lanes that equal `a`, which are counted.
  static ONEREAD_INLINE F without(F v, F a, F none, Count& count) {
#if defined(__AVX512F__)
    if constexpr (sizeof(C) == 4) {
      __mmask16 k = _mm512_cmp_ps_mask((__m512)v, (__m512)a, _CMP_EQ_OQ);
      count += (size_t)__builtin_popcount(k);
      return (F)_mm512_mask_mov_ps((__m512)v, k, (__m512)none);
    } else {
      __mmask8 k = _mm512_cmp_pd_mask((__m512d)v, (__m512d)a, _CMP_EQ_OQ);
      count += (size_t)__builtin_popcount(k);
      return (F)_mm512_mask_mov_pd((__m512d)v, k, (__m512d)none);
    }
#else
    I equal = v == a;
    count = count - equal;
    return equal ? none : v;
#endif
  }
  static ONEREAD_INLINE void count_below(F v, F bound, bool or_equal, Count& count) {
#if defined(__AVX512F__)
    if constexpr (sizeof(C) == 4) {
      __mmask16 k = or_equal ? _mm512_cmp_ps_mask((__m512)v, (__m512)bound, _CMP_LE_OQ)
                             : _mm512_cmp_ps_mask((__m512)v, (__m512)bound, _CMP_LT_OQ);
      count += (size_t)__builtin_popcount(k);
    } else {
      __mmask8 k = or_equal ? _mm512_cmp_pd_mask((__m512d)v, (__m512d)bound, _CMP_LE_OQ)
                            : _mm512_cmp_pd_mask((__m512d)v, (__m512d)bound, _CMP_LT_OQ);
      count += (size_t)__builtin_popcount(k);
    }
#else
    count = count - (or_equal ? (I)(v <= bound) : (I)(v < bound));
#endif
  }
  // One bit for each lane that is at least `bound`.
  static ONEREAD_INLINE uint32_t at_least(F v, F bound) {
#if defined(__AVX512F__)
    if constexpr (sizeof(C) == 4) return _mm512_cmp_ps_mask((__m512)v, (__m512)bound, _CMP_GE_OQ);
    else return _mm512_cmp_pd_mask((__m512d)v, (__m512d)bound, _CMP_GE_OQ);
#elif defined(__AVX2__)
    if constexpr (sizeof(C) == 4) return (uint32_t)_mm256_movemask_ps((__m256)(I)(v >= bound));
    else return (uint32_t)_mm256_movemask_pd((__m256d)(I)(v >= bound));
#else
    I yes = v >= bound;
    uint32_t bits = 0;
    if (any(yes))
      for (int lane = 0; lane < W; lane++) bits |= (uint32_t)(yes[lane] != 0) << lane;
    return bits;
#endif
  }
  static ONEREAD_INLINE Count count_of(int64_t n) {
#if defined(__AVX512F__)
    return (Count)n;
#else
    Count count{};
    count[0] = n;
    return count;
#endif
  }
  static ONEREAD_INLINE double counted(const Count& count) {
#if defined(__AVX512F__)
    return (double)count;
#else
    return sum_of<W>(__builtin_convertvector(count, Wide));
#endif
  }

  // Fetch the cache line that will soon be written.
  static ONEREAD_INLINE void expect_store(const void* p) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*(const char*)p));
#else
    __builtin_prefetch(p, 1);
#endif
  }

  // Fetch n bytes that will be read in a while into the caches behind the innermost one.
  static ONEREAD_INLINE void expect_loads(const void* p, size_t n) {
    constexpr size_t kLine = 64;
    for (size_t b = 0; b < n; b += kLine) __builtin_prefetch((const char*)p + b, 0, 2);
  }

  // Past the caches; p is aligned to the vector.
  static ONEREAD_INLINE void stream(C* p, F v) {
#if defined(ONEREAD_SCALAR)
    store(p, v);
#elif defined(__AVX512F__)
    _mm512_stream_si512((__m512i*)p, (__m512i)v);
#elif defined(__AVX2__)
    _mm256_stream_si256((__m256i*)p, (__m256i)v);
#elif defined(__x86_64__)
    count_stores(p, W);
    _mm_stream_si128((__m128i*)p, (__m128i)v);
#else
    store(p, v);
#endif
  }

  // Streamed stores are ordered with nothing else until this.
  static ONEREAD_INLINE void end_stream() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
  }

  // The larger, or the sum, of the lower and the upper half of the lanes, and so on to one lane:
  // the order of a tree, the same at every call.
  template <class A, size_t... Lane>
  static ONEREAD_INLINE auto lower(A v, std::index_sequence<Lane...>) {
    return __builtin_shufflevector(v, v, Lane...);
  }
  template <class A, size_t... Lane>
  static ONEREAD_INLINE auto upper(A v, std::index_sequence<Lane...>) {
    return __builtin_shufflevector(v, v, (Lane + sizeof...(Lane))...);
  }
  template <size_t N, class A>
  static ONEREAD_INLINE auto largest_of(A v) {
    if constexpr (N == 1) return v[0];
    else {
      auto a = lower(v, std::make_index_sequence<N / 2>{});
      auto b = upper(v, std::make_index_sequence<N / 2>{});
      return largest_of<N / 2>(a > b ? a : b);
    }
  }
  template <size_t N, class A>
  static ONEREAD_INLINE double sum_of(A v) {
    if constexpr (N == 1) return v[0];
    else
      return sum_of<N / 2>(lower(v, std::make_index_sequence<N / 2>{}) +
                           upper(v, std::make_index_sequence<N / 2>{}));
  }
  static ONEREAD_INLINE C largest(F v) { return largest_of<W>(v); }

  static ONEREAD_INLINE Wide widen(F v) {
    if constexpr (sizeof(C) == 8) return v;
    else return __builtin_convertvector(v, Wide);
  }
  // Lanes added in the order of a tree, the same at every call; `lost` gets what that rounds away.
  static ONEREAD_INLINE double total(Wide v, double* lost) {
    double lane[W];
    __builtin_memcpy(lane, &v, sizeof lane);
    for (int step = W / 2; step > 0; step /= 2)
      for (int i = 0; i < step; i++) {
        double a = lane[i], b = lane[i + step], sum = a + b, part = sum - a;
        *lost += (a - (sum - part)) + (b - part);  // TwoSum
        lane[i] = sum;
      }
    return lane[0];
  }
};

}  // namespace oneread::ONEREAD_ISA
