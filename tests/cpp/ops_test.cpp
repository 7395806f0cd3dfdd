// The drivers: layouts, threads, spans, against sums in long double.
#include <algorithm>
#include <cstring>

#include "check.hpp"
#include "driver.hpp"
#include "stores.hpp"

using namespace oneread;

namespace {

template <class T>
Operand operand(T* data, DType type, std::vector<size_t> shape) {
  Operand a;
  a.data = (char*)data;
  a.dtype = type;
  a.writable = true;
  a.shape = shape;
  a.stride.resize(shape.size());
  ptrdiff_t step = sizeof(T);
  for (size_t i = shape.size(); i-- > 0; step *= (ptrdiff_t)shape[i]) a.stride[i] = step;
  return a;
}

Request request_for(const char* op, Operand x, int threads) {
  Request r;
  r.op = op;
  r.log = r.op == "log_softmax";
  r.x = std::move(x);
  r.axes = {(int)r.x.shape.size() - 1};
  r.threads = threads;
  return r;
}

std::vector<float> run_softmax(std::vector<float>& x, size_t rows, bool log, int threads) {
  size_t vocab = x.size() / rows;
  std::vector<float> y(x.size());
  Request r = request_for(log ? "log_softmax" : "softmax",
                          operand(x.data(), DType::f32, {rows, vocab}), threads);
  r.y = operand(y.data(), DType::f32, {rows, vocab});
  softmax(r);
  return y;
}

long double log_sum_exp(const float* x, size_t n) {
  long double m = -INFINITY, sum = 0;
  for (size_t i = 0; i < n; i++) m = std::max(m, (long double)x[i]);
  for (size_t i = 0; i < n; i++) sum += expl(x[i] - m);
  return m + logl(sum);
}

}  // namespace

TEST(softmax_is_close_to_the_truth_for_every_length) {
  for (size_t vocab = 1; vocab < 300; vocab += vocab < 70 ? 1 : 13) {
    auto x = normal<float>(3 * vocab, 4, (unsigned)vocab);
    auto y = run_softmax(x, 3, false, 2), z = run_softmax(x, 3, true, 2);
    for (size_t r = 0; r < 3; r++) {
      long double lse = log_sum_exp(&x[r * vocab], vocab);
      for (size_t i = r * vocab; i < (r + 1) * vocab; i++) {
        CHECK(ulps(y[i], (double)expl(x[i] - lse)) <= 6, "V = %zu", vocab);
        CHECK(std::fabs(z[i] - (double)(x[i] - lse)) <= 4e-7 * (1 + std::fabs(z[i])), "V = %zu",
              vocab);
      }
    }
  }
}

TEST(bits_do_not_depend_on_threads_or_on_other_rows) {
  auto x = normal<float>(3 * 100003, 4, 7);
  for (bool log : {false, true}) {
    auto one = run_softmax(x, 3, log, 1), many = run_softmax(x, 3, log, 4);
    CHECK(std::memcmp(one.data(), many.data(), one.size() * 4) == 0);
    std::vector<float> alone(x.begin() + 100003, x.begin() + 200006);
    auto middle = run_softmax(alone, 1, log, 3);
    CHECK(std::memcmp(middle.data(), one.data() + 100003, middle.size() * 4) == 0);
  }
}

TEST(bits_do_not_depend_on_the_kind_of_store) {
  for (size_t vocab : {4000, 5003, 200003}) {
    auto x = normal<float>(9 * vocab, 4, (unsigned)vocab);
    for (bool log : {false, true}) {
      set_stores(Stores::regular);
      auto want = run_softmax(x, 9, log, 2);
      set_stores(Stores::streaming);
      auto got = run_softmax(x, 9, log, 2);
      bool streamed = std::strcmp(last_record()->stores, "streaming") == 0;
      CHECK(streamed == (!log || vocab > kShortColumns), "V = %zu", vocab);
      CHECK(std::memcmp(got.data(), want.data(), got.size() * 4) == 0, "V = %zu", vocab);
    }
  }
  set_stores(Stores::any);
}

TEST(columns_of_a_matrix_have_the_bits_of_its_rows) {
  size_t rows = 37, vocab = 5003;
  auto x = normal<float>(rows * vocab, 4, 9);
  std::vector<float> flipped(x.size()), got(x.size());
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < vocab; c++) flipped[c * rows + r] = x[r * vocab + c];
  auto want = run_softmax(x, rows, false, 2);
  Request r = request_for("softmax", operand(flipped.data(), DType::f32, {vocab, rows}), 2);
  r.axes = {0};
  r.y = operand(got.data(), DType::f32, {vocab, rows});
  softmax(r);
  size_t wrong = 0;
  for (size_t a = 0; a < rows; a++)
    for (size_t c = 0; c < vocab; c++) wrong += got[c * rows + a] != want[a * vocab + c];
  CHECK(wrong == 0, "%zu columns differ", wrong);
}

TEST(softmax_may_overwrite_its_input) {
  auto x = normal<float>(5 * 40000, 4, 11);
  auto want = run_softmax(x, 5, false, 2);
  Request r = request_for("softmax", operand(x.data(), DType::f32, {5, 40000}), 2);
  r.y = r.x;
  softmax(r);
  CHECK(std::memcmp(x.data(), want.data(), x.size() * 4) == 0);
}

