// The part of the Python module that runs backward passes.
#pragma once

#include "count.hpp"
#include "gradient_driver.hpp"
#include "operands.hpp"
#include "pool.hpp"

namespace oneread {

namespace counted {
void logits_gradient(const LogitsGradient&);
void softmax_backward(const SoftmaxBackward&);
}  // namespace counted

// One of the long arrays of a backward pass: floats side by side along the last axis, all alike.
inline Operand long_operand(Buffer& buffer, nb::handle object, const Operand* like) {
  Operand a = buffer.open(object);
  check(!a.shape.empty() && is_float(a.dtype) && !a.swapped, "rows of floats are needed");
  check(!like || (a.dtype == like->dtype && a.shape == like->shape),
        "arrays of one type and shape");
  auto size = (ptrdiff_t)item_size(a.dtype);
  bool aligned = (uintptr_t)a.data % (uintptr_t)size == 0;
  for (size_t i = 0; i < a.shape.size(); i++)
    aligned = aligned && (a.shape[i] <= 1 || a.stride[i] % size == 0);
  check(aligned, "elements must lie at multiples of their size");
  check(a.shape.back() <= 1 || a.stride.back() == size, "columns must lie side by side");
  return a;
}

inline void watch(const Operand& x, const Operand& dx, int& threads) {
  threads = threads < 1 ? 1 : threads > kMaxThreads ? kMaxThreads : threads;
  check(dx.writable, "the result is read-only");
  Counting* counting = Counting::current();
  if (!counting) return;
  threads = 1;
  counting->watch(x, &dx);
}

inline void py_logits_gradient(nb::handle x, nb::handle dx, nb::handle lse, nb::handle scale,
                               nb::handle slope, nb::handle square, nb::handle target,
                               nb::handle at_target, nb::handle uniform, nb::handle class_weight,
                               double softcap, nb::handle temperature, int threads, bool fresh) {
  Buffer buffers[11];
  LogitsGradient job;
  job.x = long_operand(buffers[0], x, nullptr);
  job.dx = long_operand(buffers[1], dx, &job.x);
  job.softcap = softcap;
  job.threads = threads;
  job.fresh = fresh;
  watch(job.x, job.dx, job.threads);
  size_t vocab = job.x.shape.back(), rows = 1;
  for (size_t i = 0; i + 1 < job.x.shape.size(); i++) rows *= job.x.shape[i];
  DType compute = job.x.dtype == DType::f64 ? DType::f64 : DType::f32;
  auto numbers = [](Buffer& buffer, nb::handle object, size_t n, DType type) -> const void* {
    if (object.is_none()) return nullptr;
    Operand a = buffer.open(object);
    check(a.dtype == type, "numbers of another type than is computed in");
    return contiguous(a, n, false, "numbers: one a row, or one a column");
  };
  job.lse = numbers(buffers[2], lse, rows, compute);
  job.scale = numbers(buffers[3], scale, rows, compute);
  job.slope = numbers(buffers[4], slope, rows, compute);
  job.target = (const int64_t*)numbers(buffers[5], target, rows, DType::i64);
  job.at_target = numbers(buffers[6], at_target, rows, compute);
  job.uniform = numbers(buffers[7], uniform, rows, compute);
  job.class_weight = numbers(buffers[8], class_weight, vocab, compute);
  job.square = numbers(buffers[9], square, rows, compute);
  if (nb::isinstance<nb::float_>(temperature)) job.temperature = nb::cast<double>(temperature);
  else job.temperatures = (const double*)numbers(buffers[10], temperature, rows, DType::f64);
  check(job.lse, "lse is needed");
  nb::gil_scoped_release release;
  (Counting::current() ? counted::logits_gradient : plain::logits_gradient)(job);
}

inline void py_softmax_backward(nb::handle y, nb::handle grad, nb::handle dx, bool log, int threads,
                                bool fresh) {
  Buffer buffers[3];
  SoftmaxBackward job;
  job.y = long_operand(buffers[0], y, nullptr);
  job.grad = long_operand(buffers[1], grad, &job.y);
  job.dx = long_operand(buffers[2], dx, &job.y);
  job.log = log;
  job.threads = threads;
  job.fresh = fresh;
  watch(job.y, job.dx, job.threads);
  nb::gil_scoped_release release;
  (Counting::current() ? counted::softmax_backward : plain::softmax_backward)(job);
}

inline void bind_gradients(nb::module_& m) {
  m.def("logits_gradient", py_logits_gradient, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
        nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  m.def("softmax_backward", py_softmax_backward, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg());
}

}  // namespace oneread
