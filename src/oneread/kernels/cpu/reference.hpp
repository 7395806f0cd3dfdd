// Arithmetic of references: how far one is from another.
//
// Included by vector code and by drivers alike, each in its own namespace (ONEREAD_ISA), so that no
// machine ever runs another instruction set's copy.
#pragma once

#include "kernels.hpp"

namespace oneread::ONEREAD_ISA {

inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
inline constexpr double kLog2e = 0x1.71547652b82fep+0;

// from - to in nats, at the temperature 1 / inverse.
inline double nats_between(const Reference& from, const Reference& to, double inverse) {
  return (from.base - to.base) * inverse + (double)(from.exponent - to.exponent) * kLn2;
}

// e^(from - to): a power of two, hence exact, when both have the same base.
inline double ratio(const Reference& from, const Reference& to, double inverse) {
  if (from.base == to.base) {
    int64_t power = from.exponent - to.exponent;
    return power < -1100 ? 0 : power > 1000 ? __builtin_inf() : __builtin_ldexp(1, (int)power);
  }
  return __builtin_exp(nats_between(from, to, inverse));
}

}  // namespace oneread::ONEREAD_ISA
