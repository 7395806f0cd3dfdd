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
      for (size_t u = 0; u < 4; u++) Row::store(y + i + u * W, map(Element<In>::load(x + i + u * W)));
    for (; i + W <= n; i += W) Row::store(y + i, map(Element<In>::load(x + i)));
    if (i < n) {
      int lanes = (int)(n - i);
      Row::store_tail(y + i, lanes, map(Element<In>::load_tail(x + i, lanes, 0)));
    }
  }

  static void scale(const C* e, E* y, size_t n, double factor, bool streaming) {
    F c = V::set((C)factor);
    transform(e, y, n, streaming, [c](F v) __attribute__((always_inline)) { return v * c; });
  }

  static void exp_scale(const E* x, E* y, size_t n, const Reference& reference, double inverse,
                        double factor) {
    Scale<C> k;
    k.set(reference, inverse);
    F c = V::set((C)factor);
    if (k.general)
      transform(x, y, n, false, [c, &k](F v) __attribute__((always_inline)) {
        return exponential<C, true>(v, k) * c;
      });
    else
      transform(x, y, n, false, [c, &k](F v) __attribute__((always_inline)) {
        return exponential<C, false>(v, k) * c;
      });
  }

  static void log_shift(const E* x, E* y, size_t n, double m, double inverse, double log_sum,
                        bool streaming) {
    F vm = V::set((C)m), vl = V::set((C)log_sum), vi = V::set((C)inverse);
    if (inverse == 1)
      transform(x, y, n, streaming, [=](F v) __attribute__((always_inline)) {
        return (v - vm) - vl;  // v - m first: exact near m, where it matters
      });
    else
      transform(x, y, n, streaming, [=](F v) __attribute__((always_inline)) {
        return V::fma(v - vm, vi, -vl);
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
