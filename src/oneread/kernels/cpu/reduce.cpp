// Everything that is shorter than the row: logsumexp, top-k, selected log-probabilities, rank,
// entropy. Each row is read once; what the passes below share stays in the innermost cache.
#include <algorithm>
#include <stdexcept>

#include "pool.hpp"
#include "rank.hpp"
#include "reduce_room.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

namespace {

template <class C>
class Reduce {
 public:
  Reduce(const Request& request, const Layout& layout, const Plan& plan, const Outputs& out)
      : request_(request),
        plan_(plan),
        out_(out),
        rows_(request, layout, plan),
        table_(rows_.table),
        k_(request.top_k),
        ranks_(out.rank ? out.selects : 0),
        whole_(out.scores && out.kind == 1 && !needs_rest(out)),
        sums_(!whole_ && (out.lse || out.scores || needs_rest(out))),
        moments_(out.entropy || out.sum_p2 || out.state_s1 || out.state_s2),
        masked_(request.where || request.lengths) {
    group_ = plan.is_short ? kNeighbours : rows_.neighbours();
    equally_spaced_ = layout.outer.size() <= 1;
    row_step_ = layout.outer.empty() ? 0 : layout.outer[0].x / (ptrdiff_t)rows_.item();
    size_t each =
        plan.groups * sizeof(C) + (whole_ ? plan.spans * sizeof(SpanSum) : 0) + ranks_ * 8;
    if (each * group_ > ((size_t)256 << 10)) group_ = 1;
    for (int t = 0; t < plan.threads; t++)
      workers_.emplace_back(plan, group_, k_, ranks_, plan.by_span ? 0 : group_, whole_,
                            !(plan.staged || k_ || out.argmax) ? 0
                            : plan.is_short                    ? kBlock * group_
                                                               : kBlock);
  }

  // Rows that block maxima left to radix selection, for a NaN.
  size_t radix_rows() const {
    size_t rows = 0;
    for (const Worker& w : workers_) rows += w.radix_rows;
    return rows;
  }

  void run() {
    if (plan_.by_span) {
      run_by_span();
      return;
    }
    size_t chunk = rows_per_item(rows_.count(), rows_.vocab(), plan_.threads, group_);
    size_t items = (rows_.count() + chunk - 1) / chunk;
    parallel(items, plan_.threads, [&](size_t item, int worker) {
      FloatControl plain(false);
      size_t to = std::min((item + 1) * chunk, rows_.count());
      Worker& w = workers_[worker];
      for (size_t row = item * chunk; row < to; row += group_) {
        size_t n = std::min(group_, to - row);
        Found found{w.spans.get(), w.whole.get(), w.maxima.get(), w.before.get()};
        for (size_t span = 0; span < plan_.spans; span++) read_span(row, n, span, w, found);
        for (size_t r = 0; r < n; r++) finish(row + r, r, w, of_row(found, r));
      }
    });
  }

 private:
  using Worker = ReduceRoom<C>;

  // What was found in some rows: for each of them in turn its spans (with `whole_` the sums are in
  // `whole`), its maxima, and its counts span by span.
  struct Found {
    SpanRead* reads;
    SpanSum* whole;
    C* maxima;
    size_t* before;
  };
  Found of_row(const Found& f, size_t row) const {
    return {f.reads + row * plan_.spans, whole_ ? f.whole + row * plan_.spans : nullptr,
            f.maxima + row * plan_.groups, f.before + row * slots() * ranks_};
  }

  // Counts of a row are kept by span only where threads share it.
  size_t slots() const { return plan_.by_span ? plan_.spans : 1; }
  size_t slot(size_t span) const { return plan_.by_span ? span : 0; }

  // Outputs that need a maximum kept out of the sum, or the maximum itself.
  static bool needs_rest(const Outputs& out) {
    return out.max || out.argmax || out.selected || out.entropy || out.sum_p2 || out.state_m;
  }

  void run_by_span() {
    size_t spans = plan_.spans, items = rows_.count() * spans;
    Room<SpanRead> reads(items);
    Room<SpanSum> whole(whole_ ? items : 0);
    Room<C> maxima(rows_.count() * plan_.groups);
    Room<size_t> before(items * ranks_);
    Found found{reads.get(), whole.get(), maxima.get(), before.get()};
    parallel(items, plan_.threads, [&](size_t item, int worker) {
      FloatControl plain(false);
      size_t row = item / spans;
      read_span(row, 1, item % spans, workers_[worker], of_row(found, row));
    });
    parallel(rows_.count(), plan_.threads,
             [&](size_t row, int worker) { finish(row, 0, workers_[worker], of_row(found, row)); });
  }

