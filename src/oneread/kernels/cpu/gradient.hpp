// Backward passes over columns that lie side by side: what a row's gradient adds up to is known
// before, or summed here.
#pragma once

#include "output.hpp"
#include "wide_sum.hpp"

namespace oneread::ONEREAD_ISA {

template <class E>
struct Gradient {
  using Row = Element<E>;
  using C = typename Row::Compute;
  using V = Vec<C>;
  using F = typename V::F;
  using U = typename V::U;
  using K = Constants<C>;
  static constexpr int W = V::W;
  static constexpr int kAtOnce = 4;   // vectors whose exponentials are computed side by side
  static constexpr int kBlocks = 16;  // of kAtOnce vectors between two foldings of a sum

  // W numbers, or `lanes` of them and zeros.
  template <class T>
  static ONEREAD_INLINE F load(const T* p, int lanes) {
    return lanes == W ? Element<T>::load(p) : Element<T>::load_tail(p, lanes, 0);
  }

  // dx[i] = map(i, lanes) for a whole row; map loads what it needs of columns [i, i + lanes).
  // Stores are aligned where that pays, as in Output<E>::transform.
  template <class Map>
  static ONEREAD_INLINE void write(E* dx, size_t n, bool streaming, Map map) {
    size_t i = 0;
    if constexpr (sizeof(E) == sizeof(C)) {
      if (streaming || n >= Output<E>::kAlignedColumns) {
        size_t head = (size_t)(-(uintptr_t)dx & (kVectorBytes - 1)) / sizeof(C);
        i = head < n ? head : n;
        if (i) Row::store_tail(dx, (int)i, map((size_t)0, (int)i));
      }
    }
    for (; i + kAtOnce * W <= n; i += kAtOnce * W) {
      F v[kAtOnce];
      for (size_t u = 0; u < kAtOnce; u++) v[u] = map(i + u * W, W);
      for (size_t u = 0; u < kAtOnce; u++) {
        if constexpr (sizeof(E) == sizeof(C)) {
          if (streaming) {
            V::stream((C*)dx + i + u * W, v[u]);
            continue;
          }
        }
        Row::store(dx + i + u * W, v[u]);
      }
    }
    if (streaming) V::end_stream();
    for (; i + W <= n; i += W) Row::store(dx + i, map(i, W));
    if (i < n) Row::store_tail(dx + i, (int)(n - i), map(i, (int)(n - i)));
  }

  // A number that the compiler does not know. Against a known bound GCC makes two instructions of
  // what is the processor's maximum.
  static int64_t unknown(int64_t n) {
    asm("" : "+r"(n));
    return n;
  }

  // e^l for l <= 0; 0 below the normal range. A NaN comes through.
  struct Exp {
    ExpConstants<C> constants;
    Scale<C> scale;
    Exp() { scale.set({0, unknown(0)}, {}); }
    ONEREAD_INLINE F operator()(F l) const { return exponential<C, false>(l, scale, constants); }
  };

  // z = s tanh(x / s) and dz/dx = 1 - tanh^2, both of t = -2 |x / s| by e^t and e^t - 1, so that
  // neither cancels: tanh = (1 - e^t) / (1 + e^t), and 4 e^t / (1 + e^t)^2.
  struct Cap {
    F size, inverse;
    explicit Cap(double s) : size(V::set((C)s)), inverse(V::set((C)(1 / s))) {}
    ONEREAD_INLINE F operator()(F x, F* slope, const Exp& exp) const {
      const ExpConstants<C>& c = exp.constants;
      F y = x * inverse;
      U sign = (U)V::set((C)-0.0) & (U)y;
      F t = V::hi(exp.scale.low, (F)((U)y ^ sign) * V::set(-2));
      F shifted = V::fma(t, c.log2e, exp.scale.magic);
      F n = shifted - exp.scale.magic;
      F r = V::fma(n, c.ln2_low, V::fma(n, c.ln2_high, t));
      F power = (F)((U)shifted << K::mantissa);
      F q = c.q[0];
      for (size_t i = 1; i < c.kTerms; i++) q = V::fma(q, r, c.q[i]);
      F rest = V::fma(q * r, r, r);  // e^r - 1
      F e = V::fma(power, rest, power);
      F below = V::fma(power, rest, power - c.one);  // e^t - 1
      F over = c.one / (below + V::set(2));
      *slope = e * over * over * V::set(4);
      return (F)((U)(-below * over) ^ sign) * size;
    }
  };

