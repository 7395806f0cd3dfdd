// Short rows that lie side by side: how they are cut into strips, and the room that these need.
#pragma once

#include "pool.hpp"
#include "rows.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

class Strips {
 public:
  Strips(const Request& request, const Layout& layout, const Plan& plan)
      : request_(request),
        plan_(plan),
        rows_(request, layout, plan),
        step_(layout.inner[0]),
        side_by_side_(layout.outer.back().size),
        item_(rows_.item()),
        most_(kStripBytes / (plan.in_double ? 8 : 4)) {
    for (int t = 0; t < plan.threads; t++) rooms_.emplace_back(rows_.vocab() * kStripBytes);
  }

  void run() {
    // Where a group of neighbours does not begin at a cache line, it may have one strip more.
    size_t in_group =
        side_by_side_ <= most_ ? 1 : (side_by_side_ + kLine / item_ - 1 + most_ - 1) / most_;
    size_t strips = rows_.count() / side_by_side_ * in_group;
    size_t chunk = rows_per_item(strips, rows_.vocab() * most_, plan_.threads, 1);
    size_t items = (strips + chunk - 1) / chunk;
    const Temperature t = rows_.temperature(0);
    parallel(items, plan_.threads, [&](size_t item, int worker) {
      FloatControl control(Rows::flushes(t));
      size_t last = std::min((item + 1) * chunk, strips);
      for (size_t s = item * chunk; s < last; s++)
        strip(s / in_group * side_by_side_, s % in_group, t, rooms_[worker].get());
    });
  }

 private:
  static constexpr size_t kLine = 64;

  // Strip `s` of the neighbours from row `first` on: all but the first begin where a line of y
  // does.
  void strip(size_t first, size_t s, const Temperature& t, char* room) {
    size_t past = (uintptr_t)rows_.y(first) % kLine / item_;
    if (side_by_side_ <= most_) past = 0;
    size_t from = s ? s * most_ - past : 0;
    size_t to = std::min((s + 1) * most_ - past, side_by_side_);
    if (from >= to) return;
    rows_.table.softmax_strip({rows_.x(first + from), rows_.y(first + from), elements(step_.x),
                               elements(step_.y), to - from, rows_.vocab(), t, room, request_.log});
  }
  ptrdiff_t elements(ptrdiff_t bytes) const { return bytes / (ptrdiff_t)item_; }

  const Request& request_;
  const Plan& plan_;
  Rows rows_;
  const Axis step_;            // between columns
  const size_t side_by_side_;  // rows
  const size_t item_;          // bytes of an element in memory
  const size_t most_;          // rows of a strip
  std::vector<Room<char>> rooms_;
};

}  // namespace oneread::inline ONEREAD_DRIVERS