  // Read n neighbouring rows of a block each, gathered whole.
  void read_short(size_t row, size_t n, Worker& w, const Found& found) {
    size_t step = plan_.staged ? rows_.block(n) : 0, vocab = rows_.vocab();
    for (size_t at = 0; step && at < vocab; at += step)
      for (size_t r = 0; r < n; r++) {
        size_t stop = std::min({at + step, vocab, rows_.length(row + r)});
        if (at < stop)
          rows_.stage(row + r, at, stop - at, w.buffer.get() + r * kBlock + at, w.bytes.get());
      }
    FloatControl control(Rows::flushes(rows_.temperature(row)));
    for (size_t r = 0; r < n; r++)
      found.reads[r] = {empty_partial(), 0, rows_.length(row + r), false};
    if (sums_) short_sums(row, n, w, found);
    for (size_t r = 0; r < n; r++) read_short(row + r, short_row(row + r, r, w), of_row(found, r));
  }
  const void* short_row(size_t row, size_t r, Worker& w) const {
    return plan_.staged ? w.buffer.get() + r * kBlock : (const void*)rows_.x(row);
  }
  void short_sums(size_t row, size_t n, Worker& w, const Found& found) {
    Partial sums[kNeighbours];
    bool alike = !request_.lengths && !request_.temperatures && (plan_.staged || equally_spaced_);
    ptrdiff_t stride = plan_.staged ? (ptrdiff_t)kBlock : row_step_;
    for (size_t r = 0; r < n; r += alike ? n : 1) {
      FloatControl control(Rows::flushes(rows_.temperature(row + r)));
      table_.short_rest(short_row(row + r, r, w), stride, alike ? n : 1, rows_.length(row + r),
                        rows_.temperature(row + r), moments_, sums + r);
    }
    for (size_t r = 0; r < kNeighbours; r++) w.log_sums[r] = r < n ? (double)sums[r].r : 0;
    if (out_.lse) table_.log_sums(w.log_sums, n);
    for (size_t r = 0; r < n; r++) found.reads[r].sums = sums[r];
  }
  void read_short(size_t row, const void* x, const Found& found) {
    size_t length = rows_.length(row);
    for (size_t j = 0; j < ranks_; j++)
      found.before[j] = count_before(rows_, row, ranked(row, j), x, 0, length);
    if (whole_) {
      Temperature t = rows_.temperature(row);
      FloatControl control(Rows::flushes(t));
      table_.short_all(x, length, t, nullptr, found.whole);
    }
    if (k_ && plan_.groups) {
      std::fill(found.maxima, found.maxima + plan_.groups, -(C)kInf);
      scan_maxima(x, 0, length, found.maxima, found.reads[0]);
    }
  }

