#include "pool.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace oneread {

namespace {

// 20 to 50 us, by processor. Without a bound, a spinning join loses whole scheduler ticks on a
// busy machine (4 ms were seen).
constexpr int kSpins = 2000;

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spin for a while, then sleep until `value` is no longer `old`.
template <class T>
T wait_while(std::atomic<T>& value, T old) {
  T now;
  for (int spin = 0; spin < kSpins; spin++) {
    if ((now = value.load(std::memory_order_acquire)) != old) return now;
    relax();
  }
  while ((now = value.load(std::memory_order_acquire)) == old) value.wait(old);
  return now;
}

class Pool {
 public:
  // Only one job runs at a time; `owner` is held by its caller.
  std::mutex owner;

  void run(size_t items, int threads, void* context, void (*call)(void*, size_t, int)) {
    grow(std::min(threads, kMaxThreads) - 1);
    keep_apart(std::min(threads - 1, count_));
    context_ = context;
    call_ = call;
    items_ = items;
    helpers_ = threads - 1;
    next_.store(0, std::memory_order_relaxed);
    open_.store(true);
    generation_.fetch_add(1);
    generation_.notify_all();
    work(0);
    // All items are handed out. Wait for the items, not for the workers: one that still sleeps has
    // none. Closing before looking at `inside_` and entering before looking at `open_` (both
    // sequentially consistent) leaves no worker that reads a job of the past.
    open_.store(false);
    for (uint32_t inside; (inside = inside_.load()) != 0;) wait_while(inside_, inside);
  }

 private:
  // A system that refuses more threads leaves us with those there are.
  void grow(int workers) {
    try {
      for (; count_ < workers; count_++) {
        uint32_t seen = generation_.load();
        std::thread made([this, worker = count_ + 1, seen] { loop(worker, seen); });
        workers_.push_back({made.native_handle()});
        made.detach();
      }
    } catch (const std::system_error&) {
    }
  }

  // Bar workers from the caller's CPU. Where all CPUs are busy at times, Linux wakes a worker on
  // the CPU of its waker and may leave it there: for 40 ms one thread did all the work (Linux 6.18,
  // 2 CPUs; 1400 instead of 700 us a call). A syscall a worker each time that the caller has moved.
  void keep_apart([[maybe_unused]] int helpers) {
#if defined(__linux__)
    int mine = sched_getcpu();
    if (mine < 0 || helpers > kMostApart) return;
    for (int i = 0; i < helpers; i++) {
      if (workers_[(size_t)i].barred == mine) continue;
      cpu_set_t allowed;
      if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
      CPU_CLR(mine, &allowed);
      if (CPU_COUNT(&allowed) == 0) return;
      if (pthread_setaffinity_np(workers_[(size_t)i].handle, sizeof allowed, &allowed) != 0) return;
      workers_[(size_t)i].barred = mine;
    }
#endif
  }

  void loop(int worker, uint32_t seen) {
    for (;;) {
      seen = wait_while(generation_, seen);
      inside_.fetch_add(1);
      if (open_.load() && worker <= helpers_) work(worker);
      if (inside_.fetch_sub(1) == 1) inside_.notify_all();
    }
  }

  void work(int worker) {
    for (size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < items_;)
      call_(context_, i, worker);
  }

  std::atomic<uint32_t> generation_{0}, inside_{0};
  std::atomic<bool> open_{false};
  std::atomic<size_t> next_{0};
  void* context_ = nullptr;
  void (*call_)(void*, size_t, int) = nullptr;
  size_t items_ = 0;
  int helpers_ = 0;
  int count_ = 0;

  static constexpr int kMostApart = 16;  // among more CPUs there is an idle one
  struct Worker {
    std::thread::native_handle_type handle;
    int barred = -1;  // the CPU that it must not run on
  };
  std::vector<Worker> workers_;
};

// Never destroyed: its threads may outlive main. After fork the child has none of them, so it
// starts with a pool of its own.
std::atomic<Pool*> the_pool{nullptr};

Pool& pool() {
  Pool* now = the_pool.load(std::memory_order_acquire);
  if (now) return *now;
#if defined(__linux__) || defined(__APPLE__)
  static std::once_flag once;  // before there is a pool that a child could inherit
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); }); });
#endif
  Pool* made = new Pool;
  if (the_pool.compare_exchange_strong(now, made)) return *made;
  delete made;
  return *now;
}

#if defined(__linux__)
// CPUs that a cgroup v2 folder allows: "cpu.max" is "quota period" or "max period".
double quota_in(const std::string& folder) {
  std::string quota;
  double period = 0;
  std::ifstream file(folder + "/cpu.max");
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return INFINITY;
  return std::strtod(quota.c_str(), nullptr) / period;
}

// The smallest quota from this process's cgroup up to the root; for cgroup v1 the one of the root.
double quota_cpus() {
  const std::string root = "/sys/fs/cgroup";
  double least = quota_in(root);
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::/", 0) != 0) continue;
    for (std::string path = line.substr(3); path.size() > 1; path.erase(path.rfind('/')))
      least = std::min(least, quota_in(root + path));
  }
  double quota = 0, period = 0;
  std::ifstream q(root + "/cpu/cpu.cfs_quota_us"), p(root + "/cpu/cpu.cfs_period_us");
  if (q >> quota && p >> period && quota > 0 && period > 0) least = std::min(least, quota / period);
  return least;
}
#endif

}  // namespace

void parallel(size_t items, int threads, void* context,
              void (*run)(void* context, size_t item, int worker)) {
  if ((size_t)threads > items) threads = (int)items;
  if (threads > 1) {
    Pool& p = pool();
    if (std::unique_lock hold(p.owner, std::try_to_lock); hold) {
      p.run(items, threads, context, run);
      return;
    }
  }
  for (size_t i = 0; i < items; i++) run(context, i, 0);
}

int available_threads() {
  int cpus = (int)std::thread::hardware_concurrency();
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = CPU_COUNT(&set);
  double quota = quota_cpus();
  if (quota < cpus) cpus = (int)std::ceil(quota);
#endif
  return std::clamp(cpus, 1, kMaxThreads);
}

}  // namespace oneread
