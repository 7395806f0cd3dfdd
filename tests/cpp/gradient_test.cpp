// Backward passes against long double, and in the place of their inputs.
#include <algorithm>
#include <cstring>

#include "check.hpp"
#include "gradient_driver.hpp"
#include "stores.hpp"

using namespace oneread;

namespace {

Operand matrix(std::vector<float>& x, size_t rows) {
  Operand a;
  a.data = (char*)x.data();
  a.dtype = DType::f32;
  a.writable = true;
  a.shape = {rows, x.size() / rows};
  a.stride = {(ptrdiff_t)(x.size() / rows * sizeof(float)), sizeof(float)};
  return a;
}

}  // namespace

TEST(gradient_of_logits_is_close_to_the_truth_for_every_length) {
  for (size_t vocab = 1; vocab < 300; vocab += vocab < 70 ? 1 : 13) {
    auto x = normal<float>(2 * vocab, 4, (unsigned)vocab);
    x[vocab / 2] = -INFINITY;
    std::vector<float> dx(x.size()), weight = normal<float>(vocab, 1, 5);
    float lse[2] = {9.25f, 11.5f}, scale[2] = {1.5f, -0.75f}, slope[2] = {0.5f, 2.0f};
    float at[2] = {-1.25f, 3.0f}, uniform[2] = {0.125f, -0.5f};
    int64_t target[2] = {(int64_t)vocab - 1, -100};
    LogitsGradient job;
    job.x = matrix(x, 2), job.dx = matrix(dx, 2);
    job.lse = lse, job.scale = scale, job.slope = slope, job.at_target = at, job.target = target;
    job.uniform = uniform, job.class_weight = weight.data();
    for (double cap : {0.0, 20.0}) {
      job.softcap = cap;
      logits_gradient(job);
      for (size_t i = 0; i < x.size(); i++) {
        size_t r = i / vocab, column = i % vocab;
        long double z = cap ? cap * tanhl(x[i] / cap) : x[i], l = z - lse[r], p = expl(l);
        long double steep = cap ? 1 / (coshl(x[i] / cap) * coshl(x[i] / cap)) : 1;
        long double first = p > 0 ? p * (scale[r] + slope[r] * l) : 0, more = 0;
        more = uniform[r] * weight[column] + ((int64_t)column == target[r] ? at[r] : 0);
        long double size = p * (fabsf(scale[r]) + (p > 0 ? fabsl(slope[r] * l) : 0)) + fabsl(more);
        double unit = 6e-8 * (double)((size + fabsf(at[r])) * (cap ? 1 + fabsl(z) : 1));
        CHECK(std::fabs(dx[i] - (double)((first + more) * steep)) <= 8 * unit, "V = %zu", vocab);
      }
    }
  }
}

TEST(gradients_of_softmax_are_close_to_the_truth_for_every_length) {
  for (size_t vocab = 1; vocab < 300; vocab += vocab < 70 ? 1 : 13) {
    auto y = normal<float>(vocab, 1, (unsigned)vocab), g = normal<float>(vocab, 1, 3);
    std::vector<float> dx(vocab);
    for (bool log : {false, true}) {
      for (float& v : y) v = log ? -std::fabs(v) : std::fabs(v);
      SoftmaxBackward job;
      job.y = matrix(y, 1), job.grad = matrix(g, 1), job.dx = matrix(dx, 1), job.log = log;
      softmax_backward(job);
      long double sum = 0, size = 0;
      for (size_t i = 0; i < vocab; i++) {
        sum += (long double)g[i] * (log ? 1 : y[i]);
        size += fabsl((long double)g[i] * (log ? 1 : y[i]));
      }
      for (size_t i = 0; i < vocab; i++) {
        long double truth = log ? g[i] - expl(y[i]) * sum : y[i] * (g[i] - sum);
        double unit = 6e-8 * (double)((fabsf(g[i]) + size) * (log ? 1 : y[i]));
        CHECK(std::fabs(dx[i] - (double)truth) <= 8 * unit + 1e-37, "V = %zu", vocab);
      }
    }
  }
}

TEST(gradients_depend_neither_on_threads_nor_on_stores) {
  auto y = normal<float>(3 * 100003, 1, 7), g = normal<float>(3 * 100003, 1, 8);
  for (bool log : {false, true}) {
    std::vector<float> one(y.size()), other(y.size());
    SoftmaxBackward job;
    job.y = matrix(y, 3), job.grad = matrix(g, 3), job.dx = matrix(one, 3), job.log = log;
    softmax_backward(job);
    job.dx = matrix(other, 3), job.threads = 4;
    set_stores(Stores::streaming);
    softmax_backward(job);
    set_stores(Stores::any);
    CHECK(std::memcmp(one.data(), other.data(), one.size() * 4) == 0);
  }
}

TEST(rows_without_coefficients_become_zeros_in_place) {
  std::vector<float> x(2 * 50, NAN);
  float lse[2] = {NAN, INFINITY}, none[2] = {0, 0};
  LogitsGradient job;
  job.x = job.dx = matrix(x, 2);
  job.lse = lse, job.scale = none, job.uniform = none;
  logits_gradient(job);
  CHECK(std::all_of(x.begin(), x.end(), [](float v) { return v == 0; }));
}
