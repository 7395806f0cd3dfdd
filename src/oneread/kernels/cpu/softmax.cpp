// softmax and log_softmax: each row is read once, summed online, and written once.
#include <algorithm>

#include "pool.hpp"
#include "rows.hpp"
#include "strips.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

namespace {

template <class C>
class Softmax {
 public:
  Softmax(const Request& request, const Layout& layout, const Plan& plan)
      : request_(request),
        plan_(plan),
        rows_(request, layout, plan),
        table_(rows_.table),
        group_(std::min(rows_.neighbours(), most_rows(plan))) {
    kept_ = plan.staged || plan.by_span ? 0 : plan.kept;
    for (int t = 0; t < plan.threads; t++) workers_.emplace_back(plan, group_, kept_);
  }

  void run() {
    if (plan_.by_span) {
      run_by_span();
      return;
    }
    size_t least = plan_.streaming && plan_.is_short ? kLeastStreamedRows : group_;
    size_t chunk = rows_per_item(rows_.count(), rows_.vocab(), plan_.threads, least);
    size_t items = (rows_.count() + chunk - 1) / chunk;
    parallel(items, plan_.threads, [&](size_t item, int worker) {
      FloatControl plain(false);
      size_t from = item * chunk, to = std::min(from + chunk, rows_.count());
      some_rows(from, to, workers_[worker]);
    });
    finish_last_rows();
  }

 private:
  static constexpr size_t kRowStep = kBlock + kRowGap;
  // Short rows of one item: the last of them is written while none is summed.
  static constexpr size_t kLeastStreamedRows = 32;

  struct Worker {
    Worker(const Plan& plan, size_t group, size_t kept)
        : states(plan.staged ? group : 1),
          spans(plan.spans * (plan.staged ? group : 1)),
          partials(plan.spans * group),
          buffer(plan.staged ? kRowStep * group : 0),
          bytes(plan.staged ? kBlock * 8 : 0),
          kept(kept),
          pending{nullptr, 0, 0, plan.streaming} {
      pieces.reserve(plan.streaming ? plan.spans * kMaxSegments : 0);
    }
    Room<SumState> states;
    Room<SpanSum> spans;
    Room<Partial> partials;
    Room<C> buffer;
    Room<char> bytes;
    Room<C> kept;  // exponentials of a row: those of the next take their place as it is written
    std::vector<Piece> pieces;
    Pending pending;
    bool flushes = true;  // whether pending pieces are written so
  };

  // A thread's room stays below 1 MiB however many spans a row has.
  static size_t most_rows(const Plan& plan) {
    return std::max<size_t>(1, ((size_t)128 << 10) / (plan.spans * sizeof(SpanSum)));
  }

  void some_rows(size_t from, size_t to, Worker& w) {
    if (plan_.staged && plan_.is_short) {
      for (size_t row = from, n; row < to; row += n) {
        n = rows_.together(row, to - row, group_);
        staged_short_rows(row, n, w);
      }
    } else if (plan_.staged) {
      for (size_t row = from, n; row < to; row += n) {
        n = rows_.together(row, to - row, group_);
        for (size_t s = 0; s < plan_.spans; s++)
          sum_span(row, n, s, w, w.spans.get(), w.partials.get());
        write(row, n, 0, plan_.spans, w, w.spans.get(), w.partials.get());
      }
    } else if (plan_.is_short && !request_.lengths && !request_.temperatures &&
               rows_are_equally_spaced()) {
      FloatControl control(Rows::flushes(rows_.temperature(from)));
      table_.softmax_rows({rows_.x(from), rows_.y(from), row_step(&Axis::x), row_step(&Axis::y),
                           to - from, rows_.vocab(), rows_.temperature(from), w.kept.get(),
                           request_.log, plan_.streaming});
    } else {
      for (size_t row = from; row < to; row++) {
        for (size_t s = 0; s < plan_.spans; s++)
          sum_span(row, 1, s, w, w.spans.get(), w.partials.get());
        finish_pending(w);
        write(row, 1, 0, plan_.spans, w, w.spans.get(), w.partials.get());
      }
    }
  }

  // Those that no other row of their threads came after.
  void finish_last_rows() {
    if (!plan_.streaming) return;
    parallel(workers_.size(), plan_.threads, [&](size_t item, int) {
      FloatControl plain(false);
      finish_pending(workers_[item]);
    });
  }

