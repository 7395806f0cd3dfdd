// The last pass over a row: exponentials or logits in, probabilities or log-probabilities out.
#pragma once

#include <type_traits>

#include "exp.hpp"

namespace oneread::ONEREAD_ISA {

template <class E>
struct Output {
  using Row = Element<E>;
  using C = typename Row::Compute;
  using V = Vec<C>;
  using F = typename V::F;
  static constexpr int W = V::W;
  static constexpr size_t kAlignedColumns = 768;

  // y[i] = map(load(i), ...) for a whole row; load and map work on vectors. Stores are aligned,
  // since those across two lines take twice as long: 16,384,000 columns of y that NumPy allocated,
  // 16 bytes behind a line, took 1320 instead of 1110 us in rows of 128,000. Short rows do not
  // gain. Streaming stores are only offered where memory holds the compute type.
  template <class In, class Map>
  static ONEREAD_INLINE void transform(const In* x, E* y, size_t n, bool streaming, Map map) {
    size_t i = 0;
    if constexpr (sizeof(E) == sizeof(C)) {
      if (streaming || n >= kAlignedColumns) {
        size_t head = (size_t)(-(uintptr_t)y & (kVectorBytes - 1)) / sizeof(C);
        i = head < n ? head : n;
        if (i) Row::store_tail(y, (int)i, map(Element<In>::load_tail(x, (int)i, 0)));
      }
      if (streaming) {
        for (; i + W <= n; i += W) V::stream((C*)y + i, map(Element<In>::load(x + i)));
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

    Factor() = default;
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

    // For vectors across rows, each with a factor of its own, none of them small.
    void set_lane(int lane, const Factor& of) {
      high[lane] = of.high[0], low[lane] = of.low[0];
#if !defined(__FMA__) && !defined(__aarch64__)
      step[lane] = of.step[0];
#endif
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
    const ExpConstants<C> c;
    if (k.general)
      transform(x, y, n, false, [&f, &k, &c](F v) __attribute__((always_inline)) {
        return f(exponential<C, true>(v, k, c)) * f.second;
      });
    else
      transform(x, y, n, false, [&f, &k, &c](F v) __attribute__((always_inline)) {
        return f(exponential<C, false>(v, k, c)) * f.second;
      });
  }

  // Call use(map), where map(x, m, log_sum) makes log-probabilities of logits.
  template <class Use>
  static ONEREAD_INLINE void with_log_map(const Temperature& t, Use use) {
    if (t.t == 1)
      return use([](F v, F m, F log_sum) __attribute__((always_inline)) {
        return (v - m) - log_sum;  // v - m first: exact near m, where it matters
      });
    // Halves where t > 1, so that x - m cannot overflow where its quotient does not; below 1 they
    // would lose bits of subnormal logits. -inf stays out of the product with the low part, which
    // may be 0.
    Inverse<C> inverse(t);
    bool halve = t.t > 1;
    F half = V::set((C)(halve ? 0.5 : 1)), power = V::set((halve ? 2 : 1) * inverse.power);
    F floor = V::set(-Constants<C>::round);
    F high = V::set(inverse.high), low = V::set(inverse.low), more = V::set(inverse.more);
    if (inverse.more == 1)
      use([=](F v, F m, F log_sum) __attribute__((always_inline)) {
        F w = (v * half - m * half) * power;
        return V::fma(w, high, V::fma(V::hi(floor, w), low, -log_sum));
      });
    else
      use([=](F v, F m, F log_sum) __attribute__((always_inline)) {
        return (v * half - m * half) * power * high * more - log_sum;
      });
  }

  static void log_shift(const E* x, E* y, size_t n, double m, const Temperature& t, double log_sum,
                        bool streaming) {
    F vm = V::set((C)m), vl = V::set((C)log_sum);
    with_log_map(t, [=](auto map) __attribute__((always_inline)) {
      transform(x, y, n, streaming,
                [=](F v) __attribute__((always_inline)) { return map(v, vm, vl); });
    });
  }

  static void fill(E* y, size_t n, double value) {
    F v = V::set((C)value);
    size_t i = 0;
    for (; i + W <= n; i += W) Row::store(y + i, v);
    if (i < n) Row::store_tail(y + i, (int)(n - i), v);
  }
};

// What is done beside the sums, block by block of a row. steps(): for how many blocks there is
// work. kAhead: how many bytes ahead logits are fetched, 0: not at all.

struct Nothing {
  static constexpr bool kSees = false;
  static constexpr size_t kAhead = 0;
  static size_t steps() { return 0; }
  static ONEREAD_INLINE void step() {}
  static void next() {}
  static void finish() {}
  static void close() {}
  template <class... Any>
  static ONEREAD_INLINE void count(const Any&...) {}
  template <class... Any>
  static ONEREAD_INLINE void count_last(const Any&...) {}
  template <class... Any>
  static ONEREAD_INLINE void undo(const Any&...) {}
};

// Finds what a `Beside` asks for. With a NaN in the row, which its sums report, maxima are worth
// nothing; a NaN is never below.
template <class C, bool kMaxima, bool kRank>
struct Watcher : Nothing {
  using V = Vec<C>;
  using F = typename V::F;
  static constexpr bool kSees = kMaxima;
  static constexpr size_t W = V::W;
  C* maxima;
  int shift = 0;  // from columns to groups
  const C* bounds;
  size_t ranked;  // the column
  size_t* out;
  typename V::Count below{}, before{};
  size_t single = 0;  // counted one by one

  explicit Watcher(const Beside& of)
      : maxima((C*)of.maxima), bounds((const C*)of.bounds), ranked(of.column), out(of.below) {
    if (kMaxima) shift = __builtin_ctzll(of.vectors * W);
  }
  static size_t steps() { return (size_t)-1; }
  ONEREAD_INLINE void see(F largest, size_t column) {
    C* group = maxima + (column >> shift) * W;
    V::store(group, V::hi(largest, V::load(group)));
  }
  // Count the columns of n vectors from column `at` on.
  ONEREAD_INLINE void count(const F* v, size_t n, size_t at) {
    if (!kRank) return;
    before = below;
    if (__builtin_expect(ranked - at < n * W, 0)) {
      count_across(v, n, at);
      return;
    }
    F bound = V::set(bounds[at >= ranked]);
    for (size_t u = 0; u < n; u++) V::count_below(v[u], bound, false, below);
  }
  // One vector, of which the lanes from `lanes` on are -inf.
  ONEREAD_INLINE void count_last(F v, int lanes, size_t at) {
    count(&v, 1, at);
    if (kRank) single -= W - (size_t)lanes;
  }
  // As if the last vectors had not been counted.
  ONEREAD_INLINE void undo(size_t n, size_t at) {
    if (!kRank) return;
    below = before;
    if (ranked - at < n * W) single = 0;
  }
  void close() {
    if constexpr (kRank) *out += (size_t)V::counted(below) + single;
  }

 private:
  // The ranked column is among them.
  ONEREAD_INLINE void count_across(const F* v, size_t n, size_t at) {
    for (size_t u = 0; u < n; u++) {
      C lane[W];
      V::store(lane, v[u]);
      for (size_t i = 0; i < W; i++) single += lane[i] < bounds[at + u * W + i >= ranked];
    }
  }
};

// Bytes ahead of the sums. The processor's own prefetching stops at the end of a page, and waits
// there for memory while stores past the caches fill its buffers: 4000 x 25000 took 22 instead of
// 15 ms. Into the second cache: with two rooms, 24 instead of 20 ms into the first.
inline constexpr size_t kFetchAhead = 16384;

// Writes pending pieces, U vectors at each step of the loop that sums the next row. They are read
// before the sums of the same columns are stored.
template <class E, bool kLog>
struct Writer : Nothing {
  static constexpr size_t kAhead = kFetchAhead;
  using Out = Output<E>;
  using C = typename Out::C;
  using V = Vec<C>;
  using F = typename V::F;
  using From = std::conditional_t<kLog, E, C>;
  static constexpr int W = V::W, U = 4;

  Pending* pending;
  const From* from;
  E* y;
  size_t left = 0;  // elements of the current piece
  F first, second;  // of the map
  bool streaming;

  explicit Writer(Pending* p) : pending(p) {
    if (p) streaming = p->streaming, open();
  }

  // Whole steps that the current piece has; 0 when nothing is pending.
  size_t steps() const { return left / (U * W); }

  ONEREAD_INLINE F map(F v) const {
    if constexpr (kLog) return (v - first) - second;
    else
#if defined(__FMA__) || defined(__aarch64__)
      return V::fma(v, first, v * second);
#else
      return v;  // never: such a piece is not written step by step
#endif
  }

  ONEREAD_INLINE void step() {
    for (int u = 0; u < U; u++) {
      F v = map(Element<From>::load(from + u * W));
      if constexpr (sizeof(E) == sizeof(C)) {
        if (streaming) V::stream((C*)y + u * W, v);
        else Element<E>::store(y + u * W, v);
      } else {
        Element<E>::store(y + u * W, v);
      }
    }
    from += U * W, y += U * W, left -= U * W;
  }

  // Go on with a piece that has a whole step; write those that have none.
  void open() {
    for (; pending->pieces; pending->pieces--, pending->piece++, pending->done = 0) {
      const Piece& piece = *pending->piece;
      bool stepwise = true;
      if constexpr (kLog) {
        first = V::set((C)piece.m), second = V::set((C)piece.log_sum);
      } else {
        typename Out::Factor f(piece.factor);
        first = f.high, second = f.low;
#if defined(__FMA__) || defined(__aarch64__)
        stepwise = !f.small;
#else
        stepwise = false;
#endif
      }
      from = (const From*)piece.from + pending->done;
      y = (E*)piece.y + pending->done;
      left = piece.n - pending->done;
      if (stepwise && steps()) {
        if (!pending->done) align();
        if (steps()) return;
      }
      rest();
    }
    left = 0;
  }

  // Bring y to a vector's boundary: stores across one take twice as long.
  void align() {
    if constexpr (sizeof(E) == sizeof(C)) {
      size_t head = (size_t)(-(uintptr_t)y & (kVectorBytes - 1)) / sizeof(C);
      if (!head) return;
      Element<E>::store_tail(y, (int)head, map(Element<From>::load_tail(from, (int)head, 0)));
      from += head, y += head, left -= head;
    }
  }

  // What is left of the current piece.
  void rest() {
    const Piece& piece = *pending->piece;
    bool past_caches = streaming && left > 4 * U * W;
    if constexpr (kLog)
      Out::log_shift(from, y, left, piece.m, Temperature(), piece.log_sum, past_caches);
    else Out::scale(from, y, left, piece.factor, past_caches);
    left = 0;
  }

  // The current piece has no whole step left.
  void next() {
    rest();
    pending->pieces--, pending->piece++, pending->done = 0;
    open();
  }

  void close() {
    if (left) pending->done = pending->piece->n - left;
  }
  void finish() {
    while (left) next();
  }
};

}  // namespace oneread::ONEREAD_ISA
