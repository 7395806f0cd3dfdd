// One kernel of kernels/cuda, as a thread of the blocks of gpu.hpp runs it.
//
// KERNEL   its name; the file is given by SOURCE
// DYNAMIC  its array of shared memory whose size the launch gives, if it has one
#include <utility>

#include "intrinsics.hpp"

#include SOURCE

#ifdef DYNAMIC
alignas(16) thread_local DYNAMIC_TYPE DYNAMIC[gpu::MOST_SHARED_BYTES / sizeof(DYNAMIC_TYPE)];
#endif

template <typename... A, std::size_t... I>
void call(void (*kernel)(A...), std::index_sequence<I...>) {
  kernel(*(A*)gpu::arguments[I]...);
}

template <typename... A>
void call(void (*kernel)(A...)) {
  call(kernel, std::index_sequence_for<A...>{});
}

void gpu::body() {
  call(KERNEL);
  gpu::leave();
}

char* gpu::own_anchor() { return &anchor; }
