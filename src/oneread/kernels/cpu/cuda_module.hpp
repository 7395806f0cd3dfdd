// The part of the Python module that launches kernels on GPUs.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "cuda_calls.hpp"

namespace oneread {

inline void make_launch(CudaLaunch* self, const std::vector<uintptr_t>& driver, uintptr_t context,
                        uintptr_t function, unsigned grid, unsigned block, unsigned shared,
                        const std::vector<int64_t>& numbers, const std::vector<int64_t>& strides,
                        int record) {
  if (driver.size() != 4) throw nb::value_error("four functions of the driver are needed");
  if (numbers.size() > CudaLaunch::MOST_NUMBERS || strides.size() > CudaBeside::STRIDES)
    throw nb::value_error("a kernel takes more numbers than this holds");
  const CudaDriver functions = {(CudaDriver::Launch)driver[0], (CudaDriver::Context)driver[1],
                                (CudaDriver::Push)driver[2], (CudaDriver::Context)driver[3]};
  new (self)
      CudaLaunch(functions, context, function, grid, block, shared, numbers, strides, record);
}

// A call as Python makes it with the least between: as a built-in function with four arguments.
inline PyObject* call_fast(PyObject* self, PyObject* const* given, Py_ssize_t n) {
  if (n != 4) {
    PyErr_SetString(PyExc_TypeError, "what, x, beside and out are needed");
    return nullptr;
  }
  const long long what = PyLong_AsLongLong(given[0]);
  if (what == -1 && PyErr_Occurred()) return nullptr;
  try {
    return (*nb::inst_ptr<CudaCalls>(self))(what, given[1], given[2], given[3]).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

inline PyMethodDef call_method = {"call", (PyCFunction)(void (*)())call_fast, METH_FASTCALL,
                                  "Make a plain call of (what, x, beside, out)."};

inline void bind_cuda(nb::module_& m) {
  m.def("last_launch", [] { return last_launch; });
  m.def("note_launch", [](int record) { last_launch = record; }, nb::arg("record"));
  nb::class_<CudaLaunch>(m, "CudaLaunch")
      .def("__init__", make_launch, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg())
      .def(
          "__call__",
          [](nb::handle_t<CudaLaunch> self, uintptr_t stream, uintptr_t x, uintptr_t y,
             double temperature, uintptr_t temperatures, uintptr_t where, uintptr_t lengths) {
            launch_kernel(self, stream, x, y, temperature, temperatures, where, lengths);
          },
          nb::arg(), nb::arg(), nb::arg(), nb::arg() = 1.0, nb::arg() = 0, nb::arg() = 0,
          nb::arg() = 0);
  PyType_Slot slots[] = {{Py_tp_traverse, (void*)CudaCalls::traverse},
                         {Py_tp_clear, (void*)CudaCalls::clear},
                         {0, nullptr}};
  nb::class_<CudaCalls>(m, "CudaCalls", nb::type_slots(slots))
      .def(nb::init<nb::object, nb::dict, nb::list, nb::object, nb::object, nb::object, nb::object,
                    nb::object, nb::object>(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
           nb::arg(), nb::arg())
      .def("function", [](nb::handle_t<CudaCalls> self) {
        return nb::steal(PyCFunction_NewEx(&call_method, self.ptr(), nullptr));
      });
}

}  // namespace oneread
