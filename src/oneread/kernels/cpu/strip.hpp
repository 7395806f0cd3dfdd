// Short rows that lie side by side in memory, their columns far apart: a vector holds one column of
// W rows, and every cache line of x and y is touched once.
//
// A row's numbers are added in the order that short.hpp adds them in, so that its bits are those of
// the same row lying whole: each of the U * W sums that a row has there is a vector of W rows here.
#pragma once

#include "short.hpp"

namespace oneread::ONEREAD_ISA {

template <class E, bool kLog>
struct Strip {
  using Sums = Short<E, kLog, false>;
  using Online = typename Sums::Sums;
  using Row = Element<E>;
  using C = typename Row::Compute;
  using V = Vec<C>;
  using F = typename V::F;
  using Wide = WideSum<C>;
  using Out = Output<E>;
  static constexpr size_t W = V::W, U = Sums::U, kRows = kStripBytes / sizeof(C), N = kRows / W;
  static constexpr bool kPrecise = Sums::kPrecise;
  static constexpr size_t kAhead = 64;  // columns between a line's prefetch and its use

  const SoftmaxStrip& job;
  Sums of[kRows];
  F most[N];  // of each row
  F bad[N];   // NaN where a row has no probabilities, else 0

  explicit Strip(const SoftmaxStrip& j) : job(j) {}

  size_t vectors() const { return (job.rows + W - 1) / W; }
  // Columns of W rows each, one after the other.
  C* room(size_t vector) const { return (C*)job.room + vector * job.vocab * W; }
  // Call one(vector, lanes) for each vector of rows.
  template <bool kWhole, class One>
  ONEREAD_INLINE void each(One one) const {
    if constexpr (kWhole) {
      for (size_t v = 0; v < N; v++) one(v, (int)W);
    } else {
      for (size_t v = 0; v < vectors(); v++)
        one(v, job.rows - v * W < W ? (int)(job.rows - v * W) : (int)W);
    }
  }

  static void run(const SoftmaxStrip& job) {
    Strip strip(job);
    if (job.rows == kRows) strip.template run<true>();
    else strip.template run<false>();
  }
  template <bool kWhole>
  void run() {
    read<kWhole>();
    for (size_t v = 0; v < vectors(); v++) sum(v);
    if constexpr (kLog) write_logs<kWhole>();
    else write_scaled<kWhole>();
  }

  // Fetch the lines of a column, no further than the second-level cache: columns a power of two
  // apart share few sets of the innermost one.
  template <bool kWhole>
  ONEREAD_INLINE void expect(const E* p) const {
    size_t bytes = (kWhole ? kRows : job.rows) * sizeof(E);
    for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch((const char*)p + at, 0, 2);
    __builtin_prefetch((const char*)p + bytes - 1, 0, 2);
  }

  // Into the room, with the maximum of each row.
  template <bool kWhole>
  void read() {
    const E* x = (const E*)job.x;
    F high[N];
    for (size_t v = 0; v < N; v++) high[v] = V::set(-(C)__builtin_inf());
    C* to = room(0);
    size_t n = job.vocab;
    for (size_t i = 0; i < n; i++, x += job.x_step, to += W) {
      if (i + kAhead < n) expect<kWhole>(x + (ptrdiff_t)kAhead * job.x_step);
      each<kWhole>([&](size_t v, int lanes) __attribute__((always_inline)) {
        F a =
            kWhole || lanes == (int)W ? Row::load(x + v * W) : Row::load_tail(x + v * W, lanes, 0);
        high[v] = V::hi(a, high[v]);
        V::store(to + v * n * W, a);
      });
    }
    for (size_t v = 0; v < N; v++) most[v] = high[v];
  }

  // The sums of W rows; softmax keeps their exponentials in the room.
  void sum(size_t v) {
    Sums* row = of + v * W;
    size_t rows = job.rows - v * W < W ? job.rows - v * W : W;
    const Temperature& t = job.temperature;
    bool general = false;
    for (size_t r = 0; r < rows; r++) {
      row[r].m = most[v][r], row[r].nan = false, row[r].reference = {};
      if (!__builtin_isfinite(row[r].m)) continue;
      row[r].reference = Online::reference_for((double)row[r].m, t);
      general = general || row[r].reference.base != 0;
    }
    // A row whose arguments need no base is summed with a base of 0 beside one that has one: that
    // makes no difference.
    Scale<C> k, one;
    k.set({}, t, general);
    for (size_t r = 0; r < rows; r++) {
      one.set(row[r].reference, t, general);
      k.set_lane((int)r, one);
    }
    if (k.general) sum<true>(room(v), most[v], k, row, rows);
    else sum<false>(room(v), most[v], k, row, rows);
  }

