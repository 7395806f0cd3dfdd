// The vector code of one instruction set: compiled once for each, with ONEREAD_ISA its namespace.
#include "move.hpp"
#include "online.hpp"
#include "output.hpp"
#include "scan.hpp"
#include "strip.hpp"
#include "tile.hpp"

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

// Short rows that are summed before the first of them is written: as many as lie in the innermost
// cache with their exponentials.
constexpr size_t kBatchBytes = 8192;

template <class T>
T& as(SumState* state) {
  static_assert(sizeof(T) <= sizeof(SumState));
  return *reinterpret_cast<T*>(state->bytes);
}

template <class E>
struct Entry {
  using C = typename Element<E>::Compute;

  template <bool kLog>
  static void rows(const SoftmaxRows& job) {
    using Sums = Short<E, kLog, false>;
    Sums sums[kRowsTogether];
    size_t most = kBatchBytes / (job.vocab * sizeof(C) + 1);
    most = most < 1 ? 1 : most > kRowsTogether ? kRowsTogether : most;
    for (size_t row = 0; row < job.rows; row += most) {
      size_t n = job.rows - row < most ? job.rows - row : most;
      const E* x = (const E*)job.x + (ptrdiff_t)row * job.x_stride;
      E* y = (E*)job.y + (ptrdiff_t)row * job.y_stride;
      C* e = job.exponentials ? (C*)job.exponentials : (C*)y;
      ptrdiff_t step = job.exponentials ? (ptrdiff_t)job.vocab : job.y_stride;
      // The next rows' x; and y, of this row where it is written next, else of the next rows.
      const E* next_y = kLog ? y : y + (ptrdiff_t)most * job.y_stride;
      typename Sums::Ahead ahead{x + (ptrdiff_t)most * job.x_stride, next_y, job.y_stride};
      Sums::template many<!kLog, true>(x, job.x_stride, n, job.vocab, job.temperature, e, step,
                                       sums, ahead);
      if constexpr (kLog) {
        write_logs(job, sums, n, x, y);
      } else {
        for (size_t r = 0; r < n; r++, y += job.y_stride, e += step) write_row(job, sums[r], y, e);
      }
    }
  }
  static void write_row(const SoftmaxRows& job, const Short<E, false, false>& sums, E* y,
                        const C* e) {
    double total = sums.total();
    if (__builtin_isnan(total)) Output<E>::fill(y, job.vocab, total);
    else Output<E>::scale(e, y, job.vocab, divided({1, 0}, total), false);
  }
  static void write_logs(const SoftmaxRows& job, const Short<E, true, false>* sums, size_t rows,
                         const E* x, E* y) {
    typename Short<E, true, false>::Rest sum[kRowsTogether];
    Short<E, true, false>::finish(sums, rows, job.temperature, sum);
    double log_sum[kRowsTogether] = {};
    for (size_t r = 0; r < rows; r++) log_sum[r] = (double)sum[r].r;
    log_sums<C>(log_sum, rows);
    for (size_t r = 0; r < rows; r++, x += job.x_stride, y += job.y_stride) {
      if (!__builtin_isfinite(sum[r].m)) Output<E>::fill(y, job.vocab, __builtin_nan(""));
      else Output<E>::log_shift(x, y, job.vocab, sum[r].m, job.temperature, log_sum[r], false);
    }
  }
  // Row by row: each is written past the caches while the next one is summed, whose exponentials
  // take the place of its own.
  static void streamed_rows(const SoftmaxRows& job) {
    const E* x = (const E*)job.x;
    E* y = (E*)job.y;
    Piece piece;
    Pending pending{&piece, 0, 0, true};
    for (size_t row = 0; row < job.rows; row++, x += job.x_stride, y += job.y_stride) {
      // Lines that this row has in part, and shares with its neighbours, are not streamed.
      Vec<C>::expect_store(y + job.vocab);
      Short<E, false, false> sums;
      sums.template many<true, true>(x, 0, 1, job.vocab, job.temperature, (C*)job.exponentials, 0,
                                     &sums, {x + job.x_stride, nullptr, 0},
                                     Writer<E, false>(&pending));
      double total = sums.total();
      if (__builtin_isnan(total)) {
        Output<E>::fill(y, job.vocab, total);
      } else {
        piece = {job.exponentials, y, job.vocab, divided({1, 0}, total)};
        pending = {&piece, 1, 0, true};
      }
    }
    write<false>(&pending);
  }
  static void softmax_rows(const SoftmaxRows& job) {
    if constexpr (sizeof(E) == sizeof(C))
      if (job.streaming) return streamed_rows(job);
    if (job.log) rows<true>(job);
    else rows<false>(job);
  }
  static void softmax_strip(const SoftmaxStrip& job) {
    if (job.log) Strip<E, true>::run(job);
    else Strip<E, false>::run(job);
  }

