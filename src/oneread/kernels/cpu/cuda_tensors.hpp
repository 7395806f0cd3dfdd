// What PyTorch says of a tensor, as fast as it can be asked.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "dlpack.hpp"

namespace oneread {

namespace nb = nanobind;

// An element type, by PyTorch's object for it and by its name.
struct TensorType {
  TensorType(nb::handle dtype, nb::str name)
      : dtype(nb::borrow(dtype)),
        name(name),
        code(name.c_str()[0] == 'b'   ? dlpack::BFLOAT
             : name.c_str()[0] == 'i' ? dlpack::INT
                                      : dlpack::FLOAT),
        bits(std::atoi(std::strpbrk(name.c_str(), "0123456789"))) {}
  nb::object dtype, name;
  int code, bits;
};

// A tensor whose elements lie side by side.
struct TensorFacts {
  static constexpr int MOST_AXES = 5;

  const TensorType* type = nullptr;
  int32_t device_type = 0, device = 0;
  int ndim = 0;
  std::array<int64_t, MOST_AXES> shape{};
  int64_t address = 0;

  int64_t bytes() const {
    int64_t n = type->bits / 8;
    for (int i = 0; i < ndim; ++i) n *= shape[i];
    return n;
  }

  bool is_near(const TensorFacts& other) const {
    return device_type == other.device_type && device == other.device;
  }

  bool is_like(const TensorFacts& other) const {
    return type == other.type && ndim == other.ndim && shape == other.shape;
  }

  bool overlaps(const TensorFacts& other) const {
    return address < other.address + other.bytes() && other.address < address + bytes();
  }
};

// The name of an attribute, made once.
struct Name {
  explicit Name(const char* text) : text(nb::steal(PyUnicode_InternFromString(text))) {}
  nb::object text;
};

// An attribute, or what a method without arguments returns; not valid, with Python's error set,
// where there is none.
inline nb::object attribute(nb::handle object, const Name& attribute) {
  return nb::steal(PyObject_GetAttr(object.ptr(), attribute.text.ptr()));
}

inline nb::object ask(nb::handle object, const Name& method) {
  PyObject* self = object.ptr();
  return nb::steal(PyObject_VectorcallMethod(method.text.ptr(), &self, 1, nullptr));
}

// Whether it is an integer, and which; otherwise Python's error is set.
template <typename Int>
bool integer(const nb::object& object, Int& value) {
  if (!object.is_valid()) return false;
  value = (Int)PyLong_AsLongLong(object.ptr());
  return value != -1 || !PyErr_Occurred();
}

// How tensors are asked.
class Tensors {
 public:
  Tensors(nb::object tensor, nb::dict types, nb::object stream)
      : tensor_(std::move(tensor)), stream_(std::move(stream)) {
    for (auto [dtype, name] : types) types_.emplace_back(dtype, nb::borrow<nb::str>(name));
    find_exchange();
  }

  // What a tensor is; false where it is anything but memory side by side. What one refuses to say
  // (a sparse one its address) makes it such, and is no error here.
  bool learn(nb::handle x, TensorFacts& facts) const {
    if ((PyObject*)Py_TYPE(x.ptr()) != tensor_.ptr()) return false;
    const bool plain = attribute(x, requires_grad_).ptr() == Py_False &&
                       ask(x, is_neg_).ptr() == Py_False && describe(x, facts);
    if (!plain) forgive();
    return plain && facts.address;
  }

  // Drop an error of a tensor that did not answer; not one that ends the program.
  static void forgive() {
    if (!PyErr_Occurred()) return;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
    PyErr_Clear();
  }

  // As `learn`, of one that is known to be plain.
  bool describe(nb::handle x, TensorFacts& facts) const {
    return exchange_ ? learn_by_exchange(x, facts) : learn_by_attributes(x, facts);
  }

  uintptr_t stream_of(const TensorFacts& x) const {
    void* stream = nullptr;
    if (!exchange_) return nb::cast<uintptr_t>(stream_(x.device));
    if (exchange_->current_stream(x.device_type, x.device, &stream)) throw nb::python_error();
    return (uintptr_t)stream;
  }

