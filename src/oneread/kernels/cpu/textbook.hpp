// The algorithms of the textbooks, line by line, to be compared with ours: Milakov & Gimelshein
// (2018), Algorithms 1 to 4, and the two passes of Dukhan & Ablavatski (2020).
//
// x, y, m, d, u and p are the papers' names. Everything else is as in our own kernels, so that a
// comparison is one of algorithms: the vectors, four of them in flight, the exponential, sums that
// are folded into double, the product with 1 / d, the masked tail.
#pragma once

#include "online.hpp"
#include "output.hpp"

namespace oneread::ONEREAD_ISA {

template <class E>
struct Textbook {
  using Row = Element<E>;
  using C = typename Row::Compute;
  using V = Vec<C>;
  using F = typename V::F;
  using K = Constants<C>;
  static constexpr int W = V::W;
  static constexpr int U = 4;         // vectors in flight
  static constexpr int kBlocks = 16;  // of U vectors between two foldings of a sum
  static constexpr C kNone = -(C)__builtin_inf();
  static constexpr C kLowest = sizeof(C) == 4 ? (C)-__FLT_MAX__ : (C)-__DBL_MAX__;

  // For j = 1 to n, U vectors at a time: visit(x_j, j). The last ones are filled up with -inf,
  // which no maximum and no sum notices.
  template <class Visit>
  static ONEREAD_INLINE void sweep(const E* x, size_t n, Visit visit) {
    size_t j = 0;
    for (; j + U * W <= n; j += U * W) {
      F v[U];
      for (int u = 0; u < U; u++) v[u] = Row::load(x + j + u * W);
      visit(v, j);
    }
    if (j == n) return;
    F v[U];
    for (int u = 0; u < U; u++) {
      size_t at = j + (size_t)(u * W), left = at < n ? n - at : 0;
      v[u] = left >= (size_t)W ? Row::load(x + at)
             : left            ? Row::load_tail(x + at, (int)left, kNone)
                               : V::set(kNone);
    }
    visit(v, j);
  }

  // A number that the compiler does not know. Against a known bound GCC makes two instructions of
  // what is the processor's maximum.
  static int64_t unknown(int64_t n) {
    asm("" : "+r"(n));
    return n;
  }

  // e^z for z <= 0, and 0 below the normal range. A numerator and d come times 2^headroom, so that
  // nothing on the way to a quotient is below the range before the quotient is.
  static constexpr int kHeadroom = K::headroom;
  struct Exp {
    ExpConstants<C> constants;
    Scale<C> scaled, plain;
    Exp() { scaled.set({0, unknown(-kHeadroom)}, {}), plain.set({0, unknown(0)}, {}); }
    ONEREAD_INLINE F operator()(F z) const { return exponential<C, false>(z, scaled, constants); }
    // e^z itself, which a sum is rescaled by.
    ONEREAD_INLINE F factor(F z) const { return exponential<C, false>(z, plain, constants); }
  };

  // e^x for any x: half of it, so that the largest results are in range, doubled; inf beyond.
  struct AnyExp {
    ExpConstants<C> constants;
    Scale<C> scale;
    F top = V::set((C)((K::bias + unknown(2)) * kLn2));
    AnyExp() { scale.set({0, unknown(1)}, {}); }
    ONEREAD_INLINE F operator()(F x) const {
      return exponential<C, false>(V::lo(top, x), scale, constants) * V::set(2);
    }
  };

  // d: a sum in U vectors and, by and by, in double.
  struct Sum {
    F lane[U] = {};
    WideSum<C> folded;
    int left = kBlocks;

    Sum() { folded.clear(); }
    ONEREAD_INLINE void end_block() {
      if (__builtin_expect(--left == 0, 0)) fold();
    }
    ONEREAD_INLINE void fold() {
      folded.add(V::widen((lane[0] + lane[1]) + (lane[2] + lane[3])));
      for (int u = 0; u < U; u++) lane[u] = F{};
      left = kBlocks;
    }
    double total() {
      fold();
      double sum = 0;  // inf, where what rounding lost of it would be NaN
      for (int i = 0; i < W; i++) sum += folded.high[i];
      return __builtin_isfinite(sum) ? folded.total() : sum;
    }
  };

  // Algorithm 1. d has the whole range of numbers, and its inverse must not be flushed: it comes as
  // a number near 1 and powers of two.
  static void naive(const void* x, void* y, size_t n, bool streaming) {
    const AnyExp exp;
    Sum d;
    sweep((const E*)x, n, [&](const F* v, size_t) __attribute__((always_inline)) {
      for (int u = 0; u < U; u++) d.lane[u] = d.lane[u] + exp(v[u]);
      d.end_block();
    });
    int power = 0;
    double sum = d.total(), f = __builtin_isfinite(sum) ? __builtin_frexp(sum, &power) : sum;
    const F inverse = V::set((C)(1 / f));
    const F first = V::set((C)__builtin_ldexp(1, -power / 2));
    const F second = V::set((C)__builtin_ldexp(1, -power - -power / 2));
    Output<E>::transform((const E*)x, (E*)y, n, streaming, [&](F v) __attribute__((always_inline)) {
      return exp(v) * first * inverse * second;
    });
  }