  static void short_all(const void* x, size_t n, const Temperature& t, void* e, SpanSum* out) {
    Short<E, false, false> sums;
    if (e) sums.template many<true>((const E*)x, 0, 1, n, t, (C*)e, 0, &sums);
    else sums.template many<false>((const E*)x, 0, 1, n, t, nullptr, 0, &sums);
    sums.finish(out);
  }
  template <bool kMoments>
  static void short_rest(const void* x, ptrdiff_t stride, size_t rows, size_t n,
                         const Temperature& t, Partial* out) {
    Short<E, true, kMoments> sums[kRowsTogether];
    for (size_t row = 0; row < rows; row += kRowsTogether) {
      size_t some = rows - row < kRowsTogether ? rows - row : kRowsTogether;
      sums->template many<false>((const E*)x + (ptrdiff_t)row * stride, stride, some, n, t, nullptr,
                                 0, sums);
      typename Short<E, true, kMoments>::Rest rest[kRowsTogether];
      Short<E, true, kMoments>::finish(sums, some, t, rest);
      for (size_t r = 0; r < some; r++)
        out[row + r] = {rest[r].m, rest[r].r, rest[r].s1, rest[r].s2};
    }
  }
  static void short_rest(const void* x, ptrdiff_t stride, size_t rows, size_t n,
                         const Temperature& t, bool moments, Partial* out) {
    if (moments) short_rest<true>(x, stride, rows, n, t, out);
    else short_rest<false>(x, stride, rows, n, t, out);
  }

  static void start(SumState* state, const Temperature& temperature) {
    auto& all = as<AllState<E>>(state);
    all.sums.start(temperature, all.segment);
  }
  static void feed_all(SumState* state, const void* x, size_t n, void* e, Pending* pending) {
    auto& sums = as<AllState<E>>(state).sums;
    if (e) sums.template feed<true>((const E*)x, n, (C*)e, Writer<E, false>(pending));
    else sums.template feed<false>((const E*)x, n, nullptr, Writer<E, false>(pending));
  }
  static void feed_all_beside(SumState* state, const void* x, size_t n, const Beside& beside) {
    as<AllState<E>>(state).sums.template feed<false>((const E*)x, n, nullptr,
                                                     Watcher<C, true, false>(beside));
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
    return feed<Rest<E>>(state, x, n, Writer<E, true>(pending));
  }
  template <class Sums>
  static double feed_beside(SumState* state, const void* x, size_t n, const Beside* b) {
    if (!b) return feed<Sums>(state, x, n, Nothing());
    if (b->maxima && b->bounds) return feed<Sums>(state, x, n, Watcher<C, true, true>(*b));
    if (b->maxima) return feed<Sums>(state, x, n, Watcher<C, true, false>(*b));
    return feed<Sums>(state, x, n, Watcher<C, false, true>(*b));
  }
  template <class Sums, class Side>
  static ONEREAD_INLINE double feed(SumState* state, const void* x, size_t n, Side&& side) {
    auto& sums = as<Sums>(state);
    sums.template feed<false>((const E*)x, n, nullptr, side);
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

  static bool block_max(const void* x, size_t n, size_t vectors, void* maxima) {
    return Scan<E>::block_max((const E*)x, n, vectors, (C*)maxima);
  }
  static size_t count_below(const void* x, size_t n, const void* value, bool or_equal) {
    return Scan<E>::count_below((const E*)x, n, *(const C*)value, or_equal);
  }
  static size_t collect(const void* x, size_t n, const void* value, uint32_t* columns) {
    return Scan<E>::collect((const E*)x, n, *(const C*)value, columns);
  }

  static void gather_rows(const void* x, ptrdiff_t step, size_t rows, size_t n, void* out,
                          size_t out_step) {
    Tile<E>::gather((const E*)x, step, rows, n, (C*)out, out_step);
  }
  static void scatter_rows(const void* in, size_t in_step, void* y, ptrdiff_t step, size_t rows,
                           size_t n) {
    Tile<E>::scatter((const C*)in, in_step, (E*)y, step, rows, n);
  }

  static constexpr Kernels table = {
      .width = Vec<C>::W,
      .group = All<E>::kGroup,
      .softmax_rows = softmax_rows,
      .softmax_strip = softmax_strip,
      .short_all = short_all,
      .short_rest = short_rest,
      .log_sums = log_sums<C>,
      .start = start,
      .feed_all = feed_all,
      .feed_all_beside = feed_all_beside,
      .finish_all = finish_all,
      .start_rest = start_rest,
      .feed_rest = feed_rest,
      .feed_rest_beside = feed_beside<Rest<E>>,
      .feed_moments = feed_beside<Moments<E>>,
      .finish_rest = finish<Rest<E>>,
      .finish_moments = finish<Moments<E>>,
      .write_all = write<false>,
      .write_log = write<true>,
      .scale = scale,
      .exp_scale = exp_scale,
      .log_shift = log_shift,
      .fill = fill,
      .widen = widen,
      .narrow = narrow,
      .gather_rows = gather_rows,
      .scatter_rows = scatter_rows,
      .block_max = block_max,
      .count_below = count_below,
      .collect = collect,
      .copy = Move::copy,
      .read = Move::read,
      .textbook = textbook_table,
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