  // Read one span of n neighbouring rows.
  void read_span(size_t row, size_t n, size_t span, Worker& w, const Found& found) {
    if (plan_.is_short) {
      read_short(row, n, w, found);
      return;
    }
    double best[kNeighbours];
    Temperature t[kNeighbours];
    for (size_t r = 0; r < n; r++) {
      SpanRead& read = found.reads[r * plan_.spans + span] = SpanRead{};
      read.sums = empty_partial();
      best[r] = -kInf;
      t[r] = rows_.temperature(row + r);
      if (whole_) table_.start(&w.states[r], t[r]);
      if (sums_) table_.start_rest(&w.states[r], t[r], moments_);
      for (size_t j = 0; j < ranks_; j++) {
        if (span == 0 || plan_.by_span) found.before[(r * slots() + slot(span)) * ranks_ + j] = 0;
        w.ranked[r * ranks_ + j] = ranked(row + r, j);
      }
      C* own = found.maxima + r * plan_.groups;
      if (k_) std::fill(own + group_of(span), own + group_of(span + 1), -(C)kInf);
    }
    size_t step = whole_span_at_once() ? plan_.span_columns : rows_.block(n);
    size_t stop = std::min((span + 1) * plan_.span_columns, rows_.vocab());
    bool reads = whole_ || sums_ || ranks_ || (k_ && plan_.groups);
    for (size_t at = span * plan_.span_columns; at < stop && reads; at += step)
      for (size_t r = 0; r < n; r++) {
        size_t end = std::min({at + step, stop, rows_.length(row + r)});
        if (at >= end) continue;
        SpanRead& read = found.reads[r * plan_.spans + span];
        const void* x = columns(row + r, at, end - at, w);
        FloatControl control(Rows::flushes(t[r]));
        C* maxima = found.maxima + r * plan_.groups;
        Maxima of_span{maxima + group_of(span), plan_.group_vectors};
        bool keeps = plan_.groups && (whole_ || sums_);  // beside the sums, at no cost
        if (whole_ && keeps) table_.feed_all_maxima(&w.states[r], x, end - at, of_span);
        else if (whole_) table_.feed_all(&w.states[r], x, end - at, nullptr, nullptr);
        if (sums_) feed(&w.states[r], x, at, end - at, keeps && !whole_ ? &of_span : nullptr, read, best[r]);
        if (plan_.groups && !keeps) scan_maxima(x, at, end - at, maxima, read);
        for (size_t j = 0; j < ranks_; j++)
          found.before[(r * slots() + slot(span)) * ranks_ + j] +=
              count_before(rows_, row + r, w.ranked[r * ranks_ + j], x, at, end - at);
      }
    for (size_t r = 0; r < n && whole_; r++) {
      SpanSum& whole = found.whole[r * plan_.spans + span];
      table_.finish_all(&w.states[r], &whole);
      found.reads[r * plan_.spans + span].nan |= whole.nan;
    }
    for (size_t r = 0; r < n && sums_; r++) {
      SpanRead& read = found.reads[r * plan_.spans + span];
      if (moments_) table_.finish_moments(&w.states[r], &read.sums);
      else table_.finish_rest(&w.states[r], &read.sums);
      read.nan |= std::isnan(read.sums.m);
    }
  }

  // Sums alone have no use for blocks.
  bool whole_span_at_once() const { return !plan_.staged && !ranks_ && (!k_ || whole_ || sums_) && !out_.argmax; }

  // First group of a span; spans hold whole groups.
  size_t group_of(size_t span) const {
    size_t columns = plan_.group_vectors * (size_t)table_.width;
    if (!columns) return 0;
    return std::min(span * plan_.span_columns / columns * (size_t)table_.width, plan_.groups);
  }

  const void* columns(size_t row, size_t at, size_t n, Worker& w) const {
    if (!plan_.staged) return rows_.x(row) + at * rows_.item();
    rows_.stage(row, at, n, w.buffer.get(), w.bytes.get());
    return w.buffer.get();
  }

  void feed(SumState* state, const void* x, size_t at, size_t n, const Maxima* maxima,
            SpanRead& read, double& best) {
    double largest = moments_ ? table_.feed_moments(state, x, n, maxima)
                              : table_.feed_rest_maxima(state, x, n, maxima);
    if (largest > best) {
      best = largest;
      read.best_block = at;
      read.best_columns = n;
    }
  }

  void scan_maxima(const void* x, size_t at, size_t n, C* maxima, SpanRead& read) {
    auto width = (size_t)table_.width, columns = plan_.group_vectors * width;
    bool first = at % columns == 0;
    bool nan = table_.block_max(x, n, plan_.group_vectors, maxima + at / columns * width, first);
    read.nan = read.nan || nan;
  }

  Ranked<C> ranked(size_t row, size_t j) const {
    int64_t column = out_.select[row * ranks_ + j];
    if (out_.rank_logit) return {(C)out_.rank_logit[row * ranks_ + j], column, true};
    return {rows_.template element_at<C>(row, (size_t)column), column,
            rows_.kept(row, (size_t)column)};
  }

