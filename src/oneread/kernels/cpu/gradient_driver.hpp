// Backward passes as Python asks for them.
#pragma once

#include "driver.hpp"

namespace oneread {

// For each row what `RowGradient` says, of numbers one a row (compute type), null for zeros. Rows
// whose numbers are all 0 become 0 whatever they hold.
struct LogitsGradient {
  Operand x, dx;
  const void *lse = nullptr, *scale = nullptr, *slope = nullptr, *square = nullptr;
  const void *at_target = nullptr, *uniform = nullptr;
  const void* class_weight = nullptr;  // one a column
  const int64_t* target = nullptr;
  double softcap = 0;
  double temperature = 1;
  const double* temperatures = nullptr;  // one a row, in place of `temperature`
  int threads = 1;
  bool fresh = false;  // dx was just allocated
};

// dx = y (grad - sum of grad y), or with `log` grad - e^y times the sum of grad.
struct SoftmaxBackward {
  Operand y, grad, dx;
  bool log = false;
  int threads = 1;
  bool fresh = false;
};

inline namespace ONEREAD_DRIVERS {
void logits_gradient(const LogitsGradient&);
void softmax_backward(const SoftmaxBackward&);
}  // namespace ONEREAD_DRIVERS

}  // namespace oneread