  // Lines 1 to 4 of Algorithm 2.
  static C maximum(const E* x, size_t n) {
    F m[U] = {V::set(kNone), V::set(kNone), V::set(kNone), V::set(kNone)};
    sweep(x, n, [&](const F* v, size_t) __attribute__((always_inline)) {
      for (int u = 0; u < U; u++) m[u] = V::hi(v[u], m[u]);
    });
    return V::largest(V::hi(V::hi(m[0], m[1]), V::hi(m[2], m[3])));
  }

  // The last loop of Algorithms 2 and 3: y_i = e^(x_i - m) / d.
  static ONEREAD_INLINE void divide(const void* x, void* y, size_t n, bool streaming, C m,
                                    double d) {
    const Exp exp;
    const F vm = V::set(m), over_d = V::set((C)(1 / d));
    Output<E>::transform((const E*)x, (E*)y, n, streaming,
                         [&](F v) __attribute__((always_inline)) { return exp(v - vm) * over_d; });
  }

  // Algorithm 2.
  static void safe(const void* x, void* y, size_t n, bool streaming) {
    const Exp exp;
    const C m = maximum((const E*)x, n);
    const F vm = V::set(m);
    Sum d;
    sweep((const E*)x, n, [&](const F* v, size_t) __attribute__((always_inline)) {
      for (int u = 0; u < U; u++) d.lane[u] = d.lane[u] + exp(v[u] - vm);
      d.end_block();
    });
    divide(x, y, n, streaming, m, d.total());
  }

  // Lines 1 to 6 of Algorithm 3: m and d of each lane. Before the first number m is the lowest
  // finite one instead of -inf, since -inf - -inf has no value.
  struct Normalizer {
    Exp exp;
    Sum d;
    F m = V::set(kLowest), m_folded = V::set(kLowest);

    ONEREAD_INLINE void add(const F* v) {
      F m_before = m;
      m = V::hi(V::hi(V::hi(v[0], v[1]), V::hi(v[2], v[3])), m);
      F rescale = exp.factor(m_before - m);
      for (int u = 0; u < U; u++) d.lane[u] = V::fma(d.lane[u], rescale, exp(v[u] - m));
      if (__builtin_expect(d.left == 1, 0)) merge();
      d.end_block();
    }
    // Equation 4: what was folded so far comes to the maximum of the lanes.
    ONEREAD_INLINE void merge() {
      auto rescale = V::widen(exp.factor(m_folded - m));
      d.folded.high = d.folded.high * rescale;
      d.folded.low = d.folded.low * rescale;
      m_folded = m;
    }
    // Equation 4 once more, over the lanes.
    double total(C* m_row) {
      merge();
      d.fold();
      *m_row = V::largest(m);
      m = V::set(*m_row);
      merge();
      return d.folded.total();
    }
  };

  // Algorithm 3.
  static void online(const void* x, void* y, size_t n, bool streaming) {
    Normalizer run;
    sweep((const E*)x, n, [&](const F* v, size_t) __attribute__((always_inline)) { run.add(v); });
    C m;
    double d = run.total(&m);
    divide(x, y, n, streaming, m, d);
  }

  // Dukhan & Ablavatski: e^x = mantissa * 2^exponent, with an exponent that is a number of its own
  // and never overflows. It must fit the constant that rounds.
  static constexpr C kMostExponent = sizeof(C) == 4 ? 0x1p22 : 0x1p30;
  struct Extended {
    F mantissa, exponent;
  };
  static ONEREAD_INLINE Extended extended_exp(F x, F least, const ExpConstants<C>& constants) {
    x = V::hi(least, x);  // a NaN in x is kept
    F n = V::fma(x, V::set((C)kLog2e), V::set(K::round)) - V::set(K::round);
    F high = V::set(K::ln2_high), p = n * high;
    F r = V::fma(n, V::set(-K::ln2_low), (x - p) - V::product_error(n, high, p));
    return {exp_polynomial<C>(r, constants), n};
  }
  // 2^(n + headroom) for integers n <= 0; 0 below the normal range.
  static ONEREAD_INLINE F power_of_two(F n, int headroom) {
    F shifted = V::hi(V::set((C)(-K::bias - headroom)), n) +
                V::set((C)(K::round + (C)(K::bias + headroom)));
    return (F)((typename V::U)shifted << K::mantissa);
  }

