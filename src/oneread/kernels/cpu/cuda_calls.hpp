// Calls of CUDA tensors as most are made: contiguous, along the last axis, without options.
//
// Knows no op: asks PyTorch for what must be known of a tensor, and `prepare` once for a geometry
// what is launched and written. The same in Python costs as much again as the driver's own launch.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cuda_launch.hpp"
#include "cuda_tensors.hpp"
#include "driver.hpp"

namespace oneread {

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
  CudaCalls(nb::object tensor, nb::dict types, nb::list watchers, nb::object levels,
            nb::object stream, nb::object fresh, nb::object packed, nb::object counts,
            nb::object prepare)
      : tensors_(std::move(tensor), std::move(types), std::move(stream)),
        levels_(std::move(levels)),
        fresh_(std::move(fresh)),
        packed_(std::move(packed)),
        counts_(std::move(counts)),
        prepare_(std::move(prepare)) {
    for (nb::handle watcher : watchers) watchers_.push_back(nb::borrow(watcher));
  }

  nb::object operator()(int64_t what, nb::handle x, nb::handle beside, nb::handle out) {
    Facts of_x, of_beside;
    if (is_watched() || !tensors_.learn(x, of_x)) return nb::none();
    if (!of_x.ndim || of_x.address % VECTOR_BYTES) return nb::none();
    if (!beside.is_none() && !(tensors_.learn(beside, of_beside) && of_beside.is_near(of_x)))
      return nb::none();
    const std::shared_ptr<const Kept> kept = kept_for(what, of_x, of_beside);
    if (kept->launch.is_none()) return nb::none();
    const CudaLaunch& launch = *nb::inst_ptr<CudaLaunch>(kept->launch);
    CudaLaunch::Numbers numbers = launch.numbers();
    if (of_beside.type) numbers[kept->beside] = of_beside.address;
    Places places;
    if (out.is_none()) make(*kept, x, of_x, places);
    else if (!accept(*kept, x, of_x, of_beside, out, places)) return nb::none();
    uintptr_t y = 0;
    for (size_t i = 0; i < kept->results.size(); ++i) {
      const Result& result = kept->results[i];
      if (places[i].address % result.alignment) return nb::none();
      if (result.number < 0) y = (uintptr_t)places[i].address;
      else if (result.facts.type) numbers[result.number] = places[i].address;
    }
    launch_kernel(kept->launch, numbers, tensors_.stream_of(of_x), (uintptr_t)of_x.address, y);
    if (!out.is_none()) count_writes(*kept, places);
    return handed_back(*kept, places);
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
  using Facts = TensorFacts;

  static constexpr int64_t VECTOR_BYTES = 16;
  static constexpr size_t MOST_KEPT = 4096;
  static constexpr size_t MOST_RESULTS = 10;
  static constexpr int MOST_AXES = Facts::MOST_AXES;

  // One that is not asked for has no type.
  struct Result {
    Facts facts;
    nb::object shape, strides;
    int number = 0;  // which of the launch's numbers its address is; -1 for y
    int64_t alignment = 1;
  };

  struct Kept {
    nb::object launch;  // None where such calls are left to the long way
    std::vector<Result> results;
    int beside = 0;  // which of the launch's numbers the address of `beside` is
  };

  // Where a result lies, and the tensor around it.
  struct Place {
    nb::object tensor;
    int64_t address = 0;
  };
  using Places = std::array<Place, MOST_RESULTS>;

  // What is called; GPU, types and numbers of axes; lengths of the axes of both.
  using Key = std::array<int64_t, 3 + 2 * MOST_AXES>;
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t hash = 0;
      for (int64_t part : key) hash = (hash ^ hash >> 29 ^ (uint64_t)part) * 0x9e3779b97f4a7c15u;
      return hash ^ hash >> 32;
    }
  };

  // Whether something in PyTorch wants to see what is done with any tensor.
  bool is_watched() const {
    for (const nb::object& watcher : watchers_) {
      const nb::object said = watcher();
      if (said.ptr() != Py_None && PyObject_IsTrue(said.ptr())) return true;
    }
    int64_t level = 0;
    if (!integer(attribute(levels_, level_), level)) throw nb::python_error();
    return level >= 0;
  }

  // Fresh results.
  void make(const Kept& kept, nb::handle x, const Facts& of_x, Places& places) {
    const bool is_here = !packed_.is_none() && nb::inst_ptr<CudaLaunch>(kept.launch)->is_here();
    for (size_t i = 0; i < kept.results.size(); ++i) {
      const Result& result = kept.results[i];
      if (result.facts.type) places[i] = fresh(result, x, of_x, is_here);
    }
  }

  // Memory allocated past the dispatcher where that gives some on the GPU of x.
  Place fresh(const Result& result, nb::handle x, const Facts& of_x, bool is_here) {
    const nb::object& dtype = result.facts.type->dtype;
    if (is_here) {
      Facts facts;
      nb::object y = packed_(result.shape, result.strides, dtype);
      if (tensors_.describe(y, facts) && facts.is_near(of_x)) return {std::move(y), facts.address};
      Tensors::forgive();
    }
    Place place = {fresh_(x, result.shape, dtype)};
    if (!tensors_.find_address(place.tensor, place.address)) throw nb::python_error();
    return place;
  }

  // Results that are given: one as itself, several as a tuple. False unless each is the memory that
  // is wanted, apart from all other; a single one may be x.
  bool accept(const Kept& kept, nb::handle x, const Facts& of_x, const Facts& of_beside,
              nb::handle out, Places& places) const {
    const size_t n = kept.results.size();
    if (n > 1 && !(PyTuple_Check(out.ptr()) && PyTuple_Size(out.ptr()) == (Py_ssize_t)n))
      return false;
    std::array<Facts, MOST_RESULTS + 2> used = {of_x, of_beside};
    size_t many = of_beside.type ? 2 : 1;
    for (size_t i = 0; i < n; ++i) {
      const Result& result = kept.results[i];
      nb::handle y = n > 1 ? nb::handle(PyTuple_GetItem(out.ptr(), (Py_ssize_t)i)) : out;
      if (y.is_none() != !result.facts.type) return false;
      if (y.is_none()) continue;
      Facts facts;
      if (y.is(x)) facts = of_x;
      else if (!tensors_.learn(y, facts)) return false;
      if (!facts.is_like(result.facts) || !facts.is_near(of_x)) return false;
      for (size_t j = y.is(x) ? 1 : 0; j < many; ++j)
        if (facts.overlaps(used[j])) return false;
      used[many++] = facts;
      places[i] = {nb::borrow(y), facts.address};
    }
    return true;
  }

  void count_writes(const Kept& kept, const Places& places) const {
    for (size_t i = 0; i < kept.results.size(); ++i) {
      const nb::object& y = places[i].tensor;
      if (y.is_valid() && tensors_.has_version(y)) counts_(nb::make_tuple(y));
    }
  }

  // One result as itself, several as a tuple, with None for what is not asked for.
  static nb::object handed_back(const Kept& kept, Places& places) {
    const size_t n = kept.results.size();
    if (n == 1) return std::move(places[0].tensor);
    nb::object all = nb::steal(PyTuple_New((Py_ssize_t)n));
    if (!all.is_valid()) throw nb::python_error();
    for (size_t i = 0; i < n; ++i) {
      nb::object& y = places[i].tensor;
      PyTuple_SetItem(all.ptr(), (Py_ssize_t)i, (y.is_valid() ? y : nb::none()).release().ptr());
    }
    return all;
  }

  std::shared_ptr<const Kept> kept_for(int64_t what, const Facts& of_x, const Facts& of_beside) {
    Key key = {what, of_x.device, tensors_.kind_of(of_x) | tensors_.kind_of(of_beside) << 16};
    std::copy(of_x.shape.begin(), of_x.shape.end(), key.begin() + 3);
    std::copy(of_beside.shape.begin(), of_beside.shape.end(), key.begin() + 3 + MOST_AXES);
    if (auto found = kept_.find(key); found != kept_.end()) return found->second;
    nb::object beside = nb::none();
    if (of_beside.type) beside = nb::make_tuple(of_beside.type->name, shape_of(of_beside));
    nb::object said = prepare_(what, of_x.type->name, shape_of(of_x), (int64_t)of_x.device, beside);
    auto kept = std::make_shared<Kept>(read(said));
    if (kept_.size() >= MOST_KEPT) kept_.clear();
    return kept_.emplace(key, std::move(kept)).first->second;
  }

  static nb::object shape_of(const Facts& facts) {
    nb::list lengths;
    for (int i = 0; i < facts.ndim; ++i) lengths.append(facts.shape[i]);
    return nb::tuple(lengths);
  }

  // Steps of elements that lie side by side.
  static nb::object strides_of(const Facts& facts) {
    nb::list strides;
    for (int i = 0; i < facts.ndim; ++i) {
      int64_t step = 1;
      for (int j = i + 1; j < facts.ndim; ++j) step *= facts.shape[j];
      strides.append(step);
    }
    return nb::tuple(strides);
  }

  // What `prepare` said.
  Kept read(nb::handle said) const {
    if (said.is_none()) return Kept{nb::none(), {}, 0};
    Kept kept = {said[0], {}, nb::cast<int>(said[2])};
    if (!nb::isinstance<CudaLaunch>(kept.launch)) throw nb::type_error("prepare gives no launch");
    for (nb::handle one : said[1]) kept.results.push_back(result_of(one));
    bool fits = kept.results.size() <= MOST_RESULTS && is_number(kept.beside, 0);
    for (const Result& result : kept.results) fits = fits && is_number(result.number, -1);
    if (!fits) throw nb::value_error("prepare gives more than a launch has room for");
    return kept;
  }

  static bool is_number(int i, int least) {
    return i >= least && i < (int)CudaLaunch::MOST_NUMBERS;
  }

  Result result_of(nb::handle said) const {
    Result result;
    if (said.is_none()) return result;
    auto [dtype, shape, number, alignment] =
        nb::cast<std::tuple<std::string, std::vector<int64_t>, int, int64_t>>(said);
    Facts& facts = result.facts;
    facts.type = tensors_.type_of(dtype);
    if (!facts.type || shape.size() > MOST_AXES || alignment < 1)
      throw nb::value_error("prepare gives a result that no tensor of these types can be");
    facts.ndim = (int)shape.size();
    std::copy(shape.begin(), shape.end(), facts.shape.begin());
    result.number = number;
    result.alignment = alignment;
    result.shape = shape_of(facts);
    result.strides = strides_of(facts);
    return result;
  }

  std::vector<nb::object*> held() {
    std::vector<nb::object*> all = {&levels_, &fresh_, &packed_, &counts_, &prepare_};
    for (nb::object* one : tensors_.held()) all.push_back(one);
    for (nb::object& watcher : watchers_) all.push_back(&watcher);
    for (auto& [key, kept] : kept_) all.push_back(&kept->launch);
    return all;
  }

  Tensors tensors_;
  nb::object levels_, fresh_, packed_, counts_, prepare_;
  std::vector<nb::object> watchers_;
  std::unordered_map<Key, std::shared_ptr<Kept>, Hash> kept_;
  const Name level_{"_current_level"};
};

}  // namespace oneread
