// The Python module `oneread.runtime._native`: arrays in, drivers called, errors out.
// runtime/_native.pyi documents each function.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bandwidth.hpp"
#include "cuda_module.hpp"
#include "driver.hpp"
#include "gradient_module.hpp"
#include "operands.hpp"
#include "pool.hpp"
#include "reuse_module.hpp"
#include "state.hpp"
#include "stores.hpp"

namespace nb = nanobind;

namespace oneread {

namespace counted {
void softmax(const Request&);
void reduce(const Request&, const Outputs&);
void textbook(const Request&, const Outputs&);
}  // namespace counted

namespace {

// The arguments that softmax, reduce and plan share.
struct Arguments {
  Request request;
  Buffer x, y, where, lengths, temperature;
  size_t rows = 1, vocab = 1;

  Arguments(nb::handle x_, nb::handle y_, const std::vector<int>& axes, nb::handle where_,
            nb::handle lengths_, nb::handle temperature_, int threads) {
    request.x = x.open(x_);
    request.axes = axes;
    request.threads = threads < 1 ? 1 : threads > kMaxThreads ? kMaxThreads : threads;
    if (!y_.is_none()) {
      request.y = y.open(y_);
      check(request.y->writable, "the output is read-only");
      check(is_float(request.y->dtype), "the output must hold floats");
      check(request.y->shape == request.x.shape, "the output has another shape");
    }
    if (Counting* counting = Counting::current()) {
      request.threads = 1;
      counting->watch(request.x, request.y ? &*request.y : nullptr);
    }
    if (!where_.is_none()) {
      request.where = where.open(where_);
      check(request.where->dtype == DType::boolean, "where must be bool");
      check(request.where->shape == request.x.shape, "where has another shape");
    }
    for (size_t a = 0; a < request.x.shape.size(); a++) {
      bool reduced = false;
      for (int axis : axes) reduced = reduced || (size_t)axis == a;
      (reduced ? vocab : rows) *= request.x.shape[a];
    }
    if (!lengths_.is_none()) {
      Operand a = lengths.open(lengths_);
      check(a.dtype == DType::i64, "lengths must be int64");
      request.lengths = (const int64_t*)contiguous(a, rows, false, "lengths: one a row");
      for (size_t r = 0; r < rows; r++)
        check(request.lengths[r] >= 0 && (size_t)request.lengths[r] <= vocab,
              "a length is not within the row");
    }
    if (temperature_.is_none()) return;
    if (nb::isinstance<nb::float_>(temperature_) || nb::isinstance<nb::int_>(temperature_)) {
      request.temperature = nb::cast<double>(temperature_);
      check(request.temperature > 0 && request.temperature < kInf, "temperature must be positive");
    } else {
      Operand a = temperature.open(temperature_);
      check(a.dtype == DType::f64, "temperatures must be float64");
      request.temperatures = (const double*)contiguous(a, rows, false, "temperatures: one a row");
      for (size_t r = 0; r < rows; r++)
        check(request.temperatures[r] > 0 && request.temperatures[r] < kInf,
              "temperatures must be positive");
    }
  }
};

void py_softmax(nb::handle x, nb::handle y, const std::vector<int>& axes, bool log,
                nb::handle where, nb::handle lengths, nb::handle temperature, int threads,
                bool fresh) {
  Arguments a(x, y, axes, where, lengths, temperature, threads);
  check(a.request.y.has_value(), "softmax needs an output");
  a.request.op = log ? "log_softmax" : "softmax";
  a.request.log = log;
  a.request.fresh = fresh;
  nb::gil_scoped_release release;
  (Counting::current() ? counted::softmax : plain::softmax)(a.request);
}

Selection selection_of(int kernel) {
  check(kernel >= 0 && kernel <= (int)Selection::sort, "kernel: 0 to 3");
  return (Selection)kernel;
}

constexpr size_t kOutputs = 14;

void py_reduce(nb::handle x, const std::vector<int>& axes, nb::handle where, nb::handle lengths,
               nb::handle temperature, int threads, int kernel, const std::string& op, int kind,
               nb::handle select, nb::handle rank_logit, nb::tuple outputs) {
  Arguments a(x, nb::none(), axes, where, lengths, temperature, threads);
  check(outputs.size() == kOutputs, "outputs: 14 of them");
  Request& request = a.request;
  request.op = op;
  request.selection = selection_of(kernel);
  size_t rows = a.rows;
  Buffer buffers[kOutputs], select_buffer, logit_buffer;
  Operand operand[kOutputs];
  bool asked[kOutputs];
  for (size_t i = 0; i < kOutputs; i++) {
    asked[i] = !outputs[i].is_none();
    if (asked[i]) operand[i] = buffers[i].open(outputs[i]);
  }
  Outputs out;
  out.kind = kind;
  auto floats = [&](size_t i, size_t n) -> FloatArray {
    if (!asked[i]) return {};
    bool wide = operand[i].dtype == DType::f64;
    check(wide || operand[i].dtype == DType::f32, "outputs are float32 or float64");
    request.double_outputs = request.double_outputs || wide;
    return {contiguous(operand[i], n, true, "an output of the wrong size or layout"), wide};
  };
  auto fixed = [&](size_t i, size_t n, DType t) -> char* {
    if (!asked[i]) return nullptr;
    check(operand[i].dtype == t, "an output of the wrong type");
    return contiguous(operand[i], n, true, "an output of the wrong size or layout");
  };
  if (asked[3] || asked[4] || asked[5]) {
    size_t any = asked[4] ? 4 : asked[3] ? 3 : 5;
    check(asked[4], "top-k needs indices");
    check(!operand[any].shape.empty(), "top-k outputs have an axis of k");
    request.top_k = operand[any].shape.back();
  }
  size_t k = request.top_k;
  if (!select.is_none()) {
    Operand s = select_buffer.open(select);
    check(s.dtype == DType::i64 && !s.shape.empty(), "select must be int64 (rows, s)");
    out.selects = s.shape.back();
    out.select = (const int64_t*)contiguous(s, rows * out.selects, false, "select: rows by s");
  }
  check(out.select || !(asked[6] || asked[7]), "selected and rank need select");
  if (!rank_logit.is_none()) {
    Operand s = logit_buffer.open(rank_logit);
    check(s.dtype == DType::f64, "rank_logit must be float64");
    out.rank_logit =
        (const double*)contiguous(s, rows * out.selects, false, "rank_logit: rows by s");
    check(!asked[6], "selected needs columns of this row");
  }
  out.lse = floats(0, rows);
  out.max = floats(1, rows);
  out.argmax = (int64_t*)fixed(2, rows, DType::i64);
  out.indices = (int64_t*)fixed(4, rows * k, DType::i64);
  out.scores = floats(5, rows * k);
  out.selected = floats(6, rows * out.selects);
  out.rank = (int64_t*)fixed(7, rows * out.selects, DType::i64);
  out.entropy = floats(8, rows);
  out.sum_p2 = floats(9, rows);
  out.state_m = (double*)fixed(10, rows, DType::f64);
  out.state_r = (double*)fixed(11, 2 * rows, DType::f64);
  out.state_s1 = (double*)fixed(12, 2 * rows, DType::f64);
  out.state_s2 = (double*)fixed(13, 2 * rows, DType::f64);
  if (asked[3]) {
    Layout layout(request.x, nullptr, nullptr, axes);
    bool wide = make_plan(request, layout).in_double;
    DType t = is_float(request.x.dtype) ? request.x.dtype : wide ? DType::f64 : DType::f32;
    out.values = fixed(3, rows * k, t);
  }
  if (!k) out.indices = nullptr, out.scores = {}, out.values = nullptr;
  nb::gil_scoped_release release;
  (Counting::current() ? counted::reduce : plain::reduce)(request, out);
}

void py_textbook(nb::handle x, const std::vector<int>& axes, int threads, const std::string& op,
                 const std::string& algorithm, nb::handle y, nb::handle indices, nb::handle scores,
                 bool fresh) {
  Arguments a(x, y, axes, nb::none(), nb::none(), nb::none(), threads);
  a.request.op = op;
  a.request.textbook = algorithm;
  a.request.fresh = fresh;
  Outputs out;
  Buffer buffers[2];
  if (y.is_none()) {
    Operand columns = buffers[0].open(indices), values = buffers[1].open(scores);
    check(columns.dtype == DType::i64 && !columns.shape.empty(), "indices must be int64 (rows, k)");
    bool wide = values.dtype == DType::f64;
    check(wide || values.dtype == DType::f32, "scores are float32 or float64");
    size_t k = a.request.top_k = columns.shape.back();
    out.indices = (int64_t*)contiguous(columns, a.rows * k, true, "indices: rows by k");
    out.scores = {contiguous(values, a.rows * k, true, "scores: rows by k"), wide};
    a.request.double_outputs = wide;
  }
  nb::gil_scoped_release release;
  (Counting::current() ? counted::textbook : plain::textbook)(a.request, out);
}

// Call a Python function and count the accesses of the ops that it runs in this thread.
nb::tuple py_count(nb::callable call) {
  Counting counting;
  nb::object result = call();
  const Counts& c = counting.counts;
  return nb::make_tuple(result, c.x_loads, c.x_stores, c.y_loads, c.y_stores, c.scratch_loads,
                        c.scratch_stores, c.x_fetched_bytes);
}

nb::tuple as_tuple(const Record& r) {
  return nb::make_tuple(r.kernel, r.isa, r.dtype, r.layout, r.threads, r.spans, r.stores,
                        r.selection, r.radix_rows);
}

nb::tuple py_plan(nb::handle x, nb::handle y, const std::vector<int>& axes, const std::string& op,
                  nb::handle where, nb::handle lengths, nb::handle temperature, size_t top_k,
                  int threads, int kernel, bool fresh, const std::string& textbook) {
  Arguments a(x, y, axes, where, lengths, temperature, threads);
  Request& request = a.request;
  request.op = op;
  request.log = op == "log_softmax";
  request.selection = selection_of(kernel);
  request.top_k = top_k;
  request.fresh = fresh;
  request.textbook = textbook;
  Layout layout(request.x, request.y ? &*request.y : nullptr,
                request.where ? &*request.where : nullptr, axes);
  auto make = textbook.empty() ? make_plan : make_textbook_plan;
  return as_tuple(make_record(request, make(request, layout)));
}

nb::object py_last_kernel() {
  if (!last_record()) return nb::none();
  return as_tuple(*last_record());
}

double py_bandwidth(const std::string& traffic, size_t bytes, int threads) {
  for (auto [name, kind] : {std::pair{"read", Traffic::read},
                            {"copy", Traffic::copy},
                            {"streaming_copy", Traffic::streaming_copy}}) {
    if (traffic != name) continue;
    nb::gil_scoped_release release;
    return bandwidth(kind, bytes, threads);
  }
  throw nb::value_error("traffic: read, copy or streaming_copy");
}

nb::tuple names(const std::vector<std::string>& list) { return nb::tuple(nb::cast(list)); }

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The CPU kernels of oneread.";
  m.def("softmax", py_softmax, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg());
  m.def("reduce", py_reduce, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(),
        nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::arg().none(), nb::arg());
  m.def("plan", py_plan, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
  m.def("textbook", py_textbook, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg());
  bind_gradients(m);
  bind_reuse(m);
  m.def("count", py_count);
  m.def("last_kernel", py_last_kernel);
  bind_cuda(m);
  m.def("compiled_isas", [] { return names(compiled_isas()); });
  m.def("supported_isas", [] { return names(supported_isas()); });
  m.def("isa", current_isa);
  m.def("set_isa", set_isa);
  m.def("set_stores", [](const std::string& name) {
    if (name == "any") return set_stores(Stores::any);
    if (name == "regular") return set_stores(Stores::regular);
    if (name == "streaming") return set_stores(Stores::streaming);
    throw nb::value_error("stores: any, regular or streaming");
  });
  m.def("available_threads", available_threads);
  m.def("bandwidth", py_bandwidth);
  m.def("build_info", [] {
    nb::dict info;
#if defined(__clang__)
    info["compiler"] = "clang";
#else
    info["compiler"] = "gcc";
#endif
    info["version"] = __VERSION__;
    return info;
  });
}

}  // namespace oneread
