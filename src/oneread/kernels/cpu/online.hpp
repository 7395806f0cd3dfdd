// The online softmax: running reference and sums of one span, updated in a single pass.
//
// Milakov & Gimelshein (2018), Algorithm 3, with two changes. The running maximum becomes a
// Reference that is a power of two wherever it can be, so that moving it rescales exactly and no
// x - max is ever rounded; and it moves only when a column rises more than kLag above it.
// For logarithms every lane keeps its own running maximum out of the sum and adds the smaller of
// the two numbers it holds: 1 never swallows the tail of a row whose largest probability is near 1.
#pragma once

#include "output.hpp"
#include "wide_sum.hpp"

namespace oneread::ONEREAD_ISA {

// kRest: one maximum a lane stays out of the sums. kMoments: also sum z e^z and e^2z.
template <class E, bool kRest, bool kMoments>
struct Online {
  using Row = Element<E>;
  using C = typename Row::Compute;
  using V = Vec<C>;
  using F = typename V::F;
  static constexpr int W = V::W;
  static constexpr int U = 4;         // vectors in a block, each with its own sum
  static constexpr int kBlocks = 16;  // blocks between two foldings: a lane adds at most 16 terms
  // Nats that the reference may lag behind the maximum. Arguments of the moments are measured from
  // it, and would cancel against a long way to the maximum.
  static constexpr double lag = kMoments ? 1 : kLag;
  static constexpr size_t kGroup = (size_t)kBlocks * U * W;

  // Statistics of float64 have no wider type to be summed in: every term goes straight into the
  // compensated sums, with what its own roundings lost.
  static constexpr bool kPrecise = kRest && sizeof(C) == 8;

  // Sums since the last folding, against `reference`.
  F sum[U], sum_z[U], sum_square[U];
  F top;        // kRest: the maximum of each lane, in no sum
  F threshold;  // the reference moves when a column exceeds it
  WideSum<C> folded, folded_z, folded_square;
  Scale<C> scale;
  Reference reference;
  Temperature temperature;
  size_t column;  // columns fed so far
  int left;       // blocks until the next folding
  bool empty;     // no column above -inf yet
  bool nan, inf;
  int segments;
  Segment* segment;  // where moves of the reference are recorded; null: they are not

  ONEREAD_INLINE void start(const Temperature& t, Segment* room) {
    for (int u = 0; u < U; u++) sum[u] = sum_z[u] = sum_square[u] = F{};
    top = threshold = V::set(-(C)__builtin_inf());
    folded.clear();
    if constexpr (kMoments) folded_z.clear(), folded_square.clear();
    temperature = t;
    reference = {};
    scale.set(reference, temperature);
    column = 0;
    left = kBlocks;
    empty = true;
    nan = inf = false;
    segments = 0;
    segment = room;
  }

  // Move the sums of the last blocks into the double ones.
  ONEREAD_INLINE void fold() {
    left = kBlocks;
    if constexpr (kPrecise) return;
    auto wide = V::widen((sum[0] + sum[1]) + (sum[2] + sum[3]));
    folded.add(wide);
    if constexpr (kMoments) {
      double rounding = minus_nats((double)scale.point[0], middle<C>(reference));
      folded_z.add(V::widen((sum_z[0] + sum_z[1]) + (sum_z[2] + sum_z[3])) + wide * rounding);
      folded_square.add(
          V::widen((sum_square[0] + sum_square[1]) + (sum_square[2] + sum_square[3])));
    }
    for (int u = 0; u < U; u++) sum[u] = sum_z[u] = sum_square[u] = F{};
  }

  static Reference reference_for(double largest, const Temperature& t) {
    double z = scaled_difference(largest, 0, t).high;
    if (z <= Constants<C>::limit && z >= -Constants<C>::limit)
      return {0, (int64_t)__builtin_ceil(z * kLog2e) - Constants<C>::headroom};
    return {largest, -Constants<C>::headroom};
  }

