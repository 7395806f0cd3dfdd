// The sums of a row after its last column: how two are merged and what they say.
#pragma once

#define ONEREAD_ISA drivers  // the namespace of what the drivers share with the vector code

#include <cmath>

#include "reference.hpp"

namespace oneread {

using drivers::exp_difference;
using drivers::Pair;
using drivers::scaled_difference;

inline constexpr double kInf = __builtin_inf();
inline constexpr double kNaN = __builtin_nan("");

// Whether nothing can be divided by: a NaN or +inf in the row, or nothing above -inf.
inline bool has_no_probabilities(const Partial& p) { return !std::isfinite(p.m); }

inline Partial empty_partial() { return {-kInf}; }

// Of two parts of a row the larger maximum stays out of the sums, the other one goes in. Which part
// comes first makes no difference to a single bit.
inline Partial merge(const Partial& a, const Partial& b, const Temperature& t) {
  if (std::isnan(a.m) || std::isnan(b.m)) return {kNaN, kNaN};
  const Partial& high = a.m >= b.m ? a : b;
  const Partial& low = a.m >= b.m ? b : a;
  if (high.m == kInf) return {kInf};
  if (low.m == -kInf) return high;
  if (a.m == b.m) return {high.m, (a.r + b.r) + 1, a.s1 + b.s1, (a.s2 + b.s2) + 1};
  Pair shift = scaled_difference(low.m, high.m, t);  // <= 0
  long double factor = drivers::wide_exp_times_power(shift, 0), moved = factor * (1 + low.r);
  if (moved == 0) return high;
  return {high.m, high.r + moved, high.s1 + (factor * low.s1 + shift.high * moved),
          high.s2 + factor * factor * (1 + low.s2)};
}

// lse - m / t: the log of the whole sum beside the maximum, right also when the rest is tiny.
inline double log_sum(const Partial& p) { return drivers::log_sum((double)p.r); }

inline double lse(const Partial& p, const Temperature& t) {
  return std::isfinite(p.m) ? p.m / t.t + log_sum(p) : p.m;
}
// Both terms are positive, so nothing cancels.
inline double entropy(const Partial& p) {
  return has_no_probabilities(p) ? kNaN : log_sum(p) - (double)(p.s1 / (1 + p.r));
}
inline double sum_p2(const Partial& p) {
  if (has_no_probabilities(p)) return kNaN;
  return (double)((1 + p.s2) / ((1 + p.r) * (1 + p.r)));
}
inline double logprob(const Partial& p, double x, const Temperature& t) {
  if (has_no_probabilities(p)) return kNaN;
  Pair z = scaled_difference(x, p.m, t);
  return z.high - (log_sum(p) - z.low);
}
inline double probability(const Partial& p, double x, const Temperature& t) {
  return has_no_probabilities(p) ? kNaN : (double)(exp_difference(x, p.m, t) / (1 + p.r));
}

// The sums of all columns of a row, the maximum among them: one SpanSum a span, brought to one
// reference. What softmax divides by.
struct WholeSum {
  Reference top;
  double total = 0;
  bool nan = false, inf = false, empty = true;

  bool has_no_probabilities() const { return nan || inf || empty; }

  WholeSum() = default;
  WholeSum(const SpanSum* spans, size_t count, const Temperature& t) {
    for (size_t s = 0; s < count; s++) {
      nan = nan || spans[s].nan;
      inf = inf || spans[s].inf;
      if (spans[s].empty || spans[s].inf) continue;
      if (empty || drivers::nats_between(last(spans[s]), top, t) > 0) top = last(spans[s]);
      empty = false;
    }
    for (size_t s = 0; s < count; s++) {
      if (spans[s].empty) continue;
      Scaled ratio = drivers::ratio(last(spans[s]), top, t);
      total += drivers::number({spans[s].sum * ratio.value, ratio.power});
    }
  }

  // What the exponentials of a segment are multiplied by.
  Scaled factor(const Segment& segment, const Temperature& t) const {
    return drivers::divided(drivers::ratio(segment.reference, top, t), total);
  }
  double lse(const Temperature& t) const {
    if (nan) return kNaN;
    if (inf || empty) return inf ? kInf : -kInf;
    int power;  // total = f 2^power with f near 1: its log and the power's must not cancel
    double f = 2 * std::frexp(total, &power);
    return top.base / t.t + drivers::minus_nats(std::log(f), -(double)(top.exponent + power - 1));
  }

 private:
  static const Reference& last(const SpanSum& span) {
    return span.segment[span.segments - 1].reference;
  }
};

// The segment that `column` of a span lies in.
inline int segment_of(const SpanSum& span, size_t column) {
  int s = 0;
  while (s + 1 < span.segments && span.segment[s + 1].column <= column) s++;
  return s;
}

}  // namespace oneread
