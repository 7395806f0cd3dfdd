// exp of one vector against a reference, without forming x - max where that would round.
#pragma once

#include "element.hpp"
#include "kernels.hpp"
#include "reference.hpp"

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
  // The reference sits this many powers of two below the maximum it was made from, so that columns
  // 115 nats below it still count: at V = 2,000,000 what is lost is below the normal range. With
  // the 12 nats that it may lag, squares stay below 2^115.
  static constexpr int headroom = 40;
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
  static constexpr double q[] = {
      2.5100666142918374e-08, 2.7620453391695057e-07, 2.7557267868262007e-06, 2.480152052648056e-05,
      0.0001984126986343555,  0.0013888888917710368,  0.008333333333329985,   0.04166666666662313,
      0.16666666666666669,    0.5000000000000001};  // 1.8e-17
  static constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr int mantissa = 52, bias = 1023;
  static constexpr int headroom = 400;
  static constexpr double round = 0x1.8p52;
  static constexpr double limit = 700000;
};

// A reference may lag this many nats behind the maximum, so that it seldom moves.
inline constexpr double kLag = 12;

// Times ln 2, about the maximum that the reference was made from, less base / t. Arguments measured
// from here are small where exponentials are large, so that their mean does not cancel.
template <class C>
ONEREAD_INLINE double middle(const Reference& reference) {
  return (double)(reference.exponent + Constants<C>::headroom);
}

// 1 / t as power * (high + low) * more, with powers of two that C can hold. `more` is 1 unless t is
// so small that any difference of logits times power * high is far beyond the range of exp.
template <class C>
struct Inverse {
  C power, high, low, more;

  explicit Inverse(const Temperature& t) {
    constexpr int most = Constants<C>::bias - 1;
    // high stays above 2^-27 of the smallest number, so that the smallest argument over it is
    // finite.
    int first = clamp(t.power, most), second = clamp(t.power - first, most);
    if (second < 27 - most) second = 27 - most;
    double scaled = __builtin_ldexp(t.inverse, second);
    power = (C)__builtin_ldexp(1, first);
    high = (C)scaled;
    low = (C)((scaled - (double)high) + __builtin_ldexp(t.inverse_low, second));
    more = (C)__builtin_ldexp(1, clamp(t.power - first - second, most));
  }
  static int clamp(int e, int most) { return e > most ? most : e < -most ? -most : e; }
};

// Broadcast constants of one reference and temperature.
template <class C>
struct Scale {
  using V = Vec<C>;
  using F = typename V::F;
  using K = Constants<C>;

  bool general;  // false: base = 0 and t = 1, so that x itself is the argument
  F low;         // arguments below it give exactly 0
  F magic;       // rounding constant with the biased exponent folded in
  F point;       // middle() ln 2, rounded: what arguments of the moments are measured from
  // 1 / t = power * (inverse_high + inverse_low), with a power of two: x times that may overflow to
  // -inf, which `low` stops, but neither the inverse nor `low` itself can.
  F base, power, inverse_high, inverse_low, inverse_log2e;

  ONEREAD_INLINE void set(const Reference& reference, const Temperature& t, bool anyway = false) {
    double n = (double)reference.exponent;
    general = anyway || reference.base != 0 || t.t != 1;
    magic = V::set((C)(K::round + K::bias - n));
    point = V::set((C)(middle<C>(reference) * kLn2));
    if (general) return set_general(reference, t);
    low = V::set((C)((n - K::bias) * kLn2));
  }

  // For vectors across rows, each with a reference of its own.
  void set_lane(int lane, const Scale& of) {
    low[lane] = of.low[0], magic[lane] = of.magic[0], point[lane] = of.point[0];
    if (!general) return;
    base[lane] = of.base[0];
  }

 private:
  void set_general(const Reference& reference, const Temperature& t) {
    base = V::set((C)reference.base);
    Inverse<C> inverse(t);
    power = V::set(inverse.power);
    inverse_high = V::set(inverse.high);
    inverse_low = V::set(inverse.low);
    inverse_log2e = V::set((C)((double)inverse.high * kLog2e));
    low = V::set((C)(((double)reference.exponent - K::bias) * kLn2 / (double)inverse.high));
  }
};

