#include "count.hpp"

#include <cstdint>
#include <stdexcept>

#include "layout.hpp"

namespace oneread {

namespace {

struct Extent {
  uintptr_t from = 0, to = 0;
  bool holds(uintptr_t p) const { return from <= p && p < to; }
};

Extent extent(const Operand& a) {
  auto from = (uintptr_t)a.data, last = from;
  for (size_t i = 0; i < a.shape.size(); i++) {
    if (!a.shape[i]) return {};
    ptrdiff_t reach = (ptrdiff_t)(a.shape[i] - 1) * a.stride[i];
    if (reach < 0) from += (uintptr_t)reach;
    else last += (uintptr_t)reach;
  }
  return {from, last + item_size(a.dtype)};
}

struct Watch {
  Counting* counting = nullptr;
  uintptr_t stack = 0;  // where the count began; stacks grow down
  Extent x, y;
};
thread_local Watch watching;

void count(const void* at, size_t n, size_t Counts::* of_x, size_t Counts::* of_y,
           size_t Counts::* of_scratch) {
  const Watch& w = watching;
  if (!w.counting) return;
  auto p = (uintptr_t)at;
  bool in_x = w.x.holds(p), in_y = w.y.holds(p);
  if (!in_x && !in_y && (uintptr_t)__builtin_frame_address(0) <= p && p < w.stack) return;
  w.counting->counts.*(in_x ? of_x : in_y ? of_y : of_scratch) += n;
}

}  // namespace

Counting::Counting() {
  if (watching.counting) throw std::logic_error("accesses are being counted already");
  watching = {this, (uintptr_t)__builtin_frame_address(0), {}, {}};
}
Counting::~Counting() { watching = {}; }

bool Counting::on() { return watching.counting != nullptr; }

void Counting::watch(const Operand& x, const Operand* y) {
  watching.x = extent(x);
  watching.y = y ? extent(*y) : Extent{};
}

namespace counted {

void count_loads(const void* p, size_t n) {
  count(p, n, &Counts::x_loads, &Counts::y_loads, &Counts::scratch_loads);
}
void count_stores(const void* p, size_t n) {
  count(p, n, &Counts::x_stores, &Counts::y_stores, &Counts::scratch_stores);
}

}  // namespace counted

}  // namespace oneread
