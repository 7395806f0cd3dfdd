// The textbook algorithms of one instruction set. Not in isa.cpp: the compiler weighs what it
// inlines by the size of the file, and our own kernels shall not change with what stands beside.
#include "textbook.hpp"

namespace oneread::ONEREAD_ISA {

const TextbookKernels& textbook_table(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return Textbook<double>::table;
    case ElementType::f16:
      return Textbook<Half>::table;
    case ElementType::bf16:
      return Textbook<Bfloat>::table;
    case ElementType::f32:
      break;
  }
  return Textbook<float>::table;
}

}  // namespace oneread::ONEREAD_ISA
