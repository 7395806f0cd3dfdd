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
  using Running = typename Sums::Running;
  static constexpr int W = V::W, U = Sums::U;
  static constexpr bool kPrecise = Sums::kPrecise;

  // Lines to fetch while the arithmetic goes on: of x, and of y to be written.
  struct Ahead {
    const E* x = nullptr;
    const E* y = nullptr;
    ptrdiff_t y_step = 0;
  };

  C m;
  bool nan;  // seen beside a maximum that is infinite
  Reference reference;
  WideSum<C> sum, sum_z, sum_square;  // without the columns that hold the maximum, with kRest
  typename V::Count ties;             // how many do

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
  static ONEREAD_INLINE F add(F v, int u, F most, Running& to, const Scale<C>& k,
                              const ExpConstants<C>& c, typename V::Count& ties_met) {
    if constexpr (kRest) v = V::without(v, most, V::set(-(C)__builtin_inf()), ties_met);
    return Sums::template add<kGeneral>(v, u, to, k, c);
  }

  ONEREAD_INLINE void fold(Running& running, const Scale<C>& k) {
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

  // All sums of a row with a finite maximum; with kStore its exponentials go to e. `beside` does
  // its own work block by block.
  template <bool kGeneral, bool kStore, bool kAhead, class Side>
  ONEREAD_INLINE void run(const E* x, size_t n, C* e, const Scale<C>& k, const ExpConstants<C>& c,
                          const Ahead& ahead, Side& beside) {
    Side side = beside;
    const F most = V::set(m);
    Running running;
    typename V::Count met{};
    start(running, k);
    for (size_t i = 0; i < n;) {
      size_t stop = n - i < Sums::kGroup ? n : i + Sums::kGroup;
      for (; i + U * W <= stop; i += U * W) {
        if (side.steps()) side.step();
        else side.finish();  // what it takes from may lie where these exponentials go
        if constexpr (Side::kAhead > 0) V::expect_loads(ahead.x + i, U * W * sizeof(E));
        for (int u = 0; u < U; u++) {
          F p = add<kGeneral>(Row::load(x + i + u * W), u, most, running, k, c, met);
          if constexpr (kStore) V::store(e + i + u * W, p);
          if constexpr (kAhead && Side::kAhead == 0) {
            __builtin_prefetch(ahead.x + i + u * W);
            V::expect_store(ahead.y + i + u * W);
          }
        }
      }
      if (i < stop) side.finish();
      for (; i + W <= stop; i += W) {
        F y = add<kGeneral>(Row::load(x + i), 0, most, running, k, c, met);
        if constexpr (kStore) V::store(e + i, y);
      }
      if (i < stop) {
        int lanes = (int)(stop - i);
        F v = Row::load_tail(x + i, lanes, -(C)__builtin_inf());
        F y = add<kGeneral>(v, 1, most, running, k, c, met);
        if constexpr (kStore) Element<C>::store_tail(e + i, lanes, y);
        i = stop;
      }
      fold(running, k);
    }
    ties = met;
    beside = side;
  }

  ONEREAD_INLINE void start(Running& running, const Scale<C>& k) {
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

  // Sum `rows` rows; with kStore their exponentials go to e, which may be x. Step by step for all
  // of them: what one row waits for leaves time for another.
  template <bool kStore, bool kAhead = false, class Side = Nothing>
  static void many(const E* x, ptrdiff_t x_step, size_t rows, size_t n, const Temperature& t, C* e,
                   ptrdiff_t e_step, Short* of, Ahead ahead = {}, Side&& side = {}) {
    for (size_t r = 0; r < rows; r++) of[r].m = maximum(x + (ptrdiff_t)r * x_step, n);
    for (size_t r = 0; r < rows; r++)
      if (__builtin_isfinite(of[r].m)) of[r].reference = Sums::reference_for((double)of[r].m, t);
    const ExpConstants<C> c;
    for (size_t r = 0; r < rows; r++) {
      of[r].nan = !__builtin_isfinite(of[r].m) && Sums::has_nan(x, n);
      if (__builtin_isfinite(of[r].m)) {
        Scale<C> k;
        k.set(of[r].reference, t);
        if (k.general) of[r].template run<true, kStore, kAhead>(x, n, e, k, c, ahead, side);
        else of[r].template run<false, kStore, kAhead>(x, n, e, k, c, ahead, side);
      }
      x += x_step;
      if constexpr (kStore) e += e_step;
      if constexpr (kAhead) ahead.x += x_step, ahead.y += ahead.y_step;
    }
    side.finish();
    side.close();
  }

  // What exponentials are divided by; NaN where the row has no probabilities.
  double total() const { return __builtin_isfinite(m) ? sum.total() : __builtin_nan(""); }

  // The results: the sum of all columns,
  void finish(SpanSum* out) const {
    static_assert(!kRest && !kMoments);
    bool finite = __builtin_isfinite(m);
    out->sum = finite ? sum.total() : 0;
    out->nan = nan || __builtin_isnan(out->sum);
    out->inf = !finite && m > 0;
    out->empty = !finite && m < 0;
    out->segments = 1;
    out->segment[0] = {0, reference};
  }
  // or of all but one that holds the maximum. In double, unless there is nothing wider than C:
  // extended precision costs as much as the exponentials of a short row.
  struct Rest {
    double m;
    std::conditional_t<kPrecise, long double, double> r = 0, s1 = 0, s2 = 0;
  };
  static ONEREAD_INLINE void finish(const Short* of, size_t rows, const Temperature& t, Rest* out) {
    static_assert(kRest);
    using D = Vec<double>;
    for (size_t r = 0; r < rows; r += D::W) {
      size_t n = rows - r < (size_t)D::W ? rows - r : (size_t)D::W;
      double factor[D::W];
      if constexpr (!kPrecise) plain_factors(of + r, n, t, factor);
      for (size_t i = 0; i < n; i++) out[r + i] = of[r + i].finished(t, factor[i]);
    }
  }

 private:
  bool plain(const Temperature& t) const {
    return __builtin_isfinite(m) && t.t == 1 && reference.base == 0;
  }

  // What brings the sums of plain rows to their maximum: e^-m 2^exponent, W rows at a time.
  static ONEREAD_INLINE void plain_factors(const Short* of, size_t n, const Temperature& t,
                                           double* factor) {
    using D = Vec<double>;
    D::F m = {}, power = {};
    for (size_t i = 0; i < n; i++)
      if (of[i].plain(t)) m[i] = -(double)of[i].m, power[i] = (double)of[i].reference.exponent;
    Scale<double> k;
    k.low = D::set(-Constants<double>::limit);
    k.magic = power + (Constants<double>::round + Constants<double>::bias);
    const ExpConstants<double> c;
    D::store(factor, exponential<double, false>(m, k, c));
  }

  ONEREAD_INLINE Rest finished(const Temperature& t, double factor) const {
    Rest out{(double)m + 0.0};  // one zero
    bool finite = __builtin_isfinite(m);
    double total = finite ? sum.total() : 0;
    if (nan || __builtin_isnan(total)) return {__builtin_nan(""), __builtin_nan("")};
    if (!finite) return out;
    // Columns that hold the maximum beside the one that stays out.
    double more = V::counted(ties) - 1;
    if (!kPrecise && plain(t)) {
      out.r = factor * total;
      if constexpr (kMoments) {
        double shift = minus_nats(-out.m, -middle<C>(reference));
        out.s1 = factor * (sum_z.total() + shift * total);
        out.s2 = factor * factor * sum_square.total();
      }
    } else {
      Sums::partial_of(sum, sum_z, sum_square, reference, t, &out);
    }
    out.r += more, out.s2 += more;
    return out;
  }
};

// log(1 + r) of n numbers in place, of room for a multiple of the vector.
template <class C>
void log_sums(double* r, size_t n) {
  using D = Vec<double>;
  for (size_t i = 0; i < n; i += D::W) {
    if constexpr (sizeof(C) == 4) D::store(r + i, log_sums(D::load(r + i)));
    else
      for (size_t lane = 0; lane < D::W; lane++) r[i + lane] = log_sum(r[i + lane]);
  }
}

}  // namespace oneread::ONEREAD_ISA
