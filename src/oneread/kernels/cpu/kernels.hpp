// What the vector code offers to the drivers: plain structs and one table of functions for each
// element type and instruction set. Knows neither threads, strides nor Python.
#pragma once

#include <cstddef>
#include <cstdint>

namespace oneread {

// Where exponentials are measured from: a column x is kept as exp((x - base) / t) * 2^-exponent.
// base is 0 unless the row's maximum is too large for the exponent alone (see online.hpp).
struct Reference {
  double base = 0;
  int64_t exponent = 0;
};

// What logits are divided by, and its inverse (inverse + inverse_low) * 2^power with what the
// rounding left out. The power stands apart since 1 / t may leave double's range.
struct Temperature {
  double t = 1, inverse = 1, inverse_low = 0;
  int power = 0;

  Temperature() = default;
  explicit Temperature(double value) : t(value) {
    if (t == 1) return;
    double f = __builtin_frexp(t, &power);
    inverse = 1 / f;
    inverse_low = __builtin_fma(-inverse, f, 1) * inverse;
    power = -power;
  }
};

// (value + low) * 2^power: a positive number that double's range may not hold.
struct Scaled {
  double value;
  int64_t power;
  double low = 0;
};

// From `column` on, exponentials were stored against `reference`.
struct Segment {
  size_t column;
  Reference reference;
};

// A reference moves up by at least 12 nats, so 11 (float) or 64 (double) of them span every value
// that is not zero beside the newest; older segments are merged into one.
inline constexpr int kMaxSegments = 80;

// One span of a row whose exponentials were all summed: what softmax needs.
struct SpanSum {
  double sum = 0;  // of exp((x - base) / t) * 2^-exponent, against the last segment's reference
  bool nan = false;
  bool inf = false;   // a +inf was seen
  bool empty = true;  // nothing above -inf was seen
  int segments = 0;
  Segment segment[kMaxSegments];
};

// One span or row with one maximum kept out of the sums: what the logarithms need.
// m = max x; over all columns but one that holds m, with z = (x - m) / t:
// r = sum e^z, s1 = sum z e^z, s2 = sum e^(2z). m = NaN: a NaN was seen; m = +inf: a +inf, no NaN.
// The sums are of the widest type, so that statistics of float64 are rounded once, however many
// spans or states a row was cut into.
struct Partial {
  double m;
  long double r = 0;
  long double s1 = 0;
  long double s2 = 0;
};

// Room for a sum in progress, whatever the instruction set.
struct alignas(64) SumState {
  unsigned char bytes[4608];
};

// Rows of up to this many columns are summed against their maximum, see short.hpp.
inline constexpr size_t kShortColumns = 4096;
// At most so many of them go through each step together.
inline constexpr size_t kRowsTogether = 16;

// Part of a row that is summed and not yet written: y = from * factor, or (from - m) - log_sum.
struct Piece {
  const void* from;  // exponentials (compute type), or logits
  void* y;
  size_t n;
  Scaled factor;
  double m = 0, log_sum = 0;
};

// Pieces of the row before, which are written while the next row is summed: stores to memory wait
// for one another, arithmetic does not wait for them.
struct Pending {
  const Piece* piece = nullptr;
  size_t pieces = 0;
  size_t done = 0;  // elements of *piece that are written
  bool streaming = false;
};

// What is found beside the sums of a span. For top-k the maxima of groups, of each lane over
// `vectors` vectors, -inf before the first; null: none. For a rank the number of columns that do
// not come before the ranked one, a finite number: of those left of `column` that are below
// bounds[0], and of the others that are below bounds[1]; null: none.
struct Beside {
  void* maxima;
  size_t vectors;
  const void* bounds = nullptr;
  size_t column = 0;
  size_t* below = nullptr;
};

// A block of short contiguous rows for `softmax_rows`.
struct SoftmaxRows {
  const void* x;
  void* y;
  ptrdiff_t x_stride;  // elements between rows
  ptrdiff_t y_stride;
  size_t rows;
  size_t vocab;
  Temperature temperature;
  void* exponentials;  // room for kShortColumns in the compute type; null: they go to y
  bool log;
  bool streaming;  // past the caches, from `exponentials`; not with `log`
};

// Short rows that lie side by side, for `softmax_strip`: at most two cache lines of them in the
// compute type.
inline constexpr size_t kStripBytes = 128;
struct SoftmaxStrip {
  const void* x;
  void* y;
  ptrdiff_t x_step;  // elements between columns
  ptrdiff_t y_step;
  size_t rows;
  size_t vocab;
  Temperature temperature;
  void* room;  // vocab * kStripBytes, aligned to a cache line
  bool log;
};

inline constexpr size_t kLogRoom = 16;
enum class ElementType { f32, f64, f16, bf16 };

// The algorithms of the textbooks, for comparison: one contiguous row at a time (textbook.hpp).
struct TextbookKernels {
  using Softmax = void (*)(const void* x, void* y, size_t n, bool streaming);
  // The k largest numbers or probabilities, in the compute type, and their columns; k > 0.
  using TopK = void (*)(const void* x, size_t n, size_t k, void* values, int64_t* columns);
  Softmax naive, safe, online, two_pass;
  TopK top_k, safe_fused, online_fused;
};

// What the gradient of a row of logits is made of. With l = z / temperature - lse and p = e^l,
//   dx = (p (scale + slope l + square p) + uniform w + at_target [column = target]) dz/dx,
// where z is x itself, or softcap tanh(x / softcap).
struct RowGradient {
  double lse = 0, scale = 0, slope = 0, square = 0, at_target = 0, uniform = 0;
  Temperature temperature;
  double softcap = 0;                  // 0: none
  const void* class_weight = nullptr;  // w, one a column, of the compute type; null: 1
  ptrdiff_t target = -1;               // outside of the columns: none
};

// Backward passes, of columns that lie side by side; dx may be an input.
struct GradientKernels {
  void (*logits)(const void* x, void* dx, size_t n, const RowGradient&, bool streaming);
  // The sum of g y, or of g alone where y is null.
  double (*sum)(const void* g, const void* y, size_t n);
  // y (g - sum); of log-probabilities y, g - e^y sum.
  void (*softmax)(const void* y, const void* g, void* dx, size_t n, double sum, bool streaming);
  void (*log_softmax)(const void* y, const void* g, void* dx, size_t n, double sum, bool streaming);
};

struct Kernels {
  int width;     // elements in a vector of the compute type
  size_t group;  // columns between two foldings of the sums: feeds but the last are multiples

