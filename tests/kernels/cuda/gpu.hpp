// Thread blocks of a GPU on a CPU, so that tests run the CUDA kernels as they are.
//
// Each thread of a block is a fiber with a stack of its own. It runs until it waits for others: at
// a barrier, a shuffle or a vote. In what order they run is the caller's choice, so that a result
// that depends on it shows. Blocks run one after the other; those of a cluster take turns, each
// on a thread of the system, which has its shared memory. What waits for ever is found and told.
//
// This is what a kernel sees of it, as little as can be: it is compiled for each. The rest is
// gpu.cpp.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define PLAIN_C
#define HAS_CLUSTERS 1
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(bytes) alignas(bytes)
#define __restrict__ __restrict
// A variable of the block's thread of the system; inside a function that is static.
#define __shared__ thread_local

struct uint3 {
  unsigned x, y, z;
};
struct float2 {
  float x, y;
};
struct double2 {
  double x, y;
};
struct uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

// Of the thread that runs.
extern __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace gpu {

constexpr int WARP = 32;
constexpr int MOST_SHARED_BYTES = 227 << 10;

// What the kernel's own file has: a thread of it, the launch's arguments, and a variable of the
// thread of the system, which lies where this block's shared memory does.
void body();
extern void** arguments;
char* own_anchor();

[[noreturn]] void fail(const char* what);
[[noreturn]] void leave();

// A barrier of the block, and of how many of its threads something held there.
void meet();
int count(bool holds);

// Show a number to the lanes of the mask; what all of them showed.
const std::uint64_t* shown_to(unsigned mask, std::uint64_t number);

void begin_copy(void* to, const void* from);
void end_group();
void wait_for_groups(std::size_t pending);

int rank_in_cluster();
char* anchor_of(unsigned rank);
void arrive_at_cluster();
void wait_for_cluster();

template <typename T>
const std::uint64_t* exchange(unsigned mask, T value) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return shown_to(mask, bits);
}

template <typename T>
T taken(const std::uint64_t& place) {
  T value;
  std::memcpy(&value, &place, sizeof value);
  return value;
}

// What lane `from` showed, where the mask has it; otherwise this lane's own.
template <typename T>
T shuffled(unsigned mask, T value, int from, bool inside) {
  const std::uint64_t* shown = exchange(mask, value);
  if (!inside) return value;
  if (!(mask >> from & 1)) fail("a shuffle from a lane outside of its mask");
  return taken<T>(shown[from]);
}

template <typename Take>
void for_each_lane(unsigned mask, const Take& take) {
  for (int lane = 0; lane < WARP; ++lane)
    if (mask >> lane & 1) take(lane);
}

}  // namespace gpu