  // `above` has a lane above the threshold. Make a new reference of its largest lane.
  __attribute__((noinline)) void move_reference(const F& above, size_t at) {
    C largest = V::largest(V::hi(above, V::set(-(C)__builtin_inf())));  // drops NaN lanes
    int left_before = left;
    fold();
    left = left_before;  // foldings stay where V puts them, whatever the numbers are
    if (largest == (C)__builtin_inf()) {
      nan = nan || __builtin_isnan(folded.total());
      inf = true;
      threshold = V::set(largest);
      return;
    }
    Reference next = reference_for((double)largest, temperature);
    if (!empty)
      rescale(ratio(reference, next, temperature), nats_between(reference, next, temperature));
    empty = false;
    reference = next;
    scale.set(reference, temperature);
    C high = (C)((double)largest + lag * temperature.t);
    constexpr C kMax = sizeof(C) == 4 ? (C)__FLT_MAX__ : (C)__DBL_MAX__;
    threshold = V::set(high < largest ? largest : high < kMax ? high : kMax);
    if (segment) record(at);
  }

  ONEREAD_INLINE void rescale(const Scaled& factor, double shift) {
    if (shift < -5000) {  // nothing but a NaN is left of it, and shift may be infinite
      nan = nan || __builtin_isnan(folded.total());
      folded.clear();
      if constexpr (kMoments) folded_z.clear(), folded_square.clear();
      return;
    }
    if constexpr (kMoments) {
      folded_z.high = folded_z.high + folded.high * shift;
      folded_z.low = folded_z.low + folded.low * shift;
      folded_z.multiply(factor);
      folded_square.multiply({factor.value * factor.value, 2 * factor.power});
    }
    folded.multiply(factor);
  }

  void record(size_t at) {
    if (segments == kMaxSegments) {  // the oldest are 0 beside the newest: make them one
      constexpr double kGone = (Constants<C>::bias + Constants<C>::mantissa + 30) * kLn2;
      int gone = 0;
      while (gone + 1 < segments &&
             nats_between(segment[gone + 1].reference, reference, temperature) < -kGone)
        gone++;
      for (int i = gone; i < segments; i++) segment[i - gone] = segment[i];
      segments -= gone;
      segment[0].column = 0;
    }
    // Full all the same only if the row changed under our hands: stay within the array.
    if (segments == kMaxSegments) segments--;
    segment[segments] = {segments ? at : 0, reference};
    segments++;
  }

  // The sums that a loop works on, in registers: of the last blocks, or the precise ones.
  struct Running {
    F sum[U], z[U], square[U];
    WideSum<C> precise, precise_z, precise_square;
    F rounding;  // of scale.point, which arguments of precise sums are corrected for
  };
  ONEREAD_INLINE void get(Running& to) const {
    if constexpr (kPrecise) {
      to.precise = folded, to.precise_z = folded_z, to.precise_square = folded_square;
      to.rounding = V::set((C)minus_nats((double)scale.point[0], middle<C>(reference)));
    } else {
      for (int u = 0; u < U; u++)
        to.sum[u] = sum[u], to.z[u] = sum_z[u], to.square[u] = sum_square[u];
    }
  }
  ONEREAD_INLINE void put(const Running& from) {
    if constexpr (kPrecise) {
      folded = from.precise, folded_z = from.precise_z, folded_square = from.precise_square;
    } else {
      for (int u = 0; u < U; u++)
        sum[u] = from.sum[u], sum_z[u] = from.z[u], sum_square[u] = from.square[u];
    }
  }

