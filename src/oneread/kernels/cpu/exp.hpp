// exp of one vector against a reference, without forming x - max where that would round.
#pragma once

#include "kernels.hpp"
#include "reference.hpp"
#include "vec.hpp"

namespace oneread::ONEREAD_ISA {

// Coefficients of e^r = 1 + r + r^2 q(r) on |r| <= ln 2 / 2, highest power first, from
// tools/fit_exp.py. ln2_high has so few bits that n * ln2_high is exact for every n that occurs.
template <class C>
struct Constants;

template <>
struct Constants<float> {
  static constexpr float q[] = {0.0013814174145281841f, 0.008368921988159429f,
                                0.041668407987603844f, 0.16666518936978114f,
                                0.4999999333338963f};  // relative error 3.2e-9
  static constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 1.4286068203094173e-06f;
  static constexpr int mantissa = 23, bias = 127;
  static constexpr float round = 0x1.8p23f;  // adding it rounds to an integer
  // Largest |x| / t that needs no base. Without FMA n * ln2_high must fit 24 bits of its own.
#if defined(__FMA__) || defined(__aarch64__)
  static constexpr double limit = 62000;
#else
  static constexpr double limit = 350;
#endif
};

template <>
struct Constants<double> {
  static constexpr double q[] = {2.5100666142918374e-08, 2.7620453391695057e-07,
                                 2.7557267868262007e-06, 2.480152052648056e-05,
                                 0.0001984126986343555,  0.0013888888917710368,
                                 0.008333333333329985,   0.04166666666662313,
                                 0.16666666666666669,    0.5000000000000001};  // 1.8e-17
  static constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr double round = 0x1.8p52;
  static constexpr double limit = 700000;
};

// The reference sits 24 powers of two below the maximum it was made from, so that columns down to
// 87 nats below the maximum, plus the 12 nats that it may lag behind, stay in float's normal range.
inline constexpr int kHeadroom = 24;
inline constexpr double kLag = 12;

// About the maximum that the reference was made from, less base / t. Arguments measured from here
// are small where exponentials are large, so that their mean does not cancel.
inline double middle(const Reference& reference) {
  return (double)(reference.exponent + kHeadroom) * kLn2;
}

// Broadcast constants of one reference and temperature.
template <class C>
struct Scale {
  using V = Vec<C>;
  using F = typename V::F;
  using K = Constants<C>;

  bool general;  // false: base = 0 and t = 1, so that x itself is the argument
  F low;         // columns below it give exactly 0
  F magic;       // rounding constant with the biased exponent folded in
  F base, inverse_high, inverse_low, inverse_log2e;
  F point;  // middle(), rounded: what arguments of the moments are measured from

  ONEREAD_INLINE void set(const Reference& reference, double inverse) {
    double n = (double)reference.exponent;
    general = reference.base != 0 || inverse != 1;
    magic = V::set((C)(K::round + K::bias - n));
    low = V::set((C)((n - K::bias) * kLn2 / inverse));
    point = V::set((C)middle(reference));
    base = V::set((C)reference.base);
    C high = (C)inverse;
    inverse_high = V::set(high);
    inverse_low = V::set((C)(inverse - high));
    inverse_log2e = V::set((C)(inverse * kLog2e));
  }
};

template <class C>
ONEREAD_INLINE typename Vec<C>::F exp_polynomial(typename Vec<C>::F r) {
  using V = Vec<C>;
  constexpr auto& q = Constants<C>::q;
  auto p = V::set(q[0]);
  for (size_t i = 1; i < sizeof q / sizeof q[0]; i++) p = V::fma(p, r, V::set(q[i]));
  p = V::fma(p, r, V::set(1));
  return V::fma(p, r, V::set(1));
}

// exp((x - base) / t) * 2^-exponent; `argument`, if asked for, is (x - base) / t - point, finite
// also where x is -inf. A NaN comes through; -inf and columns below the range give exactly 0.
template <class C, bool kGeneral>
ONEREAD_INLINE typename Vec<C>::F exponential(typename Vec<C>::F x, const Scale<C>& scale,
                                              typename Vec<C>::F* argument = nullptr) {
  using V = Vec<C>;
  using K = Constants<C>;
  using F = typename V::F;
  if constexpr (kGeneral) x = x - scale.base;
  x = V::hi(scale.low, x);  // a NaN in x is kept, see Vec::hi
  F shifted = V::fma(x, kGeneral ? scale.inverse_log2e : V::set((C)kLog2e), scale.magic);
  F n = shifted - scale.magic;
  F r;
  if constexpr (kGeneral) {
    r = V::fma(x, scale.inverse_high, n * V::set(-K::ln2_high));
    r = V::fma(x, scale.inverse_low, r);
  } else {
    r = V::fma(n, V::set(-K::ln2_high), x);
  }
  r = V::fma(n, V::set(-K::ln2_low), r);
  if (argument) {
    if constexpr (kGeneral) *argument = V::fma(x, scale.inverse_high, -scale.point);
    else *argument = x - scale.point;
  }
  // The low bits of `shifted` are the biased exponent; 0 there gives the factor +0.
  F power = (F)((typename V::U)shifted << K::mantissa);
  return exp_polynomial<C>(r) * power;
}

}  // namespace oneread::ONEREAD_ISA
