// How the threads of a block wait for one another and take turns. See gpu.hpp.
#include "gpu.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace gpu {

constexpr int STACK_BYTES = 64 << 10;

using Counter = unsigned;

// Some threads that wait for one another, and what they show one another meanwhile: two places, so
// that the next meeting may begin while some still read.
struct Meeting {
  int arrived = 0;
  Counter turn = 0;
  std::uint64_t shown[2][WARP];
  int votes[2] = {0, 0};
};

using Copy = std::pair<void*, const void*>;

using Stack = std::unique_ptr<char[]>;

struct Fiber {
  Stack stack;
  ucontext_t start;  // where it begins
  jmp_buf place;     // where it goes on
  bool started = false;
  const Counter* awaited = nullptr;  // goes on once this is no longer `seen`
  unsigned seen = 0;
  unsigned cluster_turn = 0;
  std::vector<Copy> begun;               // copies of no group yet
  std::deque<std::vector<Copy>> groups;  // those not waited for
  bool done = false;
};

// Blocks that share memory. All but one of them wait for their turn.
class Cluster {
 public:
  Cluster(int blocks, int threads, int order)
      : threads(threads * blocks),
        anchors(blocks),
        living_(blocks),
        step_(order == 1 ? blocks - 1 : 1),
        holder_(order == 1 ? blocks - 1 : 0),
        ended_(blocks),
        passed_(blocks) {}

  void wait_for_turn(int rank) {
    std::unique_lock lock(guard_);
    passed_[rank].wait(lock, [&] { return holder_ == rank; });
  }

  // Let the next block go on; whether there is hope that one can.
  bool pass(bool moved) {
    stuck_ = moved ? 0 : stuck_ + 1;
    if (stuck_ > living_) return false;
    std::lock_guard lock(guard_);
    do holder_ = (holder_ + step_) % (int)ended_.size();
    while (ended_[holder_]);
    passed_[holder_].notify_one();
    return true;
  }

  // The block whose turn it is has come to its end.
  void leave(int rank) {
    anchors[rank] = nullptr;
    ended_[rank] = true;
    if (--living_) pass(true);
  }

  const int threads;
  int arrived = 0;
  Counter turn = 0;
  std::vector<char*> anchors;  // of each block that runs, where its shared memory is
  bool failed = false;

 private:
  std::mutex guard_;
  int living_;
  const int step_;
  int holder_;  // whose turn it is
  std::vector<char> ended_;
  std::vector<std::condition_variable> passed_;  // of each block: its turn has come
  int stuck_ = 0;                                // turns without a move, one after the other
};

struct Block {
  std::vector<Fiber> fibers;
  jmp_buf scheduler;
  Meeting barrier;
  std::map<std::pair<int, unsigned>, Meeting> meetings;  // by warp and mask
  int living = 0;
  Cluster* cluster = nullptr;
  int rank = 0;
  std::string failure;
};

static thread_local Block* block;
static thread_local Fiber* fiber;
void** arguments;

// Leave one flow of control where it is and go on with another. swapcontext would ask the system to
// keep its signals at each switch.
__attribute__((noinline)) static void go_on(jmp_buf& own, jmp_buf& other) {
  if (!_setjmp(own)) _longjmp(other, 1);
}

[[noreturn]] void fail(const char* what) {
  block->failure = std::string(what) + " (thread " + std::to_string(threadIdx.x) + " of block " +
                   std::to_string(blockIdx.x) + ")";
  _longjmp(block->scheduler, 1);
}

static void wait_for(const Counter& counter, unsigned seen) {
  fiber->awaited = &counter;
  fiber->seen = seen;
  go_on(fiber->place, block->scheduler);
}

static void open(Meeting& meeting) {
  meeting.arrived = 0;
  ++meeting.turn;
  meeting.votes[meeting.turn % 2] = 0;
}

static void meet(Meeting& meeting, int expected) {
  const unsigned turn = meeting.turn;
  if (++meeting.arrived == expected) open(meeting);
  else wait_for(meeting.turn, turn);
}

void meet() { meet(block->barrier, block->living); }

int count(bool holds) {
  int& votes = block->barrier.votes[block->barrier.turn % 2];
  votes += holds;
  meet();
  return votes;
}

const std::uint64_t* shown_to(unsigned mask, std::uint64_t number) {
  const int lane = (int)threadIdx.x % WARP;
  if (!(mask >> lane & 1)) fail("a lane that its own mask leaves out");
  Meeting& meeting = block->meetings[{(int)threadIdx.x / WARP, mask}];
  std::uint64_t* shown = meeting.shown[meeting.turn % 2];
  shown[lane] = number;
  meet(meeting, __builtin_popcount(mask));
  return shown;
}