  // One vector of exponentials, added to the running sums.
  template <bool kGeneral>
  static ONEREAD_INLINE F add(F x, int u, Running& to, const Scale<C>& k,
                              const ExpConstants<C>& c) {
    F z = {}, lost = {};
    F e = exponential<C, kGeneral>(x, k, c, kMoments ? &z : nullptr, kPrecise ? &lost : nullptr);
    if constexpr (kPrecise) {
      to.precise.add(e);
      to.precise.low = to.precise.low + lost;
      if constexpr (kMoments) {
        F ze = z * e, ee = e * e;
        to.precise_z.add(ze);
        to.precise_z.low =
            to.precise_z.low + (V::product_error(z, e, ze) + (z * lost + to.rounding * e));
        to.precise_square.add(ee);
        to.precise_square.low =
            to.precise_square.low + (V::product_error(e, e, ee) + (lost + lost) * e);
      }
    } else {
      to.sum[u] = to.sum[u] + e;
      if constexpr (kMoments) {
        to.z[u] = V::fma(z, e, to.z[u]);
        to.square[u] = V::fma(e, e, to.square[u]);
      }
    }
    return e;
  }

  // Let x and the lane's maximum change places where x is larger. A NaN in x stays in x, so that it
  // reaches the sum.
  static ONEREAD_INLINE void keep_largest(F& x, F& largest) {
    F smaller = V::lo(largest, x);
    largest = V::hi(x, largest);
    x = smaller;
  }

  static size_t least(size_t a, size_t b) { return a < b ? a : b; }
  // Feed whole blocks from column i on until `stop`, the next folding or the block that the
  // reference must move for. Nothing but this loop keeps the sums in registers.
  template <bool kGeneral, bool kStore, class Side>
  ONEREAD_INLINE size_t run_blocks(const E* x, size_t i, size_t stop, C* e_out, Side& beside) {
    Side side = beside;
    const Scale<C> k = scale;
    const ExpConstants<C> c;
    const F limit = threshold;
    F high = top;
    Running sums;
    get(sums);
    size_t from = i;
    for (; i < stop; i += U * W) {
      F v[U], largest = high;
      for (int u = 0; u < U; u++) v[u] = Row::load(x + i + u * W);
      side.count(v, U, column + i);
      if constexpr (!kRest || Side::kSees) {
        F block = V::hi(V::hi(v[0], v[1]), V::hi(v[2], v[3]));
        if constexpr (Side::kSees) side.see(block, column + i);
        if constexpr (!kRest) largest = block;
      }
      if constexpr (kRest)
        for (int u = 0; u < U; u++) keep_largest(v[u], largest);
      if (__builtin_expect(V::any_gt(largest, limit), 0)) {
        side.undo(U, column + i);
        break;
      }
      high = largest;
      if constexpr (Side::kAhead > 0)
        V::expect_loads((const char*)(x + i) + Side::kAhead, U * W * sizeof(E));
      side.step();
      for (int u = 0; u < U; u++) {
        F e = add<kGeneral>(v[u], u, sums, k, c);
        if constexpr (kStore) V::store(e_out + i + u * W, e);
      }
    }
    beside = side;
    put(sums);
    top = high;
    left -= (int)((i - from) / (U * W));
    return i;
  }

  // Feed from column i on; returns early when the reference moved between general and plain.
  template <bool kGeneral, bool kStore, class Side>
  size_t run(const E* x, size_t i, size_t n, C* e_out, Side& side) {
    while (i + U * W <= n) {
      size_t blocks = least((size_t)left, (n - i) / (U * W)), beside = side.steps();
      size_t stop = i + (beside ? least(blocks, beside) : blocks) * (U * W);
      if (beside) {
        i = run_blocks<kGeneral, kStore>(x, i, stop, e_out, side);
        if (!side.steps()) side.next();
      } else {
        Nothing nothing;
        i = run_blocks<kGeneral, kStore>(x, i, stop, e_out, nothing);
      }
      if (i < stop) {
        F largest = V::set(-(C)__builtin_inf());  // not `top`, which a NaN may hide
        for (int u = 0; u < U; u++) largest = V::hi(Row::load(x + i + u * W), largest);
        move_reference(largest, column + i);
        if (scale.general != kGeneral) return i;
      } else if (left == 0) {
        fold();
      }
    }
    if (i < n) side.finish();  // its pieces may lie where the tail's exponentials go
    const ExpConstants<C> c;
    for (int u = 0; i < n; i += W, u++) {  // at most U vectors, the last one not full
      int lanes = n - i < (size_t)W ? (int)(n - i) : W;
      F v = lanes == W ? Row::load(x + i) : Row::load_tail(x + i, lanes, -(C)__builtin_inf());
      if constexpr (Side::kSees) side.see(v, column + i);
      F seen = v, largest = kRest ? top : v;
      if constexpr (kRest) keep_largest(v, largest);
      if (V::any_gt(largest, threshold)) {
        move_reference(largest, column + i);
        if (scale.general != kGeneral) return i;
      }
      side.count_last(seen, lanes, column + i);
      top = largest;
      Running sums;
      get(sums);
      F e = add<kGeneral>(v, u, sums, scale, c);
      put(sums);
      if constexpr (kStore) {
        if (lanes == W) V::store(e_out + i, e);
        else Element<C>::store_tail(e_out + i, lanes, e);
      }
    }
    return i;
  }

