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

inline void __syncthreads() { gpu::meet(gpu::block->barrier, gpu::block->living); }

inline int __syncthreads_count(int holds) {
  int& votes = gpu::block->barrier.votes[gpu::block->barrier.turn % 2];
  votes += holds != 0;
  __syncthreads();
  return votes;
}
inline int __syncthreads_or(int holds) { return __syncthreads_count(holds) != 0; }

inline void __syncwarp(unsigned mask = 0xffffffffu) { gpu::exchange(mask, 0); }

template <typename T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int lane = (int)threadIdx.x % 32;
  return gpu::shuffled(mask, value, lane / width * width + from % width, true);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int step, int width = 32) {
  const int lane = (int)threadIdx.x % 32;
  return gpu::shuffled(mask, value, lane ^ step, (lane ^ step) / width <= lane / width);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned step, int width = 32) {
  const int lane = (int)threadIdx.x % 32;
  return gpu::shuffled(mask, value, lane - (int)step, lane % width >= (int)step);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned step, int width = 32) {
  const int lane = (int)threadIdx.x % 32;
  return gpu::shuffled(mask, value, lane + (int)step, lane % width + (int)step < width);
}

inline unsigned __ballot_sync(unsigned mask, int holds) {
  const std::uint64_t* shown = gpu::exchange(mask, (int)(holds != 0));
  unsigned bits = 0;
  gpu::for_each_lane(mask, [&](int i) { bits |= (unsigned)(gpu::taken<int>(shown[i]) << i); });
  return bits;
}
inline int __any_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) != 0; }
inline int __all_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) == mask; }

template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  const std::uint64_t* shown = gpu::exchange(mask, value);
  unsigned same = 0;
  gpu::for_each_lane(mask, [&](int i) {
    if (gpu::taken<T>(shown[i]) == value) same |= 1u << i;
  });
  return same;
}

template <typename T, typename Join>
T reduced(unsigned mask, T value, const Join& join) {
  const std::uint64_t* shown = gpu::exchange(mask, value);
  T all = value;
  gpu::for_each_lane(mask, [&](int i) {
    if (i != (int)threadIdx.x % 32) all = join(all, gpu::taken<T>(shown[i]));
  });
  return all;
}
template <typename T>
T __reduce_max_sync(unsigned mask, T value) {
  return reduced(mask, value, [](T a, T b) { return a > b ? a : b; });
}
template <typename T>
T __reduce_min_sync(unsigned mask, T value) {
  return reduced(mask, value, [](T a, T b) { return a < b ? a : b; });
}
template <typename T>
T __reduce_add_sync(unsigned mask, T value) {
  return reduced(mask, value, [](T a, T b) { return (T)(a + b); });
}
template <typename T>
T __reduce_or_sync(unsigned mask, T value) {
  return reduced(mask, value, [](T a, T b) { return (T)(a | b); });
}