  // The r-th of the rows that were read together.
  void finish(size_t row, size_t r, Worker& w, const Found& found) {
    Temperature t = rows_.temperature(row);
    Partial sums = found.reads[0].sums;
    bool nan = found.reads[0].nan;
    for (size_t s = 1; s < plan_.spans; s++) {
      sums = merge(sums, found.reads[s].sums, t);
      nan = nan || found.reads[s].nan;
    }
    if (out_.max) out_.max.set(row, sums.m / t.t);
    if (out_.entropy) out_.entropy.set(row, entropy(sums));
    if (out_.sum_p2) out_.sum_p2.set(row, sum_p2(sums));
    if (out_.state_m) out_.state_m[row] = sums.m;
    write_halves(out_.state_r, row, sums.r);
    write_halves(out_.state_s1, row, sums.s1);
    write_halves(out_.state_s2, row, sums.s2);
    if (out_.selected) write_selected(row, sums, t);
    if (out_.rank) write_rank(row, found.before);
    if (k_) write_top_k(row, w, found.maxima, nan);
    if (whole_) {
      WholeSum whole(found.whole, plan_.spans, t);
      if (out_.lse) out_.lse.set(row, whole.lse(t));
      write_softmax(row, found.whole, whole, t);
    } else {
      if (out_.lse && plan_.is_short && std::isfinite(sums.m))
        out_.lse.set(row, sums.m / t.t + w.log_sums[r]);
      else if (out_.lse) out_.lse.set(row, lse(sums, t));
      if (out_.scores) write_scores(row, sums, t);
    }
    if (out_.argmax) out_.argmax[row] = argmax(row, w, found.reads, sums);
  }

  static void write_halves(double* to, size_t row, long double sum) {
    if (!to) return;
    to[2 * row] = (double)sum;
    to[2 * row + 1] = std::isfinite(sum) ? (double)(sum - to[2 * row]) : 0;
  }

  void write_selected(size_t row, const Partial& sums, const Temperature& t) {
    for (size_t j = 0; j < out_.selects; j++) {
      size_t at = row * out_.selects + j;
      auto x = (double)rows_.template element_at<C>(row, (size_t)out_.select[at]);
      out_.selected.set(at, logprob(sums, x, t));
    }
  }

  void write_rank(size_t row, const size_t* before) {
    for (size_t j = 0; j < ranks_; j++) {
      size_t at = row * ranks_ + j, sum = 0, length = rows_.length(row);
      for (size_t s = 0; s < slots(); s++) sum += before[s * ranks_ + j];
      int64_t column = out_.select[at];
      // Columns beyond the length that lie left of one that is not kept come before it, too.
      bool beyond =
          !out_.rank_logit && !rows_.kept(row, (size_t)column) && column > (int64_t)length;
      out_.rank[at] = (int64_t)(sum + (beyond ? (size_t)column - length : 0));
    }
  }

  void write_top_k(size_t row, Worker& w, const C* maxima, bool nan) {
    int64_t* columns = out_.indices + row * k_;
    C* buffer = w.buffer.get();
    void* bytes = w.bytes.get();
    if (plan_.selection == Selection::sort) {
      select_by_sorting<C>(rows_, row, k_, masked_, buffer, bytes, w.select, columns);
    } else if (plan_.selection == Selection::block_max && !nan) {
      select_by_groups<C>(rows_, row, k_, plan_, maxima, w.select, columns);
    } else {
      w.radix_rows += plan_.selection == Selection::block_max;
      select_by_radix<C>(rows_, row, k_, masked_, buffer, bytes, w.select, columns);
    }
    if (out_.values) write_values(row, columns);
  }

  // The input's own bits, in the machine's byte order.
  void write_values(size_t row, const int64_t* columns) {
    bool own = is_float(request_.x.dtype);
    size_t size = own ? rows_.item() : sizeof(C);
    for (size_t i = 0; i < k_; i++) {
      char* to = out_.values + (row * k_ + i) * size;
      auto column = (size_t)columns[i];
      if (own) {
        rows_.copy_element(row, column, to);
      } else {
        C v = rows_.template element_at<C>(row, column);
        std::memcpy(to, &v, sizeof v);
      }
    }
  }

  C winner(size_t row, size_t i) const {
    return rows_.template element_at<C>(row, (size_t)out_.indices[row * k_ + i]);
  }

  // Probabilities with the bits that softmax gives them: its sums, its references, its kernel.
  void write_softmax(size_t row, const SpanSum* spans, const WholeSum& whole,
                     const Temperature& t) {
    FloatControl control(Rows::flushes(t));
    for (size_t i = 0; i < k_; i++) {
      auto column = (size_t)out_.indices[row * k_ + i];
      const SpanSum& span = spans[column / plan_.span_columns];
      C x = winner(row, i), y = 0;
      if (!span.empty && x > -(C)kInf) {
        const Segment& segment = span.segment[segment_of(span, column % plan_.span_columns)];
        rows_.own.exp_scale(&x, &y, 1, segment.reference, t, whole.factor(segment, t));
      }
      out_.scores.set(row * k_ + i, whole.has_no_probabilities() ? kNaN : (double)y);
    }
  }

