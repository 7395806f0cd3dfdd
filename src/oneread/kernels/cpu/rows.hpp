// What the drivers know of each row, and the room that a thread needs.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "driver.hpp"
#include "stage.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

// Rows that are gathered turn by turn, block by block, when they lie closer together than columns
// do: a cache line that one row fetched still serves its neighbours.
inline constexpr size_t kNeighbours = 48;

class Rows {
 public:
  Rows(const Request& request, const Layout& layout, const Plan& plan)
      : request_(request),
        layout_(layout),
        plan_(plan),
        table(plan.tables(plan.element)),
        own(plan.tables(plan.in_double ? ElementType::f64 : ElementType::f32)),
        half_(plan.tables(request.x.dtype == DType::bf16 ? ElementType::bf16 : ElementType::f16)),
        half_out_(plan.tables(request.y && request.y->dtype == DType::bf16 ? ElementType::bf16
                                                                           : ElementType::f16)),
        columns_{request.x.dtype, request.x.swapped, &layout.inner, &Axis::x},
        columns_where_{DType::boolean, false, &layout.inner, &Axis::where},
        columns_y_{request.y ? request.y->dtype : DType::f32, request.y && request.y->swapped,
                   &layout.inner, &Axis::y} {}

  size_t count() const { return layout_.rows; }
  size_t vocab() const { return layout_.vocab; }
  const std::vector<Axis>& outer() const { return layout_.outer; }
  size_t length(size_t row) const {
    return request_.lengths ? (size_t)request_.lengths[row] : layout_.vocab;
  }
  Temperature temperature(size_t row) const {
    return Temperature(request_.temperatures ? request_.temperatures[row] : request_.temperature);
  }

  // Whether results below the normal range may be flushed: not when a temperature is so small that
  // differences between subnormal logits count.
  static bool flushes(const Temperature& t) { return t.t > 0x1p-60; }

  // How many rows from `row` on are worth reading turn by turn.
  size_t neighbours() const {
    if (!plan_.staged || layout_.inner.empty() || layout_.outer.empty()) return 1;
    auto size = [](ptrdiff_t step) { return step < 0 ? -step : step; };
    return size(layout_.outer.back().x) < size(layout_.inner.back().x)
               ? kNeighbours / (plan_.in_double ? 2 : 1)
               : 1;
  }
  // How many of `left` rows from `row` on to take together, `most` at the most: neighbours up to
  // where a cache line of y, or of x, ends.
  size_t together(size_t row, size_t left, size_t most) const {
    if (left <= most || most == 1) return std::min(left, most);
    constexpr size_t kLine = 64;
    size_t size = item_size(request_.y ? request_.y->dtype : request_.x.dtype);
    size_t past = ((uintptr_t)(request_.y ? y(row) : x(row)) + most * size) % kLine / size;
    return past < most ? most - past : most;
  }
  size_t block(size_t rows) const { return rows > 1 ? kBlock / 4 : kBlock; }

  const char* x(size_t row) const { return request_.x.data + layout_.row(row).x; }
  char* y(size_t row) const { return request_.y->data + layout_.row(row).y; }
  size_t item() const { return item_size(request_.x.dtype); }
  // Size of an element as the vector code loads it.
  size_t loaded_item() const { return !plan_.staged ? item() : plan_.in_double ? 8 : 4; }
  bool has_mask() const { return request_.where.has_value(); }

  template <class C>
  void stage(size_t row, size_t first, size_t n, C* out, void* room) const {
    gather(columns_, x(row), first, n, out, room, half_);
    if (request_.where)
      mask(columns_where_, request_.where->data + layout_.row(row).where, first, n, out);
  }
  template <class C>
  void unstage(size_t row, size_t first, size_t n, const C* in, void* room) const {
    scatter(columns_y_, y(row), first, n, in, room, half_out_);
  }

  // Columns [first, first + n) of `rows` neighbouring rows, as far as they go, to rows that are
  // `step` apart, and back.
  template <class C>
  void stage_rows(size_t row, size_t rows, size_t first, size_t n, C* out, size_t step,
                  void* room) const {
    const DType type = request_.x.dtype;
    bool whole = !request_.where && !request_.lengths && !request_.x.swapped;
    if (whole && is_one_tile<C>(row, rows, type, &Axis::x, x(row))) {
      ptrdiff_t bytes = layout_.inner[0].x;
      tile_of(type, half_)
          .gather_rows(x(row) + (ptrdiff_t)first * bytes, bytes / (ptrdiff_t)item_size(type), rows,
                       n, out, step);
      return;
    }
    for (size_t r = 0; r < rows; r++) {
      size_t stop = std::min(first + n, length(row + r));
      if (first < stop) stage(row + r, first, stop - first, out + r * step, room);
    }
  }
  template <class C>
  void unstage_rows(size_t row, size_t rows, size_t first, size_t n, const C* in, size_t step,
                    void* room) const {
    const DType type = request_.y->dtype;
    if (!request_.y->swapped && is_one_tile<C>(row, rows, type, &Axis::y, y(row))) {
      ptrdiff_t bytes = layout_.inner[0].y;
      tile_of(type, half_out_)
          .scatter_rows(in, step, y(row) + (ptrdiff_t)first * bytes,
                        bytes / (ptrdiff_t)item_size(type), rows, n);
      return;
    }
    for (size_t r = 0; r < rows; r++) unstage(row + r, first, n, in + r * step, room);
  }

