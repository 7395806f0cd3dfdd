// Accesses, counted. Sources that touch elements are compiled twice, the second time with
// ONEREAD_COUNTING: drivers into the namespace `counted` instead of `plain`, vector code as the
// instruction set `counting`. The first build has empty functions here and pays nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(ONEREAD_COUNTING)
#define ONEREAD_DRIVERS counted
#else
#define ONEREAD_DRIVERS plain
#endif

namespace oneread {

struct Operand;

struct Counts {
  // Elements of x, of y, and of scratch, which is what lies elsewhere.
  size_t x_loads = 0, x_stores = 0, y_loads = 0, y_stores = 0;
  size_t scratch_loads = 0, scratch_stores = 0;
  // Bytes of x that loads bring into the innermost cache, as modelled below.
  size_t x_fetched_bytes = 0;
};

// While it lives, ops of this thread run in their counted build, on this thread alone.
class Counting {
 public:
  Counting();  // throws std::invalid_argument while another one of this thread lives
  ~Counting();
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  // The one of this thread, or null.
  static Counting* current();

  // Where the arrays of the op to come lie.
  void watch(const Operand& x, const Operand* y);
  void loads(const void* p, size_t n, size_t bytes);
  void stores(const void* p, size_t n, size_t bytes);

  Counts counts;

 private:
  struct Extent {
    uintptr_t from = 0, to = 0;
    explicit Extent(const Operand*);
    Extent() = default;
    bool holds(uintptr_t p) const { return from <= p && p < to; }
  };

  // The lines that a cache of 32 KiB holds: 64 sets of 8 lines of 64 bytes, the newest first.
  struct Cache {
    static constexpr size_t kLine = 64;
    uintptr_t sets[64][8] = {};
    size_t fetch(uintptr_t p, size_t bytes);  // returns how many lines were not there
  };

  bool on_stack(uintptr_t p) const;

  uintptr_t stack_;  // where the count began; stacks grow down
  Extent x_, y_;
  Cache cache_;
};

inline namespace ONEREAD_DRIVERS {

// n elements from p on, `stride` bytes apart. The stack is not counted: what passes through it
// would be in registers, if lanes had addresses there.
#if defined(ONEREAD_COUNTING)
template <class T>
void count_loads(const T* p, size_t n) {
  if (Counting* c = Counting::current()) c->loads(p, n, n * sizeof(T));
}
template <class T>
void count_stores(const T* p, size_t n) {
  if (Counting* c = Counting::current()) c->stores(p, n, n * sizeof(T));
}
template <class T>
void count_strided_loads(const char* p, ptrdiff_t stride, size_t n) {
  for (size_t i = 0; i < n; i++) count_loads((const T*)(p + (ptrdiff_t)i * stride), 1);
}
template <class T>
void count_strided_stores(const char* p, ptrdiff_t stride, size_t n) {
  for (size_t i = 0; i < n; i++) count_stores((const T*)(p + (ptrdiff_t)i * stride), 1);
}
#else
#define ONEREAD_NOTHING inline __attribute__((always_inline)) void
ONEREAD_NOTHING count_loads(const void*, size_t) {}
ONEREAD_NOTHING count_stores(const void*, size_t) {}
template <class T>
ONEREAD_NOTHING count_strided_loads(const char*, ptrdiff_t, size_t) {}
template <class T>
ONEREAD_NOTHING count_strided_stores(const char*, ptrdiff_t, size_t) {}
#undef ONEREAD_NOTHING
#endif

}  // namespace ONEREAD_DRIVERS

}  // namespace oneread