  // The type of that name, or null.
  const TensorType* type_of(const std::string& name) const {
    for (const TensorType& type : types_)
      if (name == nb::borrow<nb::str>(type.name).c_str()) return &type;
    return nullptr;
  }

  // A number for a type and a number of axes; 0 for no tensor.
  int64_t kind_of(const TensorFacts& facts) const {
    return facts.type ? 1 + (facts.type - types_.data()) + 64 * facts.ndim : 0;
  }

  // Whether autograd counts the writes to it.
  bool has_version(nb::handle x) const { return ask(x, is_inference_).ptr() == Py_False; }

  bool find_address(nb::handle x, int64_t& address) const {
    return integer(ask(x, data_ptr_), address);
  }

  std::array<nb::object*, 2> held() { return {&tensor_, &stream_}; }

 private:
  // PyTorch has this from 2.10 on; before, its attributes tell the same at twice the cost.
  void find_exchange() {
    nb::object capsule = nb::getattr(tensor_, "__dlpack_c_exchange_api__", nb::none());
    if (!PyCapsule_IsValid(capsule.ptr(), dlpack::Exchange::CAPSULE)) return;
    auto* found =
        (const dlpack::Exchange*)PyCapsule_GetPointer(capsule.ptr(), dlpack::Exchange::CAPSULE);
    while (found && found->major != dlpack::Exchange::MAJOR) found = found->before;
    if (found && found->describe) exchange_ = found;
  }

  bool learn_by_exchange(nb::handle x, TensorFacts& facts) const {
    dlpack::Tensor tensor;
    if (exchange_->describe(x.ptr(), &tensor) || tensor.ndim > TensorFacts::MOST_AXES) return false;
    for (const TensorType& type : types_)
      if (type.code == tensor.code && type.bits == tensor.bits && tensor.lanes == 1)
        facts.type = &type;
    facts.device_type = tensor.device_type;
    facts.device = tensor.device;
    facts.ndim = tensor.ndim;
    facts.address = (int64_t)tensor.data + (int64_t)tensor.byte_offset;
    int64_t step = 1;
    for (int i = tensor.ndim - 1; i >= 0; --i) {
      const int64_t n = facts.shape[i] = tensor.shape[i];
      if (n <= 0 || (n > 1 && tensor.strides[i] != step)) return false;
      step *= n;
    }
    return facts.type;
  }

  bool learn_by_attributes(nb::handle x, TensorFacts& facts) const {
    const nb::object dtype = attribute(x, dtype_);
    for (const TensorType& type : types_)
      if (dtype.is(type.dtype)) facts.type = &type;
    if (!facts.type || ask(x, is_contiguous_).ptr() != Py_True) return false;
    const nb::object shape = attribute(x, shape_);
    const Py_ssize_t ndim = shape.is_valid() ? PyTuple_Size(shape.ptr()) : -1;
    if (ndim < 0 || ndim > TensorFacts::MOST_AXES) return false;
    facts.ndim = (int)ndim;
    for (int i = 0; i < facts.ndim; ++i) {
      facts.shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape.ptr(), i));
      if (facts.shape[i] <= 0) return false;
    }
    facts.device_type = attribute(x, is_cuda_).ptr() == Py_True ? dlpack::CUDA : dlpack::CPU;
    return integer(ask(x, get_device_), facts.device) && integer(ask(x, data_ptr_), facts.address);
  }

  nb::object tensor_, stream_;
  const dlpack::Exchange* exchange_ = nullptr;
  std::vector<TensorType> types_;
  const Name dtype_{"dtype"}, requires_grad_{"requires_grad"}, is_neg_{"is_neg"},
      is_contiguous_{"is_contiguous"}, shape_{"shape"}, get_device_{"get_device"},
      data_ptr_{"data_ptr"}, is_cuda_{"is_cuda"}, is_inference_{"is_inference"};
};

}  // namespace oneread
