// The thread pool: every item once, from many callers, after a fork.
#include <atomic>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"
#include "pool.hpp"

namespace {

// The instruction set makes no difference here, so these run once.
bool first_time(std::atomic<int>& times) { return times++ == 0; }

bool every_item_once(size_t items, int threads) {
  std::vector<std::atomic<int>> seen(items);
  std::atomic<bool> bad{false};
  oneread::parallel(items, threads, [&](size_t item, int worker) {
    if (worker < 0 || worker >= threads) bad = true;
    seen[item]++;
  });
  for (auto& s : seen) bad = bad || s != 1;
  return !bad;
}

}  // namespace

TEST(every_item_runs_once) {
  static std::atomic<int> times{0};
  if (!first_time(times)) return;
  for (int round = 0; round < 2000; round++)
    CHECK(every_item_once((size_t)(round % 17), 1 + round % 6));
}

TEST(callers_do_not_disturb_each_other) {
  static std::atomic<int> times{0};
  if (!first_time(times)) return;
  std::atomic<int> bad{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 6; c++)
    callers.emplace_back([&] {
      for (int round = 0; round < 300; round++) bad += !every_item_once(9, 3);
    });
  for (auto& c : callers) c.join();
  CHECK(bad == 0);
}

TEST(a_forked_child_has_threads_of_its_own) {
  static std::atomic<int> times{0};
  if (!first_time(times)) return;
#if defined(__SANITIZE_THREAD__) || defined(ONEREAD_EMULATED)
  return;  // neither thread sanitizer nor user-mode emulation starts threads after a fork
#endif
  CHECK(every_item_once(50, 3));
  pid_t child = fork();
  if (child == 0) _exit(every_item_once(50, 3) ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
