// Elements of a row in memory: how they become vectors of the compute type, and back.
#pragma once

#include "vec.hpp"

namespace oneread::ONEREAD_ISA {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

// How elements of type E in memory become vectors of the compute type, and back.
template <class E>
struct Element;

template <class C>
struct NativeElement {
  using Compute = C;
  using V = Vec<C>;
  using F = typename V::F;
  static constexpr int W = V::W;

  static ONEREAD_INLINE F load(const C* p) { return V::load(p); }
  static ONEREAD_INLINE void store(C* p, F v) { V::store(p, v); }
  static ONEREAD_INLINE F load_tail(const C* p, int n, C fill) {
    count_loads(p, (size_t)n);
#if defined(__AVX512F__)
    if constexpr (sizeof(C) == 4)
      return (F)_mm512_mask_loadu_ps(_mm512_set1_ps(fill), (__mmask16)((1u << n) - 1), p);
    else return (F)_mm512_mask_loadu_pd(_mm512_set1_pd(fill), (__mmask8)((1u << n) - 1), p);
#else
    C lane[W];
    for (int i = 0; i < W; i++) lane[i] = i < n ? p[i] : fill;
    return V::load(lane);
#endif
  }
  static ONEREAD_INLINE void store_tail(C* p, int n, F v) {
    count_stores(p, (size_t)n);
#if defined(__AVX512F__)
    if constexpr (sizeof(C) == 4) _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
    else _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)v);
#else
    C lane[W];
    V::store(lane, v);
    for (int i = 0; i < n; i++) p[i] = lane[i];
#endif
  }
};

template <>
struct Element<float> : NativeElement<float> {};
template <>
struct Element<double> : NativeElement<double> {};

// 16 bits in memory, computed in float32: Derived widens and narrows one vector.
template <class E, class Derived>
struct NarrowElement {
  using Compute = float;
  using V = Vec<float>;
  using F = V::F;
  using U = V::U;
  static constexpr int W = V::W;
  using U16 __attribute__((vector_size(W * 2))) = uint16_t;

  static ONEREAD_INLINE F load(const E* p) {
    U16 v;
    count_loads(p, W);
    __builtin_memcpy(&v, p, sizeof v);
    return Derived::widen(v);
  }
  static ONEREAD_INLINE void store(E* p, F v) {
    U16 h = Derived::narrow(v);
    count_stores(p, W);
    __builtin_memcpy(p, &h, sizeof h);
  }
  static ONEREAD_INLINE F load_tail(const E* p, int n, float fill) {
    count_loads(p, (size_t)n);
    E lane[W] = {};
    for (int i = 0; i < n; i++) lane[i] = p[i];
    typename V::I column;
    for (int i = 0; i < W; i++) column[i] = i;
    return column < n ? load(lane) : V::set(fill);
  }
  static ONEREAD_INLINE void store_tail(E* p, int n, F v) {
    count_stores(p, (size_t)n);
    E lane[W];
    store(lane, v);
    for (int i = 0; i < n; i++) p[i] = lane[i];
  }
};

template <>
struct Element<Bfloat> : NarrowElement<Bfloat, Element<Bfloat>> {
  using U16Pairs __attribute__((vector_size(W * 4))) = uint16_t;

#if defined(__AVX512F__)
  // In and out of the upper halves by one permutation each. GCC makes two halves of its own
  // conversion, and shifts before and after: 1010 instead of 820 us for 4000 rows of 1000.
  static ONEREAD_INLINE F widen(U16 v) {
    U16Pairs from{};
    for (int i = 0; i < W; i++) from[2 * i] = from[2 * i + 1] = (uint16_t)i;
    return (F)_mm512_maskz_permutexvar_epi16(0xaaaaaaaa, (__m512i)from,
                                             _mm512_castsi256_si512((__m256i)v));
  }
  static ONEREAD_INLINE U16 narrow(F v) {
    U16Pairs from{};
    for (int i = 0; i < W; i++) from[i] = (uint16_t)(2 * i + 1);
    U u = (U)v, half = ((u >> 16) & 1) + 0x7fff, quiet = u | 0x400000;
    __mmask16 number = _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_ORD_Q);
    __m512i bits = _mm512_mask_add_epi32((__m512i)quiet, number, (__m512i)u, (__m512i)half);
    return (U16)_mm512_castsi512_si256(_mm512_permutexvar_epi16((__m512i)from, bits));
  }
#else
  static ONEREAD_INLINE F widen(U16 v) { return (F)(__builtin_convertvector(v, U) << 16); }
  static ONEREAD_INLINE U16 narrow(F v) {
    U u = (U)v;
    U rounded = u + 0x7fff + ((u >> 16) & 1);  // to nearest, ties to even
    U quiet = u | 0x400000;                    // a NaN must not round up to infinity
    return __builtin_convertvector((v == v ? rounded : quiet) >> 16, U16);
  }
#endif
};

template <>
struct Element<Half> : NarrowElement<Half, Element<Half>> {
  static ONEREAD_INLINE F widen(U16 v) {
#if defined(__AVX512F__)
    return (F)_mm512_cvtph_ps((__m256i)v);
#elif defined(__F16C__)
    return (F)_mm256_cvtph_ps((__m128i)v);
#elif defined(__aarch64__) && !defined(ONEREAD_SCALAR)
    return (F)vcvt_f32_f16((float16x4_t)v);
#else
    U h = __builtin_convertvector(v, U);
    U magnitude = (h & 0x7fff) << 13;
    F scaled = (F)magnitude * V::set(0x1p112f);  // moves the exponent's bias, subnormals included
    U special = (U)scaled | 0x7f800000;
    return (F)(((h & 0x7fff) >= 0x7c00 ? special : (U)scaled) | (h & 0x8000) << 16);
#endif
  }
  static ONEREAD_INLINE U16 narrow(F v) {
#if defined(__AVX512F__)
    return (U16)_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
    return (U16)_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__aarch64__) && !defined(ONEREAD_SCALAR)
    return (U16)vcvt_f16_f32((float32x4_t)v);
#else
    U u = (U)v, magnitude = u & 0x7fffffff;
    // 0.5f has a unit of 2^-24, float16's smallest subnormal: adding it rounds there.
    U small = (U)((F)magnitude + V::set(0.5f)) - 0x3f000000;
    U normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23)) >> 13;
    U infinite = U{} + 0x7c00, nan = U{} + 0x7e00;
    U h = magnitude < 0x38800000 ? small : normal;
    h = magnitude >= 0x47800000 ? infinite : h;
    h = magnitude > 0x7f800000 ? nan : h;
    return __builtin_convertvector(h | (u >> 16 & 0x8000), U16);
#endif
  }
};

}  // namespace oneread::ONEREAD_ISA
