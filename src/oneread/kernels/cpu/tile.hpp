// Rows that lie side by side in memory, their columns far apart: tiles of W rows and W columns are
// turned in registers, so that every cache line is read, or written, whole.
#pragma once

#include "element.hpp"

namespace oneread::ONEREAD_ISA {

template <class E>
struct Tile {
  using Row = Element<E>;
  using C = typename Row::Compute;
  using V = Vec<C>;
  using F = typename V::F;
  static constexpr int W = V::W;

  static constexpr int L = W < 16 / (int)sizeof(C) ? W : 16 / (int)sizeof(C);  // lanes of 128 bits
  static constexpr int B = W / L;                                              // such blocks

  // Lane l of vector i becomes lane i of vector l: first within blocks, then whole blocks. These
  // are the shuffles that are single instructions; others took three times as long.
  static ONEREAD_INLINE void turn(F (&v)[W]) {
    if constexpr (L == 4)
      for (int i = 0; i < W; i += 4) {
        F a = low(v[i], v[i + 1]), b = high(v[i], v[i + 1]);
        F c = low(v[i + 2], v[i + 3]), d = high(v[i + 2], v[i + 3]);
        v[i] = low_pair(a, c), v[i + 1] = high_pair(a, c);
        v[i + 2] = low_pair(b, d), v[i + 3] = high_pair(b, d);
      }
    if constexpr (L == 2)
      for (int i = 0; i < W; i += 2) {
        F a = low(v[i], v[i + 1]), b = high(v[i], v[i + 1]);
        v[i] = a, v[i + 1] = b;
      }
    for (int i = 0; i < L; i++) {
      if constexpr (B == 2) {
        F a = even(v[i], v[L + i]), b = odd(v[i], v[L + i]);
        v[i] = a, v[L + i] = b;
      }
      if constexpr (B == 4) {
        F a = even(v[i], v[L + i]), b = odd(v[i], v[L + i]);
        F c = even(v[2 * L + i], v[3 * L + i]), d = odd(v[2 * L + i], v[3 * L + i]);
        v[i] = even(a, c), v[2 * L + i] = odd(a, c);
        v[L + i] = even(b, d), v[3 * L + i] = odd(b, d);
      }
    }
  }

  // A shuffle of two vectors: `from` gives for each lane the lane of (a, b) that it takes.
  template <size_t (*from)(size_t lane), size_t... Lane>
  static ONEREAD_INLINE F shuffled(F a, F b, std::index_sequence<Lane...>) {
    return __builtin_shufflevector(a, b, from(Lane)...);
  }
  template <size_t (*from)(size_t lane)>
  static ONEREAD_INLINE F shuffled(F a, F b) {
    return shuffled<from>(a, b, std::make_index_sequence<W>{});
  }
  // Within each block: lanes of a and b in turn, of its lower or upper half; the same by pairs.
  static constexpr size_t of_low(size_t l) { return l / L * L + l % L / 2 + l % 2 * W; }
  static constexpr size_t of_high(size_t l) { return of_low(l) + L / 2; }
  static constexpr size_t of_low_pair(size_t l) { return l / L * L + l % 2 + l % L / 2 * W; }
  static constexpr size_t of_high_pair(size_t l) { return of_low_pair(l) + 2; }
  // Every other block of a, then of b.
  static constexpr size_t of_even(size_t l) { return l % L + l / L * 2 * L; }
  static constexpr size_t of_odd(size_t l) { return of_even(l) + L; }
  static ONEREAD_INLINE F low(F a, F b) { return shuffled<of_low>(a, b); }
  static ONEREAD_INLINE F high(F a, F b) { return shuffled<of_high>(a, b); }
  static ONEREAD_INLINE F low_pair(F a, F b) { return shuffled<of_low_pair>(a, b); }
  static ONEREAD_INLINE F high_pair(F a, F b) { return shuffled<of_high_pair>(a, b); }
  static ONEREAD_INLINE F even(F a, F b) { return shuffled<of_even>(a, b); }
  static ONEREAD_INLINE F odd(F a, F b) { return shuffled<of_odd>(a, b); }

  // `rows` rows of n columns, neighbours in x and columns `step` elements apart, to rows that are
  // `out_step` apart. All rows of some columns first: memory gives neighbouring lines faster.
  static void gather(const E* x, ptrdiff_t step, size_t rows, size_t n, C* out, size_t out_step) {
    for (size_t column = 0; column < n; column += W)
      for (size_t row = 0; row < rows; row += W)
        gather_tile(x + (ptrdiff_t)column * step + row, step, least(rows - row), least(n - column),
                    out + row * out_step + column, out_step);
  }
  // And back.
  static void scatter(const C* in, size_t in_step, E* y, ptrdiff_t step, size_t rows, size_t n) {
    for (size_t column = 0; column < n; column += W)
      for (size_t row = 0; row < rows; row += W)
        scatter_tile(in + row * in_step + column, in_step, y + (ptrdiff_t)column * step + row, step,
                     least(rows - row), least(n - column));
  }

 private:
  static int least(size_t n) { return n < (size_t)W ? (int)n : W; }

  static ONEREAD_INLINE void gather_tile(const E* x, ptrdiff_t step, int height, int width, C* out,
                                         size_t out_step) {
    if (height < W || width < W) return gather_part(x, step, height, width, out, out_step);
    F v[W];
    for (int i = 0; i < W; i++) v[i] = Row::load(x + i * step);
    turn(v);
    for (int i = 0; i < W; i++) V::store(out + (size_t)i * out_step, v[i]);
  }
  // Apart: loops of unknown length would keep the tile out of the registers.
  static __attribute__((noinline)) void gather_part(const E* x, ptrdiff_t step, int height,
                                                    int width, C* out, size_t out_step) {
    F v[W] = {};
    for (int i = 0; i < width; i++) v[i] = Row::load_tail(x + i * step, height, 0);
    turn(v);
    for (int i = 0; i < height; i++)
      Element<C>::store_tail(out + (size_t)i * out_step, width, v[i]);
  }

  static ONEREAD_INLINE void scatter_tile(const C* in, size_t in_step, E* y, ptrdiff_t step,
                                          int height, int width) {
    if (height < W || width < W) return scatter_part(in, in_step, y, step, height, width);
    F v[W];
    for (int i = 0; i < W; i++) {
      v[i] = V::load(in + (size_t)i * in_step);
      V::expect_store(y + (i + W) * step);
    }
    turn(v);
    for (int i = 0; i < W; i++) Row::store(y + i * step, v[i]);
  }
  static __attribute__((noinline)) void scatter_part(const C* in, size_t in_step, E* y,
                                                     ptrdiff_t step, int height, int width) {
    F v[W] = {};
    for (int i = 0; i < height; i++)
      v[i] = Element<C>::load_tail(in + (size_t)i * in_step, width, 0);
    turn(v);
    for (int i = 0; i < width; i++) Row::store_tail(y + i * step, height, v[i]);
  }
};

}  // namespace oneread::ONEREAD_ISA
