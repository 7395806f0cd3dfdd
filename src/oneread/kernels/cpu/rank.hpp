// The place of a column in the order of its row: how many columns come before it.
#pragma once

#include <algorithm>
#include <cmath>

#include "select.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

// A column whose place is asked for. It may lie outside the row, when its logit is given.
template <class C>
struct Ranked {
  C logit;
  int64_t column;
  bool kept;
};

// What columns left of a ranked one, and the others, are below unless they come before it. Whether
// there are such bounds: for finite logits of columns that are kept.
template <class C>
bool bounds_of(const Ranked<C>& of, C* bounds) {
  if (!of.kept || !std::isfinite(of.logit)) return false;
  bounds[0] = of.logit;
  bounds[1] = number_of<C>(order_key(of.logit) + 1);  // so that equal ones are below it
  return true;
}

// A logit of -inf under a mask: columns that are not kept look the same but come last.
template <class C>
size_t count_before_masked(const Rows& rows, size_t row, const Ranked<C>& of, const C* x, size_t at,
                           size_t n) {
  size_t count = 0;
  count_loads(x, n);
  for (size_t i = 0; i < n; i++) {
    bool kept = rows.kept(row, at + i), left = (int64_t)(at + i) < of.column;
    if (of.kept) count += kept && (!(x[i] <= -(C)kInf) || left);
    else count += kept || left;
  }
  return count;
}

// How many of the columns [at, at + n) of a row, which are at x as they are loaded, come before.
template <class C>
size_t count_before(const Rows& rows, size_t row, const Ranked<C>& of, const void* x, size_t at,
                    size_t n) {
  if (rows.has_mask() && !(of.logit > -(C)kInf) && !std::isnan(of.logit))
    return count_before_masked(rows, row, of, (const C*)x, at, n);
  if (!of.kept) return n;  // beyond the length: after every column that is read
  auto split = (size_t)std::clamp(of.column - (int64_t)at, (int64_t)0, (int64_t)n);
  const Kernels& table = rows.table;
  if (std::isnan(of.logit)) {  // only NaN columns to its left
    C top = (C)kInf;
    return split - table.count_below(x, split, &top, true);
  }
  const char* right = (const char*)x + split * rows.loaded_item();
  return n - table.count_below(x, split, &of.logit, false) -
         table.count_below(right, n - split, &of.logit, true);
}

}  // namespace oneread::inline ONEREAD_DRIVERS