void begin_copy(void* to, const void* from) { fiber->begun.push_back({to, from}); }
void end_group() { fiber->groups.push_back(std::move(fiber->begun)); }

void wait_for_groups(std::size_t pending) {
  for (auto& groups = fiber->groups; groups.size() > pending; groups.pop_front())
    for (const auto& [to, from] : groups.front()) std::memcpy(to, from, 16);
}

int rank_in_cluster() { return block->rank; }

char* anchor_of(unsigned rank) {
  char* anchor = block->cluster->anchors[rank];
  if (!anchor) fail("shared memory of a block that has not begun or has ended");
  return anchor;
}

void arrive_at_cluster() {
  Cluster& cluster = *block->cluster;
  fiber->cluster_turn = cluster.turn;
  if (++cluster.arrived == cluster.threads) {
    cluster.arrived = 0;
    ++cluster.turn;
  }
}

void wait_for_cluster() {
  const unsigned turn = fiber->cluster_turn;
  if (block->cluster->turn == turn) wait_for(block->cluster->turn, turn);
}

[[noreturn]] void leave() {
  fiber->done = true;
  --block->living;
  if (block->living && block->barrier.arrived == block->living) open(block->barrier);
  _longjmp(block->scheduler, 1);
}

// Runs the threads of one block to their end.
class Run {
 public:
  Run(Cluster& cluster, int rank, int order)
      : order_(order), state_(0x9e3779b9u * (unsigned)(order + 1)) {
    own_.cluster = &cluster;
    own_.rank = rank;
  }

  std::string to_end() {
    Cluster& cluster = *own_.cluster;
    cluster.wait_for_turn(own_.rank);
    begin();
    while (!cluster.failed && own_.living) {
      bool moved = false;
      while (scan()) moved = true;
      if (own_.living && own_.failure.empty() && !cluster.pass(moved))
        own_.failure =
            "all threads wait for others: a barrier or a shuffle that some of "
            "its threads never reach";
      cluster.failed |= !own_.failure.empty();
      if (!cluster.failed && own_.living) cluster.wait_for_turn(own_.rank);
    }
    end();
    return own_.failure;
  }

 private:
  void begin() {
    block = &own_;
    own_.cluster->anchors[own_.rank] = own_anchor();
    own_.living = (int)blockDim.x;
    own_.fibers = std::vector<Fiber>(blockDim.x);
    for (Fiber& one : own_.fibers) {
      if (spare_.empty()) spare_.emplace_back(new char[STACK_BYTES]);
      one.stack = std::move(spare_.back());
      spare_.pop_back();
      getcontext(&one.start);
      one.start.uc_stack.ss_sp = one.stack.get();
      one.start.uc_stack.ss_size = STACK_BYTES;
      one.start.uc_link = nullptr;
      makecontext(&one.start, body, 0);
    }
  }

  void end() {
    for (Fiber& one : own_.fibers) spare_.push_back(std::move(one.stack));
    own_.cluster->leave(own_.rank);
  }

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
      fiber = &one;
      threadIdx = uint3{(unsigned)place, 0, 0};
      resume(one);
    }
    return moved;
  }

  __attribute__((noinline)) void resume(Fiber& one) {
    if (_setjmp(own_.scheduler)) return;
    if (one.started) _longjmp(one.place, 1);
    one.started = true;
    setcontext(&one.start);
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

  static inline std::vector<Stack> spare_;  // of whoever's turn it is

  int order_;
  unsigned state_;
  Block own_;
};

}  // namespace gpu

// Run a launch; null, or what went wrong. `order` is that of the threads: 0 ascending, 1
// descending, another a different one at each turn.
extern "C" const char* launch(int grid, int threads, int cluster, void** given, int order) {
  static std::string failure;
  failure.clear();
  gpu::arguments = given;
  for (int first = 0; first < grid && failure.empty(); first += cluster) {
    gpu::Cluster together(cluster, threads, order);
    std::vector<std::string> failures(cluster);
    auto run = [&](int rank) {
      blockIdx = uint3{(unsigned)(first + rank), 0, 0};
      blockDim = uint3{(unsigned)threads, 1, 1};
      gridDim = uint3{(unsigned)grid, 1, 1};
      failures[rank] = gpu::Run(together, rank, order).to_end();
    };
    if (cluster == 1) {
      run(0);
    } else {
      std::vector<std::thread> blocks;
      for (int rank = 0; rank < cluster; ++rank) blocks.emplace_back(run, rank);
      for (std::thread& one : blocks) one.join();
    }
    for (const std::string& one : failures)
      if (failure.empty()) failure = one;
  }
  return failure.empty() ? nullptr : failure.c_str();
}