// Memory that blocks of a cluster share is touched by several threads of the system.
template <typename T, typename Join>
T atomically(T* p, const Join& join) {
  T old = __atomic_load_n(p, __ATOMIC_RELAXED);
  T now = join(old);
  while (!__atomic_compare_exchange_n(p, &old, now, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    now = join(old);
  return old;
}
template <typename T>
T atomicAdd(T* p, std::common_type_t<T> value) {
  return atomically(p, [=](T old) { return (T)(old + value); });
}
template <typename T>
T atomicMax(T* p, std::common_type_t<T> value) {
  return atomically(p, [=](T old) { return old > value ? old : value; });
}
template <typename T>
T atomicMin(T* p, std::common_type_t<T> value) {
  return atomically(p, [=](T old) { return old < value ? old : value; });
}
template <typename T>
T atomicOr(T* p, std::common_type_t<T> value) {
  return atomically(p, [=](T old) { return (T)(old | value); });
}
template <typename T>
T atomicExch(T* p, std::common_type_t<T> value) {
  return atomically(p, [=](T) { return value; });
}
template <typename T>
T atomicCAS(T* p, std::common_type_t<T> expected, std::common_type_t<T> value) {
  return atomically(p, [=](T old) { return old == expected ? value : old; });
}
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { __threadfence(); }

template <typename To, typename From>
To cast_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
inline float __int_as_float(int bits) { return cast_bits<float>(bits); }
inline float __uint_as_float(unsigned bits) { return cast_bits<float>(bits); }
inline int __float_as_int(float x) { return cast_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return cast_bits<unsigned>(x); }
inline double __longlong_as_double(long long bits) { return cast_bits<double>(bits); }
inline long long __double_as_longlong(double x) { return cast_bits<long long>(x); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(unsigned bits) { return __builtin_ffs((int)bits); }
inline int __clz(int bits) { return bits ? __builtin_clz((unsigned)bits) : 32; }
inline int __clzll(long long bits) { return bits ? __builtin_clzll((unsigned long long)bits) : 64; }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t bytes = (std::uint64_t)b << 32 | a;
  unsigned picked = 0;
  for (int i = 0; i < 4; ++i)
    picked |= (unsigned)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return picked;
}
template <typename T>
void __stcs(T* p, T value) {
  *p = value;
}
template <typename T>
T __ldg(const T* p) {
  return *p;
}
template <typename T>
T min(T a, std::common_type_t<T> b) {
  return a < b ? a : b;
}
template <typename T>
T max(T a, std::common_type_t<T> b) {
  return a > b ? a : b;
}
using std::fabs;
using std::fma;
using std::fmin;

// What ptx.cuh has beyond reductions.
inline float half_to_float(unsigned short bits) { return (float)cast_bits<_Float16>(bits); }
inline unsigned short float_to_half(float x) { return cast_bits<unsigned short>((_Float16)x); }
inline unsigned short float_to_bfloat(float x) {
  const unsigned bits = cast_bits<unsigned>(x);
  if (x != x) return 0x7fff;
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
#if ELEMENT == 1
#define NARROW float_to_half
#else
#define NARROW float_to_bfloat
#endif
inline unsigned pair_of(float low, float high) {
  return (unsigned)NARROW(high) << 16 | NARROW(low);
}
#if ELEMENT == 1
#define WIDEN half_to_float
#else
inline float bfloat_to_float(unsigned short bits) { return cast_bits<float>((unsigned)bits << 16); }
#define WIDEN bfloat_to_float
#endif
template <typename Join>
unsigned of_pairs(unsigned a, unsigned b, const Join& join) {
    const unsigned short low = join((unsigned short)a, (unsigned short)b);
    return (unsigned)join((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16 | low;
}
inline unsigned max_of_pairs(unsigned a, unsigned b) {
    return of_pairs(a, b, [](unsigned short x, unsigned short y) {
        return WIDEN(x) > WIDEN(y) || WIDEN(x) != WIDEN(x) ? x : y;
    });
}
inline unsigned min_of_pairs(unsigned a, unsigned b) {
    return of_pairs(a, b, [](unsigned short x, unsigned short y) {
        return WIDEN(x) < WIDEN(y) || WIDEN(y) != WIDEN(y) ? x : y;
    });
}
inline unsigned above_in_pairs(unsigned pair, unsigned bound) {
    return of_pairs(pair, bound, [](unsigned short x, unsigned short y) {
        return (unsigned short)(WIDEN(x) <= WIDEN(y) ? 0 : 0xffff);
    });
}
template <typename T>
void load_once(T& v, const void* p) {
  std::memcpy(&v, p, sizeof v);
}
template <typename T>
void load_hinted(T& v, const void* p, unsigned long long) {
  load_once(v, p);
}
inline unsigned load_relaxed(const unsigned* p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
inline void store_relaxed(unsigned* p, unsigned value) {
    __atomic_store_n(p, value, __ATOMIC_RELAXED);
}
inline unsigned long long keep_policy() { return 0; }
inline unsigned long long drop_policy() { return 0; }
// Copies past the registers are made when they are waited for, as late as a GPU may make them.
inline void begin_copy(void* to, const void* from) { gpu::fiber->begun.push_back({to, from}); }
inline void end_group() { gpu::fiber->groups.push_back(std::move(gpu::fiber->begun)); }
template <int PENDING>
void wait_for_groups() {
  auto& groups = gpu::fiber->groups;
  for (; groups.size() > PENDING; groups.pop_front())
    for (const auto& [to, from] : groups.front()) std::memcpy(to, from, 16);
}

inline unsigned cluster_rank() { return (unsigned)gpu::block->rank; }

// The place of `p` in the shared memory of another block of the cluster.
template <typename T>
T* remote(T* p, unsigned rank) {
  return (T*)(gpu::block->cluster->anchors[rank] + ((char*)p - &gpu::anchor));
}
template <typename Pair, typename Real>
void store_remote(Pair* p, unsigned rank, Real a, Real b) {
  *remote(p, rank) = Pair{a, b};
}
template <typename T>
void store_remote(T* p, unsigned rank, T value) {
    *remote(p, rank) = value;
}
inline void cluster_arrive() {
  gpu::Cluster& cluster = *gpu::block->cluster;
  gpu::fiber->cluster_turn = cluster.turn;
  if (++cluster.arrived == cluster.threads) {
    cluster.arrived = 0;
    ++cluster.turn;
  }
}
inline void cluster_arrive_relaxed() { cluster_arrive(); }
inline void cluster_wait() {
  const unsigned turn = gpu::fiber->cluster_turn;
  if (gpu::block->cluster->turn == turn) gpu::wait_for(gpu::block->cluster->turn, turn);
}
