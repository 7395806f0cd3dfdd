// Rows of up to kShortColumns columns: the maximum first, then the sums against it.
//
// Such a row is in the innermost caches after its first look, so a second one costs a load a vector
// and saves what the online sums need to follow a maximum that rises. Memory is read once all the
// same. Which of the two a row takes depends on V alone.
#pragma once

#include "online.hpp"

namespace oneread::ONEREAD_ISA {

template <class E, bool kRest, bool kMoments>
struct Short {
  using Sums = Online<E, kRest, kMoments>;
  using Row = Element<E>;
  using C = typename Row::Compute;
  using V = Vec<C>;
  using F = typename V::F;
  using I = typename V::I;
  using Running = typename Sums::Running;
  static constexpr int W = V::W, U = Sums::U;
  static constexpr bool kPrecise = Sums::kPrecise;

  WideSum<C> sum, sum_z, sum_square;  // without the columns that hold the maximum, with kRest
  I ties{};                           // how many do, lane by lane

  static ONEREAD_INLINE C maximum(const E* x, size_t n) {
    F high[U];
    for (int u = 0; u < U; u++) high[u] = V::set(-(C)__builtin_inf());
    size_t i = 0;
    for (; i + U * W <= n; i += U * W)
      for (int u = 0; u < U; u++) high[u] = V::hi(Row::load(x + i + u * W), high[u]);
    for (; i + W <= n; i += W) high[0] = V::hi(Row::load(x + i), high[0]);
    if (i < n) high[1] = V::hi(Row::load_tail(x + i, (int)(n - i), -(C)__builtin_inf()), high[1]);
    return V::largest(V::hi(V::hi(high[0], high[1]), V::hi(high[2], high[3])));
  }

  // One vector more into the running sums.
  template <bool kGeneral>
  ONEREAD_INLINE F add(F v, int u, F most, Running& to, const Scale<C>& k,
                       const ExpConstants<C>& c) {
    if constexpr (kRest) {
      I equal = v == most;
      ties = ties - equal;
      v = equal ? V::set(-(C)__builtin_inf()) : v;
    }
    return Sums::template add<kGeneral>(v, u, to, k, c);
  }

  ONEREAD_INLINE void fold(Running& running, const Scale<C>& k, const Reference& reference) {
    if constexpr (kPrecise) {
      sum = running.precise, sum_z = running.precise_z, sum_square = running.precise_square;
    } else {
      auto all = [](const F(&s)[U]) { return V::widen((s[0] + s[1]) + (s[2] + s[3])); };
      auto wide = all(running.sum);
      sum.add(wide);
      if constexpr (kMoments) {
        double rounding = minus_nats((double)k.point[0], middle<C>(reference));
        sum_z.add(all(running.z) + wide * rounding);
        sum_square.add(all(running.square));
      }
      for (int u = 0; u < U; u++) running.sum[u] = running.z[u] = running.square[u] = F{};
    }
  }

  // All sums of a row with a finite maximum; with kStore its exponentials go to e.
  template <bool kGeneral, bool kStore, class Side>
  ONEREAD_INLINE void run(const E* x, size_t n, C* e, C m, const Scale<C>& k,
                          const Reference& reference, Side& beside) {
    const ExpConstants<C> c;
    const F most = V::set(m);
    Running running;
    start(running, reference, k);
    for (size_t i = 0; i < n;) {
      size_t stop = n - i < Sums::kGroup ? n : i + Sums::kGroup;
      auto blocks = [&](size_t until, auto& side) __attribute__((always_inline)) {
        for (; i + U * W <= until; i += U * W) {
          for (int u = 0; u < U; u++) {
            F y = add<kGeneral>(Row::load(x + i + u * W), u, most, running, k, c);
            if constexpr (kStore) V::store(e + i + u * W, y);
          }
          side.step();
        }
      };
      if (size_t steps = beside.steps()) {
        size_t most_columns = steps * U * W;
        Side side = beside;
        blocks(stop - i < most_columns ? stop : i + most_columns, side);
        beside = side;
        if (!beside.steps()) beside.next();
      }
      NoWriter none(nullptr);
      blocks(stop, none);
      for (int u = 0; i + W <= stop; i += W, u++) {
        F y = add<kGeneral>(Row::load(x + i), 0, most, running, k, c);
        if constexpr (kStore) V::store(e + i, y);
      }
      if (i < stop) {
        int lanes = (int)(stop - i);
        F v = Row::load_tail(x + i, lanes, -(C)__builtin_inf());
        F y = add<kGeneral>(v, 1, most, running, k, c);
        if constexpr (kStore) Element<C>::store_tail(e + i, lanes, y);
        i = stop;
      }
      fold(running, k, reference);
    }
  }

  ONEREAD_INLINE void start(Running& running, const Reference& reference, const Scale<C>& k) {
    sum.clear();
    if constexpr (kMoments) sum_z.clear(), sum_square.clear();
    if constexpr (kPrecise) {
      running.precise = sum;
      if constexpr (kMoments) running.precise_z = sum_z, running.precise_square = sum_square;
      running.rounding = V::set((C)minus_nats((double)k.point[0], middle<C>(reference)));
    } else {
      for (int u = 0; u < U; u++) {
        running.sum[u] = F{};
        if constexpr (kMoments) running.z[u] = running.square[u] = F{};
      }
    }
  }

  // Sum all columns of a row; with kStore their exponentials go to e, which may be x.
  template <bool kStore, class Side>
  static ONEREAD_INLINE void all(const E* x, size_t n, const Temperature& t, C* e, SpanSum* out,
                                 Side& side) {
    static_assert(!kRest && !kMoments);
    C m = maximum(x, n);
    out->nan = out->inf = out->empty = false;
    out->segments = 1;
    if (!__builtin_isfinite(m)) {
      out->nan = Sums::has_nan(x, n);
      out->inf = m > 0, out->empty = m < 0;
      return;
    }
    Reference& reference = out->segment[0].reference;
    reference = Sums::reference_for((double)m, t);
    out->segment[0].column = 0;
    Scale<C> k;
    k.set(reference, t);
    Short s;
    if (k.general) s.template run<true, kStore>(x, n, e, m, k, reference, side);
    else s.template run<false, kStore>(x, n, e, m, k, reference, side);
    out->sum = s.sum.total();
    out->nan = __builtin_isnan(out->sum);
  }

  // Sum all columns but one that holds the maximum.
  template <class Side>
  static ONEREAD_INLINE void rest(const E* x, size_t n, const Temperature& t, Partial* out,
                                  Side& side) {
    static_assert(kRest);
    C m = maximum(x, n);
    *out = {(double)m + 0.0};  // one zero
    if (!__builtin_isfinite(m)) {
      if (Sums::has_nan(x, n)) out->m = out->r = __builtin_nan("");
      return;
    }
    Reference reference = Sums::reference_for((double)m, t);
    Scale<C> k;
    k.set(reference, t);
    Short s;
    if (k.general) s.template run<true, false>(x, n, nullptr, m, k, reference, side);
    else s.template run<false, false>(x, n, nullptr, m, k, reference, side);
    if (__builtin_isnan(s.sum.total())) {
      out->m = out->r = __builtin_nan("");
      return;
    }
    double more = -1;  // columns that hold the maximum beside the one that stays out
    for (int lane = 0; lane < W; lane++) more += (double)s.ties[lane];
    Sums::partial_of(s.sum, s.sum_z, s.sum_square, reference, t, out);
    out->r += more, out->s2 += more;
  }
};

}  // namespace oneread::ONEREAD_ISA
