// Calls of CUDA tensors as most are made: contiguous, along the last axis, without options.
//
// Asks PyTorch for what must be known of a tensor and keeps the launches by geometry: the same in
// Python costs as much again as the driver's own launch.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cuda_launch.hpp"
#include "dlpack.hpp"
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
            nb::object stream, nb::object fresh, nb::object packed, nb::object counts,
            nb::object prepare)
      : tensor_(std::move(tensor)),
        levels_(std::move(levels)),
        stream_(std::move(stream)),
        fresh_(std::move(fresh)),
        packed_(std::move(packed)),
        counts_(std::move(counts)),
        prepare_(std::move(prepare)) {
    for (auto [dtype, name] : floats) floats_.emplace_back(dtype, nb::borrow<nb::str>(name));
    for (nb::handle watcher : watchers) watchers_.push_back(nb::borrow(watcher));
    find_exchange();
  }

  nb::object operator()(bool log, nb::handle x, nb::handle out) {
    Facts of_x, of_y;
    if (is_watched() || !learn(x, of_x) || !is_aligned(of_x)) return nb::none();
    const bool given = !out.is_none();
    if (given && !out.is(x) && (!learn(out, of_y) || !is_aligned(of_y) || !may_hold(of_y, of_x)))
      return nb::none();
    const Kept kept = kept_for(log, of_x, x);
    nb::object y = given ? nb::borrow(out) : fresh_like(x, of_x, kept, of_y);
    const int64_t to = given && out.is(x) ? of_x.address : of_y.address;
    if (to % VECTOR_BYTES) return nb::none();
    launch_kernel(kept.launch, stream_of(of_x), (uintptr_t)of_x.address, (uintptr_t)to);
    if (given && ask(y, is_inference_).ptr() == Py_False) counts_(nb::make_tuple(y));
    return y;
  }

  // Python's search for cycles: what `prepare` knows may hold this.
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    for (nb::object* held : nb::inst_ptr<CudaCalls>(self)->held()) Py_VISIT(held->ptr());
    return 0;
  }

  static int clear(PyObject* self) {
    for (nb::object* held : nb::inst_ptr<CudaCalls>(self)->held()) held->reset();
    return 0;
  }

 private:
  static constexpr int64_t VECTOR_BYTES = 16;
  static constexpr size_t MOST_KEPT = 4096;
  static constexpr int MOST_AXES = 5;

  struct Float {
    Float(nb::handle dtype, nb::str name)
        : dtype(nb::borrow(dtype)),
          name(name),
          code(name.c_str()[0] == 'b' ? dlpack::BFLOAT : dlpack::FLOAT),
          bits(std::atoi(std::strpbrk(name.c_str(), "0123456789"))) {}
    nb::object dtype, name;
    int code, bits;
  };

  struct Facts {
    const Float* type = nullptr;
    int32_t device_type = 0, device = 0;
    int ndim = 0;
    std::array<int64_t, MOST_AXES> shape{};
    int64_t address = 0;

    int64_t bytes() const {
      int64_t n = type->bits / 8;
      for (int i = 0; i < ndim; ++i) n *= shape[i];
      return n;
    }
  };

  struct Kept {
    nb::object launch, shape, strides;
  };

  // Op, element type, GPU and number of axes; their lengths.
  using Key = std::array<int64_t, 1 + MOST_AXES>;
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
  template <typename Int>
  static bool integer(const nb::object& object, Int& value) {
    if (!object.is_valid()) return false;
    value = (Int)PyLong_AsLongLong(object.ptr());
    return value != -1 || !PyErr_Occurred();
  }

  // PyTorch has this from 2.10 on; before, its attributes tell the same at twice the cost.
  void find_exchange() {
    nb::object capsule = nb::getattr(tensor_, "__dlpack_c_exchange_api__", nb::none());
    if (!PyCapsule_IsValid(capsule.ptr(), dlpack::Exchange::CAPSULE)) return;
    auto* found =
        (const dlpack::Exchange*)PyCapsule_GetPointer(capsule.ptr(), dlpack::Exchange::CAPSULE);
    while (found && found->major != dlpack::Exchange::MAJOR) found = found->before;
    if (found && found->describe) exchange_ = found;
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

  // What a tensor is; false where it is anything but memory side by side. What one refuses to say
  // (a sparse one its address) makes it such, and is no error here.
  bool learn(nb::handle x, Facts& facts) const {
    if ((PyObject*)Py_TYPE(x.ptr()) != tensor_.ptr()) return false;
    const bool plain = take(x, requires_grad_).ptr() == Py_False &&
                       ask(x, is_neg_).ptr() == Py_False && describe(x, facts);
    if (!plain) forgive();
    return plain && facts.ndim > 0 && facts.address;
  }

  // Drop an error of a tensor that did not answer; not one that ends the program.
  static void forgive() {
    if (!PyErr_Occurred()) return;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
    PyErr_Clear();
  }

  bool describe(nb::handle x, Facts& facts) const {
    return exchange_ ? learn_by_exchange(x, facts) : learn_by_attributes(x, facts);
  }

  bool learn_by_exchange(nb::handle x, Facts& facts) const {
    dlpack::Tensor tensor;
    if (exchange_->describe(x.ptr(), &tensor) || tensor.ndim > MOST_AXES) return false;
    for (const Float& type : floats_)
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

  bool learn_by_attributes(nb::handle x, Facts& facts) const {
    const nb::object dtype = take(x, dtype_);
    for (const Float& type : floats_)
      if (dtype.is(type.dtype)) facts.type = &type;
    if (!facts.type || ask(x, is_contiguous_).ptr() != Py_True) return false;
    const nb::object shape = take(x, shape_);
    const Py_ssize_t ndim = shape.is_valid() ? PyTuple_Size(shape.ptr()) : -1;
    if (ndim < 0 || ndim > MOST_AXES) return false;
    facts.ndim = (int)ndim;
    for (int i = 0; i < facts.ndim; ++i) {
      facts.shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape.ptr(), i));
      if (facts.shape[i] <= 0) return false;
    }
    facts.device_type = take(x, is_cuda_).ptr() == Py_True ? dlpack::CUDA : dlpack::CPU;
    return integer(ask(x, get_device_), facts.device) && integer(ask(x, data_ptr_), facts.address);
  }

  static bool is_aligned(const Facts& facts) { return facts.address % VECTOR_BYTES == 0; }

  // Whether that is memory for a result like x, apart from it.
  static bool may_hold(const Facts& y, const Facts& x) {
    return y.type == x.type && y.device_type == x.device_type && y.device == x.device &&
           y.ndim == x.ndim && y.shape == x.shape && std::abs(y.address - x.address) >= x.bytes();
  }

  uintptr_t stream_of(const Facts& x) const {
    void* stream = nullptr;
    if (!exchange_) return nb::cast<uintptr_t>(stream_(x.device));
    if (exchange_->current_stream(x.device_type, x.device, &stream)) throw nb::python_error();
    return (uintptr_t)stream;
  }

  // A result, allocated past the dispatcher where that gives one on the GPU of x.
  nb::object fresh_like(nb::handle x, const Facts& of_x, const Kept& kept, Facts& of_y) {
    if (!packed_.is_none() && nb::inst_ptr<CudaLaunch>(kept.launch)->is_here()) {
      nb::object y = packed_(kept.shape, kept.strides, of_x.type->dtype);
      if (describe(y, of_y) && of_y.device == of_x.device) return y;
      forgive();
    }
    nb::object y = fresh_(x);
    if (!integer(ask(y, data_ptr_), of_y.address)) throw nb::python_error();
    return y;
  }

  Kept kept_for(bool log, const Facts& of_x, nb::handle x) {
    Key key = {};
    key[0] = log | (of_x.type - floats_.data()) << 1 | of_x.ndim << 4 | (int64_t)of_x.device << 8;
    std::copy(of_x.shape.begin(), of_x.shape.end(), key.begin() + 1);
    if (auto found = kept_.find(key); found != kept_.end()) return found->second;
    const int64_t vocab = of_x.shape[of_x.ndim - 1];
    const int64_t rows = of_x.bytes() / (of_x.type->bits / 8) / vocab;
    Kept kept;
    kept.launch = prepare_(log, of_x.type->name, rows, vocab, of_x.device);
    if (!nb::isinstance<CudaLaunch>(kept.launch)) throw nb::type_error("prepare gives no launch");
    kept.shape = nb::tuple(take(x, shape_));
    kept.strides = nb::tuple(ask(x, stride_));
    if (kept_.size() >= MOST_KEPT) kept_.clear();
    return kept_.emplace(key, std::move(kept)).first->second;
  }

  std::vector<nb::object*> held() {
    std::vector<nb::object*> all = {&tensor_, &levels_, &stream_, &fresh_,
                                    &packed_, &counts_, &prepare_};
    for (nb::object& watcher : watchers_) all.push_back(&watcher);
    for (auto& [key, kept] : kept_) all.push_back(&kept.launch);
    return all;
  }

  nb::object tensor_, levels_, stream_, fresh_, packed_, counts_, prepare_;
  const dlpack::Exchange* exchange_ = nullptr;
  std::vector<Float> floats_;
  std::vector<nb::object> watchers_;
  std::unordered_map<Key, Kept, Hash> kept_;
  const Name dtype_{"dtype"}, requires_grad_{"requires_grad"}, is_neg_{"is_neg"},
      is_contiguous_{"is_contiguous"}, shape_{"shape"}, get_device_{"get_device"},
      data_ptr_{"data_ptr"}, stride_{"stride"}, is_cuda_{"is_cuda"}, is_inference_{"is_inference"},
      level_{"_current_level"};
};

}  // namespace oneread
