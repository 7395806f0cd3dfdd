// Arithmetic of references and temperatures in double, with what a plain formula would round away.
//
// Included by vector code and by drivers alike, each in its own namespace (ONEREAD_ISA), so that no
// machine ever runs another instruction set's copy.
#pragma once

#include "kernels.hpp"

namespace oneread::ONEREAD_ISA {

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
inline constexpr double kLog2e = 0x1.71547652b82fep+0;

// A number in two parts: high rounded, low what is missing.
struct Pair {
  double high, low;
};

// (a - b) / t to about twice the precision of double.
inline Pair scaled_difference(double a, double b, const Temperature& t) {
  // Quarters where the difference or twice it would overflow, though its quotient need not.
  int power = t.power;
  if (__builtin_fabs(a) > 0x1p1000 || __builtin_fabs(b) > 0x1p1000) {
    a *= 0.25, b *= 0.25, power += 2;
  }
  double d = a - b, back = d - a;
  double lost = (a - (d - back)) - (b + back);  // TwoSum
  double z = d * t.inverse;
  double low = __builtin_fma(d, t.inverse, -z) + (d * t.inverse_low + lost * t.inverse);
  if (power) z = __builtin_ldexp(z, power), low = __builtin_ldexp(low, power);
  return {z, __builtin_isfinite(low) && __builtin_isfinite(z) ? low : 0};
}

// ln 2 in two parts, the first one short enough that its product with an exponent is exact.
inline constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

// a - n ln 2.
inline double minus_nats(double a, double n) { return (a - n * kLn2High) - n * kLn2Low; }

inline double exp_of(const Pair& z) {
  double e = __builtin_exp(z.high);
  return e + e * z.low;
}

// A power that ldexp takes, beyond the range of any type where the given one is.
inline int clamped(int64_t power) {
  return power > 40000 ? 40000 : power < -40000 ? -40000 : (int)power;
}

inline double number(const Scaled& s) {
  if (s.power == 0) return s.value;
  if (s.power > -400 && s.power < 400 && s.value > 0x1p-500 && s.value < 0x1p500) {
    double two_to_the_power;  // a call of ldexp takes as long as a short row's exponentials
    uint64_t bits = (uint64_t)(1023 + s.power) << 52;
    __builtin_memcpy(&two_to_the_power, &bits, sizeof bits);
    return s.value * two_to_the_power;
  }
  return __builtin_ldexp(s.value, clamped(s.power));
}

// s / d, with what the division rounds away.
inline Scaled divided(const Scaled& s, double d) {
  double q = s.value / d;
  return {q, s.power, (__builtin_fma(-q, d, s.value) + s.low) / d};
}

// e^z 2^power to an ulp or two, however large z and power are while their product is not.
inline Scaled exp_times_power(const Pair& z, int64_t power) {
  double n = __builtin_rint(z.high * kLog2e);
  if (!(n > -0x1p20)) return {0, 0};
  if (!(n < 0x1p20)) return {__builtin_exp(z.high + (double)power * kLn2), 0};
  return {exp_of({minus_nats(z.high, n), z.low}), (int64_t)n + power};
}

// e^z 2^power, right to nearly the last bit of the widest type; 0 below its range.
inline long double wide_exp_times_power(const Pair& z, int64_t power) {
  double n = __builtin_rint(z.high * kLog2e);
  if (!(n > -0x1p20)) return 0;
  long double rest = (z.high - (long double)n * kLn2High) - (long double)n * kLn2Low;
  return __builtin_ldexpl(__builtin_expl(rest + z.low), clamped((int64_t)n + power));
}

// from - to in nats.
inline double nats_between(const Reference& from, const Reference& to, const Temperature& t) {
  double bases = from.base == to.base ? 0 : scaled_difference(from.base, to.base, t).high;
  return bases + (double)(from.exponent - to.exponent) * kLn2;
}

// e^(from - to): a power of two, hence exact, when both have the same base.
inline Scaled ratio(const Reference& from, const Reference& to, const Temperature& t) {
  int64_t power = from.exponent - to.exponent;
  if (from.base == to.base) return {1, power};
  return exp_times_power(scaled_difference(from.base, to.base, t), power);
}

// log(1 + r). Several times faster than log1p.
inline double log_sum(double r) {
  double sum = 1 + r, lost = r < 1 ? r - (sum - 1) : 1 - (sum - r);
  return __builtin_log(sum) + lost / sum;
}

// e^((x - m) / t).
inline double exp_difference(double x, double m, const Temperature& t) {
  return exp_of(scaled_difference(x, m, t));
}

}  // namespace oneread::ONEREAD_ISA
