// Sums of many terms, in double or wider.
#pragma once

#include "vec.hpp"

namespace oneread::ONEREAD_ISA {

// W running sums in double; for C = double with the rounding errors beside them (TwoSum).
template <class C>
struct WideSum {
  using V = Vec<C>;
  using Wide = typename V::Wide;
  Wide high, low;

  ONEREAD_INLINE void clear() { high = low = Wide{}; }
  ONEREAD_INLINE void add(Wide v) {
    if constexpr (sizeof(C) == 4) {
      high = high + v;
    } else {
      Wide sum = high + v, part = sum - high;
      low = low + ((high - (sum - part)) + (v - part));
      high = sum;
    }
  }
  // In two steps: the factor may be below the normal range, where it would be flushed.
  ONEREAD_INLINE void multiply(const Scaled& factor) {
    int64_t half = factor.power / 2;
    double first = number({factor.value, half}), second = number({1, factor.power - half});
    high = high * first * second;
    low = low * first * second;
  }
  long double wide_total() const {
    double lost = 0, none = 0, sum = V::total(high, &lost);
    return (long double)sum + (lost + V::total(low, &none));
  }
  ONEREAD_INLINE double total() const {
    if constexpr (sizeof(C) == 4) return V::template sum_of<V::W>(high);  // of floats: exact enough
    double lost = 0, none = 0, sum = V::total(high, &lost);
    return sum + (lost + V::total(low, &none));
  }
};

}  // namespace oneread::ONEREAD_ISA
