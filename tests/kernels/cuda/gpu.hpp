// Thread blocks of a GPU on a CPU, so that tests run the CUDA kernels as they are.
//
// Each thread of a block is a fiber with a stack of its own. It runs until it waits for others: at
// a barrier, a shuffle or a vote. In what order they run is the caller's choice, so that a result
// that depends on it shows. Blocks run one after the other, those of a cluster side by side, each
// on a thread of the system. What waits for ever is found and told.
#pragma once
#include <ucontext.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

static thread_local uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace gpu {

constexpr int STACK_BYTES = 64 << 10;
constexpr int WARP = 32;
constexpr int MOST_SHARED_BYTES = 227 << 10;
constexpr auto PATIENCE = std::chrono::seconds(20);

using Counter = std::atomic<unsigned>;

// Some threads that wait for one another, and what they show one another meanwhile: two places, so
// that the next meeting may begin while some still read.
struct Meeting {
  int arrived = 0;
  Counter turn{0};
  std::uint64_t shown[2][WARP];
  int votes[2] = {0, 0};
};

using Copy = std::pair<void*, const void*>;

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[STACK_BYTES]};
  const Counter* awaited = nullptr;  // goes on once this is no longer `seen`
  unsigned seen = 0;
  unsigned cluster_turn = 0;
  std::vector<Copy> begun;               // copies of no group yet
  std::deque<std::vector<Copy>> groups;  // those not waited for
  bool done = false;
};

struct Cluster {
  int threads = 0;
  std::atomic<int> arrived{0};
  Counter turn{0};
  Counter steps{0};
  std::vector<char*> anchors;  // of each block, where its shared memory is
  std::atomic<bool> failed{false};
};

struct Block {
  std::vector<Fiber> fibers;
  ucontext_t scheduler;
  Meeting barrier;
  std::map<std::pair<int, unsigned>, Meeting> meetings;  // by warp and mask
  int living = 0;
  Cluster* cluster = nullptr;
  int rank = 0;
  std::string failure;
};

static thread_local Block* block;
static thread_local Fiber* fiber;
static thread_local char anchor;

[[noreturn]] inline void fail(const std::string& what) {
  block->failure = what + " (thread " + std::to_string(threadIdx.x) + " of block " +
                   std::to_string(blockIdx.x) + ")";
  block->cluster->failed = true;
  swapcontext(&fiber->context, &block->scheduler);
  __builtin_unreachable();
}

inline void wait_for(const Counter& counter, unsigned seen) {
  fiber->awaited = &counter;
  fiber->seen = seen;
  swapcontext(&fiber->context, &block->scheduler);
}

inline void open(Meeting& meeting) {
  meeting.arrived = 0;
  ++meeting.turn;
  meeting.votes[meeting.turn % 2] = 0;
}

inline void meet(Meeting& meeting, int expected) {
  const unsigned turn = meeting.turn;
  if (++meeting.arrived == expected) open(meeting);
  else wait_for(meeting.turn, turn);
}

// Show a value to the lanes of the mask; what all of them showed.
template <typename T>
const std::uint64_t* exchange(unsigned mask, T value) {
  static_assert(sizeof(T) <= 8);
  const int lane = (int)threadIdx.x % WARP;
  if (!(mask >> lane & 1)) fail("a lane that its own mask leaves out");
  Meeting& meeting = block->meetings[{(int)threadIdx.x / WARP, mask}];
  std::uint64_t* shown = meeting.shown[meeting.turn % 2];
  std::memcpy(&shown[lane], &value, sizeof value);
  meet(meeting, __builtin_popcount(mask));
  return shown;
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

inline void leave() {
  fiber->done = true;
  --block->living;
  ++block->cluster->steps;
  if (block->living && block->barrier.arrived == block->living) open(block->barrier);
  swapcontext(&fiber->context, &block->scheduler);
}

// Runs the threads of one block to their end.
class Run {
 public:
  Run(Cluster& cluster, int rank, int threads, int order)
      : order_(order), state_(0x9e3779b9u * (unsigned)(order + 1)) {
    own_.fibers = std::vector<Fiber>(threads);
    own_.living = threads;
    own_.cluster = &cluster;
    own_.rank = rank;
  }

  std::string to_end(void (*body)()) {
    block = &own_;
    for (Fiber& one : own_.fibers) {
      getcontext(&one.context);
      one.context.uc_stack.ss_sp = one.stack.get();
      one.context.uc_stack.ss_size = STACK_BYTES;
      one.context.uc_link = nullptr;
      makecontext(&one.context, body, 0);
    }
    auto last = std::chrono::steady_clock::now();
    unsigned steps = own_.cluster->steps;
    while (own_.living && own_.failure.empty() && !own_.cluster->failed) {
      if (scan()) continue;
      if (own_.cluster->steps != steps) {
        steps = own_.cluster->steps;
        last = std::chrono::steady_clock::now();
      }
      const bool alone = own_.cluster->anchors.size() == 1;
      if (alone || std::chrono::steady_clock::now() - last > PATIENCE) {
        own_.failure =
            "all threads wait for others: a barrier or a shuffle that some of "
            "its threads never reach";
        own_.cluster->failed = true;
      }
      std::this_thread::yield();
    }
    return own_.failure;
  }

 private:
  // Let each thread that can go on do so; whether any could.
  bool scan() {
    bool moved = false;
    const int n = (int)own_.fibers.size();
    const int start = order_ > 1 ? (int)(next() % (unsigned)n) : 0;
    const int step = order_ > 1 ? odd_step(n) : 1;
    for (int i = 0; i < n && own_.failure.empty(); ++i) {
      int place = (int)((start + (long long)i * step) % n);
      if (order_ == 1) place = n - 1 - place;
      Fiber& one = own_.fibers[place];
      if (one.done || (one.awaited && *one.awaited == one.seen)) continue;
      moved = true;
      one.awaited = nullptr;
      ++own_.cluster->steps;
      fiber = &one;
      threadIdx = uint3{(unsigned)place, 0, 0};
      swapcontext(&own_.scheduler, &one.context);
    }
    return moved;
  }

  unsigned next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    return state_ ^= state_ << 5;
  }

  // Prime to all sizes of a block but its multiples.
  int odd_step(int n) {
    constexpr int PRIMES[] = {7, 11, 101, 509, 997};
    const int step = PRIMES[next() % 5];
    return n % step ? step : 1;
  }

  int order_;
  unsigned state_;
  Block own_;
};

}  // namespace gpu
