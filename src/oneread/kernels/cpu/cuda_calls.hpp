// Calls of CUDA tensors as most are made: contiguous, along the last axis, without options.
//
// Asks PyTorch's objects for what must be known of a tensor and keeps the launches by geometry:
// the same in Python costs as much again as the driver's own launch.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdlib>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cuda_launch.hpp"
#include "driver.hpp"

namespace oneread {

namespace nb = nanobind;

inline thread_local int last_launch = -1;  // the record of what this thread launched last

// Put a kernel into a stream; where the driver refuses, `failed` of its Python object raises.
template <typename... Given>
void launch_kernel(nb::handle object, Given... given) {
  const CudaLaunch& launch = *nb::inst_ptr<CudaLaunch>(object);
  int status;
  {
    nb::gil_scoped_release release;  // a full queue makes the driver wait
    status = launch(given...);
  }
  if (status) object.attr("failed")(status);
  forget_last_record();
  last_launch = launch.record;
}

class CudaCalls {
 public:
  // runtime/_native.pyi says what these are.
  CudaCalls(nb::object tensor, nb::dict floats, nb::list watchers, nb::object levels,
            nb::object stream, nb::object fresh, nb::object prepare)
      : tensor_(std::move(tensor)),
        levels_(std::move(levels)),
        stream_(std::move(stream)),
        fresh_(std::move(fresh)),
        prepare_(std::move(prepare)) {
    for (auto [dtype, name] : floats)
      floats_.push_back({nb::borrow(dtype), nb::borrow(name), element_bytes(name)});
    for (nb::handle watcher : watchers) watchers_.push_back(nb::borrow(watcher));
  }

  nb::object operator()(bool log, nb::handle x, nb::handle out) {
    Facts of_x, of_y;
    if (is_watched() || !learn(x, of_x)) return nb::none();
    nb::object y;
    if (out.is_none()) {
      y = fresh_(x);
      if (!integer(ask(y, data_ptr_), of_y.address)) throw nb::python_error();
      if (of_y.address % VECTOR_BYTES) return nb::none();
    } else {
      y = nb::borrow(out);
      if (y.is(x)) of_y.address = of_x.address;
      else if (!learn(y, of_y) || !may_hold(of_y, of_x)) return nb::none();
    }
    const nb::object launch = launch_of(log, of_x);
    const uintptr_t stream = nb::cast<uintptr_t>(stream_(of_x.device));
    launch_kernel(launch, stream, (uintptr_t)of_x.address, (uintptr_t)of_y.address);
    return y;
  }

  // Python's search for cycles: what `prepare` knows may hold this.
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    CudaCalls& calls = *nb::inst_ptr<CudaCalls>(self);
    for (nb::object* held : calls.held()) Py_VISIT(held->ptr());
    return 0;
  }

  static int clear(PyObject* self) {
    for (nb::object* held : nb::inst_ptr<CudaCalls>(self)->held()) held->reset();
    return 0;
  }

 private:
  static constexpr int64_t VECTOR_BYTES = 16;
  static constexpr size_t MOST_KEPT = 4096;

  struct Float {
    nb::object dtype, name;
    int64_t bytes;
  };

  struct Facts {
    const Float* type = nullptr;
    int64_t device = 0, rows = 0, vocab = 0, address = 0;
    nb::object shape;
  };