  template <bool kGeneral>
  ONEREAD_INLINE void sum(C* x, F m, const Scale<C>& scale, Sums* row, size_t rows) {
    const ExpConstants<C> c;
    const Scale<C> k = scale;
    const size_t n = job.vocab;
    F running[kPrecise ? 1 : U * W] = {};
    Wide wide[W];
    typename V::I met{};  // columns that hold the maximum
    for (size_t j = 0; j < W; j++) wide[j].clear();
    // Column i, whose sum is that of vector u, lane j, in a row that lies whole.
    auto add = [&](size_t i, size_t u, size_t j) __attribute__((always_inline)) {
      F v = V::load(x + i * W), lost;
      if constexpr (kLog) {
        typename V::I equal = v == m;
        met = met - equal;
        v = equal ? V::set(-(C)__builtin_inf()) : v;
      }
      F e = exponential<C, kGeneral>(v, k, c, nullptr, kPrecise ? &lost : nullptr);
      if constexpr (!kLog) V::store(x + i * W, e);
      if constexpr (kPrecise) {
        wide[j].add(e);
        wide[j].low = wide[j].low + lost;
      } else {
        running[u * W + j] = running[u * W + j] + e;
      }
    };
    for (size_t i = 0; i < n;) {
      size_t stop = n - i < Online::kGroup ? n : i + Online::kGroup;
      for (; i + U * W <= stop; i += U * W)
        for (size_t u = 0; u < U; u++)
          for (size_t j = 0; j < W; j++) add(i + u * W + j, u, j);
      for (; i + W <= stop; i += W)
        for (size_t j = 0; j < W; j++) add(i + j, 0, j);
      for (size_t j = 0; i < stop; i++, j++) add(i, 1, j);
      if constexpr (!kPrecise)
        for (size_t j = 0; j < W; j++) {
          F* s = running + j;
          wide[j].add(V::widen((s[0] + s[W]) + (s[2 * W] + s[3 * W])));
          for (size_t u = 0; u < U; u++) s[u * W] = F{};
        }
    }
    for (size_t r = 0; r < rows; r++) {
      for (size_t j = 0; j < W; j++) {
        row[r].sum.high[j] = wide[j].high[r];
        if constexpr (sizeof(C) == 8) row[r].sum.low[j] = wide[j].low[r];
      }
      row[r].ties = V::count_of(met[r]);
    }
  }

  template <bool kWhole>
  void write_scaled() {
    typename Out::Factor factor[N];
    bool all_good = true;
    for (size_t r = 0; r < vectors() * W; r++) {
      double total = 1;
      if (r < job.rows) total = __builtin_isfinite(of[r].m) ? of[r].sum.total() : __builtin_nan("");
      bool good = !__builtin_isnan(total);
      factor[r / W].set_lane((int)(r % W), typename Out::Factor(divided({1, 0}, good ? total : 1)));
      bad[r / W][r % W] = good ? 0 : (C)__builtin_nan("");
      all_good = all_good && good;
    }
    auto map = [&](F e, size_t v) __attribute__((always_inline)) { return factor[v](e); };
    if (all_good) write<kWhole, false>(map);
    else write<kWhole, true>(map);
  }

  template <bool kWhole>
  void write_logs() {
    typename Sums::Rest rest[kRows];
    Sums::finish(of, job.rows, job.temperature, rest);
    double log_sum[kRows] = {};
    for (size_t r = 0; r < job.rows; r++) log_sum[r] = (double)rest[r].r;
    log_sums<C>(log_sum, job.rows);
    F m[N] = {}, l[N] = {};
    bool all_good = true;
    for (size_t r = 0; r < job.rows; r++) {
      bool good = __builtin_isfinite(rest[r].m);
      m[r / W][r % W] = (C)rest[r].m;
      l[r / W][r % W] = (C)log_sum[r];
      bad[r / W][r % W] = good ? 0 : (C)__builtin_nan("");
      all_good = all_good && good;
    }
    Out::with_log_map(job.temperature, [&](auto log_map) __attribute__((always_inline)) {
      auto map = [&](F x, size_t v)
                     __attribute__((always_inline)) { return log_map(x, m[v], l[v]); };
      if (all_good) write<kWhole, false>(map);
      else write<kWhole, true>(map);
    });
  }

  template <bool kWhole, bool kBad, class Map>
  ONEREAD_INLINE void write(Map map) {
    E* y = (E*)job.y;
    const C* from = room(0);
    size_t n = job.vocab;
    for (size_t i = 0; i < n; i++, y += job.y_step, from += W) {
      if (i + kAhead < n) expect<kWhole>(y + (ptrdiff_t)kAhead * job.y_step);
      each<kWhole>([&](size_t v, int lanes) __attribute__((always_inline)) {
        F out = map(V::load(from + v * n * W), v);
        if constexpr (kBad) out = bad[v] == bad[v] ? out : bad[v];
        if (kWhole || lanes == (int)W) Row::store(y + v * W, out);
        else Row::store_tail(y + v * W, lanes, out);
      });
    }
  }
};

}  // namespace oneread::ONEREAD_ISA