  // softmax or log_softmax of short rows
  void (*softmax_rows)(const SoftmaxRows&);
  void (*softmax_strip)(const SoftmaxStrip&);

  // Sums of a short row in one call, or of several, `stride` elements apart.
  void (*short_all)(const void* x, size_t n, const Temperature&, void* e, SpanSum*);
  void (*short_rest)(const void* x, ptrdiff_t stride, size_t rows, size_t n, const Temperature&,
                     bool moments, Partial*);

  // log(1 + r) of n numbers in place, with the bits that softmax_rows has it. There is room for
  // kRowsTogether of them.
  void (*log_sums)(double* r, size_t n);

  // Sums of a span, fed block by block; `e` (compute type, may be x itself or null) gets the
  // exponentials. Pending pieces (or null) are written meanwhile. feed_rest and feed_moments return
  // the largest element so far.
  void (*start)(SumState*, const Temperature&);
  void (*feed_all)(SumState*, const void* x, size_t n, void* e, Pending*);
  void (*feed_all_beside)(SumState*, const void* x, size_t n, const Beside&);
  void (*finish_all)(SumState*, SpanSum*);
  void (*start_rest)(SumState*, const Temperature&, bool moments);
  double (*feed_rest)(SumState*, const void* x, size_t n, Pending*);
  double (*feed_rest_beside)(SumState*, const void* x, size_t n, const Beside*);
  double (*feed_moments)(SumState*, const void* x, size_t n, const Beside*);
  void (*finish_rest)(SumState*, Partial*);
  void (*finish_moments)(SumState*, Partial*);

  // Write what is left of pending pieces.
  void (*write_all)(Pending*);
  void (*write_log)(Pending*);

  // Outputs. scale: y = e * factor, where only the product need be in range. exp_scale: the same
  // from x, computed again. log_shift: y = (x - m) / t - log_sum. fill: y = value.
  void (*scale)(const void* e, void* y, size_t n, const Scaled& factor, bool streaming);
  void (*exp_scale)(const void* x, void* y, size_t n, const Reference&, const Temperature&,
                    const Scaled& factor);
  void (*log_shift)(const void* x, void* y, size_t n, double m, const Temperature&, double log_sum,
                    bool streaming);
  void (*fill)(void* y, size_t n, double value);

  // Contiguous elements to the compute type and back, rounded to nearest even.
  void (*widen)(const void* elements, void* compute, size_t n);
  void (*narrow)(const void* compute, void* elements, size_t n);

  // Rows that are neighbours in memory, their columns `step` elements apart, to rows of the compute
  // type that are `out_step` apart, and back.
  void (*gather_rows)(const void* x, ptrdiff_t step, size_t rows, size_t n, void* out,
                      size_t out_step);
  void (*scatter_rows)(const void* in, size_t in_step, void* y, ptrdiff_t step, size_t rows,
                       size_t n);

  // Scans. block_max: maxima[s * width + lane] = largest of x[s * vectors * width + j * width +
  // lane] over j < vectors, joined with what is there; returns whether x has a NaN.
  // count_below: elements < value, or <= value with `or_equal`; a NaN is never counted.
  // collect: columns of x >= value, in order. `value` is a number of the compute type, by
  // address, since making a subnormal float of a double may flush it.
  bool (*block_max)(const void* x, size_t n, size_t vectors, void* maxima);
  size_t (*count_below)(const void* x, size_t n, const void* value, bool or_equal);
  size_t (*collect)(const void* x, size_t n, const void* value, uint32_t* columns);

  // Traffic without arithmetic, of `n` bytes: a multiple of 256, aligned to the vector.
  void (*copy)(const void* from, void* to, size_t n, bool streaming);
  uint32_t (*read)(const void* from, size_t n);
  const TextbookKernels& (*textbook)(ElementType);
};

// One function an instruction set in this build.
#define ONEREAD_DECLARE_TABLE(isa)                    \
  namespace isa {                                     \
  const Kernels& table(ElementType);                  \
  const TextbookKernels& textbook_table(ElementType); \
  const GradientKernels& gradient_table(ElementType); \
  }
ONEREAD_DECLARE_TABLE(scalar)    // vectors of one element
ONEREAD_DECLARE_TABLE(counting)  // every access counted: see count.hpp
#if defined(__x86_64__)
ONEREAD_DECLARE_TABLE(x86_64_v2)
ONEREAD_DECLARE_TABLE(x86_64_v3)
ONEREAD_DECLARE_TABLE(x86_64_v4)
#elif defined(__aarch64__)
ONEREAD_DECLARE_TABLE(aarch64)
#endif
#undef ONEREAD_DECLARE_TABLE

}  // namespace oneread
