// The vector code of one instruction set: compiled once for each, with ONEREAD_ISA its namespace.
#include "online.hpp"
#include "output.hpp"
#include "scan.hpp"
#include "short.hpp"

namespace oneread::ONEREAD_ISA {

namespace {

template <class E>
using All = Online<E, false, false>;
template <class E>
using ShortAll = Short<E, false, false>;
template <class E>
using Rest = Online<E, true, false>;
template <class E>
using Moments = Online<E, true, true>;

// Softmax keeps its references in the state itself, behind the sums.
template <class E>
struct AllState {
  All<E> sums;
  Segment segment[kMaxSegments];
};

// Rows below it are written as soon as they are summed.
constexpr size_t kFused = 512;

template <class T>
T& as(SumState* state) {
  static_assert(sizeof(T) <= sizeof(SumState));
  return *reinterpret_cast<T*>(state->bytes);
}

template <class E>
struct Entry {
  using C = typename Element<E>::Compute;

  // One row after the other; a row that has been summed is written while the next one is.
  template <bool kLog>
  static void rows(const SoftmaxRows& job) {
    SpanSum sum;
    Partial partial{};
    Piece piece[2];
    Pending pending{nullptr, 0, 0, job.streaming};
    Writer<E, kLog> writer(&pending);
    for (size_t row = 0; row < job.rows; row++) {
      const E* x = (const E*)job.x + (ptrdiff_t)row * job.x_stride;
      E* y = (E*)job.y + (ptrdiff_t)row * job.y_stride;
      bool good;
      Piece& next = piece[row % 2];
      if constexpr (kLog) {
        Short<E, true, false>::rest(x, job.vocab, job.temperature, &partial, writer);
        good = __builtin_isfinite(partial.m);
        next = {x, y, job.vocab, {}, partial.m, log_sum((double)partial.r)};
      } else {
        C* e = (C*)job.exponentials + row % 2 * job.vocab;
        ShortAll<E>::template all<true>(x, job.vocab, job.temperature, e, &sum, writer);
        good = !(sum.nan || sum.inf || sum.empty);
        next = {e, y, job.vocab, divided({1, 0}, sum.sum), 0, 0};
      }
      writer.finish();
      if (!good) {
        Output<E>::fill(y, job.vocab, __builtin_nan(""));
      } else if (job.vocab < kFused || (kLog && job.temperature.t != 1)) {
        if constexpr (kLog)
          Output<E>::log_shift(x, y, job.vocab, next.m, job.temperature, next.log_sum,
                               job.streaming);
        else Output<E>::scale((C*)next.from, y, job.vocab, next.factor, job.streaming);
      } else {
        pending = {&next, 1, 0, job.streaming};
        writer = Writer<E, kLog>(&pending);
      }
    }
    writer.finish();
    if (job.streaming) Vec<C>::end_stream();
  }
  static void softmax_rows(const SoftmaxRows& job) {
    if (job.log) rows<true>(job);
    else rows<false>(job);
  }

  static void short_all(const void* x, size_t n, const Temperature& t, void* e, SpanSum* out) {
    NoWriter none(nullptr);
    if (e) ShortAll<E>::template all<true>((const E*)x, n, t, (C*)e, out, none);
    else ShortAll<E>::template all<false>((const E*)x, n, t, nullptr, out, none);
  }
  static void short_rest(const void* x, size_t n, const Temperature& t, bool moments,
                         Partial* out) {
    NoWriter none(nullptr);
    if (moments) Short<E, true, true>::rest((const E*)x, n, t, out, none);
    else Short<E, true, false>::rest((const E*)x, n, t, out, none);
  }

