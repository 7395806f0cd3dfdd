// Backward passes on the rows of arrays. All arrays of a call are of one float type, and their
// columns lie side by side.
#include <algorithm>
#include <cstring>

#include "gradient_driver.hpp"
#include "pool.hpp"
#include "rows.hpp"
#include "stores.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

namespace {

// Columns of a long row that one thread does at a time, and whose terms are summed apart.
constexpr size_t kSpan = 32768;

ElementType element_type(DType t) {
  return t == DType::f64    ? ElementType::f64
         : t == DType::f16  ? ElementType::f16
         : t == DType::bf16 ? ElementType::bf16
                            : ElementType::f32;
}

// The rows of a call and how they are shared out.
struct Pieces {
  Layout layout;
  size_t item;  // bytes of an element
  size_t spans;
  int threads;
  bool streaming;
  const GradientKernels& kernels;

  Pieces(const Operand& x, const Operand& dx, const Operand* other, int most_threads, bool fresh)
      : layout(x, &dx, other, {(int)x.shape.size() - 1}),
        item(item_size(x.dtype)),
        spans((layout.vocab + kSpan - 1) / kSpan),
        threads(layout.rows * layout.vocab < kSmall ? 1 : std::max(1, most_threads)),
        streaming(item >= 4 && !fresh && layout.vocab * item >= kLeastStreamedBytes &&
                  layout.rows * layout.vocab * item >= streaming_from()),
        kernels(current_gradients()(element_type(x.dtype))) {}

  // Call run(row, span) for every span of every row, or run(row) for every row.
  template <class Run>
  void for_each_span(Run run) const {
    share_out(layout.rows * spans, std::min(layout.vocab, kSpan),
              [&](size_t i) { run(i / spans, i % spans); });
  }
  template <class Run>
  void for_each_row(Run run) const {
    share_out(layout.rows, layout.vocab, run);
  }
  size_t begin(size_t span) const { return span * kSpan; }
  size_t columns(size_t span) const { return std::min(kSpan, layout.vocab - begin(span)); }

 private:
  // Call run(i) for i < n, each of so many columns.
  template <class Run>
  void share_out(size_t n, size_t columns, Run run) const {
    if (!columns) return;
    size_t some = rows_per_item(n, columns, threads, 1);
    parallel((n + some - 1) / some, threads, [&](size_t part, int) {
      FloatControl control(true);
      size_t stop = std::min((part + 1) * some, n);
      for (size_t i = part * some; i < stop; i++) run(i);
    });
  }
};

void record(const char* kernel, const char* isa, const Operand& x, const Pieces& rows) {
  set_last_record({kernel, isa, dtype_name(x.dtype), "rows",
                   rows.streaming ? "streaming" : "regular", rows.threads, rows.spans, "none"});
}

// One number a row; 0 where there are none.
struct Numbers {
  const void* data;
  bool is_double;
  double operator[](size_t row) const {
    return !data ? 0 : is_double ? ((const double*)data)[row] : (double)((const float*)data)[row];
  }
};

}  // namespace

void logits_gradient(const LogitsGradient& job) {
  const char* isa = current_isa();
  bool wide = job.x.dtype == DType::f64;
  // Lines that were read a moment ago are better written where they are.
  bool in_place = job.dx.data == job.x.data;
  Pieces rows(job.x, job.dx, nullptr, job.threads, job.fresh || in_place);
  Numbers lse{job.lse, wide}, scale{job.scale, wide}, slope{job.slope, wide};
  Numbers square{job.square, wide};
  Numbers at_target{job.at_target, wide}, uniform{job.uniform, wide};
  size_t compute = wide ? 8 : 4;
  rows.for_each_span([&](size_t row, size_t span) {
    Layout::Offset at = rows.layout.row(row);
    size_t from = rows.begin(span), n = rows.columns(span);
    const char* x = job.x.data + at.x + from * rows.item;
    char* dx = job.dx.data + at.y + from * rows.item;
    RowGradient one;
    one.scale = scale[row], one.slope = slope[row], one.square = square[row];
    one.at_target = at_target[row], one.uniform = uniform[row];
    if (one.scale == 0 && one.slope == 0 && one.square == 0 && one.at_target == 0 &&
        one.uniform == 0) {
      std::memset(dx, 0, n * rows.item);  // whatever x holds
      return;
    }
    // A row of -inf only has probabilities of 0 here, one with +inf or NaN has none.
    double given = lse[row];
    one.lse = given == -kInf ? kInf : given == kInf ? kNaN : given;
    one.softcap = job.softcap;
    one.temperature = Temperature(job.temperatures ? job.temperatures[row] : job.temperature);
    if (job.class_weight) one.class_weight = (const char*)job.class_weight + from * compute;
    if (job.target) one.target = (ptrdiff_t)(job.target[row] - (int64_t)from);
    rows.kernels.logits(x, dx, n, one, rows.streaming);
  });
  record("logits_gradient", isa, job.x, rows);
}

void softmax_backward(const SoftmaxBackward& job) {
  const char* isa = current_isa();
  bool in_place = job.dx.data == job.y.data || job.dx.data == job.grad.data;
  Pieces rows(job.y, job.dx, &job.grad, job.threads, job.fresh || in_place);
  const GradientKernels& kernels = rows.kernels;
  auto sum_span = [&](size_t row, size_t span) {
    Layout::Offset at = rows.layout.row(row);
    size_t skipped = rows.begin(span) * rows.item;
    return kernels.sum(job.grad.data + at.where + skipped,
                       job.log ? nullptr : job.y.data + at.x + skipped, rows.columns(span));
  };
  auto write_span = [&](size_t row, size_t span, double sum) {
    Layout::Offset at = rows.layout.row(row);
    size_t skipped = rows.begin(span) * rows.item;
    (job.log ? kernels.log_softmax : kernels.softmax)(
        job.y.data + at.x + skipped, job.grad.data + at.where + skipped,
        job.dx.data + at.y + skipped, rows.columns(span), sum, rows.streaming);
  };
  // Sums of spans are added in their order, whoever made them.
  std::vector<double> sums;
  auto sum_of = [&](size_t row) {
    double sum = 0;
    for (size_t s = 0; s < rows.spans; s++) sum += sums[row * rows.spans + s];
    return sum;
  };
  size_t count = rows.layout.rows, spans = rows.spans;
  if (spans > 1 && rows.threads > 1 && count < 2 * (size_t)rows.threads) {
    sums.resize(count * spans);
    rows.for_each_span([&](size_t r, size_t s) { sums[r * spans + s] = sum_span(r, s); });
    rows.for_each_span([&](size_t r, size_t s) { write_span(r, s, sum_of(r)); });
  } else {
    rows.for_each_row([&](size_t row) {
      double sum = 0;
      for (size_t s = 0; s < spans; s++) sum += sum_span(row, s);
      for (size_t s = spans; s-- > 0;) write_span(row, s, sum);  // the last is still at hand
    });
  }
  record(job.log ? "log_softmax_backward" : "softmax_backward", isa, job.y, rows);
}

}  // namespace oneread::inline ONEREAD_DRIVERS
