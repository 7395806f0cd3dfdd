// The last pass over a row: exponentials or logits in, probabilities or log-probabilities out.
#pragma once

#include "exp.hpp"

namespace oneread::ONEREAD_ISA {

template <class E>
struct Output {
  using Row = Element<E>;
  using C = typename Row::Compute;
  using V = Vec<C>;
  using F = typename V::F;
  static constexpr int W = V::W;

  // y[i] = map(load(i), ...) for a whole row; load and map work on vectors. Streaming stores are
  // only offered where memory holds the compute type.
  template <class In, class Map>
  static ONEREAD_INLINE void transform(const In* x, E* y, size_t n, bool streaming, Map map) {
    size_t i = 0;
    if constexpr (sizeof(E) == sizeof(C)) {
      if (streaming) {
        size_t head = (size_t)(-(uintptr_t)y & (kVectorBytes - 1)) / sizeof(C);
        head = head < n ? head : n;
        if (head) Row::store_tail(y, (int)head, map(Element<In>::load_tail(x, (int)head, 0)));
        for (i = head; i + W <= n; i += W) V::stream((C*)y + i, map(Element<In>::load(x + i)));
        V::end_stream();
      }
    }
    for (; i + 4 * W <= n; i += 4 * W)
      for (size_t u = 0; u < 4; u++)
        Row::store(y + i + u * W, map(Element<In>::load(x + i + u * W)));
    for (; i + W <= n; i += W) Row::store(y + i, map(Element<In>::load(x + i)));
    if (i < n) {
      int lanes = (int)(n - i);
      Row::store_tail(y + i, lanes, map(Element<In>::load_tail(x + i, lanes, 0)));
    }
  }

  // e times a factor that is known to more digits than C has, so that the product is rounded once:
  // a row with one column left is exactly 1.
  // `second` is a power of two, 1 unless the factor is below the normal range: products of an early
  // segment need not be.
  struct Factor {
    F high, low, step, second;
    bool small;

    explicit Factor(const Scaled& factor) {
      constexpr int half = Constants<C>::bias / 2;
      small = factor.power < -half;
      int64_t power = factor.power + (small ? half : 0);
#if !defined(__FMA__) && !defined(__aarch64__)
      int own;  // high within [0.5, 1), so that parts of it are normal numbers, too
      (void)__builtin_frexp(factor.value, &own);
      step = V::set((C)number({1, power + own}));
      power = -own;
#endif
      double first = number({factor.value, power});
      high = V::set((C)first);
      low = V::set((C)((first - (double)(C)first) + number({factor.low, power})));
      second = V::set((C)(small ? __builtin_ldexp(1, -half) : 1));
    }

    ONEREAD_INLINE F operator()(F e) const {
#if defined(__FMA__) || defined(__aarch64__)
      return V::fma(e, high, e * low);
#else
      // The error's parts must not be flushed either; below, the last bit may differ.
      F p = e * high, lost = V::product_error(e, high, p) + e * low;
      constexpr int least = Constants<C>::bias - 3 * Constants<C>::mantissa;
      return (p + (p > V::set((C)__builtin_ldexp(1, -least)) ? lost : F{})) * step;
#endif
    }
  };

  static void scale(const C* e, E* y, size_t n, const Scaled& factor, bool streaming) {
    Factor f(factor);
    if (f.small)
      transform(e, y, n, streaming,
                [&f](F v) __attribute__((always_inline)) { return f(v) * f.second; });
    else transform(e, y, n, streaming, [&f](F v) __attribute__((always_inline)) { return f(v); });
  }

  static void exp_scale(const E* x, E* y, size_t n, const Reference& reference,
                        const Temperature& t, const Scaled& factor) {
    Scale<C> k;
    k.set(reference, t);
    Factor f(factor);
    if (k.general)
      transform(x, y, n, false, [&f, &k](F v) __attribute__((always_inline)) {
        return f(exponential<C, true>(v, k)) * f.second;
      });
    else
      transform(x, y, n, false, [&f, &k](F v) __attribute__((always_inline)) {
        return f(exponential<C, false>(v, k)) * f.second;
      });
  }

  static void log_shift(const E* x, E* y, size_t n, double m, const Temperature& t, double log_sum,
                        bool streaming) {
    F vm = V::set((C)m), vl = V::set((C)log_sum);
    if (t.t == 1) {
      transform(x, y, n, streaming, [=](F v) __attribute__((always_inline)) {
        return (v - vm) - vl;  // v - m first: exact near m, where it matters
      });
      return;
    }
    // Halves where t > 1, so that x - m cannot overflow where its quotient does not; below 1 they
    // would lose bits of subnormal logits. -inf stays out of the product with the low part, which
    // may be 0.
    Inverse<C> inverse(t);
    bool halve = t.t > 1;
    F half = V::set((C)(halve ? 0.5 : 1)), power = V::set((halve ? 2 : 1) * inverse.power);
    F floor = V::set(-Constants<C>::round);
    F high = V::set(inverse.high), low = V::set(inverse.low), more = V::set(inverse.more);
    vm = vm * half;
    if (inverse.more == 1)
      transform(x, y, n, streaming, [=](F v) __attribute__((always_inline)) {
        F w = (v * half - vm) * power;
        return V::fma(w, high, V::fma(V::hi(floor, w), low, -vl));
      });
    else
      transform(x, y, n, streaming, [=](F v) __attribute__((always_inline)) {
        return (v * half - vm) * power * high * more - vl;
      });
  }

  static void fill(E* y, size_t n, double value) {
    F v = V::set((C)value);
    size_t i = 0;
    for (; i + W <= n; i += W) Row::store(y + i, v);
    if (i < n) Row::store_tail(y + i, (int)(n - i), v);
  }
};

}  // namespace oneread::ONEREAD_ISA