  void finish_pending(Worker& w) {
    if (!w.pending.pieces) return;
    FloatControl control(w.flushes);
    if (request_.log) table_.write_log(&w.pending);
    else table_.write_all(&w.pending);
  }

  // Rows that fit a block: gathered once, finished in the buffer, scattered once.
  void staged_short_rows(size_t row, size_t n, Worker& w) {
    C* buffer = w.buffer.get();
    size_t step = rows_.block(n), vocab = rows_.vocab();  // turn by turn, for lines that rows share
    for (size_t at = 0; at < vocab; at += step)
      rows_.stage_rows(row, n, at, std::min(step, vocab - at), buffer + at, kRowStep,
                       w.bytes.get());
    for (size_t r = 0; r < n; r++) short_row_in_place(row + r, buffer + r * kRowStep, w);
    for (size_t at = 0; at < vocab; at += step)
      rows_.unstage_rows(row, n, at, std::min(step, vocab - at), buffer + at, kRowStep,
                         w.bytes.get());
  }

  void short_row_in_place(size_t row, C* x, Worker& w) {
    size_t n = rows_.length(row);
    Temperature t = rows_.temperature(row);
    FloatControl control(Rows::flushes(t));
    bool good;
    if (request_.log) {
      Partial& sums = w.partials[0];
      table_.short_rest(x, 0, 1, n, t, false, &sums);
      good = !has_no_probabilities(sums);
      if (good) table_.log_shift(x, x, n, sums.m, t, log_sum(sums), false);
    } else {
      SpanSum& sum = w.spans[0];
      table_.short_all(x, n, t, x, &sum);
      WholeSum all(&sum, 1, t);
      good = !all.has_no_probabilities();
      if (good) table_.scale(x, x, n, all.factor(sum.segment[0], t), false);
    }
    if (good) table_.fill(x + n, rows_.vocab() - n, request_.log ? -kInf : 0);
    else table_.fill(x, rows_.vocab(), kNaN);
  }

  bool rows_are_equally_spaced() const { return outer().size() <= 1; }
  const std::vector<Axis>& outer() const { return rows_.outer(); }
  ptrdiff_t row_step(ptrdiff_t Axis::* step) const {
    return outer().empty() ? 0 : outer()[0].*step / (ptrdiff_t)rows_.item();
  }

  // Few long rows: the spans of all of them are summed, then all of them are written.
  void run_by_span() {
    size_t spans = plan_.spans, items = rows_.count() * spans;
    Room<SpanSum> sums(request_.log ? 0 : items);
    Room<Partial> partials(items);
    auto of_row = [&](auto& room, size_t row) {
      return room.get() ? room.get() + row * spans : nullptr;
    };
    parallel(items, plan_.threads, [&](size_t item, int worker) {
      FloatControl plain(false);
      size_t row = item / spans;
      sum_span(row, 1, item % spans, workers_[worker], of_row(sums, row), of_row(partials, row));
    });
    parallel(items, plan_.threads, [&](size_t item, int worker) {
      FloatControl plain(false);
      size_t row = item / spans, s = item % spans;
      write(row, 1, s, s + 1, workers_[worker], of_row(sums, row), of_row(partials, row));
    });
  }

  size_t begin(size_t span, size_t row) const {
    return std::min(span * plan_.span_columns, rows_.length(row));
  }
  size_t end(size_t span, size_t row) const {
    return std::min((span + 1) * plan_.span_columns, rows_.length(row));
  }

  // Exponentials of a row that is read in place, from a span's first column on, if they are kept
  // anywhere.
  C* exponentials(size_t row, size_t from, const Worker& w) const {
    if (plan_.staged) return nullptr;
    if (from < kept_) return w.kept.get() + from;
    bool own = plan_.element == ElementType::f32 || plan_.element == ElementType::f64;
    return own ? (C*)rows_.y(row) + from : nullptr;
  }

