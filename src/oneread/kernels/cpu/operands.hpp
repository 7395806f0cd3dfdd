// Arrays as Python hands them over, seen as operands, and what is checked of them.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "layout.hpp"

namespace oneread {

namespace nb = nanobind;

// A buffer that Python lends for as long as this lives.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (held_) PyBuffer_Release(&view_);
  }

  Operand open(nb::handle object) {
    if (nb::isinstance<nb::tuple>(object)) return from_tuple(nb::borrow<nb::tuple>(object));
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_STRIDES | PyBUF_FORMAT))
      throw nb::python_error();
    held_ = true;
    Operand a;
    a.data = static_cast<char*>(view_.buf);
    a.writable = !view_.readonly;
    a.shape.assign(view_.shape, view_.shape + view_.ndim);
    a.stride.assign(view_.strides, view_.strides + view_.ndim);
    const char* format = view_.format ? view_.format : "B";
    if (*format == '>' || *format == '!') a.swapped = true;
    if (*format == '<' || *format == '>' || *format == '=' || *format == '@' || *format == '!')
      format++;
    a.dtype = from_format(*format, (size_t)view_.itemsize);
    if (a.swapped && view_.itemsize == 1) a.swapped = false;
    return a;
  }

 private:
  static DType from_format(char code, size_t size) {
    switch (code) {
      case '?':
        return DType::boolean;
      case 'e':
        return DType::f16;
      case 'f':
        return DType::f32;
      case 'd':
        return DType::f64;
      case 'b':
      case 'h':
      case 'i':
      case 'l':
      case 'q':
      case 'n':
        return size == 1 ? DType::i8 : size == 2 ? DType::i16 : size == 4 ? DType::i32 : DType::i64;
      case 'B':
      case 'H':
      case 'I':
      case 'L':
      case 'Q':
      case 'N':
        return size == 1 ? DType::u8 : size == 2 ? DType::u16 : size == 4 ? DType::u32 : DType::u64;
      default:
        throw nb::type_error("an element type that the kernels do not take");
    }
  }

  static Operand from_tuple(nb::tuple t) {
    if (t.size() != 4) throw nb::type_error("an operand is (address, dtype, shape, byte_strides)");
    Operand a;
    a.data = reinterpret_cast<char*>(nb::cast<uintptr_t>(t[0]));
    if (!dtype_from_name(nb::cast<std::string>(t[1]), &a.dtype))
      throw nb::type_error("unknown dtype");
    for (nb::handle n : nb::borrow<nb::tuple>(t[2])) a.shape.push_back(nb::cast<size_t>(n));
    for (nb::handle n : nb::borrow<nb::tuple>(t[3])) a.stride.push_back(nb::cast<ptrdiff_t>(n));
    if (a.shape.size() != a.stride.size()) throw nb::value_error("as many strides as axes");
    a.writable = true;
    return a;
  }

  Py_buffer view_{};
  bool held_ = false;
};

inline size_t elements(const Operand& a) {
  size_t n = 1;
  for (size_t size : a.shape) n *= size;
  return n;
}

inline void check(bool good, const char* message) {
  if (!good) throw nb::value_error(message);
}

// A contiguous array of `n` elements of a type, for arguments and small outputs.
inline char* contiguous(const Operand& a, size_t n, bool output, const char* message) {
  check(elements(a) == n && !a.swapped && (!output || a.writable), message);
  if (n == 0) return a.data;
  auto step = (ptrdiff_t)item_size(a.dtype);
  for (size_t i = a.shape.size(); i-- > 0; step *= (ptrdiff_t)a.shape[i])
    check(a.shape[i] <= 1 || a.stride[i] == step, message);
  check((uintptr_t)a.data % item_size(a.dtype) == 0, message);
  return a.data;
}

}  // namespace oneread
