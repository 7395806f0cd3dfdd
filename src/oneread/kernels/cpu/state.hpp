// The sums of a row after its last column: how two are merged and what they say.
#pragma once

#include <cmath>

#include "kernels.hpp"

namespace oneread {

inline constexpr double kInf = __builtin_inf();
inline constexpr double kNaN = __builtin_nan("");

// Whether nothing can be divided by: a NaN or +inf in the row, or nothing above -inf.
inline bool has_no_probabilities(const Partial& p) { return !std::isfinite(p.m); }

inline Partial empty_partial() { return {-kInf}; }

// Of two parts of a row the larger maximum stays out of the sums, the other one goes in. Which part
// comes first makes no difference to a single bit.
inline Partial merge(const Partial& a, const Partial& b, double inverse_temperature) {
  if (std::isnan(a.m) || std::isnan(b.m)) return {kNaN, kNaN};
  const Partial& high = a.m >= b.m ? a : b;
  const Partial& low = a.m >= b.m ? b : a;
  if (high.m == kInf) return {kInf};
  if (low.m == -kInf) return high;
  double shift = (low.m - high.m) * inverse_temperature;  // <= 0
  double factor = std::exp(shift);
  if (factor == 0) return high;
  if (shift == 0) return {high.m, (a.r + b.r) + 1, a.s1 + b.s1, (a.s2 + b.s2) + 1};
  double moved = (1 + low.r) * factor;
  return {high.m, high.r + moved, high.s1 + (factor * low.s1 + shift * moved),
          high.s2 + factor * factor * (1 + low.s2)};
}

// lse - m / t: the log of the whole sum beside the maximum, right also when the rest is tiny.
inline double log_sum(const Partial& p) { return std::log1p(p.r); }

inline double lse(const Partial& p, double temperature) {
  return std::isfinite(p.m) ? p.m / temperature + log_sum(p) : p.m;
}
// Both terms are positive, so nothing cancels.
inline double entropy(const Partial& p) {
  return has_no_probabilities(p) ? kNaN : log_sum(p) - p.s1 / (1 + p.r);
}
inline double sum_p2(const Partial& p) {
  return has_no_probabilities(p) ? kNaN : (1 + p.s2) / ((1 + p.r) * (1 + p.r));
}
inline double logprob(const Partial& p, double x, double inverse_temperature) {
  return has_no_probabilities(p) ? kNaN : (x - p.m) * inverse_temperature - log_sum(p);
}

}  // namespace oneread