  // The two-pass algorithm. NaN also where no column is within 2^(+-kMostExponent).
  static void two_pass(const void* x, void* y, size_t n, bool streaming) {
    const ExpConstants<C> constants;
    const F least = V::set((C)((double)unknown((int64_t)-kMostExponent) * kLn2));
    F top = V::set(-kMostExponent), top_folded = top;
    Sum d;
    auto merge = [&]() __attribute__((always_inline)) {
      auto rescale = V::widen(power_of_two(top_folded - top, 0));
      d.folded.high = d.folded.high * rescale;
      d.folded.low = d.folded.low * rescale;
      top_folded = top;
    };
    sweep((const E*)x, n, [&](const F* v, size_t) __attribute__((always_inline)) {
      Extended e[U];
      for (int u = 0; u < U; u++) e[u] = extended_exp(v[u], least, constants);
      F top_before = top;
      top = V::hi(V::hi(V::hi(e[0].exponent, e[1].exponent), V::hi(e[2].exponent, e[3].exponent)),
                  top);
      F rescale = power_of_two(top_before - top, 0);
      for (int u = 0; u < U; u++)
        d.lane[u] = V::fma(d.lane[u], rescale,
                           e[u].mantissa * power_of_two(e[u].exponent - top, kHeadroom));
      if (__builtin_expect(d.left == 1, 0)) merge();
      d.end_block();
    });
    merge();
    d.fold();
    const C top_row = V::largest(top);
    top = V::set(top_row);
    merge();
    bool outside = !(top_row > -kMostExponent && top_row < kMostExponent);
    const F over_d = V::set((C)(1 / (outside ? __builtin_nan("") : d.folded.total())));
    Output<E>::transform((const E*)x, (E*)y, n, streaming, [&](F v) __attribute__((always_inline)) {
      Extended e = extended_exp(v, least, constants);
      return e.mantissa * power_of_two(e.exponent - top, kHeadroom) * over_d;
    });
  }

  // Lines 8 to 15 of Algorithm 4: u holds the k largest numbers so far in order, p their columns.
  // A NaN comes first, equal numbers by column.
  struct Winners {
    C* u;
    int64_t* p;
    size_t k;
    size_t held = 0;
    F least = V::set((C)__builtin_nan(""));  // u_k; NaN, which nothing is below, until there is one

    ONEREAD_INLINE void offer(const F* v, size_t j, size_t n) {
      auto none = (v[0] <= least) & (v[1] <= least) & (v[2] <= least) & (v[3] <= least);
      if (__builtin_expect(V::any(~none), 0)) insert_block(v, j, n);
    }
    __attribute__((noinline)) void insert_block(const F* v, size_t j, size_t n) {
      for (int u = 0; u < U; u++)
        for (int lane = 0; lane < W; lane++, j++)
          if (j < n) insert(v[u][lane], j);
      if (held == k) least = V::set(u[k - 1]);
    }
    void insert(C x, size_t j) {
      size_t i = held < k ? held++ : k;
      for (; i > 0 && before(x, u[i - 1]); i--)
        if (i < k) u[i] = u[i - 1], p[i] = p[i - 1];
      if (i < k) u[i] = x, p[i] = (int64_t)j;
    }
    static bool before(C a, C b) { return a > b || (a != a && b == b); }

    // Lines 17 to 19: v_i = e^(u_i - m) / d.
    void divide(C m, double d) {
      const Exp exp;
      const F over_d = V::set((C)(1 / d));
      for (size_t i = 0; i < k; i++) u[i] = (exp(V::set(u[i] - m)) * over_d)[0];
    }
  };

  // The k largest of what lies in memory.
  static void top_k(const void* y, size_t n, size_t k, void* values, int64_t* columns) {
    Winners best{(C*)values, columns, k};
    sweep((const E*)y, n,
          [&](const F* v, size_t j) __attribute__((always_inline)) { best.offer(v, j, n); });
  }

  // Algorithm 2 with its second loop and the top-k fused.
  static void safe_fused(const void* x, size_t n, size_t k, void* values, int64_t* columns) {
    const Exp exp;
    const C m = maximum((const E*)x, n);
    const F vm = V::set(m);
    Sum d;
    Winners best{(C*)values, columns, k};
    sweep((const E*)x, n, [&](const F* v, size_t j) __attribute__((always_inline)) {
      for (int u = 0; u < U; u++) d.lane[u] = d.lane[u] + exp(v[u] - vm);
      d.end_block();
      best.offer(v, j, n);
    });
    best.divide(m, d.total());
  }

  // Algorithm 4.
  static void online_fused(const void* x, size_t n, size_t k, void* values, int64_t* columns) {
    Normalizer run;
    Winners best{(C*)values, columns, k};
    sweep((const E*)x, n, [&](const F* v, size_t j) __attribute__((always_inline)) {
      run.add(v);
      best.offer(v, j, n);
    });
    C m;
    double d = run.total(&m);
    best.divide(m, d);
  }

  static constexpr TextbookKernels table = {naive, safe,       online,      two_pass,
                                            top_k, safe_fused, online_fused};
};

}  // namespace oneread::ONEREAD_ISA