  // Columns that where= or lengths= leaves in.
  bool kept(size_t row, size_t column) const {
    if (column >= length(row)) return false;
    if (!request_.where) return true;
    return request_.where->data[layout_.row(row).where + columns_where_.offset(column)] != 0;
  }
  template <class C>
  C element_at(size_t row, size_t column) const {
    if (!plan_.staged && !request_.lengths && item() == sizeof(C)) {
      const C* p = reinterpret_cast<const C*>(x(row)) + column;
      count_loads(p, 1);
      return *p;
    }
    return kept(row, column) ? element<C>(columns_, x(row), column, half_) : -(C)kInf;
  }
  // The element's own bytes, in this machine's order; -inf of its (float) type where not kept.
  void copy_element(size_t row, size_t column, char* to) const;

 private:
  const Request& request_;
  const Layout& layout_;
  const Plan& plan_;

 public:
  const Kernels& table;  // of the elements that the vector code loads
  const Kernels& own;    // of the compute type

 private:
  // Whether rows are neighbours whose elements vectors load as C, with one step between columns.
  template <class C>
  bool is_one_tile(size_t row, size_t rows, DType type, ptrdiff_t Axis::* step,
                   const char* at) const {
    if (rows < 2 || layout_.inner.size() != 1 || layout_.outer.empty() || !is_float(type))
      return false;
    auto size = (ptrdiff_t)item_size(type);
    const Axis& last = layout_.outer.back();
    return computes_in_double(type) == (sizeof(C) == 8) && last.*step == size &&
           row % last.size + rows <= last.size && layout_.inner[0].*step % size == 0 &&
           (uintptr_t)at % (uintptr_t)size == 0;
  }
  const Kernels& tile_of(DType type, const Kernels& half) const {
    return type == DType::f16 || type == DType::bf16 ? half : own;
  }

  const Kernels& half_;
  const Kernels& half_out_;
  Columns columns_, columns_where_, columns_y_;
};

inline void Rows::copy_element(size_t row, size_t column, char* to) const {
  size_t size = item();
  if (kept(row, column)) {
    const char* from = x(row) + columns_.offset(column);
    count_strided_loads<char>(from, 0, 1);
    for (size_t i = 0; i < size; i++) to[i] = from[request_.x.swapped ? size - 1 - i : i];
    return;
  }
  constexpr uint16_t half = 0xfc00, bfloat = 0xff80;
  constexpr float single = -(float)__builtin_inf();
  constexpr double wide = -kInf;
  switch (request_.x.dtype) {
    case DType::f16:
      std::memcpy(to, &half, size);
      break;
    case DType::bf16:
      std::memcpy(to, &bfloat, size);
      break;
    case DType::f32:
      std::memcpy(to, &single, size);
      break;
    default:
      std::memcpy(to, &wide, size);
  }
}

// Memory of one thread, made before the work starts: nothing is allocated while it runs.
template <class T>
class Room {
 public:
  explicit Room(size_t n) : bytes_(n * sizeof(T)) {
    if (n) data_ = static_cast<T*>(::operator new(bytes_, std::align_val_t{64}));
  }
  Room(Room&& other) noexcept : bytes_(other.bytes_), data_(other.data_) { other.data_ = nullptr; }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() { ::operator delete(data_, std::align_val_t{64}); }
  T* get() const { return data_; }
  T& operator[](size_t i) const { return data_[i]; }

 private:
  size_t bytes_;
  T* data_ = nullptr;
};

// Split `rows` into items of about 64 Ki columns, at least `least` rows each, so that every thread
// gets several.
inline size_t rows_per_item(size_t rows, size_t vocab, int threads, size_t least) {
  constexpr size_t kColumns = 1 << 16;
  size_t n = rows / (4 * (size_t)threads);
  if (vocab && n > kColumns / vocab) n = kColumns / vocab;
  return n < least ? least : n;
}

}  // namespace oneread::inline ONEREAD_DRIVERS
