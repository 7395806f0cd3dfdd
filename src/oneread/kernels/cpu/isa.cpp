// The vector code of one instruction set: compiled once for each, with ONEREAD_ISA its namespace.
#include "online.hpp"
#include "output.hpp"
#include "scan.hpp"
#include "textbook.hpp"

namespace oneread::ONEREAD_ISA {

namespace {

template <class E>
using All = Online<E, false, false>;
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

template <class T>
T& as(SumState* state) {
  static_assert(sizeof(T) <= sizeof(SumState));
  return *reinterpret_cast<T*>(state->bytes);
}

template <class E>
struct Entry {
  using C = typename Element<E>::Compute;

  static void softmax_rows(const SoftmaxRows& job) {
    SumState state;
    SpanSum sum;
    for (size_t row = 0; row < job.rows; row++) {
      const E* x = (const E*)job.x + (ptrdiff_t)row * job.x_stride;
      E* y = (E*)job.y + (ptrdiff_t)row * job.y_stride;
      C* e = job.exponentials ? (C*)job.exponentials : (C*)y;
      All<E>& online = as<All<E>>(&state);
      online.start(job.temperature, sum.segment);
      online.template feed<true>(x, job.vocab, e);
      online.finish(&sum);
      if (sum.nan || sum.inf || sum.empty) {
        Output<E>::fill(y, job.vocab, __builtin_nan(""));
        continue;
      }
      const Reference& last = sum.segment[sum.segments - 1].reference;
      for (int s = 0; s < sum.segments; s++) {
        size_t from = sum.segment[s].column;
        size_t to = s + 1 < sum.segments ? sum.segment[s + 1].column : job.vocab;
        Scaled factor = divided(ratio(sum.segment[s].reference, last, job.temperature), sum.sum);
        Output<E>::scale(e + from, y + from, to - from, factor, job.streaming);
      }
    }
  }

  static void start(SumState* state, const Temperature& temperature) {
    auto& all = as<AllState<E>>(state);
    all.sums.start(temperature, all.segment);
  }
  static void feed_all(SumState* state, const void* x, size_t n, void* e) {
    auto& sums = as<AllState<E>>(state).sums;
    if (e) sums.template feed<true>((const E*)x, n, (C*)e);
    else sums.template feed<false>((const E*)x, n, nullptr);
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
  template <class Sums>
  static double feed(SumState* state, const void* x, size_t n) {
    auto& sums = as<Sums>(state);
    sums.template feed<false>((const E*)x, n, nullptr);
    return (double)Vec<C>::largest(sums.top);
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
      Vec<C>::W,
      All<E>::kGroup,
      softmax_rows,
      start,
      feed_all,
      finish_all,
      start_rest,
      feed<Rest<E>>,
      feed<Moments<E>>,
      finish<Rest<E>>,
      finish<Moments<E>>,
      scale,
      exp_scale,
      log_shift,
      fill,
      widen,
      narrow,
      block_max,
      count_below,
      collect,
      &Textbook<E>::table,
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
