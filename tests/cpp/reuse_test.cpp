// Memory of results: what is lent again, what goes back to the system, and that nobody shares it.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"
#include "reuse.hpp"

using oneread::Loan;

namespace {

constexpr size_t kMiB = (size_t)1 << 20;

// The instruction set makes no difference here, so these run once.
bool first_time(std::atomic<int>& times) { return times++ == 0; }

// Nothing is kept before and after, and at most so many bytes within.
struct Limit {
  explicit Limit(size_t bytes) : before(oneread::keep_at_most(0)) { oneread::keep_at_most(bytes); }
  ~Limit() {
    oneread::keep_at_most(0);
    oneread::keep_at_most(before);
  }
  size_t before;
};

}  // namespace

TEST(memory_that_was_given_back_is_lent_again) {
  static std::atomic<int> times{0};
  if (!first_time(times)) return;
  Limit limit(64 * kMiB);
  Loan first = oneread::borrow(5 * kMiB);
  CHECK(!first.used);
  CHECK(first.bytes == 6 * kMiB);
  CHECK((uintptr_t)first.data % (2 * kMiB) == 0);
  std::memset(first.data, 1, first.bytes);
  Loan second = oneread::borrow(5 * kMiB);
  CHECK(second.data != first.data);
  CHECK(!oneread::keeps(5 * kMiB));
  oneread::give_back(first);
  CHECK(oneread::keeps(5 * kMiB));
  CHECK(oneread::kept_bytes() == 6 * kMiB);
  Loan third = oneread::borrow(6 * kMiB);
  CHECK(third.used);
  CHECK(third.data == first.data);
  CHECK(oneread::kept_bytes() == 0);
  oneread::give_back(second);
  oneread::give_back(third);
}

TEST(the_smallest_block_that_fits_is_lent_and_none_a_quarter_too_large) {
  static std::atomic<int> times{0};
  if (!first_time(times)) return;
  Limit limit(64 * kMiB);
  Loan ten = oneread::borrow(10 * kMiB), eight = oneread::borrow(8 * kMiB);
  oneread::give_back(ten);
  oneread::give_back(eight);
  Loan loan = oneread::borrow(8 * kMiB);
  CHECK(loan.data == eight.data);
  Loan other = oneread::borrow(7 * kMiB);
  CHECK(other.data == ten.data);
  CHECK(other.bytes == 10 * kMiB);
  oneread::give_back(other);
  CHECK(!oneread::keeps(6 * kMiB));
  CHECK(!oneread::keeps(12 * kMiB));
  oneread::give_back(loan);
}

TEST(what_is_kept_stays_within_the_limit_and_the_oldest_goes) {
  static std::atomic<int> times{0};
  if (!first_time(times)) return;
  Limit limit(12 * kMiB);
  Loan four = oneread::borrow(4 * kMiB), six = oneread::borrow(6 * kMiB),
       eight = oneread::borrow(8 * kMiB);
  oneread::give_back(four);
  oneread::give_back(six);
  CHECK(oneread::kept_bytes() == 10 * kMiB);
  oneread::give_back(eight);
  CHECK(oneread::kept_bytes() == 8 * kMiB);
  CHECK(!oneread::keeps(4 * kMiB) && !oneread::keeps(6 * kMiB) && oneread::keeps(8 * kMiB));
  Loan large = oneread::borrow(20 * kMiB);
  oneread::give_back(large);
  CHECK(oneread::kept_bytes() == 0);
}

TEST(no_memory_is_lent_to_two_at_once) {
  static std::atomic<int> times{0};
  if (!first_time(times)) return;
  Limit limit(24 * kMiB);
  std::atomic<int> bad{0};
  std::vector<std::thread> users;
  for (int mark = 1; mark <= 4; mark++)
    users.emplace_back([&bad, mark] {
      for (size_t round = 0; round < 200; round++) {
        Loan mine = oneread::borrow((4 + 2 * (round % 3)) * kMiB);
        for (size_t at = 0; at < mine.bytes; at += kMiB) mine.data[at] = (char)mark;
        std::this_thread::yield();
        for (size_t at = 0; at < mine.bytes; at += kMiB) bad += mine.data[at] != mark;
        oneread::give_back(mine);
      }
    });
  for (auto& user : users) user.join();
  CHECK(bad == 0);
}

TEST(a_forked_child_borrows_whatever_other_threads_did) {
  static std::atomic<int> times{0};
  if (!first_time(times)) return;
#if defined(__SANITIZE_THREAD__) || defined(ONEREAD_EMULATED)
  return;  // neither likes a fork beside threads
#endif
  Limit limit(24 * kMiB);
  std::atomic<bool> stop{false};
  std::thread other([&stop] {
    while (!stop) oneread::give_back(oneread::borrow(4 * kMiB));
  });
  int bad = 0;
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      Loan loan = oneread::borrow(4 * kMiB);
      loan.data[0] = 1;
      oneread::give_back(loan);
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    bad += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  other.join();
  CHECK(bad == 0);
}