// The constants of exp itself, made before a loop that uses them.
template <class C>
struct ExpConstants {
  using V = Vec<C>;
  using K = Constants<C>;
  using F = typename V::F;
  static constexpr size_t kTerms = sizeof K::q / sizeof K::q[0];

  F log2e = V::pinned((C)kLog2e), ln2_high = V::pinned(-K::ln2_high);
  F ln2_low = V::pinned(-K::ln2_low), one = V::pinned(1), q[kTerms];

  ONEREAD_INLINE ExpConstants() {
    for (size_t i = 0; i < kTerms; i++) q[i] = V::pinned(K::q[i]);
  }
};

// `lost`, if asked for, is what the last addition rounds away.
template <class C>
ONEREAD_INLINE typename Vec<C>::F exp_polynomial(typename Vec<C>::F r, const ExpConstants<C>& c,
                                                 typename Vec<C>::F* lost = nullptr) {
  using V = Vec<C>;
  auto p = c.q[0];
  for (size_t i = 1; i < c.kTerms; i++) p = V::fma(p, r, c.q[i]);
  if constexpr (sizeof(C) == 8) {  // rounds once near 1
    auto tail = V::fma(r * r, p, r), e = c.one + tail;
    if (lost) *lost = tail - (e - c.one);  // exact: |tail| < 1
    return e;
  }
  return V::fma(V::fma(p, r, c.one), r, c.one);
}

// exp((x - base) / t) * 2^-exponent; `argument`, if asked for, is (x - base) / t - point, finite
// also where x is -inf. A NaN comes through; -inf and columns below the range give exactly 0.
template <class C, bool kGeneral>
ONEREAD_INLINE typename Vec<C>::F exponential(typename Vec<C>::F x, const Scale<C>& scale,
                                              const ExpConstants<C>& c,
                                              typename Vec<C>::F* argument = nullptr,
                                              typename Vec<C>::F* lost_in_last = nullptr) {
  using V = Vec<C>;
  using F = typename V::F;
  if constexpr (kGeneral) x = (x - scale.base) * scale.power;
  x = V::hi(scale.low, x);  // a NaN in x is kept, see Vec::hi
  F shifted = V::fma(x, kGeneral ? scale.inverse_log2e : c.log2e, scale.magic);
  F n = shifted - scale.magic;
  F z = x, lost = {};  // x / t = z + lost
  if constexpr (kGeneral) {
    z = x * scale.inverse_high;
    lost = V::fma(x, scale.inverse_low, V::product_error(x, scale.inverse_high, z));
  }
  F r = V::fma(n, c.ln2_low, V::fma(n, c.ln2_high, z));
  if constexpr (kGeneral) r = r + lost;
  if (argument) {
    *argument = z - scale.point;
    if constexpr (kGeneral) *argument = *argument + lost;
  }
  // The low bits of `shifted` are the biased exponent; 0 there gives the factor +0.
  F power = (F)((typename V::U)shifted << Constants<C>::mantissa);
  F e = exp_polynomial<C>(r, c, lost_in_last);
  if (lost_in_last) *lost_in_last = *lost_in_last * power;
  return e * power;
}

// log(1 + r) of W numbers that are not negative, within 2 ulp: 2 atanh of (f - 1) / (f + 1), which
// converges fast for f within a factor of sqrt 2 of 1.
ONEREAD_INLINE Vec<double>::F log_sums(Vec<double>::F r) {
  using V = Vec<double>;
  using F = V::F;
  using I = V::I;
  F sum = r + 1, lost = r < 1 ? r - (sum - 1) : 1 - (sum - r);
  I bits = (I)sum, exponent = (bits - 0x3fe6a09e667f3bcd) >> 52;
  F f = (F)(bits - (exponent << 52));
  F u = (f - 1) / (f + 1), square = u * u, p = V::set(2.0 / 19);
  for (int odd = 17; odd >= 1; odd -= 2) p = V::fma(p, square, V::set(2.0 / odd));
  constexpr double magic = 0x1.8p52;
  F n = (F)((I)V::set(magic) + exponent) - magic;
  return n * kLn2High + V::fma(u, p, n * kLn2Low + lost / sum);
}

}  // namespace oneread::ONEREAD_ISA
