#include "count.hpp"

#include <stdexcept>

#include "layout.hpp"

namespace oneread {

namespace {
thread_local Counting* counting = nullptr;
}

Counting::Counting() : stack_((uintptr_t)__builtin_frame_address(0)) {
  if (counting) throw std::invalid_argument("accesses are being counted already");
  counting = this;
}
Counting::~Counting() { counting = nullptr; }

Counting* Counting::current() { return counting; }

Counting::Extent::Extent(const Operand* a) {
  if (!a) return;
  auto first = (uintptr_t)a->data, last = first;
  for (size_t i = 0; i < a->shape.size(); i++) {
    if (!a->shape[i]) return;
    ptrdiff_t reach = (ptrdiff_t)(a->shape[i] - 1) * a->stride[i];
    (reach < 0 ? first : last) += (uintptr_t)reach;
  }
  from = first;
  to = last + item_size(a->dtype);
}

size_t Counting::Cache::fetch(uintptr_t p, size_t bytes) {
  size_t missing = 0;
  for (uintptr_t line = p / kLine; line <= (p + bytes - 1) / kLine; line++) {
    auto& set = sets[line % 64];
    int way = 0;
    while (way < 7 && set[way] != line) way++;
    missing += set[way] != line;
    for (; way > 0; way--) set[way] = set[way - 1];
    set[0] = line;
  }
  return missing;
}

void Counting::watch(const Operand& x, const Operand* y) {
  x_ = Extent(&x);
  y_ = Extent(y);
}

bool Counting::on_stack(uintptr_t p) const {
  return (uintptr_t)__builtin_frame_address(0) <= p && p < stack_;
}

void Counting::loads(const void* at, size_t n, size_t bytes) {
  auto p = (uintptr_t)at;
  bool x = x_.holds(p), y = y_.holds(p);
  if (!n || (!x && !y && on_stack(p))) return;
  (x ? counts.x_loads : y ? counts.y_loads : counts.scratch_loads) += n;
  size_t lines = cache_.fetch(p, bytes);
  if (x) counts.x_fetched_bytes += lines * Cache::kLine;
}

void Counting::stores(const void* at, size_t n, size_t bytes) {
  auto p = (uintptr_t)at;
  bool x = x_.holds(p), y = y_.holds(p);
  if (!n || (!x && !y && on_stack(p))) return;
  (x ? counts.x_stores : y ? counts.y_stores : counts.scratch_stores) += n;
  cache_.fetch(p, bytes);
}

}  // namespace oneread
