// Arrays as they come: type, shape, strides; and how they fall into rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oneread {

enum class DType { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };

size_t item_size(DType);
const char* dtype_name(DType);
bool dtype_from_name(const std::string&, DType*);
inline bool is_float(DType t) { return t >= DType::f16; }
// 32- and 64-bit integers and float64 are computed in double, everything else in float.
bool computes_in_double(DType);

// Memory that somebody else owns. Strides are in bytes and may be zero or negative.
struct Operand {
  char* data = nullptr;
  DType dtype = DType::f32;
  bool swapped = false;  // foreign byte order
  bool writable = false;
  std::vector<size_t> shape;
  std::vector<ptrdiff_t> stride;
};

// One axis, or several that move together, with the step of each array that has the shape of x.
struct Axis {
  size_t size;
  ptrdiff_t x, y, where;
};

// An array seen as rows: `outer` axes number the rows and `inner` axes the columns, both in C
// order, with axes of size 1 dropped and neighbours joined where every array allows it.
struct Layout {
  std::vector<Axis> outer, inner;
  size_t rows = 1, vocab = 1;

  Layout(const Operand& x, const Operand* y, const Operand* where, const std::vector<int>& axes);

  struct Offset {
    ptrdiff_t x = 0, y = 0, where = 0;
  };
  Offset row(size_t index) const {
    if (outer.size() > 1) return odometer(index);
    if (outer.empty()) return {};
    auto i = (ptrdiff_t)index;
    return {i * outer[0].x, i * outer[0].y, i * outer[0].where};
  }

 private:
  Offset odometer(size_t index) const;
};

}  // namespace oneread