  void sum_span(size_t row, size_t n, size_t span, Worker& w, SpanSum* sums, Partial* partials) {
    Temperature t[kNeighbours];
    for (size_t r = 0; r < n; r++) {
      t[r] = rows_.temperature(row + r);
      if (request_.log) table_.start_rest(&w.states[slot(r)], t[r], false);
      else table_.start(&w.states[slot(r)], t[r]);
    }
    if (!plan_.staged) {
      if (plan_.is_short || Rows::flushes(t[0]) != w.flushes) finish_pending(w);
      size_t from = begin(span, row), m = end(span, row) - from;
      const char* x = rows_.x(row) + from * rows_.item();
      C* e = exponentials(row, from, w);
      FloatControl control(Rows::flushes(t[0]));
      if (plan_.is_short) {
        if (request_.log) table_.short_rest(x, 0, 1, m, t[0], false, &partials[0]);
        else table_.short_all(x, m, t[0], e, &sums[0]);
        return;
      }
      if (request_.log) table_.feed_rest(&w.states[0], x, m, &w.pending);
      else table_.feed_all(&w.states[0], x, m, e, &w.pending);
    } else {
      size_t step = rows_.block(n);
      size_t last = std::min((span + 1) * plan_.span_columns, rows_.vocab());
      for (size_t at = span * plan_.span_columns; at < last; at += step) {
        rows_.stage_rows(row, n, at, std::min(step, last - at), w.buffer.get(), step + kRowGap,
                         w.bytes.get());
        for (size_t r = 0; r < n; r++) {
          size_t stop = std::min(at + step, end(span, row + r));
          if (at >= stop) continue;
          const C* x = w.buffer.get() + r * (step + kRowGap);
          FloatControl control(Rows::flushes(t[r]));
          if (request_.log) table_.feed_rest(&w.states[r], x, stop - at, nullptr);
          else table_.feed_all(&w.states[r], x, stop - at, nullptr, nullptr);
        }
      }
    }
    for (size_t r = 0; r < n; r++) {
      size_t at = r * plan_.spans + span;
      if (request_.log) table_.finish_rest(&w.states[slot(r)], &partials[at]);
      else table_.finish_all(&w.states[slot(r)], &sums[at]);
    }
  }
  size_t slot(size_t r) const { return plan_.staged ? r : 0; }

  void write(size_t row, size_t n, size_t first, size_t last, Worker& w, SpanSum* sums,
             Partial* partials) {
    if (!plan_.staged) {
      if (request_.log) write_log(row, first, last, w, partials);
      else write_in_place(row, first, last, w, sums);
      return;
    }
    WholeSum sum[kNeighbours];
    Partial whole[kNeighbours];
    bool good[kNeighbours];
    for (size_t r = 0; r < n; r++) {
      Temperature t = rows_.temperature(row + r);
      if (request_.log) whole[r] = merged(partials + r * plan_.spans, t);
      else sum[r] = WholeSum(sums + r * plan_.spans, plan_.spans, t);
      good[r] = request_.log ? !has_no_probabilities(whole[r]) : !sum[r].has_no_probabilities();
    }
    size_t step = rows_.block(n);
    for (size_t span = first; span < last; span++) {
      size_t stop = std::min((span + 1) * plan_.span_columns, rows_.vocab());
      for (size_t at = span * plan_.span_columns; at < stop; at += step) {
        size_t m = std::min(step, stop - at);
        rows_.stage_rows(row, n, at, m, w.buffer.get(), step + kRowGap, w.bytes.get());
        for (size_t r = 0; r < n; r++) {
          C* x = w.buffer.get() + r * (step + kRowGap);
          if (!good[r]) table_.fill(x, m, kNaN);
          else block(row + r, span, at, m, x, sums + r * plan_.spans, sum[r], whole[r]);
        }
        rows_.unstage_rows(row, n, at, m, w.buffer.get(), step + kRowGap, w.bytes.get());
      }
    }
  }

  // Results of one staged block, in place of its logits.
  void block(size_t row, size_t span, size_t at, size_t n, C* buffer, const SpanSum* spans,
             const WholeSum& all, const Partial& whole) {
    size_t inside = std::min(n, std::max(at, rows_.length(row)) - at);
    Temperature t = rows_.temperature(row);
    FloatControl control(Rows::flushes(t));
    if (request_.log) {
      table_.log_shift(buffer, buffer, inside, whole.m, t, log_sum(whole), false);
    } else {
      const SpanSum& sum = spans[span];
      size_t base = span * plan_.span_columns;
      for (size_t i = 0; i < inside;) {
        int s = segment_of(sum, at + i - base);
        size_t to = s + 1 < sum.segments ? sum.segment[s + 1].column + base - at : inside;
        to = std::min(to, inside);
        if (sum.empty) table_.fill(buffer + i, to - i, 0);
        else
          table_.exp_scale(buffer + i, buffer + i, to - i, sum.segment[s].reference, t,
                           all.factor(sum.segment[s], t));
        i = to;
      }
    }
    table_.fill(buffer + inside, n - inside, request_.log ? -kInf : 0);
  }

