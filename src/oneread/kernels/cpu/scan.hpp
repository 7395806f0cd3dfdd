// Passes that compare but do not sum: block maxima, counts, and the columns above a bound.
#pragma once

#include "element.hpp"

namespace oneread::ONEREAD_ISA {

template <class E>
struct Scan {
  using Row = Element<E>;
  using C = typename Row::Compute;
  using V = Vec<C>;
  using F = typename V::F;
  using I = typename V::I;
  static constexpr int W = V::W;

  // A group is one lane of `vectors` consecutive vectors. NaN columns are left out of the maxima
  // and reported.
  static bool block_max(const E* x, size_t n, size_t vectors, C* maxima) {
    I nan = I{};
    for (size_t i = 0; i < n; maxima += W) {
      F high = V::load(maxima);
      size_t end = i + vectors * W < n ? i + vectors * W : n;
      for (; i + W <= end; i += W) {
        F v = Row::load(x + i);
        nan |= v != v;
        high = V::hi(v, high);
      }
      if (i < end) {
        F v = Row::load_tail(x + i, (int)(end - i), -(C)__builtin_inf());
        nan |= v != v;
        high = V::hi(v, high);
        i = end;
      }
      V::store(maxima, high);
    }
    return V::any(nan);
  }

  // n is at most 2^31 lanes' worth, so that 32-bit lane counters of float vectors cannot wrap.
  static size_t count_below(const E* x, size_t n, C value, bool or_equal) {
    return or_equal ? count<true>(x, n, V::set(value)) : count<false>(x, n, V::set(value));
  }
  template <bool kOrEqual>
  static size_t count(const E* x, size_t n, F bound) {
    typename V::Count found[4] = {};
    size_t i = 0;
    for (; i + 4 * W <= n; i += 4 * W)
      for (int u = 0; u < 4; u++)
        V::count_below(Row::load(x + i + u * W), bound, kOrEqual, found[u]);
    for (; i + W <= n; i += W) V::count_below(Row::load(x + i), bound, kOrEqual, found[0]);
    if (i < n)
      V::count_below(Row::load_tail(x + i, (int)(n - i), __builtin_nan("")), bound, kOrEqual,
                     found[0]);
    return (size_t)V::counted((found[0] + found[1]) + (found[2] + found[3]));
  }

  // Columns of x that are at least `value`, in order.
  static size_t collect(const E* x, size_t n, C value, uint32_t* columns) {
    F bound = V::set(value);
    size_t found = 0;
    auto add = [&](uint32_t bits, size_t i) __attribute__((always_inline)) {
      for (; bits; bits &= bits - 1) columns[found++] = (uint32_t)i + (uint32_t)__builtin_ctz(bits);
    };
    size_t i = 0;
    for (; i + W <= n; i += W) add(V::at_least(Row::load(x + i), bound), i);
    if (i < n) add(V::at_least(Row::load_tail(x + i, (int)(n - i), __builtin_nan("")), bound), i);
    return found;
  }
};

}  // namespace oneread::ONEREAD_ISA
