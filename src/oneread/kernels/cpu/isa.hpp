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

const Kernels& kernels(ElementType);

// Results below the normal range become 0 while one of these lives, on this thread. Arithmetic on
// subnormals costs about 100 cycles on x86. Inputs are left alone, so that subnormal logits keep
// their order. On aarch64 subnormals are not slow, and flushing there would change the inputs too.
class FlushToZero {
 public:
  FlushToZero();
  ~FlushToZero();
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
  unsigned saved_ = 0;
};

}  // namespace oneread
