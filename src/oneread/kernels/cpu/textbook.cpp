// The textbook algorithms on the rows of arrays: our threads and our stores, and nothing that the
// textbooks lack. Rows are contiguous floats; there are no masks and no temperatures.
#include <algorithm>
#include <stdexcept>

#include "pool.hpp"
#include "rows.hpp"

namespace oneread::inline ONEREAD_DRIVERS {

namespace {

// Softmax of one row into y.
TextbookKernels::Softmax softmax_of(const TextbookKernels& table, const std::string& algorithm) {
  if (algorithm == "naive") return table.naive;
  if (algorithm == "safe" || algorithm == "safe_unfused") return table.safe;
  if (algorithm == "two_pass") return table.two_pass;
  return table.online;
}

// The k likeliest columns of rows.
template <class C>
class LikeliestRows {
 public:
  LikeliestRows(const Request& request, const Layout& layout, const Plan& plan, const Outputs& out)
      : request_(request),
        rows_(request, layout, plan),
        table_(rows_.table.textbook(plan.element)),
        out_(out) {
    bool unfused = request.textbook.ends_with("_unfused");
    for (int t = 0; t < plan.threads; t++)
      workers_.emplace_back(request.top_k, unfused ? rows_.vocab() * rows_.item() : 0);
  }

  void row(size_t row, int worker) {
    size_t n = rows_.vocab(), k = request_.top_k;
    auto& [values, y] = workers_[worker];
    int64_t* columns = out_.indices + row * k;
    const void* x = rows_.x(row);
    if (request_.textbook == "safe_fused") {
      table_.safe_fused(x, n, k, values.get(), columns);
    } else if (request_.textbook == "online_fused") {
      table_.online_fused(x, n, k, values.get(), columns);
    } else {
      softmax_of(table_, request_.textbook)(x, y.get(), n, false);
      table_.top_k(y.get(), n, k, values.get(), columns);
    }
    for (size_t i = 0; i < k; i++) out_.scores.set(row * k + i, (double)values[i]);
  }

 private:
  struct Worker {
    Worker(size_t k, size_t bytes) : values(k), y(bytes) {}
    Room<C> values;
    Room<char> y;
  };
  const Request& request_;
  Rows rows_;
  const TextbookKernels& table_;
  const Outputs& out_;
  std::vector<Worker> workers_;
};

template <class Row>
void for_each_row(const Layout& layout, const Plan& plan, Row run) {
  size_t chunk = rows_per_item(layout.rows, layout.vocab, plan.threads, 1);
  parallel((layout.rows + chunk - 1) / chunk, plan.threads, [&](size_t item, int worker) {
    FloatControl control(true);
    size_t to = std::min((item + 1) * chunk, layout.rows);
    for (size_t row = item * chunk; row < to; row++) run(row, worker);
  });
}

}  // namespace

void textbook(const Request& request, const Outputs& out) {
  Layout layout(request.x, request.y ? &*request.y : nullptr, nullptr, request.axes);
  if (request.top_k > layout.vocab) throw std::invalid_argument("k is larger than the row");
  Plan plan = make_textbook_plan(request, layout);
  if (!layout.rows || !layout.vocab) {
    // nothing to write
  } else if (request.y) {
    Rows rows(request, layout, plan);
    auto softmax = softmax_of(rows.table.textbook(plan.element), request.textbook);
    for_each_row(layout, plan, [&](size_t row, int) {
      softmax(rows.x(row), rows.y(row), layout.vocab, plan.streaming);
    });
  } else if (request.top_k) {
    auto run = [&](auto job) {
      for_each_row(layout, plan, [&](size_t row, int worker) { job.row(row, worker); });
    };
    if (plan.in_double) run(LikeliestRows<double>(request, layout, plan, out));
    else run(LikeliestRows<float>(request, layout, plan, out));
  }
  set_last_record(make_record(request, plan));
}

}  // namespace oneread::inline ONEREAD_DRIVERS
