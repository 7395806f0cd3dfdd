// The backward passes of one instruction set. Not in isa.cpp, for the reason that textbook_isa.cpp
// gives.
#include "gradient.hpp"

namespace oneread::ONEREAD_ISA {

const GradientKernels& gradient_table(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return Gradient<double>::table;
    case ElementType::f16:
      return Gradient<Half>::table;
    case ElementType::bf16:
      return Gradient<Bfloat>::table;
    case ElementType::f32:
      break;
  }
  return Gradient<float>::table;
}

}  // namespace oneread::ONEREAD_ISA
