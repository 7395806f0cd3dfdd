// Accesses, counted. Sources that touch elements are compiled twice, the second time with
// ONEREAD_COUNTING: drivers into the namespace `counted` instead of `plain`, vector code as the
// instruction set `counting`. The first build has empty functions here and pays nothing.
#pragma once

#include <cstddef>

#if defined(ONEREAD_COUNTING)
#define ONEREAD_DRIVERS counted
#else
#define ONEREAD_DRIVERS plain
#endif

namespace oneread {

struct Operand;

// Loads and stores of elements: of x, of y, and of scratch as long as a row or a block.
struct Counts {
  size_t x_loads = 0, x_stores = 0, y_loads = 0, y_stores = 0, scratch_loads = 0,
         scratch_stores = 0;
};

// While it lives, ops of this thread run in their counted build, on this thread alone.
class Counting {
 public:
  Counting();  // throws std::logic_error while another one of this thread lives
  ~Counting();
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  static bool on();
  // Where the arrays of the op to come lie. What lies elsewhere is scratch.
  static void watch(const Operand& x, const Operand* y);

  Counts counts;
};

inline namespace ONEREAD_DRIVERS {

#if defined(ONEREAD_COUNTING)
// n elements at p, of any type. The stack is not counted: what passes through it would be in
// registers, if lanes had addresses there.
void count_loads(const void* p, size_t n);
void count_stores(const void* p, size_t n);
#else
inline __attribute__((always_inline)) void count_loads(const void*, size_t) {}
inline __attribute__((always_inline)) void count_stores(const void*, size_t) {}
#endif

}  // namespace ONEREAD_DRIVERS

}  // namespace oneread
