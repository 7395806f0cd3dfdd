// Lent memory as Python sees it: an object with an array interface, given back with the last array.
#pragma once

#include <dlfcn.h>
#include <nanobind/nanobind.h>

#include "reuse.hpp"

namespace oneread {

namespace nb = nanobind;

// Python's tracemalloc learns of it under NumPy's name, as it does of NumPy's own arrays. Its
// functions are no part of the stable ABI, and so looked up.
class Tracing {
 public:
  static void began(const char* at, size_t bytes) {
    if (track_) track_(kDomain, (uintptr_t)at, bytes);
  }
  static void ended(const char* at) {
    if (untrack_) untrack_(kDomain, (uintptr_t)at);
  }

 private:
  static constexpr unsigned kDomain = 389047;  // NumPy's
  using Track = int (*)(unsigned domain, uintptr_t at, size_t bytes);
  using Untrack = int (*)(unsigned domain, uintptr_t at);
  static inline const Track track_ = (Track)dlsym(RTLD_DEFAULT, "PyTraceMalloc_Track");
  static inline const Untrack untrack_ = (Untrack)dlsym(RTLD_DEFAULT, "PyTraceMalloc_Untrack");
};

class LentMemory {
 public:
  explicit LentMemory(size_t bytes) : asked_(bytes), loan_(borrow(bytes)) {
    Tracing::began(loan_.data, asked_);
  }
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;
  ~LentMemory() {
    Tracing::ended(loan_.data);
    give_back(loan_);
  }

  bool used() const { return loan_.used; }
  nb::dict array_interface() const {
    nb::dict told;
    told["version"] = 3;
    told["shape"] = nb::make_tuple(asked_);
    told["typestr"] = "|u1";
    told["data"] = nb::make_tuple((uintptr_t)loan_.data, false);
    return told;
  }

 private:
  size_t asked_;
  Loan loan_;
};

inline void bind_reuse(nb::module_& m) {
  nb::set_leak_warnings(false);  // a result may be held to the very end: by a thread, at exit
  nb::class_<LentMemory>(m, "LentMemory")
      .def(nb::init<size_t>())
      .def_prop_ro("used", &LentMemory::used)
      .def_prop_ro("__array_interface__", &LentMemory::array_interface);
  m.def("keeps", keeps);
  m.def("keep_at_most", keep_at_most);
  m.def("kept_bytes", kept_bytes);
}

}  // namespace oneread