  static void start(SumState* state, const Temperature& temperature) {
    auto& all = as<AllState<E>>(state);
    all.sums.start(temperature, all.segment);
  }
  static void feed_all(SumState* state, const void* x, size_t n, void* e, Pending* pending) {
    auto& sums = as<AllState<E>>(state).sums;
    if (e) sums.template feed<true>((const E*)x, n, (C*)e, pending);
    else sums.template feed<false>((const E*)x, n, nullptr, pending);
  }
  static void finish_all(SumState* state, SpanSum* out) {
    auto& all = as<AllState<E>>(state);
    all.sums.finish(out);
    for (int s = 0; s < out->segments; s++) out->segment[s] = all.segment[s];
  }

  static void start_rest(SumState* state, const Temperature& temperature, bool moments) {
    if (moments) as<Moments<E>>(state).start(temperature, nullptr);
    else as<Rest<E>>(state).start(temperature, nullptr);
  }
  static double feed_rest(SumState* state, const void* x, size_t n, Pending* pending) {
    auto& sums = as<Rest<E>>(state);
    sums.template feed<false>((const E*)x, n, nullptr, pending);
    return (double)Vec<C>::largest(sums.top);
  }
  static double feed_moments(SumState* state, const void* x, size_t n) {
    auto& sums = as<Moments<E>>(state);
    sums.template feed<false>((const E*)x, n, nullptr);
    return (double)Vec<C>::largest(sums.top);
  }
  template <bool kLog>
  static void write(Pending* pending) {
    Writer<E, kLog>(pending).finish();
    if (pending->streaming) Vec<C>::end_stream();
    *pending = {nullptr, 0, 0, pending->streaming};
  }
  template <class Sums>
  static void finish(SumState* state, Partial* out) {
    as<Sums>(state).finish(out);
  }

  static void scale(const void* e, void* y, size_t n, const Scaled& factor, bool streaming) {
    Output<E>::scale((const C*)e, (E*)y, n, factor, streaming);
  }
  static void exp_scale(const void* x, void* y, size_t n, const Reference& reference,
                        const Temperature& temperature, const Scaled& factor) {
    Output<E>::exp_scale((const E*)x, (E*)y, n, reference, temperature, factor);
  }
  static void log_shift(const void* x, void* y, size_t n, double m, const Temperature& temperature,
                        double log_sum, bool streaming) {
    Output<E>::log_shift((const E*)x, (E*)y, n, m, temperature, log_sum, streaming);
  }
  static void fill(void* y, size_t n, double value) { Output<E>::fill((E*)y, n, value); }

  static void widen(const void* elements, void* compute, size_t n) {
    Output<C>::transform((const E*)elements, (C*)compute, n, false, identity);
  }
  static void narrow(const void* compute, void* elements, size_t n) {
    Output<E>::transform((const C*)compute, (E*)elements, n, false, identity);
  }
  static ONEREAD_INLINE typename Vec<C>::F identity(typename Vec<C>::F v) { return v; }

  static bool block_max(const void* x, size_t n, size_t vectors, void* maxima, bool first) {
    return Scan<E>::block_max((const E*)x, n, vectors, (C*)maxima, first);
  }
  static size_t count_below(const void* x, size_t n, const void* value, bool or_equal) {
    return Scan<E>::count_below((const E*)x, n, *(const C*)value, or_equal);
  }
  static size_t collect(const void* maxima, size_t n, const void* value, uint32_t* columns) {
    return Scan<E>::collect((const C*)maxima, n, *(const C*)value, columns);
  }

  static constexpr Kernels table = {
      Vec<C>::W,    All<E>::kGroup,  softmax_rows,       short_all,    short_rest,
      start,        feed_all,        finish_all,         start_rest,   feed_rest,
      feed_moments, finish<Rest<E>>, finish<Moments<E>>, write<false>, write<true>,
      scale,        exp_scale,       log_shift,          fill,         widen,
      narrow,       block_max,       count_below,        collect,      textbook_table,
  };
};

}  // namespace

const Kernels& table(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return Entry<double>::table;
    case ElementType::f16:
      return Entry<Half>::table;
    case ElementType::bf16:
      return Entry<Bfloat>::table;
    case ElementType::f32:
      break;
  }
  return Entry<float>::table;
}

}  // namespace oneread::ONEREAD_ISA