  // Feed n more columns. With kStore their exponentials, each against the reference of its segment,
  // go to e_out, which may be x, or where `side` takes pieces of the row before from: it is never
  // behind. `side` does its own work block by block.
  template <bool kStore, class Side>
  ONEREAD_INLINE void feed(const E* x, size_t n, C* e_out, Side&& side) {
    for (size_t i = 0; i < n;)
      i = scale.general ? run<true, kStore>(x, i, n, e_out, side)
                        : run<false, kStore>(x, i, n, e_out, side);
    side.close();
    if (__builtin_expect(inf, 0) && !nan) nan = has_nan(x, n);
    column += n;
  }

  static bool has_nan(const E* x, size_t n) {
    size_t i = 0;
    for (; i + W <= n; i += W)
      if (V::any_nan(Row::load(x + i))) return true;
    return i < n && V::any_nan(Row::load_tail(x + i, (int)(n - i), 0));
  }

  void finish(SpanSum* out) {
    fold();
    out->sum = folded.total();
    out->nan = nan || (!inf && __builtin_isnan(out->sum));
    out->inf = inf;
    out->empty = empty;
    out->segments = segments;
  }

  // Let one maximum stay out and put those of the other lanes in.
  void finish(Partial* out) {
    C lane[W];
    V::store(lane, top);
    C m = V::largest(top);
    for (int i = 0; i < W; i++)
      if (lane[i] == m) {
        lane[i] = -(C)__builtin_inf();
        break;
      }
    F others = V::load(lane);
    Running sums;
    get(sums);
    const ExpConstants<C> c;
    if (scale.general) add<true>(others, 0, sums, scale, c);
    else add<false>(others, 0, sums, scale, c);
    put(sums);
    fold();
    nan = nan || (!inf && __builtin_isnan(folded.total()));
    *out = {(double)m + 0.0};  // one zero
    if (nan) out->m = out->r = __builtin_nan("");
    if (nan || inf || empty) return;
    partial_of(folded, folded_z, folded_square, reference, temperature, out);
  }

  // Bring sums against a reference to the maximum `out->m`.
  template <class Result>
  static void partial_of(const WideSum<C>& sum, const WideSum<C>& sum_z,
                         const WideSum<C>& sum_square, const Reference& reference,
                         const Temperature& t, Result* out) {
    Pair z = scaled_difference(reference.base, out->m, t);
    double shift = minus_nats(z.high, -middle<C>(reference)) + z.low;
    if constexpr (kPrecise) {
      long double factor = wide_exp_times_power(z, reference.exponent), total = sum.wide_total();
      out->r = factor * total;
      if constexpr (kMoments) {
        out->s1 = factor * (sum_z.wide_total() + shift * total);
        out->s2 = factor * factor * sum_square.wide_total();
      }
    } else {
      double factor = number(exp_times_power(z, reference.exponent)), total = sum.total();
      out->r = factor * total;
      if constexpr (kMoments) {
        out->s1 = factor * (sum_z.total() + shift * total);
        out->s2 = factor * factor * sum_square.total();
      }
    }
  }
};

}  // namespace oneread::ONEREAD_ISA
