// Which instruction set runs.
#pragma once

#include <string>
#include <vector>

#include "kernels.hpp"

namespace oneread {

// Names of the instruction sets in this build, best first, and of those this machine can run.
std::vector<std::string> compiled_isas();
std::vector<std::string> supported_isas();

const char* current_isa();
// Throws std::invalid_argument when the name is not compiled in or the machine cannot run it.
void set_isa(const std::string& name);

// The tables of the instruction set in use, by element type. One op keeps to one of these, whatever
// is set meanwhile.
using Tables = const Kernels& (*)(ElementType);
Tables current_tables();
using Gradients = const GradientKernels& (*)(ElementType);
Gradients current_gradients();

// While it lives this thread rounds to nearest and takes subnormal inputs as they are, whatever the
// caller has set: bits must not depend on that. With `flush` results below the normal range become
// 0 on x86, where arithmetic on subnormals costs about 100 cycles; on aarch64 it does not, and
// flushing there would change the inputs too.
class FloatControl {
 public:
  explicit FloatControl(bool flush);
  ~FloatControl();
  FloatControl(const FloatControl&) = delete;
  FloatControl& operator=(const FloatControl&) = delete;

 private:
  uint64_t saved_ = 0;
};

}  // namespace oneread