  // Op, element type, GPU, rows and their length.
  using Key = std::array<int64_t, 5>;
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t hash = 0;
      for (int64_t part : key) hash = (hash ^ hash >> 29 ^ (uint64_t)part) * 0x9e3779b97f4a7c15u;
      return hash ^ hash >> 32;
    }
  };

  struct Name {
    explicit Name(const char* text) : text(nb::steal(PyUnicode_InternFromString(text))) {}
    nb::object text;
  };

  static nb::object take(nb::handle object, const Name& attribute) {
    return nb::steal(PyObject_GetAttr(object.ptr(), attribute.text.ptr()));
  }

  static nb::object ask(nb::handle object, const Name& method) {
    PyObject* self = object.ptr();
    return nb::steal(PyObject_VectorcallMethod(method.text.ptr(), &self, 1, nullptr));
  }

  // Whether it is an integer, and which; otherwise Python's error is set.
  static bool integer(const nb::object& object, int64_t& value) {
    if (!object.is_valid()) return false;
    value = PyLong_AsLongLong(object.ptr());
    return value != -1 || !PyErr_Occurred();
  }

  static int64_t element_bytes(nb::handle name) {
    const char* text = nb::borrow<nb::str>(name).c_str();
    return std::strstr(text, "64") ? 8 : std::strstr(text, "32") ? 4 : 2;
  }

  // Whether something in PyTorch wants to see what is done with any tensor.
  bool is_watched() const {
    for (const nb::object& watcher : watchers_) {
      const nb::object said = watcher();
      if (said.ptr() != Py_None && PyObject_IsTrue(said.ptr())) return true;
    }
    int64_t level = 0;
    if (!integer(take(levels_, level_), level)) throw nb::python_error();
    return level >= 0;
  }

  // What a tensor is; false where it is anything but aligned memory with rows side by side. What
  // one refuses to say (a sparse one its address) makes it such, and is no error here.
  bool learn(nb::handle x, Facts& facts) const {
    if ((PyObject*)Py_TYPE(x.ptr()) != tensor_.ptr()) return false;
    const bool plain = (facts.type = type_of(x)) && take(x, requires_grad_).ptr() == Py_False &&
                       ask(x, is_neg_).ptr() == Py_False &&
                       ask(x, is_contiguous_).ptr() == Py_True && measure(x, facts) &&
                       integer(ask(x, get_device_), facts.device) &&
                       integer(ask(x, data_ptr_), facts.address);
    if (plain) return facts.address && facts.address % VECTOR_BYTES == 0;
    if (PyErr_Occurred()) {
      if (!PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
      PyErr_Clear();
    }
    return false;
  }

  const Float* type_of(nb::handle x) const {
    const nb::object dtype = take(x, dtype_);
    for (const Float& type : floats_)
      if (dtype.is(type.dtype)) return &type;
    return nullptr;
  }

  bool measure(nb::handle x, Facts& facts) const {
    facts.shape = take(x, shape_);
    if (!facts.shape.is_valid()) return false;
    const Py_ssize_t ndim = PyTuple_Size(facts.shape.ptr());
    facts.rows = 1;
    for (Py_ssize_t i = 0; i < ndim; ++i) {
      if (i) facts.rows *= facts.vocab;
      facts.vocab = PyLong_AsLongLong(PyTuple_GetItem(facts.shape.ptr(), i));
      if (facts.vocab <= 0) return false;
    }
    return ndim > 0;
  }

  // Whether that is memory for a result like x, apart from it.
  static bool may_hold(const Facts& y, const Facts& x) {
    return y.type == x.type && y.device == x.device && y.shape.equal(x.shape) &&
           std::abs(y.address - x.address) >= x.rows * x.vocab * x.type->bytes;
  }

  nb::object launch_of(bool log, const Facts& x) {
    const Key key = {log, x.type - floats_.data(), x.device, x.rows, x.vocab};
    if (auto found = kept_.find(key); found != kept_.end()) return found->second;
    nb::object launch = prepare_(log, x.type->name, x.rows, x.vocab, x.device);
    if (!nb::isinstance<CudaLaunch>(launch)) throw nb::type_error("prepare gives no launch");
    if (kept_.size() >= MOST_KEPT) kept_.clear();
    kept_.emplace(key, launch);
    return launch;
  }

  std::vector<nb::object*> held() {
    std::vector<nb::object*> all = {&tensor_, &levels_, &stream_, &fresh_, &prepare_};
    for (nb::object& watcher : watchers_) all.push_back(&watcher);
    for (auto& [key, launch] : kept_) all.push_back(&launch);
    return all;
  }

  nb::object tensor_, levels_, stream_, fresh_, prepare_;
  std::vector<Float> floats_;
  std::vector<nb::object> watchers_;
  std::unordered_map<Key, nb::object, Hash> kept_;
  const Name dtype_{"dtype"}, requires_grad_{"requires_grad"}, is_neg_{"is_neg"},
      is_contiguous_{"is_contiguous"}, shape_{"shape"}, get_device_{"get_device"},
      data_ptr_{"data_ptr"}, level_{"_current_level"};
};

}  // namespace oneread
