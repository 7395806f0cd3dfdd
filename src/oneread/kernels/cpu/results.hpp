// What `reduce` writes for a row that has been read.
#pragma once

#include "reduce_room.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

template <class C>
class Results {
 public:
  using Room = ReduceRoom<C>;

  Results(const Request& request, const Plan& plan, const Outputs& out, const Rows& rows)
      : request_(request),
        plan_(plan),
        out_(out),
        rows_(rows),
        k_(request.top_k),
        ranks_(out.rank ? out.selects : 0),
        masked_(request.where || request.lengths) {}

  void write_sums(size_t row, const Partial& sums, const Temperature& t) {
    if (out_.max) out_.max.set(row, sums.m / t.t);
    if (out_.entropy) out_.entropy.set(row, entropy(sums));
    if (out_.sum_p2) out_.sum_p2.set(row, sum_p2(sums));
    if (out_.state_m) out_.state_m[row] = sums.m;
    write_halves(out_.state_r, row, sums.r);
    write_halves(out_.state_s1, row, sums.s1);
    write_halves(out_.state_s2, row, sums.s2);
    if (out_.selected) write_selected(row, sums, t);
  }

  // `before`: counts of each slot.
  void write_rank(size_t row, const size_t* before, size_t slots) {
    for (size_t j = 0; j < ranks_; j++) {
      size_t at = row * ranks_ + j, sum = 0, length = rows_.length(row);
      for (size_t s = 0; s < slots; s++) sum += before[s * ranks_ + j];
      int64_t column = out_.select[at];
      // Columns beyond the length that lie left of one that is not kept come before it, too.
      bool beyond =
          !out_.rank_logit && !rows_.kept(row, (size_t)column) && column > (int64_t)length;
      out_.rank[at] = (int64_t)(sum + (beyond ? (size_t)column - length : 0));
    }
  }

  void write_top_k(size_t row, Room& w, const C* maxima, bool nan) {
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

  // Probabilities with the bits that softmax gives them: its sums, its references, its kernel.
  void write_softmax(size_t row, const SpanSum* spans, const WholeSum& whole,
                     const Temperature& t) {
    FloatControl control(Rows::flushes(t));
    for (size_t i = 0; i < k_; i += kTogether) {
      size_t n = std::min(kTogether, k_ - i);
      if (!whole.has_no_probabilities()) some_probabilities(row, i, n, spans, whole, t);
      else
        for (size_t j = 0; j < n; j++) out_.scores.set(row * k_ + i + j, kNaN);
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

  int64_t argmax(size_t row, Room& w, const SpanRead* reads, const Partial& sums) {
    if (k_) return out_.indices[row * k_];
    if (std::isnan(sums.m)) return first(row, w, 0, rows_.length(row), (C)kNaN);
    for (size_t s = 0; s < plan_.spans; s++)
      if (reads[s].best_block != kNowhere && reads[s].sums.m == sums.m && sums.m > -kInf)
        return first(row, w, reads[s].best_block, reads[s].best_columns, (C)sums.m);
    for (size_t c = 0; c < rows_.length(row); c++)  // nothing above -inf
      if (rows_.kept(row, c)) return (int64_t)c;
    return 0;
  }

 private:
  static constexpr size_t kTogether = 64;  // winners

  // Of winners [first, first + n), those of a segment together.
  void some_probabilities(size_t row, size_t first, size_t n, const SpanSum* spans,
                          const WholeSum& whole, const Temperature& t) {
    const Segment* segment[kTogether];  // null where y is 0, or written
    C x[kTogether], e[kTogether];
    size_t place[kTogether];
    for (size_t i = 0; i < n; i++) {
      auto column = (size_t)out_.indices[row * k_ + first + i];
      const SpanSum& span = spans[column / plan_.span_columns];
      x[i] = winner(row, first + i);
      segment[i] = span.empty || !(x[i] > -(C)kInf)
                       ? nullptr
                       : &span.segment[segment_of(span, column % plan_.span_columns)];
      if (!segment[i]) out_.scores.set(row * k_ + first + i, 0);
    }
    for (size_t i = 0; i < n; i++) {
      const Segment* of = segment[i];
      if (!of) continue;
      size_t m = 0;
      for (size_t j = i; j < n; j++) {
        if (segment[j] != of) continue;
        segment[j] = nullptr;
        e[m] = x[j];
        place[m++] = first + j;
      }
      rows_.own.exp_scale(e, e, m, of->reference, t, whole.factor(*of, t));
      for (size_t j = 0; j < m; j++) out_.scores.set(row * k_ + place[j], (double)e[j]);
    }
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

  // First kept column of [at, at + n) that holds v, which may be NaN.
  int64_t first(size_t row, Room& w, size_t at, size_t n, C v) {
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
  const Rows& rows_;
  size_t k_, ranks_;
  bool masked_;
};

}  // namespace oneread::inline ONEREAD_DRIVERS