  template <bool kCapped, bool kWeighted, bool kTempered>
  static void logits(const E* x, E* dx, size_t n, const RowGradient& row, bool streaming) {
    const Exp exp;
    const Cap cap(kCapped ? row.softcap : 1);
    const C* weights = (const C*)row.class_weight;
    const F lse = V::set((C)row.lse), scale = V::set((C)row.scale), slope = V::set((C)row.slope);
    const F uniform = V::set((C)row.uniform), square = V::set((C)row.square), none = {};
    const Inverse<C> inverse(row.temperature);
    const F power = V::set(inverse.power);
    const F high = V::set(inverse.high), low = V::set(inverse.low);
    const F least = V::set(-(C)(K::bias + unknown(1)));  // e^least is 0
    auto gradient = [&](size_t i, int lanes, F more) __attribute__((always_inline)) {
      F z = load(x + i, lanes), steepness = {};
      if constexpr (kCapped) z = cap(z, &steepness, exp);
      F rest = none;  // what rounding takes from the quotient
      if constexpr (kTempered) {
        F whole = z * power;
        z = whole * high;
        rest = V::product_error(whole, high, z) + whole * low;
        rest = rest == rest ? rest : none;  // of numbers too large to be split
      }
      F l = z - lse, back = l - z;
      F lost = (z - (l - back)) - (lse + back);  // TwoSum
      lost = l > least ? lost + rest : none;     // z = -inf has none
      l = V::hi(least, l);                       // so that 0 l is 0
      if constexpr (kTempered) {  // 0.008 of a quotient of 1e5 are too much for the first order
        F kept = l;
        l = V::hi(least, kept + lost);
        lost = lost - (l - kept);
      }
      F p = exp(l);
      p = V::fma(p, lost, p);
      if constexpr (kWeighted) more = V::fma(uniform, load(weights + i, lanes), more);
      F d = V::fma(p, V::fma(square, p, V::fma(slope, l, scale)), more);
      return kCapped ? d * steepness : d;
    };
    const F everywhere = kWeighted ? none : uniform;
    bool has_target = row.target >= 0 && (size_t)row.target < n;
    F at_target = {};  // computed before dx, which may be x, is written
    if (has_target)
      at_target = gradient((size_t)row.target, 1, everywhere + V::set((C)row.at_target));
    write(dx, n, streaming, [&](size_t i, int lanes) __attribute__((always_inline)) {
      return gradient(i, lanes, everywhere);
    });
    if (has_target) Row::store_tail(dx + row.target, 1, at_target);
  }
  template <bool kTempered>
  static void any_logits(const void* x, void* dx, size_t n, const RowGradient& row,
                         bool streaming) {
    auto run =
        row.softcap != 0
            ? (row.class_weight ? logits<true, true, kTempered> : logits<true, false, kTempered>)
            : (row.class_weight ? logits<false, true, kTempered> : logits<false, false, kTempered>);
    run((const E*)x, (E*)dx, n, row, streaming);
  }
  static void logits(const void* x, void* dx, size_t n, const RowGradient& row, bool streaming) {
    auto run = row.temperature.t == 1 ? any_logits<false> : any_logits<true>;
    run(x, dx, n, row, streaming);
  }

  template <bool kProducts>
  static double sum_of(const E* g, const E* y, size_t n) {
    F lane[kAtOnce] = {};
    WideSum<C> folded;
    folded.clear();
    auto fold = [&]() __attribute__((always_inline)) {
      folded.add(V::widen((lane[0] + lane[1]) + (lane[2] + lane[3])));
      for (F& one : lane) one = F{};
    };
    auto add = [&](int u, size_t i, int lanes) __attribute__((always_inline)) {
      F v = load(g + i, lanes);
      if constexpr (kProducts) lane[u] = V::fma(v, load(y + i, lanes), lane[u]);
      else lane[u] = lane[u] + v;
    };
    size_t i = 0;
    for (int left = kBlocks; i + kAtOnce * W <= n; i += kAtOnce * W) {
      for (int u = 0; u < kAtOnce; u++) add(u, i + (size_t)(u * W), W);
      if (__builtin_expect(--left == 0, 0)) fold(), left = kBlocks;
    }
    for (int u = 0; i + W <= n; i += W, u++) add(u, i, W);
    if (i < n) add(kAtOnce - 1, i, (int)(n - i));
    fold();
    double sum = 0;  // inf, where what rounding lost of it would be NaN
    for (int u = 0; u < W; u++) sum += folded.high[u];
    return __builtin_isfinite(sum) ? folded.total() : sum;
  }
  static double sum(const void* g, const void* y, size_t n) {
    return y ? sum_of<true>((const E*)g, (const E*)y, n) : sum_of<false>((const E*)g, nullptr, n);
  }

  static void softmax(const void* y, const void* g, void* dx, size_t n, double sum,
                      bool streaming) {
    const F total = V::set((C)sum);
    write((E*)dx, n, streaming, [&](size_t i, int lanes) __attribute__((always_inline)) {
      return load((const E*)y + i, lanes) * (load((const E*)g + i, lanes) - total);
    });
  }
  static void log_softmax(const void* y, const void* g, void* dx, size_t n, double sum,
                          bool streaming) {
    const Exp exp;
    const F minus_total = V::set((C)-sum);
    write((E*)dx, n, streaming, [&](size_t i, int lanes) __attribute__((always_inline)) {
      return V::fma(exp(load((const E*)y + i, lanes)), minus_total, load((const E*)g + i, lanes));
    });
  }

  static constexpr GradientKernels table = {logits, sum, softmax, log_softmax};
};

}  // namespace oneread::ONEREAD_ISA
