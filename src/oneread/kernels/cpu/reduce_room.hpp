// What a thread of `reduce` works in.
#pragma once

#include "rank.hpp"
#include "select.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

inline constexpr size_t kNowhere = SIZE_MAX;

// What one span of a row gave.
struct SpanRead {
  Partial sums;
  size_t best_block = kNowhere;  // first column of the block where the maximum was first reached
  size_t best_columns = 0;
  bool nan = false;  // seen by the scan for top-k
};

template <class C>
struct ReduceRoom {
  ReduceRoom(const Plan& plan, size_t group, size_t k, size_t ranks, size_t own_rows, bool all,
             size_t columns)
      : states(group),
        spans(own_rows * plan.spans),
        whole(all ? own_rows * plan.spans : 0),
        maxima(own_rows * plan.groups),
        before(own_rows * ranks),
        ranked(group * ranks),
        buffer(columns),
        bytes(columns ? kBlock * 8 : 0),
        select(plan.groups, k > 0 && plan.selection != Selection::radix),
        short_sums(plan.is_short ? kNeighbours : 0) {}
  Room<SumState> states;
  Room<SpanRead> spans;
  Room<SpanSum> whole;
  Room<C> maxima;
  Room<size_t> before;
  Room<Ranked<C>> ranked;
  Room<C> buffer;
  Room<char> bytes;
  SelectRoom<C> select;
  Room<Partial> short_sums;
  double log_sums[kNeighbours];  // of short rows
  size_t radix_rows = 0;         // that block maxima left to radix selection, for a NaN
};

}  // namespace oneread::inline ONEREAD_DRIVERS