TEST(top_k_equals_the_sorted_row) {
  for (size_t vocab : {1, 7, 100, 5000, 70000})
    for (size_t k : {1, 5, 64, 999}) {
      if (k > vocab) continue;
      auto x = normal<float>(2 * vocab, 1, (unsigned)(vocab + k));
      for (float& v : x) v = std::round(v * 50) / 50;  // many ties
      for (Selection selection : {Selection::any, Selection::radix}) {
        std::vector<int64_t> indices(2 * k);
        std::vector<float> values(2 * k), lse(2);
        Request r = request_for("softmax_topk", operand(x.data(), DType::f32, {2, vocab}), 2);
        r.top_k = k;
        r.selection = selection;
        Outputs out;
        out.indices = indices.data();
        out.values = (char*)values.data();
        out.lse = {lse.data(), false};
        reduce(r, out);
        for (size_t row = 0; row < 2; row++) {
          std::vector<int64_t> order(vocab);
          for (size_t i = 0; i < vocab; i++) order[i] = (int64_t)i;
          const float* v = &x[row * vocab];
          std::stable_sort(order.begin(), order.end(),
                           [v](int64_t a, int64_t b) { return v[a] > v[b]; });
          size_t wrong = 0;
          for (size_t i = 0; i < k; i++)
            wrong += indices[row * k + i] != order[i] || values[row * k + i] != v[order[i]];
          CHECK(wrong == 0, "V = %zu, k = %zu, %s: %zu wrong", vocab, k, selection_name(selection),
                wrong);
          CHECK(std::fabs(lse[row] - (double)log_sum_exp(v, vocab)) < 2e-6);
        }
      }
    }
}

TEST(masks_and_lengths_act_as_minus_infinity) {
  size_t vocab = 9000;
  auto x = normal<float>(2 * vocab, 3, 21), masked = x;
  std::vector<unsigned char> keep(2 * vocab);
  int64_t lengths[2] = {8000, 0};
  for (size_t i = 0; i < 2 * vocab; i++) {
    keep[i] = i % 3 != 0;
    if (!keep[i] || i % vocab >= (size_t)lengths[i / vocab]) masked[i] = -INFINITY;
    if (!keep[i]) x[i] = NAN;
  }
  auto want = run_softmax(masked, 2, false, 1);
  std::vector<float> got(2 * vocab);
  Request r = request_for("softmax", operand(x.data(), DType::f32, {2, vocab}), 2);
  r.y = operand(got.data(), DType::f32, {2, vocab});
  r.where = operand(keep.data(), DType::boolean, {2, vocab});
  r.lengths = lengths;
  softmax(r);
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); i++)
    wrong += got[i] != want[i] && !(std::isnan(got[i]) && std::isnan(want[i]));
  CHECK(wrong == 0, "%zu columns differ", wrong);
}

TEST(subnormal_logits_over_a_subnormal_temperature_stay_within_their_memory) {
  std::vector<float> x(20000, 1e-44f);
  for (double t : {1e-38, 1e-41, 1e-45, 1e-300}) {
    std::vector<float> y(x.size());
    Request r = request_for("softmax", operand(x.data(), DType::f32, {1, x.size()}), 1);
    r.y = operand(y.data(), DType::f32, {1, x.size()});
    r.temperature = t;
    softmax(r);
    size_t wrong = 0;
    for (float v : y) wrong += ulps(v, 1.0 / 20000) > 4;
    CHECK(wrong == 0, "t = %g: %zu wrong, first %g", t, wrong, (double)y[0]);
  }
}

TEST(columns_before_a_large_rise_keep_their_small_probabilities) {
  for (size_t n : {(size_t)256, kShortColumns + 100}) {
    std::vector<float> x(n, -40);
    std::fill(x.begin() + 128, x.begin() + 256, 40.f);
    auto y = run_softmax(x, 1, false, 1);
    CHECK(ulps(y[0], std::exp(-80.0) / 128) <= 4, "n = %zu: %g", n, (double)y[0]);
  }
}

TEST(float64_takes_any_finite_temperature) {
  for (double t : {1e308, 1.7e308, 1e-308, 5e-324}) {
    std::vector<double> x = {t, 0, -t}, y(3);
    Request r = request_for("log_softmax", operand(x.data(), DType::f64, {1, 3}), 1);
    r.y = operand(y.data(), DType::f64, {1, 3});
    r.temperature = t;
    softmax(r);
    double lse = std::log1p(std::exp(-1.0) + std::exp(-2.0));
    for (int i = 0; i < 3; i++)
      CHECK(ulps(y[(size_t)i], -i - lse) <= 8, "t = %g: %.17g", t, y[(size_t)i]);
  }
}

#if defined(__x86_64__)
#include <immintrin.h>

TEST(bits_do_not_depend_on_how_the_caller_treats_subnormals) {
  auto x = normal<float>(64 * 4096, 1e-39, 31);
  std::vector<int64_t> want(64), got(64);
  unsigned saved = _mm_getcsr();
  for (std::vector<int64_t>* argmax : {&want, &got}) {
    Request r = request_for("read", operand(x.data(), DType::f32, {64, 4096}), 2);
    Outputs out;
    out.argmax = argmax->data();
    if (argmax == &got) _mm_setcsr(saved | 0x8040);  // flush results, take inputs for zero
    reduce(r, out);
    _mm_setcsr(saved);
  }
  CHECK(want == got);
}
#endif
