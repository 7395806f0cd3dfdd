// Passes that compare but do not sum: block maxima, counts, and the columns above a bound.
#pragma once

#include "vec.hpp"

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
  static bool block_max(const E* x, size_t n, size_t vectors, C* maxima, bool first) {
    const F none = V::set(-(C)__builtin_inf());
    I nan = I{};
    for (size_t i = 0; i < n; maxima += W) {
      F high = first ? none : V::load(maxima);
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
    F bound = V::set(value);
    I count = I{};
    size_t i = 0;
    for (; i + W <= n; i += W) {
      F v = Row::load(x + i);
      count -= or_equal ? (I)(v <= bound) : (I)(v < bound);
    }
    if (i < n) {
      F v = Row::load_tail(x + i, (int)(n - i), __builtin_nan(""));
      count -= or_equal ? (I)(v <= bound) : (I)(v < bound);
    }
    size_t total = 0;
    for (int lane = 0; lane < W; lane++) total += (size_t)count[lane];
    return total;
  }

  static size_t collect(const C* maxima, size_t n, C value, uint32_t* columns) {
    F bound = V::set(value);
    size_t found = 0, i = 0;
    for (; i + W <= n; i += W) {
      if (!V::any(V::load(maxima + i) >= bound)) continue;
      for (int lane = 0; lane < W; lane++)
        if (maxima[i + lane] >= value) columns[found++] = (uint32_t)(i + lane);
    }
    for (; i < n; i++)
      if (maxima[i] >= value) columns[found++] = (uint32_t)i;
    return found;
  }
};

}  // namespace oneread::ONEREAD_ISA