  // With the bits that softmax_rows has it.
  double log_sum(const Partial& p) const {
    double r[kRowsTogether] = {(double)p.r};
    table_.log_sums(r, 1);
    return r[0];
  }

  Partial merged(const Partial* partials, const Temperature& t) const {
    Partial whole = partials[0];
    for (size_t s = 1; s < plan_.spans; s++) whole = merge(whole, partials[s], t);
    return whole;
  }

  void write_log(size_t row, size_t first, size_t last, Worker& w, const Partial* partials) {
    Temperature t = rows_.temperature(row);
    Partial whole = merged(partials, t);
    size_t from = begin(first, row), n = end(last - 1, row) - from;
    const char* x = rows_.x(row) + from * rows_.item();
    char* y = rows_.y(row) + from * rows_.item();
    if (has_no_probabilities(whole)) {
      fill_span(row, first, last, kNaN);
      return;
    }
    w.flushes = Rows::flushes(t);
    FloatControl control(w.flushes);
    fill_rest(row, first, last, -kInf);
    if (!plan_.streaming || t.t != 1) {
      table_.log_shift(x, y, n, whole.m, t, log_sum(whole), plan_.streaming);
      return;
    }
    w.pieces.assign(1, {x, y, n, {}, whole.m, log_sum(whole)});
    w.pending = {w.pieces.data(), 1, 0, plan_.streaming};
  }

  void write_in_place(size_t row, size_t first, size_t last, Worker& w, SpanSum* sums) {
    Temperature t = rows_.temperature(row);
    WholeSum all(sums, plan_.spans, t);
    if (all.has_no_probabilities()) {
      fill_span(row, first, last, kNaN);
      return;
    }
    w.flushes = Rows::flushes(t);
    FloatControl control(w.flushes);
    w.pieces.clear();
    for (size_t span = first; span < last; span++) {
      const SpanSum& sum = sums[span];
      size_t base = begin(span, row), stop = end(span, row);
      const C* e = exponentials(row, base, w);
      if (sum.empty) {
        table_.fill(rows_.y(row) + base * rows_.item(), stop - base, 0);
        continue;
      }
      for (int s = 0; s < sum.segments; s++) {
        size_t from = base + sum.segment[s].column;
        size_t to = s + 1 < sum.segments ? base + sum.segment[s + 1].column : stop;
        Scaled factor = all.factor(sum.segment[s], t);
        char* y = rows_.y(row) + from * rows_.item();
        if (plan_.streaming && base < kept_)
          w.pieces.push_back({e + (from - base), y, to - from, factor});
        else if (e) table_.scale(e + (from - base), y, to - from, factor, false);
        else
          table_.exp_scale(rows_.x(row) + from * rows_.item(), y, to - from,
                           sum.segment[s].reference, t, factor);
      }
    }
    w.pending = {w.pieces.data(), w.pieces.size(), 0, plan_.streaming};
    fill_rest(row, first, last, 0);
  }

  void fill_span(size_t row, size_t first, size_t last, double value) {
    size_t from = first * plan_.span_columns;
    size_t to = std::min(last * plan_.span_columns, rows_.vocab());
    table_.fill(rows_.y(row) + from * rows_.item(), to - from, value);
  }
  // Columns at or beyond the row's length.
  void fill_rest(size_t row, size_t first, size_t last, double value) {
    size_t from = std::max(first * plan_.span_columns, rows_.length(row));
    size_t to = std::min(last * plan_.span_columns, rows_.vocab());
    if (from < to) table_.fill(rows_.y(row) + from * rows_.item(), to - from, value);
  }

  const Request& request_;
  const Plan& plan_;
  Rows rows_;
  const Kernels& table_;
  size_t group_;
  size_t kept_;  // columns whose exponentials lie in room of our own
  std::vector<Worker> workers_;
};

}  // namespace

void softmax(const Request& request) {
  Layout layout(request.x, &*request.y, request.where ? &*request.where : nullptr, request.axes);
  Plan plan = make_plan(request, layout);
  if (layout.rows && layout.vocab) {
    if (plan.in_strips) Strips(request, layout, plan).run();
    else if (plan.in_double) Softmax<double>(request, layout, plan).run();
    else Softmax<float>(request, layout, plan).run();
  }
  set_last_record(make_record(request, plan));
}

}  // namespace oneread::inline ONEREAD_DRIVERS
