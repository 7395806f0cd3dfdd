#include "layout.hpp"

#include <algorithm>
#include <stdexcept>

namespace oneread {

namespace {

struct DTypeRow {
  const char* name;
  size_t size;
};
constexpr DTypeRow kDTypes[] = {
    {"bool", 1},     {"int8", 1},    {"uint8", 1},   {"int16", 2},  {"uint16", 2},
    {"int32", 4},    {"uint32", 4},  {"int64", 8},   {"uint64", 8}, {"float16", 2},
    {"bfloat16", 2}, {"float32", 4}, {"float64", 8},
};

void append(std::vector<Axis>& axes, const Axis& next) {
  if (next.size == 1) return;
  if (!axes.empty()) {
    Axis& last = axes.back();
    auto n = (ptrdiff_t)next.size;
    if (last.x == next.x * n && last.y == next.y * n && last.where == next.where * n) {
      last = {last.size * next.size, next.x, next.y, next.where};
      return;
    }
  }
  axes.push_back(next);
}

}  // namespace

size_t item_size(DType t) { return kDTypes[(int)t].size; }
const char* dtype_name(DType t) { return kDTypes[(int)t].name; }

bool dtype_from_name(const std::string& name, DType* out) {
  for (int i = 0; i <= (int)DType::f64; i++)
    if (name == kDTypes[i].name) return *out = (DType)i, true;
  return false;
}

bool computes_in_double(DType t) { return t == DType::f64 || (t >= DType::i32 && t <= DType::u64); }

Layout::Layout(const Operand& x, const Operand* y, const Operand* where,
               const std::vector<int>& axes) {
  for (const Operand* other : {y, where})
    if (other && other->shape != x.shape)
      throw std::invalid_argument("operands of a different shape");
  for (size_t i = 0; i < axes.size(); i++)
    if (axes[i] < 0 || (size_t)axes[i] >= x.shape.size() || (i && axes[i] <= axes[i - 1]))
      throw std::invalid_argument("axes must be ascending and in range");
  for (size_t a = 0; a < x.shape.size(); a++) {
    Axis axis{x.shape[a], x.stride[a], y ? y->stride[a] : 0, where ? where->stride[a] : 0};
    bool reduced = std::find(axes.begin(), axes.end(), (int)a) != axes.end();
    (reduced ? vocab : rows) *= axis.size;
    append(reduced ? inner : outer, axis);
  }
}

Layout::Offset Layout::odometer(size_t index) const {
  Offset sum;
  for (size_t a = outer.size(); a-- > 0;) {
    auto i = (ptrdiff_t)(index % outer[a].size);
    index /= outer[a].size;
    sum.x += i * outer[a].x;
    sum.y += i * outer[a].y;
    sum.where += i * outer[a].where;
  }
  return sum;
}

}  // namespace oneread
