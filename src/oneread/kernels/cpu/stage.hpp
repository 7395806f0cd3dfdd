// From memory of any type and layout to a buffer of the compute type, and back.
#pragma once

#include "count.hpp"
#include "kernels.hpp"
#include "layout.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

// Columns that are gathered, converted or scanned at a time: 16 KiB of float, half an L1 cache.
// Every vector width's group of sums divides it.
inline constexpr size_t kBlock = 4096;
static_assert(kShortColumns <= kBlock);  // short rows are staged whole

// Elements between neighbouring rows in a buffer beside their length: at a power of two they would
// fall into one set of the cache.
inline constexpr size_t kRowGap = 16;

// One array seen along the columns of rows: where its columns lie from a row's start.
struct Columns {
  DType dtype;
  bool swapped;
  const std::vector<Axis>* inner;
  ptrdiff_t Axis::* step;  // which array's step of each axis: &Axis::x, &Axis::y, &Axis::where

  ptrdiff_t offset(size_t column) const;
  // Call run(position, byte offset, stride, n) for each stretch of columns with one stride.
  template <class Run>
  void runs(size_t first, size_t n, Run run) const;
};

// Read columns [first, first + n) of the row at `row` into `out` (float or double, C), through
// `room` (n elements of up to 8 bytes).
template <class C>
void gather(const Columns&, const char* row, size_t first, size_t n, C* out, void* room,
            const Kernels& narrow_element);

// Set the columns whose mask is false to -inf.
template <class C>
void mask(const Columns&, const char* row, size_t first, size_t n, C* out);

// Write n numbers to columns [first, first + n) of the row at `row`.
template <class C>
void scatter(const Columns&, char* row, size_t first, size_t n, const C* in, void* room,
             const Kernels& narrow_element);

// One element, as the compute type.
template <class C>
C element(const Columns&, const char* row, size_t column, const Kernels& narrow_element);

}  // namespace oneread::inline ONEREAD_DRIVERS
