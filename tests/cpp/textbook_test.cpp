// The textbook algorithms against sums in long double, and what their counted build counts.
#include <algorithm>
#include <cstring>

#include "check.hpp"
#include "driver.hpp"

using namespace oneread;

namespace oneread::counted {
void textbook(const Request&, const Outputs&);
}

namespace {

constexpr size_t kRows = 3;

Operand operand(void* data, size_t rows, size_t columns) {
  Operand a;
  a.data = (char*)data;
  a.writable = true;
  a.shape = {rows, columns};
  a.stride = {(ptrdiff_t)(columns * sizeof(float)), sizeof(float)};
  return a;
}

Request request_for(const char* op, const char* algorithm, std::vector<float>& x) {
  Request r;
  r.op = op;
  r.textbook = algorithm;
  r.x = operand(x.data(), kRows, x.size() / kRows);
  r.axes = {1};
  r.threads = 2;
  return r;
}

std::vector<long double> probabilities(const float* x, size_t n) {
  std::vector<long double> y(n);
  long double m = *std::max_element(x, x + n), d = 0;
  for (size_t i = 0; i < n; i++) d += expl(x[i] - m);
  for (size_t i = 0; i < n; i++) y[i] = expl(x[i] - m) / d;
  return y;
}

const char* const kSoftmax[] = {"naive", "safe", "online", "two_pass"};
const char* const kTopK[] = {"safe_unfused", "online_unfused", "safe_fused", "online_fused"};

}  // namespace

TEST(textbook_softmax_is_close_to_the_truth_for_every_length) {
  for (size_t vocab = 1; vocab < 5000; vocab += vocab < 70 ? 1 : 613) {
    auto x = normal<float>(kRows * vocab, 4, (unsigned)vocab);
    for (const char* algorithm : kSoftmax) {
      std::vector<float> y(x.size());
      Request r = request_for("softmax", algorithm, x);
      r.y = operand(y.data(), kRows, vocab);
      textbook(r, {});
      for (size_t row = 0; row < kRows; row++) {
        auto truth = probabilities(&x[row * vocab], vocab);
        double worst = 0;  // x - m rounds by up to half a unit of 64
        for (size_t i = 0; i < vocab; i++)
          worst = std::max(worst, ulps(y[row * vocab + i], (double)truth[i]));
        CHECK(worst <= 40, "%s, V = %zu: %g ulp", algorithm, vocab, worst);
      }
    }
  }
}

TEST(textbook_top_k_equals_the_sorted_row) {
  for (size_t vocab : {1, 7, 65, 1000, 5000})
    for (size_t k : {1, 5, 100}) {
      if (k > vocab) continue;
      auto x = normal<float>(kRows * vocab, 3, (unsigned)(vocab + k));
      for (float& v : x) v = std::round(v * 4) / 4;  // ties, and no two probabilities round to one
      for (const char* algorithm : kTopK) {
        std::vector<int64_t> indices(kRows * k);
        std::vector<float> scores(kRows * k);
        Request r = request_for("softmax_topk", algorithm, x);
        r.top_k = k;
        Outputs out;
        out.indices = indices.data();
        out.scores = {scores.data(), false};
        textbook(r, out);
        for (size_t row = 0; row < kRows; row++) {
          const float* v = &x[row * vocab];
          auto truth = probabilities(v, vocab);
          std::vector<int64_t> order(vocab);
          for (size_t i = 0; i < vocab; i++) order[i] = (int64_t)i;
          std::stable_sort(order.begin(), order.end(),
                           [v](int64_t a, int64_t b) { return v[a] > v[b]; });
          size_t wrong = 0;
          for (size_t i = 0; i < k; i++)
            wrong += indices[row * k + i] != order[i] ||
                     ulps(scores[row * k + i], (double)truth[order[i]]) > 40;
          CHECK(wrong == 0, "%s, V = %zu, k = %zu: %zu wrong", algorithm, vocab, k, wrong);
        }
      }
    }
}

TEST(textbook_kernels_make_the_accesses_of_the_paper) {
  constexpr size_t accesses[] = {3, 4, 3, 3};
  for (size_t vocab : {1, 63, 4099}) {
    auto x = normal<float>(kRows * vocab, 4, 1);
    for (size_t i = 0; i < 4; i++) {
      std::vector<float> y(x.size());
      Request r = request_for("softmax", kSoftmax[i], x);
      r.y = operand(y.data(), kRows, vocab);
      r.threads = 1;
      Counting counting;
      counting.watch(r.x, &*r.y);
      counted::textbook(r, {});
      const Counts& c = counting.counts;
      CHECK(c.x_loads + c.y_stores == accesses[i] * x.size(), "%s, V = %zu", kSoftmax[i], vocab);
      CHECK(c.x_stores + c.y_loads + c.scratch_loads + c.scratch_stores == 0, "%s", kSoftmax[i]);
      CHECK(c.x_fetched_bytes >= x.size() * sizeof(float));
    }
  }
}
