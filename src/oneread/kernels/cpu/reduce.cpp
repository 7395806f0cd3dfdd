// Everything that is shorter than the row: logsumexp, top-k, selected log-probabilities, rank,
// entropy. Each row is read once; what the passes below share stays in the innermost cache.
#include <algorithm>
#include <stdexcept>

#include "pool.hpp"
#include "rank.hpp"
#include "results.hpp"

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
        ranks_beside_(ranks_ == 1 && sums_ && !plan.staged && !plan.is_short),
        results_(request, plan, out, rows_) {
    group_ = plan.is_short && !plan.staged ? kRowsTogether : rows_.neighbours();
    equally_spaced_ = layout.outer.size() <= 1;
    row_step_ = layout.outer.empty() ? 0 : layout.outer[0].x / (ptrdiff_t)rows_.item();
    size_t each =
        plan.groups * sizeof(C) + (whole_ ? plan.spans * sizeof(SpanSum) : 0) + ranks_ * 8;
    if (each * group_ > ((size_t)128 << 10)) group_ = 1;
    for (int t = 0; t < plan.threads; t++)
      workers_.emplace_back(plan, group_, k_, ranks_, plan.by_span ? 0 : group_, whole_,
                            !(plan.staged || k_ || out.argmax) ? 0
                            : plan.staged                      ? kRowStep * group_
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
      for (size_t row = item * chunk, n; row < to; row += n) {
        n = plan_.staged ? rows_.together(row, to - row, group_) : std::min(group_, to - row);
        Found found{w.spans.get(), w.whole.get(), w.maxima.get(), w.before.get()};
        for (size_t span = 0; span < plan_.spans; span++) read_span(row, n, span, w, found);
        for (size_t r = 0; r < n; r++) finish(row + r, r, w, of_row(found, r));
      }
    });
  }

 private:
  using Worker = ReduceRoom<C>;
  static constexpr size_t kRowStep = kBlock + kRowGap;

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
      rows_.stage_rows(row, n, at, std::min(step, vocab - at), w.buffer.get() + at, kRowStep,
                       w.bytes.get());
    for (size_t r = 0; r < n; r++)
      found.reads[r] = {empty_partial(), 0, rows_.length(row + r), false};
    if (sums_) short_sums(row, n, w, found);
    for (size_t r = 0; r < n; r++) read_short(row + r, short_row(row + r, r, w), of_row(found, r));
  }
  const void* short_row(size_t row, size_t r, Worker& w) const {
    return plan_.staged ? w.buffer.get() + r * kRowStep : (const void*)rows_.x(row);
  }
  void short_sums(size_t row, size_t n, Worker& w, const Found& found) {
    Partial* sums = w.short_sums.get();
    bool alike = !request_.lengths && !request_.temperatures && (plan_.staged || equally_spaced_);
    ptrdiff_t stride = plan_.staged ? (ptrdiff_t)kRowStep : row_step_;
    for (size_t r = 0; r < n; r += alike ? n : 1) {
      FloatControl control(Rows::flushes(rows_.temperature(row + r)));
      table_.short_rest(short_row(row + r, r, w), stride, alike ? n : 1, rows_.length(row + r),
                        rows_.temperature(row + r), moments_, sums + r);
    }
    for (size_t r = 0; out_.lse && r < n; r += kRowsTogether) {
      double* logs = w.log_sums + r;
      for (size_t i = 0; i < kRowsTogether; i++) logs[i] = r + i < n ? (double)sums[r + i].r : 0;
      table_.log_sums(logs, std::min(kRowsTogether, n - r));
    }
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
    for (size_t at = span * plan_.span_columns; at < stop && reads; at += step) {
      if (plan_.staged)
        rows_.stage_rows(row, n, at, std::min(step, stop - at), w.buffer.get(), step + kRowGap,
                         w.bytes.get());
      for (size_t r = 0; r < n; r++) {
        size_t end = std::min({at + step, stop, rows_.length(row + r)});
        if (at >= end) continue;
        SpanRead& read = found.reads[r * plan_.spans + span];
        const void* x = plan_.staged ? w.buffer.get() + r * (step + kRowGap)
                                     : (const void*)(rows_.x(row + r) + at * rows_.item());
        FloatControl control(Rows::flushes(t[r]));
        C* maxima = found.maxima + r * plan_.groups;
        size_t* before = found.before + (r * slots() + slot(span)) * ranks_;
        bool keeps = plan_.groups && (whole_ || sums_);  // beside the sums, at no cost
        Beside beside{keeps ? maxima + group_of(span) : nullptr, plan_.group_vectors};
        if (whole_ && keeps) table_.feed_all_beside(&w.states[r], x, end - at, beside);
        else if (whole_) table_.feed_all(&w.states[r], x, end - at, nullptr, nullptr);
        size_t counted = 0, below = 0;
        C bounds[2];
        if (ranks_beside_ && bounds_of(w.ranked[r], bounds)) {
          int64_t column = w.ranked[r].column - (int64_t)(span * plan_.span_columns);
          beside.bounds = bounds, beside.column = (size_t)std::max(column, (int64_t)0);
          beside.below = &below;
          counted = 1;
        }
        if (sums_)
          feed(&w.states[r], x, at, end - at, keeps || counted ? &beside : nullptr, read, best[r]);
        if (counted) before[0] += end - at - below;
        if (plan_.groups && !keeps) scan_maxima(x, at, end - at, maxima, read);
        for (size_t j = counted; j < ranks_; j++)
          before[j] += count_before(rows_, row + r, w.ranked[r * ranks_ + j], x, at, end - at);
      }
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
  bool whole_span_at_once() const {
    return !plan_.staged && (!ranks_ || ranks_beside_) && (!k_ || whole_ || sums_) && !out_.argmax;
  }

  // First group of a span; spans hold whole groups.
  size_t group_of(size_t span) const {
    size_t columns = plan_.group_vectors * (size_t)table_.width;
    if (!columns) return 0;
    return std::min(span * plan_.span_columns / columns * (size_t)table_.width, plan_.groups);
  }

  void feed(SumState* state, const void* x, size_t at, size_t n, const Beside* beside,
            SpanRead& read, double& best) {
    double largest = moments_ ? table_.feed_moments(state, x, n, beside)
                              : table_.feed_rest_beside(state, x, n, beside);
    if (largest > best) {
      best = largest;
      read.best_block = at;
      read.best_columns = n;
    }
  }

  void scan_maxima(const void* x, size_t at, size_t n, C* maxima, SpanRead& read) {
    auto width = (size_t)table_.width, columns = plan_.group_vectors * width;
    bool nan = table_.block_max(x, n, plan_.group_vectors, maxima + at / columns * width);
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
    results_.write_sums(row, sums, t);
    if (out_.rank) results_.write_rank(row, found.before, slots());
    if (k_) results_.write_top_k(row, w, found.maxima, nan);
    if (whole_) {
      WholeSum whole(found.whole, plan_.spans, t);
      if (out_.lse) out_.lse.set(row, whole.lse(t));
      results_.write_softmax(row, found.whole, whole, t);
    } else {
      if (out_.lse && plan_.is_short && std::isfinite(sums.m))
        out_.lse.set(row, sums.m / t.t + w.log_sums[r]);
      else if (out_.lse) out_.lse.set(row, lse(sums, t));
      if (out_.scores) results_.write_scores(row, sums, t);
    }
    if (out_.argmax) out_.argmax[row] = results_.argmax(row, w, found.reads, sums);
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
  bool moments_;
  bool ranks_beside_;  // one rank a row, counted by the loop that sums
  Results<C> results_;
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