  void write_scores(size_t row, const Partial& sums, const Temperature& t) {
    Partial of = sums;
    if (out_.kind >= 3 && !has_no_probabilities(sums)) {  // over the winners alone
      of = {(double)winner(row, 0)};
      for (size_t i = 1; i < k_; i++) of.r += exp_difference((double)winner(row, i), of.m, t);
    }
    bool logs = out_.kind == 2 || out_.kind == 4;
    for (size_t i = 0; i < k_; i++) {
      auto x = (double)winner(row, i);
      out_.scores.set(row * k_ + i, logs ? logprob(of, x, t) : probability(of, x, t));
    }
  }

  int64_t argmax(size_t row, Worker& w, const SpanRead* reads, const Partial& sums) {
    if (k_) return out_.indices[row * k_];
    if (std::isnan(sums.m)) return first(row, w, 0, rows_.length(row), (C)kNaN);
    for (size_t s = 0; s < plan_.spans; s++)
      if (reads[s].best_block != kNowhere && reads[s].sums.m == sums.m && sums.m > -kInf)
        return first(row, w, reads[s].best_block, reads[s].best_columns, (C)sums.m);
    for (size_t c = 0; c < rows_.length(row); c++)  // nothing above -inf
      if (rows_.kept(row, c)) return (int64_t)c;
    return 0;
  }

  // First kept column of [at, at + n) that holds v, which may be NaN.
  int64_t first(size_t row, Worker& w, size_t at, size_t n, C v) {
    for (size_t i = 0; i < n; i += kBlock) {
      size_t m = std::min(kBlock, n - i);
      rows_.stage(row, at + i, m, w.buffer.get(), w.bytes.get());
      for (size_t j = 0; j < m; j++) {
        count_loads(&w.buffer[j], 1);
        if (w.buffer[j] == v || (std::isnan(v) && std::isnan(w.buffer[j])))
          return (int64_t)(at + i + j);
      }
    }
    return 0;
  }

  const Request& request_;
  const Plan& plan_;
  const Outputs& out_;
  Rows rows_;
  const Kernels& table_;
  size_t k_, ranks_, group_ = 1;
  bool equally_spaced_;
  ptrdiff_t row_step_;  // elements between rows that are
  bool whole_;          // sums of all columns, as softmax makes them
  bool sums_;           // sums with one maximum kept out
  bool moments_, masked_;
  std::vector<Worker> workers_;
};

// Rows without columns.
void reduce_nothing(size_t rows, const Outputs& out) {
  for (size_t row = 0; row < rows; row++) {
    if (out.lse) out.lse.set(row, -kInf);
    if (out.max) out.max.set(row, -kInf);
    if (out.entropy) out.entropy.set(row, kNaN);
    if (out.sum_p2) out.sum_p2.set(row, kNaN);
    if (out.state_m) out.state_m[row] = -kInf;
    for (double* zero : {out.state_r, out.state_s1, out.state_s2})
      if (zero) zero[2 * row] = zero[2 * row + 1] = 0;
    for (size_t j = 0; j < out.selects && out.rank; j++) out.rank[row * out.selects + j] = 0;
  }
}

}  // namespace

void reduce(const Request& request, const Outputs& out) {
  Layout layout(request.x, nullptr, request.where ? &*request.where : nullptr, request.axes);
  for (size_t i = 0; i < layout.rows * out.selects && !out.rank_logit; i++)
    if (out.select[i] < 0 || (size_t)out.select[i] >= layout.vocab)
      throw std::out_of_range("column " + std::to_string(out.select[i]) + " is not in a row of " +
                              std::to_string(layout.vocab));
  if (request.top_k > layout.vocab) throw std::invalid_argument("k is larger than the row");
  if (out.argmax && !layout.vocab && layout.rows) throw std::invalid_argument("argmax of nothing");
  Plan plan = make_plan(request, layout);
  Record record = make_record(request, plan);
  auto run = [&](auto job) {
    job.run();
    record.radix_rows = job.radix_rows();
  };
  if (!layout.vocab) reduce_nothing(layout.rows, out);
  else if (layout.rows && plan.in_double) run(Reduce<double>(request, layout, plan, out));
  else if (layout.rows) run(Reduce<float>(request, layout, plan, out));
  set_last_record(record);
}

}  // namespace oneread::inline ONEREAD_DRIVERS
